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
"""

from __future__ import annotations

from typing import Final

import numpy as np
from numba import njit
from numpy.typing import NDArray

from gridloom.dfg.semantics import evaluate

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


@njit(cache=True, nogil=True)
def poison(row: int, cycle: int) -> int:
    """The pattern of an undriven row in a cycle."""
    return POISON ^ (row << 28) ^ cycle


@njit(cache=True, nogil=True)
def _read_operands(
    cycle: int,
    firing: int,
    begin: int,
    count: int,
    buffer: Words,
    cells: Words,
    base: Words,
    mask: Words,
    operands: Words,
    initial: Words,
    constants: Words,
    streams: Words,
    results: Words,
) -> None:
    for k in range(count):
        o = begin + k
        kind = operands[o, O_KIND]
        index = operands[o, O_INDEX]
        past = firing - operands[o, O_DISTANCE]
        if past < 0:
            buffer[k] = initial[operands[o, O_INITIAL] + firing]
        elif kind == FROM_ROW:
            buffer[k] = cells[base[index] + ((cycle - operands[o, O_FIFO]) & mask[index])]
        elif kind == FROM_CONSTANT:
            buffer[k] = constants[index]
        elif kind == FROM_STREAM:
            buffer[k] = streams[index, past]
        elif kind == FROM_RESULT:
            buffer[k] = results[past, index]
        else:
            buffer[k] = poison(o, cycle)


@njit(cache=True, nogil=True)
def _trapped(address: int, length: int, issue: int, firing: int, trap: Words) -> bool:
    if 0 <= address < length:
        return False
    if trap[TRAP_COUNT] == 0:
        trap[TRAP_ISSUE] = issue
        trap[TRAP_FIRING] = firing
        trap[TRAP_ADDRESS] = address
    trap[TRAP_COUNT] += 1
    return True


@njit(cache=True, nogil=True)
def _access(
    cycle: int, firing: int, issue: int, issues: Words, buffer: Words, memory: Words, pending: Words, count: int,
    trap: Words,
) -> tuple[int, int]:  # fmt: skip
    """(result, pending stores): a load reads what stood before this cycle's stores, which wait for the cycle's end."""
    kind = issues[issue, I_KIND]
    address = buffer[0]
    value = buffer[1]
    if kind == STORE_DATA:
        address, value = value, address
    elif kind in (SPILL_LOAD, SPILL_STORE):
        value = address
        address = firing % issues[issue, I_LENGTH]
    if kind == STORE_IF and buffer[2] == 0:
        return 0, count
    if _trapped(address, issues[issue, I_LENGTH], issue, firing, trap):
        return (poison(issue, cycle) if kind == LOAD else 0), count
    cell = issues[issue, I_BASE] + address
    if kind in (LOAD, SPILL_LOAD):
        return memory[cell], count
    pending[count, 0] = cell
    pending[count, 1] = value
    return 0, count + 1


@njit(cache=True, nogil=True)
def _rotate(cycle: int, file_start: Words, file_rows: Words, cells: Words, base: Words, mask: Words) -> None:
    """What was register k is register k - 1 from now on, so that the names move and the values stay."""
    for f in range(len(file_start) - 1):
        begin, end = file_start[f], file_start[f + 1]
        first = file_rows[begin]
        wrapped = cells[base[first] + ((cycle - 1) & mask[first])]
        for k in range(begin + 1, end):
            low, high = file_rows[k - 1], file_rows[k]
            cells[base[low] + (cycle & mask[low])] = cells[base[high] + ((cycle - 1) & mask[high])]
        last = file_rows[end - 1]
        cells[base[last] + (cycle & mask[last])] = wrapped


@njit(cache=True, nogil=True)
def clock(
    cycles: int,
    ii: int,
    iterations: int,
    domain: int,
    cells: Words,
    base: Words,
    mask: Words,
    start: Words,
    instructions: Words,
    issues: Words,
    operands: Words,
    initial: Words,
    constants: Words,
    streams: Words,
    results: Words,
    memory: Words,
    file_start: Words,
    file_rows: Words,
    buffer: Words,
    pending: Words,
    trap: Words,
    first: int = 0,
) -> None:
    """Run the array from cycle ``first`` up to ``cycles``; fills ``results[firing, issue]``, ``memory`` and ``trap``.

    Costs one pass over the code of a slot per cycle.
    """
    turn = first // ii
    slot = first % ii
    for cycle in range(first, cycles):
        if slot == 0 and cycle > 0:
            _rotate(cycle, file_start, file_rows, cells, base, mask)
        count = 0
        for p in range(start[slot], start[slot + 1]):
            code = instructions[p, 0]
            a = instructions[p, 1]
            b = instructions[p, 2]
            c = instructions[p, 3]
            if code == COPY:
                cells[base[a] + (cycle & mask[a])] = cells[base[b] + ((cycle - c) & mask[b])]
            elif code == WRITE:
                firing = turn - c
                if 0 <= firing < iterations:
                    cells[base[a] + (cycle & mask[a])] = results[firing, b]
            elif code == FLOAT:
                cells[base[a] + (cycle & mask[a])] = poison(a, cycle)
            elif code == KEEP:
                cells[base[a] + (cycle & mask[a])] = cells[base[a] + ((cycle - 1) & mask[a])]
            else:
                firing = turn - c
                if firing < 0 or firing >= iterations:
                    continue
                operand_count = issues[b, I_COUNT]
                _read_operands(
                    cycle, firing, issues[b, I_OPERANDS], operand_count, buffer, cells, base, mask, operands, initial,
                    constants, streams, results,
                )  # fmt: skip
                kind = issues[b, I_KIND]
                if kind == EVALUATE:
                    results[firing, b] = evaluate(domain, issues[b, I_OP], issues[b, I_SALT], buffer, operand_count)
                elif kind == PASS:
                    results[firing, b] = buffer[0]
                elif kind == STREAM:
                    results[firing, b] = streams[issues[b, I_INDEX], firing]
                elif kind == CONSTANT:
                    results[firing, b] = constants[issues[b, I_INDEX]]
                else:
                    results[firing, b], count = _access(cycle, firing, b, issues, buffer, memory, pending, count, trap)
        for k in range(count):
            memory[pending[k, 0]] = pending[k, 1]
        slot += 1
        if slot == ii:
            slot = 0
            turn += 1
