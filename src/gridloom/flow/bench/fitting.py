"""How large an array has to be: the smallest square on which inputs and outputs, multipliers and PEs are enough.

Heterogeneous arrays need more than one tile per node: a border has 4 * (side - 1) tiles, a checkerboard half of them.
By Hall's theorem the nodes have a tile of their own each exactly if no set of kinds of nodes is larger than the tiles
that take some of them; kinds are few, so that all sets are tried. Tiles are not all: where such nodes fill a region,
their results have to leave it, each over a link of its own. A border of a mesh that is full of inputs has four links
too few.
"""

from __future__ import annotations

import math
from collections import Counter
from functools import cache
from itertools import combinations

from gridloom.dfg.model import Dfg
from gridloom.errors import OptionError
from gridloom.flow.inputs import read_arch

#: The largest side that a description may have.
_LARGEST = 128


def square_side(dfg: Dfg) -> int:
    """Return the side of the smallest square grid with a tile for every node that needs one."""
    return max(1, math.isqrt(max(sum(not op.timeless for op in dfg.ops) - 1, 0)) + 1)


def fill_in_size(arch: str, dfg: Dfg) -> str:
    """Return an ARCH string with ``auto`` or ``fit`` replaced by a size.

    ``auto`` is the smallest square with one tile per node, ``fit`` the smallest on which op classes are enough too.
    Where no square is, ``fit`` is the same as ``auto``, and the mapper says what is missing.

    >>> from gridloom.dfg import DfgBuilder
    >>> b = DfgBuilder("pass", "i32")
    >>> _ = b.output(b.input("x"), "y")
    >>> fill_in_size("mesh:auto,io=border", b.build())
    'mesh:2x2,io=border'
    """
    family, colon, rest = arch.partition(":")
    size, comma, options = rest.partition(",")
    if size not in ("auto", "fit"):
        return arch

    def square(side: int) -> str:
        return f"{family}{colon}{side}x{side}{comma}{options}"

    least = square_side(dfg)
    if size == "auto":
        return square(least)
    leave = read_arch(square(least + 1)).has("grid")
    needs = node_kinds(dfg, results_leave=leave)
    # One size larger, since a class may be missing on the smallest square only.
    if not _known(needs, tile_kinds(square(least + 1))):
        return square(least)
    # Side by side: a border of 13 has more even columns than one of 14, so that sides cannot be bisected.
    for side in range(least, _LARGEST + 1):
        tiles, links = tile_kinds(square(side)), link_kinds(square(side))
        if fits(needs, tiles) and drains(dfg, tiles, links, results_leave=leave):
            return square(side)
    return square(least)


def _known(needs: Counter[frozenset[str]], tiles: Counter[frozenset[str]]) -> bool:
    """Return True when there is some tile for every kind of node: where there is none, growing does not help."""
    return all(any(kind <= classes for classes in tiles) for kind in needs)


def node_kinds(dfg: Dfg, *, results_leave: bool) -> Counter[frozenset[str]]:
    """Return how many nodes need which op classes of their tile; constants and live-ins need none.

    ``results_leave`` is the rule of the static grids: see ``Dfg.required_classes``.
    """
    placed = [node.id for node, op in zip(dfg.nodes, dfg.ops) if not op.timeless]
    return Counter(dfg.required_classes(node, results_leave=results_leave) for node in placed)


@cache
def tile_kinds(arch: str) -> Counter[frozenset[str]]:
    """Return how many tiles of an ARCH have which op classes."""
    return Counter(tile.classes for tile in read_arch(arch).tiles)


@cache
def link_kinds(arch: str) -> Counter[tuple[frozenset[str], frozenset[str]]]:
    """Return how many links of an ARCH go from tiles with which op classes to tiles with which."""
    array = read_arch(arch)
    return Counter((array.tiles[a].classes, array.tiles[b].classes) for a, b, _ in array.links)


def drains(
    dfg: Dfg,
    tiles: Counter[frozenset[str]],
    links: Counter[tuple[frozenset[str], frozenset[str]]],
    *,
    results_leave: bool,
) -> bool:
    """Return False when more results have to leave a region than links do.

    A region consists of the tiles for a set of kinds. A node of another kind on a tile that is left over there takes up
    to as many results as it has operands, and gives one, or none at the end of the graph.
    """
    kinds = [dfg.required_classes(node.id, results_leave=results_leave) for node in dfg.nodes]
    needs = node_kinds(dfg, results_leave=results_leave)
    ports = max((len(dfg.in_edges[k]) for k in range(len(dfg.nodes))), default=1)
    for some in (some for count in range(1, len(needs) + 1) for some in combinations(needs, count)):
        region = {classes for classes in tiles if any(kind <= classes for kind in some)}
        spare = sum(tiles[classes] for classes in region) - sum(needs[kind] for kind in some)
        leaving = sum(count for (a, b), count in links.items() if a in region and b not in region)
        results, ends = _results(dfg, kinds, frozenset(some))
        if len(region) < len(tiles) and results - spare * max(0, ports - 1) - min(spare, ends) > leaving:
            return False
    return True


def _results(dfg: Dfg, kinds: list[frozenset[str]], some: frozenset[frozenset[str]]) -> tuple[int, int]:
    """Return how many nodes of some kinds are read by others, and how many nodes of other kinds nobody reads."""
    inside = [not op.timeless and kind in some for kind, op in zip(kinds, dfg.ops)]
    readers = [[dfg.index[dfg.edges[e].target] for e in row if dfg.edges[e].kind == "data"] for row in dfg.out_edges]
    results = sum(here and not all(inside[k] for k in row) for here, row in zip(inside, readers))
    return results, sum(not here and not row for here, row in zip(inside, readers))


def fits(needs: Counter[frozenset[str]], tiles: Counter[frozenset[str]]) -> bool:
    """Return True when every node can have a tile of its own with the classes that it needs.

    This is Hall's condition, tried for every set of kinds of nodes. OptionError for too many kinds: the cost doubles
    with each.

    >>> port, plain = frozenset({"input"}), frozenset({"alu"})
    >>> fits(Counter({port: 2, plain: 1}), Counter({port | plain: 3}))
    True
    >>> fits(Counter({port: 2, plain: 2}), Counter({port | plain: 3}))
    False
    """
    kinds = list(needs)
    if len(kinds) > 16:
        raise OptionError(f"fit: {len(kinds)} kinds of nodes are more than are counted; name the size", where="--arch")
    for count in range(1, len(kinds) + 1):
        for some in combinations(kinds, count):
            able = sum(n for classes, n in tiles.items() if any(kind <= classes for kind in some))
            if sum(needs[kind] for kind in some) > able:
                return False
    return True
