"""The parts of an array's hardware as plain records: multiplexers, the shape of a unit, units in their places, buses.

:mod:`gridloom.hardware.rtl.structure` derives them from an array; everything else reads them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, NamedTuple

from gridloom.hardware.parameters import FLOATS, OPCODE_BITS, HardwareParameters, bits_for

UnitKind = Literal["pe", "const", "file"]


class MuxInput(NamedTuple):
    """One input of a multiplexer: a signal of the unit, some cycles late.

    Equal sources of different multiplexers share their delay registers.
    """

    signal: str
    delay: int
    #: The gate that, when it is on, adds one cycle; -1: there is none.
    gate: int

    @property
    def name(self) -> str:
        """The signal that a multiplexer reads: the signal itself, or its delayed or gated version."""
        if self.gate >= 0:
            return f"{self.signal}_gate_{self.gate}"
        return f"{self.signal}_{self.delay}_late" if self.delay else self.signal


class Mux(NamedTuple):
    """The multiplexer of a wire.

    Its select field counts the sources from 0, or from 1 where it is ``idle``. With a single choice it has no field.

    >>> direct = MuxInput("out", 0, -1)
    >>> Mux("in0", (direct, direct, direct)).select_bits, Mux("to_0", (direct,)).select_bits
    (2, 0)
    >>> Mux("n", (direct,), idle=True).select_bits
    1
    """

    name: str
    sources: tuple[MuxInput, ...]
    #: True: selection 0 stands for no source at all.
    idle: bool = False
    #: True: it is part of a ring of wires that the configuration keeps open.
    ring: bool = False

    @property
    def select_bits(self) -> int:
        """How many bits its select field has."""
        return bits_for(len(self.sources) + self.idle)


@dataclass(frozen=True, slots=True)
class Shape:
    """The interior of a unit; units of equal shapes share one module.

    It holds no name of a tile and no resource number, only local names (``in0``, ``from_2``, ``to_1``), so that equal
    interiors compare equal. It is hashable: modules, layouts and areas are looked up by it. What does not apply to the
    kind has its default; only a ``pe`` has multiplexers.
    """

    kind: UnitKind
    muxes: tuple[Mux, ...]
    #: Ports that carry words in and out.
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    #: How many operands have an input, how many wires each of those inputs has, how many may come from a stream.
    operands: int = 0
    lanes: int = 1
    streams: int = 0
    #: Cycles that an operand may wait; the same for each operand where they differ.
    fifo: int = 0
    fifos: tuple[int, ...] = ()
    #: Words of its constant store; None: as many as the parameters say.
    constants: int | None = None
    #: True: it keeps no words; operands come over wires or from streams.
    wired: bool = False
    #: Whether its function unit passes values on, and whether it has a memory port.
    moves: bool = False
    memory: bool = False
    #: The opcodes of its function unit, as a mask.
    ops: int = 0
    #: Longest op latency; 0: the output is a wire.
    latency: int = 1
    #: 1: a register holds the operands before the function units, because no op is done in a single cycle.
    issue: int = 0
    #: Cycles from the function units' operands to the result of the multiplier, of the divider and of a load; 0: it
    #: comes in the same cycle.
    product: int = 0
    division: int = 0
    load: int = 0
    #: The same of the unit for singles.
    single: int = 0
    #: Cycles until the divider takes the next operands.
    divides_in: int = 1
    #: Cycles between the earliest and the latest moment at which a result may go to the output register, plus 1.
    stages: int = 1
    #: Whether results may leave the array through an output port, and whether they go to a central register file.
    emits: bool = False
    exports: bool = False
    registers: int = 0
    #: For each register the wires that may write it beside the tile's result; empty where results alone do.
    register_wires: tuple[tuple[str, ...], ...] = ()
    #: For each write port of the register file the wires that it may take beside results; empty: there are no ports.
    write_ports: tuple[tuple[str, ...], ...] = ()
    #: Of a central register file: how many tiles write it.
    writers: int = 0
    #: Whether its registers may rotate.
    rotates: bool = False
    contexts: int = 1
    #: How many settings of the array reach the unit.
    gates: int = 0
    #: Signals that leave the unit behind a register that a setting switches on.
    gated_outputs: tuple[MuxInput, ...] = ()
    #: (opcodes as a mask, cycles) for those that keep the function unit for several cycles; the same for accesses.
    keeps: tuple[tuple[int, int], ...] = ()
    keeps_access: int = 1

    def depth(self, operand: int) -> int:
        """Return the cycles that an operand may wait."""
        return self.fifos[operand] if self.fifos else self.fifo

    def words(self, parameters: HardwareParameters) -> int:
        """Return the words of the store for constants and initial values; one at least, where there is a store."""
        if self.wired:
            return 0
        return parameters.values if self.constants is None else max(1, self.constants)

    def write_choices(self, register: int) -> int:
        """Return how many things a register may do in a slot: keep its value, take a result, a wire or a port."""
        if self.write_ports:
            return 1 + len(self.write_ports)
        if self.kind == "file":
            return 1 + self.writers
        return 2 + (len(self.register_wires[register]) if self.register_wires else 0)

    def port_choices(self, port: int) -> int:
        """Return how many things a write port may take: results of tiles, and wires."""
        return (self.writers if self.kind == "file" else 1) + len(self.write_ports[port])

    @property
    def settle(self) -> int:
        """How many cycles after the issue every result is known."""
        return self.issue + max(self.product, self.division, self.load, self.single)

    @property
    def floats(self) -> int:
        """The opcodes of its unit for singles, as a mask; 0: it has none."""
        return self.ops & FLOATS

    @property
    def opcode_bits(self) -> int:
        """How many bits an opcode has: one more than usual where the unit has fused ops."""
        return max(OPCODE_BITS, bits_for(self.ops.bit_length()))


@dataclass(frozen=True, slots=True, kw_only=True)
class Unit:
    """A tile, or the central register file, in its place in the array.

    The tuples run parallel to those of the shape: ``inputs[k]`` is the resource behind port ``shape.inputs[k]``,
    ``wires[k]`` and ``arcs[k]`` belong to ``shape.muxes[k]``. For a central register file ``inputs`` are the tiles that
    write it, not resources.
    """

    name: str
    #: Number on the configuration chain; 0 is the sequencer.
    id: int
    #: The tile; -1 for the central register file.
    tile: int
    shape: Shape
    #: The resource behind each input port, each output port and each multiplexer, in the order of the shape.
    inputs: tuple[int, ...]
    outputs: tuple[int, ...]
    wires: tuple[int, ...]
    registers: tuple[int, ...] = ()
    #: For each register the resources of the wires that may write it.
    register_wires: tuple[tuple[int, ...], ...] = ()
    #: For each write port its resource, then those of the wires that it may take.
    write_ports: tuple[tuple[int, ...], ...] = ()
    #: The settings bit behind each gate.
    gates: tuple[int, ...] = ()
    #: For each multiplexer the arcs behind its sources: (resource, cycles, gate).
    arcs: tuple[tuple[tuple[int, int, int], ...], ...] = ()


@dataclass(frozen=True, kw_only=True)
class Bus:
    """A memory port and the units that share it; ``units`` are numbers of tiles.

    At most one of them asks in a cycle: the mapping has to see to it, as the pool's capacity demands, for the bus has
    no arbiter. A port of a bank serves the tiles that reach the bank in turn.
    """

    name: str
    units: tuple[int, ...]
    #: The bank of which it is a port; -1: the memory has no banks.
    bank: int = -1
