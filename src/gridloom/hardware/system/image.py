"""Configuration images: all that the system has to know to launch a configuration, with version and checksum.

An image is a list of 32-bit words:

=========  =========================================================================================================
word       meaning
=========  =========================================================================================================
0          magic number, the letters ``GLIM``
1          version
2          number of the array (register ARRAY)
3          words of the whole image
4          packets (low half), entries (high half)
5          II (low half), cycles from the start of the last iteration to the end (high half)
6          selectors
7          0
8 ...      packets: two words each, low word first
           entries: four words each: a packet, then ``livein | shift << 8 | kind << 16`` and 0
           selectors: two words each: ``number | port << 16 | slot << 24`` and 0
last two   sums over all words before, modulo 2^32: the sum of the words, and the sum of those sums
=========  =========================================================================================================

Packets are what does not change from launch to launch; the system sends them when the array holds another image.
Entries are sent for every launch: live-ins, registers that hold a value before the first cycle, and context words with
the first word of an array. A packet for unit 0xFFFF is a word of the data memory: a live-in that is spilled.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from gridloom.errors import MappingError
from gridloom.hardware.bitstream.encode import encode, power_of_two
from gridloom.hardware.bitstream.packets import Fields, Packet, pack
from gridloom.hardware.rtl.layout import CHUNK, REGION_CONTEXT, REGION_REGISTER, context_layout
from gridloom.hardware.rtl.testbench import stream_ports
from gridloom.hardware.system.parameters import LIVEINS, System
from gridloom.hardware.system.registers import VERSION
from gridloom.mapping.configuration import Configuration, Slot

MAGIC: Final = 0x4D494C47
#: Kinds of entries: the packet as it is, its data replaced by a live-in, or a live-in shifted into its data.
AS_IS, VALUE, LEFT, RIGHT = 0, 1, 2, 3
#: The number of the unit that the data memory is for packets: their offset is an address.
MEMORY_UNIT: Final = 0xFFFF
_ACCESSES: Final = ("load", "store", "store_if")
_MASK: Final = 0xFFFFFFFF


@dataclass(frozen=True)
class LivePacket:
    """A packet that is sent for every launch, and which live-in goes into its data, and how."""

    packet: Packet
    kind: int = AS_IS
    livein: int = 0
    shift: int = 0

    def words(self) -> list[int]:
        """The words of the entry in an image."""
        number = self.packet.to_int()
        return [number & _MASK, number >> 32, self.livein | self.shift << 8 | self.kind << 16, 0]


@dataclass(frozen=True)
class Selector:
    """Something that listens to a port of the array in a slot: a live-out, or a channel of a stream."""

    number: int
    port: int
    slot: int

    def words(self) -> list[int]:
        """The words of the selector in an image."""
        return [self.number | self.port << 16 | self.slot << 24, 0]


@dataclass(frozen=True, kw_only=True)
class Image:
    """A configuration as the system loads it, and which registers mean what."""

    array: int
    ii: int
    length: int
    packets: Sequence[Packet] = field(repr=False)
    entries: Sequence[LivePacket] = field(repr=False)
    selectors: Sequence[Selector] = field(repr=False)
    #: Name -> number of the live-in register.
    liveins: Mapping[str, int]
    #: Array -> number of the live-in register that holds its first word in the data memory.
    bases: Mapping[str, int]
    #: Name -> number of the live-out register.
    liveouts: Mapping[str, int]
    #: Input node -> channel that feeds it; output node -> channel that drains it.
    feeds: Mapping[str, tuple[int, ...]]
    drains: Mapping[str, int]
    #: Words at the beginning of the data memory that hold spilled values.
    spill_words: int

    def words(self, version: int = VERSION) -> list[int]:
        """The words of the image, as they lie in memory."""
        body: list[int] = []
        for packet in self.packets:
            body += [packet.to_int() & _MASK, packet.to_int() >> 32]
        for entry in self.entries:
            body += entry.words()
        for selector in self.selectors:
            body += selector.words()
        counts = len(self.packets) | len(self.entries) << 16
        head = [MAGIC, version, self.array, 10 + len(body), counts, self.ii | self.length << 16, len(self.selectors), 0]
        return with_sums([*head, *body])


def with_sums(words: Sequence[int]) -> list[int]:
    """The words with their checksum behind them.

    >>> with_sums([1, 2])
    [1, 2, 3, 4]
    """
    first = second = 0
    for word in words:
        first = first + word & _MASK
        second = second + first & _MASK
    return [*words, first, second]


def image_of(configuration: Configuration, system: System) -> Image:
    """The image of a configuration. MappingError where the system is too small for it.

    Costs an encoding for each live-in.
    """
    return _ImageBuilder(configuration, system).image()


class _ImageBuilder:
    """Builds one image."""

    def __init__(self, configuration: Configuration, system: System) -> None:
        self.configuration, self.system, self.hardware = configuration, system, system.hardware
        self.dfg = configuration.dfg
        names = sorted({node.id for node in self.dfg.nodes if node.op == "livein"} | self._initial_names())
        arrays = [array.name for array in self.dfg.arrays]
        if len(names) + len(arrays) > LIVEINS:
            raise MappingError(
                f"graph {self.dfg.name!r} has {len(names)} live-ins and {len(arrays)} arrays; the system has {LIVEINS} "
                "live-in registers for both"
            )
        self.liveins = {name: k for k, name in enumerate(names)}
        self.bases = {name: len(names) + k for k, name in enumerate(arrays)}
        self.spills, self.spill_words = self._spill_places()

    def _initial_names(self) -> set[str]:
        """Live-ins that are initial values of an edge."""
        values = [value for k in range(len(self.dfg.edges)) for value in self.dfg.initial_values(k)]
        return {value for value in values if isinstance(value, str)}

    def _spill_places(self) -> tuple[list[int], int]:
        """First word of each spill buffer, and the words of all; they lie at the beginning of the data memory."""
        places, word = [], 0
        for spill in self.configuration.spills:
            size = power_of_two(spill.depth)
            word = (word + size - 1) // size * size
            places.append(word)
            word += size
        return places, word

    def image(self) -> Image:
        """The whole image."""
        liveouts, selectors = self._liveouts()
        feeds, drains, streams = self._streams()
        plain = self._packets({})
        entries = self._livein_entries(plain) + self._base_entries(plain) + self._spilled_entries()
        sent = {(e.packet.unit, e.packet.region, e.packet.offset) for e in entries}
        fixed = [p for key, p in plain.items() if key not in sent]
        # A register may hold another value after a launch than before it.
        entries += [LivePacket(p) for p in fixed if p.region == REGION_REGISTER]
        packets = [p for p in fixed if p.region != REGION_REGISTER]
        image = Image(
            array=self.system.array_id, ii=self.configuration.ii, length=self._length(), packets=packets,
            entries=entries, selectors=[*selectors, *streams], liveins=self.liveins, bases=self.bases,
            liveouts=liveouts, feeds=feeds, drains=drains, spill_words=self.spill_words,
        )  # fmt: skip
        rows = len(packets) + 2 * len(entries) + len(image.selectors)
        if rows > self.system.parameters.rows:
            raise MappingError(
                f"graph {self.dfg.name!r} needs {rows} rows of an image; the system has {self.system.parameters.rows}: "
                "raise rows"
            )
        return image

    def _fields(self, liveins: Mapping[str, int]) -> Fields:
        """The fields with the starts of arrays 0 and spills at their places."""
        fields = encode(self.configuration, self.hardware, liveins)
        for slot in self.configuration.slots:
            context = fields.units[self.hardware.unit_of_tile[slot.tile].name].contexts[slot.slot]
            if self._array(slot) is not None:
                context["address"] = 0
            elif slot.kind in ("load", "store"):
                context["address"] = self.spills[slot.spill]
        return fields

    def _array(self, slot: Slot) -> str | None:
        """The array that a slot loads from or stores to."""
        node = self.dfg.nodes[slot.node] if slot.kind == "op" else None
        return node.array if node is not None and node.op in _ACCESSES else None

    def _packets(self, liveins: Mapping[str, int]) -> dict[tuple[int, int, int], Packet]:
        """Place -> packet for some values of live-ins."""
        return {(p.unit, p.region, p.offset): p for p in pack(self.hardware, self._fields(liveins))}

    def _livein_entries(self, plain: Mapping[tuple[int, int, int], Packet]) -> list[LivePacket]:
        """The packets that hold a live-in: those that change with it."""
        entries = []
        for name, number in self.liveins.items():
            for key, packet in self._packets({name: 1}).items():
                if packet != plain[key]:
                    entries.append(LivePacket(plain[key], VALUE, number))
        return entries

    def _base_entries(self, plain: Mapping[tuple[int, int, int], Packet]) -> list[LivePacket]:
        """The context words with the start of an array in them; where it crosses two words, both."""
        entries, seen = [], set()
        for slot in self.configuration.slots:
            array, unit = self._array(slot), self.hardware.unit_of_tile[slot.tile]
            if array is None or (slot.tile, slot.slot) in seen:
                continue
            seen.add((slot.tile, slot.slot))
            place = context_layout(unit.shape, self.hardware.parameters).by_name["address"]
            for chunk in range(place.offset // CHUNK, (place.offset + place.width - 1) // CHUNK + 1):
                packet = plain[unit.id, REGION_CONTEXT, chunk << self.hardware.slot_bits | slot.slot]
                shift = place.offset - chunk * CHUNK
                kind = LEFT if shift >= 0 else RIGHT
                entries.append(LivePacket(packet, kind, self.bases[array], abs(shift)))
        return entries

    def _spilled_entries(self) -> list[LivePacket]:
        """Live-ins that the data memory holds when a launch begins."""
        entries = []
        for place, spill in zip(self.spills, self.configuration.spills):
            if spill.livein >= 0:
                node = self.dfg.nodes[spill.livein]
                if node.op == "const":
                    entries.append(LivePacket(Packet(MEMORY_UNIT, 0, place, int(node.value or 0) & _MASK)))
                else:
                    entries.append(LivePacket(Packet(MEMORY_UNIT, 0, place, 0), VALUE, self.liveins[node.id]))
        return entries

    def _length(self) -> int:
        """Cycles from the start of the last iteration until its last result is there.

        Cycle 0 is the second one after the array was told to run, and results may leave the array some cycles later.
        """
        ii = self.configuration.ii
        last = max((slot.start * ii + slot.slot + slot.latency for slot in self.configuration.slots), default=0)
        return last + 4 + max(unit.shape.settle for unit in self.hardware.units)

    def _port(self, slot: Slot) -> int:
        """The number of the output port of a slot's tile."""
        unit = self.hardware.unit_of_tile[slot.tile]
        return self.system.emitters.index(self.hardware.verilog_names[unit.name])

    def _leaving(self, slot: Slot) -> int:
        """The slot in which the result of a slot leaves the array."""
        return (slot.slot + self.hardware.unit_of_tile[slot.tile].shape.settle) % self.configuration.ii

    def _liveouts(self) -> tuple[dict[str, int], list[Selector]]:
        """The live-outs by name, and what their registers listen to."""
        names: dict[str, int] = {}
        selectors = []
        for slot in self.configuration.slots:
            node = self.dfg.nodes[slot.node] if slot.kind == "op" and slot.copy == 0 else None
            if node is not None and node.liveout:
                names[node.liveout] = len(names)
                selectors.append(Selector(names[node.liveout], self._port(slot), self._leaving(slot)))
        wanted = [node.liveout for node in self.dfg.nodes if node.liveout]
        if lost := [name for name in wanted if name not in names]:
            raise MappingError(f"live-out {lost[0]!r} of graph {self.dfg.name!r} is computed by no tile")
        if len(names) > self.system.parameters.liveouts:
            raise MappingError(
                f"graph {self.dfg.name!r} has {len(names)} live-outs; the system has registers for "
                f"{self.system.parameters.liveouts}: raise liveouts"
            )
        return names, selectors

    # -- streams ------------------------------------------------------------------------------------------------------

    def _streams(self) -> tuple[dict[str, tuple[int, ...]], dict[str, int], list[Selector]]:
        """Channels by input and output node, and what they listen to."""
        feeds: dict[str, tuple[int, ...]] = {}
        drains: dict[str, int] = {}
        selectors: list[Selector] = []
        if not self.system.feeds:
            return feeds, drains, selectors
        ports = [(unit.tile, k) for unit, k in stream_ports(self.hardware)]
        first, memory = self.system.parameters.liveouts, int(self.system.has_memory)
        used = 0
        for slot in self.configuration.slots:
            for k, name in self._read_streams(slot):
                selectors.append(Selector(first + used, ports.index((slot.tile, k)), slot.slot))
                feeds[name] = (*feeds.get(name, ()), memory + used)
                used += 1
        for slot, name in self._written_streams():
            number = first + self.system.feeds + len(drains)
            selectors.append(Selector(number, self._port(slot), self._leaving(slot)))
            drains[name] = memory + len(drains)
        if used > self.system.feeds or len(drains) > self.system.drains:
            raise MappingError(
                f"graph {self.dfg.name!r} reads {used} and writes {len(drains)} streams; the system has "
                f"{self.system.feeds} and {self.system.drains} channels"
            )
        return feeds, drains, selectors

    def _read_streams(self, slot: Slot) -> list[tuple[int, str]]:
        """(operand, input node) of each stream that a slot reads."""
        if slot.kind != "op":
            return []
        node = self.dfg.nodes[slot.node]
        if node.op == "input":
            return [(0, node.id)]
        return [(k, self.dfg.nodes[o.node].id) for k, o in enumerate(slot.operands) if o.kind == "stream"]

    def _written_streams(self) -> list[tuple[Slot, str]]:
        """(slot, output node) of each stream that leaves the array."""
        slots = {s.node: s for s in self.configuration.slots if s.kind == "op" and s.copy == 0}
        found = []
        for k, node in enumerate(self.dfg.nodes):
            if node.op != "output":
                continue
            edge = self.dfg.edges[self.dfg.operand_edges(node.id)[0]]
            if k not in slots and edge.distance:
                raise MappingError(f"output {node.id!r} starts with initial values, which no channel writes")
            found.append((slots[k] if k in slots else slots[self.dfg.index[edge.source]], node.id))
        return found
