"""The examples of RAMP's paper as far as its text gives them: the graphs of figure 2 and the edits of figure 5."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from gridloom.archs import Arch, build
from gridloom.dfg import Dfg, DfgBuilder
from gridloom.mapping import Failure, Mapping
from gridloom.mapping.mii import mii
from gridloom.search.budget import Budget
from gridloom.sim import simulate
from gridloom.targets.modulo.mappers.problem import ModuloProblem
from gridloom.targets.modulo.mappers.ramp.graph import WorkGraph, work_graph
from gridloom.targets.modulo.mappers.ramp.memmap import MemmapConfig, memmap
from gridloom.targets.modulo.mappers.ramp.place import UNUSED, RampAttempt, start_attempt
from gridloom.targets.modulo.mappers.ramp.ramp import RampConfig, ramp
from gridloom.targets.modulo.mappers.ramp.regimap import RegimapConfig, regimap
from gridloom.targets.modulo.mappers.ramp.strategies import Editor
from gridloom.verify import legal

QUICK = Budget(effort=400_000)
LITTLE = Budget(effort=40_000)


def confirmed(found: Mapping | Failure) -> Mapping:
    assert isinstance(found, Mapping), found
    assert legal(found) == []
    assert simulate(found, iterations=24).ok
    return found


def pair(regs: int, memory: str = "none") -> Arch:
    """The 1 x 2 array of figure 2, with some registers for each PE."""
    return build({"family": "torus", "rows": 1, "cols": 2, "bus": None, "hold": "next", "regs": regs, "memory": memory})


def four_ops() -> Dfg:
    """Figure 2(a): a feeds b and c, c feeds d, and a needs the value that b had two iterations ago."""
    b = DfgBuilder("figure2a")
    b.add("neg", id="a", liveout="a")
    b.add("neg", "a", id="b", liveout="b")
    b.add("neg", "a", id="c", liveout="c")
    b.add("neg", "c", id="d", liveout="d")
    b.carry("b", "a", operand=0, distance=2)
    return b.build()


def ring_of_five() -> Dfg:
    """Figure 2(j): a chain of five, whose last value is needed two iterations later: it outlives a period of 5."""
    b = DfgBuilder("figure2j")
    b.add("neg", id="a", liveout="a")
    for before, name in zip("abcd", "bcde", strict=True):
        b.add("neg", before, id=name, liveout=name)
    b.carry("e", "a", operand=0, distance=2)
    return b.build()


def long_edges() -> Dfg:
    """Figure 2(m): a -> g and the carried b -> a are longer than three cycles, and registers could keep both."""
    b = DfgBuilder("figure2m")
    b.add("neg", id="a", liveout="a")
    b.add("neg", "a", id="b", liveout="b")
    for before, name in zip("bcde", "cdef", strict=True):
        b.add("neg", before, id=name, liveout=name)
    b.add("add", "f", "a", id="g", liveout="g")
    b.carry("b", "a", operand=0, distance=1)
    return b.build()


def test_figure_2a_maps_at_its_mii_of_two_on_two_elements() -> None:
    dfg, arch = four_ops(), pair(regs=2)
    assert mii(dfg, arch).total == 2
    for found in (ramp(dfg, arch, RampConfig(), QUICK), regimap(dfg, arch, RegimapConfig(), QUICK)):
        assert confirmed(found).ii == 2


def test_figure_2j_maps_when_the_value_is_read_before_its_register_is_needed_again() -> None:
    found = confirmed(ramp(ring_of_five(), pair(regs=1), RampConfig(ii=5, strategies="files"), QUICK))
    assert found.provenance["strategies"].keys() == {"files"}
    back = next(route for route in found.routes if found.dfg.edges[route.edge].distance == 2)
    kinds = [name.rpartition(".")[2] for name, _ in back.hops]
    # A register for at most one period, then an operation that reads it and passes the value on.
    assert kinds.count("r0") <= 5
    assert "fu" in kinds


def test_figure_2k_does_not_map_over_one_file() -> None:
    assert isinstance(ramp(ring_of_five(), pair(regs=1), RampConfig(ii=5, strategies="reschedule"), LITTLE), Failure)


def test_figure_2m_needs_more_slots_over_memory_than_over_registers() -> None:
    dfg, arch = long_edges(), pair(regs=4, memory="all")
    over_registers = confirmed(ramp(dfg, arch, RampConfig(), QUICK))
    over_memory = memmap(dfg, arch, MemmapConfig(), QUICK)
    assert not any("store" in name for route in over_registers.routes for name, _ in route.hops)
    assert isinstance(over_memory, Failure) or confirmed(over_memory).ii > over_registers.ii


@pytest.mark.parametrize("mapper", ["regimap", "memmap"])
def test_figure_3_references_keep_the_cycles_of_the_first_schedule(mapper: str) -> None:
    dfg, arch = long_edges(), build("torus:3x3,regs=4,bus=none")
    found = (
        regimap(dfg, arch, RegimapConfig(), QUICK) if mapper == "regimap" else memmap(dfg, arch, MemmapConfig(), QUICK)
    )
    cycle = {instance.node: instance.cycle for instance in confirmed(found).instances}
    # The chain is as short as its dependences allow: nothing was moved to make room for what was inserted.
    assert [cycle[name] - cycle["a"] for name in "bcdefg"] == [1, 2, 3, 4, 5, 6]


# -- figure 5: how each strategy changes x -> y ------------------------------------------------------------------------


def x_to_y() -> tuple[Editor, RampAttempt]:
    """p -> x, x -> z in the next cycle, x -> y three cycles later, and a live-in c that y reads."""
    b = DfgBuilder("figure5")
    b.add("neg", id="p", liveout="p")
    b.carry("p", "p", operand=0, distance=1)
    b.add("neg", "p", id="x", liveout="x")
    b.add("neg", "x", id="z", liveout="z")
    b.add("sub", "x", b.livein("c"), id="y", liveout="y")
    problem = ModuloProblem(b.build(), build("torus:2x2,regs=2"))
    cycle = {"p": 0, "x": 1, "z": 2, "y": 4}
    cycles = np.array([cycle[problem.dfg.nodes[k].id] for k in problem.nodes])
    return Editor(problem), start_attempt(work_graph(problem), cycles, 5)


def named(editor: Editor, graph: WorkGraph) -> list[str]:
    """Links as words: r2 is a second move, Sx a store of x, Lx its load, x' a copy."""
    names: list[str] = []
    for op in graph.ops:
        name = editor.problem.dfg.nodes[op.node].id
        word = {"op": name, "move": "r", "store": f"S{name}", "load": f"L{name}", "fetch": f"L{name}"}[op.kind]
        word += "'" * op.copy
        names.append(f"{word}{1 + sum(n.rstrip('0123456789') == 'r' for n in names)}" if word == "r" else word)
    return sorted(f"{names[link.source]}->{names[link.target]}" for link in graph.links)


