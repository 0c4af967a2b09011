"""Placements that a user gives: from a file or a dictionary to a table of tiles that fits the graph and the array.

Placements come from another tool, from an earlier mapping or from the user's hand. They are checked here once, so that
a mapper can rely on names that exist; whether the placement can be routed is for the mapper to find out.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any, Final

from gridloom.archs.model import Arch
from gridloom.dfg.model import Dfg
from gridloom.errors import MappingError
from gridloom.flow.files import is_mapping_file, load_mapping
from gridloom.flow.request import Placement
from gridloom.search.placements import sits_on_tile
from gridloom.yaml_text import parse_yaml, read_yaml_file

#: What joins the tiles of a region; no tile has it in its name.
_JOINT: Final = "|"
_SPAN: Final = re.compile(r"(\d+)(?:\s*-\s*(\d+))?")
_RECT: Final = re.compile(r"(\d+)\s*,\s*(\d+)\s*-\s*(\d+)\s*,\s*(\d+)")


def read_placement(placement: Placement, dfg: Dfg, arch: Arch, *, option: str) -> dict[str, str]:
    """node -> tile, checked against the graph and the array; ``option`` says whose it is in messages.

    What ``--pin`` gives may have regions in the place of tiles, and patterns of node names: ``mul*`` -> ``cols 0-1``.
    The tiles of a region are joined by ``|`` in the result (:func:`split_regions`).

    A file is a mapping of ours (its tiles are taken), or a placement in any format that is read. What ``--place`` gives
    has to name every node that needs a tile. MappingError says which name is wrong, and where.
    """
    if isinstance(placement, Mapping):
        table, where = dict(placement), option
    else:
        table, where = _from_file(Path(placement), dfg, arch), str(placement)
    if option == "--pin":
        table = _expand_regions(table, dfg, arch, where)
    for node, tiles in table.items():
        for tile in tiles.split(_JOINT):
            _check_pair(node, tile, dfg, arch, where)
    if option == "--place":
        _check_complete(table, dfg, arch, where)
    return table


def _from_file(path: Path, dfg: Dfg, arch: Arch) -> dict[str, str]:
    """Return the table of a file: the tiles of a mapping's first copies, or a placement in a published format."""
    from gridloom.compiler.placement import read

    if path.suffix in (".yaml", ".yml"):
        rows = parse_yaml(read_yaml_file(path), str(path))
        return {str(node): place if isinstance(place, str) else str(place) for node, place in rows.items()}
    if is_mapping_file(path):
        # Values that registers or the memory keep are instances, too, but they sit on no tile that could be given.
        return {
            instance.node: instance.place
            for instance in load_mapping(path).instances
            if not instance.copy
            and (instance.node not in dfg.index or sits_on_tile(dfg, arch, dfg.index[instance.node]))
        }
    return read(path, dfg, arch, complete=False)


def split_regions(pins: Mapping[str, str]) -> dict[str, Any]:
    """The settings ``pin`` and ``region`` of a mapper for what ``--pin`` gives; no ``region`` where it has none."""
    regions = {node: tuple(tiles.split(_JOINT)) for node, tiles in pins.items() if _JOINT in tiles}
    single = {node: tile for node, tile in pins.items() if node not in regions}
    return {"pin": single, **({"region": regions} if regions else {})}


def _expand_regions(table: Mapping[str, str], dfg: Dfg, arch: Arch, where: str) -> dict[str, str]:
    """Node -> its tile, or the tiles of its region joined; a pattern stands for the nodes that it matches.

    A node that several lines name stays within all of their regions. MappingError for a pattern that matches no node,
    for a region without a tile, and for regions of one node that have no tile in common.
    """
    found: dict[str, set[str]] = {}
    for name, place in table.items():
        tiles = _tiles_of_region(place, arch, where)
        if tiles is None:
            tiles = {place}
        elif not tiles:
            raise MappingError(f"{place!r} has no tile of array {arch.name!r} ({name!r})", where=where)
        for node in _nodes_of(name, dfg, arch, where):
            found[node] = found[node] & tiles if node in found else tiles
            if not found[node]:
                raise MappingError(f"the regions of node {node!r} have no tile in common", where=where)
    order = arch.tile_index
    return {node: _JOINT.join(sorted(tiles, key=lambda tile: order.get(tile, 0))) for node, tiles in found.items()}


def _nodes_of(name: str, dfg: Dfg, arch: Arch, where: str) -> list[str]:
    """The nodes that a name or a pattern stands for; of a pattern, those that take a tile."""
    if not any(mark in name for mark in "*?[") or name in dfg.index:
        return [name]
    nodes = [node.id for k, node in enumerate(dfg.nodes) if fnmatchcase(node.id, name) and sits_on_tile(dfg, arch, k)]
    if not nodes:
        raise MappingError(f"no node of graph {dfg.name!r} that needs a tile matches {name!r}", where=where)
    return nodes


def _tiles_of_region(text: str, arch: Arch, where: str) -> set[str] | None:
    """The tiles of ``rows 0-1``, ``cols 2`` or ``rect 0,0-1,3`` (two corners); None for the name of a tile."""
    if text in arch.tile_index:
        return None
    word, _, rest = text.partition(" ")
    if word not in ("row", "rows", "col", "cols", "rect"):
        return None
    match = (_RECT if word == "rect" else _SPAN).fullmatch(rest.strip())
    if match is None:
        raise MappingError(
            f"{text!r} is no region; expected 'rows 0-1', 'cols 2' or 'rect ROW,COLUMN-ROW,COLUMN'", where=where
        )
    numbers = [int(part) for part in match.groups() if part is not None]
    every = (0, max(arch.rows, arch.cols))
    if word == "rect":
        rows, cols = sorted((numbers[0], numbers[2])), sorted((numbers[1], numbers[3]))
    else:
        span = sorted((numbers[0], numbers[-1]))
        rows, cols = (span, list(every)) if word.startswith("row") else (list(every), span)
    return {tile.name for tile in arch.tiles if rows[0] <= tile.row <= rows[1] and cols[0] <= tile.col <= cols[1]}


def _check_pair(node: str, tile: str, dfg: Dfg, arch: Arch, where: str) -> None:
    """Raise MappingError unless node and tile exist and the node needs a tile at all."""
    if node not in dfg.index:
        raise MappingError(f"graph {dfg.name!r} has no node {node!r}", where=where)
    if tile not in arch.tile_index:
        raise MappingError(f"array {arch.name!r} has no tile {tile!r} (node {node!r})", where=where)
    if not sits_on_tile(dfg, arch, dfg.index[node]):
        raise MappingError(f"node {node!r} needs no tile on {arch.name!r}; leave it out", where=where)


def _check_complete(table: Mapping[str, str], dfg: Dfg, arch: Arch, where: str) -> None:
    """Raise MappingError where a node that needs a tile has none; the message names the first five."""
    missing = [node.id for k, node in enumerate(dfg.nodes) if sits_on_tile(dfg, arch, k) and node.id not in table]
    if missing:
        shown = ", ".join(missing[:5]) + (", ..." if len(missing) > 5 else "")
        raise MappingError(
            f"has no tile for {len(missing)} node{'s' if len(missing) > 1 else ''} ({shown}); "
            "--place needs every node, --init and --pin do not",
            where=where,
        )
