"""Figures of suites of loops by mapper: loops mapped and speed-ups for each array, speed-ups of each loop, strategies.

These are the figures in which mappers of loops are compared: ``mapped`` counts the loops that map onto each array,
``speedup`` is the geometric mean over a processor for each array (a loop that does not map runs on the processor),
``by-loop`` shows the same for each loop, and ``strategies`` how many loops use each routing strategy.

A row is one cell of a suite's report as plain data: ``cell``, ``mapper``, ``status``, ``ii``, and ``sequential``, the
cycles of an iteration on the processor. Rows without the last are passed over.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Final

from gridloom.emit.picture import palette
from gridloom.emit.plots.chart import Bar, ChartSeries, Panel, bar_chart, line_chart, picture

Row = Mapping[str, Any]
_COLOURS: Final = len(palette.SIGNALS)


def plot(rows: Iterable[Row], figure: str, suite: str) -> str | None:
    """Return one figure of ``FIGURES`` as SVG text; None: no row has such a number."""
    loops = [row for row in rows if row.get("sequential")]
    panels = _PANELS[figure](loops, suite) if loops else []
    return picture(panels, f"{suite}, {panels[0].name}") if panels else None


def _mapped(rows: Sequence[Row], suite: str) -> list[Panel]:
    """Loops that map, over the arrays of the suite; a line for each mapper."""
    return [_over_arrays("Loops mapped", "loops", rows, suite, _count)]


def _speedups(rows: Sequence[Row], suite: str) -> list[Panel]:
    """Mean speed-ups over the arrays of the suite; a line for each mapper."""
    return [_over_arrays("Speed-up over a processor", "times as fast", rows, suite, _mean_speed)]


def _by_loop(rows: Sequence[Row], suite: str) -> list[Panel]:
    """Speed-ups of each loop: a panel for each mapper, with the mean over arrays and seeds."""
    panels = []
    for mapper in _names(rows, "mapper"):
        mine = [row for row in rows if row["mapper"] == mapper]
        sources = list(dict.fromkeys(row["cell"]["source"] for row in mine))
        bars = []
        for source in sources:
            value = _mean_speed([row for row in mine if row["cell"]["source"] == source])
            name = source.rpartition(":")[2].rpartition("/")[2]
            bars.append(Bar(name, ((mapper, value),), f"{value:.1f}"))
        panels.append(bar_chart(f"Speed-up of each loop, {mapper}", bars, y_title="times as fast", note=_note(suite)))
    return panels


def _strategies(rows: Sequence[Row], suite: str) -> list[Panel]:
    """Loops that use each strategy: a panel for each mapper that says so."""
    panels = []
    for mapper in _names(rows, "mapper"):
        used = [row["search"]["strategies"] for row in rows if row["mapper"] == mapper and row.get("search")]
        names = sorted({name for one in used for name in one})
        bars = [Bar(name, (("loops", float(sum(name in one for one in used))),)) for name in names]
        if bars:
            note = f"{suite}: {len(used)} mapped cells"
            panels.append(bar_chart(f"Loops that use a strategy, {mapper}", bars, y_title="loops", note=note))
    return panels


_PANELS: Final = {"mapped": _mapped, "speedup": _speedups, "by-loop": _by_loop, "strategies": _strategies}
FIGURES: Final = tuple(_PANELS)


def _over_arrays(
    name: str, axis: str, rows: Sequence[Row], suite: str, value: Callable[[Sequence[Row]], float]
) -> Panel:
    """A line for each mapper over the arrays, which are numbered in the order of the suite."""
    archs = list(dict.fromkeys(row["cell"]["arch"] for row in rows))
    series = []
    for k, mapper in enumerate(_names(rows, "mapper")):
        points = []
        for x, arch in enumerate(archs, 1):
            part = [row for row in rows if row["mapper"] == mapper and row["cell"]["arch"] == arch]
            if part:
                points.append((float(x), value(part)))
        series.append(ChartSeries(mapper, tuple(points), k % _COLOURS))
    numbers = [float(x) for x in range(1, len(archs) + 1)]
    title = f"array ({archs[0]} to {archs[-1]})" if len(archs) > 1 else f"array ({archs[0]})"
    return line_chart(name, series, x_title=title, y_title=axis, x_ticks=numbers, y_from=0, note=_note(suite))


def _note(suite: str) -> str:
    """The words under a title."""
    return f"{suite}: geometric means; a loop that does not map runs on the processor"


def _names(rows: Sequence[Row], key: str) -> list[str]:
    """The different values of a key, in the order of the rows."""
    return list(dict.fromkeys(str(row[key]) for row in rows))


def _count(rows: Sequence[Row]) -> float:
    """The number of rows with a mapping."""
    return float(sum(row["status"] == "mapped" for row in rows))


def _mean_speed(rows: Sequence[Row]) -> float:
    """The geometric mean of the speed-ups of some rows."""
    speeds = [row["sequential"] / row["ii"] if row["status"] == "mapped" else 1.0 for row in rows]
    return math.exp(math.fsum(map(math.log, speeds)) / len(speeds))
