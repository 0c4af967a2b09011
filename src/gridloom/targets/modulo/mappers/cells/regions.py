"""Rectangles of an array that are alike: a part of the array as an array of its own, and where else it occurs.

A cell is mapped onto one rectangle and repeated on others. That is legal where the tiles of both rectangles have the
same units, registers and links among themselves, which is compared here tile by tile; links that leave a rectangle do
not matter. Tiles have to stand on a grid and own their registers.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from gridloom.archs.model import Arch, Kind, Pool, RegisterFile
from gridloom.search.arrays import Bools, Int64s

#: What a resource is within its tile: its kind and position; for a link the way to the tile that it enters.
Local = tuple[int, int, int, int, str]


@dataclass(frozen=True, slots=True, order=True)
class Rectangle:
    """Tiles from a first row and column on."""

    row: int
    col: int
    height: int
    width: int


class RegionGrid:
    """An array whose tiles stand on a grid, with what each tile and its links are like."""

    def __init__(self, arch: Arch) -> None:
        self.arch = arch
        self.size = (arch.rows, arch.cols)
        self.tile_at = {(tile.row, tile.col): k for k, tile in enumerate(arch.tiles)}

    @property
    def regular(self) -> bool:
        """True when there is one tile at every place and all registers belong to tiles."""
        rows, cols = self.size
        places = {(r, c) for r in range(rows) for c in range(cols)}
        owned = (self.arch.tile >= 0) | (self.arch.kind == Kind.MEM)
        return set(self.tile_at) == places and len(self.arch.tiles) == len(places) and bool(owned.all())

    def tiles(self, area: Rectangle) -> list[int]:
        """The tiles of a rectangle, row by row."""
        rows, cols = range(area.row, area.row + area.height), range(area.col, area.col + area.width)
        return [self.tile_at[r, c] for r in rows for c in cols]

    def way(self, a: int, b: int) -> tuple[int, int]:
        """The rows and columns from one tile to another, the short way round on arrays that wrap."""
        rows, cols = self.size
        first, second = self.arch.tiles[a], self.arch.tiles[b]
        down, right = second.row - first.row, second.col - first.col
        if self.arch.has("wraps"):
            return (down + rows // 2) % rows - rows // 2, (right + cols // 2) % cols - cols // 2
        return down, right

    @cached_property
    def local(self) -> list[Local]:
        """What each resource is within its tile."""
        arch = self.arch
        found: list[Local] = [
            (kind, position, 0, 0, "") for kind, position in zip(arch.kind.tolist(), arch.position.tolist())
        ]
        for a, b, r in arch.links:
            channel = arch.resource_names[r].partition("#")[2]
            found[r] = (int(Kind.LINK), 0, *self.way(a, b), channel)
        return found

    @cached_property
    def resource_at(self) -> Mapping[tuple[int, Local], int]:
        """The resource of a tile that is so and so within it."""
        return {(tile, local): r for r, (tile, local) in enumerate(zip(self.arch.tile.tolist(), self.local))}

    @cached_property
    def _tile_kinds(self) -> Int64s:
        """[row, column] -> a number for what a tile is: its units, operands, contexts and registers."""
        arch = self.arch
        files: dict[int, list[tuple[int, int, bool]]] = {}
        for file in arch.register_files:
            owner = int(arch.tile[file.registers[0]]) if file.registers else -1
            files.setdefault(owner, []).append((len(file.registers), file.rotating, file.adjustable))
        known: dict[str, int] = {}
        table = np.zeros(self.size, dtype=np.int64)
        for k, tile in enumerate(arch.tiles):
            plain = replace(tile, name="", row=0, col=0, classes=frozenset())
            word = f"{plain} {sorted(tile.classes)} {files.get(k)}"
            table[tile.row, tile.col] = known.setdefault(word, len(known))
        return table

    @cached_property
    def _link_kinds(self) -> Mapping[tuple[int, int], Int64s]:
        """For each way [row, column] -> a number for the arcs that lead from a tile to the one in that way; 0: none."""
        arch = self.arch
        numbers: dict[Local, int] = {}
        local = np.array([numbers.setdefault(what, len(numbers)) for what in self.local], dtype=np.int64)
        source, target = arch.tile[arch.arc_source], arch.tile[arch.arc_target]
        # The memory has no place: an arc from or to it belongs to the tile at its other end.
        here, there = np.where(source >= 0, source, target), np.where(target >= 0, target, source)
        row, col = np.array([(tile.row, tile.col) for tile in arch.tiles], dtype=np.int64).reshape(-1, 2).T
        down, right = self._ways(row[there] - row[here], col[there] - col[here])
        arcs = np.stack(
            [down, right, here, local[arch.arc_source], local[arch.arc_target], arch.arc_latency, arch.arc_gate], axis=1
        )[here >= 0]
        arcs = arcs[np.lexsort(arcs.T[::-1])]
        # A group of rows is what leads from one tile one way.
        first = np.flatnonzero(np.diff(arcs[:, :3], axis=0, prepend=-(1 << 40)).any(axis=1)).tolist()
        tables: dict[tuple[int, int], Int64s] = {}
        known: dict[bytes, int] = {}
        for k, end in zip(first, [*first[1:], len(arcs)]):
            r, c, tile = arcs[k, :3].tolist()
            table = tables.setdefault((r, c), np.zeros(self.size, dtype=np.int64))
            table[row[tile], col[tile]] = 1 + known.setdefault(arcs[k:end, 3:].tobytes(), len(known))
        return tables

    def _ways(self, down: Int64s, right: Int64s) -> tuple[Int64s, Int64s]:
        """Differences of rows and of columns as :meth:`way` gives them."""
        if not self.arch.has("wraps"):
            return down, right
        rows, cols = self.size
        return (down + rows // 2) % rows - rows // 2, (right + cols // 2) % cols - cols // 2

    def pattern(self, area: Rectangle) -> bytes:
        """What the tiles of a rectangle and the links among them are like, for comparison with another one."""
        rows, cols = self.size
        window = np.s_[area.row : area.row + area.height, area.col : area.col + area.width]
        parts = [self._tile_kinds[window]]
        down, right = np.indices((area.height, area.width))
        for (r, c), table in sorted(self._link_kinds.items()):
            inside = ((down + r) % rows < area.height) & ((right + c) % cols < area.width)
            parts.append(np.where(inside, table[window], 0))
        return np.stack(parts).tobytes()

    def packed(self, model: Rectangle, taken: Bools, most: int) -> list[Rectangle]:
        """Up to ``most`` rectangles like a model that overlap neither each other nor what is taken, row by row."""
        rows, cols = self.size
        pattern, used, found = self.pattern(model), taken.copy(), list[Rectangle]()
        for row in range(rows - model.height + 1):
            for col in range(cols - model.width + 1):
                area = Rectangle(row, col, model.height, model.width)
                window = np.s_[row : row + model.height, col : col + model.width]
                if len(found) < most and not used[window].any() and self.pattern(area) == pattern:
                    used[window] = True
                    found.append(area)
        return found

    def closed(self, area: Rectangle, classes: frozenset[str]) -> bool:
        """True when no pool that ops of these classes use lies partly in the rectangle."""
        inside = set(self.tiles(area))
        pools = [set(pool.tiles) for pool in self.arch.pools if pool.classes & classes]
        return all(not pool & inside or pool <= inside for pool in pools)

    def translation(self, source: Rectangle, target: Rectangle) -> Translation:
        """From the resources of one rectangle to those of another one that is like it."""
        return Translation(self, dict(zip(self.tiles(source), self.tiles(target), strict=True)))


class Translation:
    """The names of an array's tiles, registers and links in one rectangle, as they are in another."""

    def __init__(self, grid: RegionGrid, tiles: dict[int, int]) -> None:
        self.grid = grid
        self.tiles = tiles
        self._names: dict[str, str] = {}

    def tile(self, name: str) -> str:
        """The tile that stands for another one."""
        arch = self.grid.arch
        return arch.tiles[self.tiles[arch.tile_index[name]]].name

    def resource(self, name: str) -> str:
        """The resource that stands for another one; the memory stands for itself."""
        if name not in self._names:
            arch = self.grid.arch
            r = arch.resource_index[name]
            tile = int(arch.tile[r])
            there = r if tile < 0 else self.grid.resource_at[self.tiles[tile], self.grid.local[r]]
            self._names[name] = arch.resource_names[there]
        return self._names[name]

    def files(self, names: Iterable[str]) -> Iterator[tuple[str, str]]:
        """Pairs of a register file of the first rectangle and the one that stands for it."""
        arch = self.grid.arch
        by_name = {file.name: file for file in arch.register_files}
        owner = {file.registers: file.name for file in arch.register_files}
        for name in names:
            there = tuple(arch.resource_index[self.resource(arch.resource_names[r])] for r in by_name[name].registers)
            yield name, owner[there]


