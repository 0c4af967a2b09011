"""Packets of configuration bits: from named fields to packets and back.

``encode.encode`` turns a configuration into :class:`Fields` (named numbers, one set per unit and slot), :func:`pack`
turns those into packets, :func:`unpack` reads packets back, ``files.disassemble`` prints them. The module
:mod:`gridloom.hardware.rtl.layout` and ``docs/hardware.md`` describe the format.

A packet is one write: 32 bits of data to one offset of one region of one unit. The order of packets does not matter to
the hardware as long as no two write the same place, and each is independent of the others; a partial reconfiguration is
therefore just a shorter list (:func:`difference`). A context word wider than 32 bits takes several packets, one for
each chunk.

In a file an offset has 14 bits. It holds the chunk above ``slot_bits`` bits of slot, so very deep context memories
leave little room for wide context words: 4,096 contexts allow 128 bits.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from gridloom.errors import MappingError
from gridloom.hardware.rtl.layout import (
    CHUNK,
    OFFSET_BITS,
    REGION_CONTEXT,
    REGION_REGISTER,
    REGION_SETTING,
    REGION_VALUE,
    context_layout,
    offset_bits,
    register_bits,
    rotating_bits,
    value_bits,
    word_parts,
)
from gridloom.hardware.rtl.shapes import Unit
from gridloom.hardware.rtl.structure import Hardware

SEQUENCER = 0


@dataclass(frozen=True, slots=True, order=True)
class Packet:
    """One word for one unit: 32 bits of ``data`` for ``offset`` in a ``region``.

    ``rtl.layout`` lists what the regions mean. Packets compare by unit, region, offset and data, in this order.
    """

    unit: int
    region: int
    offset: int
    data: int

    def to_int(self) -> int:
        """Return the packet as a number of 64 bits: unit (16), region (2), offset (14), data (32).

        >>> f"{Packet(unit=3, region=REGION_VALUE, offset=2, data=7).to_int():016x}"
        '0003400200000007'
        """
        return self.unit << 48 | self.region << 46 | self.offset << 32 | self.data

    @staticmethod
    def from_int(word: int) -> Packet:
        """Return the packet that a number of 64 bits stands for; the inverse of :meth:`to_int`.

        >>> Packet.from_int(0x0003400200000007)
        Packet(unit=3, region=1, offset=2, data=7)
        """
        return Packet(word >> 48, word >> 46 & 3, word >> 32 & (1 << OFFSET_BITS) - 1, word & 0xFFFFFFFF)


@dataclass(kw_only=True)
class UnitFields:
    """What one unit is set to.

    A context field that is not in its table is 0, and its packets are sent all the same; a value or a register that is
    not in its table is not sent. The names of context fields are those of ``layout.context_layout``.
    """

    #: Slot -> field name -> number; fields that are 0 are left out.
    contexts: dict[int, dict[str, int]] = field(default_factory=dict)
    #: Number of a value -> the value: an immediate, a live-in or an initial value.
    values: dict[int, int] = field(default_factory=dict)
    #: Number of a register -> what it holds before the first cycle.
    registers: dict[int, int] = field(default_factory=dict)
    #: Of a register file how many registers rotate, of a constant register its value.
    setting: int | None = None


@dataclass(kw_only=True)
class Fields:
    """What an array is set to, as named numbers.

    ``units`` goes by the names of tiles and register files. ``encode`` makes it for a configuration, :func:`unpack`
    from packets; numbers that are 0 may be left out of either.
    """

    ii: int
    #: Settings of the whole array, bit by bit.
    settings: tuple[int, ...] = ()
    units: dict[str, UnitFields] = field(default_factory=dict)


def pack(hardware: Hardware, fields: Fields, *, only: Iterable[str] | None = None) -> list[Packet]:
    """Return the packets that set an array, or ``only`` the named units of it (partial reconfiguration).

    They write all contexts below II of each unit, unused ones as 0, so that nothing of an earlier configuration stays.
    MappingError for a field that a unit does not have, a number that does not fit, and hardware whose context memories
    are too large for the offsets of packets.

    Linear in the bits that are written.
    """
    names = None if only is None else set(only)
    unknown = (names or set()) - {unit.name for unit in hardware.units}
    if unknown:
        raise MappingError(f"array {hardware.arch.name!r} has no tile {sorted(unknown)[0]!r}")
    _check_offsets(hardware)
    packets: list[Packet] = []
    if names is None:
        packets += _pack_settings(fields)
    for unit in hardware.units:
        if names is None or unit.name in names:
            packets += _pack_unit(hardware, unit, fields.units.get(unit.name, UnitFields()), fields.ii)
    return packets


def _check_offsets(hardware: Hardware) -> None:
    """Raise MappingError for hardware whose offsets do not fit a packet: they would overwrite the region."""
    bits = offset_bits(hardware)
    if bits > OFFSET_BITS:
        words = max(context_layout(shape, hardware.parameters).bits for shape in hardware.variants)
        contexts = max(shape.contexts for shape in hardware.variants)
        raise MappingError(
            f"array {hardware.arch.name!r}: {contexts} contexts of up to {words} bits need offsets of {bits} "
            f"bits, and a packet has {OFFSET_BITS}; lower contexts"
        )


def difference(old: Iterable[Packet], new: Iterable[Packet]) -> list[Packet]:
    """Return the packets of ``new`` that change something after ``old``: what a partial reconfiguration sends.

    A place that ``old`` does not write counts as changed. Places that only ``old`` writes stay as they are, so both
    have to be whole configurations of the same II, or ``new`` of a smaller one.

    >>> before = [Packet(1, REGION_VALUE, 0, 5), Packet(1, REGION_VALUE, 1, 6)]
    >>> difference(before, [Packet(1, REGION_VALUE, 0, 5), Packet(1, REGION_VALUE, 1, 9)])
    [Packet(unit=1, region=1, offset=1, data=9)]
    """
    held = {(p.unit, p.region, p.offset): p.data for p in old}
    return [p for p in new if held.get((p.unit, p.region, p.offset)) != p.data]


def _pack_settings(fields: Fields) -> list[Packet]:
    """The packets of the sequencer: the II, and the settings of the array, 32 per word."""
    words = [fields.ii - 1]
    for first in range(0, len(fields.settings), CHUNK):
        words.append(sum(bit << k for k, bit in enumerate(fields.settings[first : first + CHUNK])))
    return [Packet(SEQUENCER, REGION_SETTING, k, word) for k, word in enumerate(words)]


def _pack_unit(hardware: Hardware, unit: Unit, fields: UnitFields, ii: int) -> list[Packet]:
    """The packets of one unit: all its contexts below II, then values, registers and setting."""
    layout = context_layout(unit.shape, hardware.parameters)
    packets = []
    if layout.bits:
        # Slots at or above II are never read, so they keep what an earlier configuration left there.
        for slot in range(ii):
            word = _context_word(hardware, unit, slot, fields.contexts.get(slot, {}))
            for chunk in range(layout.chunks):
                offset = chunk << hardware.slot_bits | slot
                packets.append(Packet(unit.id, REGION_CONTEXT, offset, word >> CHUNK * chunk & (1 << CHUNK) - 1))
    mask = (1 << hardware.width) - 1
    for region, words in ((REGION_VALUE, fields.values), (REGION_REGISTER, fields.registers)):
        bits = _place_bits(hardware, unit, region)
        for index, value in sorted(words.items()):
            for part in range(word_parts(hardware)):
                data = (value & mask) >> CHUNK * part & (1 << CHUNK) - 1
                packets.append(Packet(unit.id, region, part << bits | index, data))
    setting = fields.setting
    # Without a packet a register file would go on rotating as an earlier configuration had it.
    if setting is None and unit.shape.rotates:
        setting = 0
    if setting is not None:
        packets.append(Packet(unit.id, REGION_SETTING, 0, setting & mask))
    return packets


def _place_bits(hardware: Hardware, unit: Unit, region: int) -> int:
    """How many bits of an offset name a value or a register; those above name the part of the word."""
    return value_bits(unit.shape, hardware.parameters) if region == REGION_VALUE else register_bits(unit.shape)


def _context_word(hardware: Hardware, unit: Unit, slot: int, numbers: Mapping[str, int]) -> int:
    """The context word of a slot. MappingError for an unknown field or a number that does not fit."""
    layout = context_layout(unit.shape, hardware.parameters)
    table = layout.by_name
    word = 0
    for name, number in numbers.items():
        if name not in table:
            if number:
                raise MappingError(f"{unit.name}, slot {slot}: the hardware has no field {name!r} for {number}")
            continue
        place = table[name]
        if not 0 <= number < 1 << place.width:
            raise MappingError(f"{unit.name}, slot {slot}: {name} = {number} does not fit {place.width} bits")
        word |= number << place.offset
    return word


def unpack(hardware: Hardware, packets: Iterable[Packet]) -> Fields:
    """Return the fields that packets set; the inverse of :func:`pack`.

    MappingError for a packet that no unit of the array takes.
    """
    by_id = {unit.id: unit for unit in hardware.units}
    fields = Fields(ii=1)
    settings: dict[int, int] = {}
    words: dict[tuple[int, int], int] = {}
    for packet in packets:
        if packet.unit == SEQUENCER:
            settings[packet.offset] = packet.data
            continue
        if packet.unit not in by_id:
            raise MappingError(f"packet for unit {packet.unit}: array {hardware.arch.name!r} has {len(by_id)} units")
        unit = by_id[packet.unit]
        record = fields.units.setdefault(unit.name, UnitFields())
        if packet.region == REGION_CONTEXT:
            slot = packet.offset & (1 << hardware.slot_bits) - 1
            chunk = packet.offset >> hardware.slot_bits
            words[packet.unit, slot] = words.get((packet.unit, slot), 0) | packet.data << CHUNK * chunk
        elif packet.region == REGION_SETTING:
            record.setting = packet.data
        else:
            table = record.values if packet.region == REGION_VALUE else record.registers
            index = packet.offset & (1 << _place_bits(hardware, unit, packet.region)) - 1
            part = packet.offset >> _place_bits(hardware, unit, packet.region)
            table[index] = table.get(index, 0) | packet.data << CHUNK * part
    for (number, slot), word in words.items():
        unit = by_id[number]
        fields.units[unit.name].contexts[slot] = _context_fields(hardware, unit, word)
    fields.ii = settings.get(0, 0) + 1
    bits = hardware.setting_bits
    fields.settings = tuple(settings.get(1 + k // CHUNK, 0) >> k % CHUNK & 1 for k in range(bits))
    return fields


def _context_fields(hardware: Hardware, unit: Unit, word: int) -> dict[str, int]:
    """The fields of a context word that are not 0; the inverse of :func:`_context_word`."""
    layout = context_layout(unit.shape, hardware.parameters)
    numbers = {f.name: word >> f.offset & (1 << f.width) - 1 for f in layout.fields}
    return {name: number for name, number in numbers.items() if number}


@dataclass(frozen=True, slots=True, kw_only=True)
class Size:
    """How many bits a configuration has."""

    #: Bits of all memories of the array that a full configuration may write.
    capacity: int
    #: Bits that this configuration writes.
    bits: int
    packets: int


def size(hardware: Hardware, packets: Iterable[Packet], ii: int) -> Size:
    """Return the size of a configuration of some II, and of all memories that a configuration may write.

    ``bits`` counts the context words below the II and everything that exists once; ``capacity`` counts all contexts.
    Both count memory, not packets: a packet of 64 bits carries at most 32 of them.
    """
    count = sum(1 for _ in packets)
    width = hardware.width
    capacity = written = 0
    for unit in hardware.units:
        shape = unit.shape
        context = context_layout(shape, hardware.parameters).bits
        values = (shape.words(hardware.parameters) if shape.kind == "pe" else shape.kind == "const") * width
        rest = values + (rotating_bits(shape) if shape.rotates else 0) + shape.registers * width
        capacity += context * shape.contexts + rest
        written += context * ii + rest
    fixed = hardware.slot_bits + hardware.setting_bits
    return Size(capacity=capacity + fixed, bits=written + fixed, packets=count)
