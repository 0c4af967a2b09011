"""Evaluation of a placement for the genetic mapper, compiled: route all edges, then count conflicts and resources.

The router is the one of :mod:`gridloom.targets.rows.mappers.kernel`, at one high price. Edges are routed one after the
other in their order, each around those before it, as the published mapper does; ``turns`` rounds of rip-up and reroute
on top of that are an addition. Costs one sweep over the arcs per edge and round.
"""

from __future__ import annotations

import numpy as np

from gridloom.jit import borrowing, copy_row, kernel
from gridloom.search.arrays import Int32s
from gridloom.targets.rows.mappers.kernel import RowKernelGraph, RowState, connect, rip_up
from gridloom.targets.rows.mappers.problem import LOAD, OP, STORE, RowTables


@borrowing
def _clear(state: RowState) -> None:
    """Empty a state for the next individual; all but ``place``, which is overwritten as a whole."""
    state.occupant[:] = -1
    state.length[:] = 0
    state.own[:] = 0
    state.used[:] = 0
    state.history[:] = 0.0
    state.over[:] = 0
    state.wire[0] = 0.0


@borrowing
def _in_conflict(e: int, state: RowState) -> bool:
    """True when edge e shares a resource with another signal or has no route."""
    for k in range(state.length[e]):
        if state.used[state.route[e, k]] > 1:
            return True
    return bool(state.length[e] == 0)


@borrowing
def _assign_ports(graph: RowKernelGraph, rows: RowTables, place: Int32s, state: RowState) -> None:
    """Give every input and output the free port nearest to the mean column of its neighbours, in the order of nodes."""
    for a in range(len(graph.group)):
        if place[a] >= 0 or (graph.group[a] != LOAD and graph.group[a] != STORE):
            continue
        total, count = 0, 0
        for k in range(graph.touch_at[a], graph.touch_at[a + 1]):
            e = graph.touch[k]
            other = graph.source[e] if graph.group[a] == STORE else graph.target[e]
            if place[other] >= 0:
                total += rows.col[place[other]]
                count += 1
        _nearest(a, total / max(1, count), graph, rows, place, state)


@borrowing
def _nearest(a: int, wanted: float, graph: RowKernelGraph, rows: RowTables, place: Int32s, state: RowState) -> None:
    """Put node a on the free port whose column is nearest to ``wanted``; of two equally near ones, the western.

    Screening has made sure that there is a free port.
    """
    line = rows.ports[graph.group[a] - 1]
    chosen = -1
    for c in range(len(line)):
        if line[c] >= 0 and state.occupant[line[c]] < 0 and (chosen < 0 or abs(c - wanted) < abs(chosen - wanted)):
            chosen = c
    place[a] = line[chosen]
    state.occupant[line[chosen]] = a


@kernel
def evaluate(
    graph: RowKernelGraph, rows: RowTables, place: Int32s, column: Int32s, turns: int, price: float, state: RowState
) -> Int32s:
    """Route a placement of ops: (conflicts and missing routes, wire length, width, op width).

    Ports (-1 in ``place``) are chosen here and written there. ``turns`` times, the edges in conflict are ripped up and
    routed again, after the contested resources became dearer. ``column`` is the column of each resource, -1 where it
    has none. The routes are in ``state`` afterwards; what was in it before does not matter.
    """
    _clear(state)
    for a in range(len(place)):
        if place[a] >= 0:
            state.occupant[place[a]] = a
    _assign_ports(graph, rows, place, state)
    copy_row(place, state.place)
    count = len(graph.source)
    for e in range(count):
        connect(e, graph, rows, state, price)
    for _ in range(turns):
        if state.over[0] + state.over[1] == 0:
            break
        for r in range(len(state.used)):
            if state.used[r] > 1:
                state.history[r] += price
        for e in range(count):
            if _in_conflict(e, state):
                rip_up(e, graph.source[e], rows, state, price)
                connect(e, graph, rows, state, price)
    result = np.zeros(4, dtype=np.int32)
    result[0] = state.over[0] + state.over[1]
    result[1] = _wire_length(rows, state)
    result[2], result[3] = _widths(graph, rows, place, column, state)
    return result


@borrowing
def _wire_length(rows: RowTables, state: RowState) -> int:
    """Switches, links and ALUs that signals pass through; a resource that n signals share counts n times."""
    length = 0
    for r in range(len(state.used)):
        if state.used[r] > 0 and rows.base[r] >= 1.0:
            length += state.used[r]
    return length


@borrowing
def _widths(graph: RowKernelGraph, rows: RowTables, place: Int32s, column: Int32s, state: RowState) -> tuple[int, int]:
    """Columns of everything that is used, and of ops alone, both from the first to the last one in use."""
    low, high, op_low, op_high = 1 << 20, -1, 1 << 20, -1
    for a in range(len(place)):
        if place[a] < 0:
            continue
        c = rows.col[place[a]]
        low, high = min(low, c), max(high, c)
        if graph.group[a] == OP:
            op_low, op_high = min(op_low, c), max(op_high, c)
    for r in range(len(state.used)):
        if state.used[r] > 0 and column[r] >= 0:
            low, high = min(low, column[r]), max(high, column[r])
    return high - low + 1, max(0, op_high - op_low + 1)
