"""Register files in which names rotate instead of words (``gl_named_registers``).

Where every register of a tile takes the same word, the result, a rotation can exchange the names of registers and leave
their words in place. A bit of a register then has no multiplexer for its neighbours, and the multiplexers that read
registers get their selects translated a cycle ahead.
"""

from __future__ import annotations

from gridloom.hardware.rtl.shapes import Mux, Shape
from gridloom.hardware.rtl.text import wire


def has_names(shape: Shape) -> bool:
    """Return True when the registers of a tile may be named anew instead of moving their words.

    So they may where they rotate, all take the result, no other unit reads them, and every multiplexer that reads one
    of them can read each of them.
    """
    if shape.kind != "pe" or shape.registers < 2 or not shape.rotates or shape.register_wires or shape.write_ports:
        return False
    if any(name in shape.outputs for name in _registers(shape)):
        return False
    return all(first_register(shape, mux) is not None for mux in shape.muxes if _reads(shape, mux))


def first_register(shape: Shape, mux: Mux) -> int | None:
    """Return the selection of a multiplexer that stands for register 0; None where it cannot read all, in order."""
    wanted = [(name, 0, -1) for name in _registers(shape)]
    sources = [tuple(source) for source in mux.sources]
    if wanted[0] not in sources:
        return None
    at = sources.index(wanted[0])
    return at + mux.idle if sources[at : at + shape.registers] == wanted else None


def select_lines(shape: Shape, mux: Mux, coming: str) -> tuple[list[str], str]:
    """Return the lines that translate the select of a multiplexer, and the signal behind them.

    ``coming`` is its select field in the next cycle. The signal is that of a register where the multiplexer reads
    registers of the file.
    """
    first = first_register(shape, mux)
    if first is None:
        return [], ""
    bits, place = mux.select_bits, place_bits(shape)
    name = f"{mux.name}_place"
    lines = [wire(bits, f"{mux.name}_coming", coming), f"reg [{bits - 1}:0] {name};", "always @(posedge clk)"]
    lines.append(f"    case ({mux.name}_coming)")
    for k in range(shape.registers):
        where = f"places[{(k + 1) * place - 1}:{k * place}]" if place > 1 else f"places[{k}]"
        padded = where if bits == place else f"{{{bits - place}'d0, {where}}}"
        lines.append(f"        {bits}'d{first + k}: {name} <= {bits}'d{first} + {padded};")
    return [*lines, f"        default: {name} <= {mux.name}_coming;", "    endcase"], name


def place_bits(shape: Shape) -> int:
    """Return how many bits name the place of a register."""
    return max(1, (shape.registers - 1).bit_length())


def _registers(shape: Shape) -> list[str]:
    return [f"r{k}" for k in range(shape.registers)]


def _reads(shape: Shape, mux: Mux) -> bool:
    names = set(_registers(shape))
    return any(source.signal in names for source in mux.sources)
