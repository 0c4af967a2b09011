"""Placement on a streaming engine: the issue rule, C1 to C3, both levels, IIs upwards, what cannot be placed."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from tests.plain_arrays import shared_in_time
from tests.search.conftest import proved_right, random_dag

from gridloom.archs import Arch, build
from gridloom.compiler.source import load_source
from gridloom.dfg.model import Dfg, DfgBuilder, Edge
from gridloom.errors import OptionError
from gridloom.mapping.model import Failure, Mapping
from gridloom.search.budget import Budget
from gridloom.sim import simulate
from gridloom.targets.streaming.fuse import fuse
from gridloom.targets.streaming.mappers.anneal import SpokesAnnealConfig, anneal_spokes
from gridloom.targets.streaming.mappers.mapping import realise, to_mapping
from gridloom.targets.streaming.mappers.problem import SpokesProblem, build_problem
from gridloom.targets.streaming.mappers.random import SpokesRandomConfig, spokes_random
from gridloom.targets.streaming.mappers.screening import screen, tile_assignment
from gridloom.verify import legal

LEVELS = ("paper", "strict")


def engine(tiles: int = 16, spokes: int = 6, level: str = "paper", **more: int) -> Arch:
    settings = "".join(f",{key}={value}" for key, value in more.items())
    return build(f"streaming-engine:{tiles},spokes={spokes},level={level}{settings}")


def annealed(dfg: Dfg, arch: Arch, ii: int | None = None, effort: int = 40_000, seed: int = 0) -> Mapping:
    found = anneal_spokes(dfg, arch, SpokesAnnealConfig(ii=ii), Budget(effort=effort, seed=seed))
    assert isinstance(found, Mapping), found
    return found


def cycles(mapping: Mapping) -> int:
    return max(instance.cycle for instance in mapping.instances) + 3


def placed(problem: SpokesProblem, ii: int, where: dict[str, tuple[int, int]]) -> Mapping:
    """The mapping of (tile, spoke) by node."""
    rows = [where[problem.name(n)] for n in range(problem.size)]
    tile, spoke = (np.array(column, dtype=np.int32) for column in zip(*rows))
    placement = realise(problem, ii, tile, spoke)
    assert placement is not None
    return to_mapping(problem, placement, {})


def chain() -> Dfg:
    """p -> q, and both into r."""
    b = DfgBuilder("chain")
    b.add("add", b.input("x"), b.const(1), id="p")
    b.add("mul", "p", b.const(3), id="q")
    b.add("sub", "q", b.input("y"), id="r")
    b.output("r", "z")
    return b.build()


# -- the issue rule ---------------------------------------------------------------------------------------------------


def test_issues_and_waits_follow_the_published_rule() -> None:
    # p on tile 3, spoke 1: issue 1. q on tile 1: there at 1 + 3 + 2 = 6, spoke 2 of II 4 comes round at 6: no wait.
    # r on tile 2: there at 6 + 3 + 1 = 10, spoke 1 at 13: a wait of 3. Last result at 16.
    mapping = placed(build_problem(chain(), engine()), 4, {"p": (3, 1), "q": (1, 2), "r": (2, 1)})
    assert {i.node: i.cycle for i in mapping.instances} == {"p": 1, "q": 6, "r": 13}
    assert [route.fifo for route in mapping.routes] == [0, 3]
    assert mapping.routes[0].hops == (("t_3.out", 4), ("t_3>t_1", 4), ("t_1.in0", 6))
    proved_right(mapping)


def test_published_distance_example_comes_out_as_drawn() -> None:
    from tests.hand_mappings import distance_graph, streaming_engine_distance

    drawn = streaming_engine_distance()
    where = {i.node: (int(i.place[2:]), i.cycle % 3) for i in drawn.instances}
    mapping = placed(build_problem(distance_graph(), drawn.arch), 3, where)
    assert {i.node: i.cycle for i in mapping.instances} == {i.node: i.cycle for i in drawn.instances}
    proved_right(mapping)


def test_way_passes_through_in_steps_of_two_and_one() -> None:
    mapping = placed(build_problem(chain(), engine()), 6, {"p": (0, 0), "q": (5, 2), "r": (5, 5)})
    assert [cycle for _, cycle in mapping.routes[0].hops] == [3, 3, 4, 6, 8]
    proved_right(mapping)


def test_carried_value_waits_for_its_iteration() -> None:
    b = DfgBuilder("sum")
    b.add("add", b.input("x"), id="s")
    b.carry("s", "s", operand=1, distance=1, initial=[5])
    b.output("s", "y")
    problem = build_problem(b.build(), engine())
    proved_right(placed(problem, 4, {"s": (0, 2)}))
    assert realise(problem, 2, np.array([0], dtype=np.int32), np.array([0], dtype=np.int32)) is None


# -- mapped, legal, simulated -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("name", ["vector_add,lanes=3", "distance", "mul_add", "fir", "fft_radix2", "ifft"])
def test_kernel_is_mapped_legal_and_simulated(name: str, level: str) -> None:
    proved_right(annealed(fuse(load_source(f"kernel:{name}")), engine(level=level)))


@pytest.mark.parametrize("level", LEVELS)
def test_counters_of_two_loops_are_mapped(level: str) -> None:
    proved_right(annealed(fuse(load_source("kernel:ifft_two_loop")), engine(spokes=12, level=level), effort=120_000))


@pytest.mark.parametrize("seed", range(6))
def test_random_graph_is_mapped_at_both_levels(seed: int) -> None:
    dfg = random_dag(14, seed)
    for level in LEVELS:
        proved_right(annealed(dfg, engine(level=level), seed=seed))


@pytest.mark.parametrize("level", LEVELS)
def test_random_samples_are_legal(level: str) -> None:
    found = spokes_random(load_source("kernel:distance"), engine(level=level), SpokesRandomConfig(ii=6), Budget())
    assert isinstance(found, Mapping)
    proved_right(found)


def test_annealing_beats_random_samples() -> None:
    dfg = load_source("kernel:random_growing,nodes=20,seed=1")
    drawn = spokes_random(dfg, engine(), SpokesRandomConfig(ii=6), Budget(effort=20_000))
    assert isinstance(drawn, Mapping)
    assert cycles(annealed(dfg, engine(), ii=6)) < cycles(drawn)


def crowd() -> Dfg:
    """Four flows of two nodes each."""
    b = DfgBuilder("crowd")
    for k in range(4):
        b.add("add", b.input(f"x{k}"), b.const(k), id=f"p{k}")
        b.output(b.add("mul", f"p{k}", b.const(3), id=f"q{k}"), f"y{k}")
    return b.build()


def test_paper_placement_that_strict_rejects_for_its_links() -> None:
    # Four values go from tiles 0..3 to tiles 4..7 in the only spoke; three links cross from tile 3 to tile 4.
    where = {f"p{k}": (k, 0) for k in range(4)} | {f"q{k}": (4 + k, 0) for k in range(4)}
    paper = placed(build_problem(crowd(), engine(8)), 1, where)
    assert legal(paper) == []
    assert simulate(paper).ok
    strict = placed(build_problem(crowd(), engine(8, level="strict")), 1, where)
    assert {violation.kind for violation in legal(strict)} == {"conflict"}


def test_paper_placement_that_strict_rejects_for_its_waits() -> None:
    # The result of p is on tile 1 at 4; spoke 1 of II 2 comes round at 5: a wait of 1, with no register to wait in.
    where = {"p": (0, 0), "q": (1, 1), "r": (1, 0)}
    assert legal(placed(build_problem(chain(), engine()), 2, where)) == []
    strict = placed(build_problem(chain(), engine(level="strict", delays=0)), 2, where)
    assert {violation.kind for violation in legal(strict)} == {"delays"}


def test_lowest_ii_is_kept_and_an_asked_one_respected() -> None:
    dfg = load_source("kernel:distance")
    assert annealed(dfg, engine()).ii == 1
    assert annealed(dfg, engine(), ii=5).ii == 5


def test_run_ended_by_effort_is_the_same_for_any_number_of_workers() -> None:
    dfg, arch = load_source("kernel:fft_radix2"), engine()
    runs = [anneal_spokes(dfg, arch, SpokesAnnealConfig(), Budget(effort=20_000, seed=4, workers=w)) for w in (1, 2)]
    assert runs[0] == runs[1]


@pytest.mark.parametrize("seed", range(4))
def test_flows_joined_asynchronously_keep_their_values_whatever_a_message_takes(seed: int) -> None:
    b = DfgBuilder("flows")
    b.add("add", b.input("x"), b.const(1), id="u")
    b.add("mul", "u", b.const(3), id="w")
    b.add("mul", id="v")
    b.edges.append(Edge(source="w", target="v", kind="async"))
    b.edges.append(Edge(source=b.const(3), target="v", operand=1))
    b.output(b.add("sub", "v", b.input("z"), id="t"), "y")
    mapping = annealed(b.build(), engine(8))
    assert legal(mapping) == []
    assert simulate(mapping, seed=seed).ok


# -- rules ------------------------------------------------------------------------------------------------------------


def test_nodes_that_share_a_variable_share_a_tile() -> None:
    b = DfgBuilder("shared")
    a = b.livein("a")
    first = b.add("mul", b.input("x"), a, id="p")
    b.output(b.add("mul", b.add("add", first, b.const(1), id="q"), a, id="r"), "y")
    mapping = annealed(b.build(), engine())
    place = {i.node: i.place for i in mapping.instances}
    assert place["p"] == place["r"]
    proved_right(mapping)


@pytest.mark.parametrize(
    ("build_graph", "array", "message"),
    [
        ("siblings", {}, "two tiles: readers of p"),
        ("starts", {}, "two tiles: nodes that start a synchronous flow"),
        ("many", {"tiles": 2}, "nodes that start a synchronous flow: needs 3 tiles, has 2"),
        ("one_tile", {"spokes": 2}, "slots and recurrences: needs II 3, has 2 spokes per tile"),
        ("memory", {"tile_memory": 0}, "tile memory: needs 1 variables"),
    ],
)
def test_unsatisfiable_combination_is_found_before_the_search(
    build_graph: str, array: dict[str, int], message: str
) -> None:
    found = anneal_spokes(GRAPHS[build_graph](), engine(**array), SpokesAnnealConfig(), Budget(effort=1000))
    assert isinstance(found, Failure)
    assert message in str(found)


def _siblings() -> Dfg:
    b = DfgBuilder("siblings")
    a = b.livein("a")
    b.add("add", b.input("x"), b.const(1), id="p")
    for k in range(2):
        b.output(b.add("mul", "p", a, id=f"q{k}"), f"y{k}")
    return b.build()


def _starts() -> Dfg:
    b = DfgBuilder("starts")
    a = b.livein("a")
    for k in range(2):
        b.output(b.add("mul", b.input(f"x{k}"), a, id=f"q{k}"), f"y{k}")
    return b.build()


def _one_tile() -> Dfg:
    b = DfgBuilder("one_tile")
    a, value = b.livein("a"), b.input("x")
    for k in range(3):
        value = b.add("mul", value, a, id=f"q{k}")
    b.output(value, "y")
    return b.build()


GRAPHS = {
    "siblings": _siblings,
    "starts": _starts,
    "many": lambda: load_source("kernel:vector_add,lanes=3"),
    "one_tile": _one_tile,
    "memory": lambda: load_source("kernel:axpy"),
}


def test_tiles_that_colouring_refuses_are_refused() -> None:
    # An odd cycle of exclusions over pairs that share a variable cannot be seen by counting.
    b = DfgBuilder("odd")
    for k in range(3):
        b.add("add", b.input(f"x{k}"), b.const(k), id=f"s{k}")
    for k in range(3):
        b.output(b.add("sub", f"s{k}", f"s{(k + 1) % 3}", id=f"r{k}"), f"y{k}")
    problem = build_problem(b.build(), engine(tiles=2))
    assert screen(problem, None) is not None
    tiles, _ = tile_assignment(build_problem(b.build(), engine(tiles=3)), 6)
    assert tiles is not None and len(set(tiles[:3].tolist())) == 3


def test_another_kind_of_array_is_refused() -> None:
    with pytest.raises(
        OptionError, match="takes tiles with spokes such as streaming-engine; array 'shared-in-time' is none"
    ):
        spokes_random(load_source("kernel:distance"), shared_in_time(), SpokesRandomConfig(), Budget())


def test_wrong_settings_are_named() -> None:
    with pytest.raises(OptionError, match="samples: expected at least 1, found 0"):
        SpokesRandomConfig(samples=0)


# -- the optimum ------------------------------------------------------------------------------------------------------


def brute_force(problem: SpokesProblem, ii: int) -> int:
    """Fewest cycles over all placements that keep the rules."""
    slots = list(itertools.product(range(problem.tiles), range(ii)))
    best = 1 << 20
    for rows in itertools.permutations(slots, problem.size):
        tiles = [row[0] for row in rows]
        if any(len({tiles[n] for n in members}) < len(members) for _, members in problem.cliques):
            continue
        found = realise(problem, ii, *(np.array(column, dtype=np.int32) for column in zip(*rows)))
        if found is not None:
            best = min(best, found.cycles)
    return best


def test_exact_is_the_least_of_all_placements() -> None:
    pytest.importorskip("ortools")
    from gridloom.search.solver import ExactConfig
    from gridloom.targets.streaming.mappers.exact.mapper import exact_spokes as exact

    b = DfgBuilder("diamond")
    b.add("add", b.input("x"), b.const(1), id="p")
    b.add("mul", "p", b.const(3), id="q")
    b.add("sub", "p", b.const(5), id="r")
    b.output(b.add("add", "q", "r", id="s"), "y")
    problem = build_problem(b.build(), engine(tiles=3, spokes=2))
    found = exact(b.build(), engine(tiles=3, spokes=2), ExactConfig(ii=2, workers=1), Budget(time_limit=20))
    assert isinstance(found, Mapping)
    assert (cycles(found), found.provenance["optimal"]) == (brute_force(problem, 2), True)
    proved_right(found)


def test_exact_at_level_strict_is_legal_and_says_what_it_proved() -> None:
    pytest.importorskip("ortools")
    from gridloom.search.solver import ExactConfig
    from gridloom.targets.streaming.mappers.exact.mapper import exact_spokes as exact

    found = exact(load_source("kernel:distance"), engine(level="strict"), ExactConfig(ii=6), Budget(time_limit=20))
    assert isinstance(found, Mapping)
    proved_right(found)
    assert found.provenance["bound"] <= cycles(found)


def test_streams_that_enter_through_a_unit_are_refused() -> None:
    reason = screen(build_problem(fuse(load_source("kernel:systolic_matmul,n=2")), engine()), None)
    assert reason is not None
    assert (reason.constraint, reason.demand) == ("op class of node 'a0'", "input")
