"""Headings and legends that all pictures share.

A picture has a heading of height ``HEAD`` at its top and the legend at its bottom, as wide as the picture itself. The
live picture of the report crops the heading, since the page has one of its own.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from gridloom.emit.picture import palette
from gridloom.emit.picture.text import element, fit_text, group, label, text_width

HEAD = 58.0
MARGIN = 20.0
_ROW = 22.0


@dataclass(frozen=True, slots=True)
class Key:
    """One entry of a legend: a small sample, 22 wide and centred at (11, 0), and what it means."""

    sample: str
    text: str
    attributes: dict[str, object] = field(default_factory=dict)


def heading(name: str, summary: str, width: float) -> list[str]:
    """Return a title and a line under it, shortened to the width."""
    room = width - 2 * MARGIN
    return [
        label(MARGIN, 28, fit_text(name, 17, room), size=17, anchor="start", weight=650),
        label(MARGIN, 47, fit_text(summary, 12, room), size=12, anchor="start", kind="soft"),
    ]


def op_keys(classes: Iterable[str]) -> list[Key]:
    """Return the legend's entries for the op classes that occur, in the palette's order."""
    present = set(classes)
    return [Key(op_sample(name), palette.OP_TITLES[name]) for name in palette.OP_SHADES if name in present]


def op_sample(op_class: str) -> str:
    """Return a small box in the colours of an op class."""
    look = palette.shade(op_class)
    return element(
        "rect", class_=f"op-{op_class}", x=2.0, y=-6.0, width=18.0, height=12.0, rx=3.5, fill=look.fill,
        stroke=look.stroke, stroke_width="1.4",
    )  # fmt: skip


def wire_sample(colour: int) -> str:
    """Return a short wire in a signal's colour."""
    return element("path", class_=f"s{colour}", d="M1 0H21", stroke=palette.SIGNALS[colour][0], stroke_width="2.6",
                   stroke_linecap="round", fill="none")  # fmt: skip


def legend(keys: Sequence[Key], top: float, width: float) -> tuple[list[str], float]:
    """Return the entries in rows that fit the width, and the height they take.

    The height is 0 where there are no entries.
    """
    parts: list[str] = []
    x, y = MARGIN, top + 14
    for key in keys:
        room = 28 + text_width(key.text, 11) + 18
        # An entry that is wider than the picture still gets a row of its own.
        if x > MARGIN and x + room > width - MARGIN / 2:
            x, y = MARGIN, y + _ROW
        parts.append(
            group(
                [key.sample, label(28, 4, key.text, anchor="start", kind="soft")],
                transform=f"translate({x:.0f} {y:.0f})",
            )
        )
        x += room
    return parts, (y + 16 - top if keys else 0.0)
