"""Where each field of a configuration is: context words, address map, packets.

A packet has 64 bits: unit (16), region (2), offset (14), data (32). Unit 0 is the sequencer, unit t + 1 is tile t, the
last unit may be a central register file.

=======  ==============================  ============================================================================
region   offset                          data
=======  ==============================  ============================================================================
0        chunk * 2**slot_bits + slot     32 bits of the context word of a slot (the fields of :func:`context_layout`)
1        number of a value               an immediate, a live-in or an initial value
2        number of a register            what a register holds before the first cycle
1, 2     part * 2**bits + number         32 bits of a word that is longer; ``bits`` name a value or a register
3        0                               sequencer: II - 1; register files: how many registers rotate; constants: value
3        1 and up (sequencer)            settings of the array, 32 per word
=======  ==============================  ============================================================================

The positions follow from the shape and the parameters alone, so generator, encoder and disassembler each derive them
when they need them, and nothing has to be stored beside the bits. Fields of 0 bits are left out. On the chain itself
unit and offset are only as wide as the array needs (``id_bits``, :func:`offset_bits`); files always have the full 64
bits.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Final, NamedTuple

from gridloom.hardware.parameters import HardwareParameters, bits_for
from gridloom.hardware.rtl.shapes import Shape
from gridloom.hardware.rtl.structure import Hardware

CHUNK: Final = 32
REGION_CONTEXT: Final = 0
REGION_VALUE: Final = 1
REGION_REGISTER: Final = 2
REGION_SETTING: Final = 3
#: Bits of unit, region and offset in a packet, as files hold it.
ID_BITS: Final = 16
OFFSET_BITS: Final = 14


class Field(NamedTuple):
    """A field of a context word: its name, its first bit and how many bits it has."""

    name: str
    offset: int
    width: int
    #: What it means, for the documents and the disassembler.
    meaning: str


@dataclass(frozen=True, slots=True)
class ContextLayout:
    """The context word of a unit.

    Fields are adjacent, from bit 0 upwards; ``bits`` is their sum and 0 for a unit without contexts.
    """

    fields: tuple[Field, ...]
    bits: int

    @property
    def chunks(self) -> int:
        """How many packets one context takes."""
        return -(-self.bits // CHUNK)

    @property
    def by_name(self) -> dict[str, Field]:
        """Field name -> field."""
        return {field.name: field for field in self.fields}


class _Fields:
    """Collects the fields of a context word from bit 0 upwards."""

    def __init__(self) -> None:
        self.rows: list[Field] = []
        self.bits = 0

    def add(self, name: str, width: int, meaning: str) -> None:
        """Append a field; one without bits is left out."""
        if width:
            self.rows.append(Field(name, self.bits, width, meaning))
            self.bits += width


#: What the write field of a local register means, without and with wires that write it.
_WRITES: Final = (
    "the register takes the result that is done at the end of this slot",
    "0: keep; 1: take the result that is done at the end of this slot; n: take wire n - 2",
)


def value_bits(shape: Shape, parameters: HardwareParameters) -> int:
    """Return how many bits name one of a tile's values."""
    return max(1, bits_for(shape.words(parameters)))


def register_bits(shape: Shape) -> int:
    """Return how many bits name one of a file's registers."""
    return max(1, bits_for(shape.registers))


