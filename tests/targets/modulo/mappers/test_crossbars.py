"""``modulo`` on arrays with crossbars: routes cross several links in one cycle, within the limit."""

from __future__ import annotations

import random

import pytest
from tests.random_cases import loop_graph
from tests.targets.modulo.families.morpher.descriptions import FILES

import gridloom as gl
from gridloom.archs import Kind, build
from gridloom.dfg import DfgBuilder
from gridloom.errors import OptionError
from gridloom.flow.inputs import read_arch
from gridloom.mapping import Failure, Mapping
from gridloom.search.budget import Budget
from gridloom.sim import simulate
from gridloom.targets.modulo.mappers.config import ModuloConfig
from gridloom.targets.modulo.mappers.crossbars.wires import read_wires
from gridloom.targets.modulo.mappers.modulo import modulo
from gridloom.verify import legal

ARRAYS = (
    "hycube:3x3,memory=all", "hycube:3x3,regs=2,memory=all,hops=2", "hycube:2x3,regs=3,rotating=free,memory=all",
    "hycube:3x3,regs=2,hops=1,memory=all,moves=false", "hycube:3x3,memory=all,hold=next,bus=none",
)  # fmt: skip


def longest_chain(mapping: Mapping) -> int:
    """The most links that one route crosses in one cycle."""
    links = {mapping.arch.resource_names[r] for _, _, r in mapping.arch.links}
    most = 0
    for route in mapping.routes:
        cycles = [cycle for name, cycle in route.hops if name in links]
        most = max([most, *(cycles.count(cycle) for cycle in cycles)])
    return most


@pytest.mark.parametrize("text", ARRAYS)
def test_random_loops_are_mapped_legally_and_compute_what_they_should(text: str) -> None:
    arch = build(text)
    for seed in range(4):
        mapping = modulo(loop_graph(random.Random(seed)), arch, ModuloConfig(), Budget(effort=4000, seed=seed))
        if isinstance(mapping, Failure):
            continue
        assert legal(mapping) == []
        assert simulate(mapping).ok
        assert longest_chain(mapping) <= (arch.links_per_cycle or 0)


def test_distant_tiles_talk_in_one_cycle() -> None:
    """Only the corner multiplies and only the other corner accesses memory: II 1 needs a chain of links."""
    b = DfgBuilder("far")
    b.array("A", 64)
    b.add("add", b.const(1), id="i")
    b.carry("i", "i", operand=1, distance=1, initial=(-1,))
    b.add("load", "i", id="x", array="A")
    b.add("mul", "x", b.const(3), id="y")
    b.add("add", "y", id="s")
    b.carry("s", "s", operand=1, distance=1, initial=(0,))
    spec = {"family": "hycube", "rows": 3, "cols": 3, "regs": 2, "mul": {"tiles": [[2, 2]]},
            "memory": {"tiles": [[0, 0]]}}  # fmt: skip
    mapping = modulo(b.build(), build(spec), ModuloConfig(), Budget(effort=20_000, seed=1))
    assert isinstance(mapping, Mapping)
    assert (mapping.ii, legal(mapping), simulate(mapping).ok) == (1, [], True)
    assert longest_chain(mapping) >= 2


def test_states_come_after_all_that_lead_to_them() -> None:
    arch = build("hycube:3x3,hops=3")
    arcs: dict[int, dict[int, int]] = {}
    for a, b, latency in zip(arch.arc_source.tolist(), arch.arc_target.tolist(), arch.arc_latency.tolist()):
        arcs.setdefault(a, {})[b] = latency
    wires = read_wires(arch, arcs)
    assert all(s < k for k, before in enumerate(wires.before) for s in before)
    assert max(crossed for _, crossed in wires.states) == 3
    links = sum(int(arch.kind[wires.resource(k)] == Kind.LINK) for k in range(len(wires.states)))
    assert links == 3 * len(arch.links)
    # Each link and the port behind it, three times, and the port that a register feeds at first.
    assert wires.depth == 7


@pytest.mark.parametrize("mapper", ["exact", "ramp", "regimap", "memmap"])
def test_mappers_that_know_no_crossbars_say_so(mapper: str) -> None:
    with pytest.raises(OptionError, match=f"mapper '{mapper}' takes .*; array 'hycube:2x2' is none of them; "
                       "mappers that take it: modulo, portfolio"):  # fmt: skip
        gl.map("kernel:vector_add", "hycube:2x2", mapper=mapper)


@pytest.mark.skipif(not FILES.exists(), reason="the descriptions of Morpher are not here")
@pytest.mark.parametrize("name", ["stdnoc", "hycube_original", "hycube_4regf"])
def test_morphers_array_add_is_mapped_onto_its_arrays_at_the_published_ii(name: str) -> None:
    graph = FILES / "dfg" / "array_add_array_add_INNERMOST_LN1_PartPred_DFG.xml"
    result = gl.map(graph, str(FILES / "arch" / f"{name}.json"), effort=20_000, seed=1)
    assert result.mapping is not None
    # Morpher's own mapper reports II 4, which is the recurrence's bound.
    assert result.mapping.ii == 4
    assert legal(result.mapping) == []


@pytest.mark.slow
@pytest.mark.skipif(not FILES.exists(), reason="the descriptions of Morpher are not here")
def test_array_add_is_mapped_onto_every_array_that_is_read() -> None:
    graph = FILES / "dfg" / "array_add_array_add_INNERMOST_LN1_PartPred_DFG.xml"
    mapped = 0
    for file in sorted((FILES / "arch").glob("*.json")):
        try:
            arch = read_arch(str(file))
        except gl.GridloomError:
            continue
        result = gl.map(graph, arch, effort=20_000, seed=1)
        assert result.mapping is not None, file.name
        assert legal(result.mapping) == []
        mapped += 1
    assert mapped == 18
