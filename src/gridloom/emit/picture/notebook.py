"""Pictures for notebooks: SVG in a box that scrolls, with a choice of zoom, and small tables.

A picture keeps its natural size where it is broader than a notebook, so that its texts can be read; the box scrolls.
The zoom is two styles and needs no script, which notebooks that were not trusted do not run. Sizes are bounded: a
notebook stores what its cells show.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Sequence
from typing import Any, Final

from gridloom.emit.picture.pictures import svg
from gridloom.emit.picture.text import escape

#: Pixels that a notebook is broad, and bytes that one output takes at most.
WIDTH: Final = 900
MOST_BYTES: Final = 180_000
_BOX: Final = "max-width:900px;max-height:640px;overflow:auto;border:1px solid #8886;border-radius:6px"


def html(thing: Any) -> str:
    """Return a mapping, an array or a graph as HTML: a line of words and its picture. Linear in what is drawn."""
    return f"<div><p><code>{escape(repr(thing))}</code></p>{draw_box(thing)}</div>"


def draw_box(thing: Any) -> str:
    """Return the picture of a thing in a box with a zoom; words for one that is too large to be kept."""
    text = re.sub(r">\s+<", "><", svg(thing))
    if len(text) > MOST_BYTES:
        return (
            f"<p>The picture has {len(text) // 1000} kB, too much for a notebook: <code>gl.show(x).svg</code> is its "
            f"text, and <code>gl.save(x, 'report.html')</code> writes a page.</p>"
        )
    found = re.search(r'<svg[^>]*? width="([\d.]+)"', text)
    natural = float(found.group(1)) if found else WIDTH
    name = "gl" + hashlib.sha256(text.encode()).hexdigest()[:12]
    # Ids of markers are those of the whole page: two pictures would share their arrows.
    text = re.sub(r'(id="|url\(#)(?=[\w-]*arrow)', rf"\g<1>{name}-", text)
    sizes = [("fit", f"min(100%,{natural:g}px)"), ("100 %", f"{natural:g}px"), ("200 %", f"{2 * natural:g}px")]
    chosen = "fit" if natural <= WIDTH else "100 %"
    inputs, styles = [], []
    for k, (label, width) in enumerate(sizes):
        checked = " checked" if label == chosen else ""
        inputs.append(f'<label><input type="radio" name="{name}" id="{name}-{k}"{checked}> {label}</label>')
        styles.append(f"#{name}:has(#{name}-{k}:checked) svg{{width:{width};max-width:none;height:auto}}")
    return (
        f'<div id="{name}" class="gl-picture"><style>{"".join(styles)}</style><div>{" ".join(inputs)}</div>'
        f'<div style="{_BOX}">{text}</div></div>'
    )


def table(rows: Iterable[Sequence[Any]], heads: Sequence[str] = ()) -> str:
    """Return rows as an HTML table; the first cell of a row is its head. None is empty."""
    body = "".join(
        f"<tr><th>{_text(head)}</th>{''.join(f'<td>{_text(cell)}</td>' for cell in cells)}</tr>"
        for head, *cells in rows
    )
    top = f"<thead><tr>{''.join(f'<th>{escape(name)}</th>' for name in heads)}</tr></thead>" if heads else ""
    return f"<table>{top}<tbody>{body}</tbody></table>"


def _text(value: Any) -> str:
    return "" if value is None else escape(str(value))
