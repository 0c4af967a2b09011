"""SVG as text: elements, numbers, escaping. The result is plain SVG 1.1 that any viewer shows.

Output is deterministic: attributes in the order given, numbers with at most one decimal.

Everything that a user named (nodes, tiles, files) goes through :func:`escape`, so no name can break a picture or bring
code into a page. Widths of texts are estimates by kinds of letters: there is no font to measure with, and viewers use
different ones. Shortened texts therefore keep some room.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Final

from gridloom.emit.picture import palette

# What XML 1.0 cannot hold even escaped: control characters, surrogates, the two non-characters.
_UNPRINTABLE: Final = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\ud800-\udfff\ufffe\uffff]")
# Wide letters, narrow letters: enough to keep a label inside its box in any sans-serif font.
_WIDE: Final = frozenset("mwMW@%&")
_NARROW: Final = frozenset("iljtfrI.,:;|!'()[] -")


def printable(text: str) -> str:
    """Return the text with characters that neither XML nor a terminal may be sent replaced by a mark."""
    return _UNPRINTABLE.sub("\ufffd", text)


def escape(text: object) -> str:
    """Return text that stays text in content and in attributes, whatever it contains.

    >>> escape('<a href="x">')
    '&lt;a href=&quot;x&quot;&gt;'
    """
    clean = printable(str(text))
    for raw, safe in (("&", "&amp;"), ("<", "&lt;"), (">", "&gt;"), ('"', "&quot;"), ("'", "&#39;")):
        clean = clean.replace(raw, safe)
    return clean


def number(value: float) -> str:
    """Return a coordinate with at most one decimal.

    >>> number(3.0), number(2.25), number(-0.01)
    ('3', '2.2', '0')
    """
    text = f"{value:.1f}"
    text = text.removesuffix(".0")
    return "0" if text == "-0" else text


def element(tag: str, content: str = "", /, **attributes: object) -> str:
    """Return one element.

    ``class_`` stands for ``class``, other underscores for dashes; None leaves an attribute out.

    Values are escaped, floats are rounded; ``content`` is taken as it is and has to be escaped by the caller.

    >>> element("rect", class_="tile", stroke_width=1.5, fill=None)
    '<rect class="tile" stroke-width="1.5"/>'
    """
    words = [tag]
    for name, value in attributes.items():
        if value is None:
            continue
        text = number(value) if isinstance(value, float) else escape(value)
        words.append(f'{"class" if name == "class_" else name.replace("_", "-")}="{text}"')
    head = " ".join(words)
    return f"<{head}>{content}</{tag}>" if content else f"<{head}/>"


def group(parts: Iterable[str], **attributes: object) -> str:
    """Return elements under one ``g``, each on a line of its own."""
    return element("g", "\n" + "\n".join(parts) + "\n", **attributes)


def title(text: str) -> str:
    """Return a title, which viewers show when the pointer rests on its element."""
    return f"<title>{escape(text)}</title>"


def text_width(text: str, size: float) -> float:
    """Return the approximate width of a text at a font size.

    Characters from the East Asian blocks on count as wide.
    """
    units = sum(0.9 if c in _WIDE or ord(c) > 0x2E80 else 0.34 if c in _NARROW else 0.58 for c in text)
    return units * size


def fit_text(text: str, size: float, width: float) -> str:
    """Return the text, shortened with an ellipsis until it fits.

    >>> fit_text("accumulate", 10, 30), fit_text("add", 10, 30)
    ('accu…', 'add')
    """
    if text_width(text, size) <= width:
        return text
    while text and text_width(text + "…", size) > width:
        text = text[:-1]
    return text + "…"


def shorten_middle(text: str, size: float, width: float) -> str:
    """Return the text, shortened in its middle until it fits, since ids mostly differ at their ends.

    >>> shorten_middle("accumulate_17", 10, 40)
    'ac…_17'
    """
    if text_width(text, size) <= width:
        return text
    # Ids mostly end in a number of one to three characters, by which they are told apart.
    tail = text[-3:]
    return fit_text(text[:-3], size, max(0.0, width - text_width(tail, size))).removesuffix("…") + "…" + tail


def label(
    x: float,
    y: float,
    text: str,
    *,
    size: float = 11,
    anchor: str = "middle",
    kind: str = "ink",
    weight: int | None = None,
) -> str:
    """Return a line of text whose baseline is at y.

    ``kind`` is a surface of the palette and becomes the class; ``anchor`` is that of SVG's ``text-anchor``.
    """
    return element(
        "text", escape(text), class_=kind, x=float(x), y=float(y), font_size=number(size),
        text_anchor=None if anchor == "start" else anchor, font_weight=weight, fill=palette.surface(kind),
    )  # fmt: skip


def document(
    width: float, height: float, body: Iterable[str], *, name: str, kind: str, live: bool = False, crop: float = 0.0
) -> str:
    """Return a whole picture on a light background; ``name`` is its accessible title, ``kind`` its class.

    ``live``: the parts can be reached one by one, so a screen reader does not treat it as a single image. ``crop``: how
    much of the top is left out, where the page around it has a heading of its own.
    """
    role = "group" if live else "img"
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" class="gl {kind}" role="{role}" aria-label="{escape(name)}" '
        f'viewBox="0 {number(crop)} {number(width)} {number(height - crop)}" '
        f'width="{number(width)}" height="{number(height - crop)}" '
        f'font-family="{escape(palette.FONT)}">'
    )
    paper = element("rect", class_="paper", width=float(width), height=float(height), fill=palette.surface("paper"))
    return "\n".join([head, paper, *body, "</svg>"]) + "\n"
