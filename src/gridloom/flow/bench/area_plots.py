"""The figures of the area benchmark, each from the rows of one report.

Each function takes the rows that its figure needs from the report and returns a panel; published figures are drawn as
bands or single points beside ours. Gates and FPGA targets have different units, so that they are never in one figure.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

from gridloom.emit.plots.chart import Band, Bar, ChartSeries, Panel, bar_chart, line_chart, picture
from gridloom.flow.bench.area import AreaReport, AreaRow

UNITS: Final = {"gates": "NAND2 equivalents", "intel": "ALM halves", "xilinx": "LUTs"}
#: Published overheads against the mesh without FIFOs and routing, as (low, high).
_BANDS: Final = {
    "gates": {"chess": (1.05, 1.05), "onehop": (1.08, 1.08)},
    "intel": {"chess": (1.2, 1.3), "onehop": (1.4, 1.5)},
    "xilinx": {"chess": (1.2, 1.3), "onehop": (1.4, 1.5)},
}
_COLOUR: Final = {"mesh": 4, "chess": 0, "onehop": 1, "hex": 2}
_PUBLISHED_GROWTH: Final = 3.8
_MIDDLE_ROWS: Final = 18


def plot(report: AreaReport, figure: str) -> str:
    """Return one figure as SVG text; ``all`` puts all figures of a target below each other."""
    known = figures(report.target)
    if figure == "all":
        return picture([draw(report) for draw in known.values()], f"areas, {report.target}")
    panel = known[figure](report)
    return picture([panel], panel.name)


def figures(target: str) -> Mapping[str, Callable[[AreaReport], Panel]]:
    """Return the functions that draw a target's figures, by name.

    Shares of registers are areas only where registers and logic are measured in one unit.
    """
    drawn = {"overhead": overhead, "fifo": fifo, "growth": growth, "registers": registers, "four-bit": four_bit}
    return drawn if target == "gates" else {name: draw for name, draw in drawn.items() if name != "registers"}


def overhead(report: AreaReport) -> Panel:
    """Draw what the wires and multiplexers of a topology cost, over the size of the array."""
    lines, bands = [], []
    for family in ("chess", "onehop"):
        rows = report.select(family=family, routing=False, fifo=0, soft=False)
        lines.append(_ratios(family, rows, _COLOUR[family]))
        soft = report.select(family=family, routing=False, fifo=0, soft=True)
        if soft:
            lines.append(_ratios(f"{family}, multipliers in LUTs", soft, _COLOUR[family], dashed=True))
        low, high = _BANDS[report.target][family]
        text = f"{low:g}" if low == high else f"{low:g}-{high:g}"
        bands.append(Band(f"{family}, published {text}", low, high, _COLOUR[family]))
    return line_chart(
        f"Overhead of links, 16 bits, {report.target}",
        lines,
        bands=bands,
        x_title="PEs",
        y_title="area over the mesh's",
        x_ticks=[row.tiles for row in report.select(family="mesh", routing=False, soft=False)],
        y_from=1.0,
        note="without FIFOs and without ways through PEs; both against the mesh of the same size",
    )


def fifo(report: AreaReport) -> Panel:
    """Draw what operand FIFOs cost by their depth, next to topologies that need none."""
    sizes = sorted({row.rows for row in report.rows if row.width == 16})
    lines = []
    for k, rows in enumerate(dict.fromkeys((sizes[0], sizes[-1]))):
        chosen = report.select(family="mesh", routing=True, rows=rows, width=16)
        points = tuple((row.fifo, row.ratio) for row in chosen)
        lines.append(ChartSeries(f"mesh {rows}x{rows}", points, 4 + k))
    for family in ("chess", "onehop", "hex"):
        for row in report.select(family=family, routing=True, rows=_middle(report)):
            name = f"{family} {row.rows}x{row.rows}, no FIFO"
            lines.append(ChartSeries(name, ((0, row.ratio), (4, row.ratio)), _COLOUR[family], dashed=True, mark=False))
    return line_chart(
        f"FIFO depth, 16 bits, {report.target}",
        lines,
        x_title="FIFO depth (cycles)",
        y_title="area over the plain mesh's",
        x_ticks=range(5),
        y_from=1.0,
        note="with ways through PEs; against the mesh of the same size without them and without FIFOs",
    )


def growth(report: AreaReport) -> Panel:
    """Draw how the area grows with the array."""
    base = report.select(family="mesh", routing=False, soft=False)
    first = base[0]
    lines = []
    for name, colour, rows in (
        ("mesh", 4, base),
        ("chess", 0, report.select(family="chess", routing=False, soft=False)),
        ("onehop", 1, report.select(family="onehop", routing=False, soft=False)),
        ("mesh, routing, FIFO 4", 5, report.select(family="mesh", routing=True, fifo=4)),
    ):
        lines.append(ChartSeries(name, tuple((row.tiles, row.area / first.area) for row in rows), colour))
    linear = tuple((row.tiles, row.tiles / first.tiles) for row in base)
    lines.append(ChartSeries("proportional to PEs", linear, 8, dashed=True, mark=False))
    if report.target == "gates" and len(base) > 1:
        lines.append(ChartSeries("18x18 published: 3.8", ((324.0, _PUBLISHED_GROWTH),), 7))
    return line_chart(
        f"Growth, 16 bits, {report.target}",
        lines,
        x_title="PEs",
        y_title=f"area over the {first.rows}x{first.rows} mesh's",
        x_ticks=[row.tiles for row in base],
        y_from=0.0,
        note=f"sums over the units; the {first.rows}x{first.rows} mesh takes {first.area:,.0f} {UNITS[report.target]}",
    )


def registers(report: AreaReport) -> Panel:
    """Draw which share of an array's area are registers."""
    middle = _middle(report)
    base = report.select(family="mesh", routing=False, rows=middle)[0].area
    small = report.select(family="mesh", routing=False)[:1]
    plain = [row for f in ("mesh", "chess", "onehop") for row in report.select(family=f, routing=False, rows=middle)]
    routed = [
        row for f in ("mesh", "chess", "onehop") for row in report.select(family=f, routing=True, rows=middle, fifo=0)
    ]
    deep = [row for depth in (1, 2, 3, 4) for row in report.select(routing=True, rows=middle, fifo=depth)]
    bars = []
    for row in [*small, *plain, *routed, *deep]:
        parts = _parts(row, report.target, row.area / base)
        bars.append(Bar(_bar_name(row), parts, f"{row.register_share:.0%}"))
    return bar_chart(
        f"Registers in the area, 16 bits, {report.target}",
        bars,
        y_title=f"area over the {middle}x{middle} mesh's",
        note="above each bar the share of its registers, configuration memory included",
    )


