"""Placements that a user gives: from a file or a dictionary to a table of tiles that fits the graph and the array.

Placements come from another tool, from an earlier mapping or from the user's hand. They are checked here once, so that
a mapper can rely on names that exist; whether the placement can be routed is for the mapper to find out.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from gridloom.archs.model import Arch
from gridloom.dfg.model import Dfg
from gridloom.errors import MappingError
from gridloom.flow.files import is_mapping_file, load_mapping
from gridloom.flow.request import Placement
from gridloom.search.placements import sits_on_tile


def read_placement(placement: Placement, dfg: Dfg, arch: Arch, *, option: str) -> dict[str, str]:
    """node -> tile, checked against the graph and the array; ``option`` says whose it is in messages.

    A file is a mapping of ours (its tiles are taken), or a placement in any format that is read. What ``--place`` gives
    has to name every node that needs a tile. MappingError says which name is wrong, and where.
    """
    if isinstance(placement, Mapping):
        table, where = dict(placement), option
    else:
        table, where = _from_file(Path(placement), dfg, arch), str(placement)
    for node, tile in table.items():
        _check_pair(node, tile, dfg, arch, where)
    if option == "--place":
        _check_complete(table, dfg, arch, where)
    return table


def _from_file(path: Path, dfg: Dfg, arch: Arch) -> dict[str, str]:
    """Return the table of a file: the tiles of a mapping's first copies, or a placement in a published format."""
    from gridloom.compiler.placement import read

    if is_mapping_file(path):
        # Values that registers or the memory keep are instances, too, but they sit on no tile that could be given.
        return {
            instance.node: instance.place
            for instance in load_mapping(path).instances
            if not instance.copy
            and (instance.node not in dfg.index or sits_on_tile(dfg, arch, dfg.index[instance.node]))
        }
    return read(path, dfg, arch, complete=False)


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
