"""Power and slack of a routed graph on rows of combinational ALUs, by the published model of the Cool Mega Array.

The model and its constants are GenMap's (Kojima, Doan and Amano, IEEE TVLSI 28(11), 2020; the chip data that its
authors publish for the array with a register between rows, without body bias): an op switches a number of times that
is its own, and a part of the glitches of its operands is added, more the further it is from the last register; a
switching element hands on a share of what reaches it. Energy is proportional to all switching, pipeline registers
come on top, and leakage is that of the whole array. The slack is what the longest path between two registers leaves
of the clock period.

A conflict has no meaning here: only routes of legal placements should be asked about. Linear in the resources in use.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Final

from gridloom.archs.model import Kind
from gridloom.search.arrays import Int32s
from gridloom.targets.rows.mappers.problem import OP, RowArray, RowGraph

#: Op -> how often it switches in a cycle, and its delay in ns.
_OPS: Final[Mapping[str, tuple[float, float]]] = {
    "add": (17.1693, 11.274892), "sub": (20.0153, 11.045261), "mult": (31.4623, 15.159216), "sl": (6.79133, 5.91113),
    "sr": (4.97267, 6.679759), "sra": (7.318, 6.518734), "and": (5.217, 4.2138), "or": (16.9233, 4.129335),
    "not": (11.1277, 4.048976), "xor": (20.997, 4.691289), "cat": (11.1437, 4.124082), "sel": (11.986, 5.363962),
    "gt": (18.6567, 4.091727), "lt": (18.3073, 4.841837), "eql": (28.609, 5.476436), "nop": (0.0, 0.0),
}  # fmt: skip
#: What passes through an ALU is an op that hands its operand on.
_PASS: Final = _OPS["cat"]
#: Delay of a switching element in ns; the share of switching that it hands on.
_SWITCH_DELAY: Final = 1.063135018
_SWITCH_SHARE: Final = 0.0687944267861383
#: Energy of one switching and of a pipeline register in pJ; propagation of glitches and its growth with the distance.
_ENERGY: Final = 0.08358211564291528
_REGISTER_ENERGY: Final = 4.002153
_PROPAGATION: Final = 0.33941864332467653
_GROWTH: Final = 1.0998579623716935
#: Leakage in mW of a PE and of a pipeline register.
_LEAKAGE: Final = 0.00091895
_REGISTER_LEAKAGE: Final = 0.01187746e-3


@dataclass(frozen=True, slots=True, kw_only=True)
class OperatingPoint:
    """Power in mW and slack in ns of a mapping at a clock period."""

    power: float
    slack: float


@dataclass(slots=True)
class _Node:
    """A used resource: how long after the last register it settles, how far from it, and how often it switches."""

    time: float = 0.0
    distance: int = 0
    switching: float = 0.0


def operation(
    graph: RowGraph, array: RowArray, place: Int32s, route: Int32s, length: Int32s, bits: Sequence[int], period: float
) -> OperatingPoint:
    """Return power and slack of routed edges; ``bits`` are the pipeline registers that are on, ``period`` is in ns."""
    arch, rows = array.arch, array.rows
    before, ops = _used(graph, array, place, route, length)
    nodes: dict[int, _Node] = {}
    longest = 0.0
    for number in sorted(before):
        resource = int(array.resource[number])
        row = arch.tiles[int(arch.tile[resource])].row
        node = _Node()
        most = 0.0
        for source in before[number]:
            earlier = nodes.get(source, _Node())
            home = arch.tiles[int(arch.tile[int(array.resource[source])])].row
            if row > home >= 0 and any(bits[home:row]):
                continue
            node.time = max(node.time, earlier.time)
            node.distance = max(node.distance, earlier.distance)
            most = max(most, earlier.switching)
        if number in ops or int(rows.owner[number]) >= 0:
            own, delay = ops.get(number, _PASS)
            node.time, node.distance = node.time + delay, node.distance + 1
            node.switching = own + _PROPAGATION * _GROWTH**node.distance * most
        elif arch.kind[resource] == Kind.SWITCH:
            node.time, node.distance = node.time + _SWITCH_DELAY, node.distance + 1
            node.switching = most * _SWITCH_SHARE
        else:
            node.switching = 0.0
            # An operand or an output of an ALU is a wire: what reaches it goes on as it is.
            nodes[number] = _Node(node.time, node.distance, most)
            longest = max(longest, node.time)
            continue
        nodes[number] = node
        longest = max(longest, node.time)
    total = sum(
        nodes[n].switching
        for n in nodes
        if n in ops or int(rows.owner[n]) >= 0 or arch.kind[int(array.resource[n])] == Kind.SWITCH
    )
    energy = _ENERGY * total + _REGISTER_ENERGY * sum(bits)
    pes = sum(tile.kind == "pe" for tile in arch.tiles)
    return OperatingPoint(
        power=energy / period + _LEAKAGE * pes + _REGISTER_LEAKAGE * len(bits), slack=period - longest
    )


def _used(
    graph: RowGraph, array: RowArray, place: Int32s, route: Int32s, length: Int32s
) -> tuple[dict[int, set[int]], dict[int, tuple[float, float]]]:
    """The resources in use with those before each, and the ALUs that run an op, by their function units."""
    rows = array.rows
    before: dict[int, set[int]] = {}
    ops: dict[int, tuple[float, float]] = {}
    for n, k in enumerate(graph.nodes.tolist()):
        if graph.group[n] == OP:
            unit, out = int(rows.tile_fu[place[n]]), int(rows.tile_out[place[n]])
            ops[unit] = _OPS.get(graph.dfg.nodes[k].op, _PASS)
            before.setdefault(unit, set())
            before.setdefault(out, set()).add(unit)
    for e in range(len(graph.edges)):
        path = route[e, : length[e]].tolist()
        before.setdefault(path[0], set())
        for a, b in pairwise(path):
            before.setdefault(b, set()).add(a)
        target = int(graph.target[e])
        if graph.group[target] == OP:
            before[int(rows.tile_fu[place[target]])].add(path[-1])
    return before, ops
