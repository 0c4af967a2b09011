"""Explorations end to end: every method, resumed, skipped, on processes, with broken points."""

from __future__ import annotations

from pathlib import Path
from statistics import mean

import pytest

import gridloom as gl
from gridloom.errors import OptionError
from gridloom.explore import Exploration, explain_empty, explore, parse_space
from gridloom.explore.answers import kernel_fronts
from gridloom.explore.points import Evaluated, MappingChance, mapping_chances
from gridloom.explore.space import Skip
from gridloom.flow.bench.fitting import fill_in_size
from gridloom.flow.inputs import read_arch
from gridloom.mapping import json_format
from gridloom.run import ExecutorSpec, Store, StoreError

INLINE = ExecutorSpec(backend="inline")
BASE = """
explore: tiny
kernels: ["kernel:vector_add", "kernel:gray"]
array: "{topology}:{side}x{side},fifo=1"
parameters: {topology: [mesh, chess], side: [2, 4]}
budget: {effort: 2000}
objectives: [mapped, area]
"""


def outline(found: Exploration) -> list[tuple[object, ...]]:
    return [(one.point.name, one.figures["mapped"], one.figures["wirelength"]) for one in found.points]


@pytest.fixture(scope="module")
def grid() -> Exploration:
    return explore(parse_space(BASE, "tiny"), executor=INLINE)


def test_a_grid_maps_every_kernel_on_every_array(grid: Exploration) -> None:
    assert grid.jobs == 8
    assert [one.point.values["side"] for one in grid.points] == [2, 4, 2, 4]
    assert [one.figures["mapped"] for one in grid.points] == [0.5, 1.0, 0.5, 1.0]
    assert all(row["verified"]["legal"] and row["verified"]["simulated"] for row in grid.points[1].rows)


def test_a_random_choice_is_part_of_the_grid(grid: Exploration) -> None:
    found = explore(parse_space(BASE + "search: {method: random, points: 3, seed: 4}", "tiny"), executor=INLINE)
    assert len(outline(found)) == 3
    assert set(outline(found)) <= set(outline(grid))


@pytest.mark.parametrize("method", ["tpe", "nsga2"])
def test_an_optimiser_walks_the_same_way_when_it_is_resumed(method: str, tmp_path: Path) -> None:
    pytest.importorskip("optuna")
    space = parse_space(BASE + f"search: {{method: {method}, points: 6, batch: 2, seed: 1}}", "tiny")
    whole = explore(space, executor=INLINE)
    with Store(tmp_path / "rows.sqlite") as store:
        first = space.model_copy(update={"search": space.search.model_copy(update={"points": 2})})
        explore(first, executor=INLINE, store=store)
        before = len(store)
        again = explore(space, executor=INLINE, store=store, resume=True)
        assert 0 < before <= len(store)
    assert outline(again) == outline(whole)
    assert len({one.point.name for one in whole.points}) == len(whole.points)


def test_a_store_is_gone_on_with_only_when_asked(tmp_path: Path, grid: Exploration) -> None:
    space = parse_space(BASE, "tiny")
    with Store(tmp_path / "rows.sqlite") as store:
        explore(space, executor=INLINE, store=store)
        assert len(store) == 8
        with pytest.raises(StoreError, match="holds 8 results already; resume"):
            explore(space, executor=INLINE, store=store)
        again = explore(space, executor=INLINE, store=store, resume=True)
        assert len(store) == 8
    assert outline(again) == outline(grid)


def test_processes_give_the_same(grid: Exploration) -> None:
    found = explore(parse_space(BASE, "tiny"), executor=ExecutorSpec(workers=2))
    assert outline(found) == outline(grid)


def test_hopeless_mappings_are_skipped_but_for_a_sample(grid: Exploration) -> None:
    space = parse_space(BASE + "skip: {by: bounds, sample: 0}", "tiny")
    found = explore(space, executor=INLINE)
    assert (found.skipping.skipped, found.skipping.sampled) == (2, 0)
    assert outline(found) == outline(grid)
    space = parse_space(BASE + "skip: {by: bounds, sample: 1}", "tiny")
    found = explore(space, executor=INLINE)
    assert (found.skipping.skipped, found.skipping.sampled, found.skipping.mapped_after_all) == (0, 2, 0)


def test_a_point_without_an_array_is_reported_and_the_rest_goes_on() -> None:
    found = explore(parse_space(BASE.replace("side: [2, 4]", "side: [0, 4]"), "tiny"), executor=INLINE)
    assert [bool(one.broken) for one in found.points] == [True, False, True, False]
    assert not found.points[0].feasible
    assert "rows" in found.points[0].broken


def test_kernels_come_from_suites_and_patterns(tmp_path: Path) -> None:
    from gridloom.explore.points import expand_kernels

    for name in ("b", "a"):
        (tmp_path / f"{name}.dot").write_text("digraph {}")
    assert expand_kernels([f"{tmp_path}/*.dot"], None) == [f"{tmp_path}/a.dot", f"{tmp_path}/b.dot"]
    smoke = expand_kernels(["suite:smoke", "kernel:vector_add"], None)
    assert len(smoke) == len(set(smoke))
    assert "kernel:vector_add" in smoke
    with pytest.raises(OptionError, match="kernels: no file matches"):
        expand_kernels([f"{tmp_path}/*.json"], None)