def four_bit(report: AreaReport) -> Panel:
    """Draw the area of an array of 4-bit words by how many of its elements multiply."""
    bars = []
    for mul, name in (("none", "none multiply"), ("checkerboard", "half multiply"), ("all", "all multiply")):
        for row in report.select(width=4, mul=mul):
            note = f"{row.area:,.0f}" + (f", {row.blocks:,} multiplier blocks" if row.blocks else "")
            bars.append(Bar(name, _parts(row, report.target, row.area / 1000), note))
    return bar_chart(
        f"4-bit array of 46x66 PEs, {report.target}",
        bars,
        y_title=f"1,000 {UNITS[report.target]}",
        note="mesh with ways through PEs, no FIFOs; eight ops with multiplication, seven without",
    )


def _middle(report: AreaReport) -> int:
    """Return the side of the array that single-size figures show: 18, or the smallest where there is none."""
    sizes = sorted({row.rows for row in report.rows if row.width == 16})
    return _MIDDLE_ROWS if _MIDDLE_ROWS in sizes else sizes[0]


def _ratios(name: str, rows: list[AreaRow], colour: int, *, dashed: bool = False) -> ChartSeries:
    """Return a line of area ratios over the number of PEs."""
    return ChartSeries(name, tuple((row.tiles, row.ratio) for row in rows), colour, dashed)


def _parts(row: AreaRow, target: str, size: float) -> tuple[tuple[str, float], ...]:
    """Return the parts of a bar: registers and logic apart where both are measured in one unit, else the whole."""
    if target != "gates":
        return ((UNITS[target], size),)
    return (("registers", size * row.register_share), ("logic", size * (1 - row.register_share)))


def _bar_name(row: AreaRow) -> str:
    """Return what a bar is called: the array, and its FIFO depth or that values pass through it."""
    words = f"{row.family} {row.rows}x{row.rows}"
    return words + (f", FIFO {row.fifo}" if row.fifo else ", routing" if row.routing else "")
