"""What the hardware of an array is made of, derived from its resource graph.

Each tile (and a central register file) is a *unit*. A wire of the array (operand input, link, switch output) is a
multiplexer over its arcs; an arc of d cycles reads its source through d registers. Units with the same interior (the
same *shape*) share one module: ports are numbered in the order of the array's resources.

The resources of the array become hardware as follows: IN, LINK and SWITCH resources are multiplexers of the unit that
owns them; FU and OUT are the function unit and its output register; REG resources are registers of the tile's own file,
or of the central one where no tile owns them; each pool of tiles with memory ports becomes a memory bus. A local
register takes the result of its tile, or a wire that has an arc of one cycle to it. An arc may be *gated*: a setting of
the mapping switches a pipeline register on, which adds a cycle.

A wire that only its own unit reads is internal; one that another unit reads is an output port. Since ports are numbered
and not named by position in the array, all inner tiles of a grid have the same shape: an 8 x 8 mesh needs three modules
instead of 64. ``Unit`` keeps the way back from a port to the resource behind it.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from functools import cached_property
from typing import Final, Literal, NamedTuple

import numpy as np

from gridloom.archs.model import Arch, Kind, RegisterFile
from gridloom.dfg.ops import OP_TABLE
from gridloom.errors import ArchError
from gridloom.hardware.parameters import OPCODE_BITS, OPCODES, HardwareParameters, bits_for
from gridloom.hardware.rtl.names import free_name, unique_names

UnitKind = Literal["pe", "const", "file"]
_WIRES: Final = (Kind.IN, Kind.LINK, Kind.SWITCH)
_CODE_BASE: Final = {domain: OP_TABLE[domain]["const"].code for domain in ("i32", "cma24")}


class Source(NamedTuple):
    """One input of a multiplexer: a signal of the unit, some cycles late.

    Equal sources of different multiplexers share their delay registers.
    """

    signal: str
    delay: int
    #: The gate that, when it is on, adds one cycle; -1: there is none.
    gate: int


class Mux(NamedTuple):
    """The multiplexer of a wire.

    Its select field counts the sources from 0, or from 1 where it is ``idle``. With a single choice it has no field.

    >>> direct = Source("out", 0, -1)
    >>> Mux("in0", (direct, direct, direct)).select_bits, Mux("to_0", (direct,)).select_bits
    (2, 0)
    >>> Mux("n", (direct,), idle=True).select_bits
    1
    """

    name: str
    sources: tuple[Source, ...]
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
    #: Cycles that an operand may wait.
    fifo: int = 0
    #: Whether its function unit passes values on, and whether it has a memory port.
    moves: bool = False
    memory: bool = False
    #: The opcodes of its function unit, as a mask.
    ops: int = 0
    #: Longest op latency; 0: the output is a wire.
    latency: int = 1
    #: Whether results may leave the array through an output port, and whether they go to a central register file.
    emits: bool = False
    exports: bool = False
    registers: int = 0
    #: For each register the wires that may write it beside the tile's result; empty where results alone do.
    register_wires: tuple[tuple[str, ...], ...] = ()
    #: Of a central register file: how many tiles write it.
    writers: int = 0
    #: Whether its registers may rotate.
    rotates: bool = False
    contexts: int = 1
    #: How many settings of the array reach the unit.
    gates: int = 0
    #: (opcodes as a mask, cycles) for those that keep the function unit for several cycles; the same for accesses.
    keeps: tuple[tuple[int, int], ...] = ()
    keeps_access: int = 1

    def write_choices(self, register: int) -> int:
        """Return how many things a local register may do in a slot: keep its value, take the result or a wire."""
        return 2 + (len(self.register_wires[register]) if self.register_wires else 0)

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


class Hardware:
    """The units of an array, their connections, and the sizes that all of them share.

    ArchError for an array that no hardware is generated for. Linear in the array's resources and arcs.

    Units are numbered along the configuration chain: tile t is unit t + 1, the central register file, where there is
    one, is the last. The object is not changed after construction; sizes and names are computed on first use and kept.

    >>> from gridloom.archs.spec import build
    >>> hardware = Hardware(build("torus:4x4"))
    >>> len(hardware.units), list(hardware.variants.values()), hardware.contexts
    (16, ['tile_0'], 16)
    """

    def __init__(self, arch: Arch, parameters: HardwareParameters | None = None) -> None:
        self.arch = arch
        self.parameters = parameters or HardwareParameters(width=arch.word)
        _check_supported(arch)
        self._incoming = self._arcs()
        self.units: tuple[Unit, ...] = tuple(self._build_units())
        self.unit_of_tile = {unit.tile: unit for unit in self.units if unit.tile >= 0}
        self.buses = tuple(self._build_buses())

    # -- sizes --------------------------------------------------------------------------------------------------------

    @cached_property
    def contexts(self) -> int:
        """How many slots every unit has at least: the largest II that the hardware can run."""
        return min([unit.shape.contexts for unit in self.units if unit.shape.kind != "const"], default=1)

    @cached_property
    def slot_bits(self) -> int:
        """How many bits the slot counter has, at least one."""
        return max(1, bits_for(max(unit.shape.contexts for unit in self.units)))

    @cached_property
    def id_bits(self) -> int:
        """How many bits a unit's number on the configuration chain has."""
        return max(1, bits_for(max(len(self.units), self.parameters.units) + 1))

    @cached_property
    def address_bits(self) -> int:
        """How many bits an address of the data memory has."""
        return max(1, bits_for(self.parameters.memory_words), bank_bits(self.arch) + 1 if self.arch.banks else 1)

    @cached_property
    def turn_bits(self) -> int:
        """How many bits of the round's number index spill buffers."""
        return max(1, bits_for(self.parameters.spill_depth))

    @cached_property
    def setting_bits(self) -> int:
        """How many bits of settings a mapping may switch on the whole array."""
        return sum(setting.length for setting in self.arch.settings)

    @cached_property
    def variants(self) -> dict[Shape, str]:
        """Shape -> module name, in the order of first use."""
        names: dict[Shape, str] = {}
        for shape in self.places:
            prefix = {"pe": "tile", "const": "constant", "file": "register_file"}[shape.kind]
            names[shape] = f"{prefix}_{sum(name.startswith(prefix) for name in names.values())}"
        return names

    @cached_property
    def places(self) -> dict[Shape, tuple[Unit, ...]]:
        """Shape -> the units that have it."""
        table: dict[Shape, list[Unit]] = {}
        for unit in self.units:
            table.setdefault(unit.shape, []).append(unit)
        return {shape: tuple(units) for shape, units in table.items()}

    @cached_property
    def verilog_names(self) -> dict[str, str]:
        """Name of a unit or resource -> its Verilog identifier in the top module."""
        return unique_names([*(unit.name for unit in self.units), *self.arch.resource_names])

    @cached_property
    def domain(self) -> str:
        """The domain that the function units compute in."""
        return hardware_domain(self.arch)

    @property
    def width(self) -> int:
        """How many bits a word has: in domain cma24 always 24 and a carry."""
        return 25 if self.domain == "cma24" else self.parameters.width

    @property
    def word_bits(self) -> int:
        """How many bits of a word hold a number: all but the carry of domain cma24."""
        return 24 if self.domain == "cma24" else self.parameters.width

    def opcode(self, unit: Unit, op: str) -> int | None:
        """Return the opcode of an op on a unit; None: the unit does not have it."""
        row = OP_TABLE[self.domain].get(op)
        if row is None or not 0 <= (code := row.code - _CODE_BASE[self.domain]) < OPCODES:
            return None
        return code if unit.shape.ops >> code & 1 else None

    def multiplies(self, shape: Shape) -> bool:
        """Return True when the units of a shape have a multiplier."""
        op = OP_TABLE[self.domain]["mult" if self.domain == "cma24" else "mul"]
        return shape.kind == "pe" and bool(shape.ops >> op.code - _CODE_BASE[self.domain] & 1)

    def has_memory(self, tile: int) -> bool:
        """Return True when a tile has a memory port."""
        wanted = self.parameters.memory
        if wanted is None:
            wanted = bool(self.arch.pools or self.arch.banks) or bool((self.arch.kind == Kind.MEM).any())
        return wanted and "mem" in self.arch.tiles[tile].classes

    # -- construction -------------------------------------------------------------------------------------------------

    def _arcs(self) -> dict[int, list[tuple[int, int, int]]]:
        """Resource -> (source, cycles, gate) of its arcs.

        Arcs from a resource to itself (a register that keeps its value) need no wire. Without ``bypass`` the arcs from
        link to link are left out as well.
        """
        arch = self.arch
        table: dict[int, list[tuple[int, int, int]]] = defaultdict(list)
        columns = (
            arch.arc_source.tolist(),
            arch.arc_target.tolist(),
            arch.arc_latency.tolist(),
            arch.arc_gate.tolist(),
        )
        links = (arch.kind == Kind.LINK).tolist()
        for source, target, latency, gate in zip(*columns):
            if source == target or (links[source] and links[target] and not self.parameters.bypass):
                continue
            table[target].append((source, latency, gate))
        return table

    def _build_units(self) -> list[Unit]:
        """One unit for each tile, in order, then the register files that several tiles share."""
        arch = self.arch
        owned: dict[int, list[int]] = defaultdict(list)
        for r, tile in enumerate(arch.tile.tolist()):
            owned[tile].append(r)
        read_outside = self._read_outside()
        units = [self._tile_unit(t, owned[t], read_outside) for t in range(len(arch.tiles))]
        # A file whose registers belong to no tile is a unit of its own.
        shared = [file for file in arch.register_files if arch.tile[file.registers[0]] < 0]
        return units + [self._file_unit(file, len(units) + 1 + k) for k, file in enumerate(shared)]

    def _read_outside(self) -> set[int]:
        """Resources that a multiplexer of another unit reads, and wires that write a register of another unit."""
        tile, wires = self.arch.tile.tolist(), self._is_wire
        return {
            source
            for target, rows in self._incoming.items()
            for source, _, _ in rows
            if tile[source] != tile[target] and (wires[target] or wires[source])
        }

    @cached_property
    def _is_wire(self) -> list[bool]:
        return [bool(wire) for wire in np.isin(self.arch.kind, [int(kind) for kind in _WIRES])]

    @cached_property
    def _exporting(self) -> set[int]:
        """The tiles whose results go to a register file that several tiles share."""
        shared = np.flatnonzero((self.arch.kind == Kind.REG) & (self.arch.tile < 0))
        return {int(self.arch.tile[s]) for r in shared.tolist() for s, _, _ in self._incoming[r]}

    def _tile_unit(self, t: int, owned: list[int], read_outside: set[int]) -> Unit:
        """The unit of a tile: its ports, multiplexers and sizes, and the resources behind them."""
        arch, tile = self.arch, self.arch.tiles[t]
        outputs = [r for r in owned if r in read_outside and arch.kind[r] != Kind.REG]
        if tile.kind == "const":
            shape = Shape("const", (), (), ("word",))
            return Unit(name=tile.name, id=t + 1, tile=t, shape=shape, inputs=(), outputs=tuple(outputs), wires=())
        registers = [r for r in owned if arch.kind[r] == Kind.REG]
        wires, lanes = self._wires(owned)
        writing = [self._register_wires(r) for r in registers]
        read = [s for r in wires for s, _, _ in self._incoming[r]] + [s for row in writing for s in row]
        inputs = sorted({s for s in read if arch.tile[s] != t})
        local = _local_names(arch, owned, inputs)
        gates = sorted({gate for r in wires for _, _, gate in self._incoming[r] if gate >= 0})
        muxes, arcs = self._muxes(wires, local, lanes, gates)
        shape = Shape(
            "pe",
            muxes,
            tuple(local[r] for r in inputs),
            tuple(local[r] for r in outputs),
            operands=int((arch.operand_inputs[t] >= 0).sum()) if tile.operands else 0,
            lanes=lanes,
            fifo=self.parameters.fifo if tile.fifo is None else tile.fifo,
            contexts=self.parameters.contexts if tile.contexts is None else tile.contexts,
            latency=max(tile.latency_of(c) for c in sorted(tile.classes)),
            ops=self._ops(t),
            registers=len(registers),
            register_wires=tuple(tuple(local[s] for s in row) for row in writing) if any(writing) else (),
            rotates=any(r in file.registers for file in arch.register_files for r in registers),
            streams=self._streams(t),
            emits="output" in tile.classes or "output" in arch.free,
            memory=self.has_memory(t),
            moves=arch.route_uses_fu and "route" in tile.classes,
            exports=t in self._exporting,
            gates=len(gates),
            keeps=self._keeps(t),
            keeps_access=tile.occupancy_of("mem") if self.has_memory(t) else 1,
        )
        return Unit(
            name=tile.name,
            id=t + 1,
            tile=t,
            shape=shape,
            inputs=tuple(inputs),
            outputs=tuple(outputs),
            wires=tuple(r for r in wires for _ in range(lanes if arch.kind[r] == Kind.IN else 1)),
            registers=tuple(registers),
            register_wires=tuple(tuple(row) for row in writing),
            gates=tuple(gates),
            arcs=arcs,
        )

    def _register_wires(self, register: int) -> list[int]:
        """The wires that may write a local register. ArchError where one takes another time than the register does."""
        rows = [(source, cycles) for source, cycles, _ in self._incoming[register] if self._is_wire[source]]
        for source, cycles in rows:
            if cycles != 1:
                names = self.arch.resource_names
                raise ArchError(
                    f"{names[source]!r} reaches register {names[register]!r} of array {self.arch.name!r} in {cycles} "
                    "cycles; hardware is generated for 1"
                )
        return [source for source, _ in rows]

    def _wires(self, owned: list[int]) -> tuple[list[int], int]:
        """The wires of a tile that need a multiplexer, and how many lanes an operand input has."""
        arch = self.arch
        wires = [r for r in owned if self._is_wire[r]]
        # An operand input without a limit would need a wire for every value that waits there; the hardware has so many
        # lanes.
        unlimited = any(arch.kind[r] == Kind.IN and arch.capacity[r] == 0 for r in wires)
        return wires, self.parameters.lanes if unlimited else 1

    def _muxes(
        self, wires: list[int], local: dict[int, str], lanes: int, gates: list[int]
    ) -> tuple[tuple[Mux, ...], tuple[tuple[tuple[int, int, int], ...], ...]]:
        """A multiplexer for each wire (for each lane of an operand input), and the arcs behind its sources."""
        muxes: list[Mux] = []
        arcs: list[tuple[tuple[int, int, int], ...]] = []
        for r in wires:
            kind = int(self.arch.kind[r])
            rows = self._incoming[r]
            sources = tuple(Source(local[s], c, gates.index(gate) if gate >= 0 else -1) for s, c, gate in rows)
            for lane in range(lanes if kind == Kind.IN else 1):
                muxes.append(
                    Mux(f"{local[r]}_lane_{lane}" if lane else local[r], sources, self._idles(r), self._in_ring(r))
                )
                arcs.append(tuple(rows))
        return tuple(muxes), tuple(arcs)

    def _idles(self, r: int) -> bool:
        """Whether selection 0 of a wire stands for no source.

        So it does for switch outputs, and for links of crossbars: an idle link that followed another one by default
        could close a ring of links that drives itself.
        """
        return bool(self.arch.kind[r] == Kind.SWITCH) or self._in_ring(r)

    def _in_ring(self, r: int) -> bool:
        """Whether a wire is a link or a switch output of crossbars that pass values on within a cycle."""
        return self.arch.links_per_cycle is not None and self.arch.kind[r] in (Kind.LINK, Kind.SWITCH)

    @property
    def has_rings(self) -> bool:
        """True when links form rings that only the configuration keeps open."""
        return any(mux.ring for unit in self.units for mux in unit.shape.muxes)

    def _keeps(self, t: int) -> tuple[tuple[int, int], ...]:
        """The opcodes of a tile that keep its function unit for several cycles, as masks, with these cycles."""
        tile, base = self.arch.tiles[t], _CODE_BASE[self.domain]
        masks: dict[int, int] = defaultdict(int)
        for op in OP_TABLE[self.domain].values():
            bit = 1 << op.code - base if 0 <= op.code - base < OPCODES else 0
            if op.name != "move" and bit & self._ops(t) and tile.occupancy_of(op.op_class) > 1:
                masks[tile.occupancy_of(op.op_class)] |= bit
        return tuple(sorted((mask, cycles) for cycles, mask in masks.items()))

    def _ops(self, t: int) -> int:
        """The opcodes of a tile as a mask; fused ops that nobody names are only on arrays whose graphs have them.

        ``move`` stays in, whichever ops the parameters name, since routes through function units use it.
        """
        classes = self.arch.tiles[t].classes
        chosen, base = self.parameters.ops, _CODE_BASE[self.domain]
        limit = OPCODES if chosen is not None or self.arch.has("fuses") else 1 << OPCODE_BITS
        return sum(
            1 << op.code - base
            for name, op in OP_TABLE[self.domain].items()
            if op.code - base < limit and op.op_class in classes & {"alu", "mul", "div"}
            if ((chosen is None or name in chosen) and name not in self.arch.tiles[t].lacks) or name == "move"
        )

    def _streams(self, t: int) -> int:
        """Operands of a tile that may come from a stream."""
        if "input" in self.arch.free:
            return self.arch.tiles[t].operands
        return int("input" in self.arch.tiles[t].classes)

    def _file_unit(self, file: RegisterFile, number: int) -> Unit:
        """The unit of a register file that several tiles share."""
        arch, registers = self.arch, list(file.registers)
        # All registers of a file have the same writers, so the first one tells.
        writers = sorted({int(arch.tile[s]) for s, _, _ in self._incoming[registers[0]]})
        shape = Shape(
            "file",
            (),
            (),
            (),
            contexts=min(self.parameters.contexts if t.contexts is None else t.contexts for t in arch.tiles),
            registers=len(registers),
            writers=len(writers),
            rotates=True,
        )
        return Unit(
            name=file.name,
            id=number,
            tile=-1,
            shape=shape,
            inputs=tuple(writers),
            outputs=tuple(registers),
            wires=(),
            registers=tuple(registers),
        )

    def _bank_ports(self) -> list[Bus]:
        """The ports of the memory banks, bank by bank."""
        taken = set(self.verilog_names.values())
        return [
            Bus(name=free_name(f"{bank.name}_{k}", taken), units=bank.tiles, bank=b)
            for b, bank in enumerate(self.arch.banks)
            for k in range(bank.ports)
        ]

    def _build_buses(self) -> list[Bus]:
        """The memory buses: one for each pool of tiles, and one for each further tile with a memory port.

        A pool may have the name of a tile, or one that Verilog does not take, so buses have Verilog names of their own.
        """
        # A tile is on one bus only: the first pool that lists it takes it.
        left = [unit.tile for unit in self.units if unit.tile >= 0 and unit.shape.memory]
        if self.arch.banks and left:
            return self._bank_ports()
        buses: list[tuple[str, tuple[int, ...]]] = []
        for pool in self.arch.pools:
            members = tuple(t for t in pool.tiles if t in left)
            # Tiles that may ask at the same time have ports of their own: a bus carries one access.
            if members and pool.capacity == 1:
                buses.append((pool.name, members))
                left = [t for t in left if t not in members]
        buses += [(f"bus_{self.arch.tiles[t].name}", (t,)) for t in left]
        taken = set(self.verilog_names.values())
        return [Bus(name=free_name(name, taken), units=units) for name, units in buses]