def test_a_cluster_gives_the_same(grid: Exploration) -> None:
    pytest.importorskip("distributed")
    found = explore(parse_space(BASE, "tiny"), executor=ExecutorSpec(backend="dask", workers=2))
    assert outline(found) == outline(grid)


def test_a_c_loop_is_judged_as_the_array_takes_it() -> None:
    pytest.importorskip("ziglang")
    from gridloom.explore.points import candidate, probability

    source = str(Path(__file__).parents[2] / "examples" / "kernels" / "fir.c")
    space = parse_space(f"kernels: ['{source}']\narray: 'onehop:{{n}}x{{n}}'\nparameters: {{n: [2, 9]}}", "loop")
    small, large = (candidate(space, point) for point in space.grid())
    assert probability(Skip(by="bounds"), source, small) == 0.0
    assert probability(Skip(by="bounds"), source, large) == 1.0


def test_the_learned_estimator_judges_arrays_of_rows() -> None:
    from gridloom.explore.points import candidate, probability

    text = "kernels: ['kernel:cma_md5', 'kernel:cma_rgb_to_ycc']\narray: 'vpcma:8x{n}'\nparameters: {n: [12]}"
    (one,) = (candidate(space, point) for space in [parse_space(text, "rows")] for point in space.grid())
    assert probability(Skip(by="mappability"), "kernel:cma_md5", one) == 0.0
    assert 0.5 < probability(Skip(by="mappability"), "kernel:cma_rgb_to_ycc", one) < 1.0


def test_keys_do_not_depend_on_where_the_code_is() -> None:
    from gridloom.explore.points import candidate, jobs_of

    space = parse_space(BASE, "tiny")
    jobs = jobs_of(space, candidate(space, next(iter(space.grid()))), ["kernel:vector_add"])
    assert [job.asked["function"] for job in jobs] == ["gridloom.flow.bench.run_cell"]


def test_a_suite_of_our_examples_names_files_that_exist(tmp_path: Path) -> None:
    from gridloom.explore.points import expand_kernels

    sources = expand_kernels(["suite:c-loops"], None)
    assert len(sources) > 30
    assert all(Path(source).is_file() for source in sources)
    (tmp_path / "fir.c").touch()
    assert str(tmp_path / "fir.c") in expand_kernels(["suite:c-loops"], tmp_path)


def test_points_keep_the_order_of_their_first_proposals() -> None:
    from gridloom.explore.search import _first_of_each

    space = parse_space(BASE, "tiny")
    a, b, c, _ = (Evaluated(point, {}, (), ()) for point in space.grid())
    assert _first_of_each([b, a, b, c, a]) == [b, a, c]


@pytest.mark.parametrize(("sample", "counts"), [(0, (2, 0)), (1, (0, 2))])
def test_a_point_that_is_proposed_again_is_not_counted_again(sample: int, counts: tuple[int, int]) -> None:
    pytest.importorskip("optuna")
    rules = f"search: {{method: tpe, points: 16, batch: 4, seed: 1}}\nskip: {{by: bounds, sample: {sample}}}"
    found = explore(parse_space(BASE + rules, "tiny"), executor=INLINE)
    assert len(found.points) == 4
    assert (found.skipping.skipped, found.skipping.sampled) == counts


def test_the_ii_estimator_judges_modulo_arrays(monkeypatch: pytest.MonkeyPatch) -> None:
    from gridloom.explore.points import candidate, probability
    from gridloom.mapping.mii import mii
    from gridloom.targets.modulo.ii_estimate import IiEstimate
    from gridloom.targets.modulo.learned.model import InitiationModel

    def certain_above(_self: object, dfg: object, arch: object, *_weights: object) -> IiEstimate:
        return IiEstimate(ii=3, mii=mii(dfg, arch), reason="told", confidence=0.9, reachable=(0.1, 0.9))

    monkeypatch.setattr(InitiationModel, "estimate", certain_above)
    text = "kernels: ['kernel:fir']\narray: 'torus:{n}x4'\nparameters: {n: [4]}"
    (one,) = (candidate(space, point) for space in [parse_space(text, "tori")] for point in space.grid())
    chances = [probability(Skip(by="ii", most=most), "kernel:fir", one) for most in (1, 2, 3)]
    assert chances == [0.0, 0.1, 0.9]


@pytest.mark.parametrize("rule", ["{by: ii}", "{by: bounds, most: 3}"])
def test_a_rule_by_ii_needs_its_limit(rule: str) -> None:
    with pytest.raises(OptionError, match="by: ii needs 'most', the highest II that is of use"):
        parse_space(f"kernels: ['kernel:fir']\narray: 'torus:4x4'\nskip: {rule}", "tori")


