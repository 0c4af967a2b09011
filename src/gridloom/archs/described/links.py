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
from typing import Annotated, Any, Final, Literal

from pydantic import BeforeValidator, Field, model_validator

from gridloom.archs.described.draft import ArrayDraft, Cell
from gridloom.archs.described.keys import UNSET, Clause, Flag, OneOf, Several, Short, refuse
from gridloom.archs.described.places import Places
from gridloom.archs.parts.grid import neighbours

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
    wrapped = {((r, c), ((r + dr) % rows, (c + dc) % cols)) for r, c in _cells(rows, cols) for dr, dc in _SIDES}
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


class LinkEntry(Clause, what="a link entry"):
    """Links of a pattern, or from some tiles to others."""

    pattern: Annotated[
        str,
        OneOf((*PATTERNS, "none"), "no pattern is called {}"),
        BeforeValidator(lambda name: "none" if name is None else name),
    ] = UNSET
    along: Literal["rows", "cols"] = UNSET
    where: Places = UNSET
    sources: Places = Field(UNSET, alias="from")
    targets: Places = Field(UNSET, alias="to")
    both: Flag = False
    remove: Flag = False

    @model_validator(mode="wrap")
    @classmethod
    def _check_ends(cls, data: Any, handler: Callable[[Any], LinkEntry]) -> LinkEntry:
        """Refuse a pattern beside ends, and keys that belong to the other of the two."""
        entry = handler(data)
        given = entry.model_fields_set
        if entry.pattern:
            if given & {"sources", "targets"}:
                raise refuse(f"expected a 'pattern', or 'from' and 'to', found {data!r}")
            if "both" in given:
                raise refuse("the links of a pattern go both ways; leave it out", "both")
            return entry
        if not given & {"sources", "targets"}:
            raise refuse(f"expected a 'pattern', or 'from' and 'to', found {data!r}")
        if not {"sources", "targets"} <= given:
            raise refuse(f"expected 'from' and 'to', found {data!r}")
        for name in ("along", "where"):
            if name in given:
                raise refuse("only a pattern is kept to some tiles; 'from' and 'to' say where links go", name)
        return entry


Links = Several[Annotated[LinkEntry, Short("pattern")]]


def change_links(draft: ArrayDraft, entries: list[LinkEntry]) -> None:
    """Change the links of a draft as entries say, one after another."""
    for k, entry in enumerate(entries):
        if entry.pattern == "none":
            draft.links.clear()
            draft.traits -= set(_TRAITS.values())
        else:
            _change(draft, entry, k)
        if len(draft.links) > MAX_LINKS:
            raise refuse(f"the array has more than {MAX_LINKS} links; describe a smaller one", "links", k)


def _change(draft: ArrayDraft, entry: LinkEntry, k: int) -> None:
    """Change the links of a draft by one entry."""
    found = _by_pattern(draft, entry, k) if entry.pattern else _by_ends(entry, k)
    if entry.remove:
        missing = found - draft.links
        if missing and not entry.pattern:
            a, b = min(missing)
            raise refuse(f"there is no link from {list(a)} to {list(b)}", "links", k, "remove")
        draft.links -= found
        return
    draft.links |= found
    if entry.pattern in _TRAITS and entry.model_fields_set == {"pattern"}:
        draft.traits.add(_TRAITS[entry.pattern])


def _by_pattern(draft: ArrayDraft, entry: LinkEntry, k: int) -> set[Link]:
    """Return the links of a pattern, as far as ``along`` and ``where`` leave them."""
    found: set[Link] = PATTERNS[entry.pattern](draft.rows, draft.cols)
    if entry.along:
        side = 0 if entry.along == "rows" else 1
        found = {(a, b) for a, b in found if a[side] == b[side]}
    if entry.where is None:
        return found
    inside = set(entry.where)
    kept = {(a, b) for a, b in found if a in inside and b in inside}
    # A pattern alone may have no link on a small array; a selection of its links has a purpose that it misses.
    if found and not kept:
        raise refuse(f"keeps no link of {entry.pattern!r}; both ends of a link have to lie in it", "links", k, "where")
    return kept


def _by_ends(entry: LinkEntry, k: int) -> set[Link]:
    """Return the links from every tile of ``from`` to every tile of ``to``, and with ``both`` those back."""
    count = len(entry.sources) * len(entry.targets)
    if count > MAX_LINKS:
        raise refuse(f"gives {count} links; at most {MAX_LINKS} are built", "links", k)
    found = {(a, b) for a in entry.sources for b in entry.targets}
    selves = sorted(a for a, b in found if a == b)
    if selves:
        raise refuse(
            f"would link tile {list(selves[0])} to itself; a tile reads its own output without a link", "links", k
        )
    return found | {(b, a) for a, b in found} if entry.both else found
