"""Judging a placement for the genetic mapper, compiled: route everything once, count what is wrong and what is used."""

from __future__ import annotations

import numpy as np

from gridloom.mappers.core.kernels import borrowing, copy_row, kernel
from gridloom.mappers.rows.kernel import LOAD, OP, STORE, Graph, Ints, Rows, State, connect, lift


@borrowing
def _clear(state: State) -> None:
    state.occupant[:] = -1
    state.length[:] = 0
    state.own[:] = 0
    state.used[:] = 0
    state.history[:] = 0.0
    state.over[:] = 0
    state.wire[0] = 0.0


@borrowing
def _fights(e: int, state: State) -> bool:
    for k in range(state.length[e]):
        if state.used[state.way[e, k]] > 1:
            return True
    return bool(state.length[e] == 0)


@borrowing
def _assign_ports(graph: Graph, rows: Rows, place: Ints, state: State) -> None:
    """Give every input and output the free port nearest to the columns of the ops it talks to."""
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
def _nearest(a: int, wanted: float, graph: Graph, rows: Rows, place: Ints, state: State) -> None:
    line = rows.ports[graph.group[a] - 1]
    chosen = -1
    for c in range(len(line)):
        if line[c] >= 0 and state.occupant[line[c]] < 0 and (chosen < 0 or abs(c - wanted) < abs(chosen - wanted)):
            chosen = c
    place[a] = line[chosen]
    state.occupant[line[chosen]] = a


@kernel
def judge(graph: Graph, rows: Rows, place: Ints, column: Ints, turns: int, price: float, state: State) -> Ints:
    """Route a placement of ops: (conflicts and missing ways, wire length, width, op width).

    Ports (-1 in ``place``) are chosen here and written there. ``turns`` times, what fights is ripped up and routed
    again. ``column`` is the column of each resource. The ways are in ``state``.
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
            if _fights(e, state):
                lift(e, graph.source[e], rows, state, price)
                connect(e, graph, rows, state, price)
    result = np.zeros(4, dtype=np.int32)
    result[0] = state.over[0] + state.over[1]
    result[1] = _wire_length(rows, state)
    result[2], result[3] = _widths(graph, rows, place, column, state)
    return result


@borrowing
def _wire_length(rows: Rows, state: State) -> int:
    """Switches and ALUs that signals pass through."""
    length = 0
    for r in range(len(state.used)):
        if state.used[r] > 0 and rows.base[r] >= 1.0:
            length += state.used[r]
    return length


@borrowing
def _widths(graph: Graph, rows: Rows, place: Ints, column: Ints, state: State) -> tuple[int, int]:
    """Columns of everything that is used, and of ops alone."""
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
