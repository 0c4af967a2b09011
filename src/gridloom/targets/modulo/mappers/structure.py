"""Which registers the tiles of a modulo-scheduled array read and write, read off its arcs.

The search sees an array as registers and tiles between them; :mod:`gridloom.targets.modulo.mappers.problem` says why.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from gridloom.archs.model import Arch, Kind
from gridloom.errors import OptionError
from gridloom.targets.modulo.mappers.crossbars.wires import CrossbarWires, read_wires, write_ports


@dataclass(frozen=True, eq=False)
class Structure:
    """Which registers a tile reads and writes, from the arcs of the array."""

    arch: Arch
    #: For each tile the tiles whose output register it reads, with the link in between; -1: it reads it directly.
    reads: list[dict[int, int]]
    #: For each tile the index of its file in ``arch.register_files``; -1: it has none.
    file_of: list[int]
    #: The same where its operands read the registers themselves; -1: they read none, or read ports.
    read_file: list[int]
    #: Whether the output register of each tile can hold its value for longer than a cycle.
    holds: list[bool]
    #: Cycles from a move, or from a load, on each tile to its output register; 0: the tile has none.
    move_latency: list[int]
    load_latency: list[int]
    #: The resource of the data memory; -1: there is none.
    memory: int = field(default=-1)
    #: The wires that routes compete for, on arrays with crossbars.
    wires: CrossbarWires | None = None

    @cached_property
    def units(self) -> dict[tuple[Kind, int], int]:
        """The resource of each function unit, load and store, by its kind and its tile."""
        pairs = zip(self.arch.kind.tolist(), self.arch.tile.tolist())
        return {(Kind(k), tile): r for r, (k, tile) in enumerate(pairs) if k in (Kind.FU, Kind.LOAD, Kind.STORE)}


def structure(arch: Arch) -> Structure:
    """Read an array's arcs; OptionError for an array that is not made of registers between tiles."""
    if not (arch.has("registers") or arch.has("crossbars")):
        raise OptionError(f"array {arch.name!r} has no output registers and register files between its tiles")
    arcs: dict[int, dict[int, int]] = {}
    for a, b, latency in zip(arch.arc_source.tolist(), arch.arc_target.tolist(), arch.arc_latency.tolist()):
        arcs.setdefault(a, {})[b] = latency
    return _Reader(arch, arcs).structure()


def number_copy(copies: dict[tuple[int, int], int], livein: int, resource: int) -> int:
    """The copy of a live-in that a resource keeps; copies are numbered in the order in which they are met."""
    return copies.setdefault((livein, resource), sum(1 for k, _ in copies if k == livein))


