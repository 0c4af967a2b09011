"""From (tile, spoke) of every node to a Mapping: issue cycles, routes through the fabric, waits.

``realise`` completes a placement into a :class:`SpokeSchedule`, legal or not; ``to_mapping`` translates a legal one.
"""

from __future__ import annotations

from collections.abc import Callable
from collections.abc import Mapping as MappingABC
from dataclasses import dataclass
from typing import Any

import numpy as np

from gridloom.mapping.model import Hop, Instance, Mapping, Route
from gridloom.search.arrays import Int32s
from gridloom.targets.streaming.mappers.kernel import NONE, makespan, postpone, route, schedule, waiting
from gridloom.targets.streaming.mappers.problem import SpokesProblem

# The offset of each of the four links of a tile, by their number.
_OFFSETS = (-2, -1, 1, 2)

# Rounds of routing after which contested links are left as they are.
_ROUNDS = 64


@dataclass(frozen=True, slots=True, eq=False)
class SpokeSchedule:
    """A complete schedule: tile, spoke and issue of each node of the problem, and its routes.

    ``realise`` and the exact model make it. Nodes and wires are numbered as in the problem that it was made for.
    """

    ii: int
    tile: Int32s
    spoke: Int32s
    issue: Int32s
    cycles: int
    #: For each wire of the tables its links in order, ``NONE`` after the last.
    steps: Int32s
    #: Values without a link of their own and waits without a register; 0: legal.
    violations: int


def realise(
    problem: SpokesProblem, ii: int, tile: Int32s, spoke: Int32s, late: Callable[[], bool] = lambda: False
) -> SpokeSchedule | None:
    """The schedule and the routes of a placement; None when carried values cannot be in time.

    Links are negotiated for: those that two values want grow dearer until each has one, for a fixed number of rounds,
    or until it is too ``late``. Costs a few passes over the wires. ``tile`` and ``spoke`` are copied. At level paper
    links have no limit, and only waits beyond the delay registers count as violations.
    """
    tables, tiles = problem.tables, problem.tiles
    issue = np.empty(problem.size, dtype=np.int32)
    if not schedule(tables, ii, tile, spoke, issue):
        return None
    owner = np.empty((tiles * 4, ii), dtype=np.int32)
    price = np.zeros((tiles * 4, ii), dtype=np.int32)
    steps = np.full((max(1, len(tables.wire_source)), tiles), NONE, dtype=np.int32)
    clashes = 0
    for _ in range(_ROUNDS):
        clashes = route(tables, ii, tile, issue, owner, price, steps)
        if clashes == 0 or not problem.strict or late():
            break
    if not problem.strict:
        clashes = 0
    count = np.empty((tiles, ii), dtype=np.int32)
    over = waiting(tables, ii, tile, issue, count)
    if over:
        later = np.empty_like(issue)
        postpone(tables, ii, tile, issue, later)
        less = waiting(tables, ii, tile, later, count)
        if less < over:
            issue, over = later, less
    return SpokeSchedule(
        ii=ii,
        tile=tile.copy(),
        spoke=spoke.copy(),
        issue=issue,
        cycles=int(makespan(tables, issue)),
        steps=steps,
        violations=int(clashes + over),
    )


def to_mapping(problem: SpokesProblem, placement: SpokeSchedule, provenance: MappingABC[str, Any]) -> Mapping:
    """The mapping of a placement without violations. Linear in its links.

    The ``fifo`` of a route is the number of cycles that the value waits in delay registers for its reader.
    """
    wires = zip(problem.tables.wire_source, problem.tables.wire_target, problem.tables.wire_distance)
    wire_of = {tuple(map(int, ends)): w for w, ends in enumerate(wires)}
    names = [tile.name for tile in problem.arch.tiles]
    instances = tuple(
        Instance(node=problem.name(n), place=names[placement.tile[n]], cycle=int(placement.issue[n]))
        for n in range(problem.size)
    )
    routes = []
    for k in problem.edges:
        edge = problem.dfg.edges[k]
        ends = (problem.number[edge.source], problem.number[edge.target])
        hops = _hops(problem, placement, ends, wire_of[(*ends, edge.distance)], edge.operand)
        due = int(placement.issue[ends[1]]) + placement.ii * edge.distance
        routes.append(Route(edge=k, hops=hops, fifo=due - hops[-1][1]))
    return Mapping(
        dfg=problem.dfg,
        arch=problem.arch,
        ii=placement.ii,
        instances=instances,
        routes=tuple(routes),
        provenance=provenance,
    )


def _hops(
    problem: SpokesProblem, placement: SpokeSchedule, ends: tuple[int, int], wire: int, operand: int
) -> tuple[Hop, ...]:
    """The hops of one route: the output of the source's tile, its links, and the operand of the target's tile.

    Each hop has the cycle in which the value enters it; a link takes as many cycles as it crosses tiles.
    """
    tiles = problem.arch.tiles
    position, last = (int(placement.tile[n]) for n in ends)
    cycle = int(placement.issue[ends[0]]) + problem.latency
    hops = [(f"{tiles[position].name}.out", cycle)]
    for link in placement.steps[wire].tolist():
        if link == NONE:
            break
        offset = _OFFSETS[link % 4]
        hops.append((f"{tiles[position].name}>{tiles[position + offset].name}", cycle))
        position, cycle = position + offset, cycle + abs(offset)
    hops.append((f"{tiles[last].name}.in{operand}", cycle))
    return tuple(hops)
