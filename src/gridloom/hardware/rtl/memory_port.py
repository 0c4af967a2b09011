"""The memory port of a tile: address and data of its loads and stores.

Each SIMD lane has an address and a word of its own, and its own bit that asks: a store on a condition may be made in
some lanes and not in others. What the access is, the context of the slot says for all of them.
"""

from __future__ import annotations

from collections.abc import Callable

from gridloom.hardware.rtl.shapes import Shape
from gridloom.hardware.rtl.structure import Hardware
from gridloom.hardware.rtl.text import concatenate, port, wire

#: Lines of ports and of the body, and names of signals that nothing reads.
Parts = tuple[list[str], list[str], list[str]]


def memory_port(hardware: Hardware, shape: Shape, field: Callable[[str], str]) -> Parts:
    """Return the memory port of a shape as Verilog; ``field`` gives the bits of a field of the slot that accesses.

    A spill's address counts firings in a buffer of a power of two.
    """
    lanes, w, bits = hardware.simd_lanes, hardware.vector_width, hardware.address_bits
    turns, stage = hardware.turn_bits, hardware.parameters.stage_bits
    ports = [
        port("input", turns, "turn"), port("output", lanes, "memory_ask"), port("output", 1, "memory_store"),
        port("output", lanes * bits, "memory_address"), port("output", w, "memory_word"),
        port("input", w, "memory_loaded"),
    ]  # fmt: skip
    # A spill's index counts firings from the first one, hence the round less the start.
    low = fit("start_stage", stage, turns)
    lines = [
        wire(2, "access", field("access")),
        wire(stage, "start_stage", field("start")),
        wire(turns, "spill_index", f"(issue_turn - {low}) & {field('mask')}"),
    ]
    operands = max(1, shape.operands)
    each = [_lane(hardware, operands, lane, field) for lane in range(lanes)]
    lines += [line for part, _, _, _ in each for line in part]
    lines += [
        f"assign memory_ask = {concatenate([ask for _, ask, _, _ in each])};",
        "assign memory_store = access[1];",
        f"assign memory_address = {concatenate([address for _, _, address, _ in each])};",
        f"assign memory_word = {concatenate([word for _, _, _, word in each])};",
    ]
    unused = (["start_stage"] if stage > turns else []) + (["spill_index"] if turns > bits else [])
    return ports, lines, unused


def _lane(hardware: Hardware, operands: int, lane: int, field: Callable[[str], str]) -> tuple[list[str], str, str, str]:
    """The first operand of a lane as a wire, and whether the lane asks, its address and the word that it stores."""
    w, vector, bits = hardware.width, hardware.vector_width, hardware.address_bits

    def operand(k: int) -> str:
        return f"issue_operands[{k * vector + (lane + 1) * w - 1}:{k * vector + lane * w}]"

    first = f"operand_word_{lane}"
    second = operand(1) if operands > 1 else f"{w}'d0"
    third = f"{operand(2)} != {w}'d0" if operands > 2 else "1'b1"
    ask = f"issue && (access == 2'd1 || access == 2'd2 || (access == 2'd3 && {third}))"
    counted, index = fit("spill_index", hardware.turn_bits, bits), fit(first, w, bits)
    address = f"{field('address')} + ({field('spill')} ? {counted} : {index})"
    return [wire(w, first, operand(0))], ask, address, f"{field('spill')} ? {first} : {second}"


def fit(name: str, width: int, wanted: int) -> str:
    """Return a signal, cut to a width or extended to it with zeros.

    >>> fit("a", 8, 8), fit("a", 8, 4), fit("a", 4, 8)
    ('a', 'a[3:0]', "{4'd0, a}")
    """
    if width == wanted:
        return name
    return f"{name}[{wanted - 1}:0]" if width > wanted else f"{{{wanted - width}'d0, {name}}}"
