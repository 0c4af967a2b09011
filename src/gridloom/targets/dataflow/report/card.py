"""A card of the report for pipelines: units by stage, links by load, the bottleneck, and a table of operations.

The numbers are measured by the elastic simulator and handed in as a :class:`DataflowLoad`. The table is a roofline
(Williams et al. 2009) with the on-chip links in the place of the memory: an operation cannot be faster than its units
compute, nor than its links bring vectors. In each cycle a unit is busy, starved (an input is empty), stalled (an output
is full), or has nothing to do.
"""

from __future__ import annotations

from collections.abc import Mapping as MappingABC
from dataclasses import dataclass
from typing import Final

from gridloom.archs.model import Arch
from gridloom.emit.picture import palette
from gridloom.emit.picture.text import escape

_CELL: Final = 44.0
_EDGE: Final = 48.0
#: Colours of links by load, one for each quarter of the cycles; the palest ones of the heat map do not show as lines.
_LOADS: Final = palette.HEAT[2:]
_HOT: Final = "#d00000"
#: Hues go round so that neighbouring stages differ clearly.
_HUE_STEP: Final = 137.5


@dataclass(frozen=True, slots=True, kw_only=True)
class UnitLoad:
    """What a unit did with its cycles, as shares."""

    tile: str
    node: str
    operation: str
    stage: int
    busy: float
    starved: float
    stalled: float


@dataclass(frozen=True, slots=True, kw_only=True)
class OperationLoad:
    """One row of the roofline table; rates are floating-point operations per cycle."""

    operation: str
    units: int
    flops: int
    #: Floating-point operations per byte that goes into its units.
    intensity: float
    #: What its units could do, what the vectors let them do that their links can bring, and what they do.
    peak: float
    roof: float
    reached: float
    busy: float
    starved: float
    stalled: float


@dataclass(frozen=True, slots=True, kw_only=True)
class ColdLoad:
    """When the steps of a start with one sample are done, in cycles since the array had no configuration."""

    configured: int
    loaded: int
    first_output: int
    last_output: int


@dataclass(frozen=True, kw_only=True)
class DataflowLoad:
    """A measured pipeline.

    ``period`` and ``bound`` are cycles per block: what was measured, and what the slowest stage needs at least. Links
    are named as in the array (``FROM>TO#CHANNEL``).
    """

    period: float
    bound: float
    bottleneck: str
    #: Tiles and links that the bottleneck's sentence is about.
    hot: frozenset[str]
    units: tuple[UnitLoad, ...]
    operations: tuple[OperationLoad, ...]
    #: Link -> share of cycles in which it carries a vector.
    links: MappingABC[str, float]
    #: The start with one sample, where it was simulated.
    cold: ColdLoad | None = None


def dataflow_card(arch: Arch, load: DataflowLoad) -> str:
    """The card as HTML. Linear in units and links."""
    return (
        '<section class="card wide" aria-labelledby="h-flow"><h2 id="h-flow">Pipeline</h2><div class="flow">'
        f'<div class="picture">{load_picture(arch, load)}</div><div>'
        f"<p>Period {load.period:,.0f} cycles per block; the least possible is {load.bound:,.0f} "
        f"({100 * load.bound / load.period:.0f} %). <strong>{escape(load.bottleneck)}</strong></p>"
        f"{_cold(load.cold)}{_legend(load)}{_table(load)}</div></div></section>"
    )


def _cold(cold: ColdLoad | None) -> str:
    """The start with one sample in a sentence."""
    if cold is None:
        return ""
    return (
        f"<p>One sample alone, from an array without configuration: configured after {cold.configured:,} cycles, "
        f"weights loaded after {cold.loaded:,}, first block of results after {cold.first_output:,}, "
        f"last one after {cold.last_output:,}.</p>"
    )


def load_picture(arch: Arch, load: DataflowLoad) -> str:
    """The grid as SVG: units in the colour of their stage, links as dark as they are loaded, the bottleneck ringed.

    Links are drawn from the palest to the darkest, so that a loaded one is never covered. Units that the pipeline
    leaves free are dashed.
    """
    centres = {tile.name: _centre(arch, tile.name) for tile in arch.tiles}
    left, right = min(x for x, _ in centres.values()), max(x for x, _ in centres.values())
    top, bottom = min(y for _, y in centres.values()), max(y for _, y in centres.values())
    width, height = right - left + _CELL, bottom - top + _CELL
    view = f"{left - _CELL / 2:.0f} {top - _CELL / 2:.0f} {width:.0f} {height:.0f}"
    size = f'width="{width:.0f}" height="{height:.0f}" viewBox="{view}"'
    parts = [f'<svg xmlns="http://www.w3.org/2000/svg" {size} role="img" aria-label="Load of units and links">']
    for name, share in sorted(load.links.items(), key=lambda item: item[1]):
        parts.append(_link(arch, name, share, hot=name in load.hot))
    used = {unit.tile: unit for unit in load.units}
    for tile in arch.tiles:
        if tile.kind != "switch":
            x, y = centres[tile.name]
            parts.append(_unit(x, y, tile.kind, used.get(tile.name), hot=tile.name in load.hot))
    return "".join([*parts, "</svg>"])


