"""What the checker looks up in a graph and an array, read from their fields alone.

Methods and properties of ``Dfg``, ``Arch`` and ``Mapping`` serve mappers, too, and would share their mistakes with the
checker: it has its own. Only the unrolled array and the op table are taken as they are.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from typing import Final

import numpy as np
from numpy.typing import NDArray

from gridloom.archs.model import Arch, Kind
from gridloom.dfg.model import Dfg, Node
from gridloom.dfg.ops import Op, lookup

#: Op classes of values that are the same in every cycle.
TIMELESS: Final = ("const", "livein")


def cycles_of(table: Mapping[str, int], op_class: str) -> int:
    """Return the cycles that a tile's table (latency or occupancy) gives an op class; ``"*"`` stands for the rest.

    >>> cycles_of({"mul": 3, "*": 2}, "mul"), cycles_of({"mul": 3, "*": 2}, "alu"), cycles_of({}, "alu")
    (3, 2, 1)
    """
    return table[op_class] if op_class in table else table.get("*", 1)


class Reading:
    """The look-ups of a graph and an array; each is made when it is first asked for, in linear time."""

    def __init__(self, dfg: Dfg, arch: Arch) -> None:
        self.dfg = dfg
        self.arch = arch

    # -- the array ----------------------------------------------------------------------------------------------------

    def kind(self, resource: int) -> int:
        """Return the kind of a resource, as in ``Kind``."""
        return self.kinds[resource]

    @cached_property
    def kinds(self) -> list[int]:
        """The kinds as Python integers, which rules compare much faster than elements of an array."""
        kinds: list[int] = self.arch.kind.tolist()
        return kinds

    @cached_property
    def tile_numbers(self) -> dict[str, int]:
        """The tiles by their names."""
        return {tile.name: k for k, tile in enumerate(self.arch.tiles)}

    @cached_property
    def resource_numbers(self) -> dict[str, int]:
        """The resources by their names."""
        return {name: k for k, name in enumerate(self.arch.resource_names)}

    @cached_property
    def units(self) -> dict[int, int]:
        """The FU or CONST of each tile that has one."""
        kinds = self.arch.kind
        return self._by_tile((kinds == Kind.FU) | (kinds == Kind.CONST))

    @cached_property
    def outputs(self) -> dict[int, int]:
        """The OUT of each tile that has one."""
        return self._by_tile(self.arch.kind == Kind.OUT)

    def _by_tile(self, chosen: NDArray[np.bool_]) -> dict[int, int]:
        """Return the chosen resources by their tiles."""
        return {self.resource_tile[r]: r for r in np.flatnonzero(chosen).tolist()}

    @cached_property
    def resource_tile(self) -> list[int]:
        """The tile of each resource, -1: none."""
        tiles: list[int] = self.arch.tile.tolist()
        return tiles

    def tile_of(self, resource: str) -> int:
        """Return the tile of a resource by its name; -1 where it has none, or where there is no such resource."""
        return self.resource_tile[self.resource_numbers[resource]] if resource in self.resource_numbers else -1

    @cached_property
    def links(self) -> dict[int, tuple[int, int]]:
        """For each link that leads somewhere the tiles at its ends: its own, and that of what an arc leads it to."""
        arch = self.arch
        chosen = np.flatnonzero(arch.kind[arch.arc_source] == Kind.LINK)
        tile = self.resource_tile
        arcs = zip(arch.arc_source[chosen].tolist(), arch.arc_target[chosen].tolist())
        return {a: (tile[a], tile[b]) for a, b in arcs if a != b and tile[b] >= 0}

    # -- the graph ----------------------------------------------------------------------------------------------------

    @cached_property
    def nodes(self) -> dict[str, Node]:
        """The nodes by their ids."""
        return {node.id: node for node in self.dfg.nodes}

    @cached_property
    def rows(self) -> dict[str, Op]:
        """The row of the op table of each node."""
        return {node.id: lookup(self.dfg.domain, node.op) for node in self.dfg.nodes}

    def op_class(self, node: str) -> str:
        """Return the op class of a node: its own, or that of its op."""
        return self.nodes[node].op_class or self.rows[node].op_class

    def is_free(self, node: str) -> bool:
        """Return True when the node needs no tile here."""
        return self.op_class(node) in self.arch.free
