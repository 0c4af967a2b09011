"""The RISC-V core instruction by instruction: RV32IM with the timing of VexRiscv, as one numba kernel.

An instruction issues in the cycle after the one before it, later where an operand is not there yet, where the line of
the instruction or of the data is missing, or behind a branch that was not predicted. The constants are those of the
pipeline of :mod:`gridloom.hardware.system.soc`: five stages behind two of the instruction cache, results forwarded as
soon as a stage has them, branches decided in the memory stage, conditional ones predicted to be taken backwards.

The kernel returns where something else has to act: the end, an access outside of memory, an ``ecall``. What it was
doing is in ``state``, so that it goes on from there. Costs about 20 ns for an instruction.
"""

from __future__ import annotations

from typing import Any, Final

from gridloom.jit import int64, internal, kernel

#: What ``state`` holds: the next instruction, the cycle, why the kernel returned, the access that it returned for.
PC, CYCLE, REASON, ADDRESS, VALUE, TARGET, WIDTH, RETIRED, BUS_FREE, BUS_FREE_READ, FETCHED, LIMIT_AT, TRAIL = range(13)
STATE_WORDS: Final = 16
#: Reasons.
RUNNING, LOAD_OUTSIDE, STORE_OUTSIDE, CALLED, ILLEGAL, LATE = range(6)

#: Where memory begins.
BASE: Final = 0x40000000
_LINE: Final = 5
_LINES: Final = 128

#: Cycles from the issue of an instruction to that of a reader of its result.
_SHIFT_RESULT: Final = 2
_LOAD_RESULT: Final = 3
_MULTIPLY_RESULT: Final = 3
_DIVIDE_RESULT: Final = 35
#: Cycles that instructions behind it lose: a quotient in the memory stage, a jump predicted in the decode stage, one
#: that is decided in the memory stage.
DIVIDE_STALL: Final = 33
PREDICTED_JUMP: Final = 1
DECIDED_JUMP: Final = 3
#: Cycles for a missing line of instructions and of data, and for emptying the cache of data.
FETCH_MISS: Final = 12
LOAD_MISS: Final = 12
FLUSH_STALL: Final = 130
#: Cycles of the bus for a store; stores behind each other wait for it.
STORE_BUS: Final = 1


@internal
def _signed(value: int) -> int:
    return (value ^ 0x80000000) - 0x80000000


@internal
def _extended(value: int, bits: int) -> Any:
    half = int64(1) << (bits - 1)
    return (((value & ((half << 1) - 1)) ^ half) - half) & 0xFFFFFFFF


@internal
def _divided(a: int, b: int, operation: int) -> int:
    """DIV, DIVU, REM, REMU with what RISC-V says of a divisor of 0 and of the lowest number over -1."""
    if operation & 1:
        if b == 0:
            return 0xFFFFFFFF if operation == 5 else a
        return a // b if operation == 5 else a % b
    x, y = _signed(a), _signed(b)
    if y == 0:
        return 0xFFFFFFFF if operation == 4 else a
    quotient = abs(x) // abs(y)
    if (x < 0) != (y < 0):
        quotient = -quotient
    return (quotient if operation == 4 else x - quotient * y) & 0xFFFFFFFF


@internal
def _multiplied(a: int, b: int, operation: int) -> int:
    """MUL, MULH, MULHSU, MULHU of words; products of halves keep all 64 bits."""
    low_a, high_a, low_b, high_b = a & 0xFFFF, a >> 16, b & 0xFFFF, b >> 16
    if operation == 0:
        return (low_a * low_b + (((low_a * high_b + high_a * low_b) & 0xFFFF) << 16)) & 0xFFFFFFFF
    middle = low_a * high_b + ((low_a * low_b) >> 16)
    rest = high_a * low_b + (middle & 0xFFFF)
    high = high_a * high_b + (middle >> 16) + (rest >> 16)
    if operation != 3 and a & 0x80000000:
        high -= b
    if operation == 1 and b & 0x80000000:
        high -= a
    return high & 0xFFFFFFFF


