"""Exact balancing: with routes fixed, the issue cycles that need the shallowest FIFOs.

arrival + FIFO = issue(target) + distance ties the FIFO of an edge to the difference of two issue cycles (II is 1), so
that everything is a system of difference constraints. The smallest maximum FIFO is found by binary search with
Bellman-Ford, the smallest total under it by steepest descent over minimum cuts; both are optimal, FIFO limits by
tile, ordering rules and aligned inputs included. :func:`plan` uses the same machinery the other way round: it fixes
the cycles first, so that the router can make wires as long as values have to wait.

Cost: O(nodes * edges * log FIFO) for the maximum, a few minimum cuts for the total.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from gridloom.search.arrays import Int32s, Int64s
from gridloom.targets.grid.mappers.problem import UNLIMITED, StaticProblem

if TYPE_CHECKING:
    from gridloom.targets.grid.mappers.balance.cut_kernel import Differences

# Links that a wire may be longer than the shortest way, when it stands in for a FIFO.
LONGEST_DETOUR = 24


@dataclass(frozen=True, slots=True, eq=False)
class Balance:
    """Issue cycles and FIFO depths of a routed placement.

    ``issue[node]`` is the cycle in which iteration 0 of a problem node issues, at least 0; ``fifo[edge]`` is how many
    cycles the edge's value waits at the operand of its target. Both belong to one set of route lengths: with other
    routes the balance is wrong. The depths obey the limits of the tiles.
    """

    issue: Int64s
    fifo: Int32s
    #: Cycles from 0 to the last result.
    latency: int

    @property
    def maximum(self) -> int:
        """The deepest FIFO."""
        return int(self.fifo.max(initial=0))

    @property
    def total(self) -> int:
        """All FIFO cycles."""
        return int(self.fifo.sum())


@dataclass(frozen=True, slots=True, eq=False)
class LengthWindow:
    """What the router is asked for: ``low`` to ``high`` links for each edge; and the issue cycles behind it.

    :func:`plan` makes it. A route of ``high`` links arrives just when its target issues; each link less is one cycle in
    a FIFO. Both arrays have one entry for each routed edge, ``issue`` one for each problem node.
    """

    low: Int32s
    high: Int32s
    issue: Int64s


class IssueTiming:
    """The rules between the issue cycles of a problem's nodes; lengths of routes come with each question.

    Rule k says lower <= t[v] - t[u] <= upper. The first rules are those of the edges between different nodes, in the
    order of ``crossing``; then follow ordering rules, aligned inputs, and one rule for each node that it issues at
    cycle 0 or later. Node ``root`` stands for cycle 0. The upper bound of an edge's rule is its lower bound and the
    FIFO that its target's tile has, so that balancing is choosing t.
    """

    def __init__(self, problem: StaticProblem) -> None:
        self.problem = problem
        self.root = problem.size
        self.crossing = np.flatnonzero(problem.source != problem.target)
        self.loops = np.flatnonzero(problem.source == problem.target)
        fixed = [*self._ordering(), *self._inputs()]
        fixed += [(self.root, k, 0, UNLIMITED) for k in range(problem.size)]
        table = np.array(fixed, dtype=np.int64).reshape(-1, 4)
        self.u = np.concatenate([problem.source[self.crossing].astype(np.int64), table[:, 0]])
        self.v = np.concatenate([problem.target[self.crossing].astype(np.int64), table[:, 1]])
        self._lower, self._upper = table[:, 2], table[:, 3]
        #: Nodes whose issue cycle is not free; True for graphs with rules other than those of routed edges.
        self.tied = np.zeros(problem.size, dtype=np.bool_)
        self.tied[[k for _, k, _, _ in self._inputs()]] = True
        self.ordered = bool(self._ordering())
        #: Rules that bound a node from cycle 0: the last ones, in node order.
        self._from_zero = slice(len(self.u) - problem.size, len(self.u))

    def _ordering(self) -> list[tuple[int, int, int, int]]:
        """The rules of edges without a value: ``order`` keeps a least distance in time, ``pair`` an exact one."""
        dfg, number = self.problem.dfg, self.problem.number
        rules = []
        for edge in dfg.edges:
            a, b = int(number[dfg.index[edge.source]]), int(number[dfg.index[edge.target]])
            if edge.kind in ("order", "pair") and a >= 0 and b >= 0 and a != b:
                apart = edge.delay - edge.distance
                rules.append((a, b, apart, apart if edge.kind == "pair" else UNLIMITED))
        return rules

    def _inputs(self) -> list[tuple[int, int, int, int]]:
        """The rules of aligned inputs: each issues in cycle 0."""
        problem = self.problem
        if problem.arch.inputs != "aligned":
            return []
        inputs = [k for k, n in enumerate(problem.nodes.tolist()) if problem.dfg.nodes[n].op == "input"]
        return [(self.root, k, 0, 0) for k in inputs]

    def waits(self, length: Int32s) -> Int64s:
        """The least difference of issue cycles for each crossing edge."""
        p = self.problem
        e = self.crossing
        return (p.reach[p.source[e]] + length[e] - 1 - p.distance[e]).astype(np.int64)

    def criticality(self) -> NDArray[np.float64]:
        """For each edge the longest path through it, as a share of the longest of all, with one link per edge.

        Loop-carried edges do not lengthen paths. All shares are 0 where the graph has no schedule at all.
        """
        p = self.problem
        waits = self.waits(np.ones(len(p.edges), dtype=np.int32))
        share = np.zeros(len(p.edges))
        unbounded = np.full(len(waits), UNLIMITED, dtype=np.int64)
        early = self.earliest(*self.bounds(waits, unbounded))
        if early is None:
            return share
        tail = p.latency.astype(np.int64)
        for n in reversed(p.dfg.topological):
            k = p.number[n]
            for e in np.flatnonzero(p.source == k) if k >= 0 else ():
                if p.distance[e] == 0:
                    tail[k] = max(tail[k], p.reach[k] + tail[p.target[e]])
        through = early[p.source] + p.reach[p.source] + tail[p.target]
        share[:] = through / max(1, int(through.max(initial=1)))
        return np.minimum(share, 1.0)

    def loop_fifo(self) -> Int64s:
        """The FIFO of each edge onto its own node: fixed by its distance; negative: the recurrence is too long."""
        p = self.problem
        return (p.distance[self.loops] - p.latency[p.source[self.loops]]).astype(np.int64)

    def bounds(self, waits: Int64s, caps: Int64s, last: int | None = None) -> tuple[Int64s, Int64s]:
        """Lower and upper bounds of all rules; ``last`` bounds the cycle by which every result is there."""
        lower = np.concatenate([waits, self._lower])
        upper = np.concatenate([waits + caps, self._upper])
        if last is not None:
            ends = upper[self._from_zero]
            upper[self._from_zero] = np.minimum(ends, last - self.problem.latency)
        return lower, upper

    def earliest(self, lower: Int64s, upper: Int64s) -> Int64s | None:
        """The least issue cycles that obey the bounds; None: there are none."""
        from gridloom.targets.grid.mappers.balance.cut_kernel import earliest

        t, broken = earliest(self.problem.size + 1, self._rules(lower, upper), self.root)
        return t if broken < 0 and t[self.root] == 0 else None

    def cheapest(self, lower: Int64s, upper: Int64s, knee: Int64s, gentle: Int64s, steep: Int64s) -> Int64s | None:
        """The earliest issue cycles of least cost; the cost arrays are for the crossing edges. None: infeasible."""
        from gridloom.targets.grid.mappers.balance.cut_kernel import Costs, descend

        t = self.earliest(lower, upper)
        if t is None:
            return None
        rules = self._rules(lower, upper)
        nothing = np.zeros(len(self.u) - len(gentle), dtype=np.int64)
        bend = np.minimum(np.concatenate([knee, lower[len(knee) :]]), rules.upper)
        costs = Costs(bend, np.concatenate([gentle, nothing]), np.concatenate([steep, nothing]))
        descend(t, rules, costs, self.root)
        return t

    def _rules(self, lower: Int64s, upper: Int64s) -> Differences:
        """The rules as the kernels see them."""
        from gridloom.targets.grid.mappers.balance.cut_kernel import INFINITE, Differences

        return Differences(self.u, self.v, lower, np.where(upper >= UNLIMITED // 2, INFINITE, upper))

    def caps(self, position: Int32s, bound: int) -> Int64s:
        """The FIFO cycles that each crossing edge may wait: its tile's limit, at most ``bound``."""
        p = self.problem
        limits = p.fifo[p.operand[self.crossing], position[p.target[self.crossing]]]
        return np.minimum(limits, bound).astype(np.int64)


