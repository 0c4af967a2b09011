"""Figures of an exploration with matplotlib, as SVG and PNG: the front, the steps of parameters, heat maps of arrays.

matplotlib comes with the extra ``explore``; figures raise MissingExtra without it.
"""

from __future__ import annotations

import io
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from gridloom.emit.picture.text import escape
from gridloom.errors import MissingExtra, install_hint
from gridloom.explore.answers import front, sensitivity
from gridloom.explore.points import Evaluated
from gridloom.explore.search import Exploration
from gridloom.explore.space import OBJECTIVES

#: Colours for the values of the first parameter, which colour-blind readers can tell apart too.
COLOURS: Final = ("#2f6db5", "#c2620c", "#2b8348", "#b23a7c", "#6d4bb8", "#0e7c86", "#85701f", "#66707e")
MARKERS: Final = "osD^vPX*"
UNITS: Final[Mapping[str, str]] = {
    "mapped": "kernels mapped (share)",
    "area": "area (NAND2 equivalents)",
    "energy": "energy (pJ)",
    "levels": "critical path (logic levels)",
    "ii": "II (geometric mean)",
    "latency": "latency, cycles (geometric mean)",
    "throughput": "iterations per cycle (geometric mean)",
    "fifo_total": "FIFO cycles per kernel (mean)",
    "fifo_max": "deepest FIFO",
    "cycles": "cycles (geometric mean)",
    "wirelength": "wirelength (mean)",
    "occupancy": "occupancy (mean)",
    "tiles": "tiles",
    "luts": "LUTs (ECP5)",
    "mhz": "clock (MHz on an ECP5)",
    "ns": "time of all iterations, ns (geometric mean)",
    "gops": "Gops (geometric mean)",
}


def figures(exploration: Exploration) -> dict[str, Any]:
    """Return name -> matplotlib figure: two objectives against each other, and the steps of each parameter."""
    made = {}
    if len(exploration.space.objectives) > 1:
        made["front"] = front_figure(exploration)
    if sensitivity(exploration):
        made["sensitivity"] = step_figure(exploration)
    return made


