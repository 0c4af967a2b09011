"""Charts of measured numbers as plain SVG, without a plotting library: lines over an axis, and stacked bars.

A chart is a :class:`Panel`; :func:`picture` puts panels below each other in one file. Lines carry their names at their
ends, so that nothing depends on colour alone.

A chart has a fixed size, so several of them align in a document. Axes are linear and end at round numbers
(:func:`ticks`). The functions expect data: a chart without a point, or bars without a value above 0, is the caller's
business to leave out.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

from gridloom.emit.picture import palette
from gridloom.emit.picture.text import document, element, escape, label, text_width, title

WIDTH: Final = 720.0
_HEIGHT: Final = 380.0
_LEFT, _RIGHT, _TOP, _BOTTOM = 64.0, 190.0, 58.0, 52.0
_LABEL_GAP: Final = 15.0


@dataclass(frozen=True, slots=True)
class ChartSeries:
    """A line through (x, y) points, or a single point with its name beside it.

    Points are drawn in the order given, so the caller sorts them by x. ``colour`` is an index into ``palette.SIGNALS``.
    """

    name: str
    points: tuple[tuple[float, float], ...]
    colour: int = 0
    #: A line to compare with is dashed.
    dashed: bool = False
    #: Whether the points are marked.
    mark: bool = True


class Band(NamedTuple):
    """A range of values across the whole chart, for what others report."""

    name: str
    low: float
    high: float
    colour: int = 0


class Bar(NamedTuple):
    """A stacked bar."""

    name: str
    #: (kind, value) of each part, from the bottom up.
    parts: tuple[tuple[str, float], ...]
    #: The text above the bar.
    note: str = ""

    @property
    def total(self) -> float:
        """The value of the whole bar."""
        return sum(value for _, value in self.parts)


class ChartSpan(NamedTuple):
    """A value with its interval, in a group of the x axis."""

    group: str
    name: str
    value: float
    low: float
    high: float
    colour: int = 0


class Panel(NamedTuple):
    """A drawn chart: its elements, without the document around them."""

    name: str
    width: float
    height: float
    parts: tuple[str, ...]


class _Axis(NamedTuple):
    """Values from ``low`` to ``high`` on pixels from ``start`` to ``end``.

    ``high`` has to differ from ``low``. For a y axis ``start`` is the larger pixel, since y grows downwards.
    """

    low: float
    high: float
    start: float
    end: float

    def at(self, value: float) -> float:
        """Return the pixel of a value."""
        return self.start + (value - self.low) / (self.high - self.low) * (self.end - self.start)


def ticks(low: float, high: float, about: int = 6) -> list[float]:
    """Return round numbers from at or below ``low`` to at or above ``high``, about as many as asked for.

    Steps are 1, 2 or 5 times a power of ten. There are always at least two.

    >>> ticks(0, 1.6), ticks(1, 1.13, 4)
    ([0.0, 0.5, 1.0, 1.5, 2.0], [1.0, 1.05, 1.1, 1.15])
    """
    span = high - low or abs(high) or 1.0
    power = 10 ** math.floor(math.log10(span / about))
    step = next(m * power for m in (1, 2, 5, 10) if m * power * about >= span * 0.999)
    first, last = math.floor(low / step + 1e-9), math.ceil(high / step - 1e-9)
    return [round(k * step, 10) for k in range(first, max(last, first + 1) + 1)]


def line_chart(
    name: str,
    series: Sequence[ChartSeries],
    *,
    x_title: str,
    y_title: str,
    bands: Sequence[Band] = (),
    x_ticks: Sequence[float] = (),
    y_from: float | None = None,
    note: str = "",
) -> Panel:
    """Return a chart of lines over a common axis.

    ``y_from`` is where the y axis begins, if not just below the least value; ``note`` is written under the title.

    ``x_ticks`` fixes the marks of the x axis, for instance at the sizes that were measured. The x axis ends at the
    outermost marks. At least one series with a point is needed.
    """
    xs = [x for line in series for x, _ in line.points]
    ys = [y for line in series for _, y in line.points] + [v for band in bands for v in (band.low, band.high)]
    marks = ticks(min(ys) if y_from is None else y_from, max(ys))
    across = list(x_ticks) or ticks(min(xs), max(xs))
    x = _Axis(min(across), max(across), _LEFT + 14, WIDTH - _RIGHT - 14)
    y = _Axis(marks[0], marks[-1], _HEIGHT - _BOTTOM, _TOP)
    parts = [*_head(name, note), *_bands(bands, y), *_grid(marks, y, y_title)]
    for value in across:
        parts.append(label(x.at(value), _HEIGHT - _BOTTOM + 18, _number(value), size=11, kind="soft"))
    parts.append(label((x.start + x.end) / 2, _HEIGHT - 12, x_title, size=12))
    for line in series:
        parts += _line(line, x, y)
    ends = [(y.at(line.points[-1][1]), line.name, line.colour) for line in series if len(line.points) > 1]
    ends += [(y.at((band.low + band.high) / 2), band.name, band.colour) for band in bands]
    parts += _end_labels(ends)
    return Panel(name, WIDTH, _HEIGHT, tuple(parts))


def bar_chart(name: str, bars: Sequence[Bar], *, y_title: str, note: str = "") -> Panel:
    """Return a chart of stacked bars from 0, with one colour per kind of part in the order of first use.

    The names are below the bars, slanted where there are many; ``note`` is written under the title.

    At least one bar is needed.
    """
    kinds = list(dict.fromkeys(kind for bar in bars for kind, _ in bar.parts))
    slanted = len(bars) > 6
    # Slanted names need more height; the chart grows by it, so that bars keep their size.
    bottom = _BOTTOM + (64 if slanted else 4)
    height = _HEIGHT + (64 if slanted else 4)
    # A little more than the highest bar, for the text above it.
    marks = ticks(0, max(bar.total for bar in bars) * 1.04)
    y = _Axis(0, marks[-1], height - bottom, _TOP)
    room = (WIDTH - _LEFT - 24) / len(bars)
    parts = [*_head(name, note), *_grid(marks, y, y_title, right=24), *_legend(kinds)]
    for k, bar in enumerate(bars):
        middle, wide = _LEFT + room * (k + 0.5), min(room * 0.62, 72)
        base = 0.0
        for kind, value in bar.parts:
            fill = _BAR_FILLS[(kinds.index(kind) + (len(kinds) == 1)) % len(_BAR_FILLS)]
            top, foot = y.at(base + value), y.at(base)
            tip = title(f"{bar.name}: {kind} {_number(round(value, 3))}")
            parts.append(element("rect", tip, x=middle - wide / 2, y=top, width=wide, height=foot - top, fill=fill))
            base += value
        parts.append(label(middle, y.at(base) - 6, bar.note, size=11))
        parts.append(_bar_name(middle, height - bottom + 17, bar.name, slanted))
    return Panel(name, WIDTH, height, tuple(parts))


def interval_chart(
    name: str, spans: Sequence[ChartSpan], *, y_title: str, level: float | None = None, note: str = ""
) -> Panel:
    """Return a chart of values with intervals, side by side in groups; at least one span is needed.

    ``level`` is what the values are compared with, a dashed line.
    """
    groups = list(dict.fromkeys(span.group for span in spans))
    names = list(dict.fromkeys(span.name for span in spans))
    levels = [] if level is None else [level]
    ends = [value for span in spans for value in (span.low, span.value, span.high)] + levels
    marks = ticks(min(ends), max(ends))
    y = _Axis(marks[0], marks[-1], _HEIGHT - _BOTTOM, _TOP)
    wide = (WIDTH - _LEFT - _RIGHT) / len(groups)
    parts = [*_head(name, note), *_grid(marks, y, y_title)]
    for at in map(y.at, levels):
        parts.append(element("line", x1=_LEFT, y1=at, x2=WIDTH - _RIGHT, y2=at, stroke=palette.surface("soft"),
                             stroke_dasharray="5 4"))  # fmt: skip
    for span in spans:
        share = (names.index(span.name) + 1) / (len(names) + 1)
        x, colour = _LEFT + wide * (groups.index(span.group) + share), palette.SIGNALS[span.colour][0]
        words = f"{span.name} on {span.group}: {_number(span.value)}, {_number(span.low)} to {_number(span.high)}"
        parts.append(
            element("line", x1=x, y1=y.at(span.low), x2=x, y2=y.at(span.high), stroke=colour, stroke_width="2")
        )
        parts.append(element("circle", title(words), cx=x, cy=y.at(span.value), r="4.5", fill=colour))
    for k, group in enumerate(groups):
        parts.append(label(_LEFT + wide * (k + 0.5), _HEIGHT - _BOTTOM + 18, group, size=11, kind="soft"))
    last = {span.name: (y.at(span.value), span.name, span.colour) for span in spans}
    return Panel(name, WIDTH, _HEIGHT, (*parts, *_end_labels(list(last.values()))))


def picture(panels: Sequence[Panel], name: str) -> str:
    """Return one SVG text with the panels below each other."""
    body, top = [], 0.0
    for panel in panels:
        inner = "\n".join(panel.parts)
        body.append(element("g", "\n" + inner + "\n", transform=f"translate(0 {round(top, 1)})"))
        top += panel.height
    return document(max(panel.width for panel in panels), top, body, name=name, kind="chart")


_BAR_FILLS: Final = ("#1c2430", "#9fc1ea", "#e9a15f", "#8cc9a0")


def _head(name: str, note: str) -> list[str]:
    lines = [label(_LEFT - 48, 22, name, size=15, anchor="start", weight=600)]
    return [*lines, label(_LEFT - 48, 41, note, size=11, anchor="start", kind="soft")] if note else lines


def _grid(marks: Sequence[float], y: _Axis, y_title: str, right: float = _RIGHT) -> list[str]:
    """Horizontal lines with their numbers, and the title of the y axis."""
    parts = []
    for value in marks:
        at = y.at(value)
        parts.append(element("line", x1=_LEFT, y1=at, x2=WIDTH - right, y2=at, stroke=palette.surface("road")))
        parts.append(label(_LEFT - 8, at + 4, _number(value), size=11, anchor="end", kind="soft"))
    middle = (y.start + y.end) / 2
    turned = f"rotate(-90 18 {round(middle, 1)})"
    text = element("text", escape(y_title), x=18.0, y=middle, font_size="12", text_anchor="middle",
                   fill=palette.surface("ink"), transform=turned)  # fmt: skip
    return [*parts, text]


def _bands(bands: Sequence[Band], y: _Axis) -> list[str]:
    """The published ranges; a single number is a thin band."""
    parts = []
    for band in bands:
        high, low = y.at(band.high), y.at(band.low)
        # A single published number is drawn as a thin band, so that it can be seen at all.
        tall = max(low - high, 2.0)
        parts.append(element("rect", title(band.name), x=_LEFT, y=(low + high - tall) / 2, width=WIDTH - _RIGHT - _LEFT,
                             height=tall, fill=palette.SIGNALS[band.colour][0], opacity="0.18"))  # fmt: skip
    return parts


def _line(line: ChartSeries, x: _Axis, y: _Axis) -> list[str]:
    """One line with its points; a single point has its name beside it."""
    colour = palette.SIGNALS[line.colour][0]
    spots = [(x.at(a), y.at(b)) for a, b in line.points]
    path = "M" + "L".join(f"{a:.1f} {b:.1f}" for a, b in spots)
    parts = []
    if len(spots) > 1:
        parts.append(element("path", d=path, fill="none", stroke=colour, stroke_width="2",
                             stroke_dasharray="5 4" if line.dashed else None))  # fmt: skip
    for (a, b), (_, value) in zip(spots, line.points):
        if line.mark:
            tip = title(f"{line.name}: {_number(round(value, 3))}")
            parts.append(element("circle", tip, cx=a, cy=b, r="3.5", fill=colour))
    if len(spots) == 1:
        a, b = spots[0]
        parts.append(element("text", escape(line.name), x=a + 8, y=b + 14, font_size="11", fill=colour))
    return parts


def _end_labels(ends: list[tuple[float, str, int]]) -> list[str]:
    """The names to the right of the lines, moved apart where lines end close to each other.

    Labels are pushed down where they would overlap; where the last would leave the chart, all of them move up by as
    much.
    """
    rows = sorted(ends)
    places: list[float] = []
    for at, _, _ in rows:
        places.append(max(at, places[-1] + _LABEL_GAP) if places else at)
    over = places[-1] - (_HEIGHT - _BOTTOM) if places else 0.0
    if over > 0:
        places = [place - over for place in places]
    return [
        element("text", escape(name), x=WIDTH - _RIGHT + 6, y=place + 4, font_size="11",
                fill=palette.SIGNALS[colour][0])
        for place, (_, name, colour) in zip(places, rows)
    ]  # fmt: skip


def _legend(kinds: Sequence[str]) -> list[str]:
    """A coloured square and a name for each kind of part; nothing for one kind alone."""
    parts, x = [], WIDTH - 24.0
    for k, kind in reversed(list(enumerate(kinds))):
        x -= text_width(kind, 11)
        parts.append(label(x, 46, kind, size=11, anchor="start", kind="soft"))
        x -= 16
        parts.append(element("rect", x=x, y=37.0, width=11.0, height=11.0, fill=_BAR_FILLS[k % len(_BAR_FILLS)]))
        x -= 14
    return parts if len(kinds) > 1 else []


def _bar_name(x: float, y: float, name: str, slanted: bool) -> str:
    """The name below a bar, slanted where there is little room."""
    if not slanted:
        return label(x, y, name, size=11, kind="soft")
    turned = f"rotate(-38 {x:.1f} {y:.1f})"
    return element("text", escape(name), x=x, y=y, font_size="11", text_anchor="end",
                   fill=palette.surface("soft"), transform=turned)  # fmt: skip


def _number(value: float) -> str:
    return f"{value:,.0f}" if value == int(value) else f"{value:g}"
