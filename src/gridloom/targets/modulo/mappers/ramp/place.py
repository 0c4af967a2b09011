"""RAMP's placement: the compatibility graph of (op, PE) pairs, a maximum clique of it, registers for values.

Cycles are given; a placement chooses tiles only. A value that is read in the cycle of its result goes over the wire
from an output register, a value that waits goes through the file of its producer's tile, so whether two ops fit
together on two tiles depends on the length of their link. The clique search only counts registers per slot; the
registers themselves are allocated afterwards, and an op whose value finds none loses its tile again.

Registers of a file for values and live-ins: which register each is in, and how many of them rotate.

A value takes a register in every cycle from its result to its last use. A register that does not rotate holds it for II
cycles at most; m rotating ones are a band of m * II cells around which every value is shifted by II from iteration to
iteration. Cells are filled first fit, longest value first, for several m and orders.

Rotating registers are the first of a file, live-ins are kept in the last ones. First fit may fail where an allocation
exists; the placement then takes an op out, which is safe.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from gridloom.archs.model import RegisterFile
from gridloom.errors import OptionError
from gridloom.search.arrays import Bools, Int64s
from gridloom.search.budget import SearchClock
from gridloom.targets.modulo.mappers.problem import ModuloProblem
from gridloom.targets.modulo.mappers.ramp.graph import Link, WorkGraph

if TYPE_CHECKING:
    from gridloom.targets.modulo.mappers.ramp.cliques.compatibility_kernel import ConflictRelations, Files

# Random orders of the values that are tried besides those by length and by cycle.
_ORDERS = 6


@dataclass(frozen=True, slots=True, kw_only=True)
class WaitingValue:
    """The result of an op that waits in a file from cycle ``first`` to ``last``, both included."""

    op: int
    file: int
    first: int
    last: int


@dataclass(frozen=True, kw_only=True)
class FileUse:
    """How a file is used: an allocation of registers to values and live-ins, by position in the file."""

    #: Registers that rotate.
    rotating: int
    #: Registers in use in the fullest slot, and over all slots.
    peak: int
    taken: int
    #: For each op the position of the register that its value is in at first.
    register: Mapping[int, int] = field(default_factory=dict)
    #: For each live-in the position of the register that keeps it.
    kept: Mapping[int, int] = field(default_factory=dict)
    #: For each op the cycle of its result.
    first: Mapping[int, int] = field(default_factory=dict)

    def position(self, op: int, cycle: int, ii: int) -> int:
        """The register in which an op's value is in a flat cycle.

        >>> use = FileUse(rotating=2, peak=1, taken=4, register={0: 1}, first={0: 3})
        >>> [use.position(0, cycle, ii=2) for cycle in (3, 4, 5, 6)]
        [1, 0, 0, 1]
        """
        register = self.register[op]
        if register >= self.rotating:
            return register
        return (register - (cycle // ii - self.first[op] // ii)) % self.rotating


#: A file that holds nothing and may choose how many of its registers rotate.
UNUSED = FileUse(rotating=0, peak=0, taken=0)


def allocate(file: RegisterFile, values: Sequence[WaitingValue], kept: Sequence[int], ii: int) -> FileUse | None:
    """Registers for all of them, or None where first fit finds no room.

    Tries the fewest rotating registers first, each with eight orders of the values. Costs the sum of the lifetimes
    times the registers for each try.
    """
    total = len(file.registers)
    counts = [0] * ii
    for value in values:
        for cycle in range(value.first, value.last + 1):
            counts[cycle % ii] += 1
    peak = max(counts, default=0) + len(kept)
    if peak > total:
        return None
    for rotating in _choices(file, values, len(kept), ii):
        for order in _orders(values):
            found = _fill(order, rotating, total - len(kept), ii)
            if found is not None:
                return FileUse(
                    rotating=rotating,
                    peak=peak,
                    taken=sum(counts) + ii * len(kept),
                    register=found,
                    kept={livein: total - 1 - k for k, livein in enumerate(kept)},
                    first={value.op: value.first for value in values},
                )
    return None


def _choices(file: RegisterFile, values: Sequence[WaitingValue], kept: int, ii: int) -> list[int]:
    """How many registers may rotate, the fewest first.

    Values of more than II cycles need at least as many as they overlap iterations. Without such values, none or all
    rotate.
    """
    most = len(file.registers) - kept
    if not file.adjustable:
        return [file.rotating] if file.rotating <= most else []
    spans = [value.last - value.first + 1 for value in values]
    longs = [span for span in spans if span > ii]
    if not longs:
        return sorted({0, most})
    least = max(-(-span // ii) for span in longs)
    together = -(-sum(longs) // ii)
    wanted = {least, least + 1, together, together + 1, (least + most) // 2, most}
    return sorted(m for m in wanted if least <= m <= most)


def _orders(values: Sequence[WaitingValue]) -> Iterator[list[WaitingValue]]:
    """The orders in which values are allocated: by length, by first cycle, and some at random with fixed seeds."""
    yield sorted(values, key=lambda value: (value.first - value.last, value.first, value.op))
    yield sorted(values, key=lambda value: (value.first, value.op))
    for seed in range(_ORDERS):
        yield random.Random(seed).sample(list(values), len(values))


def _fill(order: Sequence[WaitingValue], rotating: int, usable: int, ii: int) -> dict[int, int] | None:
    """First fit in a given order: the first register of each op's value, or None where a value finds none."""
    taken: set[tuple[int, int]] = set()
    found: dict[int, int] = {}
    for value in order:
        for register in _candidates(value, rotating, usable, ii):
            cells = _cells(value, register, rotating, ii)
            if len(cells) == value.last - value.first + 1 and not cells & taken:
                taken |= cells
                found[value.op] = register
                break
        else:
            return None
    return found


