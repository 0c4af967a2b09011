"""The report of a large mapping: its array is drawn on demand, as far as the window shows it, and not as one picture.

A picture of 4,000 tiles in every slot takes minutes to lay out and tens of megabytes, and no window shows it. Here the
page holds tables of numbers (what each tile does and which links carry which signal) and a script that draws the tiles
in view onto a canvas. Everything a user named goes in as data, which the script shows as text.
"""

from __future__ import annotations

from collections.abc import Mapping as MappingABC
from typing import Any, Final

from gridloom.archs.model import Kind
from gridloom.emit.details import Details
from gridloom.emit.picture import palette
from gridloom.emit.picture.text import escape
from gridloom.emit.report.template import asset, fill_template

#: Tiles times slots, and nodes, beyond which a report draws on demand.
MOST_CELLS: Final = 2000
MOST_NODES: Final = 1200


def is_large(details: Details) -> bool:
    """True when a mapping is too large for pictures of the whole.

    Elastic arrays and those of spokes have their pictures, whatever the size.
    """
    grid = details.arch.is_timed and not details.arch.has("spokes")
    cells = len(details.arch.tiles) * details.ii
    return grid and (cells > MOST_CELLS or len(details.dfg.nodes) > MOST_NODES)


def large_body(fields: MappingABC[str, str], details: Details, script: str) -> str:
    """The body of the page; ``fields`` are those that every report has."""
    more = {
        "last": str(details.ii - 1),
        "label": escape(f"{details.arch.rows} by {details.arch.cols} tiles"),
        "legend": _legend(details),
        "script": script,
    }
    return fill_template(asset("large.html"), {**fields, **more})


def _legend(details: Details) -> str:
    """The colours of the op classes that occur, and of moves."""
    placed = {i.node for i, tile in zip(details.mapping.instances, details.instance_tiles, strict=True) if tile >= 0}
    classes = [*sorted({details.dfg.op_class(node) for node in placed}), "route"]
    return "".join(
        f'<li><i style="background:{palette.shade(name).fill};border:1px solid {palette.shade(name).stroke}"></i>'
        f"{escape('move' if name == 'route' else name)}</li>"
        for name in dict.fromkeys(classes)
    )


def large_data(details: Details) -> dict[str, Any]:
    """Tables for the script, linear in the mapping: rows of numbers, with names where they occur first.

    ``instances`` are node, tile, cycle and copy; ``ways`` are edge, source instance and target instance; ``wires`` are
    the tiles at both ends of a link, cycle and signal; ``moves`` are tile, cycle and signal.
    """
    dfg, arch = details.dfg, details.arch
    classes = {dfg.op_class(node.id) for node in dfg.nodes} | {"route"}
    shades = {name: palette.shade(name) for name in sorted(classes)}
    index = {(instance.node, instance.copy): k for k, instance in enumerate(details.mapping.instances)}
    tiles = details.instance_tiles
    return {
        "ii": details.ii,
        "rows": max(tile.row for tile in arch.tiles) + 1,
        "cols": max(tile.col for tile in arch.tiles) + 1,
        "wraps": arch.has("wraps"),
        "tiles": [[tile.name, tile.row, tile.col] for tile in arch.tiles],
        "shades": {name: [s.fill, s.stroke, s.dark_fill, s.dark_stroke] for name, s in shades.items()},
        "colours": [list(pair) for pair in palette.SIGNALS],
        "nodes": [[node.id, _caption(node.op, node.value), dfg.op_class(node.id)] for node in dfg.nodes],
        "edges": [[edge.operand, edge.distance] for edge in dfg.edges],
        "instances": [
            [dfg.index[instance.node], tiles[k], instance.cycle, instance.copy]
            for k, instance in enumerate(details.mapping.instances)
        ],
        "kept": {str(k): i.place for k, i in enumerate(details.mapping.instances) if tiles[k] < 0},
        "ways": [
            [way.route.edge, way.signal, index.get((dfg.edges[way.route.edge].target, way.route.copy), way.signal)]
            for way in details.ways
        ],
        "wires": _wires(details),
        "moves": _moves(details),
    }


def _caption(op: str, value: object) -> str:
    """What stands in a tile for a node."""
    return op if value is None else str(value)


def _wires(details: Details) -> list[list[int]]:
    """The links that carry a signal: tile, next tile, cycle and signal, each once."""
    ends = {r: (a, b) for a, b, r in details.arch.links}
    found = {
        (*ends[resource], cycle, way.signal): None
        for way in details.ways
        for resource, cycle in way.hops
        if resource in ends
    }
    return [list(row) for row in found]


def _moves(details: Details) -> list[list[int]]:
    """The issue slots that pass a signal on: tile, cycle and signal, each once."""
    kind, tile = details.arch.kind.tolist(), details.arch.tile.tolist()
    issue = {int(Kind.FU), int(Kind.LOAD), int(Kind.STORE)}
    found = {
        (tile[resource], cycle, way.signal): None
        for way in details.ways
        for resource, cycle in way.hops
        if kind[resource] in issue
    }
    return [list(row) for row in found]
