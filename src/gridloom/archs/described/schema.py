"""The JSON schema of a description by tile, for editors that check YAML files while they are written."""

from __future__ import annotations

from typing import Any, Final

from gridloom.archs.described.links import PATTERNS
from gridloom.archs.described.tile_entries import CLASSES, GROUPS, MAX_CYCLES, MAX_FIFO, OPS
from gridloom.archs.parts.crossbars import MAX_HOPS
from gridloom.archs.selectors import LAYOUTS

_NAME: Final = {"type": "string"}
_FLAG: Final = {"type": "boolean"}
_SELECTOR: Final = {"$ref": "#/$defs/selector"}


def schema() -> dict[str, Any]:
    """Return the schema. It checks the form; that tiles exist and entries agree is checked when the array is built."""
    return {
        "$defs": {"selector": _selector(), "cycles": _cycles(), "ops": _ops()},
        "type": "object",
        "properties": {
            "family": {"const": "array"},
            "name": _NAME,
            "extends": {"anyOf": [_NAME, {"type": "object"}]},
            "style": {"enum": ["static", "modulo"]},
            "rows": _number(1, 128),
            "cols": _number(1, 128),
            "links": _one_or_more(_link()),
            "tiles": _one_or_more(_tile()),
            "buses": _optional(_one_or_more(_bus())),
            "files": _one_or_more(
                _closed(
                    ["name", "count"],
                    name=_NAME,
                    count=_number(1, 1024),
                    where=_SELECTOR,
                    rotating=_rotating(),
                    **_file_ports(),
                )
            ),
            "memory": _memory(),
            "inputs": {"enum": ["aligned", "skewed", "free"]},
            "word": _number(2, 32),
            "loop_levels": _number(0, 8),
            "live_ins": {"enum": ["immediate", "registers"]},
            "bypass": _bypass(),
            "graph": {"type": "object"},
        },
        "additionalProperties": False,
    }


def _bus() -> dict[str, Any]:
    """The schema of a bus, or of one for each row or column."""
    sides = {"enum": ["rows", "columns"]}
    single = _closed(["name"], name=_NAME, where=_SELECTOR, **{"from": _SELECTOR})
    return {"anyOf": [sides, _closed(["along"], along=sides, count=_number(1, 64)), single]}


def _file_ports() -> dict[str, Any]:
    """The schema of the ports of a register file."""
    return dict.fromkeys(("reads", "writes"), _optional(_number(1, 64)))


def _bypass() -> dict[str, Any]:
    """The schema of crossbars: how many links a value crosses in one cycle, and whether links end at ports."""
    hops = _number(1, MAX_HOPS)
    parts = {"hops": hops, "ports": {"type": "boolean"}}
    record = {"type": "object", "properties": parts, "additionalProperties": False}
    return {"anyOf": [hops, record, {"type": "null"}]}


def _number(low: int, high: int) -> dict[str, Any]:
    """The schema of a whole number within bounds."""
    return {"type": "integer", "minimum": low, "maximum": high}


def _closed(required: list[str], **properties: Any) -> dict[str, Any]:
    """The schema of an object that has these properties and no others."""
    return {"type": "object", "required": required, "properties": properties, "additionalProperties": False}


def _one_or_more(entry: dict[str, Any]) -> dict[str, Any]:
    """The schema of a list of entries, or of one without a list."""
    return {"anyOf": [entry, {"type": "array", "items": entry}]}


def _optional(entry: dict[str, Any]) -> dict[str, Any]:
    """The schema of a value that may be null: no limit."""
    return {"anyOf": [entry, {"type": "null"}]}


def _selector() -> dict[str, Any]:
    """The schema of a selector of tiles."""
    place = {"type": "array", "items": {"type": "integer"}, "minItems": 2, "maxItems": 2}
    index = {"type": "integer"}
    span = {"anyOf": [index, place]}
    rectangle = {"rows": span, "cols": span}
    forms = [
        _closed(["layout"], layout={"type": "array", "items": _NAME}),
        _closed(["region"], region=_closed([], rows=place, cols=place)),
        _closed(["tiles"], tiles={"type": "array", "items": place}),
        _closed([], **rectangle),
        _closed(["row"], row=index),
        _closed(["col"], col=index),
        _closed(["not"], **{"not": _SELECTOR}),
        _closed(["both"], both={"type": "array", "items": _SELECTOR}),
    ]
    return {"anyOf": [{"enum": [*LAYOUTS, "inner", "corners"]}, place, {"type": "array", "items": _SELECTOR}, *forms]}


def _cycles() -> dict[str, Any]:
    """The schema of cycles: one number, or numbers by op class."""
    number = _number(1, MAX_CYCLES)
    return {"anyOf": [number, _closed([], **dict.fromkeys(("*", "route", *CLASSES, *GROUPS), number))]}


def _ops() -> dict[str, Any]:
    """The schema of op classes and ops: a list, one of them, or what is added and removed."""
    names = _one_or_more({"enum": list(dict.fromkeys([*CLASSES, *GROUPS, *OPS]))})
    return {"anyOf": [names, _closed([], add=names, remove=names)]}


def _rotating() -> dict[str, Any]:
    """The schema of the number of registers that rotate."""
    return {"anyOf": [{"enum": ["free"]}, _number(0, 1024)]}


def _link() -> dict[str, Any]:
    """The schema of an entry about links."""
    pattern = {"enum": list(PATTERNS)}
    ends = _closed(["from", "to"], **{"from": _SELECTOR}, to=_SELECTOR, both=_FLAG, remove=_FLAG)
    part = _closed(["pattern"], pattern=pattern, along={"enum": ["rows", "cols"]}, where=_SELECTOR, remove=_FLAG)
    return {"anyOf": [{"enum": [*PATTERNS, "none"]}, part, ends]}


def _tile() -> dict[str, Any]:
    """The schema of an entry about tiles."""
    cycles = {"$ref": "#/$defs/cycles"}
    own = _closed([], count=_number(0, 1024), rotating=_rotating(), **_file_ports())
    depth = _optional(_number(0, MAX_FIFO))
    return _closed(
        [],
        where=_SELECTOR,
        ops={"$ref": "#/$defs/ops"},
        latency=cycles,
        occupancy=cycles,
        operands=_number(1, 8),
        fifo={"anyOf": [depth, {"type": "array", "items": depth, "minItems": 1, "maxItems": 8}]},
        registers={"anyOf": [_number(0, 1024), own]},
        hold={"enum": ["until-write", "next"]},
        moves=_FLAG,
        contexts=_optional(_number(1, 1 << 20)),
        constants=_optional(_number(0, 4096)),
    )


def _memory() -> dict[str, Any]:
    """The schema of the memory: ports to one memory, or banks."""
    port = _closed([], name=_NAME, where=_SELECTOR, count=_number(1, 1024))
    bank = _closed(
        [],
        name=_NAME,
        where=_SELECTOR,
        ports=_number(1, 1024),
        bytes=_optional(_number(4, 1 << 40)),
        latency=_optional(_number(1, MAX_CYCLES)),
    )
    ports = {"anyOf": [{"enum": ["row", "column", "tile", "none"]}, {"type": "null"}, {"type": "array", "items": port}]}
    return _closed([], bytes=_optional(_number(0, 1 << 40)), ports=ports, banks=_one_or_more(bank))