def balance(timing: IssueTiming, position: Int32s, length: Int32s, *, fastest: bool = False) -> Balance | None:
    """The smallest maximum FIFO and, under it, the smallest total; None when no issue cycles obey the rules.

    With ``fastest`` the latency comes first: the FIFOs are the smallest among those of least latency.
    """
    loops = timing.loop_fifo()
    p = timing.problem
    limits = p.fifo[p.operand[timing.loops], position[p.source[timing.loops]]]
    if (loops < 0).any() or (loops > limits).any():
        return None
    waits = timing.waits(length)
    start = timing.earliest(*timing.bounds(waits, timing.caps(position, UNLIMITED)))
    if start is None:
        return None
    last = _latency(timing, start) if fastest else None
    bound = _smallest_maximum(timing, position, waits, start, last)
    caps = timing.caps(position, bound)
    lower, upper = timing.bounds(waits, caps, last)
    one = np.ones(len(waits), dtype=np.int64)
    issue = timing.cheapest(lower, upper, lower[: len(waits)], one, one)
    return None if issue is None else _result(timing, issue, waits, loops)


def _smallest_maximum(timing: IssueTiming, position: Int32s, waits: Int64s, start: Int64s, last: int | None) -> int:
    """The least bound on all FIFOs under which there are issue cycles.

    Bisection between 0 and what the earliest issue cycles need; each step is a run of Bellman-Ford.
    """
    slack = start[timing.v[: len(waits)]] - start[timing.u[: len(waits)]] - waits
    low, high = 0, int(slack.max(initial=0))
    while low < high:
        middle = (low + high) // 2
        if timing.earliest(*timing.bounds(waits, timing.caps(position, middle), last)) is not None:
            high = middle
        else:
            low = middle + 1
    return low


