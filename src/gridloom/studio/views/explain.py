"""Why the II of a mapping is not lower: bound by bound, with what each one points at.

Bounds by counting and by recurrences hold for every mapping. Above them only the search can tell: what it was short of
shows in how full the links and issue slots of the mapping are, and in the failure of a try at a lower II.
"""

from __future__ import annotations

from typing import Any, Final

from gridloom import registry
from gridloom.archs.model import ISSUE_KINDS, Arch
from gridloom.dfg.model import Dfg
from gridloom.dfg.recurrence import binding_recurrence, recurrence_mii
from gridloom.mapping.mii import least_latencies, resource_bounds
from gridloom.studio.views.opened import Opened

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
    if arch.style == "elastic":
        return _of_pipeline(one)
    bounds = _recurrences(dfg, arch) + _resources(dfg, arch)
    bounds.sort(key=lambda row: -int(row["ii"]))
    mii = max([1, *(int(row["ii"]) for row in bounds)])
    for row in bounds:
        row["binding"] = row["ii"] == mapping.ii
    proof = mapping.provenance.get("proof") or mapping.provenance.get("bound")
    return {
        "ii": mapping.ii,
        "mii": mii,
        "static": arch.style == "static",
        "verdict": _verdict(arch, mapping.ii, mii, bounds, bool(mapping.provenance.get("optimal"))),
        "bounds": bounds[:40],
        "crowded": _crowded(one),
        "proof": None if proof is None else str(proof),
        "estimates": _estimates(one, mii),
    }


def _recurrences(dfg: Dfg, arch: Arch) -> list[dict[str, Any]]:
    """The bound of the binding recurrence, with its edges; none where no recurrence asks for more than II 1."""
    latency = least_latencies(dfg, arch)
    edges = binding_recurrence(dfg, latency)
    if not edges:
        return []
    rows = [dfg.edges[e] for e in edges]
    cycles = sum(latency(edge.source) if edge.kind == "data" else edge.delay for edge in rows)
    distance = sum(edge.distance for edge in rows)
    way = " → ".join([*(edge.source for edge in rows[:12]), "…" if len(rows) > 12 else rows[0].source])
    later = f"{distance} iteration{'s' if distance > 1 else ''}"
    return [{
        "kind": "recurrence",
        "ii": recurrence_mii(dfg, latency),
        "text": f"the recurrence {way} takes {cycles} cycles and comes back after {later}",
        "nodes": [dfg.index[edge.source] for edge in rows],
        "edges": list(edges),
        "tiles": [],
        "help": "shorten the chain between two iterations: fewer or faster operations on it, or an unrolled reduction",
    }]  # fmt: skip


def _resources(dfg: Dfg, arch: Arch) -> list[dict[str, Any]]:
    """The bounds by counting, with the nodes that count and the tiles that can run them."""
    bounds, missing = resource_bounds(dfg, arch)
    rows = []
    for bound in bounds:
        classes = set(bound.classes)
        rows.append({
            "kind": "resource",
            "ii": bound.ii,
            "text": bound.reason,
            "nodes": [k for k, node in enumerate(dfg.nodes) if dfg.op_class(node.id) in classes],
            "edges": [],
            "tiles": [t for t, tile in enumerate(arch.tiles) if tile.classes & classes],
            "help": f"more tiles that run {' or '.join(bound.classes)}, or fewer such operations",
        })  # fmt: skip
    for name in missing:
        rows.append({
            "kind": "missing", "ii": 0, "text": f"no tile runs {name}", "edges": [], "tiles": [],
            "nodes": [k for k, node in enumerate(dfg.nodes) if dfg.op_class(node.id) == name],
            "help": "an array that has them",
        })  # fmt: skip
    return rows


def _verdict(arch: Arch, ii: int, mii: int, bounds: list[dict[str, Any]], optimal: bool) -> str:
    """The answer in one sentence."""
    if arch.style == "static":
        return "The II is 1: a static array starts an iteration in every cycle, and no array can do better."
    if ii <= mii:
        why = next(
            (row["text"] for row in bounds if row["ii"] == ii), "an iteration cannot start more than once per cycle"
        )
        return f"II {ii} is the least there is: {why}."
    if optimal:
        return f"II {ii} is above the bound of {mii}, and a proof says that there is no lower one."
    return (
        f"The bounds allow II {mii}, and the search ended at II {ii}: no bound forbids less, but routes and registers "
        f"were not found for it. A try at II {ii - 1} says what it is short of."
    )


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


def _of_pipeline(one: Opened) -> dict[str, Any]:
    """Elastic arrays have a period instead of an II; the bottleneck is what bounds it."""
    measure = registry.hook_for("explanations", one.mapping.arch)
    load = None if measure is None else measure(one.mapping)
    arch, dfg = one.mapping.arch, one.mapping.dfg
    if load is None:
        return {"ii": None, "mii": None, "static": False, "verdict": "The pipeline has no steady state.", "bounds": [],
                "crowded": _crowded(one), "proof": None, "estimates": []}  # fmt: skip
    tiles = [t for t, tile in enumerate(arch.tiles) if tile.name in load.hot]
    nodes = [dfg.index[i.node] for i, t in zip(one.mapping.instances, one.details.instance_tiles) if t in tiles]
    bottleneck = {
        "kind": "bottleneck", "ii": round(load.period, 2), "text": load.bottleneck, "nodes": nodes, "edges": [],
        "tiles": tiles, "binding": True, "help": "more units for the slowest operation, or shorter ways for its tokens",
    }  # fmt: skip
    return {
        "ii": None,
        "mii": None,
        "static": False,
        "verdict": f"A period of {load.period:g} cycles; the bound is {load.bound:g}. {load.bottleneck}",
        "bounds": [bottleneck],
        "crowded": _crowded(one),
        "proof": None,
        "estimates": [["period in cycles", f"at least {load.bound:g}", round(load.period, 3)]],
    }
