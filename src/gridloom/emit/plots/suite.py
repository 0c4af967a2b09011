"""The figures of a suite, each drawn from the rows of one report: one line per array, over the size of the graphs.

A row is one cell of a suite's report as plain data: ``cell`` (source, arch), ``dfg`` (nodes), ``status`` and metrics.
Only mapped cells have numbers; a line that ends early belongs to an array on which larger graphs did not map.
"""

from __future__ import annotations

import statistics
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Final, NamedTuple

from gridloom.emit.picture import palette
from gridloom.emit.plots.chart import ChartSeries, ChartSpan, Panel, interval_chart, line_chart, picture

Row = Mapping[str, Any]


class _Figure(NamedTuple):
    """A figure: its title, the title of its y axis, and the number it shows of a row."""

    name: str
    axis: str
    #: Returns None for a row without such a number.
    value: Callable[[Row], float | None]


_FIGURES: Final = {
    "ii": _Figure("Initiation interval", "II", lambda row: row["ii"]),
    "fifo": _Figure("Deepest FIFO", "cycles", lambda row: (row["buffers"] or {}).get("max")),
    "wirelength": _Figure("Wirelength", "links beyond one per route", lambda row: row["wirelength"]),
    "seconds": _Figure("Search", "seconds", lambda row: row["seconds"]),
}
FIGURES: Final = tuple(_FIGURES)


def plot(rows: Iterable[Row], figure: str, suite: str) -> str | None:
    """Return one figure of a suite as SVG text; ``all``: those in which arrays or graphs differ.

    None: no row has such a number. A point stands for the graphs of one size on an array: the median over seeds, and
    the mean over graphs.

    ``figure`` is one of ``FIGURES`` or ``all``; rows without a graph are passed over.
    """
    mapped = [row for row in rows if row["status"] == "mapped" and row["dfg"]]
    if figure != "all":
        panel = _panel(_FIGURES[figure], mapped, suite)
        return None if panel is None else picture([panel], f"{suite}, {panel.name}")
    drawn = [_panel(one, mapped, suite) for one in _FIGURES.values() if _differs(one, mapped)]
    panels = [panel for panel in drawn if panel is not None]
    return picture(panels, suite) if panels else None


def _differs(figure: _Figure, rows: Sequence[Row]) -> bool:
    """Whether a figure shows anything: at least two different numbers."""
    return len({figure.value(row) for row in rows} - {None}) > 1


def _panel(figure: _Figure, rows: Sequence[Row], suite: str) -> Panel | None:
    """The chart of one figure; None where no row has a number."""
    lines: dict[str, dict[int, dict[str, list[float]]]] = {}
    for row in rows:
        value = figure.value(row)
        if value is not None:
            line = lines.setdefault(_array(row), {})
            line.setdefault(row["dfg"]["nodes"], {}).setdefault(row["cell"]["source"], []).append(float(value))
    if not lines:
        return None
    series = [
        ChartSeries(name, tuple(sorted((size, _typical(graphs)) for size, graphs in sizes.items())), k % _COLOURS)
        for k, (name, sizes) in enumerate(lines.items())
    ]
    return line_chart(
        figure.name,
        series,
        x_title="nodes",
        y_title=figure.axis,
        y_from=0,
        note=f"{suite}: medians over seeds, means over graphs of one size; mapped cells only",
    )


def plot_comparison(rows: Sequence[Row], suite: str) -> str | None:
    """Return the ratios of mappers to the first one with their intervals, by array, as SVG text.

    ``rows`` are those of a comparison as plain data. None: no mapper shares a cell with the first one.
    """
    drawn = [row for row in rows if row["ratio"] is not None]
    if not drawn:
        return None
    names = list(dict.fromkeys(str(row["mapper"]) for row in drawn))
    spans = [
        ChartSpan(str(row["arch"]), str(row["mapper"]), row["ratio"], row["ratio_low"], row["ratio_high"],
                  names.index(str(row["mapper"])) % _COLOURS)
        for row in drawn
    ]  # fmt: skip
    metric = str(drawn[0]["metric"]).replace("_", " ")
    panel = interval_chart(
        f"{'II' if metric == 'ii' else metric.capitalize()} beside {rows[0]['mapper']}",
        spans,
        y_title="ratio, less is better",
        level=1.0,
        note=f"{suite}: geometric means over cells that both map, with 95 % intervals",
    )
    return picture([panel], f"{suite}, {panel.name}")


_COLOURS: Final = len(palette.SIGNALS)


def _typical(graphs: Mapping[str, Sequence[float]]) -> float:
    """The number of a point: the median over the seeds of each graph, then the mean over graphs."""
    return statistics.fmean(statistics.median(values) for values in graphs.values())


def _array(row: Row) -> str:
    """The name of an array's line: without the words that stand for a size."""
    family, _, options = str(row["cell"]["arch"]).partition(":")
    kept = [word for word in options.split(",") if word not in ("", "auto", "fit")]
    mapper = "" if row.get("mapper") in (None, "anneal") else f" {row['mapper']}"
    return ", ".join([family, *kept]) + mapper
