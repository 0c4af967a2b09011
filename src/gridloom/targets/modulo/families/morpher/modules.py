"""The modules of a Morpher array description, checked: ports, registers, submodules, connections and ops.

A description is a JSON object ``{"ARCH": {module name: module}}`` with a module ``CGRA`` on top. Submodules are listed
by module name, or come from a ``GRID`` pattern with one module per place and connections relative to X and Y, which is
expanded here. Every complaint names the module and the key.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from gridloom.archs.spec import check_size
from gridloom.errors import ArchError
from gridloom.text_file import shown

TOP: Final = "CGRA"

_KNOWN: Final = frozenset(
    {"INPUTS", "OUTPUTS", "INTERNALS", "INTERNAL", "REGS", "SUBMODS", "CONNECTIONS", "OPS", "SOCKETS", "ISOCKETS",
     "TSOCKETS", "MEM", "DATA_LAYOUT", "INIT_FILE", "CONFLICTS"}
)  # fmt: skip
_PLACE: Final = re.compile(r"([XY])\s*(?:([+-])\s*([0-9]{1,3}))?")


@dataclass(frozen=True, kw_only=True)
class Submodule:
    """A submodule in its place: its name, its module, and its column and row where it has them."""

    name: str
    module: str
    x: int | None = None
    y: int | None = None


@dataclass(frozen=True, kw_only=True)
class MorpherModule:
    """A module of the description. Connections are pairs of port names as written, without ``THIS.``."""

    name: str
    inputs: tuple[str, ...] = ()
    outputs: tuple[str, ...] = ()
    internals: tuple[str, ...] = ()
    registers: tuple[str, ...] = ()
    instances: tuple[Submodule, ...] = ()
    connections: tuple[tuple[str, str], ...] = ()
    #: Op -> its latency; empty for a module that is no function unit.
    ops: Mapping[str, int] = field(default_factory=dict)
    #: Ports to memory, which carry no values of the network.
    sockets: tuple[str, ...] = ()
    #: Bytes of a memory; None: it is none.
    memory: int | None = None


def parse(text: str) -> dict[str, MorpherModule]:
    """Return the modules of a description by name. Linear in the text and in the places of its grids.

    ArchError for a text that is no such description, for unknown keys and modules, and for port conflicts, which the
    model of an array cannot express.
    """
    try:
        data = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise ArchError(f"is not JSON: {error}") from None
    if not isinstance(data, dict) or not isinstance(data.get("ARCH"), dict):
        raise ArchError('expected {"ARCH": {...}}, a Morpher array description')
    records = data["ARCH"]
    if TOP not in records:
        raise ArchError(f"ARCH: expected a module {TOP!r}, found: {', '.join(map(str, records)) or 'none'}")
    modules = {name: _module(name, record) for name, record in records.items()}
    for module in modules.values():
        for instance in module.instances:
            if instance.module not in modules:
                raise ArchError(
                    f"{module.name}.SUBMODS: no module is called {instance.module!r}; a template that Morpher's "
                    "scripts complete with memory banks is no whole description"
                )
    return modules


def _module(name: str, record: Any) -> MorpherModule:
    """Return one module; ArchError begins with its name and the key that is wrong."""
    if not isinstance(record, dict):
        raise ArchError(f"{name}: expected a module, found {shown(repr(record))}")
    for key in record:
        if key not in _KNOWN:
            raise ArchError(f"{name}.{key}: no such key is known; known: {', '.join(sorted(_KNOWN))}")
    if record.get("CONFLICTS"):
        raise ArchError(f"{name}.CONFLICTS: ports that exclude each other in a cycle cannot be expressed")
    instances, wired = _submodules(name, record.get("SUBMODS", {}))
    return MorpherModule(
        name=name,
        inputs=_names(record, name, "INPUTS"),
        outputs=_names(record, name, "OUTPUTS"),
        internals=_names(record, name, "INTERNALS") + _names(record, name, "INTERNAL"),
        registers=_names(record, name, "REGS"),
        instances=tuple(instances),
        connections=tuple(wired) + tuple(_connections(name, record.get("CONNECTIONS", {}))),
        ops=_ops(name, record.get("OPS", {})),
        sockets=tuple(p for key in ("SOCKETS", "ISOCKETS", "TSOCKETS") for p in _names(record, name, key)),
        memory=_memory(name, record["MEM"]) if "MEM" in record else None,
    )


def _names(record: Mapping[str, Any], module: str, key: str) -> tuple[str, ...]:
    """Return a list of names."""
    value = record.get(key, [])
    if not isinstance(value, list) or not all(isinstance(name, str) and name for name in value):
        raise ArchError(f"{module}.{key}: expected a list of names, found {shown(repr(value))}")
    return tuple(value)


def _ops(module: str, value: Any) -> dict[str, int]:
    """Return the latency of each op of a function unit."""
    good = isinstance(value, dict) and all(type(n) is int and 1 <= n <= 64 for n in value.values())
    if not good:
        raise ArchError(f"{module}.OPS: expected ops with latencies from 1 to 64, found {shown(repr(value))}")
    return dict(value)


def _memory(module: str, value: Any) -> int:
    """Return the bytes of a memory."""
    size = value.get("SIZE") if isinstance(value, dict) else None
    if type(size) is not int or size < 1:
        raise ArchError(f"{module}.MEM: expected a SIZE in bytes, found {shown(repr(value))}")
    return size


def _connections(module: str, value: Any) -> Iterator[tuple[str, str]]:
    """Yield (source, target) of the connections of a module."""
    if not isinstance(value, dict):
        raise ArchError(f"{module}.CONNECTIONS: expected ports with lists of ports, found {shown(repr(value))}")
    for source, targets in value.items():
        listed = [targets] if isinstance(targets, str) else targets
        if not isinstance(listed, list) or not all(isinstance(target, str) for target in listed):
            raise ArchError(f"{module}.CONNECTIONS.{source}: expected a list of ports, found {shown(repr(targets))}")
        for target in listed:
            yield source.removeprefix("THIS."), target.removeprefix("THIS.")


def _submodules(module: str, value: Any) -> tuple[list[Submodule], list[tuple[str, str]]]:
    """Return the submodules of a module, and the connections that grids among them make."""
    instances: list[Submodule] = []
    wired: list[tuple[str, str]] = []
    for part in value if isinstance(value, list) else [value]:
        if not isinstance(part, dict):
            raise ArchError(f"{module}.SUBMODS: expected modules or a pattern, found {shown(repr(part))}")
        if "PATTERN" in part:
            placed, pairs = _grid(module, part)
            instances += placed
            wired += pairs
        else:
            for name, listed in part.items():
                instances += _listed(module, name, listed)
    return instances, wired


def _listed(module: str, name: str, value: Any) -> list[Submodule]:
    """Return the instances of one module: a list of records with names, or one name."""
    records = [{"name": value}] if isinstance(value, str) else value
    if not isinstance(records, list) or not all(
        isinstance(r, dict) and isinstance(r.get("name"), str) for r in records
    ):
        raise ArchError(f"{module}.SUBMODS.{name}: expected a list of instances with names, found {shown(repr(value))}")
    return [Submodule(name=r["name"], module=name, x=_index(r.get("X")), y=_index(r.get("Y"))) for r in records]


def _index(value: Any) -> int | None:
    """Return a row or column; None where there is none."""
    return value if type(value) is int and 0 <= value < 128 else None


def _grid(module: str, part: Mapping[str, Any]) -> tuple[list[Submodule], list[tuple[str, str]]]:
    """Return the instances of a grid pattern and the connections between them."""
    where = f"{module}.SUBMODS"
    dims = part.get("DIMS")
    if part["PATTERN"] != "GRID" or not isinstance(dims, dict):
        raise ArchError(f"{where}.PATTERN: expected GRID with DIMS, found {shown(repr(part['PATTERN']))}")
    cols, rows = (dims.get(axis) if type(dims.get(axis)) is int else 0 for axis in "XY")
    check_size(rows or 0, cols or 0)
    at: dict[tuple[int, int], Submodule] = {}
    for record in part.get("MODS", []):
        x, y = (_index(record.get(axis)) if isinstance(record, dict) else None for axis in "XY")
        if x is None or y is None or x >= (cols or 0) or y >= (rows or 0) or not isinstance(record.get("MOD"), str):
            raise ArchError(f"{where}.MODS: expected X, Y and MOD within DIMS, found {shown(repr(record))}")
        if (x, y) in at:
            raise ArchError(f"{where}.MODS: X {x}, Y {y} is given twice")
        at[x, y] = Submodule(name=str(record.get("name", f"{record['MOD']}_X{x}_Y{y}")), module=record["MOD"], x=x, y=y)
    pairs = [pair for rule in part.get("CONNECTIONS", []) for pair in _repeated(where, rule, at)]
    return list(at.values()), pairs


def _repeated(where: str, rule: Any, at: Mapping[tuple[int, int], Submodule]) -> Iterator[tuple[str, str]]:
    """Yield the connections that a rule over X and Y makes at all places; those that leave the grid do not exist."""
    keys = ("FROM_X", "FROM_Y", "FROM_PORT", "TO_X", "TO_Y", "TO_PORT")
    if not isinstance(rule, dict) or not all(isinstance(rule.get(key), str) for key in keys):
        raise ArchError(f"{where}.CONNECTIONS: expected {', '.join(keys)}, found {shown(repr(rule))}")
    ways = [_offset(where, rule[key]) for key in ("FROM_X", "FROM_Y", "TO_X", "TO_Y")]
    for x, y in at:
        here = {"X": x, "Y": y}
        fx, fy, tx, ty = (here[axis] + step for axis, step in ways)
        if (fx, fy) in at and (tx, ty) in at:
            yield f"{at[fx, fy].name}.{rule['FROM_PORT']}", f"{at[tx, ty].name}.{rule['TO_PORT']}"


def _offset(where: str, text: str) -> tuple[str, int]:
    """Return the axis and the step of a place such as ``X+1``."""
    match = _PLACE.fullmatch(text.strip())
    if match is None:
        raise ArchError(f"{where}.CONNECTIONS: expected a place such as X or Y-1, found {shown(repr(text))}")
    axis, sign, step = match.groups()
    return axis, int(f"{sign}{step}") if step else 0
