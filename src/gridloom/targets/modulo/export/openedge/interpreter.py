"""Runs a program of OpenEdgeCGRA instruction by instruction, with the clocks that each takes.

All PEs read what the instruction before has left, so that an instruction is one step of all of them. It takes 1 clock,
3 where a PE multiplies, and for each column the number of its memory accesses and 1; the longest decides. Accesses of a
column are served in row order. The interpreter refuses what the machine leaves open or what no mapping wants: a read of
an output register that a store has overwritten, an address that is no word of the memory given, and a word that two
columns write in one instruction. A load brings another word than either where a store of another column meets it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from gridloom.errors import SimulationError
from gridloom.targets.modulo.export.openedge.words import BRANCHES, SELECTS, PeInstruction

#: One instruction for every PE, row by row.
Line = Sequence[PeInstruction]


def word(value: int) -> int:
    """Return the 32-bit word of a number, as a signed one."""
    return (value + (1 << 31)) % (1 << 32) - (1 << 31)


_COMPUTE: Final[Mapping[str, Callable[[int, int], int]]] = {
    "SADD": lambda a, b: a + b,
    "SSUB": lambda a, b: a - b,
    "SMUL": lambda a, b: a * b,
    "FXPMUL": lambda a, b: (a * b) >> 15,
    "SLT": lambda a, b: a << (b & 31),
    "SRT": lambda a, b: (a % (1 << 32)) >> (b & 31),
    "SRA": lambda a, b: a >> (b & 31),
    "LAND": lambda a, b: a & b,
    "LOR": lambda a, b: a | b,
    "LXOR": lambda a, b: a ^ b,
    "LNAND": lambda a, b: ~(a & b),
    "LNOR": lambda a, b: ~(a | b),
    "LXNOR": lambda a, b: ~(a ^ b),
    "BEQ": lambda a, b: a == b,
    "BNE": lambda a, b: a != b,
    "BLT": lambda a, b: a < b,
    "BGE": lambda a, b: a >= b,
    "JUMP": lambda a, b: a + b,
}
_MEMORY: Final = frozenset({"LWD", "SWD", "LWI", "SWI"})
_STORES: Final = frozenset({"SWD", "SWI"})
#: What a load that races with a store brings differs from the word by this.
_ANY: Final = 0x2A5A5A5A
_STEPS: Final = {"RCL": (0, -1), "RCR": (0, 1), "RCT": (-1, 0), "RCB": (1, 0)}


@dataclass(frozen=True, slots=True, kw_only=True)
class MachineRun:
    """How a run ended: the memory, and the instructions and clocks that it took."""

    memory: Mapping[int, int]
    instructions: int
    clocks: int


def run_program(
    lines: Sequence[Line],
    memory: Mapping[int, int],
    *,
    cols: int = 4,
    reads: Sequence[int] = (),
    writes: Sequence[int] = (),
    first: int = 0,
    limit: int = 100_000,
) -> MachineRun:
    """Run a program on a memory of words by byte address until EXIT; ``reads`` and ``writes`` are a pointer per column.

    All registers are ``first`` at the start: 0 after a reset, anything after another program.

    SimulationError where it does what a program must not do, or does not end within ``limit`` instructions.
    """
    machine = _Machine(cols, len(lines[0]) // cols, memory, reads, writes, first)
    at, count, clocks = 0, 0, 0
    while count < limit:
        if at >= len(lines):
            raise SimulationError(f"the program has {len(lines)} instructions and goes on to number {at}")
        line = lines[at]
        clocks += _clocks(line, cols)
        count += 1
        target = machine.step(line, at)
        if any(instruction.op == "EXIT" for instruction in line):
            return MachineRun(memory=machine.memory, instructions=count, clocks=clocks)
        at = at + 1 if target is None else target
    raise SimulationError(f"the program does not end within {limit} instructions")


def _clocks(line: Line, cols: int) -> int:
    """Return the clocks that an instruction of all PEs takes."""
    accesses = [0] * cols
    for pe, instruction in enumerate(line):
        accesses[pe % cols] += instruction.op in _MEMORY
    multiplies = any(instruction.op in ("SMUL", "FXPMUL") for instruction in line)
    return max(3 if multiplies else 1, *(count + 1 for count in accesses))


class _Machine:
    """The state of the array. An output register that a store has overwritten is None."""

    def __init__(
        self, cols: int, rows: int, memory: Mapping[int, int], reads: Sequence[int], writes: Sequence[int], first: int
    ) -> None:
        self.cols, self.rows = cols, rows
        self.memory = dict(memory)
        self.pointer = {"LWD": [*reads, *[0] * cols], "SWD": [*writes, *[0] * cols]}
        self.out: list[int | None] = [first] * (cols * rows)
        self.registers = [[first] * 4 for _ in range(cols * rows)]

    def step(self, line: Line, at: int) -> int | None:
        """Run one instruction of all PEs; return where it branches to."""
        results: list[tuple[int, PeInstruction, int | None]] = []
        touched: dict[int, list[tuple[int, bool]]] = {}
        taken: list[int] = []
        # The order of the PEs, row by row, is that in which a column's accesses are served.
        for pe, i in enumerate(line):
            if i.op in ("NOP", "EXIT"):
                continue
            try:
                value = self._access(pe, i, touched) if i.op in _MEMORY else self._compute(pe, i)
            except SimulationError as error:
                raise error.at(f"instruction {at}, PE {pe // self.cols},{pe % self.cols}: {i.op}") from None
            results.append((pe, i, value))
            if i.op == "JUMP" or (i.op in BRANCHES and value):
                taken.append(i.immediate if i.op in BRANCHES else value or 0)
        raced = self._raced(touched, at)
        for pe, i, value in results:
            if pe in raced and value is not None:
                value ^= _ANY
            self.out[pe] = value
            if i.register is not None and value is not None:
                self.registers[pe][i.register] = value
        # Of two branches that are taken in one instruction, neither is.
        return taken[0] if len(taken) == 1 else None

    def _raced(self, touched: dict[int, list[tuple[int, bool]]], at: int) -> set[int]:
        """The PEs that access a word while one of another column writes it: what they load then is open."""
        found: set[int] = set()
        for address, users in touched.items():
            writers = {pe % self.cols for pe, writes in users if writes}
            if len(writers) > 1:
                raise SimulationError(f"two columns write word {address}", where=f"instruction {at}")
            found |= {pe for pe, writes in users if writers and not writes and pe % self.cols not in writers}
        return found

    def _read(self, pe: int, source: str, immediate: int) -> int:
        """The value of an operand."""
        if source in ("ZERO", "IMM"):
            return immediate if source == "IMM" else 0
        if source[0] == "R" and source[1:].isdigit():
            return self.registers[pe][int(source[1:])]
        row, col = divmod(pe, self.cols)
        down, right = _STEPS.get(source, (0, 0))
        value = self.out[(row + down) % self.rows * self.cols + (col + right) % self.cols]
        if value is None:
            raise SimulationError(f"reads {source}, an output register that a store has overwritten")
        return value

    def _compute(self, pe: int, i: PeInstruction) -> int:
        """The result of an instruction that does not access memory."""
        a, b = self._read(pe, i.a, i.immediate), self._read(pe, i.b, i.immediate)
        if i.op in SELECTS:
            flag = self._read(pe, "ROUT" if i.flag == "SELF" else i.flag, 0)
            return a if (flag < 0 if i.op == "BSFA" else flag == 0) else b
        return word(_COMPUTE[i.op](a, b))

    def _access(self, pe: int, i: PeInstruction, touched: dict[int, list[tuple[int, bool]]]) -> int | None:
        """The word that is loaded; None for a store."""
        column = pe % self.cols
        if i.op in self.pointer:
            address = self.pointer[i.op][column]
            self.pointer[i.op][column] += i.immediate
        else:
            address = self._read(pe, i.b, i.immediate)
        if address not in self.memory:
            raise SimulationError(f"accesses address {address}, which is no word of the memory")
        touched.setdefault(address, []).append((pe, i.op in _STORES))
        if i.op in _STORES:
            self.memory[address] = self._read(pe, i.a, i.immediate)
            return None
        return self.memory[address]
