"""One start of the search on rows, and the narrowest width by a ladder of starts that gives up where it is hopeless.

A *start* is one run of the annealing kernel on a fixed number of columns (:class:`Starts`). A *ladder* is a sequence of
starts of rising effort; after each of them the fewest conflicts so far are compared with a limit, and where they are
above it the graph is given up. ``narrowest`` climbs one ladder on all columns and others on fewer columns. The ladder
``width`` uses, and the labels of the mappability data set, come from here; the open-ended search by rounds is in
:mod:`gridloom.targets.rows.mappers.width`.

Everything is a function of the seed: each start has a seed of its own, and a start does not know the others.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING, Final, Literal

import numpy as np

from gridloom.archs.model import Arch
from gridloom.search.arrays import Int32s, Uint8s
from gridloom.targets.rows.bounds import heard_in_row, row_windows, upon
from gridloom.targets.rows.mappers.mapping import RowLayout, layout_of
from gridloom.targets.rows.mappers.problem import CONST, LOAD, OP, STORE, RowArray, RowGraph, restrict
from gridloom.targets.rows.mappers.screening import columns_by_rows, low_constants, screen_by_counts, width_bound

if TYPE_CHECKING:
    from gridloom.targets.rows.mappers.kernel import RowKernelGraph, RowState

#: Temperatures of a start, whatever its moves.
TEMPERATURES: Final = 100

#: A rung of a ladder: moves per temperature as a multiple of nodes^(4/3), and the number of conflicts above which the
#: next rung is not tried.
Rung = tuple[float, int]

#: Ladders to find out whether a graph fits at all, and whether it fits fewer columns than it was found on. Graphs that
#: are far from fitting are given up early.
FIT: Final[tuple[Rung, ...]] = ((0.25, 12), (0.5, 7), (1.0, 4), (1.0, 3), (2.0, 2), (2.0, 0))
NARROW: Final[tuple[Rung, ...]] = ((0.25, 6), (0.5, 3), (1.0, 2), (1.0, 0))
#: The same with long starts for graphs that are one or two conflicts short: the width then depends less on the seed.
LONG_FIT: Final[tuple[Rung, ...]] = (
    *((0.25, 12), (0.5, 7), (1.0, 5), (1.0, 4), (2.0, 3), (2.0, 3)),
    *((4.0, 2), (8.0, 2), (8.0, 1), *((16.0, 1),) * 4, (16.0, 0)),
)
LONG_NARROW: Final[tuple[Rung, ...]] = (*NARROW[:-1], (1.0, 2), (2.0, 2), (4.0, 1), (8.0, 1), (8.0, 0))
#: A second try at fewer columns than were found, by long starts alone.
LAST_NARROW: Final[tuple[Rung, ...]] = ((8.0, 2), (16.0, 1), (16.0, 1), (16.0, 0))
#: Long starts for a given number of columns. Three further ones mapped none of 62 drawn graphs that the first three had
#: left with two conflicts or more, and 6 of 54 with one; graphs that fill all PEs vary more, so five are made.
PUSH: Final[tuple[Rung, ...]] = (
    *((4.0, 4), (4.0, 3), (4.0, 2), (4.0, 2), (4.0, 1), (4.0, 1)),
    *((8.0, 1), (8.0, 1), (8.0, 0)),
)
#: Short starts before the same long ones, for a graph that is expected to fit: short starts alone say little about it.
BEFORE_PUSH: Final[tuple[Rung, ...]] = ((0.25, 20), (0.5, 14), (1.0, 12), (1.0, 12))
EAGER: Final[tuple[Rung, ...]] = (*BEFORE_PUSH, *PUSH)


@dataclass(frozen=True, kw_only=True)
class Heat:
    """Temperatures, prices and history of a start; ``WidthConfig`` explains the fields of the same names."""

    hot: float = 3.0
    cold: float = 0.8
    price_first: float = 3.0
    price_last: float = 10.0
    history: float = 0.3


#: Settings that the starts of a ladder take in turn: graphs of long chains need a cool start, wide ones a warm one.
TURNS: Final = (Heat(hot=1.3, cold=1.1, price_first=8.0), Heat(), Heat(hot=1.1, cold=1.0, price_first=10.0))
#: Settings that starts of ``_LONG`` and more take in turn: cool starts fit far more of the graphs that are one conflict
#: short.
COOL_TURNS: Final = (TURNS[2], TURNS[0])
#: Settings that the long starts of ``PUSH`` take in turn. Of 169 drawn graphs that short starts left open, a start with
#: the first maps 17 %, of the others one with the second 13 %, and of those still left one with the third 5 %.
PUSH_TURNS: Final = (TURNS[1], TURNS[0], TURNS[2])
_LONG: Final = 4.0


#: The rule that ends no start: the most conflicts with which it goes on, by temperature.
NEVER: Final = np.full(TEMPERATURES, 1 << 30, dtype=np.int32)
#: The fewest conflicts so far with which a start goes on after five temperatures, ten, and so on. They were learned
#: from 233 starts on drawn graphs: all but one of the 65 that found a mapping kept to each of them. The first 25
#: temperatures have none, since the conflicts of a start that ends say how far the ladder is worth climbing.
HOPEFUL: Final = np.repeat(
    np.array([*(1 << 30,) * 5, 5, 4, 4, 4, 3, 2, 2, 2, *(1,) * 7], dtype=np.int32), TEMPERATURES // 20
)


@lru_cache(maxsize=256)
def _first_columns(arch: Arch, columns: int, bits: tuple[int, ...]) -> RowArray:
    return restrict(arch, columns, bits)


class Starts:
    """Starts of one graph on the first columns of an array, with all pipeline registers on or all of them off.

    What starts have in common is computed once and kept. ``start`` may be called from several threads at the same time.
    """

    def __init__(
        self,
        graph: RowGraph,
        arch: Arch,
        *,
        heat: Heat | None = None,
        pinned: dict[int, int] | None = None,
        first: dict[int, int] | None = None,
        registers: bool = False,
    ) -> None:
        self.graph = graph
        self.arch = arch
        self.heat = heat or Heat()
        #: The tiles on which nodes have to stay, and those on which they begin.
        self.pinned = pinned or {}
        self.first = first or {}
        #: The most conflicts with which a start goes on, by temperature, and what is called with the moves and the
        #: trajectory of each start.
        self.most = NEVER
        self.watch: Callable[[int, Int32s], None] | None = None
        self._bits = (int(registers),) * (arch.settings[0].length if arch.settings else 0)

    def array(self, columns: int) -> RowArray:
        """The first columns of the array, built once for each array, width and setting of the registers."""
        return _first_columns(self.arch, columns, self._bits)

    def moves(self, inner: float) -> int:
        """Moves per temperature: ``inner`` * nodes^(4/3), at least 16."""
        return max(16, int(inner * max(2, len(self.graph.nodes)) ** (4 / 3)))

    def start(
        self,
        columns: int,
        seed: int,
        moves: int,
        given: RowLayout | None,
        stop: Uint8s,
        halt: Uint8s,
        heat: Heat | None = None,
    ) -> RowLayout | None:
        """One start, from a legal layout to shorten its wires or from a new placement.

        With ``given``, the temperatures begin at the cold end and the prices at the high one, so that the layout is
        refined and not melted. ``stop`` and ``halt`` end it early when another thread sets them; the result is None
        where that happens before the first move. Costs ``TEMPERATURES`` * ``moves`` moves at most.
        """
        from gridloom.targets.rows.mappers.kernel import RowSchedule, anneal

        array, heat = self.array(columns), heat or self.heat
        graph, rows = self._kernel_graph(array), array.rows
        kept = blank_state(self.graph, array)
        ends = (heat.hot, heat.cold, heat.price_first, heat.price_last)
        if given is not None:
            ends = (heat.cold, heat.cold / 10, heat.price_last, 2 * heat.price_last)
        least = np.zeros(TEMPERATURES, dtype=np.int32)
        schedule = RowSchedule(TEMPERATURES, moves, *ends, heat.history, least, NEVER if given else self.most)
        first = self.first_place(array, seed) if given is None else given.place
        if given is not None:
            kept.route[:], kept.length[:] = given.route, given.length
        conflicts, wire, made = anneal(graph, rows, schedule, first, kept, given is not None, seed, stop, halt)
        if self.watch is not None:
            self.watch(moves, least)
        if made == 0:
            return None
        return layout_of(array, kept, int(conflicts), float(wire), int(made))

    def _kernel_graph(self, array: RowArray) -> RowKernelGraph:
        """The graph as the kernels take it, with the nodes that may move and the tiles that each of them may have."""
        from gridloom.targets.rows.mappers.kernel import RowKernelGraph

        graph = self.graph
        movable = [n for n in range(len(graph.nodes)) if graph.group[n] != CONST and n not in self.pinned]
        return RowKernelGraph(
            graph.source,
            graph.target,
            graph.operand,
            graph.group,
            *graph.touch,
            np.array(movable, dtype=np.int32),
            self._allowed(array),
        )

    def _allowed(self, array: RowArray) -> Uint8s:
        """allowed[node, tile]: the node may sit there; a pinned one nowhere else."""
        dfg, graph = self.graph.dfg, self.graph
        inside = np.zeros(len(self.arch.tiles), dtype=np.bool_)
        for tiles in (array.rows.at.ravel(), array.rows.ports.ravel()):
            inside[tiles[tiles >= 0]] = True
        able: dict[tuple[str, frozenset[str]], Uint8s] = {}
        allowed = np.zeros((len(graph.nodes), len(self.arch.tiles)), dtype=np.uint8)
        for n, k in enumerate(graph.nodes.tolist()):
            key = dfg.nodes[k].op, dfg.required_classes(dfg.nodes[k].id)
            if key not in able:
                able[key] = np.array([tile.runs(*key) for tile in self.arch.tiles], dtype=np.uint8)
            if n in self.pinned:
                allowed[n, self.pinned[n]] = able[key][self.pinned[n]]
            else:
                allowed[n] = able[key] & inside
        return allowed

    def first_place(self, array: RowArray, seed: int) -> Int32s:
        """Ops row by row in the order of dependences, and so each row from west to east; ports anywhere.

        A value runs up and, within a row, east. A start that already does so is not torn apart by a cool schedule; from
        a random one, long chains end up broken in two that no single move joins.
        """
        rng = np.random.default_rng(seed)
        graph = self.graph
        place = np.full(len(graph.nodes), -1, dtype=np.int32)
        held = self._held(array)
        for n, tile in held.items():
            place[n] = tile
        taken = set(held.values())
        for group, line in ((LOAD, array.rows.ports[0]), (STORE, array.rows.ports[1])):
            nodes = [n for n in np.flatnonzero(graph.group == group).tolist() if n not in held]
            free = [tile for tile in line.tolist() if tile >= 0 and tile not in taken]
            place[nodes] = rng.permutation(free)[: len(nodes)]
        room = [[tile for tile in row.tolist() if tile >= 0 and tile not in taken] for row in array.rows.at]
        for r, ops in enumerate(self._rows_of_ops([len(row) for row in room], held, rng)):
            place[ops] = sorted(rng.permutation(room[r])[: len(ops)], key=lambda tile: array.rows.col[tile])
        return place

    def _held(self, array: RowArray) -> dict[int, int]:
        """The tiles that a start gives nodes at once: pinned ones, and those to begin from in these columns."""
        inside = {int(tile) for tile in (*array.rows.at.ravel(), *array.rows.ports.ravel()) if tile >= 0}
        taken = set(self.pinned.values())
        begin = {n: tile for n, tile in self.first.items() if n not in self.pinned and tile in inside - taken}
        return self.pinned | begin

    def _rows_of_ops(self, room: list[int], held: dict[int, int], rng: np.random.Generator) -> list[list[int]]:
        """The ops of each row that are not held, first levels first; an op has any level that its dependences allow.

        Values go up, and no op has more operands from its own row than its wires bring it (``_heard``), where there is
        room for that: an op goes to the row nearest to its wanted one, if possible between the lowest that its operands
        allow and the highest that leaves rows for its readers.
        """
        first, last = self._levels
        depth, height = int(last.max(initial=0)) + 1, len(room)
        row = {n: self.arch.tiles[tile].row for n, tile in held.items()}
        rows: list[list[int]] = [[] for _ in room]
        ops = [n for n in np.flatnonzero(self.graph.group == OP).tolist() if n not in held]
        for n in sorted(ops, key=lambda n: (int(first[n]), float(rng.random()))):
            low = upon([row[a] for a in self._makers[n]], self._heard)
            high = max(low, height - 1 - self._rows_above[n])
            level = int(rng.integers(first[n], last[n] + 1))
            wanted = min(max(level * height // depth if depth > height else level, low), high)
            nearest = sorted(range(height), key=lambda r: (r < low, r > high, abs(r - wanted)))
            row[n] = next(r for r in nearest if len(rows[r]) < room[r])
            rows[row[n]].append(n)
        return rows

    @cached_property
    def _heard(self) -> int:
        """How many operands an op can have from its own row; no limit where values can come down."""
        heard = heard_in_row(self.arch)
        return len(self.graph.nodes) if heard is None else heard

    @cached_property
    def _makers(self) -> list[list[int]]:
        """The ops that each op reads."""
        graph = self.graph
        makers: list[set[int]] = [set() for _ in graph.nodes]
        for a, b in zip(graph.source.tolist(), graph.target.tolist(), strict=True):
            if graph.group[a] == OP and graph.group[b] == OP:
                makers[b].add(a)
        return [sorted(mine) for mine in makers]

    @cached_property
    def _rows_above(self) -> list[int]:
        """For each node the number of rows that its dependents need above it."""
        graph = self.graph
        edges = zip(graph.source.tolist(), graph.target.tolist(), strict=True)
        return row_windows((graph.group == OP).tolist(), edges, self._heard)[1]

    @cached_property
    def _levels(self) -> tuple[Int32s, Int32s]:
        """The first and the last level of each node, counted in ops.

        The first level is the number of ops on the longest path to the node; the last one leaves just enough levels for
        the ops on the longest path from it.
        """
        graph = self.graph
        count = len(graph.nodes)
        op = (graph.group == OP).astype(np.int32)
        first, tail = np.zeros(count, dtype=np.int32), np.zeros(count, dtype=np.int32)
        number = np.empty(len(graph.dfg.nodes), dtype=np.int32)
        number[graph.nodes] = np.arange(count, dtype=np.int32)
        placed = set(graph.nodes.tolist())
        order = [int(number[k]) for k in graph.dfg.topological if k in placed]
        rank = {n: k for k, n in enumerate(order)}
        edges = sorted(zip(graph.source.tolist(), graph.target.tolist(), strict=True), key=lambda edge: rank[edge[0]])
        for a, b in edges:
            first[b] = max(first[b], first[a] + op[a])
        for a, b in reversed(edges):
            tail[a] = max(tail[a], tail[b] + op[b])
        depth = int((first + tail)[op == 1].max(initial=0)) + 1
        return first, depth - 1 - tail


def blank_state(graph: RowGraph, array: RowArray) -> RowState:
    """A state of the kernels with nothing placed and nothing routed, of the right size for a graph on an array.

    Routes may be as long as going up through ALUs, across and down again takes.
    """
    from gridloom.targets.rows.mappers.kernel import blank

    rows = array.rows
    longest = 4 * sum(rows.at.shape) + 16
    return blank(len(graph.nodes), len(rows.row), len(graph.edges), len(rows.base), longest)


def seed_of(seed: int, start: int) -> int:
    """A seed of its own for each start, well apart from its neighbours'.

    >>> seed_of(0, 0) == seed_of(0, 0), seed_of(0, 0) == seed_of(0, 1)
    (True, False)
    """
    return int(np.random.SeedSequence((seed, start)).generate_state(1, np.uint64)[0] >> np.uint64(2))


@dataclass(frozen=True, kw_only=True)
class Narrowest:
    """What a ladder of starts says about a graph: a width with its layout, or why there is none."""

    #: The fewest columns on which a mapping was found; None: there was none.
    width: int | None
    #: ``bound``: counting shows that it does not fit; ``proof``: the rows that it needs show it; ``found``;
    #: ``exhausted``: no start found a mapping.
    decided: Literal["bound", "proof", "found", "exhausted"]
    #: max(ops / rows, loads, stores).
    bound: int
    #: Conflicts of the best try on all columns, 0 when it fits.
    conflicts: int = 0
    #: Moves over all starts.
    moves: int = 0
    #: The mapping found, or the best try.
    layout: RowLayout | None = None


def narrowest(
    starts: Starts,
    columns: int,
    *,
    fit: Sequence[Rung] = FIT,
    narrow: Sequence[Rung] = NARROW,
    last: Sequence[Rung] = (),
    least: int = 1,
    seed: int = 0,
    first: int = 0,
    long_turns: Sequence[Heat] = COOL_TURNS,
    stop: Uint8s | None = None,
) -> Narrowest:
    """The fewest columns, at least ``least``, that a fixed number of starts finds: all first, then from the bound up.

    Where that is more than the bound, ``last`` looks at the fewer ones again, with seeds of its own. ``first`` is the
    number of the first start: starts of the same number, seed, settings and effort are the same. ``long_turns`` are the
    settings that long starts take in turn.

    The same for the same seed, unless ``stop`` (not 0: end now) cuts it short. A start makes 100 * inner * nodes^(4/3)
    moves of about 4 us (80 nodes, inner 1: 0.15 s).
    """
    graph, arch = starts.graph, starts.arch
    bound = max(width_bound(graph, arch), least)
    if screen_by_counts(graph, arch, columns) is not None:
        return Narrowest(width=None, decided="bound", bound=bound)
    needed = columns_by_rows(graph, arch)
    if needed is None or needed > columns or low_constants(graph, arch, columns) is not None:
        return Narrowest(width=None, decided="proof", bound=bound)
    ladder = _Ladder(starts, seed, stop, made=first, long_turns=long_turns)
    best = ladder.climb(columns, fit)
    if best is None or not best.legal:
        left = best.conflicts if best else 0
        return Narrowest(width=None, decided="exhausted", bound=bound, conflicts=left, moves=ladder.moves, layout=best)
    again = _Ladder(starts, seed + 1, stop)
    for search, rungs in ((ladder, narrow), (again, last)):
        best = search.narrower(best, max(bound, needed), rungs)
    moves = ladder.moves + again.moves
    return Narrowest(width=best.array.width, decided="found", bound=bound, moves=moves, layout=best)


class _Ladder:
    """Starts of rising effort, each with a seed of its own; counts the starts and moves made over all its climbs."""

    def __init__(
        self,
        starts: Starts,
        seed: int,
        stop: Uint8s | None,
        *,
        made: int = 0,
        long_turns: Sequence[Heat] = COOL_TURNS,
    ) -> None:
        self.starts = starts
        self.long_turns = long_turns
        self.seed = seed
        self.made = made
        self.offset = made
        self.moves = 0
        self._go = np.zeros(1, dtype=np.uint8)
        self._stop = self._go if stop is None else stop

    def narrower(self, found: RowLayout, least: int, rungs: Sequence[Rung]) -> RowLayout:
        """The first legal layout on fewer columns than the given one, at least ``least``; else the given one."""
        for columns in range(least, found.array.width):
            layout = self.climb(columns, rungs)
            if layout is not None and layout.legal:
                return layout
        return found

    def climb(self, columns: int, rungs: Sequence[Rung]) -> RowLayout | None:
        """The best start on so many columns: the first that is legal, or that with the fewest conflicts.

        None when it was stopped before the first move. Long starts take settings of their own in turn.
        """
        best: RowLayout | None = None
        offset = self.offset
        for k, (inner, most) in enumerate(rungs):
            moves = self.starts.moves(inner)
            turns = self.long_turns if inner >= _LONG else TURNS
            heat = turns[(offset + k) % len(turns)]
            seed = seed_of(self.seed, self.made)
            layout = self.starts.start(columns, seed, moves, None, self._stop, self._go, heat)
            self.made += 1
            if layout is None:
                break
            self.moves += layout.moves
            if best is None or layout.conflicts < best.conflicts:
                best = layout
            if best.legal or best.conflicts > most:
                break
        return best