def link(editor: Editor, now: RampAttempt, source: str, target: str) -> int:
    ids = [editor.problem.dfg.nodes[op.node].id for op in now.graph.ops]
    return next(k for k, e in enumerate(now.graph.links) if (ids[e.source], ids[e.target]) == (source, target))


def test_figure_5a_routes_over_one_then_two_elements() -> None:
    editor, now = x_to_y()
    graphs = list(editor.route_over_tiles(now, link(editor, now, "x", "y"), 2))
    assert named(editor, graphs[0]) == ["p->p", "p->x", "r1->y", "x->r1", "x->z"]
    assert named(editor, graphs[1]) == ["p->p", "p->x", "r1->r2", "r2->y", "x->r1", "x->z"]
    assert len(graphs) == 2


def test_figure_5b_reads_a_file_and_writes_another_in_the_next_cycle() -> None:
    editor, now = x_to_y()
    # At II 1 the two registers of a file keep x for two cycles, and y is four cycles later.
    later = np.where(now.cycle == 4, 6, now.cycle)
    files = (UNUSED,) * len(editor.problem.arch.register_files)
    placed = replace(now, ii=1, cycle=later, files=files)
    graph = next(
        g for g in editor.spill_to_files(placed, link(editor, now, "x", "y")) if len(g.ops) == len(now.graph.ops) + 2
    )
    assert named(editor, graph) == ["p->p", "p->x", "r1->r2", "r2->y", "x->r1", "x->z"]
    read, write = len(now.graph.ops), len(now.graph.ops) + 1
    assert graph.apart == ((read, write),)
    between = next(e for e in graph.links if (e.source, e.target) == (read, write))
    assert between.least == between.most == 1


def test_figure_5c_spills_to_memory_with_the_load_after_the_store() -> None:
    editor, now = x_to_y()
    (graph,) = editor.spill_to_memory(now, link(editor, now, "x", "y"))
    assert named(editor, graph) == ["Lx->y", "Sx->Lx", "p->p", "p->x", "x->Sx", "x->z"]
    assert next(e for e in graph.links if graph.ops[e.source].kind == "store").memory


def test_figure_5d_loads_a_value_that_is_only_read() -> None:
    editor, now = x_to_y()
    reader = next(keep.op for keep in now.graph.keeps)
    graph = next(editor.load_live_in(now.graph, reader))
    assert "Lc->y" in named(editor, graph)
    assert graph.keeps == ()


def test_figure_5e_computes_the_predecessor_again() -> None:
    editor, now = x_to_y()
    graph = list(editor.recompute(now, link(editor, now, "x", "y")))[-1]
    assert named(editor, graph) == ["p->p", "p->x", "p->x'", "x'->y", "x->z"]