@kernel
def run_core(
    state: Any, registers: Any, ready: Any, memory: Any, fetched: Any, cached: Any, counts: Any, spent: Any
) -> int:
    """Run until something else has to act; returns the reason.

    ``memory`` are words; ``fetched`` and ``cached`` the lines that the caches hold, by index; ``counts`` and ``spent``
    get for each word of code how often it ran and the cycles up to the next instruction, where they have a length.
    """
    pc, cycle, limit = state[PC], state[CYCLE], state[LIMIT_AT]
    bus_free = state[BUS_FREE]
    retired = state[RETIRED]
    size = len(memory) * 4
    profiled = len(counts) > 0
    reason = int64(RUNNING)
    while True:
        if cycle >= limit:
            reason = LATE
            break
        place = pc - BASE
        if place < 0 or place >= size:
            reason = ILLEGAL
            break
        began = cycle
        line = pc >> _LINE
        if fetched[line & (_LINES - 1)] != line:
            fetched[line & (_LINES - 1)] = line
            cycle += FETCH_MISS
        word = int64(memory[place >> 2])
        opcode = word & 0x7F
        rd, rs1, rs2 = (word >> 7) & 31, (word >> 15) & 31, (word >> 20) & 31
        operation = (word >> 12) & 7
        following = pc + 4
        latency = int64(1)
        result = int64(0)
        stall = int64(0)
        writes = True
        if opcode == 0x37 or opcode == 0x17:
            issue = cycle
            result = word & 0xFFFFF000
            if opcode == 0x17:
                result = (result + pc) & 0xFFFFFFFF
        elif opcode == 0x6F:
            issue = cycle
            offset = ((word >> 31) << 20) | (((word >> 12) & 0xFF) << 12) | (((word >> 20) & 1) << 11)
            offset |= ((word >> 21) & 0x3FF) << 1
            result = following
            following = (pc + _extended(offset, 21)) & 0xFFFFFFFF
            stall = PREDICTED_JUMP
        elif opcode == 0x67:
            issue = max(cycle, ready[rs1])
            result = following
            following = (registers[rs1] + _extended(word >> 20, 12)) & 0xFFFFFFFE
            stall = DECIDED_JUMP
        elif opcode == 0x63:
            issue = max(cycle, max(ready[rs1], ready[rs2]))
            a, b = registers[rs1], registers[rs2]
            if operation == 0:
                taken = a == b
            elif operation == 1:
                taken = a != b
            elif operation == 4:
                taken = _signed(a) < _signed(b)
            elif operation == 5:
                taken = _signed(a) >= _signed(b)
            elif operation == 6:
                taken = a < b
            else:
                taken = a >= b
            backwards = (word >> 31) != 0
            if taken:
                offset = ((word >> 31) << 12) | (((word >> 7) & 1) << 11) | (((word >> 25) & 0x3F) << 5)
                offset |= ((word >> 8) & 0xF) << 1
                following = (pc + _extended(offset, 13)) & 0xFFFFFFFF
            if taken != backwards:
                stall = DECIDED_JUMP
            elif taken:
                stall = PREDICTED_JUMP
            writes = False
        elif opcode == 0x03:
            issue = max(cycle, ready[rs1])
            address = (registers[rs1] + _extended(word >> 20, 12)) & 0xFFFFFFFF
            at = address - BASE
            latency = _LOAD_RESULT
            if at < 0 or at >= size:
                state[ADDRESS], state[TARGET], state[WIDTH] = address, rd, operation
                state[FETCHED] = issue
                reason = LOAD_OUTSIDE
                cycle = issue + 1
                pc = following
                retired += 1
                break
            line = address >> _LINE
            if cached[line & (_LINES - 1)] != line:
                cached[line & (_LINES - 1)] = line
                begin = max(issue, bus_free)
                stall = begin - issue + LOAD_MISS
                latency += LOAD_MISS
            value = int64(memory[at >> 2]) >> ((at & 3) << 3)
            if operation == 2:
                result = value
            elif operation == 0:
                result = _extended(value, 8)
            elif operation == 1:
                result = _extended(value, 16)
            elif operation == 4:
                result = value & 0xFF
            else:
                result = value & 0xFFFF
        elif opcode == 0x23:
            issue = max(cycle, max(ready[rs1], ready[rs2]))
            address = (registers[rs1] + _extended(((word >> 25) << 5) | rd, 12)) & 0xFFFFFFFF
            at = address - BASE
            value = registers[rs2]
            writes = False
            if at < 0 or at >= size:
                state[ADDRESS], state[VALUE], state[WIDTH] = address, value, operation
                state[FETCHED] = issue
                reason = STORE_OUTSIDE
                cycle = issue + 1
                pc = following
                retired += 1
                break
            shift = (at & 3) << 3
            if operation == 2:
                memory[at >> 2] = value
            else:
                mask = int64(0xFF if operation == 0 else 0xFFFF) << shift
                memory[at >> 2] = (int64(memory[at >> 2]) & ~mask) | ((value << shift) & mask)
            bus_free = max(bus_free, issue + 1) + STORE_BUS
        elif opcode == 0x13 or opcode == 0x33:
            a = registers[rs1]
            if opcode == 0x13:
                issue = max(cycle, ready[rs1])
                b = _extended(word >> 20, 12)
                kind = (word >> 25) if operation == 5 else int64(0)
            else:
                issue = max(cycle, max(ready[rs1], ready[rs2]))
                b = registers[rs2]
                kind = word >> 25
            if opcode == 0x33 and kind == 1:
                if operation < 4:
                    result = _multiplied(a, b, operation)
                    latency = _MULTIPLY_RESULT
                else:
                    result = _divided(a, b, operation)
                    latency = _DIVIDE_RESULT
                    stall = DIVIDE_STALL
            elif operation == 0:
                result = ((a - b) if kind == 32 else (a + b)) & 0xFFFFFFFF
            elif operation == 1:
                result = (a << (b & 31)) & 0xFFFFFFFF
                latency = _SHIFT_RESULT
            elif operation == 2:
                result = int64(_signed(a) < _signed(b))
            elif operation == 3:
                result = int64(a < b)
            elif operation == 4:
                result = a ^ b
            elif operation == 5:
                latency = _SHIFT_RESULT
                result = ((_signed(a) >> (b & 31)) & 0xFFFFFFFF) if kind == 32 else a >> (b & 31)
            elif operation == 6:
                result = a | b
            else:
                result = a & b
        elif opcode == 0x0F:
            issue = cycle
            writes = False
            if operation == 5:
                for k in range(_LINES):
                    cached[k] = -1
                stall = FLUSH_STALL
        elif opcode == 0x73 and operation == 0:
            state[FETCHED] = cycle
            reason = CALLED
            cycle += 1
            pc = following
            retired += 1
            break
        else:
            reason = ILLEGAL
            break
        if writes and rd != 0:
            registers[rd] = result
            ready[rd] = issue + latency
        cycle = issue + 1 + stall
        if profiled:
            counts[place >> 2] += 1
            spent[place >> 2] += cycle - began
        pc = following
        retired += 1
    state[PC], state[CYCLE], state[REASON], state[BUS_FREE], state[RETIRED] = pc, cycle, reason, bus_free, retired
    return int(reason)
