"""Morpher's JSON arrays as an Arch: the netlist (``netlist.py``) becomes resources and arcs.

Morpher (Wijerathne et al., "Morpher: An Open-Source Integrated Compilation and Simulation Framework for CGRA", WOSET
2022) describes an array port by port. A place with a function unit becomes a tile ``pe_ROW_COL``. Its data path's
inputs are operands and its output is an output register that holds for one cycle; registers hold until they are
written, a cycle after the wire that writes them; other ports become links and switch outputs of one signal per slot.
Values pass only over wires and registers, never through a function unit. A description sets no limit on the links that
a value crosses in one cycle; ``hops`` does, where links lead to links at all.

A tile has an op class when its function unit has the ops of that class that Morpher's graphs use, all with one latency.
``OLOAD`` and ``OSTORE``, the accesses to values of the outer loop, are loads and stores like others, so that they need
a place with ``LOAD`` and ``STORE``. Memories beside the places are banks that the places at their ports reach; which
array lies where (``DATA_LAYOUT``) is left to the mapping. What cannot be expressed is refused by name: conflicts
between ports, function units with a part of an op class, templates without their memories.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from gridloom.archs.described.assembly import traits_of
from gridloom.archs.model import Arch, ArchBuilder, Bank, Kind, RegisterFile, Tile
from gridloom.archs.parts.crossbars import MAX_HOPS
from gridloom.errors import ArchError, SourceError
from gridloom.targets.modulo.families.morpher.modules import TOP, Submodule, parse
from gridloom.targets.modulo.families.morpher.netlist import Netlist
from gridloom.text_file import read_text, shown

_LIMIT: Final = 8 * 1024 * 1024

#: Links that a value may cross in one cycle where nothing else is said.
HOPS: Final = 4

#: Op class -> the ops that a function unit needs for it.
_CLASSES: Final[Mapping[str, frozenset[str]]] = {
    "alu": frozenset({"ADD", "SUB", "LS", "RS", "ARS", "AND", "OR", "XOR", "SELECT", "CMP", "CLT", "CGT"}),
    "mul": frozenset({"MUL"}),
    "div": frozenset({"DIV"}),
    "mem": frozenset({"LOAD", "STORE"}),
}
_ARC_KINDS: Final = {"wire": Kind.SWITCH, "register": Kind.REG, "link": Kind.LINK}


def read(path: Path, hops: int = HOPS) -> Arch:
    """Return the array of a Morpher JSON file; an ArchError names the file, the module and the key that is wrong."""
    try:
        text = read_text(path, limit=_LIMIT)
    except SourceError as error:
        raise ArchError(error.message, where=error.where) from None
    try:
        return build({"family": "morpher", "json": text, "hops": hops}, name=path.stem)
    except ArchError as error:
        raise error.at(str(path)) from None


def build(spec: Mapping[str, Any], name: str = "") -> Arch:
    """Return the array of a description ``{"family": "morpher", "json": text}``, which every array read here carries.

    ``hops`` and ``name`` may be given beside the text.
    """
    text, hops = spec.get("json"), spec.get("hops", HOPS)
    if not isinstance(text, str):
        raise ArchError(f"json: expected the text of a Morpher array description, found {shown(repr(text))}")
    if type(hops) is not int or not 1 <= hops <= MAX_HOPS:
        raise ArchError(f"hops: expected 1 to {MAX_HOPS}, found {shown(repr(hops))}")
    modules = parse(text)
    label = str(spec.get("name", name) or "morpher")
    record = {"family": "morpher", "json": text, "hops": hops, "name": label}
    return _Builder(Netlist(modules), list(modules[TOP].instances), hops).arch(record)


class _Builder:
    """Adds tiles and resources first, then arcs, from the nodes of a netlist."""

    def __init__(self, netlist: Netlist, instances: list[Submodule], hops: int) -> None:
        self.netlist = netlist
        self.hops = hops
        self.instances = [instance for instance in instances if instance.name in netlist.ops]
        self.builder = ArchBuilder()
        self.resource: dict[str, int] = {}
        self.tile: dict[str, int] = {}

    def arch(self, spec: dict[str, Any]) -> Arch:
        """Return the array."""
        for instance in sorted(self.instances, key=lambda i: (_place(i), i.name)):
            self._add_tile(instance)
        for node, kind in self.netlist.kind.items():
            if self.netlist.place[node] not in self.tile:
                raise ArchError(f"{node}: a port of a place without a function unit cannot be expressed")
            if kind == "link":
                self._add_link(node)
        for place in self.tile:
            self._add_inner(place)
        for node in self.netlist.kind:
            self._add_arcs(node)
        self._add_files()
        self._add_banks()
        rows = 1 + max((tile.row for tile in self.builder.tiles), default=-1)
        cols = 1 + max((tile.col for tile in self.builder.tiles), default=-1)
        if not rows:
            raise ArchError(f"{TOP}.SUBMODS: no place has a function unit")
        memory = any("mem" in tile.classes for tile in self.builder.tiles)
        return self.builder.build(
            name=f"{spec['name']}:{rows}x{cols}" + (f",hops={self.hops}" if self.hops != HOPS else ""),
            style="modulo",
            rows=rows,
            cols=cols,
            spec=spec,
            free=frozenset({"const"}),
            links_per_cycle=self.hops,
            traits=frozenset({"crossbars"} | ({"memory_access"} if memory else set())) | traits_of(self.builder),
        )

    def _add_tile(self, instance: Submodule) -> None:
        """Add a place as a tile, with its operands, function unit and output register."""
        place = instance.name
        row, col = _place(instance)
        name = f"pe_{row}_{col}"
        if name in {tile.name for tile in self.builder.tiles}:
            raise ArchError(f"{place}: X {col}, Y {row} is given twice")
        classes, latency = _abilities(self.netlist.unit_module[place], self.netlist.ops[place])
        operands = self.netlist.operands[place]
        tile = Tile(
            name=name, row=row, col=col, classes=classes, latency=latency, operands=max(1, len(operands)), fifo=0
        )
        number = self.tile[place] = self.builder.add_tile(tile)
        unit = self.builder.add(f"{name}.fu", Kind.FU, number)
        out = self.resource[self.netlist.result[place]] = self.builder.add(f"{name}.out", Kind.OUT, number)
        self.builder.arc(unit, out, 1)
        for k, operand in enumerate(operands):
            self.resource[operand] = self.builder.add(f"{name}.in{k}", Kind.IN, number, position=k)

    def _add_link(self, node: str) -> None:
        """Add a link between two places; further ones between the same two are numbered."""
        source = self.tile[self.netlist.place[node]]
        ends = {self.netlist.place[t] for t, drivers in self.netlist.drivers.items() if node in drivers}
        ends -= {self.netlist.place[node]}
        if len(ends) != 1 or not ends <= self.tile.keys():
            raise ArchError(f"{node}: a link that ends at {len(ends)} places cannot be expressed")
        name = f"{self.builder.tiles[source].name}>{self.builder.tiles[self.tile[ends.pop()]].name}"
        twins = sum(other == name or other.startswith(f"{name}#") for other in self.builder.names)
        position = sum(kind == Kind.LINK and owner == source for kind, owner, *_ in self.builder.columns)
        label = f"{name}#{twins}" if twins else name
        self.resource[node] = self.builder.add(label, Kind.LINK, source, position=position)

    def _add_inner(self, place: str) -> None:
        """Add the registers and the other wires of a place, numbered in the order of the description."""
        number = self.tile[place]
        name = self.builder.tiles[number].name
        for kind, letter in (("wire", "s"), ("register", "r")):
            nodes = [n for n, k in self.netlist.kind.items() if k == kind and self.netlist.place[n] == place]
            for k, node in enumerate(nodes):
                self.resource[node] = self.builder.add(f"{name}.{letter}{k}", _ARC_KINDS[kind], number, position=k)

    def _add_arcs(self, node: str) -> None:
        """Add the arcs into a node: a register takes a cycle and then holds, everything else takes none."""
        target, register = self.resource[node], self.netlist.kind[node] == "register"
        if register:
            self.builder.arc(target, target, 1)
        for source in self.netlist.drivers[node]:
            self.builder.arc(self.resource[source], target, int(register))

    def _add_files(self) -> None:
        """Add the register files: registers of one place with the same writers and the same readers belong together."""
        after = self.netlist.successors()
        files: dict[tuple[str, frozenset[str], frozenset[str]], list[str]] = {}
        for node, kind in self.netlist.kind.items():
            if kind == "register":
                writers, readers = frozenset(self.netlist.drivers[node]), frozenset(after[node])
                files.setdefault((self.netlist.place[node], writers, readers), []).append(node)
        for k, nodes in enumerate(files.values()):
            registers = tuple(self.resource[node] for node in nodes)
            self.builder.register_files.append(RegisterFile(name=f"file_{k}", registers=registers, adjustable=False))

    def _add_banks(self) -> None:
        """Add the memory banks with the tiles at their ports; ArchError for a memory place that reaches none."""
        for name, (size, ports) in self.netlist.banks.items():
            missing = [place for place in ports.values() if place not in self.tile]
            if missing or not ports:
                raise ArchError(f"{name}: expected places with function units at its ports, found {missing or 'none'}")
            tiles = tuple(sorted({self.tile[place] for place in ports.values()}))
            self.builder.banks.append(Bank(name=name, tiles=tiles, ports=len(ports), size=size))
        reached = {tile for bank in self.builder.banks for tile in bank.tiles}
        for place, tile in self.tile.items():
            if self.builder.banks and "mem" in self.builder.tiles[tile].classes and tile not in reached:
                raise ArchError(f"{place}: has LOAD and STORE but reaches no memory bank")


def _place(instance: Submodule) -> tuple[int, int]:
    """Return the row and column of a place; ArchError where the description does not give them."""
    if instance.x is None or instance.y is None:
        raise ArchError(f"{instance.name}: expected X and Y from 0 to 127")
    return instance.y, instance.x


def _abilities(module: str, ops: Mapping[str, int]) -> tuple[frozenset[str], dict[str, int]]:
    """Return the op classes of a function unit and their latencies.

    ArchError where a unit has a part of a class only, or ops of one class that differ in latency.
    """
    latency: dict[str, int] = {}
    for name, needed in _CLASSES.items():
        present = sorted(needed & ops.keys())
        if not present:
            continue
        missing = sorted(needed - ops.keys())
        if missing:
            raise ArchError(
                f"{module}.OPS: has {', '.join(present)} but not {', '.join(missing)}; a tile has all ops of class "
                f"{name} or none"
            )
        cycles = {ops[op] for op in present}
        if len(cycles) > 1:
            listed = ", ".join(f"{op} {ops[op]}" for op in present)
            raise ArchError(f"{module}.OPS: ops of class {name} differ in latency ({listed}); a class has one")
        latency[name] = cycles.pop()
    return frozenset(latency), {**latency, "*": max(latency.values(), default=1)}


#: A description, with the links that a value may cross in one cycle.
_SPEC: Final = re.compile(r"(.*\.json)(?:,hops=([0-9]{1,3}))?", re.DOTALL)


def read_spec(text: str) -> Arch | None:
    """Return the array of an ARCH that is a Morpher file, such as ``array.json,hops=4``; None for other texts."""
    match = _SPEC.fullmatch(text)
    return None if match is None else read(Path(match[1]), int(match[2]) if match[2] else HOPS)
