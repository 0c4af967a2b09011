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
from collections.abc import Iterable
from functools import cached_property
from typing import Final, NamedTuple

import numpy as np

from gridloom.archs.model import Arch, Kind, RegisterFile
from gridloom.dfg.ops import FUSED, OP_TABLE, Op
from gridloom.errors import ArchError
from gridloom.hardware.parameters import ACCESSES, FLOATS, OPCODE_BITS, OPCODES, HardwareParameters, bits_for
from gridloom.hardware.rtl.combinational import gated_at_source, looping
from gridloom.hardware.rtl.file_writers import FileWriters, find_multiplexers
from gridloom.hardware.rtl.names import free_name, unique_names
from gridloom.hardware.rtl.shapes import Bus, Mux, MuxInput, Shape, Unit

#: Fused ops that begin with a shift; their class is that of products, yet no multiplier computes them.
_SHIFT_FUSED: Final = frozenset(name for name, (first, _, _) in FUSED.items() if first in ("shl", "shr", "lshr"))


def _mask(ops: Iterable[Op]) -> int:
    """The opcodes of those of some integer ops that hardware computes, as a mask."""
    return sum(1 << op.code for op in ops if op.in_hardware)


_INTEGER: Final = tuple(OP_TABLE["i32"].values())
#: The opcodes of products, of quotients and remainders, and of fused ops that begin with a shift, as masks.
PRODUCTS: Final = _mask(op for op in _INTEGER if op.op_class == "mul" and op.name not in _SHIFT_FUSED)
QUOTIENTS: Final = _mask(op for op in _INTEGER if op.op_class == "div")
SHIFTED: Final = _mask(op for op in _INTEGER if op.name in _SHIFT_FUSED)
#: The code that the opcodes of a domain count from.
CODE_BASE: Final = {domain: OP_TABLE[domain]["const"].code for domain in ("i32", "cma24")}