def cut(arch: Arch, tiles: list[int], size: tuple[int, int]) -> Arch:
    """Some tiles of an array as an array of its own, with the links among them and the memory.

    Resources keep their names. The limit of the data memory is left out: it holds for the whole array.
    """
    keep_tile = np.zeros(len(arch.tiles) + 1, dtype=np.bool_)
    keep_tile[tiles] = True
    keep = keep_tile[arch.tile] | (arch.kind == Kind.MEM)
    for _, b, r in arch.links:
        keep[r] &= keep_tile[b]
    new_tile = np.full(len(arch.tiles) + 1, -1, dtype=np.int32)
    new_tile[tiles] = np.arange(len(tiles))
    index = np.cumsum(keep).astype(np.int32) - 1
    arcs = keep[arch.arc_source] & keep[arch.arc_target]
    position = {t: k for k, t in enumerate(tiles)}
    return replace(
        arch,
        name=f"{arch.name} from {arch.tiles[tiles[0]].name} to {arch.tiles[tiles[-1]].name}",
        rows=size[0],
        cols=size[1],
        tiles=tuple(arch.tiles[t] for t in tiles),
        resource_names=tuple(name for name, kept in zip(arch.resource_names, keep.tolist()) if kept),
        kind=arch.kind[keep],
        tile=new_tile[arch.tile[keep]],
        position=arch.position[keep],
        capacity=arch.capacity[keep],
        group=index[arch.group[keep]],
        arc_source=index[arch.arc_source[arcs]],
        arc_target=index[arch.arc_target[arcs]],
        arc_latency=arch.arc_latency[arcs],
        arc_gate=arch.arc_gate[arcs],
        pools=_pools(arch, position),
        register_files=_files(arch, keep, index),
        data_memory=None,
    )


def _pools(arch: Arch, position: dict[int, int]) -> tuple[Pool, ...]:
    """What the tiles that are kept share."""
    found = [replace(pool, tiles=tuple(position[t] for t in pool.tiles if t in position)) for pool in arch.pools]
    return tuple(pool for pool in found if pool.tiles)


def _files(arch: Arch, keep: Bools, index: np.ndarray[tuple[int], np.dtype[np.int32]]) -> tuple[RegisterFile, ...]:
    """The register files of the tiles that are kept."""
    return tuple(
        replace(file, registers=tuple(int(index[r]) for r in file.registers))
        for file in arch.register_files
        if all(keep[r] for r in file.registers)
    )
