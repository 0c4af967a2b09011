"""RAMP and its restrictions: legal and right mappings, and for each strategy a loop that maps only with it."""

from __future__ import annotations

import random
from itertools import pairwise
from typing import Any

import pytest
from tests.plain_arrays import static_grid
from tests.random_cases import loop_graph

from gridloom.archs import Arch, build
from gridloom.compiler.source import load_source
from gridloom.dfg import Dfg, DfgBuilder, Edge
from gridloom.errors import OptionError
from gridloom.mapping import Failure, Mapping, json_format
from gridloom.mapping.mii import mii
from gridloom.search.budget import Budget
from gridloom.sim import simulate
from gridloom.targets.modulo.mappers.problem import ModuloProblem
from gridloom.targets.modulo.mappers.ramp.memmap import MemmapConfig, memmap
from gridloom.targets.modulo.mappers.ramp.ramp import RampConfig, ramp
from gridloom.targets.modulo.mappers.ramp.regimap import LearningSearch, RegimapConfig, regimap
from gridloom.targets.modulo.mappers.ramp.search import STRATEGIES, RampLimits, Technique
from gridloom.transform.streams import streams_to_memory
from gridloom.verify import legal

QUICK = Budget(effort=400_000)
#: For searches that are meant to fail, which would use all of it.
LITTLE = Budget(effort=40_000)


def confirmed(found: Mapping | Failure) -> Mapping:
    assert isinstance(found, Mapping), found
    assert legal(found) == []
    assert simulate(found, iterations=24).ok
    return found


def torus(**parameters: Any) -> Arch:
    return build({"family": "torus", "bus": None, "hold": "next", **parameters})


def counter(b: DfgBuilder, name: str = "i") -> str:
    """0, 1, 2, ..."""
    b.add("add", id=name, liveout=name)
    b.carry(name, name, operand=0, distance=1, initial=[-1])
    b.edges.append(Edge(source=b.const(1), target=name, operand=1))
    return name


def kinds_used(mapping: Mapping) -> set[str]:
    return {name.rpartition(".")[2].rstrip("0123456789") for route in mapping.routes for name, _ in route.hops}


# -- each strategy alone maps a loop ----------------------------------------------------------------------------------


def between_far_tiles() -> tuple[Dfg, Arch, int]:
    """A load runs on one PE only, a multiplication on another that no wire joins to it, and nothing can wait."""
    b = DfgBuilder("far")
    b.array("A", 64)
    b.add("mul", b.load("A", counter(b)), b.const(3), id="y", liveout="y")
    places = {"mul": {"tiles": [[0, 0]]}, "memory": {"tiles": [[0, 2]]}}
    return b.build(), torus(rows=1, cols=4, regs=0, **places), 1


def long_life_without_registers() -> tuple[Dfg, Arch, int]:
    """A value of nine iterations ago: 26 moves or a store and a load, in nine slots of which four are taken."""
    b = DfgBuilder("old")
    b.add("neg", id="old", liveout="old")
    b.add("neg", id="now", liveout="now")
    b.add("neg", "now", id="then", liveout="then")
    b.add("add", "then", b.const(1), id="last", liveout="last")
    b.carry("last", "now", operand=0, distance=1)
    b.carry("last", "old", operand=0, distance=9)
    b.edges.append(Edge(source="last", target="old", kind="order", delay=1))
    return b.build(), torus(rows=1, cols=3, regs=0), 3


def life_of_two_files() -> tuple[Dfg, Arch, int]:
    """A value lives for two periods of six cycles; each of three files has one register, three slots are free.

    Moves alone could pass it on, too, but in the cycles that a schedule gives them they do not.
    """
    b = DfgBuilder("split")
    ring = [b.add("neg", id="a", liveout="a")]
    for name in "bcdef":
        ring.append(b.add("neg", ring[-1], id=name, liveout=name))
    b.carry("f", "a", operand=0, distance=1)
    b.add("add", "e", id="z", liveout="z")
    b.carry("f", "z", operand=1, distance=2)
    for k in range(8):
        b.add("add", b.const(k), b.const(1), id=f"filler{k}", liveout=f"filler{k}")
    return b.build(), torus(rows=1, cols=3, regs=1, memory="none"), 6


def two_live_ins_for_one_register() -> tuple[Dfg, Arch, int]:
    """Two PEs with a register each could keep both live-ins, but one op reads both."""
    b = DfgBuilder("live")
    b.add("add", b.livein("x"), b.livein("y"), id="s", liveout="s")
    return b.build(), torus(rows=1, cols=2, regs=1, rotating=0), 2


def two_ends_of_a_ring() -> tuple[Dfg, Arch, int]:
    """A value goes to two PEs four wires apart; one PE of eight is free, too few to pass it on, enough for a copy."""
    b = DfgBuilder("ends")
    b.array("A", 64)
    x = counter(b)
    b.add("mul", x, b.const(3), id="u", liveout="u")
    b.load("A", x, id="v")
    for k in range(4):
        counter(b, f"filler{k}")
    places = {"mul": {"tiles": [[0, 0]]}, "memory": {"tiles": [[0, 4]]}}
    return b.build(), torus(rows=1, cols=8, regs=0, **places), 1


