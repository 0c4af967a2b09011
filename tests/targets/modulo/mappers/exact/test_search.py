"""The exact mapper on modulo arrays: what it finds is right, what it refutes nobody finds."""

from __future__ import annotations

import random
from dataclasses import replace

import pytest
from tests.random_cases import loop_graph
from tests.search.conftest import counter, far, proved_right

from gridloom.archs import build
from gridloom.compiler.source import load_source
from gridloom.dfg import Dfg, DfgBuilder
from gridloom.errors import MissingExtra, OptionError
from gridloom.flow import Request, run
from gridloom.mapping import Failure, Mapping
from gridloom.mapping.json_format import dumps
from gridloom.mapping.mii import mii
from gridloom.search import solver
from gridloom.search.budget import Budget, SearchClock
from gridloom.search.solver import ExactConfig, OutOfTimeError, solve
from gridloom.search.symmetry import representatives
from gridloom.targets.modulo.mappers.exact.mapping import to_mapping
from gridloom.targets.modulo.mappers.exact.model import LoopModel
from gridloom.targets.modulo.mappers.exact.scope import Scope
from gridloom.targets.modulo.mappers.exact.search import exact_modulo as exact
from gridloom.targets.modulo.mappers.exact.search import sufficient_spread
from gridloom.targets.modulo.mappers.modulo import ModuloConfig, modulo
from gridloom.targets.modulo.mappers.problem import ModuloProblem

pytest.importorskip("ortools")

QUICK = ExactConfig(workers=1)


def fan(width: int) -> Dfg:
    """One value that several ops read, xored together."""
    b = DfgBuilder(f"fan{width}")
    b.array("B", 64)
    i = counter(b)
    n = b.add("xor", i, b.const(5), id="n")
    values = [b.add("add", n, b.const(k + 1)) for k in range(width)]
    while len(values) > 1:
        values = [b.add("xor", values[0], values[1]), *values[2:]]
    b.store("B", i, values[0], id="w")
    return b.build()


def solved(dfg: Dfg, text: str, scope: Scope) -> tuple[str, Mapping | None]:
    """What the solver says of one model, and the mapping it found."""
    model = LoopModel(ModuloProblem(dfg, build(text)), scope)
    found = solve(model.model, Budget(effort=200_000).start(), workers=1)
    return found.answer, to_mapping(model, found, {}) if found.found and model.flat else None


@pytest.mark.parametrize("seed", [2, 3, 5, 7, 9, 12, 13])
def test_random_loops_are_mapped_no_worse_than_by_the_search(seed: int):
    dfg = loop_graph(random.Random(seed))
    arch = build(("torus:2x2,regs=2", "torus:2x2,regs=1,bus=none", "torus:1x3,regs=2,hold=next")[seed % 3])
    found = exact(dfg, arch, QUICK, Budget(effort=100_000))
    searched = modulo(dfg, arch, ModuloConfig(), Budget(effort=4000))
    assert isinstance(found, Mapping)
    proved_right(found)
    best = found.ii if isinstance(searched, Failure) else min(found.ii, searched.ii)
    assert found.ii == best
    assert mii(dfg, arch).total <= found.provenance["bound"] <= best


@pytest.mark.parametrize(
    ("dfg", "text", "ii"),
    [
        (fan(3), "torus:2x2,regs=0,hold=next,bus=none", 2),
        (fan(2), "torus:1x2,regs=0,bus=none,memory=none", 3),
    ],
)
def test_what_is_refuted_for_good_is_not_found_by_the_search(dfg: Dfg, text: str, ii: int):
    if "memory=none" in text:
        dfg = Dfg(name="no store", domain="i32", nodes=tuple(n for n in dfg.nodes if n.op != "store"),
                  edges=tuple(e for e in dfg.edges if e.target != "w"))  # fmt: skip
    answer, _ = solved(dfg, text, Scope(ii=ii, spread=None))
    assert answer == "infeasible"
    assert solved(dfg, text, Scope(ii=ii, spread=12))[0] == "infeasible"
    assert isinstance(modulo(dfg, build(text), ModuloConfig(ii=ii), Budget(effort=8000)), Failure)


