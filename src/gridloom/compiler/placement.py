"""Reads placements: which tile each node sits on, as other tools print it or as our own JSON.

``.json``
    ``{"node": [row, column], ...}`` or ``{"node": "tile name", ...}``, both forms in one file if need be.
``.place``
    VPR's: two header lines, then ``block x y subblock [layer] #number`` a line. Column is x, row is y. VPR puts a ring
    of pads around the logic; where its array is two wider and two higher than ours, that ring is taken off.
    An output pad's ``out:`` prefix is dropped.
anything else
    NeoSA's printed grid: a line a row, entries apart by blanks or commas, each a vertex number or a free place (``-1``,
    ``-``, ``.`` or nothing between two commas). NeoSA numbers vertices in the lexicographic order of their ids, from 0.

Rows count from 0 at the first row of the array. Every reader returns node id -> tile name.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any, Final

from gridloom.archs.model import Arch
from gridloom.dfg import Dfg
from gridloom.errors import GridloomError, MappingError, SourceError
from gridloom.text_file import integer, read_text, shown

_SIZE: Final = re.compile(r"Array size:\s*+([0-9]{1,6})\s*+x\s*+([0-9]{1,6})\s")
_FREE: Final = ("-1", "-", ".", "")

Placement = dict[str, str]


def read(path: Path, dfg: Dfg, arch: Arch, *, complete: bool = True) -> Placement:
    """Node id -> tile name from a placement file, by its ending.

    With ``complete``, every node that needs a tile on this array must be placed. MappingError names file and line.
    """
    try:
        text = read_text(path)
        if path.suffix == ".json":
            placement = loads_json(text, dfg, arch)
        elif path.suffix == ".place":
            placement = loads_vpr(text, dfg, arch)
        else:
            placement = loads_neosa(text, dfg, arch)
        if complete:
            _check_complete(placement, dfg, arch)
    except SourceError as error:
        raise MappingError(error.message, where=error.where or str(path)) from None
    except MappingError as error:
        raise error.at(str(path)) from None
    return placement


def dumps(placement: Placement) -> str:
    """A placement as JSON text that :func:`loads_json` reads."""
    return json.dumps(placement, indent=1, ensure_ascii=False) + "\n"


def loads_json(text: str, dfg: Dfg, arch: Arch) -> Placement:
    """The placement in a JSON text; node names may not repeat.

    A value is ``[row, column]`` or the name of a tile. MappingError names the node that has neither, or that the graph
    does not have.
    """
    try:
        data = json.loads(text, object_pairs_hook=_unrepeated)
    except json.JSONDecodeError as error:
        raise MappingError(f"is not JSON: {error.msg} at line {error.lineno}, column {error.colno}") from None
    except (RecursionError, ValueError):
        raise MappingError("is not a placement: nested too deeply, or a number with too many digits") from None
    if not isinstance(data, dict):
        raise MappingError(f"expected a JSON object of nodes, found {type(data).__name__}")
    places = _tiles_by_place(arch)
    placement: Placement = {}
    for node, value in data.items():
        here = f"node {shown(node)}"
        _check_node(node, dfg, here)
        if isinstance(value, str):
            if value not in arch.tile_index:
                raise MappingError(f"tile {shown(value)} does not exist in array {arch.name!r}", where=here)
            placement[node] = value
        elif isinstance(value, list) and len(value) == 2 and all(type(part) is int for part in value):
            placement[node] = _tile_at(places, value[0], value[1], arch, here)
        else:
            found = shown(json.dumps(value))
            raise MappingError(f"found {found}; expected [row, column] or the name of a tile", where=here)
    return placement


def loads_vpr(text: str, dfg: Dfg, arch: Arch) -> Placement:
    """The placement in the text of a VPR ``.place`` file.

    Coordinates are shifted by one where the placement is for an array with VPR's ring of pads. MappingError names the
    line.
    """
    lines = text.split("\n")
    shift = 0
    placement: Placement = {}
    places = _tiles_by_place(arch)
    for number, line in enumerate(lines, start=1):
        here = f"line {number}"
        size = _SIZE.match(line + "\n")
        if size:
            shift = _vpr_shift(int(size.group(1)), int(size.group(2)), arch, here)
            continue
        row = line.partition("#")[0].split()
        if not row or line.startswith("Netlist_File:"):
            continue
        if len(row) not in (4, 5):
            raise MappingError(f"found {len(row)} columns; expected block, x, y, subblock", where=here)
        node = row[0] if row[0] in dfg.index else row[0].removeprefix("out:")
        _check_node(node, dfg, here)
        if node in placement:
            raise MappingError(f"node {shown(node)} is placed twice", where=here)
        x, y = (_number(part, name, here) for part, name in ((row[1], "x"), (row[2], "y")))
        placement[node] = _tile_at(places, y - shift, x - shift, arch, here)
    return placement


def loads_neosa(text: str, dfg: Dfg, arch: Arch) -> Placement:
    """The placement in a grid as NeoSA prints it.

    Lines are rows, entries columns. MappingError names the line of a vertex that does not exist or is placed twice.
    """
    ids = sorted(node.id for node in dfg.nodes)
    places = _tiles_by_place(arch)
    placement: Placement = {}
    rows = [(number, line) for number, line in enumerate(text.split("\n"), start=1) if line.strip()]
    for row, (number, line) in enumerate(rows):
        here = f"line {number}"
        for col, entry in enumerate(_entries(line)):
            if entry in _FREE:
                continue
            vertex = _number(entry, f"entry {col + 1}", here)
            if not 0 <= vertex < len(ids):
                raise MappingError(f"found vertex {vertex}; the graph has 0 to {len(ids) - 1}", where=here)
            if ids[vertex] in placement:
                raise MappingError(f"vertex {vertex} (node {shown(ids[vertex])}) is placed twice", where=here)
            placement[ids[vertex]] = _tile_at(places, row, col, arch, here)
    return placement


def _entries(line: str) -> list[str]:
    """The entries of one line of a printed grid."""
    if "," not in line:
        return line.split()
    entries = [entry.strip() for entry in line.split(",")]
    # A comma after the last entry ends the line; it does not start another place.
    return entries[:-1] if entries[-1] == "" else entries


def _vpr_shift(width: int, height: int, arch: Arch, here: str) -> int:
    """How far VPR's coordinates are off ours: 1 where its ring of pads is part of the array."""
    if (width, height) == (arch.cols, arch.rows):
        return 0
    if (width, height) == (arch.cols + 2, arch.rows + 2):
        return 1
    raise MappingError(
        f"the placement is for {width} x {height} blocks; array {arch.name!r} is {arch.cols} x {arch.rows} "
        f"({arch.cols + 2} x {arch.rows + 2} with VPR's ring of pads)",
        where=here,
    )


