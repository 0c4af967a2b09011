"""What the page needs to draw a mapping or a failure: pictures, tables and texts as plain JSON data.

The pictures and the data are those of the report; nothing is drawn in a second way here.
"""

from __future__ import annotations

from typing import Any, Final

from gridloom.dfg.model import Dfg
from gridloom.emit.picture import palette
from gridloom.emit.picture.array import arch_summary, picture, summary
from gridloom.emit.picture.graph import graph_picture
from gridloom.emit.picture.text import printable
from gridloom.emit.report.congestion import congestion_picture
from gridloom.emit.report.data import flat_facts, report_data
from gridloom.emit.report.large_page import MOST_CELLS, MOST_NODES, is_large, large_data
from gridloom.emit.report.source_listing import SourceListing
from gridloom.flow.result import failure_record
from gridloom.flow.why.explanation import explain
from gridloom.studio.views.opened import Opened, Refused, lines_of

#: Violations that the page lists.
_MOST_VIOLATIONS: Final = 200


def mapping_scene(one: Opened) -> dict[str, Any]:
    """The scene of a mapping. Linear in it; a large one has tables for a canvas instead of pictures."""
    details = one.details
    large = is_large(details)
    mapping = one.mapping
    return {
        "kind": "mapping",
        "id": one.id,
        "name": printable(one.name),
        "title": printable(f"{mapping.dfg.name} on {mapping.arch.name}"),
        "summary": summary(details),
        "verdict": one.verdict,
        "violations": [printable(line) for line in one.violations[:_MOST_VIOLATIONS]],
        "violation_count": len(one.violations),
        "findings": [printable(line) for line in one.findings or ()],
        "large": large,
        "array": None if large else picture(details, live=True),
        "graph": graph_picture(mapping.dfg, live=True) if len(mapping.dfg.nodes) <= MOST_NODES else None,
        "data": large_data(details) if large else report_data(details),
        "heat": list(palette.HEAT),
        "source": None if one.listing is None else listing_data(one.listing, mapping.dfg),
        "metrics": [[printable(name), printable(text)] for name, text in flat_facts(one.metrics)],
        "provenance": [[printable(name), printable(text)] for name, text in flat_facts(mapping.provenance)],
        "command": printable(one.command),
        "ii": mapping.ii,
        "style": mapping.arch.style,
        "domain": mapping.dfg.domain,
        "nodes": [printable(node.id) for node in mapping.dfg.nodes],
        "tiles": [printable(tile.name) for tile in mapping.arch.tiles],
        "places": [[details.dfg.index[i.node], details.instance_tiles[k], i.cycle, i.copy]
                   for k, i in enumerate(mapping.instances)],
        "pins": dict(one.pins),
    }  # fmt: skip


def failure_scene(one: Refused) -> dict[str, Any]:
    """The scene of a search without a mapping: the reasons, and the places that signals competed for."""
    drawn = len(one.arch.tiles) <= MOST_CELLS
    return {
        "kind": "failure",
        "id": one.id,
        "name": printable(one.name),
        "title": printable(f"{one.dfg.name} on {one.arch.name}"),
        "summary": f"{len(one.dfg.nodes)} nodes · {len(one.dfg.edges)} edges · {arch_summary(one.arch)}",
        "failure": failure_record(one.failure),
        "why": explain(one.dfg, one.arch, failure=one.failure, ii=one.ii, lines=lines_of(one.listing)).to_dict(),
        "array": congestion_picture(one.arch, one.failure.congested) if drawn else None,
        "graph": graph_picture(one.dfg, live=False) if len(one.dfg.nodes) <= MOST_NODES else None,
        "source": None if one.listing is None else listing_data(one.listing, one.dfg),
        "metrics": [[printable(name), printable(text)] for name, text in flat_facts(one.metrics)],
        "command": printable(one.command),
    }


def listing_data(listing: SourceListing, dfg: Dfg) -> dict[str, Any]:
    """The lines of a source with the numbers of the nodes that each became."""
    nodes: dict[int, list[int]] = {}
    for node, line in listing.nodes.items():
        if node in dfg.index:
            nodes.setdefault(line, []).append(dfg.index[node])
    return {
        "file": printable(listing.file),
        "first": listing.first,
        "lines": [printable(line) for line in listing.lines],
        "nodes": {str(line): sorted(made) for line, made in nodes.items()},
        "remarks": [printable(remark) for remark in listing.remarks],
    }
