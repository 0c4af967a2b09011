"""The spoke RAM of a streaming engine: for each tile and spoke what the tile does in it.

An entry names the instruction that issues in the spoke, its master input (the operand that arrives last: one of the
four fabric inputs, the tile's own feedback, or the tile base where a synchronous flow starts), the fabric outputs that
its result takes, and the values that pass through the tile in that spoke.

A spoke is a slot of the modulo schedule: a tile goes through its II spokes in turn, again and again. Tiles are in one
row and have links to the tiles at distance one and two on both sides, so a neighbour is named by the difference of
columns, ``-2`` to ``+2``. The table is derived from the routes of a mapping and holds nothing that is not in them.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from gridloom.archs.model import Kind
from gridloom.errors import MappingError
from gridloom.mapping.model import Mapping, Route


@dataclass
class SpokeEntry:
    """One row of a tile's spoke RAM.

    There is exactly one entry for each tile and spoke; one in which nothing issues may still pass values on.
    Instructions are numbered per tile in the order of their spokes.
    """

    tile: str
    spoke: int
    #: Index in the tile's instruction RAM, and the node; None: nothing issues.
    instruction: int | None = None
    node: str | None = None
    op: str | None = None
    #: ``base``, ``feedback``, or the fabric input by the offset of its tile: ``-2``, ``-1``, ``+1``, ``+2``.
    master: str | None = None
    #: Fabric outputs of the result, by the offset of the tile they go to.
    outputs: list[str] = field(default_factory=list)
    #: Cycles that each operand waits in delay registers.
    delays: list[int] = field(default_factory=list)
    #: Values that pass through: [from, to] offsets.
    passes: list[list[str]] = field(default_factory=list)

    def to_dict(self) -> dict[str, Any]:
        """Return the entry as plain JSON data."""
        return dict(vars(self))


def spoke_ram(mapping: Mapping) -> list[SpokeEntry]:
    """Return the entries of all tiles, II for each tile, in order. Linear in the mapping's hops.

    MappingError for an array without spokes.
    """
    arch, ii = mapping.arch, mapping.ii
    if not arch.has("spokes"):
        raise MappingError(f"array {arch.name!r} has no spokes; spoke RAM is of the family streaming-engine")
    column = {tile.name: tile.col for tile in arch.tiles}
    table = {(tile.name, s): SpokeEntry(tile.name, s) for tile in arch.tiles for s in range(ii)}
    for instance in mapping.instances:
        entry = table[instance.place, instance.cycle % ii]
        entry.node, entry.op = instance.node, mapping.dfg.node(instance.node).op
        entry.master, entry.delays = _master(mapping, instance.node, column)
    for route in mapping.routes:
        _add_way(mapping, route, table, column)
    for tile in arch.tiles:
        issued = [table[tile.name, s] for s in range(ii) if table[tile.name, s].node is not None]
        for k, entry in enumerate(issued):
            entry.instruction = k
    return [table[tile.name, s] for tile in arch.tiles for s in range(ii)]


def _links(mapping: Mapping, route: Route) -> list[tuple[str, str, int]]:
    """(from tile, to tile, cycle) of each link of a route."""
    links = []
    for name, cycle in route.hops:
        if mapping.arch.kind[mapping.arch.resource(name)] == Kind.LINK:
            source, _, target = name.partition(">")
            links.append((source, target, cycle))
    return links


def _offset(column: dict[str, int], here: str, there: str) -> str:
    return f"{column[there] - column[here]:+d}"


def _master(mapping: Mapping, node: str, column: dict[str, int]) -> tuple[str, list[int]]:
    """The operand that arrives last, and the waits of all operands.

    It is the one that waits least in delay registers. Operands that are carried from an earlier iteration do not count:
    an instruction with no other operands starts its flow, so its master is the tile base.
    """
    into = [route for route in mapping.routes if mapping.dfg.edges[route.edge].target == node]
    now = [route for route in into if mapping.dfg.edges[route.edge].distance == 0]
    if not now:
        return "base", [route.fifo for route in into]
    links = _links(mapping, min(now, key=lambda route: route.fifo))
    master = _offset(column, links[-1][1], links[-1][0]) if links else "feedback"
    return master, [route.fifo for route in into]


def _add_way(mapping: Mapping, route: Route, table: dict[tuple[str, int], SpokeEntry], column: dict[str, int]) -> None:
    """Add what a route asks of the tiles on its way: an output of the producer, then a pass in each tile between.

    Branches of a fan-out share their first links, so what is there already is not added again.
    """
    links = _links(mapping, route)
    source = mapping.instance_of[mapping.dfg.edges[route.edge].source, route.source_copy]
    for k, (here, there, cycle) in enumerate(links):
        offset = _offset(column, here, there)
        if k == 0:
            outputs = table[source.place, source.cycle % mapping.ii].outputs
            if offset not in outputs:
                outputs.append(offset)
        else:
            # A pass is named from the tile's own point of view: where the value comes from, where it goes.
            passing = [_offset(column, here, links[k - 1][0]), offset]
            passes = table[here, cycle % mapping.ii].passes
            if passing not in passes:
                passes.append(passing)