def word_parts(hardware: Hardware) -> int:
    """Return how many packets a word takes."""
    return -(-hardware.width // CHUNK)


def count_bits(shape: Shape, parameters: HardwareParameters) -> int:
    """Return how many bits a count of initial values takes."""
    return bits_for(shape.words(parameters) + 1)


def tap_bits(shape: Shape, operand: int) -> int:
    """Return how many bits name the tap of an operand FIFO."""
    return bits_for(shape.depth(operand) + 1)


def rotating_bits(shape: Shape) -> int:
    """Return how many bits a count of registers takes."""
    return bits_for(shape.registers + 1)


@lru_cache(maxsize=256)
def context_layout(shape: Shape, parameters: HardwareParameters) -> ContextLayout:
    """Return the fields of a unit's context word, from bit 0 upwards. Results are cached per shape.

    A processing element has the issue fields first, then those of each operand, the selects of its multiplexers, and a
    write bit for each register. A register file has one field per register, a constant register has none.

    >>> from gridloom.archs.spec import build
    >>> parameters = HardwareParameters()
    >>> tile = Hardware(build("torus:4x4"), parameters).units[0].shape
    >>> layout = context_layout(tile, parameters)
    >>> layout.bits, layout.chunks, layout.fields[0].name, layout.by_name["in0.select"].width
    (65, 3, 'valid', 4)
    """
    fields = _Fields()
    if shape.kind == "file":
        _register_fields(fields, shape, "0: keep; n: take the result of writer n - 1")
    elif shape.kind == "pe":
        _issue_fields(fields, shape, parameters)
        for k in range(max(1, shape.operands)):
            _operand_fields(fields, shape, parameters, k)
        for mux in shape.muxes:
            fields.add(f"{mux.name}.select", mux.select_bits, "which of its sources the wire carries in this slot")
        _register_fields(fields, shape, _WRITES[bool(shape.register_wires)])
    return ContextLayout(tuple(fields.rows), fields.bits)


def _register_fields(fields: _Fields, shape: Shape, meaning: str) -> None:
    """Add what the write ports of a register file take, and what each register does."""
    for k in range(len(shape.write_ports)):
        fields.add(f"w{k}.select", bits_for(shape.port_choices(k)), "the result or the wire that the write port takes")
    meaning = "0: keep; n: take write port n - 1" if shape.write_ports else meaning
    for k in range(shape.registers):
        fields.add(f"r{k}.write", bits_for(shape.write_choices(k)), meaning)


def _issue_fields(fields: _Fields, shape: Shape, parameters: HardwareParameters) -> None:
    """Add the fields of an issue slot: when it fires, what it computes, and its memory access."""
    fields.add("valid", 1, "the slot issues something")
    if shape.moves:
        fields.add("always", 1, "it issues in every round: what it moves is the same in all of them")
    fields.add("start", parameters.stage_bits, "round of the first firing")
    fields.add("opcode", shape.opcode_bits, "code of the op table")
    fields.add("write", 1, "the result goes to the output register")
    fields.add("latency", bits_for(shape.latency) if shape.latency > 1 else 0, "cycles to the output register, less 1")
    if shape.emits:
        fields.add("emit", 1, "the result leaves through the tile's output port")
    if shape.memory:
        address = max(1, bits_for(parameters.memory_words))
        fields.add("access", 2, "0: none; 1: load; 2: store; 3: store if operand 2 is not 0")
        fields.add("spill", 1, "the address counts firings; a store takes operand 0")
        fields.add("mask", max(1, bits_for(parameters.spill_depth)), "words of the spill buffer, less 1")
        fields.add("address", address, "first word of the array or spill buffer")


def _operand_fields(fields: _Fields, shape: Shape, parameters: HardwareParameters, k: int) -> None:
    """Add the fields of operand k: its source, its initial values, its FIFO tap and its lane."""
    sources = 2 if k < shape.streams else 0 if shape.wired else 1
    fields.add(f"in{k}.source", sources, "0: routed; 1: immediate; 2: stream")
    if not shape.wired:
        fields.add(f"in{k}.count", count_bits(shape, parameters), "firings that read an initial value")
        first = "first of its values: initial ones, then the immediate"
        fields.add(f"in{k}.base", value_bits(shape, parameters), first)
    if k < shape.operands:
        fields.add(f"in{k}.tap", tap_bits(shape, k), "cycles in the FIFO")
        fields.add(f"in{k}.lane", bits_for(shape.lanes), "which wire of the operand input")


@lru_cache(maxsize=64)
def offset_bits(hardware: Hardware) -> int:
    """Return the bits of an offset on the chain of an array: the most that one of its units needs."""
    most = 2
    parts = bits_for(word_parts(hardware))
    for shape in hardware.variants:
        chunks = context_layout(shape, hardware.parameters).chunks
        most = max(most, hardware.slot_bits + max(1, bits_for(chunks)))
        most = max(most, parts + register_bits(shape))
        if shape.kind == "pe":
            most = max(most, parts + value_bits(shape, hardware.parameters))
    return max(most, bits_for(2 + hardware.setting_bits // CHUNK))