class _Timing(NamedTuple):
    """When the results of a tile are there; the fields of a shape of the same names."""

    latency: int
    stages: int
    issue: int = 0
    product: int = 0
    division: int = 0
    load: int = 0
    divides_in: int = 1
    single: int = 0


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
        #: Words that every unit computes with at a time: copies of the data path behind one control.
        self.simd_lanes = arch.simd_lanes(self.parameters.width)
        _check_supported(arch, self.simd_lanes)
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
    def vector_width(self) -> int:
        """How many bits the words of all SIMD lanes have together; lane 0 has the lowest."""
        return self.width * self.simd_lanes

    @property
    def word_bits(self) -> int:
        """How many bits of a word hold a number: all but the carry of domain cma24."""
        return 24 if self.domain == "cma24" else self.parameters.width

    def opcode(self, unit: Unit, op: str, domain: str | None = None) -> int | None:
        """Return the opcode of an op of a domain on a unit; None: the unit does not have it.

        The domain is that of the hardware where none is given; graphs of domain ``f32`` have their own names for ops.
        """
        row = OP_TABLE[domain or self.domain].get(op)
        if row is None or not 0 <= (code := row.code - CODE_BASE[self.domain]) < OPCODES:
            return None
        return code if unit.shape.ops >> code & 1 else None

    def multiplies(self, shape: Shape) -> bool:
        """Return True when the units of a shape have a multiplier."""
        op = OP_TABLE[self.domain]["mult" if self.domain == "cma24" else "mul"]
        return shape.kind == "pe" and bool(shape.ops >> op.code - CODE_BASE[self.domain] & 1)

    def has_memory(self, tile: int) -> bool:
        """Return True when a tile has a memory port."""
        wanted = self.parameters.memory
        if wanted is None:
            wanted = bool(self.arch.pools or self.arch.banks) or bool((self.arch.kind == Kind.MEM).any())
        trim = self.parameters.trim
        return wanted and "mem" in self.arch.tiles[tile].classes and (trim is None or tile in trim.memory)

    # -- construction -------------------------------------------------------------------------------------------------

    def _arcs(self) -> dict[int, list[tuple[int, int, int]]]:
        """Resource -> (source, cycles, gate) of its arcs.

        Arcs from a resource to itself (a register that keeps its value) need no wire. Without ``bypass`` the arcs from
        link to link are left out as well. A gate whose setting trimmed hardware has fixed is a register or nothing.
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
        trim = self.parameters.trim
        kept = None if trim is None else set(trim.arcs)
        for source, target, latency, gate in zip(*columns):
            if kept is not None and self._is_wire[target] and (source, target, latency, gate) not in kept:
                continue
            if source == target or (links[source] and links[target] and not self.parameters.bypass):
                continue
            fixed = trim.setting(gate) if trim is not None and gate >= 0 else -1
            table[target].append((source, latency, gate) if fixed < 0 else (source, latency + fixed, -1))
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
        return find_multiplexers(self.arch)

    @cached_property
    def _files(self) -> FileWriters:
        return FileWriters(self.arch, self._incoming, self._is_wire)

    @cached_property
    def _passed_on(self) -> set[int]:
        """The resources that lead to something else than a function unit."""
        kind = self.arch.kind
        return {s for target, rows in self._incoming.items() if kind[target] != Kind.FU for s, _, _ in rows}

    @cached_property
    def _exporting(self) -> set[int]:
        """The tiles whose results go to a register file that several tiles share."""
        shared = np.flatnonzero((self.arch.kind == Kind.REG) & (self.arch.tile < 0))
        return {int(self.arch.tile[s]) for r in shared.tolist() for s, _ in self._files.writers(r)}

    def _tile_unit(self, t: int, owned: list[int], read_outside: set[int]) -> Unit:
        """The unit of a tile: its ports, multiplexers and sizes, and the resources behind them."""
        arch, tile = self.arch, self.arch.tiles[t]
        outputs = [r for r in owned if r in read_outside and arch.kind[r] != Kind.REG]
        if tile.kind == "const":
            shape = Shape("const", (), (), ("word",))
            return Unit(name=tile.name, id=t + 1, tile=t, shape=shape, inputs=(), outputs=tuple(outputs), wires=())
        registers = [r for r in owned if arch.kind[r] == Kind.REG]
        operands, timing = self._operands(t), self._timing(t)
        wires, lanes = self._wires(owned, operands)
        writing = [self._files.wires(r) for r in registers]
        ports = self._files.ports(registers[0]) if registers else []
        taken = [[s for s, _, _ in self._incoming[r] if self._is_wire[s]] for r in ports]
        read = [s for r in wires for s, _, _ in self._incoming[r]] + [s for row in writing for s in row]
        inputs = sorted({s for s in read if arch.tile[s] != t})
        local = _local_names(arch, owned, inputs)
        gates = sorted(
            {self._gate(r, s, gate) for r in wires for s, _, gate in self._incoming[r]}.union(
                self._gated.get(r, -1) for r in outputs
            )
            - {-1}
        )
        muxes, arcs = self._muxes(wires, local, lanes, gates)
        gated = {r: MuxInput(local[r], 0, gates.index(self._gated[r])) for r in outputs if r in self._gated}
        shape = Shape(
            "pe",
            muxes,
            tuple(local[r] for r in inputs),
            tuple(gated[r].name if r in gated else local[r] for r in outputs),
            operands=operands,
            lanes=lanes,
            fifo=self._depth(tile.fifo, t),
            fifos=tuple(self._depth(fifo, t) for fifo in tile.fifos),
            constants=tile.constants,
            wired=self._is_wired(t),
            contexts=self.parameters.contexts if tile.contexts is None else tile.contexts,
            latency=timing.latency,
            issue=timing.issue,
            product=timing.product,
            division=timing.division,
            load=timing.load,
            single=timing.single,
            divides_in=timing.divides_in,
            stages=timing.stages,
            ops=self._ops(t),
            registers=len(registers),
            register_wires=tuple(tuple(local[s] for s in row) for row in writing) if any(writing) and not ports else (),
            write_ports=tuple(tuple(local[s] for s in row) for row in taken),
            rotates=any(r in file.registers for file in arch.register_files for r in registers),
            streams=self._streams(t),
            emits="output" in tile.classes or "output" in arch.free or self.parameters.liveouts,
            memory=self.has_memory(t),
            moves=arch.route_uses_fu and "route" in tile.classes,
            exports=t in self._exporting,
            gates=len(gates),
            gated_outputs=tuple(gated.values()),
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
            write_ports=tuple((r, *row) for r, row in zip(ports, taken, strict=True)),
            gates=tuple(gates),
            arcs=arcs,
        )

    def _operands(self, t: int) -> int:
        """How many operand inputs of a tile some op of its function unit reads.

        Accesses to memory read up to three, and a move reads the first.
        """
        inputs = int((self.arch.operand_inputs[t] >= 0).sum()) if self.arch.tiles[t].operands else 0
        mask, base = self._ops(t), CODE_BASE[self.domain]
        read = [op.arity for op in OP_TABLE[self.domain].values() if op.code - base >= 0 and mask >> op.code - base & 1]
        if self.has_memory(t):
            read += [ACCESSES[name] for name in self.parameters.accesses]
        return min(inputs, max([1, *read]))

    def _timing(self, t: int) -> _Timing:
        """How long the results of a tile take, by the part of the function unit that computes them.

        A multiplier or divider of more than one cycle has registers inside, and so has the way of a load. What is left
        of an op's latency behind its unit, more than the output register itself, are stages before that register.
        """
        tile, ops = self.arch.tiles[t], self._ops(t)
        classes = {c: tile.latency_of(c) for c in sorted(tile.classes)}
        longest = max(classes.values())
        if longest == 0 or self.domain == "cma24":
            return _Timing(longest, max(1, longest))
        issue = self._issue(t)
        classes = {c: cycles - issue for c, cycles in classes.items()}
        product = classes["mul"] - 1 if ops & PRODUCTS else 0
        division = classes["div"] - 1 if ops & QUOTIENTS else 0
        load = int(self.has_memory(t) and self.synchronous)
        single = classes["fp"] - 1 if ops & FLOATS else 0
        inside = {"mul": product, "div": division, "mem": load, "fp": single}
        left = {cycles - inside.get(c, 0) for c, cycles in classes.items()}
        # Fused ops that begin with a shift count as products, yet no multiplier computes them.
        if ops & SHIFTED:
            left.add(classes["mul"])
        divides_in = tile.occupancy_of("div") if division else 1
        return _Timing(longest, max(left), issue, product, division, load, divides_in, single)

    @cached_property
    def synchronous(self) -> bool:
        """True when data memory answers in the cycle after the access, as the block RAM of an FPGA does.

        So it does where every tile with a memory port gives a load two cycles or more, without the one for a register
        before the function units.
        """
        tiles = [tile for t, tile in enumerate(self.arch.tiles) if self.has_memory(t)]
        spare = [tile.latency_of("mem") - self._accesses_late for tile in tiles]
        return bool(tiles) and min(spare) > 1

    def _issue(self, t: int) -> int:
        """1 where a tile has a register before its function units: none of its ops is done in a single cycle.

        It makes an access to memory a cycle late. So that accesses keep their order, and tiles that share a port do not
        meet there, all tiles with a memory port have that register, or none of them.
        """
        return int(self._accesses_late) if self.has_memory(t) else int(self._is_late(t))

    @cached_property
    def _accesses_late(self) -> bool:
        """Whether tiles with a memory port have a register before their function units."""
        return all(self._is_late(t) for t in range(len(self.arch.tiles)) if self.has_memory(t))

    def _is_late(self, t: int) -> bool:
        """Whether every op of a tile takes two cycles or more."""
        tile = self.arch.tiles[t]
        return min(map(tile.latency_of, tile.classes)) > 1

    def _wires(self, owned: list[int], operands: int) -> tuple[list[int], int]:
        """The wires of a tile that need a multiplexer, and how many lanes an operand input has.

        An operand input that no op reads is left out, unless it leads on to something else.
        """
        arch = self.arch
        wires = [r for r in owned if self._is_wire[r]]
        idle = {r for r in wires if arch.kind[r] == Kind.IN and arch.position[r] >= operands}
        wires = [r for r in wires if r not in idle or r in self._passed_on]
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
            numbers = [self._gate(r, s, gate) for s, _, gate in rows]
            sources = tuple(
                MuxInput(local[s], c, gates.index(gate) if gate >= 0 else -1)
                for (s, c, _), gate in zip(rows, numbers, strict=True)
            )
            for lane in range(lanes if kind == Kind.IN else 1):
                muxes.append(
                    Mux(f"{local[r]}_lane_{lane}" if lane else local[r], sources, self._idles(r), self._in_ring(r))
                )
                arcs.append(tuple(rows))
        return tuple(muxes), tuple(arcs)

    def _idles(self, r: int) -> bool:
        """Whether selection 0 of a wire stands for no source.

        So it does for links of crossbars, and for switch outputs on a loop of wires: an idle one that followed another
        by default could close a ring that drives itself.
        """
        return self._in_ring(r) or bool(self.arch.kind[r] == Kind.SWITCH and r in self._loops)

    @cached_property
    def _loops(self) -> set[int]:
        return looping(self.arch, self._incoming)

    @cached_property
    def _gated(self) -> dict[int, int]:
        return gated_at_source(self.arch, self._incoming, self._is_wire)

    def _gate(self, target: int, source: int, gate: int) -> int:
        """The gate before the input of a multiplexer; -1 where its source is gated already when it leaves its unit."""
        return -1 if source in self._gated and self.arch.tile[source] != self.arch.tile[target] else gate

    def _is_wired(self, t: int) -> bool:
        """Whether a tile keeps no words: it has no latency, constants have registers, and nothing is carried."""
        tile, immediate = self.arch.tiles[t], bool({"const", "livein"} & self.arch.free)
        keeps = immediate or self.parameters.carries or tile.fifo or tile.fifos
        return not keeps and max(map(tile.latency_of, tile.classes)) == 0

    def _in_ring(self, r: int) -> bool:
        """Whether a wire is a link or a switch output of crossbars that pass values on within a cycle."""
        return self.arch.links_per_cycle is not None and self.arch.kind[r] in (Kind.LINK, Kind.SWITCH)

    @property
    def has_rings(self) -> bool:
        """True when links form rings that only the configuration keeps open."""
        return any(mux.ring for unit in self.units for mux in unit.shape.muxes)

    def _keeps(self, t: int) -> tuple[tuple[int, int], ...]:
        """The opcodes of a tile that keep its function unit for several cycles, as masks, with these cycles."""
        tile, base = self.arch.tiles[t], CODE_BASE[self.domain]
        masks: dict[int, int] = defaultdict(int)
        for op in OP_TABLE[self.domain].values():
            bit = 1 << op.code - base if 0 <= op.code - base < OPCODES else 0
            if op.name != "move" and bit & self._ops(t) and tile.occupancy_of(op.op_class) > 1:
                masks[tile.occupancy_of(op.op_class)] |= bit
        return tuple(sorted((mask, cycles) for cycles, mask in masks.items()))

    def _ops(self, t: int) -> int:
        """The opcodes of a tile as a mask; fused ops that nobody names are only on arrays whose graphs have them.

        ``move`` stays in, whichever ops the parameters name, since routes through function units use it. Ops on singles
        are there only where the parameters name them.
        """
        tile, base, trim = self.arch.tiles[t], CODE_BASE[self.domain], self.parameters.trim
        chosen, floats = self.parameters.ops, self.parameters.floats
        if trim is not None:
            chosen = floats = tuple(op for number, op in trim.ops if number == t)
        limit = OPCODES if chosen is not None or self.arch.has("fuses") else 1 << OPCODE_BITS

        def has(op: Op) -> bool:
            if not op.in_hardware:
                return False
            if op.op_class == "fp":
                return op.name in floats and "fp" in tile.classes
            if op.code - base >= limit or op.op_class not in tile.classes & {"alu", "mul", "div"}:
                return False
            return ((chosen is None or op.name in chosen) and op.name not in tile.lacks) or op.name == "move"

        return sum(1 << op.code - base for op in OP_TABLE[self.domain].values() if has(op))

    def _depth(self, fifo: int | None, t: int) -> int:
        """The depth of a FIFO of a tile; where the array sets no limit, that of the parameters, cut to what is kept."""
        whole = self.parameters.fifo if fifo is None else fifo
        return whole if self.parameters.trim is None else min(whole, self.parameters.trim.fifos[t])

    def _streams(self, t: int) -> int:
        """Operands of a tile that may come from a stream."""
        if "input" in self.arch.free:
            return self.arch.tiles[t].operands
        return int("input" in self.arch.tiles[t].classes)

    def _file_unit(self, file: RegisterFile, number: int) -> Unit:
        """The unit of a register file that several tiles share."""
        arch, registers = self.arch, list(file.registers)
        # All registers of a file have the same writers, so the first one tells.
        writers = sorted({int(arch.tile[s]) for s, _ in self._files.writers(registers[0])})
        ports = self._files.ports(registers[0])
        shape = Shape(
            "file",
            (),
            (),
            (),
            contexts=min(self.parameters.contexts if t.contexts is None else t.contexts for t in arch.tiles),
            registers=len(registers),
            writers=len(writers),
            write_ports=((),) * len(ports),
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
            write_ports=tuple((r,) for r in ports),
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


def _check_supported(arch: Arch, simd_lanes: int) -> None:
    """Raise ArchError for an array that no hardware is generated for."""
    if simd_lanes > 1 and (arch.banks or arch.register_files or (arch.kind == Kind.REG).any()):
        raise ArchError(
            f"array {arch.name!r} has SIMD lanes beside registers or banks; no hardware is generated for it"
        )
    if not arch.is_timed:
        raise ArchError(f"array {arch.name!r} is {arch.style}: hardware is generated for arrays that run by cycles")
    for r, kind in enumerate(arch.kind.tolist()):
        if kind in (Kind.LINK, Kind.SWITCH) and arch.capacity[r] == 0:
            raise ArchError(
                f"link {arch.resource_names[r]!r} of array {arch.name!r} carries any number of values; hardware has "
                "wires: give the array a limit (level=strict)"
            )
