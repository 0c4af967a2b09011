"""RAMP's routing strategies as edits of the working graph: each yields graphs to schedule and place again.

A strategy looks at an attempt in which an op has no tile. Where a value's other successors are at least as far away,
they share what is inserted; the same edit for the one successor alone is tried next.

Edits change nothing in place, and give no cycles or tiles: whether one helps shows when it is scheduled and placed.

Dependences that are routed over PEs before a placement is tried, since no placement could meet them.

RAMP diagnoses what a clique search left out. Some failures are certain before it, and each would cost a search to find:
a value that waits on the one PE whose slot its reader would need, and a value with more readers in the next cycle than
wires lead to (the out-degree problem). They are routed at once, with rescheduling, and what is left is diagnosed.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np

from gridloom.search.arrays import Int64s
from gridloom.targets.modulo.mappers.problem import COMPUTED_ONCE, ModuloProblem
from gridloom.targets.modulo.mappers.ramp.graph import Keep, Link, RampOp, Tie, WorkGraph, schedule
from gridloom.targets.modulo.mappers.ramp.place import Placer, RampAttempt, start_attempt
from gridloom.targets.modulo.mappers.schedule.iterative import Resources

#: Moves that one edit inserts at most.
_MOST_MOVES = 8


@dataclass(frozen=True, eq=False)
class Editor:
    """Edits for one problem; ``k`` is the position of a link and ``op`` that of an op in the attempt's graph."""

    problem: ModuloProblem

    @property
    def _move_row(self) -> int:
        """The row of the problem's op classes for moves."""
        return self.problem.classes.index(frozenset({"route"}))

    @property
    def _memory_row(self) -> int:
        """The row of the problem's op classes for loads and stores."""
        return self.problem.classes.index(frozenset({"mem"}))

    @property
    def has_memory(self) -> bool:
        """True when some tile loads and stores."""
        return self.problem.structure.memory >= 0

    def move(self, node: int) -> RampOp:
        """A move of a node's value."""
        return RampOp(kind="move", node=node, row=self._move_row, latency=max(self.problem.structure.move_latency))

    def _store(self, node: int) -> RampOp:
        """A store of a node's value to memory, which leaves no result in a register."""
        return RampOp(kind="store", node=node, row=self._memory_row, latency=1, result=False)

    def _load(self, node: int) -> RampOp:
        """A load of a node's value from memory."""
        return RampOp(kind="load", node=node, row=self._memory_row, latency=max(self.problem.structure.load_latency))

    def fetch(self, livein: int) -> RampOp:
        """A load of a live-in."""
        return RampOp(kind="fetch", node=livein, row=self._memory_row, latency=max(self.problem.structure.load_latency))

    # -- distant ------------------------------------------------------------------------------------------------------

    def route_over_tiles(self, attempt: RampAttempt, k: int, hops: int) -> Iterator[WorkGraph]:
        """1, 2, ... moves in a link, up to one less than its length, or than the hops between its ends.

        ``hops`` are the wires between the tiles where the attempt would have the ends. As many moves as that takes come
        first: fewer cannot help where the ends stay.
        """
        link = attempt.graph.links[k]
        most = max(1, attempt.length(link) - attempt.graph.ops[link.source].latency)
        needed = max(1, min(hops - 1, _MOST_MOVES))
        for count in dict.fromkeys([needed, *range(1, most + 1)]):
            for shared in sharing(attempt, k):
                yield self.with_moves(attempt.graph, shared, count)

    def with_moves(self, graph: WorkGraph, shared: list[int], count: int) -> WorkGraph:
        """Some moves between a source and the targets of links that leave it."""
        source = graph.links[shared[0]].source
        first = len(graph.ops)
        moves = [self.move(graph.ops[source].node) for _ in range(count)]
        chain = [source, *range(first, first + count)]
        added = [Link(source=a, target=b) for a, b in pairwise(chain)]
        return _inserted(graph, moves, shared, first + count - 1, added)

    def spill_to_memory(self, attempt: RampAttempt, k: int) -> Iterator[WorkGraph]:
        """A store after the producer (one that is there is used again) and a load before the consumer."""
        if not self.has_memory:
            return
        for shared in sharing(attempt, k):
            yield self.with_spill(attempt.graph, shared)

    def with_spill(self, graph: WorkGraph, shared: list[int]) -> WorkGraph:
        """A store and a load between a source and the targets of links that leave it.

        A store of the value that is there already is used again, and only the load is new.
        """
        source = graph.links[shared[0]].source
        node = graph.ops[source].node
        stored = [graph.links[e].target for e in graph.leaving[source] if _is(graph, e, "store")]
        count = len(graph.ops)
        if stored:
            link = Link(source=stored[0], target=count, memory=True)
            return _inserted(graph, [self._load(node)], shared, count, [link])
        added = [Link(source=source, target=count), Link(source=count, target=count + 1, memory=True)]
        return _inserted(graph, [self._store(node), self._load(node)], shared, count + 1, added)

    def spill_to_files(self, attempt: RampAttempt, k: int) -> Iterator[WorkGraph]:
        """Read the value before its registers are needed for the next one, and write it to another file.

        The file with most free registers in the attempt says how long the first stay may be.
        """
        graph, link = attempt.graph, attempt.graph.links[k]
        files = self.problem.arch.register_files
        rooms = [len(file.registers) - use.peak for file, use in zip(files, attempt.files, strict=True)]
        free = max(rooms, default=0)
        latency = graph.ops[link.source].latency
        length = attempt.length(link)
        if free < 1 or length <= latency:
            return
        longest = latency + free * attempt.ii - 1
        for shared in sharing(attempt, k):
            # As late as the registers allow; where that slot is taken, a little earlier.
            for stay in range(min(longest, length - 1), max(latency, longest - attempt.ii), -1):
                if length - stay <= latency:
                    yield self._read(graph, shared, stay)
                elif len(files) > 1:
                    yield self._read_and_write(graph, shared, stay)

    def _read(self, graph: WorkGraph, shared: list[int], stay: int) -> WorkGraph:
        """A move ``stay`` cycles after the producer."""
        source, count = graph.links[shared[0]].source, len(graph.ops)
        link = Link(source=source, target=count, least=stay, most=stay)
        return _inserted(graph, [self.move(graph.ops[source].node)], shared, count, [link])

    def _read_and_write(self, graph: WorkGraph, shared: list[int], stay: int) -> WorkGraph:
        """The same, and a second move right after it on a tile with another file."""
        source, count = graph.links[shared[0]].source, len(graph.ops)
        move = self.move(graph.ops[source].node)
        added = [
            Link(source=source, target=count, least=stay, most=stay),
            # The very next cycle, on a tile with another file.
            Link(source=count, target=count + 1, least=move.latency, most=move.latency),
        ]
        edited = _inserted(graph, [move, move], shared, count + 1, added)
        return replace(edited, apart=(*edited.apart, (count, count + 1)))

    # -- live-ins -----------------------------------------------------------------------------------------------------

    def load_live_in(self, graph: WorkGraph, op: int) -> Iterator[WorkGraph]:
        """Load the live-ins of an op from memory: for it alone, or for all that read them."""
        if not self.has_memory:
            return
        for livein in sorted({keep.livein for keep in graph.keeps if keep.op == op}):
            there = [n for n, other in enumerate(graph.ops) if other.kind == "fetch" and other.node == livein]
            if there:
                yield self.with_fetch(graph, livein, [op], there[0])
            yield self.with_fetch(graph, livein, [op])
            yield self.with_fetch(graph, livein, sorted({keep.op for keep in graph.keeps if keep.livein == livein}))

    def with_fetch(self, graph: WorkGraph, livein: int, readers: list[int], fetch: int | None = None) -> WorkGraph:
        """A live-in that some ops read from memory from now on."""
        ops = graph.ops
        if fetch is None:
            fetch, ops = len(ops), (*ops, self.fetch(livein))
        mine = [keep for keep in graph.keeps if keep.livein == livein and keep.op in readers]
        links = [Link(source=fetch, target=keep.op, edge=keep.edge) for keep in mine]
        rest = tuple(keep for keep in graph.keeps if keep not in mine)
        return replace(graph, ops=ops, links=(*graph.links, *links), keeps=rest)

    # -- consecutive --------------------------------------------------------------------------------------------------

    def recompute(self, attempt: RampAttempt, k: int) -> Iterator[WorkGraph]:
        """A copy of a link's source with its operands; the target reads it, and others that have no tile do.

        Nothing is yielded for inserted ops, for ends of a pair edge, and for ops with an effect outside the loop.
        """
        graph, link = attempt.graph, attempt.graph.links[k]
        source = link.source
        op = graph.ops[source]
        tied = any(tie.exact and source in (tie.source, tie.target) for tie in graph.ties)
        if op.kind != "op" or tied or self.problem.dfg.nodes[op.node].op in COMPUTED_ONCE or link.target == source:
            return
        others = [e for e in graph.leaving[source] if attempt.place[graph.links[e].target] < 0 and e != k]
        waiting = [e for e in others if graph.links[e].target != source]
        for chosen in [[k, *waiting], [k]] if waiting else [[k]]:
            yield _recomputed(graph, source, chosen)

    def reschedule(self, attempt: RampAttempt, op: int) -> Iterator[WorkGraph]:
        """The op a few cycles later than its operands would allow."""
        for more in range(1, min(attempt.ii, 4) + 1):
            ops = list(attempt.graph.ops)
            ops[op] = replace(ops[op], postponed=ops[op].postponed + more)
            yield replace(attempt.graph, ops=tuple(ops))


