"""The clock of the simulated array: one numba kernel over flat arrays.

Each slot has straight-line code, sorted so that what is needed in the same cycle comes first. Rows (wires and
registers) keep their last values in rings of a power of two of cells: reading d cycles back is one masked index.

==========  ============================================================================================================
``COPY``    row a takes what row b had d cycles ago: a multiplexer
``FLOAT``   row a has no driver in this slot
``KEEP``    row a keeps its value (rings of one cell keep it by themselves)
``WRITE``   row a takes the result of issue b that completes now; c is the stage of its first completion
``ISSUE``   issue b starts a firing; c is its start stage
==========  ============================================================================================================

A cycle costs one pass over the code of its slot and nothing for idle tiles. Firings are numbered by iteration: an issue
of start stage c fires for iteration ``turn - c`` in round ``turn``, and does nothing before the first and after the
last iteration, which is all there is to prologue and epilogue. Stores take effect at the end of a cycle, so that no
load sees a store of its own cycle.

Columns of the issue table: what the issue does, op code, salt of the node, first operand and number of operands, first
word and length of its array, stream or constant. Columns of the operand table: where it comes from, index there, FIFO
cycles, firings back, first of its initial values.
"""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from gridloom.dfg.semantics import evaluate
from gridloom.jit import borrowing, kernel

Words = NDArray[np.int64]

COPY: Final = 0
FLOAT: Final = 1
KEEP: Final = 2
WRITE: Final = 3
ISSUE: Final = 4

# What an issue does.
EVALUATE: Final = 0
PASS: Final = 1
STREAM: Final = 2
CONSTANT: Final = 3
LOAD: Final = 4
STORE: Final = 5
STORE_IF: Final = 6
STORE_DATA: Final = 7
SPILL_LOAD: Final = 8
SPILL_STORE: Final = 9

# Where an operand comes from.
FROM_ROW: Final = 0
FROM_CONSTANT: Final = 1
FROM_STREAM: Final = 2
FROM_RESULT: Final = 3
FROM_NOWHERE: Final = 4

# Columns of the issue table.
I_KIND: Final = 0
I_OP: Final = 1
I_SALT: Final = 2
I_OPERANDS: Final = 3
I_COUNT: Final = 4
I_BASE: Final = 5
I_LENGTH: Final = 6
I_INDEX: Final = 7
#: The least address of the array, 0 but where a pointer leads into the middle of it.
I_LOW: Final = 8

# Columns of the operand table.
O_KIND: Final = 0
O_INDEX: Final = 1
O_FIFO: Final = 2
O_DISTANCE: Final = 3
O_INITIAL: Final = 4

#: Undriven wires and values that never came: recognisable, different by row and cycle, never a number of the graph.
POISON: Final = 0x5EED000000000000

# Words of the trap record.
TRAP_COUNT: Final = 0
TRAP_ISSUE: Final = 1
TRAP_FIRING: Final = 2
TRAP_ADDRESS: Final = 3


class Rings(NamedTuple):
    """The rows: each has ``mask[row] + 1`` cells of ``cells``, from ``base[row]`` on.

    The value of a row in a cycle is in cell ``cycle & mask[row]``, so that a ring holds the last ``mask[row] + 1``
    cycles. The compiler makes a ring as long as the furthest look back, rounded up to a power of two; a row that is
    only read in the same cycle, or a register that is not read back, has one cell.
    """

    cells: Words
    base: Words
    mask: Words


class Code(NamedTuple):
    """What the array is configured to do.

    Compiled once for a configuration and shared by all runs; the clock does not write to it. ``issues`` and
    ``operands`` have the columns that the module's docstring lists. The operands of an issue stand one after the other.
    """

    #: The code of slot s is ``instructions[start[s] : start[s + 1]]``, with rows (code, a, b, c).
    start: Words
    instructions: Words
    issues: Words
    operands: Words
    #: Values of an operand's first firings.
    initial: Words
    #: CSR: the rows of each rotating register file.
    file_start: Words
    file_rows: Words


