"""Placements that a user gives a mapper: where nodes have to sit, where a search begins, where everything sits.

Every mapper that takes ``pin``, ``init`` or ``place`` reads them with these functions, so that the same names are
refused in the same words on every style of array. A live-in or a constant that registers, the memory or constant
registers keep does not sit on a tile and is not placed; neither is what the array gives for free.
"""

from __future__ import annotations

from collections.abc import Mapping as MappingABC
from dataclasses import dataclass, field

from gridloom.archs.model import Arch, Tile
from gridloom.dfg.model import Dfg
from gridloom.errors import MappingError, OptionError
from gridloom.mapping.model import Failure

#: Names that a message lists before it says that there are more.
_NAMED = 3


def no_place_left(node: str) -> MappingError:
    """The error of a mapping that is complete but for a value that nothing reads: it has to be kept somewhere, too."""
    return MappingError(
        f"node {node!r} is read by nothing, and no register is left to keep it; take it out of the graph, or use an "
        "array with more registers"
    )


@dataclass(frozen=True, kw_only=True)
class GivenPlacements:
    """The settings by which a user says where nodes sit; the configurations of mappers that take them inherit these."""

    #: Nodes that stay on a tile: node -> tile name.
    pin: MappingABC[str, str] = field(default_factory=dict)
    #: A placement to begin from: node -> tile name, for all or some nodes.
    init: MappingABC[str, str] = field(default_factory=dict)
    #: A placement to keep: node -> tile name for every node; only what is left (cycles, routes) is searched for.
    place: MappingABC[str, str] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class GivenRegions(GivenPlacements):
    """The same with regions: what nodes may sit on, for mappers that keep to them."""

    #: Nodes that stay within some tiles: node -> names of tiles.
    region: MappingABC[str, tuple[str, ...]] = field(default_factory=dict)


def sits_on_tile(dfg: Dfg, arch: Arch, position: int) -> bool:
    """Whether the node at a position of the graph takes a tile of the array."""
    return dfg.op_class(dfg.nodes[position].id) not in arch.free and not dfg.ops[position].timeless


def given_tiles(
    dfg: Dfg, arch: Arch, config: GivenPlacements, *, shared: bool = False
) -> tuple[dict[int, int], dict[int, int]]:
    """(tiles that nodes have to sit on, tiles that a search begins from), both by position in the graph.

    ``shared``: a tile takes several nodes, in different cycles. OptionError for a name that does not exist, for a node
    that takes no tile, for a tile that is given twice though a tile takes one node, and for a ``place`` that leaves
    nodes out. Linear in the names given.
    """
    fixed = tiles_of(dfg, arch, config.place or config.pin, "place" if config.place else "pin", shared=shared)
    if config.place:
        check_complete(dfg, arch, fixed)
    return fixed, tiles_of(dfg, arch, config.init, "init", shared=shared)


def tiles_of(dfg: Dfg, arch: Arch, given: MappingABC[str, str], what: str, *, shared: bool = False) -> dict[int, int]:
    """Position in the graph -> tile, for names that a user gave as the setting ``what``; see :func:`given_tiles`.

    The order of the result is the order in which the user gave the names, and the first wrong name is the one that is
    refused.
    """
    placed: dict[int, int] = {}
    owner: dict[str, str] = {}
    for node, tile in given.items():
        if node not in dfg.index:
            raise OptionError(f"{what}: graph {dfg.name!r} has no node {node!r}")
        if tile not in arch.tile_index:
            raise OptionError(f"{what}: node {node!r}: array {arch.name!r} has no tile {tile!r}")
        if tile in owner and not shared:
            raise OptionError(
                f"{what}: tile {tile!r} is given to {owner[tile]!r} and to {node!r}; a tile takes one node"
            )
        if not sits_on_tile(dfg, arch, dfg.index[node]):
            raise OptionError(f"{what}: node {node!r} is a {dfg.node(node).op}, which needs no tile on {arch.name!r}")
        owner[tile] = node
        placed[dfg.index[node]] = arch.tile_index[tile]
    return placed


def regions_of(dfg: Dfg, arch: Arch, config: GivenRegions) -> dict[int, frozenset[int]]:
    """Position in the graph -> tiles that the node has to sit on one of.

    OptionError for names that do not exist, for nodes that take no tile, and for a region without tiles.
    """
    regions: dict[int, frozenset[int]] = {}
    for node, tiles in config.region.items():
        if not tiles:
            raise OptionError(f"region: node {node!r} is given no tile")
        for tile in tiles:
            tiles_of(dfg, arch, {node: tile}, "region")
        regions[dfg.index[node]] = frozenset(arch.tile_index[tile] for tile in tiles)
    return regions


def find_outside(dfg: Dfg, arch: Arch, regions: MappingABC[int, frozenset[int]]) -> Failure | None:
    """The Failure of the first node whose region has no tile with its op class; None where all have one."""
    for position, tiles in regions.items():
        name = dfg.nodes[position].id
        if all(find_misplaced(dfg, arch, {position: tile}) is not None for tile in tiles):
            needed = " and ".join(sorted(dfg.required_classes(name, results_leave=arch.has("grid"))))
            return Failure(
                constraint=f"node {name!r} within its region of {len(tiles)} tiles",
                demand=f"op class {needed}",
                bound="none of them has it",
                levers=("a larger region",),
                cause="proved",
            )
    return None


def check_complete(dfg: Dfg, arch: Arch, placed: MappingABC[int, int]) -> None:
    """OptionError unless every node that takes a tile has one."""
    missing = [node.id for k, node in enumerate(dfg.nodes) if k not in placed and sits_on_tile(dfg, arch, k)]
    if missing:
        rest = ", ..." if len(missing) > _NAMED else ""
        raise OptionError(f"place: no tile for {', '.join(missing[:_NAMED])}{rest}; every node needs one")


def find_misplaced(dfg: Dfg, arch: Arch, placed: MappingABC[int, int]) -> Failure | None:
    """The Failure of the first node whose tile does not have its op class; None when all have.

    Only op classes are looked at. A style with further rules about who may sit where (operands, links, columns) has a
    function of its own that says the same in its own words.
    """
    for position, tile in placed.items():
        name, record = dfg.nodes[position].id, arch.tiles[tile]
        op = dfg.nodes[position].op
        needed = dfg.required_classes(name, results_leave=arch.has("grid"))
        if needed <= record.classes and not record.runs(op, needed):
            return cannot_sit(name, record, f"op {op}")
        if not needed <= record.classes:
            return cannot_sit(name, record, f"op class {' and '.join(sorted(needed))}")
    return None


def cannot_sit(node: str, tile: Tile, demand: str) -> Failure:
    """The Failure of a node on a tile that does not have what the node demands."""
    return Failure(
        constraint=f"node {node!r} on tile {tile.name!r}",
        demand=demand,
        bound=f"classes {', '.join(sorted(tile.classes)) or 'none'}",
        levers=("another tile",),
    )