def stage_colour(stage: int) -> str:
    """The fill of a pipeline stage."""
    return f"hsl({(stage * _HUE_STEP) % 360:.0f} 65% 72%)"


def _centre(arch: Arch, name: str) -> tuple[float, float]:
    """Where a tile is drawn: units between four switches, switches at the corners of the cells."""
    tile = arch.tiles[arch.tile_index[name]]
    if tile.kind == "switch":
        return _EDGE + tile.col * _CELL, _EDGE + tile.row * _CELL
    return _EDGE + (tile.col + 0.5) * _CELL, _EDGE + (tile.row + 0.5) * _CELL


def _unit(x: float, y: float, kind: str, unit: UnitLoad | None, *, hot: bool) -> str:
    """A unit in its stage's colour; dashed where it is unused.

    The height of its bar is the share of cycles in which it works.
    """
    half = 13.0
    corner = 2 if kind == "cu" else 9
    box = f'x="{x - half:.1f}" y="{y - half:.1f}" width="{2 * half}" height="{2 * half}" rx="{corner}"'
    if unit is None:
        return f'<rect {box} fill="none" stroke="#8888" stroke-dasharray="3 3"/>'
    words = (
        f"{unit.node} ({unit.operation}, stage {unit.stage}) on {unit.tile}: busy {unit.busy:.0%}, "
        f"starved {unit.starved:.0%}, stalled {unit.stalled:.0%}"
    )
    filled = (
        f'x="{x - half:.1f}" y="{y + half - 2 * half * unit.busy:.1f}" width="4" height="{2 * half * unit.busy:.1f}"'
    )
    rim = f'stroke="{_HOT}" stroke-width="4"' if hot else 'stroke="#444"'
    return (
        f'<g><title>{escape(words)}</title><rect {box} fill="{stage_colour(unit.stage)}" {rim}/>'
        f'<rect {filled} fill="#333"/></g>'
    )


def _link(arch: Arch, name: str, share: float, *, hot: bool) -> str:
    """A link as a line beside the middle of its channel, coloured by load."""
    first, _, second = name.partition(">")
    target, _, channel = second.partition("#")
    (x1, y1), (x2, y2) = _centre(arch, first), _centre(arch, target)
    length = max(1.0, abs(x2 - x1) + abs(y2 - y1))
    # Each direction and channel beside the other, on its own side of the line between the two.
    shift = 2.0 + 3.0 * int(channel or 0)
    dx, dy = -(y2 - y1) / length * shift, (x2 - x1) / length * shift
    ends = f'x1="{x1 + dx:.1f}" y1="{y1 + dy:.1f}" x2="{x2 + dx:.1f}" y2="{y2 + dy:.1f}"'
    colour = _HOT if hot else _LOADS[min(len(_LOADS) - 1, int(share * len(_LOADS)))]
    return (
        f'<line {ends} stroke="{colour}" stroke-width="{1.2 + 2 * min(1.0, share):.1f}">'
        f"<title>{escape(name)}: {share:.0%}</title></line>"
    )


def _legend(load: DataflowLoad) -> str:
    """Stages by colour with what is done in them, then the colours of links and the shapes of units."""
    stages: dict[int, dict[str, None]] = {}
    for unit in load.units:
        stages.setdefault(unit.stage, {})[unit.operation] = None
    items = []
    for stage, operations in sorted(stages.items()):
        names = [*operations][:3]
        more = f" and {len(operations) - 3} more" if len(operations) > 3 else ""
        items.append(f'<li><i style="background:{stage_colour(stage)}"></i>{escape(", ".join(names) + more)}</li>')
    scale = "".join(f'<i style="background:{colour}"></i>' for colour in _LOADS)
    return (
        f'<ul class="stages" aria-label="Stages">{"".join(items)}</ul>'
        f'<p class="hint"><span class="scale"><span>links: 0 %</span>{scale}<span>100 % of the cycles</span></span><br>'
        "Squares are compute units, round shapes are memory units or DRAM; the bar in a unit is the share of cycles in "
        "which it works, and the bottleneck is red.</p>"
    )


def _table(load: DataflowLoad) -> str:
    """The roofline table: one row per operation; the roof says whether units or links set it."""
    heads = (
        "operation", "units", "FLOP per block", "FLOP per byte", "FLOP per cycle", "peak", "roof", "of its roof",
        "starved", "stalled",
    )  # fmt: skip
    head = "".join(f'<th scope="col">{name}</th>' for name in heads)
    rows = []
    for row in load.operations:
        # Operations without floating-point work have no roof.
        share = row.reached / row.roof if row.roof else 0.0
        roof = f"{row.roof:,.0f} ({'units' if row.roof >= row.peak else 'links'})"
        cells = (
            str(row.units), f"{row.flops:,}", f"{row.intensity:.2f}", f"{row.reached:,.1f}", f"{row.peak:,.0f}", roof,
            f"{share:.0%}", f"{row.starved:.0%}", f"{row.stalled:.0%}",
        )  # fmt: skip
        body = "".join(f"<td>{escape(cell)}</td>" for cell in cells)
        rows.append(f'<tr><th scope="row">{escape(row.operation)}</th>{body}</tr>')
    return (
        f'<div class="scroll"><table class="roofline"><thead><tr>{head}</tr></thead>'
        f"<tbody>{''.join(rows)}</tbody></table></div>"
    )