class Data(NamedTuple):
    """What a run reads and fills.

    ``constants[node]`` holds constants and live-ins by position in the graph. ``memory`` is one flat memory: the arrays
    of the graph one after the other, then the spills.
    """

    constants: Words
    #: streams[stream, firing] and results[firing, issue].
    streams: Words
    results: Words
    memory: Words


class FiringScratch(NamedTuple):
    """Room for the operands of a firing and for the stores of a cycle; the record of the first trap.

    ``pending`` has rows (word, value): stores of a cycle become visible at its end, in the order of the code. ``trap``
    counts the accesses outside their arrays, and has issue, firing and address of the first.
    """

    buffer: Words
    pending: Words
    trap: Words


class Extent(NamedTuple):
    """Which cycles to run, and the frame they run in.

    The cycles are those from ``first`` up to, but without, ``end``, so that a run may be continued where it stopped.
    ``ii`` is the length of a slot's round, ``iterations`` the firings of each issue, ``domain`` the code of the graph's
    domain.
    """

    first: int
    end: int
    ii: int
    iterations: int
    domain: int


@kernel
def poison(row: int, cycle: int) -> int:
    """The pattern of an undriven row in a cycle.

    It differs from row to row and from cycle to cycle, so that two wrong values do not agree by chance.
    """
    return POISON ^ (row << 28) ^ cycle


@borrowing
def _read_operands(cycle: int, firing: int, issue: int, buffer: Words, rings: Rings, code: Code, data: Data) -> None:
    """Fill ``buffer`` with the operands of an issue's firing.

    Firings before ``distance`` read initial values. A row is read ``fifo`` cycles back, a result of another issue by
    its firing: pairs and asynchronous edges bypass the network.
    """
    operands = code.operands
    begin = code.issues[issue, I_OPERANDS]
    for k in range(code.issues[issue, I_COUNT]):
        o = begin + k
        kind = operands[o, O_KIND]
        index = operands[o, O_INDEX]
        past = firing - operands[o, O_DISTANCE]
        if past < 0:
            buffer[k] = code.initial[operands[o, O_INITIAL] + firing]
        elif kind == FROM_ROW:
            buffer[k] = rings.cells[rings.base[index] + ((cycle - operands[o, O_FIFO]) & rings.mask[index])]
        elif kind == FROM_CONSTANT:
            buffer[k] = data.constants[index]
        elif kind == FROM_STREAM:
            buffer[k] = data.streams[index, past]
        elif kind == FROM_RESULT:
            buffer[k] = data.results[past, index]
        else:
            buffer[k] = poison(o, cycle)


@borrowing
def _trapped(address: int, low: int, length: int, issue: int, firing: int, trap: Words) -> bool:
    """Whether an address is outside its array; the first such access is recorded."""
    outside = address < low or address >= length
    if outside:
        if trap[TRAP_COUNT] == 0:
            trap[TRAP_ISSUE] = issue
            trap[TRAP_FIRING] = firing
            trap[TRAP_ADDRESS] = address
        trap[TRAP_COUNT] += 1
    return outside


@borrowing
def _access(
    cycle: int, firing: int, issue: int, issues: Words, memory: Words, scratch: FiringScratch, count: int
) -> tuple[int, int]:
    """(result, pending stores): a load reads what stood before this cycle's stores, which wait for the cycle's end.

    An access outside its array is recorded; a load then yields poison and a store does nothing. Spills compute their
    own address, the firing modulo the depth of the buffer.
    """
    kind = issues[issue, I_KIND]
    length = issues[issue, I_LENGTH]
    address = scratch.buffer[0]
    value = scratch.buffer[1]
    if kind == STORE_DATA:
        address, value = value, address
    elif kind in (SPILL_LOAD, SPILL_STORE):
        value = address
        address = firing % length
    result = 0
    if kind != STORE_IF or scratch.buffer[2] != 0:
        cell = issues[issue, I_BASE] + address
        if _trapped(address, issues[issue, I_LOW], length, issue, firing, scratch.trap):
            if kind == LOAD:
                result = poison(issue, cycle)
        elif kind in (LOAD, SPILL_LOAD):
            result = memory[cell]
        else:
            scratch.pending[count, 0] = cell
            scratch.pending[count, 1] = value
            count += 1
    return result, count


