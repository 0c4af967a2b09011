"""``check_arch``: a self-test of arrays that says what is odd about one before anybody maps to it.

It is the counterpart of nextpnr's ``archcheck``: a family, or a hand-written description, may be sound as data and
still be useless, for instance because a selector left no tile that multiplies or a border tile without a link. The
findings are sentences for people, not errors. An array with findings can be mapped to, and some are meant (a grid with
an isolated spare tile).
"""

from __future__ import annotations

import numpy as np

from gridloom import registry
from gridloom.archs.model import Arch, Kind

#: Classes that a useful array has somewhere, unless they need no tile.
_WANTED = {
    "static": ("alu", "input", "output"),
    "modulo": ("alu",),
}


def check_arch(arch: Arch) -> list[str]:
    """Return findings about an array, one sentence each; an empty list means that nothing is odd.

    It looks for tiles that no other can reach or that reach none, parts without a way between them, op classes that
    nobody has, pools without tiles or capacity, registers and inputs that nothing drives, arcs that are defined twice
    with different latencies. Linear in the arcs.
    """
    return [
        *_isolated(arch),
        *_islands(arch),
        *_missing_classes(arch),
        *_pools(arch),
        *_banks(arch),
        *_undriven(arch),
        *_double_arcs(arch),
    ]


def _isolated(arch: Arch) -> list[str]:
    """Find tiles that no other tile reaches, and tiles that reach no other.

    A tile reaches another when an arc goes from one of its resources (its outgoing links belong to it) to a resource of
    the other. Constant registers are left out, since they only feed others, and switches, which only pass signals on.
    Tiles that exchange values only through a central register file or the data memory, which belong to no tile, count
    as isolated unless they have links.
    """
    findings = []
    working = [k for k, tile in enumerate(arch.tiles) if tile.kind not in ("const",)]
    if len(working) < 2:
        return []
    reach = {k: set() for k in working}  # type: dict[int, set[int]]
    for a, b in zip(arch.arc_source.tolist(), arch.arc_target.tolist(), strict=True):
        x, y = int(arch.tile[a]), int(arch.tile[b])
        if x != y and x >= 0 and y >= 0 and x in reach and y in reach:
            reach[x].add(y)
    entered = {y for row in reach.values() for y in row} | _link_targets(arch)
    for k in working:
        tile = arch.tiles[k]
        if tile.kind == "switch":
            continue
        if tile.operands and k not in entered:
            findings.append(f"tile {tile.name}: no other tile reaches it")
        if not reach[k] and tile.kind != "store" and not _leaves(arch, k):
            findings.append(f"tile {tile.name}: it reaches no other tile")
    return findings


def _islands(arch: Arch) -> list[str]:
    """Find parts of at least two tiles without a way between them; ``_isolated`` finds single tiles."""
    import rustworkx

    # A tile's resources belong together, whatever arcs they have; what belongs to no tile stands for itself.
    owner = np.where(arch.tile >= 0, arch.tile, len(arch.tiles) + np.arange(len(arch.tile)))
    ends = zip(owner[arch.arc_source].tolist(), owner[arch.arc_target].tolist(), strict=True)
    graph = rustworkx.PyGraph(multigraph=False)
    graph.add_nodes_from(range(len(arch.tiles) + len(arch.tile)))
    graph.add_edges_from_no_data(list(ends))
    parts = [{k for k in part if k < len(arch.tiles)} for part in rustworkx.connected_components(graph)]
    large = sorted((sorted(part) for part in parts if len(part) > 1), key=lambda part: part[0])
    return [
        f"tiles {arch.tiles[part[0]].name} to {arch.tiles[part[-1]].name} ({len(part)} of them): no way leads to "
        f"{arch.tiles[large[0][0]].name}"
        for part in large[1:]
    ]


def _link_targets(arch: Arch) -> set[int]:
    """Return the tiles at which a link ends, whether or not an arc leads from the link to an operand."""
    return {b for _, b, _ in arch.links}


def _leaves(arch: Arch, tile: int) -> bool:
    """Return whether a link begins at the tile."""
    return any(a == tile for a, _, _ in arch.links)


def _missing_classes(arch: Arch) -> list[str]:
    """Find op classes that the style or the kind of the array needs and no tile has."""
    present = set().union(*(tile.classes for tile in arch.tiles)) | arch.free
    wanted = [*_WANTED.get(arch.style, ())]
    wanted += [name for kind in registry.kinds().values() if kind.describes(arch) for name in kind.classes]
    return [f"no tile has op class {name}" for name in wanted if name not in present]


def _pools(arch: Arch) -> list[str]:
    """Find pools without tiles, without capacity, or whose tiles lack the op classes they limit."""
    findings = []
    for pool in arch.pools:
        if not pool.tiles:
            findings.append(f"pool {pool.name}: no tile belongs to it")
        if pool.capacity < 1:
            findings.append(f"pool {pool.name}: its capacity is {pool.capacity}")
        if pool.tiles and not any(pool.classes & arch.tiles[k].classes for k in pool.tiles):
            findings.append(f"pool {pool.name}: none of its tiles has {' or '.join(sorted(pool.classes))}")
    return findings


def _banks(arch: Arch) -> list[str]:
    """Find banks that no tile with memory access reaches, and tiles with memory access that reach no bank."""
    accessing = {k for k, tile in enumerate(arch.tiles) if "mem" in tile.classes}
    findings = [f"bank {bank.name}: no tile reaches it" for bank in arch.banks if not accessing & set(bank.tiles)]
    if arch.banks:
        reached = {k for bank in arch.banks for k in bank.tiles}
        findings += [f"tile {arch.tiles[k].name}: it reaches no bank" for k in sorted(accessing - reached)]
    return findings


def _undriven(arch: Arch) -> list[str]:
    """Find inputs, outputs, registers and links that no arc leads to."""
    others = arch.arc_source != arch.arc_target
    driven = np.zeros(len(arch.kind), dtype=bool)
    driven[arch.arc_target[others]] = True
    watched = np.isin(arch.kind, (Kind.IN, Kind.OUT, Kind.REG, Kind.LINK))
    return [f"resource {arch.resource_names[r]}: nothing drives it" for r in np.flatnonzero(watched & ~driven)]


def _double_arcs(arch: Arch) -> list[str]:
    """Find pairs of resources that two arcs join with different latencies."""
    seen: dict[tuple[int, int], tuple[int, int]] = {}
    findings = []
    columns = (arch.arc_source, arch.arc_target, arch.arc_latency, arch.arc_gate)
    for a, b, latency, gate in zip(*(column.tolist() for column in columns), strict=True):
        if seen.setdefault((a, b), (latency, gate)) != (latency, gate):
            findings.append(f"{arch.resource_names[a]} -> {arch.resource_names[b]}: two arcs with different latencies")
    return findings