SEEDS = """
explore: seeds
kernels: ["kernel:fir", "kernel:gray"]
array: "mesh:{side}x{side},fifo=0,inputs=skewed"
parameters: {side: [4, 5]}
budget: {effort: 300}
seeds: [0, 1, 2, 3, 4]
objectives: [mapped, wirelength]
"""


@pytest.fixture(scope="module")
def seeded() -> Exploration:
    return explore(parse_space(SEEDS, "seeds"), executor=INLINE)


def test_several_seeds_give_the_probability_of_mapping_with_its_interval(seeded: Exploration) -> None:
    for one in seeded.points:
        chances = mapping_chances(one.rows)
        assert set(chances) == {"kernel:fir", "kernel:gray"}
        mapped = [row["status"] == "mapped" for row in one.rows]
        assert one.figures["mapped"] == sum(mapped) / 10
        assert sum(chance.mapped for chance in chances.values()) == sum(mapped)


def test_the_interval_of_a_probability_is_wilsons() -> None:
    # scipy.stats.binomtest(4, 5).proportion_ci(method="wilson")
    assert MappingChance(4, 5).interval == (0.3755, 0.9638)
    assert MappingChance(0, 5).interval == (0.0, 0.4345)
    assert str(MappingChance(5, 5)) == "5 of 5 seeds (0.57 to 1.00)"


def test_intervals_hold_the_figures_that_move_with_the_seed(seeded: Exploration) -> None:
    large = seeded.points[1]
    low, high = large.intervals["wirelength"]
    mapped = [row for row in large.rows if row["status"] == "mapped"]
    by_seed = [mean(row["wirelength"] for row in mapped if row["cell"]["seed"] == seed) for seed in range(5)]
    assert min(by_seed) <= low < mean(by_seed) < high <= max(by_seed)
    assert "area" not in large.intervals


def test_one_seed_has_no_intervals(grid: Exploration) -> None:
    assert all(one.intervals == {} for one in grid.points)


def test_each_kernel_has_a_front_of_its_own(grid: Exploration) -> None:
    fronts = kernel_fronts(grid)
    assert set(fronts) == {"kernel:vector_add", "kernel:gray"}
    for kernel, best in fronts.items():
        rows = {one.point.name: [row for row in one.rows if row["cell"]["source"] == kernel] for one in grid.points}
        for one in best:
            assert one.figures["mapped"] == (rows[one.point.name][0]["status"] == "mapped")


def test_fit_is_the_smallest_square_for_all_kernels() -> None:
    text = BASE.replace("{side}x{side}", "fit").replace(", side: [2, 4]", "")
    found = explore(parse_space(text, "fit"), executor=INLINE)
    sides = [read_arch(fill_in_size("mesh:fit,fifo=1", gl.load(source))).rows for source in found.kernels]
    assert [one.figures["tiles"] for one in found.points] == [max(sides) ** 2] * 2
    assert found.points[0].point.array == f"mesh:{max(sides)}x{max(sides)},fifo=1"


def test_effort_is_doubled_until_the_result_stops_changing() -> None:
    text = SEEDS.replace("{effort: 300}", "{effort: 2, most_effort: 4096}").replace("[0, 1, 2, 3, 4]", "[0]")
    found = explore(parse_space(text, "adaptive"), executor=INLINE)
    rows = {(row["cell"]["source"], row["cell"]["arch"]): row for one in found.points for row in one.rows}
    assert all(row["effort"] in {2**k for k in range(1, 13)} for row in rows.values())
    mapped = [row for row in rows.values() if row["status"] == "mapped"]
    assert any(row["effort"] < 4096 for row in mapped)


def test_an_effort_to_end_at_needs_one_to_begin_with() -> None:
    with pytest.raises(OptionError, match="budget: most_effort needs an effort below it to begin with"):
        parse_space(BASE.replace("{effort: 2000}", "{most_effort: 10}"), "space")


def test_objectives_that_no_array_has_are_refused_before_anything_is_mapped() -> None:
    text = BASE.replace("{topology}:{side}x{side},fifo=1", "hycube:{side}x{side}")
    text = text.replace("topology: [mesh, chess], ", "")
    with pytest.raises(OptionError, match=r"^objectives: no array of the space has a figure for luts and ns: "):
        explore(parse_space(text.replace("[mapped, area]", "[luts, ns, mapped]"), "space"), executor=INLINE)
    with pytest.raises(OptionError, match=r"^constraints: no array of the space has a figure for mhz: "):
        explore(parse_space(text + 'constraints: ["mhz > 100"]', "space"), executor=INLINE)


def test_a_store_keeps_the_mappings(tmp_path: Path) -> None:
    with Store(tmp_path / "rows.sqlite") as store:
        explore(parse_space(BASE.replace("[2, 4]", "[4]"), "kept"), executor=INLINE, store=store)
        kept = [row.value["mapping"] for row in store.rows()]
    assert len(kept) == 4
    assert all(gl.check(json_format.loads(text, "row")) == [] for text in kept)


def test_a_space_without_an_array_says_why() -> None:
    found = explore(parse_space(BASE.replace("fifo=1", "fifo=1,nothing=2"), "space"), executor=INLINE)
    assert explain_empty(found).startswith("No array of the space exists: ")