def front_figure(exploration: Exploration) -> Any:
    """Return a figure of all points by the last objective (x) and the first (y), with the front as a line."""
    up, across = exploration.space.objectives[0], exploration.space.objectives[-1]
    figure, axes = _axes(7.2, 4.6)
    key = next(iter(exploration.space.parameters), None)
    values = exploration.space.values(key) if key else ()
    for k, one in enumerate(exploration.points):
        x, y = one.figures.get(across), one.figures.get(up)
        if x is None or y is None:
            continue
        group = values.index(one.point.values[key]) if key else 0
        colour = COLOURS[group % len(COLOURS)]
        dots = axes.scatter(
            [x], [y], s=34, color=colour if one.feasible else "none", edgecolors=colour, linewidths=1.1,
            marker=MARKERS[group % len(MARKERS)], alpha=0.9 if one.feasible else 0.45, zorder=3,
        )  # fmt: skip
        dots.set_gid(f"point-{k}")
        _draw_intervals(axes, one, across, up, colour)
    best = sorted((one.figures[across], one.figures[up]) for one in front(exploration.points, (up, across)))
    axes.step([x for x, _ in best], [y for _, y in best], where="post", color="#1c2430", linewidth=1.2, zorder=2)
    for group, value in enumerate(values):
        colour, marker = COLOURS[group % len(COLOURS)], MARKERS[group % len(MARKERS)]
        axes.scatter([], [], color=colour, marker=marker, s=34, label=f"{key} {value}")
    if values:
        axes.legend(frameon=False, fontsize=9, ncols=max(1, len(values) // 6 + 1))
    for axis, name in ((axes.xaxis, across), (axes.yaxis, up)):
        if all(float(one.figures.get(name) or 0).is_integer() for one in exploration.points):
            axis.get_major_locator().set_params(integer=True)
    axes.set_xlabel(f"{UNITS[across]} ({'more' if OBJECTIVES[across] else 'less'} is better)")
    axes.set_ylabel(UNITS[up])
    axes.set_title("All arrays; hollow ones violate a constraint; the line is the Pareto front", fontsize=10)
    return figure


def _draw_intervals(axes: Any, one: Evaluated, across: str, up: str, colour: str) -> None:
    """Draw the intervals of a point over the seeds as thin lines."""
    x, y = one.figures[across], one.figures[up]
    if across in one.intervals:
        axes.plot(one.intervals[across], [y, y], color=colour, linewidth=0.8, alpha=0.7)
    if up in one.intervals:
        axes.plot([x, x], one.intervals[up], color=colour, linewidth=0.8, alpha=0.7)


def step_figure(exploration: Exploration) -> Any:
    """Return a bar chart of how each step of each parameter changes the objectives."""
    steps = sensitivity(exploration)
    names = list(steps[0].changes)
    figure, axes = _axes(7.2, max(2.2, 0.34 * len(steps) * max(1, len(names) / 2) + 1.0))
    height = 0.8 / len(names)
    for k, name in enumerate(names):
        places = [row + (k - (len(names) - 1) / 2) * height for row in range(len(steps))]
        bars = [step.changes.get(name, 0.0) for step in steps]
        axes.barh(places, bars, height=height * 0.9, color=COLOURS[k % len(COLOURS)], label=name.replace("_", " "))
    axes.set_yticks(range(len(steps)), [f"{s.parameter} {s.before} → {s.after}" for s in steps], fontsize=9)
    axes.invert_yaxis()
    axes.axvline(0, color="#1c2430", linewidth=0.8)
    axes.set_xlabel("change in % (mapped, occupancy: percentage points)")
    axes.legend(frameon=False, fontsize=9)
    return figure


def heat_figure(table: Sequence[Sequence[float]], title: str, label: str) -> Any:
    """Return a grid of numbers as colours with the numbers written in, one cell per tile."""
    rows, cols = len(table), len(table[0])
    figure, axes = _axes(0.42 * cols + 1.4, 0.42 * rows + 1.0)
    image = axes.imshow(table, cmap="YlGnBu", vmin=0)
    top = max(max(row) for row in table) or 1
    for r, row in enumerate(table):
        for c, value in enumerate(row):
            if value:
                colour = "white" if value > 0.6 * top else "#1c2430"
                axes.text(c, r, f"{value:g}", ha="center", va="center", fontsize=8, color=colour)
    axes.set_xticks(range(cols), range(cols), fontsize=7)
    axes.set_yticks(range(rows), range(rows), fontsize=7)
    axes.grid(False)
    axes.set_title(title, fontsize=10)
    figure.colorbar(image, ax=axes, label=label, fraction=0.04, pad=0.03)
    return figure


def svg_text(figure: Any, titles: Sequence[str] = ()) -> str:
    """Return a figure as SVG for a page; each point gets a title, which is shown when the pointer rests on it."""
    text = io.StringIO()
    figure.savefig(text, format="svg", metadata={"Date": None})
    svg = text.getvalue()
    # A page takes the element without the XML declaration before it.
    svg = svg[svg.index("<svg") :]

    def titled(match: re.Match[str]) -> str:
        return f"{match.group(0)}<title>{escape(titles[int(match.group(1))])}</title>"

    return re.sub(r'<g id="point-(\d+)">', titled, svg) if titles else svg


def save(figure: Any, folder: Path, name: str) -> list[Path]:
    """Write a figure as NAME.svg and NAME.png and return the files."""
    files = [folder / f"{name}.svg", folder / f"{name}.png"]
    for file in files:
        figure.savefig(file, dpi=160)
    return files


def point_titles(points: Sequence[Evaluated], objectives: Sequence[str]) -> list[str]:
    """Return the title of each point: its parameters and its objectives."""
    return [
        f"{one.point.name}\n" + ", ".join(f"{name} {_number(one.figures.get(name))}" for name in objectives)
        for one in points
    ]


def _number(value: float | None) -> str:
    """Return a figure for a title, to four digits."""
    return "-" if value is None else f"{value:.4g}"


def _axes(width: float, height: float) -> tuple[Any, Any]:
    """A figure with one plain plot. MissingExtra where matplotlib is not installed."""
    try:
        from matplotlib.figure import Figure
    except ImportError:
        raise MissingExtra(f"figures need matplotlib, which is not installed: {install_hint('explore')}") from None
    # Not by pyplot: it would choose a window system and keep every figure.
    figure = Figure(figsize=(width, height), layout="constrained")
    axes = figure.subplots()
    axes.grid(True, color="#e3e8ee", linewidth=0.7)
    axes.set_axisbelow(True)
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)
    return figure, axes
