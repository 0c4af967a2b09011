"""From a Configuration to the named fields of the hardware, and the hardware sizes that it needs.

A :class:`~gridloom.mapping.configuration.Configuration` says, for each resource and slot, what drives it (``driver``)
and how many cycles late (``delay``), and what each tile issues. The hardware has multiplexers and fields instead. This
module translates in four steps: select numbers of the multiplexers, write fields of the registers, issue fields of each
tile and slot, and last the pool of words that each tile keeps for immediates, live-ins and initial values. The pools
come last because every operand adds to its tile's pool; equal runs of words are stored once.

It decides nothing: a configuration without a counterpart in the hardware is a MappingError, never an approximation.
``packets`` gives the fields their positions; ``cosimulation`` and ``rtl.package`` are the callers.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, replace

from gridloom.archs.model import Kind
from gridloom.dfg.ops import OP_TABLE
from gridloom.errors import MappingError
from gridloom.hardware.bitstream.packets import Fields, UnitFields
from gridloom.hardware.parameters import FLOAT_OPS, FLOATS, HardwareParameters
from gridloom.hardware.rtl.shapes import Unit
from gridloom.hardware.rtl.structure import Hardware, bank_bits, hardware_domain
from gridloom.mapping.configuration import Configuration, Operand, Slot

MOVE = OP_TABLE["i32"]["move"].code
OP_NAMES = {op.code: name for name, op in OP_TABLE["i32"].items()}
#: Values of an operand's field ``source``; 0 is the routed word.
FROM_VALUE, FROM_STREAM = 1, 2
#: Values of the field ``access``; 0 is no access.
LOAD, STORE, STORE_IF = 1, 2, 3
_ACCESS = {"load": LOAD, "store": STORE, "store_if": STORE_IF}

#: A word that a tile keeps: ("word", number), ("livein", node), or ("named", live-in) for an initial value.
Token = tuple[str, int | str]


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryLayout:
    """Where things are in the data memory.

    The encoder and the co-simulation agree on it because both derive it from the configuration by
    :func:`memory_layout`; it is stored nowhere, and the hardware only sees addresses.
    """

    #: Array name -> (first word, number of words).
    arrays: Mapping[str, tuple[int, int]]
    #: First word of each spill buffer.
    spills: tuple[int, ...]
    #: Number of words in all.
    words: int


def memory_layout(configuration: Configuration, words: int = 0) -> MemoryLayout:
    """Return where arrays and spill buffers are in the data memory: arrays first, in the order of the graph.

    Spill buffers follow, each rounded up to a power of two words. With memory banks each array is in its bank, and all
    banks have equal parts of the ``words`` that addresses reach. Linear in arrays and spills.
    """
    if configuration.arch.banks:
        return _bank_layout(configuration, words)
    arrays: dict[str, tuple[int, int]] = {}
    word = 0
    for array in configuration.dfg.arrays:
        arrays[array.name] = (word, array.length)
        word += array.length
    spills = []
    for spill in configuration.spills:
        spills.append(word)
        word += power_of_two(spill.depth)
    return MemoryLayout(arrays=arrays, spills=tuple(spills), words=word)


def _bank_layout(configuration: Configuration, words: int) -> MemoryLayout:
    """Where arrays are in the banks; values are not spilled there. An array without a bank is in the first one."""
    names = [bank.name for bank in configuration.arch.banks]
    chosen = configuration.settings.get("banks", {})
    taken = [0] * len(names)
    places: dict[str, tuple[int, int, int]] = {}
    for array in configuration.dfg.arrays:
        bank = names.index(chosen.get(array.name, names[0]))
        places[array.name] = (bank, taken[bank], array.length)
        taken[bank] += array.length
    bits = bank_bits(configuration.arch)
    span = max(power_of_two(max(taken)), words >> bits)
    arrays = {name: (bank * span + first, length) for name, (bank, first, length) in places.items()}
    return MemoryLayout(arrays=arrays, spills=(), words=span << bits)


def power_of_two(count: int) -> int:
    """Return the least power of two that is not below ``count``.

    Spill buffers have such a size, so that the hardware computes an index with a mask instead of a division.

    >>> [power_of_two(n) for n in (1, 2, 3, 5)]
    [1, 2, 4, 8]
    """
    return 1 << max(count - 1, 0).bit_length()


def _check_domain(configuration: Configuration, domain: str) -> None:
    """Raise MappingError for a graph of another domain than the function units compute in."""
    dfg = configuration.dfg
    if dfg.domain != domain and (dfg.domain, domain) != ("f32", "i32"):
        raise MappingError(f"graph {dfg.name!r} is in domain {dfg.domain!r}; this hardware computes {domain!r}")


def _floats(configuration: Configuration, known: tuple[str, ...]) -> tuple[str, ...]:
    """The ops on singles of a configuration beside those that are known. MappingError for one without hardware."""
    dfg, names = configuration.dfg, set(known)
    for node, op in zip(dfg.nodes, dfg.ops):
        if op.op_class == "fp":
            if not FLOATS >> op.code & 1:
                raise MappingError(f"node {node.id!r}: no hardware is generated for op {node.op!r} of singles")
            names.add(OP_NAMES[op.code])
    return tuple(name for name in FLOAT_OPS if name in names)


def fit_parameters(configuration: Configuration, parameters: HardwareParameters | None = None) -> HardwareParameters:
    """Return parameters raised to what a configuration needs, where the array itself sets no limit.

    MappingError for a graph of another domain than the function units compute in.

    Contexts, FIFO cycles, lanes, values, stages, memory words, spill depth and ops on singles are looked at; the width
    is never changed. Linear in the slots, but for the pools of values, which are searched for equal runs.
    """
    chosen = parameters or HardwareParameters(width=configuration.arch.word)
    _check_domain(configuration, hardware_domain(configuration.arch))
    tiles = configuration.arch.tiles
    values, stages = _value_needs(configuration), 2
    fifo = lanes = 0
    memory = False
    for slot in configuration.slots:
        memory |= slot.kind in ("load", "store") or uses_memory(configuration, slot)
        stages = max(stages, slot.start + 1)
        for operand in slot.operands:
            stages = max(stages, slot.start + operand.distance)
            if operand.fifo > fifo and tiles[slot.tile].fifo_of(_position(configuration, operand)) is None:
                fifo = operand.fifo
    for resource in set(configuration.lanes):
        lanes = max(lanes, 1 + configuration.lanes.count(resource))
    needs = {
        "contexts": configuration.ii, "values": values, "stages": stages, "fifo": fifo, "lanes": lanes,
        "memory_words": memory_layout(configuration).words,
        "spill_depth": max([spill.depth for spill in configuration.spills], default=1),
    }  # fmt: skip
    chosen = chosen.at_least(**needs)
    if any(node.liveout for node in configuration.dfg.nodes):
        chosen = replace(chosen, liveouts=True)
    # Only rows of combinational ALUs have no place for words unless it is asked for.
    rows = hardware_domain(configuration.arch) == "cma24"
    if rows and any(o.distance for slot in configuration.slots for o in slot.operands):
        chosen = replace(chosen, carries=True)
    if floats := _floats(configuration, chosen.floats):
        if chosen.width != 32:
            raise MappingError(f"graph {configuration.dfg.name!r} has singles: words of 32 bits, not {chosen.width}")
        chosen = replace(chosen, floats=floats)
    return replace(chosen, memory=True) if memory and chosen.memory is None else chosen


def setting_bits(configuration: Configuration) -> list[int]:
    """Return the settings of a configuration, bit by bit in the order of the array."""
    return [bit for s in configuration.arch.settings for bit in configuration.settings[s.name]]


def uses_memory(configuration: Configuration, slot: Slot) -> bool:
    """Return True when a slot issues an op that reads or writes memory."""
    return slot.kind == "op" and configuration.dfg.ops[slot.node].op_class == "mem"


def _value_needs(configuration: Configuration) -> int:
    """How many words the fullest tile keeps: immediates, live-ins and initial values, equal runs shared."""
    pools: dict[int, list[Token]] = defaultdict(list)
    tiles = configuration.arch.tiles
    for slot in configuration.slots:
        for operand in slot.operands if tiles[slot.tile].constants is None else ():
            _claim(pools[slot.tile], _tokens(configuration, operand))
    return max([len(pool) for pool in pools.values()], default=0) or 1


def _limited_pools(configuration: Configuration) -> dict[int, list[Token]]:
    """The words of the stores that the array limits; the longest runs come first, so that others find their parts."""
    runs: dict[int, list[list[Token]]] = defaultdict(list)
    for slot in configuration.slots:
        if configuration.arch.tiles[slot.tile].constants is not None:
            runs[slot.tile] += [_tokens(configuration, operand) for operand in slot.operands]
    pools: dict[int, list[Token]] = {}
    for tile, found in runs.items():
        pools[tile] = []
        for run in sorted(found, key=len, reverse=True):
            _claim(pools[tile], run)
    return pools


def _position(configuration: Configuration, operand: Operand) -> int:
    """Which operand of its tile an operand is; 0 where it takes no wire."""
    row, arch = operand.resource, configuration.arch
    resource = configuration.lanes[row - len(arch.kind)] if row >= len(arch.kind) else row
    return int(arch.position[resource]) if resource >= 0 else 0


def _tokens(configuration: Configuration, operand: Operand) -> list[Token]:
    """The words that an operand keeps in its tile: initial values, then its immediate.

    This order is that of the hardware: the first ``count`` firings read from ``base`` upwards, and an immediate is the
    word behind them. A live-in stays symbolic, since its value is only known when the bits are made.
    """
    tokens: list[Token] = [
        ("named", value) if isinstance(value, str) else ("word", _carrier(configuration, value))
        for value in operand.initial[: operand.distance]
    ]
    if operand.kind == "const":
        tokens.append(("word", _carrier(configuration, configuration.dfg.nodes[operand.node].value or 0)))
    elif operand.kind == "livein":
        tokens.append(("livein", operand.node))
    return tokens


def _carrier(configuration: Configuration, value: int | float) -> int:
    """The word of a number of the graph: the pattern of a single, or an integer itself."""
    from gridloom.dfg.semantics import encode as carrier

    domain = configuration.dfg.domain
    if domain != "f32" and not isinstance(value, int):
        raise MappingError(f"graph {configuration.dfg.name!r} holds {value!r}: its domain has integers")
    return (carrier("f32", value) if domain == "f32" else int(value)) & 0xFFFFFFFF


def _fits(value: int | float, width: int) -> bool:
    """Whether a word of ``width`` bits can hold a number, with a sign or without one."""
    return -(1 << width - 1) <= value < 1 << width


def _claim(pool: list[Token], tokens: list[Token]) -> int:
    """The position of a run of words in a tile's pool, shared with an equal run where there is one.

    >>> pool = [("word", 1), ("word", 2)]
    >>> _claim(pool, [("word", 2)]), _claim(pool, [("word", 7)]), len(pool)
    (1, 2, 3)
    """
    for first in range(len(pool) - len(tokens) + 1):
        if pool[first : first + len(tokens)] == tokens:
            return first
    pool.extend(tokens)
    return len(pool) - len(tokens)


def encode(configuration: Configuration, hardware: Hardware, liveins: Mapping[str, int] | None = None) -> Fields:
    """Return the fields that set the hardware to a configuration; live-ins that are not given are 0.

    ``hardware`` has to be that of the configuration's array. MappingError where the hardware is too small or lacks an
    op, and for what no hardware is generated for (uninterpreted ops, pair and asynchronous edges).
    Linear in resources times II.
    """
    return _Encoder(configuration, hardware, liveins or {}).result()


class _Encoder:
    """Fills the fields of one configuration, unit by unit.

    An instance is used once: ``result`` fills ``fields`` and ``pools`` and returns the former.
    """

    def __init__(self, configuration: Configuration, hardware: Hardware, liveins: Mapping[str, int]) -> None:
        self.configuration = configuration
        self.hardware = hardware
        self.liveins = liveins
        self.arch, self.dfg, self.ii = configuration.arch, configuration.dfg, configuration.ii
        self.layout = memory_layout(configuration, 1 << hardware.address_bits)
        self.pools: dict[int, list[Token]] = defaultdict(list, _limited_pools(configuration))
        self.settings = setting_bits(configuration)
        self.lane_of = self._lanes()
        self.fields = Fields(ii=self.ii, settings=tuple(self.settings))

    def result(self) -> Fields:
        """Return the fields. MappingError for what the hardware cannot be set to."""
        self._check()
        for unit in self.hardware.units:
            slots = range(self.ii if unit.shape.kind != "const" else 0)
            self.fields.units[unit.name] = UnitFields(contexts={slot: {} for slot in slots})
        for unit in self.hardware.units:
            self._wires(unit)
            self._registers(unit)
        self._issues()
        for unit in self.hardware.units:
            self._words(unit)
        return self.fields

    def _check(self) -> None:
        """Raise MappingError where the domain, the II, the data or a constant does not fit the hardware."""
        _check_domain(self.configuration, self.hardware.domain)
        if self.ii > self.hardware.contexts:
            raise MappingError(f"II {self.ii} needs as many contexts; the hardware has {self.hardware.contexts}")
        if self.layout.words > 1 << self.hardware.address_bits:
            raise MappingError(
                f"the data takes {self.layout.words} words; addresses reach {1 << self.hardware.address_bits}: "
                "raise memory_words"
            )

        self._check_settings()
        self._check_words()

    def _check_settings(self) -> None:
        """Settings that trimmed hardware has as wires are those of the configuration."""
        trim = self.hardware.parameters.trim
        wired = trim.settings if trim is not None else ()
        for number, (bit, fixed) in enumerate(zip(self.settings, wired)):
            if fixed not in (-1, bit):
                raise MappingError(f"setting {number} is {bit}; the hardware is trimmed to mappings with {fixed}")

    def _check_words(self) -> None:
        """Every number of the graph and every given live-in fits a word; whole words hold what the graph can."""
        width = self.hardware.word_bits
        if self.dfg.domain != "i32" or width == 32:
            return
        numbers = [(f"node {node.id!r}: constant", node.value or 0) for node in self.dfg.nodes if node.op == "const"]
        for k, edge in enumerate(self.dfg.edges):
            place = f"edge {edge.source!r} -> {edge.target!r}: initial value"
            numbers += [(place, value) for value in self.dfg.initial_values(k) if not isinstance(value, str)]
        numbers += [(f"live-in {name!r}:", value) for name, value in self.liveins.items()]
        for place, value in numbers:
            if not _fits(value, width):
                raise MappingError(f"{place} {value} does not fit words of {width} bits; raise width")

    def _lanes(self) -> dict[int, int]:
        """Row of ``driver`` -> number of the wire within its resource.

        An operand input without a limit has one row per wire: the first is the resource's own row, further ones are
        appended behind all resources, and ``Configuration.lanes`` names the resource that each of those belongs to.
        """
        seen: dict[int, int] = defaultdict(int)
        table = {}
        for k, resource in enumerate(self.configuration.lanes):
            seen[resource] += 1
            table[len(self.arch.kind) + k] = seen[resource]
        return table

    # -- multiplexers -------------------------------------------------------------------------------------------------

    def _rows(self, resource: int) -> list[int]:
        count = len(self.arch.kind)
        return [resource, *(count + k for k, owner in enumerate(self.configuration.lanes) if owner == resource)]

    def _wires(self, unit: Unit) -> None:
        """Set the multiplexer of each wire of a unit in each slot to the source that the configuration names."""
        record = self.fields.units[unit.name]
        seen: dict[int, int] = defaultdict(int)
        for mux, resource, arcs in zip(unit.shape.muxes, unit.wires, unit.arcs):
            rows = self._rows(resource)
            lane = seen[resource]
            seen[resource] += 1
            if lane >= len(rows):
                continue
            for slot in range(self.ii):
                number = self._selection(rows[lane], slot, arcs, mux.idle)
                if number:
                    record.contexts[slot][f"{mux.name}.select"] = number

    def _selection(self, row: int, slot: int, arcs: tuple[tuple[int, int, int], ...], idle: bool) -> int:
        """The number that makes a wire carry its source of a slot. MappingError where there is no such wire.

        A gated arc takes one cycle more where the mapping has switched its pipeline register on, so the same source may
        be meant by different arcs; the delay tells them apart. 0 is also what an idle wire gets, which is harmless:
        nobody reads it.
        """
        source = int(self.configuration.driver[row, slot])
        if source < 0:
            return 0
        delay = int(self.configuration.delay[row, slot])
        for k, (resource, latency, gate) in enumerate(arcs):
            if resource == source and latency + (self.settings[gate] if gate >= 0 else 0) == delay:
                return k + idle
        names = self.arch.resource_names
        raise MappingError(
            f"slot {slot}: {names[source]!r} does not reach wire {row} in {delay} cycles in the hardware"
        )

    def _registers(self, unit: Unit) -> None:
        """Set which registers take a result in which slot, how many rotate, and what they hold at first.

        A local register takes the result of its own tile, which 1 stands for, or one of its wires, counted from 2; a
        central one names the writing tile, counted from 1.
        """
        record = self.fields.units[unit.name]
        files = {file.registers: file for file in self.arch.register_files}
        file = files.get(unit.registers)
        if file is not None:
            record.setting = self.configuration.settings["rotating"].get(file.name, file.rotating)
        for k, register in enumerate(unit.registers):
            for slot in range(self.ii):
                source = int(self.configuration.driver[register, slot])
                if source >= 0:
                    ports = [port for port, *_ in unit.write_ports]
                    wires = unit.register_wires[k] if unit.register_wires else ()
                    writer = 1 + (ports.index(source) if ports else self._writer(unit, source, wires))
                    # What stands in a register from this slot on is written at the end of the slot before.
                    record.contexts[(slot - 1) % self.ii][f"r{k}.write"] = writer
            node = self.configuration.preset.get(register)
            if node is not None:
                record.registers[k] = self._livein(node)
        for k, (port, *taken) in enumerate(unit.write_ports):
            for slot in range(self.ii):
                source = int(self.configuration.driver[port, slot])
                if source >= 0:
                    chosen = self._writer(unit, source, tuple(taken))
                    record.contexts[(slot - 1) % self.ii][f"w{k}.select"] = chosen

    def _writer(self, unit: Unit, source: int, wires: tuple[int, ...]) -> int:
        """The number of what writes a register or a port: results of tiles come first, then wires."""
        if source in wires:
            return 1 + wires.index(source)
        return unit.inputs.index(int(self.arch.tile[source])) if unit.shape.kind == "file" else 0

    def _word(self, kind: str, what: int | str) -> int:
        """The number that a token stands for."""
        if isinstance(what, str):
            return self.liveins.get(what, 0) & self._ones
        return self._livein(what) if kind == "livein" else self._extended(what)

    @property
    def _ones(self) -> int:
        """A word of ones, of 32 bits at least: packets cut what is longer than the hardware's words."""
        return (1 << max(32, self.hardware.width)) - 1

    def _extended(self, word: int) -> int:
        """A number of the graph, which has 32 bits with a sign, as a word of the hardware."""
        return (word & 0xFFFFFFFF ^ 1 << 31) - (1 << 31) & self._ones

    def _livein(self, node: int) -> int:
        """The word of a live-in or a constant."""
        record = self.dfg.nodes[node]
        if record.op == "const":
            return self._extended(_carrier(self.configuration, record.value or 0))
        return self.liveins.get(record.id, 0) & self._ones

    # -- issue slots --------------------------------------------------------------------------------------------------

    def _issues(self) -> None:
        """Set the issue fields of each tile and slot; a slot that serves several iterations issues in every round."""
        groups: dict[tuple[int, int], list[Slot]] = defaultdict(list)
        for slot in self.configuration.slots:
            groups[slot.tile, slot.slot].append(slot)
        for (tile, number), slots in groups.items():
            unit = self.hardware.unit_of_tile[tile]
            context = self.fields.units[unit.name].contexts[number]
            context.update(self._issue(unit, slots[0]))
            # Only a value that never changes can be moved for several iterations in one cycle.
            if len(slots) > 1:
                self._check_timeless(unit, slots)
                context["always"] = 1

    def _check_timeless(self, unit: Unit, slots: list[Slot]) -> None:
        """Check that slots which issue at once move one value that is the same in every round."""
        same = {(s.kind, s.resource, s.operands, s.spill) for s in slots}
        if len(same) > 1 or slots[0].kind == "op":
            raise MappingError(f"tile {unit.name!r}, slot {slots[0].slot}: {len(slots)} things to issue at once")

    def _issue(self, unit: Unit, slot: Slot) -> dict[str, int]:
        """The issue fields of a slot: what it issues, from which round on, and where its operands come from."""
        numbers = {"valid": 1, "start": slot.start, "write": int(slot.writes), "opcode": MOVE}
        if unit.shape.latency > 1 and slot.writes:
            numbers["latency"] = slot.latency - 1
        if slot.kind == "op":
            numbers |= self._op(unit, slot)
        elif slot.kind in ("load", "store"):
            depth = power_of_two(self.configuration.spills[slot.spill].depth)
            access = LOAD if slot.kind == "load" else STORE
            address = self.layout.spills[slot.spill]
            numbers |= {"access": access, "spill": 1, "mask": depth - 1, "address": address}
        for k, operand in enumerate(slot.operands):
            numbers |= self._operand(unit, slot, k, operand)
        return numbers

    def _op(self, unit: Unit, slot: Slot) -> dict[str, int]:
        """The fields of an op: its opcode, or the access to memory or streams that it stands for."""
        node, op = self.dfg.nodes[slot.node], self.dfg.ops[slot.node]
        if node.op == "input":
            return {"in0.source": FROM_STREAM} | self._emission(slot)
        if node.op == "output":
            return {"emit": 1}
        if node.op in _ACCESS:
            if not unit.shape.memory:
                raise MappingError(f"node {node.id!r}: tile {unit.name!r} has no memory port in the hardware")
            if node.op not in self.hardware.parameters.accesses:
                raise MappingError(f"node {node.id!r}: {node.op!r} is not among the accesses of the hardware (ops)")
            first = self.layout.arrays[node.array or ""][0]
            return {"access": _ACCESS[node.op], "address": first} | self._emission(slot)
        code = self.hardware.opcode(unit, node.op, self.dfg.domain)
        if code is None:
            raise MappingError(
                f"node {node.id!r}: op {node.op!r} is not in the function unit of tile {unit.name!r}"
                + ("; no hardware is generated for it" if op.op_class not in ("alu", "mul", "div", "fp") else "")
            )
        return {"opcode": code} | self._emission(slot)

    def _emission(self, slot: Slot) -> dict[str, int]:
        """The emit field: where outputs need no tile, a result leaves through the port of the tile that computes it."""
        node = self.dfg.nodes[slot.node].id
        # A live-out leaves in every iteration; the last word that leaves is its value.
        if self.hardware.parameters.liveouts and self.dfg.nodes[slot.node].liveout and slot.copy == 0:
            return {"emit": 1}
        if "output" not in self.arch.free:
            return {}
        read = any(e.source == node and self.dfg.op(e.target).name == "output" for e in self.dfg.edges)
        return {"emit": 1} if read and slot.copy == 0 else {}

    def _operand(self, unit: Unit, slot: Slot, k: int, operand: Operand) -> dict[str, int]:
        """The fields of an operand: its initial values, and where its word comes from."""
        numbers: dict[str, int] = {}
        tokens = _tokens(self.configuration, operand)
        if tokens:
            numbers[f"in{k}.base"] = _claim(self.pools[unit.tile], tokens)
            numbers[f"in{k}.count"] = min(operand.distance, len(operand.initial))
        if operand.kind in ("const", "livein"):
            return numbers | {f"in{k}.source": FROM_VALUE}
        if operand.kind == "stream":
            return numbers | {f"in{k}.source": FROM_STREAM}
        if operand.kind != "routed":
            raise MappingError(
                f"node {self.dfg.nodes[slot.node].id!r}: hardware is not generated for {operand.kind} edges"
            )
        return numbers | self._wire(unit, k, operand)

    def _wire(self, unit: Unit, k: int, operand: Operand) -> dict[str, int]:
        """The FIFO tap and the lane of an operand that comes over a wire. MappingError where the FIFO is too short."""
        row, count = operand.resource, len(self.arch.kind)
        resource = self.configuration.lanes[row - count] if row >= count else row
        if resource < 0 or self.arch.kind[resource] != Kind.IN or self.arch.position[resource] != k:
            raise MappingError(f"tile {unit.name!r}: operand {k} has no wire")
        if operand.fifo > unit.shape.depth(k):
            raise MappingError(
                f"tile {unit.name!r}: operand {k} waits {operand.fifo} cycles; the FIFO has {unit.shape.depth(k)}"
            )
        return {f"in{k}.tap": operand.fifo, f"in{k}.lane": self.lane_of.get(row, 0)}

    # -- words --------------------------------------------------------------------------------------------------------

    def _words(self, unit: Unit) -> None:
        """Set the immediates, live-ins and initial values of a tile, or the value of a constant register."""
        record = self.fields.units[unit.name]
        if unit.shape.kind == "const":
            node = self.configuration.preset.get(int(self.arch.fu[unit.tile]))
            record.setting = self._livein(node) if node is not None else 0
            return
        pool = self.pools.get(unit.tile, [])
        room = unit.shape.words(self.hardware.parameters)
        if len(pool) > room:
            lever = "raise values" if unit.shape.constants is None else "raise constants of the tile"
            lever = "set carries" if unit.shape.wired else lever
            raise MappingError(
                f"tile {unit.name!r} needs {len(pool)} immediates and initial values; the hardware has {room}: {lever}"
            )
        for k, (kind, number) in enumerate(pool):
            record.values[k] = self._word(kind, number)
