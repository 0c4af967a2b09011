"""The source of a loop beside its mapping: lines of text, and the nodes that each of them became."""

from __future__ import annotations

from collections.abc import Mapping as MappingABC
from collections.abc import Sequence
from dataclasses import dataclass, field

from gridloom.dfg.model import Dfg
from gridloom.emit.picture.text import escape


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceListing:
    """Lines of a file, numbered from ``first``, and the line that each node comes from.

    ``nodes`` maps node ids to line numbers of the file, not to positions in ``lines``.
    """

    file: str
    first: int
    lines: Sequence[str]
    nodes: MappingABC[str, int] = field(default_factory=dict)
    #: What the front end has to say about the loop.
    remarks: Sequence[str] = ()


def listing_card(listing: SourceListing | None, dfg: Dfg) -> str:
    """The card of the report; each line names its nodes by their numbers. Empty without a listing.

    A line without nodes is plain text. Nodes that the graph no longer has, because a transformation removed them, are
    passed over.
    """
    if listing is None:
        return ""
    nodes: dict[int, list[int]] = {}
    for node, line in listing.nodes.items():
        if node in dfg.index:
            nodes.setdefault(line, []).append(dfg.index[node])
    rows = []
    for number, text in enumerate(listing.lines, listing.first):
        made = " ".join(map(str, sorted(nodes.get(number, []))))
        # Lines with nodes can be reached by the keyboard, as the nodes themselves can.
        mark = f' class="line" data-g="{made}" tabindex="0"' if made else ""
        rows.append(f"<li{mark}><code>{escape(text) or ' '}</code></li>")
    remarks = "".join(f'<p class="hint">{escape(remark)}</p>' for remark in listing.remarks)
    return (
        '<section class="card" aria-labelledby="h-source">'
        f'<h2 id="h-source">Source</h2><p class="hint">{escape(listing.file)}</p>'
        f'<ol id="source" class="source" start="{listing.first}">{"".join(rows)}</ol>{remarks}</section>'
    )
