"""The graph that RAMP works on: the ops of a loop, and moves, stores and loads that its strategies put between them.

It is a working copy: a Mapping refers to the original graph, and what was inserted becomes hops (moves, spills) or
further instances (recomputation). Inserted ops have one operand, so the route of an edge is found by walking back from
its end. Iteration distances sit on the last link of a route: inserted ops run in the iteration of their producer.

Ops and links are numbered by position, and edits only append or replace, so a number keeps its meaning from edit to
edit; a placement of the old graph is a start for the new one.

Modulo schedules of RAMP's working graph: all of it anew, or only what was inserted.

The scheduler itself is in :mod:`gridloom.targets.modulo.mappers.schedule.iterative`; here the ops, links and ties of a
working graph become the dependences and resource counts that it takes.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Literal

import numpy as np

from gridloom.mapping.mii import Mii
from gridloom.search.arrays import Int64s
from gridloom.targets.modulo.mappers.problem import ModuloProblem
from gridloom.targets.modulo.mappers.schedule.iterative import (
    Dependence,
    Resources,
    least_distances,
    modulo_schedule,
    shorten_lifetimes,
)

#: ``op`` is one of the loop; ``move``, ``store`` and ``load`` are inserted on a route; ``fetch`` loads a live-in.
OpKind = Literal["op", "move", "store", "load", "fetch"]


@dataclass(frozen=True, slots=True, kw_only=True)
class RampOp:
    """What takes an issue slot: an op of the loop, or one that a strategy inserted to pass a value on."""

    kind: OpKind
    #: The position in the loop's graph of the node it runs, or of the one whose value it passes on.
    node: int
    #: Which instance of that node.
    copy: int = 0
    #: Row of the problem's op classes.
    row: int
    latency: int = 1
    result: bool = True
    #: Cycles that it issues later than its operands would allow.
    postponed: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Link:
    """A value from one op to another, over a wire, a register or the memory."""

    source: int
    target: int
    distance: int = 0
    #: The edge of the loop's graph that ends here, -1: the target is inserted.
    edge: int = -1
    #: From a store to its load: no wire, no register.
    memory: bool = False
    #: Least and most cycles from issue to issue, where a strategy asks for them.
    least: int = 0
    most: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Tie:
    """``target`` issues at least (or exactly) ``delay`` after ``source``, without a value between them."""

    source: int
    target: int
    delay: int
    distance: int = 0
    exact: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Keep:
    """An op that reads a live-in from a register of its tile's file."""

    livein: int
    op: int
    edge: int


@dataclass(frozen=True, kw_only=True)
class WorkGraph:
    """Ops, links and what else a placement has to respect. Edits return a new graph."""

    ops: tuple[RampOp, ...]
    links: tuple[Link, ...]
    ties: tuple[Tie, ...] = ()
    keeps: tuple[Keep, ...] = ()
    #: Pairs of ops whose tiles may not share a register file.
    apart: tuple[tuple[int, int], ...] = ()

    @cached_property
    def leaving(self) -> tuple[tuple[int, ...], ...]:
        """For each op the links that it is the source of."""
        return _grouped(len(self.ops), [(link.source, k) for k, link in enumerate(self.links)])

    @cached_property
    def entering(self) -> tuple[tuple[int, ...], ...]:
        """For each op the links that it is the target of."""
        return _grouped(len(self.ops), [(link.target, k) for k, link in enumerate(self.links)])

    def delay(self, link: Link) -> int:
        """Least cycles from the issue of a link's source to that of its target."""
        return max(self.ops[link.source].latency, link.least) + self.ops[link.target].postponed

    def with_links(self, changed: dict[int, Link], added: Iterable[Link] = ()) -> WorkGraph:
        """The graph with some links replaced, by position, and others added at the end."""
        links = [changed.get(k, link) for k, link in enumerate(self.links)]
        return replace(self, links=(*links, *added))

    def count(self, *kinds: OpKind) -> int:
        """The number of ops of some kinds."""
        return sum(op.kind in kinds for op in self.ops)


def _grouped(count: int, pairs: Sequence[tuple[int, int]]) -> tuple[tuple[int, ...], ...]:
    """For each of ``count`` rows the values of its pairs, in their order."""
    rows: list[list[int]] = [[] for _ in range(count)]
    for row, value in pairs:
        rows[row].append(value)
    return tuple(map(tuple, rows))


