"""Why the II of a mapping is not lower, as the page shows it: bounds, levers, and the fullest places.

What a search above the bounds was short of shows in how full the links and issue slots of the mapping are, and in the
failure of a try at a lower II.
"""

from __future__ import annotations

from typing import Any, Final

from gridloom.archs.model import ISSUE_KINDS
from gridloom.flow.why.explanation import Explanation, explain
from gridloom.mapping.mii import least_latencies
from gridloom.studio.views.opened import Opened, lines_of

#: So many bounds are listed.
_BOUNDS: Final = 40
#: Tiles and links that the list of full places names.
_NAMED: Final = 6
#: Links in use beyond this share count as crowded.
_CROWDED: Final = 0.5


def explanation(one: Opened) -> dict[str, Any]:
    """The bounds of a mapping's II, largest first, each with the nodes, edges and tiles that it is about.

    Costs the MII, and a pass over the routes.
    """
    mapping = one.mapping
    dfg, arch = mapping.dfg, mapping.arch
    told = explain(dfg, arch, mapping, lines=lines_of(one.listing))
    record = told.to_dict()
    mii = told.mii or 0
    return {
        "ii": told.ii,
        "mii": told.mii,
        "static": arch.style == "static",
        "verdict": record["verdict"][:1].upper() + record["verdict"][1:],
        "bounds": record["reasons"][:_BOUNDS],
        "levers": record["levers"],
        "crowded": _crowded(one),
        "proof": told.proof or None,
        "estimates": _estimates(one, mii) if told.ii is not None else _period(told),
    }


def _crowded(one: Opened) -> dict[str, Any]:
    """The fullest places of a mapping: shares of links by tile, and of issue slots."""
    details, mapping = one.details, one.mapping
    names = [tile.name for tile in mapping.arch.tiles]
    links = sorted(((share, t) for t, share in details.congestion.items() if t >= 0), reverse=True)
    work: dict[int, int] = {}
    for tile in details.instance_tiles:
        if tile >= 0:
            work[tile] = work.get(tile, 0) + 1
    for move in details.moves:
        work[move.tile] = work.get(move.tile, 0) + 1
    issues = sorted(((count / mapping.ii, t) for t, count in work.items()), reverse=True)
    resources = mapping.arch.kind.tolist()
    moves = sum(1 for way in details.ways for r, _ in way.hops if resources[r] in ISSUE_KINDS)
    return {
        "links": [{"tile": t, "name": names[t], "share": round(share, 3)} for share, t in links[:_NAMED] if share > 0],
        "issues": [{"tile": t, "name": names[t], "share": round(share, 3)} for share, t in issues[:_NAMED]],
        "crowded": [t for share, t in links if share >= _CROWDED],
        "heat": {str(t): round(share, 3) for share, t in links if share > 0},
        "moves": moves,
    }


def _estimates(one: Opened, mii: int) -> list[list[Any]]:
    """What was known before the search against what came of it: name, estimate, result."""
    mapping = one.mapping
    dfg, arch = mapping.dfg, mapping.arch
    latency = least_latencies(dfg, arch)
    ready: dict[str, int] = {}
    for k in dfg.topological:
        node = dfg.nodes[k]
        before = [ready.get(dfg.edges[e].source, 0) for e in dfg.operand_edges(node.id) if not dfg.edges[e].distance]
        ready[node.id] = max([0, *before]) + latency(node.id)
    placed = sum(tile >= 0 for tile in one.details.instance_tiles)
    least = -(-placed // mapping.ii) if arch.style == "modulo" else placed
    rows: list[list[Any]] = [
        ["II", f"at least {mii}", mapping.ii],
        ["latency in cycles", f"at least {max([0, *ready.values()])}", one.metrics.get("latency")],
        ["tiles used", f"at least {least}", one.metrics.get("tiles_used")],
    ]
    return [row for row in rows if row[2] is not None]


def _period(told: Explanation) -> list[list[Any]]:
    """The period of an array without an II, which the bottleneck sets."""
    return [["period in cycles", "", reason.ii] for reason in told.reasons]