def _candidates(value: WaitingValue, rotating: int, usable: int, ii: int) -> Iterator[int]:
    """The registers for a value, in order: a short value tries those that do not rotate first.

    Long values need the rotating ones, which should be left to them.
    """
    if value.last - value.first < ii:
        yield from range(rotating, usable)
    yield from range(min(rotating, usable))


def _cells(value: WaitingValue, register: int, rotating: int, ii: int) -> set[tuple[int, int]]:
    """(register, slot) in each cycle; fewer than cycles where the value would run into itself."""
    if register >= rotating:
        return {(register, cycle % ii) for cycle in range(value.first, value.last + 1)}
    base = value.first // ii
    return {((register - (cycle // ii - base)) % rotating, cycle % ii) for cycle in range(value.first, value.last + 1)}


#: Vertices of the compatibility graph at most; it takes a bit for each pair of vertices.
MAX_VERTICES = 40_000


@dataclass(frozen=True, eq=False, kw_only=True)
class RampAttempt:
    """A schedule of a working graph and as much of a placement as was found.

    Complete when ``unmapped`` is empty. Attempts are compared by ``cost``.
    """

    graph: WorkGraph
    ii: int
    cycle: Int64s
    #: The tile of each op; -1: it has none.
    place: Int64s
    #: The same, with the tile that rules out least for an op that has none.
    near: Int64s
    #: What each register file holds.
    files: tuple[FileUse, ...]
    #: Incompatible pairs of ops on those tiles: at least one for each op that has none.
    failures: int = 0

    @property
    def unmapped(self) -> list[int]:
        """Ops without a tile, the earliest first."""
        return sorted(np.flatnonzero(self.place < 0).tolist(), key=lambda n: (int(self.cycle[n]), n))

    @cached_property
    def left(self) -> int:
        """The number of ops without a tile."""
        return int((self.place < 0).sum())

    @cached_property
    def cost(self) -> tuple[int, int, int, int]:
        """Failures and ops left, PEs taken, register cycles taken: the lower, the better."""
        taken = sum(use.taken for use in self.files)
        return self.failures, self.left, len(self.graph.ops) - self.left, taken

    def length(self, link: Link) -> int:
        """Cycles from the issue of a link's source to that of its target."""
        return int(self.cycle[link.target] - self.cycle[link.source] + self.ii * link.distance)


def start_attempt(graph: WorkGraph, cycle: Int64s, ii: int) -> RampAttempt:
    """A schedule of which no op has a tile yet."""
    none = np.full(len(graph.ops), -1, dtype=np.int64)
    return RampAttempt(graph=graph, ii=ii, cycle=cycle, place=none, near=none, files=())


def check_pairs(ops: int, tiles: int) -> None:
    """Raise OptionError where a compatibility graph would be too large."""
    if ops * tiles > MAX_VERTICES:
        raise OptionError(
            f"{ops} ops on {tiles} PEs are {ops * tiles} pairs; a compatibility graph of up to {MAX_VERTICES} is "
            "built: use mapper 'modulo', or a smaller array"
        )


class Placer:
    """Places schedules of one problem; what does not depend on the schedule is computed once.

    OptionError for an array with buses that start more than one op in a cycle.
    """

    def __init__(self, problem: ModuloProblem, shared_files: bool, moves: int, clique: str = "local") -> None:
        self.problem = problem
        self.moves = moves
        self.clique = clique
        s, tiles = problem.structure, range(len(problem.arch.tiles))
        self.file_of = np.array(s.file_of, dtype=np.int64)
        self.reads = np.array([[p in s.reads[q] for q in tiles] for p in tiles], dtype=np.bool_)
        self.same_tile = np.eye(len(tiles), dtype=np.bool_)
        has = self.file_of >= 0
        joint = (self.file_of[:, None] == self.file_of[None, :]) & has[:, None]
        #: over_file[producer's tile, consumer's tile]: a register can take a value from one to the other.
        self.over_file = joint if shared_files else joint & self.same_tile
        #: PEs that read an output; 0 where a register takes a value to any PE.
        self.reach = 0 if (self.over_file & ~self.reads).any() else int(self.reads.sum(axis=1).max(initial=0))
        #: hops[p, q]: wires that a value takes from one tile to another; a large number where none lead there.
        self.hops = _hops(self.reads)
        self.able, self.latency, self.pool = problem.tables
        self.together = problem.together().astype(np.bool_)
        if any(pool.capacity != 1 for pool in problem.arch.pools):
            raise OptionError(f"array {problem.arch.name!r}: this mapper takes buses of capacity 1")

    # -- one attempt --------------------------------------------------------------------------------------------------

    def place(
        self, graph: WorkGraph, cycle: Int64s, ii: int, clock: SearchClock, start: Int64s | None, seed: int
    ) -> RampAttempt:
        """Place a schedule; ``start`` holds tiles of the first ops to begin with.

        OptionError where the compatibility graph would be too large. The moves of the search are added to the clock's.
        Costs (ops * tiles)^2 bits and the local search.
        """
        from gridloom.targets.modulo.mappers.ramp.cliques.compatibility_kernel import (
            Clique,
            compatibility,
            nearest_tiles,
        )

        ops, tiles = len(graph.ops), len(self.problem.arch.tiles)
        check_pairs(ops, tiles)
        relations, files = self._relations(graph, cycle, ii), self._files(graph, cycle, ii)
        pairs = compatibility(relations)
        clique = Clique(
            place=np.full(ops, -1, dtype=np.int64),
            weight=self._weights(graph),
            until=np.zeros(ops * tiles, dtype=np.int64),
            held=np.zeros((max(1, len(files.room)), ii), dtype=np.int64),
            kept=np.zeros((max(1, len(files.room)), max(1, files.liveins)), dtype=np.int64),
            keeps=np.zeros(max(1, len(files.room)), dtype=np.int64),
            random_state=np.zeros(1, dtype=np.uint64),
        )
        first = np.full(ops, -1, dtype=np.int64)
        if start is not None:
            first[: len(start)] = start
        report = np.zeros(1, dtype=np.int64)
        found = self._find_clique()(pairs, files, clique, first, self.moves, seed, clock.stop, report)
        clock.moves += int(report[0])
        attempt = self._with_registers(RampAttempt(graph=graph, ii=ii, cycle=cycle, place=found, near=found, files=()))
        if not attempt.left:
            return attempt
        near, failures = nearest_tiles(pairs, attempt.place)
        return replace(attempt, near=near, failures=int(failures))

    def _find_clique(self) -> Callable[..., Int64s]:
        """The clique search that the setting names."""
        if self.clique == "dharwadker":
            from gridloom.targets.modulo.mappers.ramp.cliques import dharwadker_kernel

            return dharwadker_kernel.find_clique
        from gridloom.targets.modulo.mappers.ramp.cliques import local_kernel

        return local_kernel.find_clique

    def _weights(self, graph: WorkGraph) -> Int64s:
        """What it costs to leave an op out: one, and its links where the weights count them."""
        links = np.array([(link.source, link.target) for link in graph.links], dtype=np.int64).ravel()
        degree = np.bincount(links, minlength=len(graph.ops)) if len(links) else np.zeros(len(graph.ops))
        return (2 + degree).astype(np.int64)

    def _with_registers(self, attempt: RampAttempt) -> RampAttempt:
        """Give values their registers; ops whose values find none are taken out again, the longest value first."""
        place = attempt.place.copy()
        waiting: dict[int, list[WaitingValue]] = {}
        for value in self.values(attempt):
            waiting.setdefault(value.file, []).append(value)
        keepers = {int(self.file_of[place[keep.op]]) for keep in attempt.graph.keeps if place[keep.op] >= 0}
        uses = []
        for k, file in enumerate(self.problem.arch.register_files):
            mine = waiting.get(k, [])
            if not mine and k not in keepers:
                uses.append(UNUSED if file.adjustable else FileUse(rotating=file.rotating, peak=0, taken=0))
                continue
            kept = self._kept(attempt.graph, place, k)
            use = allocate(file, mine, kept, attempt.ii)
            while use is None:
                gone = max(mine, key=lambda value: (value.last - value.first, value.op))
                place[gone.op] = -1
                mine.remove(gone)
                use = allocate(file, mine, self._kept(attempt.graph, place, k), attempt.ii)
            uses.append(use)
        return replace(attempt, place=place, files=tuple(uses))

    def values(self, attempt: RampAttempt) -> list[WaitingValue]:
        """The results that wait in a register file, from the first to the last cycle, where both ends are placed."""
        last: dict[int, int] = {}
        for link in attempt.graph.links:
            p, q = int(attempt.place[link.source]), int(attempt.place[link.target])
            if link.memory or p < 0 or q < 0 or not self.waits(attempt, link):
                continue
            due = int(attempt.cycle[link.target]) + attempt.ii * link.distance
            last[link.source] = max(last.get(link.source, due), due)
        found = []
        for op, due in sorted(last.items()):
            ready = int(attempt.cycle[op]) + attempt.graph.ops[op].latency
            found.append(WaitingValue(op=op, file=int(self.file_of[attempt.place[op]]), first=ready, last=due))
        return found

    def waits(self, attempt: RampAttempt, link: Link) -> bool:
        """True when a placed link goes over a register: its value waits, or no wire leads there."""
        p, q = int(attempt.place[link.source]), int(attempt.place[link.target])
        return attempt.length(link) > attempt.graph.ops[link.source].latency or not bool(self.reads[p, q])

    def fits(self, attempt: RampAttempt, link: Link) -> bool:
        """True when the tiles of a link's ends, or those nearest to it, allow its length."""
        p, q = int(attempt.near[link.source]), int(attempt.near[link.target])
        if link.memory or p < 0 or q < 0:
            return True
        at_once = attempt.length(link) <= attempt.graph.ops[link.source].latency
        return bool(self.over_file[p, q] or (at_once and self.reads[p, q]))

    def hops_of(self, attempt: RampAttempt, link: Link) -> int:
        """Wires between the tiles of a link's ends, or those nearest to it."""
        return int(self.hops[attempt.near[link.source], attempt.near[link.target]])

    def certainly_fails(self, attempt: RampAttempt, link: Link) -> bool:
        """True when no two tiles allow a link: its value waits on the one PE that has no slot for its reader."""
        if self.reach == 0 or link.memory or link.source == link.target:
            return False
        length = attempt.length(link)
        return length > attempt.graph.ops[link.source].latency and length % attempt.ii == 0

    def _kept(self, graph: WorkGraph, place: Int64s, file: int) -> list[int]:
        """The live-ins that a file keeps for the ops on its tiles."""
        return sorted({k.livein for k in graph.keeps if place[k.op] >= 0 and self.file_of[place[k.op]] == file})

    # -- arrays for the kernel ----------------------------------------------------------------------------------------

    def _relations(self, graph: WorkGraph, cycle: Int64s, ii: int) -> ConflictRelations:
        """What makes ops on tiles incompatible, as the kernel reads it.

        The four tables of pairs of tiles are, by row: values read at once, values that wait, ends of a pair edge, and
        ops that may not share a file.
        """
        from gridloom.targets.modulo.mappers.ramp.cliques.compatibility_kernel import ConflictRelations

        rows = np.array([op.row for op in graph.ops], dtype=np.int64)
        latency = np.array([op.latency for op in graph.ops], dtype=np.int64)
        able = (self.able[rows] > 0) & (self.latency[rows] == latency[:, None])
        for keep in graph.keeps:
            able[keep.op] &= self.file_of >= 0
        result = np.array([op.result for op in graph.ops], dtype=np.bool_)
        pairs: list[tuple[int, int, int]] = []
        for link in graph.links:
            if link.memory:
                continue
            wait = int(cycle[link.target] - cycle[link.source]) + ii * link.distance - int(latency[link.source])
            if link.source == link.target:
                able[link.source] &= (self.file_of >= 0) | (wait == 0)
            else:
                pairs.append((link.source, link.target, 1 if wait > 0 else 0))
        pairs += [(tie.source, tie.target, 2) for tie in graph.ties if tie.exact and tie.source != tie.target]
        pairs += [(a, b, 3) for a, b in graph.apart]
        table = np.array(pairs, dtype=np.int64).reshape(-1, 3)
        apart = (self.file_of[:, None] != self.file_of[None, :]) & ~self.same_tile
        return ConflictRelations(
            able=able,
            slot=cycle % ii,
            result=np.where(result, (cycle + latency) % ii, -1),
            pool=np.ascontiguousarray(self.pool[rows]),
            first=table[:, 0].copy(),
            second=table[:, 1].copy(),
            row=table[:, 2].copy(),
            tables=np.stack([self.reads | self.over_file, self.over_file, self.together, apart]),
            hops=self.hops if self.reach else np.zeros_like(self.hops),
        )

    def _files(self, graph: WorkGraph, cycle: Int64s, ii: int) -> Files:
        """What each op needs of the register file of its tile, as the kernel reads it.

        A value is counted in each cycle from its result to its last waiting reader, which is what it takes if all of
        these are placed where they read the file.
        """
        from gridloom.targets.modulo.mappers.ramp.cliques.compatibility_kernel import Files

        files = self.problem.arch.register_files
        room = [len(file.registers) for file in files]
        need = np.zeros((len(graph.ops), ii), dtype=np.int64)
        # Where a file is shared, a value may also go over it to a PE that no wire leads to.
        shared = bool((self.over_file & ~self.reads).any())
        for op, links in enumerate(graph.leaving):
            ready = int(cycle[op]) + graph.ops[op].latency
            last = -1
            for k in links:
                link = graph.links[k]
                due = int(cycle[link.target]) + ii * link.distance
                if not link.memory and (due > ready or shared):
                    last = max(last, due)
            for c in range(ready, last + 1):
                need[op, c % ii] += 1
        liveins = sorted({keep.livein for keep in graph.keeps})
        number = {livein: k for k, livein in enumerate(liveins)}
        kept: list[set[int]] = [set() for _ in graph.ops]
        for keep in graph.keeps:
            kept[keep.op].add(number[keep.livein])
        return Files(
            file_of=self.file_of,
            room=np.array(room, dtype=np.int64),
            still=np.array([len(f.registers) - (0 if f.adjustable else f.rotating) for f in files], dtype=np.int64),
            need=need,
            keep_at=np.concatenate([[0], np.cumsum([len(row) for row in kept])]).astype(np.int64),
            keep=np.array([k for row in kept for k in sorted(row)], dtype=np.int64),
            liveins=len(liveins),
        )


def _hops(reads: Bools) -> Int64s:
    """Shortest paths over wires between all tiles; tiles that none joins are as many hops apart as there are tiles."""
    import rustworkx

    graph: rustworkx.PyDiGraph = rustworkx.PyDiGraph()
    graph.add_nodes_from(range(len(reads)))
    graph.add_edges_from_no_data([(p, q) for p, q in np.argwhere(reads).tolist()])
    far = float(max(1, len(reads)))
    hops = rustworkx.digraph_distance_matrix(graph, null_value=far).astype(np.int64)
    np.fill_diagonal(hops, 0)
    return np.ascontiguousarray(hops)