@pytest.mark.parametrize(
    ("dfg", "text", "ii", "feature"),
    [
        (far(1), "torus:1x2,regs=1,bus=none", 3, "copies"),
        (far(3), "torus:2x2,regs=0,hold=next,bus=none", 2, "spill"),
        (far(2), "torus:1x3,regs=2,hold=next,bus=none", 2, "rotate"),
    ],
)
def test_every_route_kind_maps_what_nothing_else_maps(dfg: Dfg, text: str, ii: int, feature: str):
    answer, mapping = solved(dfg, text, Scope(ii=ii, spread=10))
    assert answer == "optimal"
    assert mapping is not None
    proved_right(mapping)
    assert solved(dfg, text, Scope(ii=ii, spread=10, **{feature: False}))[0] == "infeasible"


def test_refuted_ii_is_a_failure_that_says_for_which_schedules():
    found = exact(fan(3), build("torus:2x2,regs=0,hold=next,bus=none"), ExactConfig(ii=2, workers=1), Budget())
    assert isinstance(found, Failure)
    assert found.constraint == "II 2"
    assert found.bound == "II 2: refuted for schedules of any length"
    assert found.levers[0] == "II 3"


def test_result_above_a_refuted_ii_is_optimal_and_tells_its_proof():
    found = exact(far(1), build("torus:2x2,regs=2"), ExactConfig(prove=True, workers=1), Budget(time_limit=60))
    assert isinstance(found, Mapping)
    proved_right(found)
    assert (found.ii, found.provenance["optimal"], found.provenance["bound"]) == (2, True, 2)
    assert found.provenance["proof"] == [
        "II below 1: refuted by counting (no II is less than 1)",
        "II 1: refuted for schedules of any length",
        "II 2: found",
    ]


def test_left_out_features_are_named_and_prove_nothing_in_general():
    arch = build("torus:1x2,regs=1,bus=none")
    config = ExactConfig(ii=3, copies=False, workers=1)
    found = exact(far(1), arch, config, Budget(time_limit=60))
    assert isinstance(found, Failure)
    assert found.bound.endswith(", without recomputation")


def test_same_effort_and_seed_give_the_same_bytes():
    dfg, arch = far(2), build("torus:2x2,regs=2")
    first, second = (exact(dfg, arch, ExactConfig(workers=4), Budget(effort=20_000, seed=5)) for _ in range(2))
    assert isinstance(first, Mapping)
    assert isinstance(second, Mapping)
    assert dumps(first) == dumps(second)


def test_spread_for_good_grows_with_registers_and_ii():
    small, large = (ModuloProblem(far(1), build(f"torus:2x2,regs={k}")) for k in (1, 4))
    assert sufficient_spread(small, 2) < sufficient_spread(large, 2) < sufficient_spread(large, 3)


@pytest.mark.parametrize(
    ("text", "tiles"),
    [
        ("torus:3x3,regs=2", [0]),
        ("torus:2x3,regs=1,bus=row", [0]),
    ],
)
def test_tiles_that_a_torus_cannot_tell_apart(text: str, tiles: list[int]):
    assert representatives(build(text)) == tiles


