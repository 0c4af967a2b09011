"""A card of the report for pipelines: the grid by stage, links by load, the bottleneck, a table by operation."""

from __future__ import annotations

from collections.abc import Mapping as MappingABC
from dataclasses import dataclass
from typing import Final

from gridloom.arch.model import Arch
from gridloom.emit import palette
from gridloom.emit.svg_text import escape

_CELL: Final = 46.0
_EDGE: Final = 60.0
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
    """One row of the roofline table; rates are floating-point operations a cycle."""

    operation: str
    units: int
    flops: int
    #: Floating-point operations a byte that goes into its units.
    intensity: float
    #: What its units could do, and what they do.
    peak: float
    reached: float
    busy: float
    starved: float
    stalled: float


@dataclass(frozen=True, kw_only=True)
class DataflowLoad:
    """A measured pipeline."""

    period: float
    bound: float
    bottleneck: str
    units: tuple[UnitLoad, ...]
    operations: tuple[OperationLoad, ...]
    #: Link -> share of cycles in which it carries a vector.
    links: MappingABC[str, float]


def dataflow_card(arch: Arch, load: DataflowLoad) -> str:
    """The card as HTML. Linear in units and links."""
    return (
        '<section class="card wide" aria-labelledby="h-flow"><h2 id="h-flow">Pipeline</h2>'
        f"<p>Period {load.period:.0f} cycles a block, {load.bound:.0f} at the least "
        f"({100 * load.bound / load.period:.0f} %). {escape(load.bottleneck)}</p>"
        f"{load_picture(arch, load)}{_table(load)}</section>"
    )


def load_picture(arch: Arch, load: DataflowLoad) -> str:
    """The grid as SVG: units in the colour of their stage, links as dark as they are loaded."""
    width, height = 2 * _EDGE + arch.cols * _CELL, 2 * _EDGE + arch.rows * _CELL
    size = f'width="{width:.0f}" height="{height:.0f}" viewBox="0 0 {width:.0f} {height:.0f}"'
    parts = [f'<svg xmlns="http://www.w3.org/2000/svg" {size} role="img" aria-label="Load of units and links">']
    parts += [_link(arch, name, share) for name, share in sorted(load.links.items(), key=lambda item: item[1])]
    used = {unit.tile: unit for unit in load.units}
    for tile in arch.tiles:
        if tile.kind != "switch":
            x, y = _centre(arch, tile.name)
            parts.append(_unit(x, y, tile.kind, used.get(tile.name)))
    return "".join([*parts, "</svg>"])


def stage_colour(stage: int) -> str:
    """The fill of a pipeline stage."""
    return f"hsl({(stage * _HUE_STEP) % 360:.0f} 65% 72%)"


def _centre(arch: Arch, name: str) -> tuple[float, float]:
    tile = arch.tiles[arch.tile_index[name]]
    if tile.kind == "switch":
        return _EDGE + tile.col * _CELL, _EDGE + tile.row * _CELL
    return _EDGE + (tile.col + 0.5) * _CELL, _EDGE + (tile.row + 0.5) * _CELL


def _unit(x: float, y: float, kind: str, unit: UnitLoad | None) -> str:
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
    return (
        f'<g><title>{escape(words)}</title><rect {box} fill="{stage_colour(unit.stage)}" stroke="#444"/>'
        f'<rect {filled} fill="#333"/></g>'
    )


def _link(arch: Arch, name: str, share: float) -> str:
    first, _, second = name.partition(">")
    target, _, channel = second.partition("#")
    (x1, y1), (x2, y2) = _centre(arch, first), _centre(arch, target)
    length = max(1.0, abs(x2 - x1) + abs(y2 - y1))
    # Each direction and channel beside the other, on its own side of the line between the two.
    shift = 2.0 + 3.0 * int(channel or 0)
    dx, dy = -(y2 - y1) / length * shift, (x2 - x1) / length * shift
    ends = f'x1="{x1 + dx:.1f}" y1="{y1 + dy:.1f}" x2="{x2 + dx:.1f}" y2="{y2 + dy:.1f}"'
    colour = palette.heat_colour(min(1.0, share))
    return (
        f'<line {ends} stroke="{colour}" stroke-width="{1 + 2 * min(1.0, share):.1f}">'
        f"<title>{escape(name)}: {share:.0%}</title></line>"
    )


def _table(load: DataflowLoad) -> str:
    heads = ("operation", "units", "FLOP a block", "FLOP a byte", "FLOP a cycle", "of its peak", "starved", "stalled")
    head = "".join(f'<th scope="col">{name}</th>' for name in heads)
    rows = []
    for row in load.operations:
        share = row.reached / row.peak if row.peak else 0.0
        cells = (
            str(row.units), f"{row.flops:,}", f"{row.intensity:.2f}", f"{row.reached:.1f} of {row.peak:.0f}",
            f"{share:.0%}", f"{row.starved:.0%}", f"{row.stalled:.0%}",
        )  # fmt: skip
        body = "".join(f"<td>{escape(cell)}</td>" for cell in cells)
        rows.append(f'<tr><th scope="row">{escape(row.operation)}</th>{body}</tr>')
    return f"<table><thead><tr>{head}</tr></thead><tbody>{''.join(rows)}</tbody></table>"