def _number(text: str, what: str, here: str) -> int:
    """A whole number; MappingError names the line."""
    try:
        return integer(text, what, here)
    except GridloomError as error:
        raise MappingError(error.message, where=here) from None


def _unrepeated(pairs: Iterable[tuple[str, Any]]) -> dict[str, Any]:
    """An object of JSON whose keys differ."""
    result: dict[str, Any] = {}
    for key, value in pairs:
        if key in result:
            raise MappingError(f"node {shown(key)} is placed twice")
        result[key] = value
    return result


def _check_node(node: str, dfg: Dfg, here: str) -> None:
    """Refuse a node that the graph does not have."""
    if node not in dfg.index:
        raise MappingError(f"graph {dfg.name!r} has no node {shown(node)}", where=here)


def _tiles_by_place(arch: Arch) -> dict[tuple[int, int], str]:
    """(row, column) -> the name of the tile there."""
    return {(tile.row, tile.col): tile.name for tile in arch.tiles}


def _tile_at(places: dict[tuple[int, int], str], row: int, col: int, arch: Arch, here: str) -> str:
    """The tile at a row and a column. MappingError where there is none."""
    try:
        return places[row, col]
    except KeyError:
        raise MappingError(
            f"there is no tile at row {row}, column {col}; array {arch.name!r} has {arch.rows} rows and {arch.cols} "
            "columns",
            where=here,
        ) from None


def _check_complete(placement: Placement, dfg: Dfg, arch: Arch) -> None:
    """Refuse a placement that leaves out a node which needs a tile."""
    missing = [node.id for node in dfg.nodes if node.id not in placement and dfg.op_class(node.id) not in arch.free]
    if missing:
        more = f" and {len(missing) - 1} more" if len(missing) > 1 else ""
        raise MappingError(f"node {shown(missing[0])}{more} not placed; expected every node of graph {dfg.name!r}")