@borrowing
def _rotate(cycle: int, rings: Rings, code: Code) -> None:
    """What was register k is register k - 1 from now on, so that the names move and the values stay.

    Called at the start of every round but the first, for each rotating file, before the code of slot 0. Register 0
    becomes the last one.
    """
    cells, base, mask = rings.cells, rings.base, rings.mask
    file_start, file_rows = code.file_start, code.file_rows
    for f in range(len(file_start) - 1):
        begin, end = file_start[f], file_start[f + 1]
        first = file_rows[begin]
        wrapped = cells[base[first] + ((cycle - 1) & mask[first])]
        for k in range(begin + 1, end):
            low, high = file_rows[k - 1], file_rows[k]
            cells[base[low] + (cycle & mask[low])] = cells[base[high] + ((cycle - 1) & mask[high])]
        last = file_rows[end - 1]
        cells[base[last] + (cycle & mask[last])] = wrapped


@kernel
def clock(extent: Extent, rings: Rings, code: Code, data: Data, scratch: FiringScratch) -> None:
    """Run the array over the cycles of an extent; fills ``data.results``, ``data.memory`` and ``scratch.trap``.

    The cost of a cycle is one pass over the code of its slot. Extents may follow one another: rings and memory hold
    all of the state, so that running 0 to 10 and 10 to 20 is running 0 to 20.
    """
    cells, base, mask = rings.cells, rings.base, rings.mask
    start, instructions, issues = code.start, code.instructions, code.issues
    results, memory = data.results, data.memory
    buffer, pending = scratch.buffer, scratch.pending
    iterations = extent.iterations
    turn = extent.first // extent.ii
    slot = extent.first % extent.ii
    for cycle in range(extent.first, extent.end):
        if slot == 0 and cycle > 0:
            _rotate(cycle, rings, code)
        count = 0
        for p in range(start[slot], start[slot + 1]):
            what = instructions[p, 0]
            a = instructions[p, 1]
            b = instructions[p, 2]
            c = instructions[p, 3]
            if what == COPY:
                cells[base[a] + (cycle & mask[a])] = cells[base[b] + ((cycle - c) & mask[b])]
            elif what == WRITE:
                firing = turn - c
                if 0 <= firing < iterations:
                    cells[base[a] + (cycle & mask[a])] = results[firing, b]
            elif what == FLOAT:
                cells[base[a] + (cycle & mask[a])] = poison(a, cycle)
            elif what == KEEP:
                cells[base[a] + (cycle & mask[a])] = cells[base[a] + ((cycle - 1) & mask[a])]
            else:
                firing = turn - c
                if firing < 0 or firing >= iterations:
                    continue
                _read_operands(cycle, firing, b, buffer, rings, code, data)
                kind = issues[b, I_KIND]
                if kind == EVALUATE:
                    operands = issues[b, I_COUNT]
                    results[firing, b] = evaluate(extent.domain, issues[b, I_OP], issues[b, I_SALT], buffer, operands)
                elif kind == PASS:
                    results[firing, b] = buffer[0]
                elif kind == STREAM:
                    results[firing, b] = data.streams[issues[b, I_INDEX], firing]
                elif kind == CONSTANT:
                    results[firing, b] = data.constants[issues[b, I_INDEX]]
                else:
                    results[firing, b], count = _access(cycle, firing, b, issues, memory, scratch, count)
        for k in range(count):
            memory[pending[k, 0]] = pending[k, 1]
        slot += 1
        if slot == extent.ii:
            slot = 0
            turn += 1
