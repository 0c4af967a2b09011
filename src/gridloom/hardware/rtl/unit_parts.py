"""Parts of a unit's Verilog: the write ports of its register file, and the front of a tile that keeps no words.

Each write port takes one of the words that may be written, each register one of the ports. The select field of a port
is that of the slot at whose end the register is written. A register is written when it takes a port, and what the port
has chosen is there: a result is when it is done, a wire always is.

The operands of a tile that keeps no words are what its wires and its streams carry. Combinational rows have registers
of their own for constants and carry nothing from one iteration to another, so that neither immediates nor initial
values stand in their tiles.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from gridloom.hardware.parameters import bits_for
from gridloom.hardware.rtl.shapes import Shape
from gridloom.hardware.rtl.text import concatenate, instance, wire

#: A word that a port may choose, and the bit that says whether it is there.
Writable = tuple[str, str]


def port_lines(ports: Sequence[Sequence[Writable]], width: int, field: Callable[[str], str]) -> list[str]:
    """Return the Verilog that gives each port p its word ``w<p>_word`` and its bit ``w<p>_there``."""
    lines = []
    for p, choices in enumerate(ports):
        for part, bits in enumerate((width, 1)):
            name = f"w{p}_{('word', 'there')[part]}"
            sources = [choice[part] for choice in choices]
            lines += _chosen(name, sources, bits, field(f"w{p}.select"), bits_for(len(sources)))
    return lines


def register_lines(registers: int, ports: int, width: int, field: Callable[[str], str]) -> tuple[list[str], str, str]:
    """Return the Verilog that lets each register take a port, the write bits of all registers, and their words."""
    lines, bits = [], bits_for(ports + 1)
    for k in range(registers):
        select = field(f"r{k}.write")
        for part, size in (("word", width), ("there", 1)):
            sources = [f"{size}'d0", *(f"w{p}_{part}" for p in range(ports))]
            lines += _chosen(f"r{k}_{part}", sources, size, select, bits)
    names = range(registers)
    return lines, concatenate([f"r{k}_there" for k in names]), concatenate([f"r{k}_word" for k in names])


def _chosen(name: str, sources: list[str], width: int, select: str, bits: int) -> list[str]:
    """Return a wire with the chosen one of several sources; a plain connection where there is one only."""
    if len(sources) == 1:
        return [wire(width, name, sources[0])]
    names = {"W": width, "N": len(sources), "SELECT_BITS": bits}
    return [
        wire(width, name),
        *instance("gl_mux", f"{name}_mux", names, {"sources": concatenate(sources), "select": select, "chosen": name}),
    ]


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