def two_ops_for_one_slot() -> tuple[Dfg, Arch, int]:
    """A value waits where it was made, on the one PE that multiplies, and is read when a product is due there.

    Not one slot is free for anything inserted: only a later cycle helps.
    """
    b = DfgBuilder("slot")
    b.add("mul", b.const(3), id="r0", liveout="r0")
    ring = [b.add("neg", "r0", id="r1"), b.add("neg", "r1", id="r2"), b.add("neg", "r2", id="r3")]
    b.carry(ring[-1], "r0", operand=1, distance=1)
    b.add("add", "r0", b.const(1), id="y", liveout="y")
    b.order("r0", "y", delay=2)
    for k in range(2):
        b.add("mul", b.const(k), b.const(5), id=f"m{k}", liveout=f"m{k}")
    for k in range(5):
        b.add("add", b.const(k), b.const(1), id=f"filler{k}", liveout=f"filler{k}")
    return b.build(), torus(rows=1, cols=3, regs=1, memory="none", mul={"tiles": [[0, 0]]}), 4


ONLY_WITH = {
    "route": between_far_tiles,
    "memory": long_life_without_registers,
    "files": life_of_two_files,
    "livein": two_live_ins_for_one_register,
    "recompute": two_ends_of_a_ring,
    "reschedule": two_ops_for_one_slot,
}


def test_every_strategy_has_its_loop() -> None:
    assert set(ONLY_WITH) == set(STRATEGIES)


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_loop_maps_with_the_strategy_and_not_without_it(strategy: str) -> None:
    dfg, arch, ii = ONLY_WITH[strategy]()
    found = confirmed(ramp(dfg, arch, RampConfig(ii=ii), QUICK))
    assert strategy in found.provenance["strategies"]
    others = ",".join(name for name in STRATEGIES if name != strategy)
    without = ramp(dfg, arch, RampConfig(ii=ii, strategies=others), LITTLE)
    assert isinstance(without, Failure)


def test_a_strategy_can_be_left_out_by_name() -> None:
    assert RampConfig(without="files, route").names == set(STRATEGIES) - {"files", "route"}
    assert RampConfig(strategies="route,memory", without="memory").names == {"route"}


def test_strategies_leave_their_marks() -> None:
    def result(name: str) -> Mapping:
        dfg, arch, ii = ONLY_WITH[name]()
        return confirmed(ramp(dfg, arch, RampConfig(ii=ii), QUICK))

    assert "fu" in kinds_used(result("route"))
    assert {"store", "load"} <= kinds_used(result("memory"))
    files = {hop.partition(".")[0] for route in result("files").routes for hop, _ in route.hops if ".r" in hop}
    assert len(files) == 2
    assert any(instance.place == "mem" for instance in result("livein").instances)
    assert len(result("recompute").copies["i"]) == 2
    assert not {"fu", "store"} & kinds_used(result("reschedule"))


# -- all three --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(8))
def test_random_loops_are_legal_and_right(seed: int) -> None:
    arch = ("torus:2x2,regs=2", "torus:3x3,regs=4", "ramp-6", "torus:2x2,regs=8,file=central")[seed % 4]
    confirmed(ramp(loop_graph(random.Random(seed)), build(arch), RampConfig(), QUICK))


@pytest.mark.parametrize("arch", ["ramp-1", "ramp-4", "ramp-7", "ramp-8"])
def test_kernels_map_on_presets(arch: str) -> None:
    for name in ("iir", "isqrt"):
        confirmed(ramp(streams_to_memory(load_source(f"kernel:{name}")), build(arch), RampConfig(), QUICK))


def test_output_registers_keep_a_value_for_one_cycle() -> None:
    dfg = streams_to_memory(load_source("kernel:jacobi"))
    for found in (
        ramp(dfg, build("ramp-7"), RampConfig(), QUICK),
        regimap(dfg, build("ramp-7"), RegimapConfig(), QUICK),
        memmap(dfg, build("ramp-7"), MemmapConfig(), QUICK),
    ):
        for route in confirmed(found).routes:
            assert not any(a == b and a.endswith(".out") for (a, _), (b, _) in pairwise(route.hops))


def test_regimap_neither_spills_nor_shares_files_nor_keeps_live_ins() -> None:
    b = DfgBuilder("loop")
    i = counter(b)
    b.add("sub", b.add("neg", b.add("xor", i, b.livein("x"))), i, id="y", liveout="y")
    found = confirmed(regimap(b.build(), build("torus:3x3,regs=8,file=central"), RegimapConfig(), QUICK))
    assert "store" not in kinds_used(found)
    assert {instance.place for instance in found.instances if instance.node == "x"} == {"mem"}
    tile = {(instance.node, instance.copy): instance.place for instance in found.instances}
    for route in found.routes:
        edge = found.dfg.edges[route.edge]
        if route.hops[0][0].startswith("rf.") and not any(name.endswith(".fu") for name, _ in route.hops):
            assert tile[edge.source, route.source_copy] == tile[edge.target, route.copy]