def _latency(timing: IssueTiming, issue: Int64s) -> int:
    """Cycles from 0 to the last result."""
    return int((issue[: timing.root] + timing.problem.latency).max(initial=0))


def _result(timing: IssueTiming, issue: Int64s, waits: Int64s, loops: Int64s) -> Balance:
    """The balance of issue cycles: what is left of each difference beyond the least wait is the edge's FIFO."""
    fifo = np.zeros(len(timing.problem.edges), dtype=np.int32)
    count = len(waits)
    fifo[timing.crossing] = issue[timing.v[:count]] - issue[timing.u[:count]] - waits
    fifo[timing.loops] = loops
    return Balance(issue[: timing.root], fifo, _latency(timing, issue))


def plan(
    timing: IssueTiming, position: Int32s, shortest: Int32s, bound: int, *, fastest: bool = False
) -> LengthWindow | None:
    """Windows on route lengths under which no FIFO is deeper than ``bound``; None when no cycles obey the rules.

    The cycles are those that need the fewest links beyond ``shortest``: a wait of up to ``bound`` (and the tile's
    limit) may stay in a FIFO, the rest has to become wire.
    """
    waits = timing.waits(shortest)
    caps = timing.caps(position, bound)
    room = np.full(len(waits), UNLIMITED if bound >= UNLIMITED else bound + LONGEST_DETOUR, dtype=np.int64)
    last = None
    if fastest:
        start = timing.earliest(*timing.bounds(waits, room))
        last = None if start is None else _latency(timing, start)
    lower, upper = timing.bounds(waits, room, last)
    gentle = np.ones(len(waits), dtype=np.int64)
    t = timing.cheapest(lower, upper, waits + caps, gentle, gentle * 8)
    if t is None:
        return None
    wire = shortest.astype(np.int64)
    wire[timing.crossing] += t[timing.v[: len(waits)]] - t[timing.u[: len(waits)]] - waits
    low = shortest.astype(np.int64)
    low[timing.crossing] = np.maximum(low[timing.crossing], wire[timing.crossing] - caps)
    return LengthWindow(low.astype(np.int32), wire.astype(np.int32), t[: timing.root])