def test_missing_solver_says_how_to_install_it(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setitem(__import__("sys").modules, "ortools.sat.python", None)
    message = "mapper 'exact' needs OR-Tools; install it with: pip install '.\\[exact\\]'"
    with pytest.raises(MissingExtra, match=message):
        exact(far(1), build("torus:2x2"), QUICK, Budget())


def test_model_that_is_too_large_is_not_built(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("gridloom.search.solver.MAX_SIZE", 100)
    found = exact(far(1), build("torus:2x2,regs=4"), QUICK, Budget())
    assert isinstance(found, Failure)
    assert (found.constraint, found.bound) == ("size of the exact model", "100")
    assert found.levers[0] == "--mapper modulo"


def test_wrong_settings_and_arrays_are_refused():
    with pytest.raises(OptionError, match="workers: expected at least 1, found 0"):
        ExactConfig(workers=0)
    bare = replace(build("torus:2x2"), traits=frozenset())
    with pytest.raises(OptionError, match=r"mapper 'exact' takes .*; array 'torus:2x2' is none of them"):
        exact(far(1), bare, QUICK, Budget())


def test_prove_walks_from_the_mii_and_reports_optimal():
    result = run(Request(source=far(1), arch="torus:2x2,regs=2", prove=True, time_limit=60, settings={"workers": 1}))
    record = result.to_dict()
    assert (record["mapper"], record["status"], record["optimal"]) == ("exact", "mapped", True)
    assert (record["bound"], record["ii"], record["mii"]) == (2, 2, 1)
    assert record["proof"][-1] == "II 2: found"


def test_prove_with_a_mapper_that_cannot_is_an_error():
    with pytest.raises(OptionError, match="mapper 'ramp' does not take it"):
        run(Request(source=far(1), arch="torus:2x2", mapper="ramp", prove=True))


PUBLISHED = [
    ("BitCount/bit_count1_nodes", 3), ("ReverseBits/ReverseBits1_nodes", 3), ("sqrt/isqrt321_nodes", 5),
    ("GSM/gsm1_nodes", None),
]  # fmt: skip


@pytest.mark.parametrize(("name", "ii"), PUBLISHED)
def test_published_loops_are_proved_optimal_on_2x2(benchmarks, name: str, ii: int | None):
    published(benchmarks, name, 2, ii or 4)


@pytest.mark.slow
@pytest.mark.parametrize("side", [3, 4])
@pytest.mark.parametrize(("name", "ii"), PUBLISHED)
def test_published_loops_are_proved_optimal_on_larger_arrays(benchmarks, name: str, ii: int | None, side: int):
    published(benchmarks, name, side, ii or 3)


def published(benchmarks, name: str, side: int, ii: int) -> None:
    """Fail unless a loop of SAT-MapIt is mapped at this II and proved."""
    dfg = load_source(str(benchmarks / "satmapit" / name))
    found = exact(dfg, build(f"torus:{side}x{side},regs=4,bus=none"), ExactConfig(), Budget(time_limit=60))
    assert isinstance(found, Mapping)
    proved_right(found)
    assert (found.ii, found.provenance["optimal"]) == (ii, True)


class FewLooks(SearchClock):
    """A clock that is over after some looks."""

    def __init__(self, looks: int, budget: Budget) -> None:
        super().__init__(budget)
        self.looks = looks

    def over(self) -> bool:
        self.looks -= 1
        return self.looks < 0 or super().over()


@pytest.mark.parametrize("looks", [0, 1, 5, 20, 60])
def test_building_a_model_ends_with_its_clock(looks: int):
    problem = ModuloProblem(far(3), build("torus:2x2,regs=2"))
    scope = Scope(ii=4, spread=12)
    with pytest.raises(OutOfTimeError):
        LoopModel(problem, scope, FewLooks(looks, Budget()))


def test_model_that_takes_too_long_to_build_is_left_out_and_the_failure_says_so(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(solver, "BUILT_PER_SECOND", 1)
    failure = exact(far(1), build("torus:2x2,regs=2"), ExactConfig(workers=1), Budget(time_limit=60))
    assert isinstance(failure, Failure)
    assert failure.bound.endswith("not decided, since a model could not be built in the time left")
    assert failure.levers[0] == "more time"


def test_run_by_effort_builds_models_of_any_time(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(solver, "BUILT_PER_SECOND", 1)
    assert isinstance(exact(far(1), build("torus:2x2,regs=2"), ExactConfig(workers=1), Budget(effort=20_000)), Mapping)


def test_solver_is_not_asked_when_it_could_not_take_over_the_model(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(solver, "_TAKEN_OVER", 1000.0)
    model = LoopModel(ModuloProblem(far(1), build("torus:2x2,regs=2")), Scope(ii=3, spread=8))
    assert solve(model.model, Budget(time_limit=60).start(), workers=1).answer == "unknown"