def _is(graph: WorkGraph, link: int, kind: str) -> bool:
    """True when a link leads to an op of a kind."""
    return graph.ops[graph.links[link].target].kind == kind


def sharing(attempt: RampAttempt, k: int) -> list[list[int]]:
    """The links that share an edit of link k: those of the same value that are at least as long; and k alone."""
    graph, link = attempt.graph, attempt.graph.links[k]
    length = attempt.length(link)
    far = [
        e
        for e in graph.leaving[link.source]
        if e != k and not graph.links[e].memory and attempt.length(graph.links[e]) >= length
        and not _is(graph, e, "store") and graph.links[e].most is None
    ]  # fmt: skip
    return [[k, *far], [k]] if far else [[k]]


def _inserted(graph: WorkGraph, ops: list[RampOp], shared: list[int], last: int, added: list[Link]) -> WorkGraph:
    """New ops and links; the shared links begin at the last new op instead."""
    changed = {e: replace(graph.links[e], source=last, least=0, most=None) for e in shared}
    return replace(graph.with_links(changed, added), ops=(*graph.ops, *ops))


def _recomputed(graph: WorkGraph, source: int, readers: list[int]) -> WorkGraph:
    """The graph with one more instance of an op, which some of its links now leave.

    Operands, live-ins and ties of the op are repeated for the copy; a value that it carries to itself stays within the
    copy.
    """
    count, op = len(graph.ops), graph.ops[source]
    copies = sum(1 for other in graph.ops if other.kind == "op" and other.node == op.node)
    changed = {e: replace(graph.links[e], source=count) for e in readers}
    mine = [graph.links[e] for e in graph.entering[source]]
    links = [replace(link, target=count, source=count if link.source == source else link.source) for link in mine]
    keeps = [Keep(livein=keep.livein, op=count, edge=keep.edge) for keep in graph.keeps if keep.op == source]
    ties: list[Tie] = []
    for tie in graph.ties:
        if source in (tie.source, tie.target):
            ends = {"source": count if tie.source == source else tie.source}
            ends["target"] = count if tie.target == source else tie.target
            ties.append(Tie(**ends, delay=tie.delay, distance=tie.distance, exact=tie.exact))
    edited = graph.with_links(changed, links)
    return replace(
        edited,
        ops=(*graph.ops, replace(op, copy=copies, postponed=0)),
        keeps=(*graph.keeps, *keeps),
        ties=(*graph.ties, *ties),
    )


