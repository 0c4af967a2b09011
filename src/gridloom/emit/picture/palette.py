"""The colours of all pictures: op classes, signals, surfaces, and their counterparts on a dark background.

Op classes have a pale fill under dark text and a stroke of the same hue; signals have colours of at least 3:1 contrast
on the background. Pictures carry the light colours as plain attributes, so that any viewer shows them; the report
overrides them by class.

No meaning depends on colour alone: nodes carry their op and waits their number. An op class that a table here lacks is
drawn in grey in pictures and without a style in a terminal.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True, slots=True)
class Shade:
    """Fill and stroke of a box, light and dark."""

    fill: str
    stroke: str
    dark_fill: str
    dark_stroke: str


_BLUE = Shade("#dbe9fb", "#2f6db5", "#1d3757", "#6fa8e8")
_ORANGE = Shade("#fde5cf", "#c2620c", "#553015", "#f0a05a")
_GREEN = Shade("#d8f0dd", "#2b8348", "#17402a", "#63c586")
_TEAL = Shade("#d3f0f0", "#0e7c86", "#10414a", "#4fc3cd")
_PINK = Shade("#fadfec", "#b23a7c", "#52203d", "#ee86bb")
_PURPLE = Shade("#e8e0f9", "#6d4bb8", "#372a5c", "#b196f0")
_RED = Shade("#fbdcdc", "#b83232", "#571f22", "#f08585")
_GREY = Shade("#eceff3", "#66707e", "#333a45", "#a3adba")
_SAND = Shade("#f3ecd6", "#85701f", "#443a17", "#d1b95f")
_LIME = Shade("#e6f0cc", "#5a7a12", "#34440f", "#a9cc56")

#: Op class -> how its nodes look.
OP_SHADES: Final[Mapping[str, Shade]] = {
    "alu": _BLUE,
    "mul": _ORANGE,
    "div": _RED,
    "fp": _PURPLE,
    "mem": _GREEN,
    "mem_data": _LIME,
    "input": _TEAL,
    "output": _PINK,
    "const": _GREY,
    "livein": _SAND,
    "route": _GREY,
    "gemm": _ORANGE,
    "vector": _BLUE,
    "buffer": _GREEN,
    "dram": _TEAL,
}

#: Op class -> what a legend calls it.
OP_TITLES: Final[Mapping[str, str]] = {
    "alu": "ALU",
    "mul": "multiply",
    "div": "divide",
    "fp": "floating point",
    "mem": "memory",
    "mem_data": "memory data",
    "input": "input",
    "output": "output",
    "const": "constant",
    "livein": "live-in",
    "route": "move",
    "gemm": "matrix multiply",
    "vector": "vector",
    "buffer": "buffer",
    "dram": "DRAM",
}

#: Op class -> style in a terminal, legible on light and dark backgrounds.
TERMINAL_STYLES: Final[Mapping[str, str]] = {
    "alu": "blue",
    "mul": "dark_orange3",
    "div": "red",
    "fp": "medium_purple",
    "mem": "green",
    "mem_data": "dark_olive_green3",
    "input": "dark_cyan",
    "output": "magenta",
    "const": "bright_black",
    "livein": "gold3",
    "route": "bright_black",
    "gemm": "dark_orange3",
    "vector": "blue",
    "buffer": "green",
    "dram": "dark_cyan",
}

#: Signals in a terminal.
TERMINAL_SIGNALS: Final = ("blue", "dark_orange3", "green", "magenta", "medium_purple", "gold3", "dark_cyan", "red")

#: (light, dark) colours of signals.
SIGNALS: Final = (
    ("#1f6fb4", "#63aef0"),
    ("#c8560b", "#f5964c"),
    ("#178a5e", "#4fd09a"),
    ("#b0377c", "#f07fbd"),
    ("#6b4fb8", "#b097f5"),
    ("#97730a", "#dcb74a"),
    ("#0a8291", "#45c7d6"),
    ("#b52f37", "#f37f84"),
    ("#557a1c", "#a7cf5d"),
    ("#8a4b2d", "#d99a78"),
    ("#3f4f9e", "#8f9ff0"),
    ("#7d3f8f", "#d58ee6"),
)

#: Surfaces: class -> (attribute, light, dark).
SURFACES: Final[Mapping[str, tuple[str, str, str]]] = {
    "paper": ("fill", "#ffffff", "#14181f"),
    "tile": ("fill", "#f4f6f9", "#1e242e"),
    "tile-rim": ("stroke", "#c5ccd6", "#3b4553"),
    "idle": ("fill", "#fafbfc", "#191e26"),
    "road": ("stroke", "#e6eaef", "#272e39"),
    "ink": ("fill", "#1c2430", "#e9edf3"),
    "soft": ("fill", "#5a6574", "#a4afbd"),
    "line": ("stroke", "#8a95a3", "#76818f"),
    "badge": ("fill", "#ffffff", "#14181f"),
    "gate": ("stroke", "#1c2430", "#e9edf3"),
}

#: Colours of heat maps from low to high, of one hue so that they can be read without colour vision.
HEAT: Final = ("#fff3d6", "#ffdc9a", "#fdb863", "#ee8a3c", "#d1561f", "#9c2f12")

FONT: Final = "system-ui, -apple-system, 'Segoe UI', Roboto, 'Helvetica Neue', Arial, sans-serif"


def shade(op_class: str) -> Shade:
    """Return the colours of the nodes of an op class; an unknown class looks like a move."""
    return OP_SHADES.get(op_class, _GREY)


def surface(name: str) -> str:
    """Return the light colour of a surface."""
    return SURFACES[name][1]


def heat_colour(fraction: float) -> str:
    """Return the heat-map colour of a fraction between 0 and 1.

    Fractions outside are taken as 0 or 1.

    >>> heat_colour(0.0), heat_colour(0.5), heat_colour(2.0)
    ('#fff3d6', '#ee8a3c', '#9c2f12')
    """
    step = int(max(0.0, min(1.0, fraction)) * len(HEAT))
    return HEAT[min(step, len(HEAT) - 1)]


def signal_colours(tiles_of_signal: Iterable[Iterable[int]]) -> list[int]:
    """Return for each signal the index of its colour: two that meet in a tile differ as long as colours suffice.

    The choice is greedy in the order given; ties go to the colour used least so far. O(signals * colours).

    >>> signal_colours([[0, 1], [1, 2], [5]])
    [0, 1, 2]
    """
    at_tile: dict[int, set[int]] = {}
    uses = [0] * len(SIGNALS)
    chosen = []
    for tiles in tiles_of_signal:
        touched = list(tiles)
        taken: set[int] = set().union(*(at_tile.get(tile, set()) for tile in touched))
        # Spreading the uses makes neighbouring signals differ even where they do not meet in a tile.
        colour = min(range(len(SIGNALS)), key=lambda k: (k in taken, uses[k], k))
        uses[colour] += 1
        chosen.append(colour)
        for tile in touched:
            at_tile.setdefault(tile, set()).add(colour)
    return chosen


def css_rules(*, dark: bool) -> str:
    """Return the colours as CSS rules for the classes that the pictures use.

    The page gives the dark ones under a media query; rules outweigh the plain attributes of the pictures.
    """
    rules = []
    for name, (attribute, light, night) in SURFACES.items():
        rules.append(f".gl .{name} {{ {attribute}: {night if dark else light}; }}")
    for name, look in OP_SHADES.items():
        fill, stroke = (look.dark_fill, look.dark_stroke) if dark else (look.fill, look.stroke)
        rules.append(f".gl .op-{name} {{ fill: {fill}; stroke: {stroke}; }}")
        rules.append(f".swatch.op-{name} {{ background: {fill}; border-color: {stroke}; }}")
    for k, (light, night) in enumerate(SIGNALS):
        colour = night if dark else light
        rules.append(f".gl .s{k} {{ stroke: {colour}; }} .gl .f{k} {{ fill: {colour}; }}")
    return "\n".join(rules)