def work_graph(problem: ModuloProblem) -> WorkGraph:
    """The loop as it is: live-ins are kept in registers, nothing is inserted. Linear in nodes and edges."""
    dfg, count = problem.dfg, len(problem.nodes)
    rows = [problem.class_of(k) for k in problem.nodes]
    ops = [
        RampOp(
            kind="op",
            node=k,
            row=row,
            latency=problem.least_latency(k),
            result=problem.dfg.has_result(dfg.nodes[k].id),
        )
        for k, row in zip(problem.nodes, rows, strict=True)
    ]
    links, keeps = [], []
    for e in problem.edges:
        edge = dfg.edges[e]
        source, target = (problem.number[dfg.index[end]] for end in (edge.source, edge.target))
        if source >= count:
            keeps.append(Keep(livein=problem.liveins[source - count], op=target, edge=e))
        else:
            links.append(Link(source=source, target=target, distance=edge.distance, edge=e))
    ties = []
    for e in problem.ties:
        edge = dfg.edges[e]
        source, target = (problem.number[dfg.index[end]] for end in (edge.source, edge.target))
        if source < count and target < count:
            exact = edge.kind == "pair"
            ties.append(Tie(source=source, target=target, delay=edge.delay, distance=edge.distance, exact=exact))
    return WorkGraph(ops=tuple(ops), links=tuple(links), ties=tuple(ties), keeps=tuple(keeps))


def least_ii(graph: WorkGraph, counts: Resources, bound: Mii) -> int:
    """The MII of a working graph: the loop's own, and what inserted ops add to it.

    Only counts are looked at, since strategies never shorten a recurrence.
    """
    demand = [0] * len(counts.room)
    for op in graph.ops:
        for r in counts.takes[op.row]:
            demand[r] += 1
    return max([bound.total, *(-(-n // room) for n, room in zip(demand, counts.room, strict=True) if room)])


def dependences(graph: WorkGraph) -> list[Dependence]:
    """What issue cycles have to respect; an upper bound on a distance is a dependence in the other direction."""
    found = []
    for link in graph.links:
        a, b = link.source, link.target
        found.append(Dependence(source=a, target=b, delay=graph.delay(link), distance=link.distance))
        if link.most is not None:
            found.append(Dependence(source=b, target=a, delay=-link.most, distance=-link.distance))
    for tie in graph.ties:
        found.append(Dependence(source=tie.source, target=tie.target, delay=tie.delay, distance=tie.distance))
        if tie.exact:
            found.append(Dependence(source=tie.target, target=tie.source, delay=-tie.delay, distance=-tie.distance))
    return found


def schedule(
    graph: WorkGraph,
    counts: Resources,
    ii: int,
    *,
    reach: int,
    fixed: Int64s | None = None,
    wanted: Int64s | None = None,
    rng: np.random.Generator | None = None,
) -> Int64s | None:
    """Issue cycles of every op, or None where none was found.

    ``reach``: PEs that read an output, 0 where a file takes values anywhere. ``fixed`` holds the cycles of the first
    ops, which then stay; ``wanted`` those that they keep where dependences and room allow it. ``rng`` perturbs the
    order of nodes. Cost: O(n^3) for the distances, compiled.
    """
    count = len(graph.ops)
    least = least_distances(count, dependences(graph), ii)
    if count and least.diagonal().max() > 0:
        return None
    # The diagonal is free to say from which cycle on an op without operands may issue.
    for n, op in enumerate(graph.ops):
        least[n, n] = op.postponed if not graph.entering[n] else least[n, n]
    takes = np.zeros((count, len(counts.room)), dtype=np.int64)
    for n, op in enumerate(graph.ops):
        takes[n, list(counts.takes[op.row])] = 1
    room = np.array(counts.room, dtype=np.int64)
    noise = None if rng is None else 2.5 * rng.random(count)
    aims = _extended(wanted, count)
    cycle = modulo_schedule(least, ii, takes, room, start=_extended(fixed, count), wanted=aims, noise=noise)
    if cycle is not None and fixed is None:
        links = [(link.source, link.target, link.distance) for link in graph.links if not link.memory]
        latency = np.array([op.latency for op in graph.ops], dtype=np.int64)
        table = np.array(links, dtype=np.int64).reshape(-1, 3)
        shorten_lifetimes(least, ii, takes, room, table, latency, cycle, reach=reach)
    return cycle


def _extended(cycles: Int64s | None, count: int) -> Int64s:
    """Cycles of the first ops, and -1 for those that follow them."""
    found = np.full(count, -1, dtype=np.int64)
    if cycles is not None:
        found[: len(cycles)] = cycles
    return found
