"""Tiles that an array cannot tell apart: one node then needs to be tried on one of each kind only.

Candidates are the moves of a grid (shifts with wrap-around, reflections, the exchange of rows and columns); each is
checked against every tile, resource, arc, pool and register file before it is believed, so that nothing is assumed of a
family. Cost: O(arcs) per move. A *move* here is a permutation: tile k goes to ``move[k]``.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator

from gridloom.archs.model import Arch, Kind, Tile

Move = list[int]


def representatives(arch: Arch) -> list[int]:
    """One tile, the first, of each set that moves of the array onto itself carry into each other.

    Only the generators are checked; what they make together is an automorphism as well.
    """
    moves = [move for move in _candidates(arch) if _keeps(arch, move)]
    root = list(range(len(arch.tiles)))
    changed = True
    while changed:
        changed = False
        for move in moves:
            for tile, image in enumerate(move):
                least = min(root[tile], root[image])
                changed |= root[tile] != least or root[image] != least
                root[tile] = root[image] = least
    return sorted(set(root))


def _candidates(arch: Arch) -> Iterator[Move]:
    """The permutations of the tiles that the moves of a grid make; none where two tiles share a place."""
    at = {(tile.row, tile.col): k for k, tile in enumerate(arch.tiles)}
    rows, cols = arch.rows, arch.cols
    moves: list[Callable[[int, int], tuple[int, int]]] = [
        lambda r, c: ((r + 1) % rows, c),
        lambda r, c: (r, (c + 1) % cols),
        lambda r, c: (rows - 1 - r, c),
        lambda r, c: (r, cols - 1 - c),
        lambda r, c: (c, r),
    ]
    if len(at) != len(arch.tiles):
        return
    for step in moves:
        image = [at.get(step(tile.row, tile.col), -1) for tile in arch.tiles]
        if sorted(image) == list(range(len(arch.tiles))):
            yield image


def _keeps(arch: Arch, move: Move) -> bool:
    """True when a move carries tiles, resources, arcs, pools, files and banks onto equal ones."""
    if any(_ability(arch.tiles[k]) != _ability(arch.tiles[image]) for k, image in enumerate(move)):
        return False
    resource = _resources(arch, move)
    if resource is None or any(arch.capacity[r] != arch.capacity[image] for r, image in enumerate(resource)):
        return False
    columns = (arch.arc_source, arch.arc_target, arch.arc_latency, arch.arc_gate)
    arcs = set(zip(*(column.tolist() for column in columns)))
    moved = {(resource[a], resource[b], latency, gate) for a, b, latency, gate in arcs}
    pools = {(p.capacity, frozenset(p.tiles), p.classes) for p in arch.pools}
    carried = {(p.capacity, frozenset(move[t] for t in p.tiles), p.classes) for p in arch.pools}
    files = {(f.registers, f.rotating, f.adjustable) for f in arch.register_files}
    turned = {(tuple(resource[r] for r in f.registers), f.rotating, f.adjustable) for f in arch.register_files}
    banks = Counter((b.ports, b.size, frozenset(b.tiles)) for b in arch.banks)
    reached = Counter((b.ports, b.size, frozenset(move[t] for t in b.tiles)) for b in arch.banks)
    return arcs == moved and pools == carried and files == turned and banks == reached


def _ability(tile: Tile) -> tuple[object, ...]:
    """What makes one tile as good as another, its place apart."""
    names = ("classes", "kind", "operands", "fifo", "delays", "contexts", "buffer", "lacks")
    tables = (sorted(tile.latency.items()), sorted(tile.occupancy.items()))
    return (*(getattr(tile, name) for name in names), *tables)


def _resources(arch: Arch, move: Move) -> list[int] | None:
    """Where a move of tiles carries each resource; None: some resource has no counterpart."""
    link = {r: (a, b) for a, b, r in arch.links}
    kind, tile, position = arch.kind.tolist(), arch.tile.tolist(), arch.position.tolist()

    def key(r: int, turn: Callable[[int], int]) -> tuple[int, ...]:
        """What identifies a resource when its tiles are renamed by ``turn``."""
        if kind[r] == Kind.LINK:
            a, b = link[r]
            return (kind[r], turn(a), turn(b))
        return (kind[r], turn(tile[r]) if tile[r] >= 0 else -1, position[r])

    place = {key(r, lambda t: t): r for r in range(len(kind))}
    if len(place) != len(kind):
        return None
    image = [place.get(key(r, lambda t: move[t]), -1) for r in range(len(kind))]
    return image if sorted(image) == list(range(len(kind))) else None
