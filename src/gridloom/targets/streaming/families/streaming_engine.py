"""``streaming-engine``: a row of tiles, each with a 3-cycle multiply/shift-then-add/logic unit and II spokes.

A result leaves its tile three cycles after issue; the synchronous fabric takes it to a tile one or two away in one or
two cycles, passing through costs nothing more, and the same tile reads it at once. An operand that arrives early
waits in delay registers of the consumer's tile. Constants and variables live in tile memory, streams come from the
tile's base.

All lanes of a tile's SIMD unit do the same to elements of their own. The data path, the fabric and the words of tile
memory are ``simd`` bits wide; which ops run where and when does not depend on it.

Level ``paper`` has no port limits. At level ``strict`` each of a tile's four fabric outputs carries one value per
spoke, and the operands that wait at a tile share its ``delays`` registers.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from gridloom.archs.model import Arch, ArchBuilder, Kind, Tile
from gridloom.archs.spec import check_range, check_simd, finish_array, parameters
from gridloom.errors import ArchError

_STEPS = (-2, -1, 1, 2)
_CLASSES = frozenset({"alu", "mul", "div", "fp", "mem", "mem_data"})


@dataclass(frozen=True, kw_only=True)
class StreamingEngineParameters:
    """Parameters of the engine; the defaults are the published device, with one lane of its SIMD units."""

    #: Tiles in the row, 1 to 1024.
    tiles: int = 16
    #: Spokes (slots) of a tile, 1 to 1024: the largest II.
    spokes: int = 6
    #: ``strict``: one value per link and spoke, ``delays`` registers per tile; ``paper``: no limit on either.
    level: Literal["paper", "strict"] = "strict"
    #: Cycles from issue to result, 1 to 64.
    latency: int = 3
    #: Delay registers of a tile, at level ``strict``; null: no limit.
    delays: int | None = 8
    #: Bits of the data path and of a word of tile memory, a power of two from 32 to 4096; the published device has 512.
    #: null: one lane, whose words are as wide as an element.
    simd: int | None = None
    #: Memories of a tile, 1 to 16.
    memories: int = 2
    #: Words of each of them, 0 to 1048576; the published device has 512 to 1024. A variable takes one.
    words: int = 512
    #: Words of a tile's memories together, instead of ``memories`` times ``words``; null: that product.
    tile_memory: int | None = None
    #: Entries of a tile's instruction RAM: different ops on a tile; spokes with the same op share one. null: no limit.
    instructions: int | None = None
    #: Operands of a function unit, 1 to 8.
    operands: int = 3


def build(spec: Mapping[str, Any]) -> Arch:
    """Return the engine that a description names.

    The array is a row: ``rows`` is 1, and tile x is ``t_x``. Operand inputs have no capacity limit, since early
    operands wait in the tile's delay registers and not in a FIFO of the operand.
    """
    p = parameters(StreamingEngineParameters, spec)
    check_simd(p.simd)
    bounds = {"tiles": (1, 1024), "spokes": (1, 1024), "latency": (1, 64), "operands": (1, 8)}
    memories = {"memories": (1, 16), "words": (0, 1 << 20), "tile_memory": (0, 1 << 40)}
    limits = {"delays": (0, 1 << 20), "instructions": (1, 1024)}
    for key, (low, high) in (bounds | limits | memories).items():
        check_range(p, key, low, high)
    if p.tile_memory is not None and {"memories", "words"} & spec.keys():
        raise ArchError("tile_memory: is memories times words; give either the product or the two, found both")
    builder = ArchBuilder()
    strict = p.level == "strict"
    for x in range(p.tiles):
        _add_tile(builder, p, x, strict)
    _add_fabric(builder, p, strict)
    return finish_array(
        builder,
        spec,
        style="modulo",
        size=(1, p.tiles),
        free=frozenset({"const", "livein", "input", "output"}),
        rules=("tile_memory_shared", "flow_starts_apart", "siblings_apart")
        + (() if p.instructions is None else ("instruction_ram",)),
        traits=frozenset({"spokes", "fuses", "memory_access"}),
        simd=p.simd,
    )


def _add_tile(builder: ArchBuilder, p: StreamingEngineParameters, x: int, strict: bool) -> None:
    """Add one tile, whose operands can read its own result at once."""
    tile = builder.add_tile(
        Tile(
            name=f"t_{x}",
            row=0,
            col=x,
            classes=_CLASSES,
            latency={"*": p.latency},
            operands=p.operands,
            fifo=None,
            delays=p.delays if strict else None,
            contexts=p.spokes,
            instructions=p.instructions,
            buffer=p.memories * p.words if p.tile_memory is None else p.tile_memory,
        )
    )
    fu = builder.add(f"t_{x}.fu", Kind.FU, tile)
    out = builder.add(f"t_{x}.out", Kind.OUT, tile)
    builder.arc(fu, out, p.latency)
    for k in range(p.operands):
        builder.arc(out, builder.add(f"t_{x}.in{k}", Kind.IN, tile, position=k, capacity=0))


def _add_fabric(builder: ArchBuilder, p: StreamingEngineParameters, strict: bool) -> None:
    """Add the links to tiles one and two away, and the arcs by which a value passes a tile.

    The latency sits on the arc that leaves a link, one cycle per tile of distance, so that a value holds its link in
    the spoke in which it enters it. A value does not turn straight back.
    """
    at = builder.index
    pairs = [(x, x + step) for x in range(p.tiles) for step in _STEPS if 0 <= x + step < p.tiles]
    for x, y in pairs:
        link = builder.add(f"t_{x}>t_{y}", Kind.LINK, x, position=_STEPS.index(y - x), capacity=1 if strict else 0)
        builder.arc(at[f"t_{x}.out"], link)
        for k in range(p.operands):
            builder.arc(link, at[f"t_{y}.in{k}"], abs(y - x))
    for x, y in pairs:
        for step in _STEPS:
            if y + step != x and 0 <= y + step < p.tiles:
                builder.arc(at[f"t_{x}>t_{y}"], at[f"t_{y}>t_{y + step}"], abs(y - x))
