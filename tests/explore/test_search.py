"""Explorations end to end: every method, resumed, skipped, on processes, with broken points."""

from __future__ import annotations

from pathlib import Path

import pytest

from gridloom.errors import OptionError
from gridloom.explore import Exploration, explore, parse_space
from gridloom.explore.points import Evaluated
from gridloom.explore.space import Skip
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

    def certain_above(_self: object, dfg: object, arch: object) -> IiEstimate:
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