def test_regimap_learns_from_failed_placements() -> None:
    """A value is read by three ops that a slot of its PE each would have to serve: moves have to be inserted."""
    dfg = streams_to_memory(load_source("kernel:mvt"))
    learned = confirmed(regimap(dfg, build("ramp-7"), RegimapConfig(), QUICK))
    assert learned.provenance["strategies"].keys() <= {"route", "reschedule"}
    assert learned.provenance["strategies"]["route"] > 0
    # As RAMP's paper describes it, the first schedule is all there is.
    described = regimap(dfg, build("ramp-7"), RegimapConfig(learns=False), QUICK)
    assert isinstance(described, Failure) or described.ii > learned.ii


def test_regimap_schedules_for_fewer_tiles_in_later_rounds() -> None:
    dfg = streams_to_memory(load_source("kernel:gsm_ltp"))
    problem = ModuloProblem(dfg, build("ramp-7"))
    technique = Technique(strategies=frozenset({"route"}), keeps_live_ins=False)
    limits = RampLimits(ii=None, attempts=1, starts=16, moves=50, links=1, sideways=0, options=0, first=1)
    search = LearningSearch(problem, technique, limits, mii(dfg, build("ramp-7")))
    ops, ii = len(search.original.ops), 4
    clock = QUICK.start()
    search._at(ii, 0, clock)
    placed = search.trace.placements
    assert placed == 1
    # With room for fewer ops than there are, nothing is scheduled.
    search._at(ii, 16 - (ops - 1) // ii, clock)
    assert search.trace.placements == placed


@pytest.mark.parametrize("decides", ["before", "after"])
def test_memmap_sends_long_dependences_over_memory(decides: str) -> None:
    b = DfgBuilder("loop")
    i = counter(b)
    late = i
    for _ in range(4):
        late = b.add("neg", late)
    b.add("sub", late, i, id="y", liveout="y")
    arch = build("torus:3x3,regs=8,bus=none")
    found = confirmed(memmap(b.build(), arch, MemmapConfig(decides=decides), QUICK))
    assert {"store", "load"} <= kinds_used(found)
    assert "r" not in kinds_used(found)


def test_run_ended_by_effort_is_the_same_again() -> None:
    dfg = streams_to_memory(load_source("kernel:gsm_ltp"))
    texts = set()
    for workers in (1, 2):
        found = ramp(dfg, build("ramp-7"), RampConfig(), Budget(effort=200_000, seed=3, workers=workers))
        texts.add(json_format.dumps(found) if isinstance(found, Mapping) else str(found))
    assert len(texts) == 1


@pytest.mark.parametrize("name", ["iir", "isqrt"])
def test_published_clique_search_maps_kernels_too(name: str) -> None:
    dfg = streams_to_memory(load_source(f"kernel:{name}"))
    confirmed(ramp(dfg, build("ramp-7"), RampConfig(clique="dharwadker"), QUICK))


def test_provenance_has_the_sizes_of_the_graphs() -> None:
    dfg = streams_to_memory(load_source("kernel:iir"))
    sizes = confirmed(ramp(dfg, build("ramp-7"), RampConfig(), QUICK)).provenance["graph"]
    assert sizes.keys() == {"ops", "inserted", "pairs", "placements"}
    assert sizes["pairs"] == 16 * sizes["ops"]


def test_failure_names_time_only_where_the_budget_ended_the_search() -> None:
    dfg, arch, ii = two_ops_for_one_slot()
    config = RampConfig(ii=ii, strategies="route", starts=1)
    tried = ramp(dfg, arch, config, QUICK)
    assert isinstance(tried, Failure)
    assert "more time" not in tried.levers and tried.cause == "exhausted"
    ended = ramp(dfg, arch, RampConfig(ii=ii, strategies="route"), Budget(effort=500))
    assert isinstance(ended, Failure)
    assert ended.levers[0] == "more time" and ended.cause == "limit"


def test_failure_names_the_ops_that_are_left() -> None:
    dfg, arch, ii = two_ops_for_one_slot()
    found = ramp(dfg, arch, RampConfig(ii=ii, strategies="route"), LITTLE)
    assert isinstance(found, Failure)
    assert found.constraint == "clique of (op, PE) pairs at II 4"
    assert found.bound.startswith("1 without a PE at best (")


def test_settings_are_checked() -> None:
    with pytest.raises(OptionError, match="no strategy is called 'rout'; known: route, memory, files, livein"):
        RampConfig(strategies="rout")
    with pytest.raises(OptionError, match="without: no strategy is called 'rout'; known: route, memory, files, livein"):
        RampConfig(without="rout")
    with pytest.raises(OptionError, match="clique: no clique search is called 'fast'; known: local, dharwadker"):
        RampConfig(clique="fast")
    with pytest.raises(OptionError, match="decides: expected before or after, found 'never'"):
        MemmapConfig(decides="never")
    with pytest.raises(OptionError, match="starts: expected at least 1, found 0"):
        RampConfig(starts=0)
    with pytest.raises(OptionError, match="mapper 'ramp' takes modulo-scheduled arrays with registers such as torus"):
        ramp(loop_graph(random.Random(1)), static_grid(2, 2), RampConfig(), QUICK)
