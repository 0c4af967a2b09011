"""Links of a described array: patterns, and links from tile to tile. Entries add up, and later ones may remove links.

=============  =======================================================================================================
``mesh``       neighbours at distance 1 in row or column
``torus``      the same, around the borders
``onehop``     neighbours at distance 1 and 2 in row or column
``diagonal``   the four neighbours across a corner
``hex``        six neighbours; even rows are shifted left
``chess``      cells with the ``onehop`` links alternate with cells that have the ``mesh`` links; links go both ways
``row``        every tile of a row with every other one of it
``column``     every tile of a column with every other one of it
=============  =======================================================================================================

A pattern can be kept to the links ``along: rows`` (or ``cols``), and to tiles that are all in ``where``.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from gridloom.archs.described.draft import ArrayDraft, Cell
from gridloom.archs.described.keys import entries_at, flag_at, mapping_at, suggestion, word_at
from gridloom.archs.described.places import places
from gridloom.archs.parts.grid import neighbours
from gridloom.errors import ArchError

Link = tuple[Cell, Cell]
_SIDES: Final = ((-1, 0), (0, -1), (0, 1), (1, 0))

#: At most so many links are built, as many as a 128 x 128 array with eight links for each tile has.
MAX_LINKS: Final = 131_072


def _grid(family: str) -> Callable[[int, int], set[Link]]:
    """Return the pattern of a static grid, whose links go both ways."""

    def links(rows: int, cols: int) -> set[Link]:
        pairs = {(cell, other) for cell in _cells(rows, cols) for other in neighbours(family, *cell, rows, cols)}
        return pairs | {(b, a) for a, b in pairs}

    return links


def _cells(rows: int, cols: int) -> list[Cell]:
    """Return the places of a grid, row by row."""
    return [(r, c) for r in range(rows) for c in range(cols)]


def _torus(rows: int, cols: int) -> set[Link]:
    """Return the links to the four neighbours around the borders; links of a tile to itself fall away."""
    wrapped = {
        ((r, c), ((r + dr) % rows, (c + dc) % cols)) for r, c in _cells(rows, cols) for dr, dc in _SIDES
    }  # fmt: skip
    return {(a, b) for a, b in wrapped if a != b}


def _diagonal(rows: int, cols: int) -> set[Link]:
    """Return the links to the neighbours across the corners."""
    steps = [(dr, dc) for dr in (-1, 1) for dc in (-1, 1)]
    found = {((r, c), (r + dr, c + dc)) for r, c in _cells(rows, cols) for dr, dc in steps}
    return {(a, b) for a, b in found if 0 <= b[0] < rows and 0 <= b[1] < cols}


def _row(rows: int, cols: int) -> set[Link]:
    """Return the links between all tiles of a row."""
    return {((r, a), (r, b)) for r in range(rows) for a in range(cols) for b in range(cols) if a != b}


def _column(rows: int, cols: int) -> set[Link]:
    """Return the links between all tiles of a column."""
    return {((a, c), (b, c)) for c in range(cols) for a in range(rows) for b in range(rows) if a != b}


PATTERNS: Final[dict[str, Callable[[int, int], set[Link]]]] = {
    "mesh": _grid("mesh"),
    "torus": _torus,
    "onehop": _grid("onehop"),
    "diagonal": _diagonal,
    "hex": _grid("hex"),
    "chess": _grid("chess"),
    "row": _row,
    "column": _column,
}

#: What a drawing is told about an array whose links come from a pattern.
_TRAITS: Final = {"torus": "wraps", "hex": "hexagonal"}
_KEYS: Final = ("pattern", "along", "where", "from", "to", "both", "remove")


def add_links(draft: ArrayDraft, value: Any, key: str) -> None:
    """Change the links of a draft as a description says: a pattern, an entry, or a list of these, one after another."""
    for at, entry in entries_at(value, key):
        _apply(draft, entry, at)
        if len(draft.links) > MAX_LINKS:
            raise ArchError(f"{at}: the array has more than {MAX_LINKS} links; describe a smaller one")


def _apply(draft: ArrayDraft, entry: Any, key: str) -> None:
    """Change the links of a draft by one entry."""
    if entry == "none" or entry is None:
        draft.links.clear()
        draft.traits -= set(_TRAITS.values())
        return
    if isinstance(entry, str):
        entry = {"pattern": entry}
    data = mapping_at(entry, _KEYS, key, "a link entry")
    pattern = "pattern" in data
    if pattern == ("from" in data or "to" in data):
        raise ArchError(f"{key}: expected a 'pattern', or 'from' and 'to', found {entry!r}")
    found = _by_pattern(draft, data, key) if pattern else _by_ends(draft, data, key)
    if flag_at(data.get("remove", False), f"{key}.remove"):
        missing = found - draft.links
        if missing and not pattern:
            a, b = min(missing)
            raise ArchError(f"{key}.remove: there is no link from {list(a)} to {list(b)}")
        draft.links -= found
        return
    draft.links |= found
    if pattern and data["pattern"] in _TRAITS and set(data) == {"pattern"}:
        draft.traits.add(_TRAITS[data["pattern"]])


def _by_pattern(draft: ArrayDraft, data: dict[str, Any], key: str) -> set[Link]:
    """Return the links of a pattern, as far as ``along`` and ``where`` leave them."""
    name = data["pattern"]
    if not isinstance(name, str) or name not in PATTERNS:
        raise ArchError(f"{key}.pattern: no pattern is called {name!r}; {suggestion(name, PATTERNS)}")
    if "both" in data:
        raise ArchError(f"{key}.both: the links of a pattern go both ways; leave it out")
    found: set[Link] = PATTERNS[name](draft.rows, draft.cols)
    if "along" in data:
        side = 0 if word_at(data["along"], f"{key}.along", ("rows", "cols")) == "rows" else 1
        found = {(a, b) for a, b in found if a[side] == b[side]}
    if "where" in data:
        inside = set(places(data["where"], draft.rows, draft.cols, f"{key}.where"))
        kept = {(a, b) for a, b in found if a in inside and b in inside}
        # A pattern alone may have no link on a small array; a selection of its links has a purpose that it misses.
        if found and not kept:
            raise ArchError(f"{key}.where: keeps no link of {name!r}; both ends of a link have to lie in it")
        found = kept
    return found


def _by_ends(draft: ArrayDraft, data: dict[str, Any], key: str) -> set[Link]:
    """Return the links from every tile of ``from`` to every tile of ``to``, and with ``both`` those back."""
    for name in ("from", "to"):
        if name not in data:
            raise ArchError(f"{key}: expected 'from' and 'to', found {data!r}")
    for name in ("along", "where"):
        if name in data:
            raise ArchError(f"{key}.{name}: only a pattern is kept to some tiles; 'from' and 'to' say where links go")
    sources = places(data["from"], draft.rows, draft.cols, f"{key}.from")
    targets = places(data["to"], draft.rows, draft.cols, f"{key}.to")
    if len(sources) * len(targets) > MAX_LINKS:
        raise ArchError(f"{key}: gives {len(sources) * len(targets)} links; at most {MAX_LINKS} are built")
    found = {(a, b) for a in sources for b in targets}
    selves = sorted(a for a, b in found if a == b)
    if selves:
        raise ArchError(
            f"{key}: would link tile {list(selves[0])} to itself; a tile reads its own output without a link"
        )
    return found | {(b, a) for a, b in found} if flag_at(data.get("both", False), f"{key}.both") else found
