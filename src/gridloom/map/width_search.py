"""One start of the search on rows, and the narrowest width by a ladder of starts that gives up where it is hopeless."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Final, Literal

import numpy as np

from gridloom.arch.model import Arch
from gridloom.errors import OptionError
from gridloom.map.width_mapping import Layout
from gridloom.map.width_problem import (
    CONST,
    LOAD,
    OP,
    STORE,
    Bytes,
    Ints,
    RowArray,
    RowGraph,
    kernel_rows,
    restrict,
)
from gridloom.map.width_screening import screen, width_bound

if TYPE_CHECKING:
    from gridloom.map.place.width_kernel import Graph

TEMPERATURES: Final = 100

#: A rung: moves a temperature as a multiple of nodes^(4/3), and the conflicts above which the next is not tried.
Rung = tuple[float, int]

#: Whether a graph fits at all, and whether it fits fewer columns than it was found on. Hopeless ones end early.
FIT: Final[tuple[Rung, ...]] = ((0.25, 14), (0.5, 9), (1.0, 6), (2.0, 4), (2.0, 0))
NARROW: Final[tuple[Rung, ...]] = ((0.25, 8), (0.5, 5), (1.0, 3), (2.0, 0))


@dataclass(frozen=True, kw_only=True)
class Heat:
    """Temperatures, prices and history of a start; see the mapper's settings."""

    hot: float = 3.0
    cold: float = 0.8
    price_first: float = 1.0
    price_last: float = 10.0
    history: float = 0.3


@lru_cache(maxsize=256)
def _first_columns(arch: Arch, columns: int, bits: tuple[int, ...]) -> RowArray:
    return restrict(arch, columns, bits)


class Starts:
    """Starts on the first columns of an array under given pipeline bits (all on, or all off)."""

    def __init__(
        self,
        graph: RowGraph,
        arch: Arch,
        *,
        heat: Heat | None = None,
        pinned: dict[int, int] | None = None,
        registers: bool = False,
    ) -> None:
        self.graph = graph
        self.arch = arch
        self.heat = heat or Heat()
        self.pinned = pinned or {}
        self._bits = (int(registers),) * (arch.settings[0].length if arch.settings else 0)

    def array(self, columns: int) -> RowArray:
        """The first columns of the array, built once."""
        return _first_columns(self.arch, columns, self._bits)

    def moves(self, inner: float) -> int:
        """Moves a temperature."""
        return max(16, int(inner * max(2, len(self.graph.nodes)) ** (4 / 3)))

    def start(
        self, columns: int, seed: int, moves: int, given: Layout | None, stop: Bytes, halt: Bytes
    ) -> Layout | None:
        """One start, from a legal layout to shorten its wires or from a random placement; None: stopped at once."""
        from gridloom.map.place.width_kernel import Schedule, anneal, blank

        array, heat = self.array(columns), self.heat
        graph, rows = self._kernel_graph(array), kernel_rows(array)
        kept = blank(len(self.graph.nodes), len(array.row), len(self.graph.edges), len(array.base), _longest(array))
        ends = (heat.hot, heat.cold, heat.price_first, heat.price_last)
        if given is not None:
            ends = (heat.cold, heat.cold / 10, heat.price_last, 2 * heat.price_last)
        schedule = Schedule(TEMPERATURES, moves, *ends, heat.history)
        first = self._random_place(array, seed) if given is None else given.place
        if given is not None:
            kept.way[:], kept.length[:] = given.way, given.length
        conflicts, wire, made = anneal(graph, rows, schedule, first, kept, given is not None, seed, stop, halt)
        if made == 0:
            return None
        return Layout(
            array=array,
            place=kept.place,
            way=kept.way,
            length=kept.length,
            used=kept.used.astype(np.int32),
            conflicts=int(conflicts),
            wire=float(wire),
            moves=int(made),
        )

    def _kernel_graph(self, array: RowArray) -> Graph:
        from gridloom.map.place.width_kernel import Graph

        graph = self.graph
        movable = [n for n in range(len(graph.nodes)) if graph.group[n] != CONST and n not in self.pinned]
        return Graph(
            graph.source,
            graph.target,
            graph.operand,
            graph.group,
            *graph.touch,
            np.array(movable, dtype=np.int32),
            self._allowed(array),
        )

    def _allowed(self, array: RowArray) -> Bytes:
        """allowed[node, tile]: the node may sit there; a pinned one nowhere else."""
        dfg, graph = self.graph.dfg, self.graph
        inside = {int(tile) for tile in (*array.at.ravel(), *array.ports.ravel()) if tile >= 0}
        allowed = np.zeros((len(graph.nodes), len(self.arch.tiles)), dtype=np.uint8)
        for n, k in enumerate(graph.nodes.tolist()):
            needed = dfg.required_classes(dfg.nodes[k].id)
            for tile in inside if n not in self.pinned else {self.pinned[n]}:
                allowed[n, tile] = needed <= self.arch.tiles[tile].classes
        return allowed

    def _random_place(self, array: RowArray, seed: int) -> Ints:
        rng = np.random.default_rng(seed)
        graph = self.graph
        place = np.full(len(graph.nodes), -1, dtype=np.int32)
        for n, tile in self.pinned.items():
            place[n] = tile
        for group, tiles in ((OP, array.at.ravel()), (LOAD, array.ports[0]), (STORE, array.ports[1])):
            nodes = [n for n in np.flatnonzero(graph.group == group).tolist() if n not in self.pinned]
            free = [tile for tile in tiles.tolist() if tile >= 0 and tile not in self.pinned.values()]
            place[nodes] = rng.permutation(free)[: len(nodes)]
        return place


