"""Which words lie in which constant store: chosen before a search, which then keeps nodes to tiles with their words.

Nodes that keep the same runs of words are of one *kind*. First each kind gets one tile, those with the fewest tiles to
choose from first; then the tiles are filled one after another, each with the kinds that have the fewest tiles for their
nodes. The choice is legal whatever the search does, and may miss a mapping that another choice would allow.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from gridloom.archs.model import Arch
from gridloom.dfg.model import Dfg
from gridloom.mapping.model import Failure
from gridloom.search.arrays import Int64s
from gridloom.search.stores import Run, runs_of, words_of

Kind = frozenset[Run]


def keep_to_stores(dfg: Dfg, arch: Arch, nodes: Sequence[int], pinned: Mapping[int, int], able: Int64s) -> None:
    """Take tiles away from nodes, in place, whose store does not have their words; nothing where stores are unlimited.

    ``able`` has a row for each of ``nodes``, which are graph positions. O(tiles * words * kinds).
    """
    if not arch.has("constant_stores"):
        return
    kinds = [runs_of(dfg, arch, k) for k in nodes]
    stores = _Stores(arch, kinds, able)
    for n, k in enumerate(nodes):
        if k in pinned:
            stores.add(kinds[n], pinned[k])
    stores.fill()
    for n, kind in enumerate(kinds):
        for t in range(len(arch.tiles)) if kind else ():
            able[n, t] *= stores.has(kind, t)


class _Stores:
    """The words of each store so far. A store that has room for the words of all nodes is left out."""

    def __init__(self, arch: Arch, kinds: Sequence[Kind], able: Int64s) -> None:
        everything = words_of(run for kind in kinds for run in kind)
        limits = [tile.constants for tile in arch.tiles]
        self.limit = {t: room for t, room in enumerate(limits) if room is not None and room < everything}
        self.kept: dict[int, set[Run]] = {t: set() for t in self.limit}
        #: For each kind its number of nodes, and the tiles that run some of them.
        self.nodes: dict[Kind, int] = {}
        self.tiles: dict[Kind, set[int]] = {}
        for n, kind in enumerate(kinds):
            if kind:
                self.nodes[kind] = self.nodes.get(kind, 0) + 1
                self.tiles.setdefault(kind, set()).update(np.flatnonzero(able[n]).tolist())

    def has(self, kind: Kind, tile: int) -> bool:
        """Whether a tile has the words of a kind."""
        return tile not in self.limit or kind <= self.kept[tile]

    def _words(self, kind: Kind, tile: int) -> int:
        """The words that a store needs with those of one more kind."""
        return words_of(self.kept[tile] | kind)

    def _fits(self, kind: Kind, tile: int) -> bool:
        """Whether a tile that runs nodes of a kind has room for their words."""
        return tile in self.tiles[kind] and self._words(kind, tile) <= self.limit[tile]

    def add(self, kind: Kind, tile: int) -> None:
        """Put the words of a kind into the store of a tile, where they fit."""
        if kind and not self.has(kind, tile) and self._fits(kind, tile):
            self.kept[tile] |= kind

    def fill(self) -> None:
        """One tile for each kind, then as many as there is room for."""
        for kind in sorted(self.nodes, key=lambda kind: (len(self.tiles[kind]), -words_of(kind), repr(sorted(kind)))):
            if not any(self.has(kind, t) for t in self.tiles[kind]):
                fitting = [t for t in sorted(self.tiles[kind]) if self._fits(kind, t)]
                if fitting:
                    self.add(kind, max(fitting, key=lambda t: self.limit[t] - self._words(kind, t)))
        supply = {kind: sum(self.has(kind, t) for t in tiles) for kind, tiles in self.tiles.items()}
        order = sorted(self.nodes, key=lambda kind: repr(sorted(kind)))
        for tile in self.limit:
            while options := [kind for kind in order if not self.has(kind, tile) and self._fits(kind, tile)]:
                chosen = max(options, key=lambda kind: self.nodes[kind] / (1 + supply[kind]))
                self.add(chosen, tile)
                supply[chosen] += 1


def too_few_constants(dfg: Dfg, arch: Arch, nodes: Sequence[int]) -> Failure | None:
    """The failure of a node whose words fit no store, or of a graph whose words do not fit all stores together."""
    if not arch.has("constant_stores") or any(tile.constants is None for tile in arch.tiles):
        return None
    rooms = [tile.constants or 0 for tile in arch.tiles]
    kinds = {k: runs_of(dfg, arch, k) for k in nodes}
    for k, kind in kinds.items():
        if words_of(kind) > max(rooms):
            return _failure(f"constant store of the tile of {dfg.nodes[k].id!r}", words_of(kind), max(rooms))
    needed = words_of(run for kind in kinds.values() for run in kind)
    return None if needed <= sum(rooms) else _failure("constant stores of all tiles", needed, sum(rooms))


def _failure(constraint: str, words: int, room: int) -> Failure:
    """The failure of a constraint on stores."""
    return Failure(
        constraint=constraint,
        demand=f"{words} words",
        bound=f"{room} words",
        levers=("larger constant stores", "live-ins in registers"),
    )