class _Reader:
    """Reads the structure of an array off its arcs, as ``{source: {target: latency}}``.

    A tile counts as reading a register only if all its operand inputs can, which holds for the families of such arrays.
    """

    def __init__(self, arch: Arch, arcs: dict[int, dict[int, int]]) -> None:
        self.arch = arch
        self.arcs = arcs
        self.kind: list[int] = arch.kind.tolist()
        self.tile: list[int] = arch.tile.tolist()
        #: The first resource of each tile that loads.
        self.load: dict[int, int] = {}
        for r in np.flatnonzero(arch.kind == Kind.LOAD).tolist():
            self.load.setdefault(self.tile[r], r)
        #: The outputs that each operand input may read: (tile, the link in between, -1: none), by tile.
        self.seen_by: dict[int, list[tuple[int, int]]] = {}
        for u, out in enumerate(arch.out.tolist()):
            following = self.arcs.get(out, {})
            for r in following:
                self.seen_by.setdefault(r, []).append((u, -1))
            for link in following:
                if self.kind[link] == Kind.LINK:
                    for r in self.arcs.get(link, {}):
                        self.seen_by.setdefault(r, []).append((u, link))
        self.write_ports = write_ports(arch, arcs)
        #: The register files that lead to each resource, straight or by read ports.
        self.files_into: dict[int, set[int]] = {}
        for k, file in enumerate(arch.register_files):
            for target in {target for r in file.registers for target in arcs.get(r, {})}:
                for after in (target, *(arcs.get(target, {}) if self.kind[target] == Kind.SWITCH else ())):
                    self.files_into.setdefault(after, set()).add(k)

    def structure(self) -> Structure:
        """The structure; OptionError where a tile has no output register."""
        arch, tiles = self.arch, range(len(self.arch.tiles))
        memory = [r for r, kind in enumerate(self.kind) if kind == Kind.MEM]
        wires = read_wires(arch, self.arcs) if arch.has("crossbars") else None
        files = [self._file(t) for t in tiles]
        return Structure(
            arch=arch,
            reads=[self._reads(t) if wires is None else self._own(t) for t in tiles],
            file_of=files,
            read_file=[file if self._reads_file(t, file) else -1 for t, file in enumerate(files)],
            holds=[int(arch.out[t]) in self.arcs.get(int(arch.out[t]), {}) for t in tiles],
            move_latency=[self._move(t) for t in tiles],
            load_latency=[self._load(t) for t in tiles],
            memory=memory[0] if memory else -1,
            wires=wires,
        )

    def _operands(self, tile: int) -> set[int]:
        """The operand inputs of a tile, but for a flag, which reads no registers."""
        row: list[int] = self.arch.operand_inputs[tile].tolist()
        if self.arch.has("flags"):
            row = row[:-1]
        return {r for r in row if r >= 0}

    def _reads(self, tile: int) -> dict[int, int]:
        """The tiles whose output register a tile reads, with the link in between; -1: it reads it directly."""
        wanted = self._operands(tile)
        if not wanted:
            return dict.fromkeys(range(len(self.arch.tiles)), -1)
        ways = [self.seen_by.get(r, []) for r in sorted(wanted)]
        common = set(ways[0]).intersection(*ways[1:])
        found: dict[int, int] = {}
        for u, link in ways[0]:
            if (u, link) in common:
                found.setdefault(u, link)
        return found

    def _own(self, tile: int) -> dict[int, int]:
        """The same where every link is routed over: the tile's own output register, if its operands read it."""
        out = int(self.arch.out[tile])
        return {tile: -1} if self._operands(tile) <= self.arcs.get(out, {}).keys() else {}

    def _file(self, tile: int) -> int:
        """The first register file that a tile writes and whose registers all lead to each of its operands; -1: none.

        Both may go by ports: results to all write ports, and operands to all read ports of the file.
        """
        wanted, written = self._operands(tile), self.arcs.get(int(self.arch.fu[tile]), {}).keys()
        near = list(range(len(self.arch.register_files)))
        if wanted and all(file.registers for file in self.arch.register_files):
            near = sorted(self.files_into.get(min(wanted), ()))
        for k in near:
            file = self.arch.register_files[k]
            entered = self.write_ports.get(k) or set(file.registers)
            if written >= entered and (self._reads_file(tile, k) or self._reads_ports(wanted, k)):
                return k
        return -1

    def _reads_file(self, tile: int, k: int) -> bool:
        """Whether all operands of a tile read all registers of a file; False for file -1."""
        if k < 0:
            return False
        wanted = self._operands(tile)
        return all(wanted <= self.arcs.get(r, {}).keys() for r in self.arch.register_files[k].registers)

    def _reads_ports(self, wanted: set[int], k: int) -> bool:
        """Whether all registers of a file lead to a switch that leads to all these operands."""
        rows = [self.arcs.get(r, {}).keys() for r in self.arch.register_files[k].registers]
        common = set(rows[0]).intersection(*rows[1:]) if rows else set()
        return any(self.kind[r] == Kind.SWITCH and wanted <= self.arcs.get(r, {}).keys() for r in common)

    def _move(self, tile: int) -> int:
        """Cycles from a move on a tile to its output register; 0: no operand leads through the function unit."""
        latency = self._latency(int(self.arch.fu[tile]), int(self.arch.out[tile]))
        passes = int(self.arch.fu[tile]) in self.arcs.get(int(self.arch.operand_inputs[tile, 0]), {})
        return latency if passes else 0

    def _latency(self, source: int, target: int) -> int:
        """The latency of an arc into an output register; OptionError where it takes no cycle, as without a register."""
        latency = self.arcs.get(source, {}).get(target, 0)
        if latency < 1:
            name = self.arch.resource_names[target]
            raise OptionError(f"output registers are needed; array {self.arch.name!r} has none at {name}")
        return latency

    def _load(self, tile: int) -> int:
        """Cycles from a load on a tile to its output register; 0: the tile has no memory, or is kept too long by it."""
        if self.arch.tiles[tile].occupancy_of("mem") > 1:
            return 0
        return self._latency(self.load[tile], int(self.arch.out[tile])) if tile in self.load else 0