def _longest(array: RowArray) -> int:
    """The most resources a way may have: up through ALUs, across and down again."""
    return 4 * sum(array.at.shape) + 16


def seed_of(seed: int, start: int) -> int:
    """A seed of its own for each start, well apart from its neighbours'."""
    return int(np.random.SeedSequence((seed, start)).generate_state(1, np.uint64)[0] >> np.uint64(2))


@dataclass(frozen=True, kw_only=True)
class Narrowest:
    """What a ladder of starts says about a graph."""

    #: The fewest columns found; None: none.
    width: int | None
    #: ``bound``: counting shows that it does not fit; ``found``; ``exhausted``: no start found a mapping.
    decided: Literal["bound", "found", "exhausted"]
    #: max(ops / rows, loads, stores).
    bound: int
    #: Conflicts of the best try on all columns, 0 when it fits.
    conflicts: int = 0
    #: Moves over all starts.
    moves: int = 0
    #: The mapping found, or the best try.
    layout: Layout | None = None


def narrowest(
    graph: RowGraph,
    arch: Arch,
    *,
    fit: Sequence[Rung] = FIT,
    narrow: Sequence[Rung] = NARROW,
    seed: int = 0,
) -> Narrowest:
    """The fewest columns that a fixed number of starts finds: all columns first, then from the bound upwards.

    The same for the same seed. A start makes 100 * inner * nodes^(4/3) moves of about 4 us (80 nodes, inner 1: 0.15 s).
    """
    bound = width_bound(graph, arch)
    if screen(graph, arch, arch.cols) is not None:
        return Narrowest(width=None, decided="bound", bound=bound)
    ladder = _Ladder(Starts(graph, arch), seed)
    best = ladder.climb(arch.cols, fit)
    if not best.legal:
        left = best.conflicts
        return Narrowest(width=None, decided="exhausted", bound=bound, conflicts=left, moves=ladder.moves, layout=best)
    for columns in range(bound, arch.cols):
        layout = ladder.climb(columns, narrow)
        if layout.legal:
            best = layout
            break
    return Narrowest(width=best.array.width, decided="found", bound=bound, moves=ladder.moves, layout=best)


class _Ladder:
    """Starts of rising effort, each with a seed of its own."""

    def __init__(self, starts: Starts, seed: int) -> None:
        self.starts = starts
        self.seed = seed
        self.made = 0
        self.moves = 0
        self._go = np.zeros(1, dtype=np.uint8)

    def climb(self, columns: int, rungs: Sequence[Rung]) -> Layout:
        """The best start on so many columns: the first that is legal, or that with the fewest conflicts."""
        best: Layout | None = None
        for inner, most in rungs:
            moves = self.starts.moves(inner)
            layout = self.starts.start(columns, seed_of(self.seed, self.made), moves, None, self._go, self._go)
            self.made += 1
            if layout is None:
                continue
            self.moves += layout.moves
            if best is None or layout.conflicts < best.conflicts:
                best = layout
            if best.legal or best.conflicts > most:
                break
        if best is None:
            raise OptionError("a ladder needs at least one rung of starts")
        return best