def bank_bits(arch: Arch) -> int:
    """Return how many of the upper bits of an address name the memory bank."""
    return bits_for(len(arch.banks))


def hardware_domain(arch: Arch) -> str:
    """Return the domain that the function units of an array compute in.

    Constant registers exist in arrays of the VPCMA kind only, whose function units compute in 24 bits with a carry; all
    others compute 32-bit integers.
    """
    return "cma24" if any(tile.kind == "const" for tile in arch.tiles) else "i32"


def _local_names(arch: Arch, owned: list[int], inputs: list[int]) -> dict[int, str]:
    """Resource -> the name of its signal inside the unit, which is the same for units of one shape."""
    names = {r: f"from_{k}" for k, r in enumerate(inputs)}
    links = 0
    for r in owned:
        if arch.kind[r] == Kind.LINK:
            names[r] = f"to_{links}"
            links += 1
        else:
            names[r] = arch.resource_names[r].rpartition(".")[2]
    return names


def _check_supported(arch: Arch) -> None:
    """Raise ArchError for an array that no hardware is generated for."""
    if arch.style == "elastic":
        raise ArchError(f"array {arch.name!r} is elastic: hardware is generated for arrays that run by cycles")
    for r, kind in enumerate(arch.kind.tolist()):
        if kind in (Kind.LINK, Kind.SWITCH) and arch.capacity[r] == 0:
            raise ArchError(
                f"link {arch.resource_names[r]!r} of array {arch.name!r} carries any number of values; hardware has "
                "wires: give the array a limit (level=strict)"
            )
