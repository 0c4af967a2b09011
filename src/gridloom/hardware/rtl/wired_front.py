"""The front of a tile that keeps no words: its operands are what its wires and its streams carry.

Combinational rows have registers of their own for constants and carry nothing from one iteration to another, so that
neither immediates nor initial values stand in their tiles.
"""

from __future__ import annotations

from collections.abc import Callable

from gridloom.hardware.rtl.shapes import Shape
from gridloom.hardware.rtl.text import concatenate, instance


def front_lines(shape: Shape, width: int, stage_bits: int, fire: str, field: Callable[[str], str]) -> list[str]:
    """Return the lines that drive ``fire``, ``stream_read`` and ``operands``; ``field`` gives the bits of a field.

    The context of such a tile does not change, so that its fields are those of every cycle.
    """
    window = instance(
        "gl_window", "window", {"STAGE_BITS": stage_bits},
        {
            "clk": "clk", "run": "run", "soon_valid": field("valid"), "soon_always": field("always"),
            "soon_start": field("start"), "soon_stage": "soon_stage", "soon_past": "soon_past", "fire": fire,
            "next_firing": "next_firing",
        },
    )  # fmt: skip
    count = max(1, shape.operands)
    reads = [f"fire && {_from_stream(field, k)}" if k < shape.streams else "1'b0" for k in range(count)]
    words = [_operand(shape, width, k, field) for k in range(count)]
    return [*window, f"assign stream_read = {concatenate(reads)};", f"assign operands = {concatenate(words)};"]


def _from_stream(field: Callable[[str], str], k: int) -> str:
    """The condition under which an operand is the next word of a stream."""
    return f"{field(f'in{k}.source')} == 2'd2"


def _operand(shape: Shape, width: int, k: int, field: Callable[[str], str]) -> str:
    """The word of an operand: that of its wire, of its stream, or of the one that its context names."""
    routed = f"arrived_{k}" if k < shape.operands else f"{width}'d0"
    if k >= shape.streams:
        return routed
    stream = f"stream_{k}_word"
    return f"{_from_stream(field, k)} ? {stream} : {routed}" if k < shape.operands else stream
