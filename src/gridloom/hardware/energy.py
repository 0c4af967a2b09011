"""Energy of a mapping: what switches in an iteration, times what a switch costs.

The values that nodes compute in a simulated run say how many bits change on every wire and in every register from one
use to the next (two values that share a wire in different slots follow each other there). The cost of an operation is
that of a published table for random data, scaled by how many bits of its operands change; wires and registers cost per
bit that changes, memory per access, and the clock per register bit and cycle.

:data:`TABLE` is for 45 nm at 0.9 V. Additions, multiplications, floating point and SRAM are from M. Horowitz,
"Computing's energy problem (and what we can do about it)", ISSCC 2014, between whose words of 8 and 32 bits additions
grow linearly and multiplications with the square. A wire is C V^2 / 2 with 0.2 pF per mm and 0.1 mm between tiles. A
flip-flop is an estimate from the size of its cell (about five NAND gates of 1 fJ each per change, one for its clock).
The control of a tile (contexts, firing window) is not counted.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping as MappingABC
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from gridloom.archs.model import Kind
from gridloom.mapping.model import Mapping

Words = NDArray[np.int64]


@dataclass(frozen=True, kw_only=True)
class EnergyTable:
    """What operations, wires, registers and memory cost, in pJ."""

    #: Additions and logic of 8 and 32 bits.
    add: tuple[float, float] = (0.03, 0.1)
    #: Products of 8 and 32 bits; a division is taken as one product per 4 bits of the quotient.
    mul: tuple[float, float] = (0.2, 3.1)
    #: Addition and product in f32.
    float_add: float = 0.9
    float_mul: float = 3.7
    #: An access to 64 bits of a memory of 8 KB, of which a word takes its share.
    memory: float = 10.0
    #: A bit that changes on a link from tile to tile, and at an input or a switch inside a tile.
    link: float = 0.0081
    switch: float = 0.001
    #: A bit that changes in a register, and the clock of a bit in a cycle.
    register: float = 0.005
    clock: float = 0.001


TABLE: Final = EnergyTable()


@dataclass(frozen=True, kw_only=True)
class Energy:
    """The energy of one iteration in pJ, by what takes it."""

    ops: float
    links: float
    registers: float
    memory: float
    clock: float

    @property
    def total(self) -> float:
        """The sum of all parts."""
        return self.ops + self.links + self.registers + self.memory + self.clock

    def to_dict(self) -> dict[str, float]:
        """Return all parts and the total as plain data, rounded."""
        parts = {name: getattr(self, name) for name in ("ops", "links", "registers", "memory", "clock", "total")}
        return {name: round(value, 4) for name, value in parts.items()}


def energy(mapping: Mapping, values: Words, *, width: int = 32, table: EnergyTable = TABLE) -> Energy:
    """Return the energy of one iteration of a mapping, averaged over a run.

    ``values`` is [iteration, node], as interpreter and simulator observe them, for two iterations or more. Linear in
    hops times iterations.
    """
    words = values.astype(np.int64) & (1 << width) - 1
    changes = _changes(mapping, words, width)
    return Energy(
        ops=_ops(mapping, words, width, table),
        links=sum(bits * (table.link if kind == Kind.LINK else table.switch)
                  for kind, bits in changes.items() if kind in (Kind.LINK, Kind.SWITCH, Kind.IN)),
        registers=table.register * sum(bits for kind, bits in changes.items() if kind in (Kind.OUT, Kind.REG)),
        memory=_accesses(mapping) * table.memory * width / 64,
        clock=table.clock * width * _register_words(mapping) * mapping.ii,
    )  # fmt: skip


def _changes(mapping: Mapping, words: Words, width: int) -> MappingABC[int, float]:
    """Kind of resource -> bits that change on resources of that kind in an iteration."""
    arch, dfg = mapping.arch, mapping.dfg
    numbers = {name: r for r, name in enumerate(arch.resource_names)}
    users: dict[int, dict[int, int]] = defaultdict(dict)
    for route in mapping.routes:
        source = dfg.index[dfg.edges[route.edge].source]
        for resource, cycle in route.hops:
            if resource in numbers:
                users[numbers[resource]][cycle % mapping.ii] = source
    totals: dict[int, float] = defaultdict(float)
    for r, slots in users.items():
        columns = [words[:, slots[slot]] for slot in sorted(slots)]
        # What a resource holds, use after use.
        sequence = np.stack(columns, axis=1).reshape(-1)
        totals[int(arch.kind[r])] += _distance(sequence, width) * len(columns)
    return totals


def _distance(sequence: Words, width: int) -> float:
    """The mean number of bits in which a word differs from the one before it; 0 for a single word."""
    if len(sequence) < 2:
        return 0.0
    changed = (sequence[1:] ^ sequence[:-1]).astype(np.uint64)
    bits = (changed[:, None] >> np.arange(width, dtype=np.uint64)) & np.uint64(1)
    return float(bits.sum(axis=1).mean())


def _ops(mapping: Mapping, words: Words, width: int, table: EnergyTable) -> float:
    """The energy of all operations of an iteration, copies included."""
    dfg = mapping.dfg
    total = 0.0
    for k, node in enumerate(dfg.nodes):
        cost = op_energy(dfg.domain, dfg.ops[k].op_class, dfg.ops[k].name, width, table)
        if not cost:
            continue
        operands = [dfg.index[dfg.edges[e].source] for e in dfg.operand_edges(node.id)]
        # Random data changes half of the bits, which is what the table is for.
        changed = [_distance(words[:, operand], width) / (width / 2) for operand in operands]
        copies = max(1, len(mapping.copies.get(node.id, ())))
        total += cost * copies * (float(np.mean(changed)) if changed else 1.0)
    return total


def op_energy(domain: str, op_class: str, op: str, width: int, table: EnergyTable = TABLE) -> float:
    """Return what an operation costs on random data, in pJ; 0 for what computes nothing.

    >>> op_energy("i32", "alu", "add", 32), op_energy("i32", "mul", "mul", 8)
    (0.1, 0.2)
    """
    if op_class in ("const", "livein", "input", "output", "route", "mem", "mem_data"):
        return 0.0
    if domain == "f32":
        return table.float_mul if "mul" in op or "div" in op or "square" in op else table.float_add
    if op_class == "mul" or op == "mult":
        return _grown(table.mul, width, power=2)
    if op_class == "div":
        return _grown(table.mul, width, power=2) * width / 4
    return _grown(table.add, width, power=1)


def _grown(costs: tuple[float, float], width: int, power: int) -> float:
    """A cost at a width, on the line (in width or its square) through those of 8 and 32 bits."""
    low, high = costs
    share = (width**power - 8**power) / (32**power - 8**power)
    return max(low * (width / 8) ** power if width < 8 else low + share * (high - low), 0.0)


def _accesses(mapping: Mapping) -> int:
    """Accesses to data memory in an iteration: loads and stores of the graph, and values that spill."""
    memory = {name for r, name in enumerate(mapping.arch.resource_names) if mapping.arch.kind[r] == Kind.MEM}
    own = sum(op.op_class == "mem" for op in mapping.dfg.ops)
    # A value that waits in memory was stored before its first cycle there and is loaded behind its last.
    spills = sum(2 for route in mapping.routes if any(resource in memory for resource, _ in route.hops))
    return own + spills


def _register_words(mapping: Mapping) -> int:
    """Words that registers hold: output registers, register files, late arcs and FIFOs.

    The multiplexers of a tile that read a signal equally late share its registers, and a register that a setting
    switches on stands once behind its source.
    """
    arch = mapping.arch
    held = int(np.isin(arch.kind, [int(Kind.OUT), int(Kind.REG)]).sum())
    wires = np.isin(arch.kind[arch.arc_target], [int(Kind.IN), int(Kind.LINK), int(Kind.SWITCH)])
    late = wires & (arch.arc_latency > 0)
    columns = (arch.arc_source[late], arch.tile[arch.arc_target[late]], arch.arc_latency[late])
    delays = {(int(source), int(tile), int(cycles)) for source, tile, cycles in zip(*columns)}
    bits = [bit for setting in arch.settings for bit in mapping.settings.get(setting.name, ())]
    gated = {int(s) for s, gate in zip(arch.arc_source, arch.arc_gate) if gate >= 0 and bits and bits[gate]}
    fifos = sum((tile.fifo or 0) * tile.operands for tile in arch.tiles)
    return held + sum(cycles for *_, cycles in delays) + len(gated) + fifos