# Rounds of routing and rescheduling after which what still fails is left to the diagnosis.
_ROUNDS = 8

# Of the distant dependences for which there is room, the share that a start routes ahead; one is drawn.
_SHARES = (0.0, 0.0, 0.3, 0.6, 1.0)


@dataclass(frozen=True, eq=False)
class RouteAhead:
    """Routes dependences of schedules of one problem over PEs; both methods return a graph and its cycles."""

    editor: Editor
    placer: Placer
    counts: Resources

    def by_chance(self, graph: WorkGraph, cycle: Int64s, ii: int, rng: np.random.Generator) -> tuple[WorkGraph, Int64s]:
        """Route some of the distant dependences over a PE each, chosen by chance.

        A value that waits for several readers would have all of them on its own PE. At most half of the free slots are
        taken. The graph as it was where there is no schedule with the moves.
        """
        now = start_attempt(graph, cycle, ii)
        waiting = [
            k
            for k, link in enumerate(graph.links)
            if not link.memory and link.source != link.target and now.length(link) > graph.ops[link.source].latency
        ]
        free = len(self.placer.problem.arch.tiles) * ii - len(graph.ops)
        share = _SHARES[int(rng.integers(len(_SHARES)))]
        count = int(share * min(len(waiting), free // 2)) if self.placer.reach else 0
        edited = graph
        for k in rng.permutation(len(waiting))[: max(0, count)]:
            edited = self.editor.with_moves(edited, [waiting[k]], 1)
        return self._scheduled(edited, now)

    def certain_failures(self, graph: WorkGraph, cycle: Int64s, ii: int) -> tuple[WorkGraph, Int64s]:
        """Route what no two tiles allow, round by round, for each value the shortest link first.

        Ends where nothing is left, or there is no schedule with more moves.
        """
        for _ in range(_ROUNDS):
            now = start_attempt(graph, cycle, ii)
            edited = graph
            for source in range(len(graph.ops)):
                edited = self._routed(edited, now, source)
            if edited is graph:
                break
            graph, cycle = self._scheduled(edited, now)
            if graph is now.graph:
                break
        return graph, cycle

    def _scheduled(self, edited: WorkGraph, now: RampAttempt) -> tuple[WorkGraph, Int64s]:
        """The edited graph with its cycles; as it was where it has no schedule."""
        if edited is now.graph:
            return now.graph, now.cycle
        cycle = schedule(edited, self.counts, now.ii, reach=self.placer.reach, wanted=now.cycle)
        return (now.graph, now.cycle) if cycle is None else (edited, cycle)

    def _routed(self, edited: WorkGraph, now: RampAttempt, source: int) -> WorkGraph:
        """Moves for the readers of a value that cannot be near it.

        ``edited`` is the graph of ``now`` with moves for other values.
        """
        graph, latency = now.graph, now.graph.ops[source].latency
        mine = [k for k in graph.leaving[source] if not graph.links[k].memory]
        failing = [k for k in mine if self.placer.certainly_fails(now, graph.links[k])]
        if failing:
            k = min(failing, key=lambda k: (now.length(graph.links[k]), k))
            # At II 1 a value moves on in every cycle, so all moves are known.
            wait = now.length(graph.links[k]) - latency
            return self.editor.with_moves(edited, sharing(now, k)[0], wait if now.ii == 1 else 1)
        at_once = [k for k in mine if now.length(graph.links[k]) == latency]
        reach = self.placer.reach
        if not reach or len({graph.links[k].target for k in at_once}) <= reach:
            return edited
        far = [k for k in mine if now.length(graph.links[k]) > latency and graph.links[k].most is None]
        return self.editor.with_moves(edited, at_once[reach // 2 + 1 :] + far, 1)
