"""How large an array has to be: the smallest square on which inputs and outputs, multipliers and PEs are enough.

Heterogeneous arrays need more than a tile a node: a border has 4 * (side - 1) tiles, a checkerboard half of them. By
Hall's theorem the nodes have a tile of their own each exactly if no set of kinds of nodes is larger than the tiles that
take some of them; kinds are few, so that all sets are tried.
"""

from __future__ import annotations

import math
from collections import Counter
from functools import cache
from itertools import combinations

from gridloom.dfg.model import Dfg
from gridloom.errors import OptionError
from gridloom.flow.files import load_arch

#: The largest side that a description may have.
_LARGEST = 128


def square_side(dfg: Dfg) -> int:
    """The side of the smallest square grid with a tile for every node that needs one."""
    return max(1, math.isqrt(max(sum(not op.timeless for op in dfg.ops) - 1, 0)) + 1)


def sized(arch: str, dfg: Dfg) -> str:
    """An ARCH string with ``auto`` or ``fit`` replaced by a size.

    ``auto`` is the smallest square with a tile a node, ``fit`` the smallest on which op classes are enough too. Where
    no square is, ``fit`` is the same as ``auto``, and the mapper says what is missing.

    >>> from gridloom.dfg import DfgBuilder
    >>> b = DfgBuilder("pass", "i32")
    >>> _ = b.output(b.input("x"), "y")
    >>> sized("mesh:auto,io=border", b.build())
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
    needs = node_kinds(dfg)
    if not _known(needs, tile_kinds(square(least + 1))):
        return square(least)
    # Side by side: a border of 13 has more even columns than one of 14, so that sides cannot be bisected.
    found = (side for side in range(least, _LARGEST + 1) if fits(needs, tile_kinds(square(side))))
    return square(next(found, least))


def _known(needs: Counter[frozenset[str]], tiles: Counter[frozenset[str]]) -> bool:
    """True when there is some tile for every kind of node: where there is none, growing does not help."""
    return all(any(kind <= classes for classes in tiles) for kind in needs)


def node_kinds(dfg: Dfg) -> Counter[frozenset[str]]:
    """How many nodes need which op classes of their tile; constants and live-ins need none."""
    placed = [node.id for node, op in zip(dfg.nodes, dfg.ops) if not op.timeless]
    return Counter(dfg.required_classes(node) for node in placed)


@cache
def tile_kinds(arch: str) -> Counter[frozenset[str]]:
    """How many tiles of an ARCH have which op classes."""
    return Counter(tile.classes for tile in load_arch(arch).tiles)


def fits(needs: Counter[frozenset[str]], tiles: Counter[frozenset[str]]) -> bool:
    """True when every node has a tile of its own with the classes that it needs; OptionError for too many kinds."""
    kinds = list(needs)
    if len(kinds) > 16:
        raise OptionError(f"fit: {len(kinds)} kinds of nodes are more than are counted; name the size", where="--arch")
    for count in range(1, len(kinds) + 1):
        for some in combinations(kinds, count):
            able = sum(n for classes, n in tiles.items() if any(kind <= classes for kind in some))
            if sum(needs[kind] for kind in some) > able:
                return False
    return True
