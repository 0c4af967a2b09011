"""Instructions of OpenEdgeCGRA: as records, as 32-bit words, and as the text of its simulator and of SAT-MapIt.

A word is ``muxA[31:28] muxB[27:24] op[23:19] reg[18:17] write[16] flag[15:13] imm[12:0]``. Every field has one value
for each name, so that decoding a word that encoding made gives the same instruction.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from gridloom.errors import MappingError

#: Where operands come from, by the number of the multiplexer's input: the left, right, top and bottom neighbour is RC*.
SOURCES: Final = ("ZERO", "ROUT", "RCL", "RCR", "RCT", "RCB", "R0", "R1", "R2", "R3", "IMM")
#: Whose flag a select reads.
FLAGS: Final = ("SELF", "RCL", "RCR", "RCT", "RCB")
OPCODES: Final = (
    "NOP", "SADD", "SSUB", "SMUL", "FXPMUL", "SLT", "SRT", "SRA", "LAND", "LOR", "LXOR", "LNAND", "LNOR", "LXNOR",
    "BSFA", "BZFA", "BEQ", "BNE", "BLT", "BGE", "JUMP", "LWD", "SWD", "LWI", "SWI", "EXIT",
)  # fmt: skip
SELECTS: Final = frozenset({"BSFA", "BZFA"})
BRANCHES: Final = frozenset({"BEQ", "BNE", "BLT", "BGE"})
#: Immediates have 13 bits.
LEAST, MOST = -(1 << 12), (1 << 12) - 1
#: Instructions of a PE.
LENGTH: Final = 32


@dataclass(frozen=True, slots=True)
class PeInstruction:
    """One instruction of a PE. ``register`` is the one that takes the result beside ROUT; None: there is none."""

    op: str = "NOP"
    a: str = "ZERO"
    b: str = "ZERO"
    register: int | None = None
    flag: str = "SELF"
    immediate: int = 0


NOP: Final = PeInstruction()


def encode(instruction: PeInstruction) -> int:
    """Return the word of an instruction; MappingError for a field that it has no room for."""
    i = instruction
    if not LEAST <= i.immediate <= MOST:
        raise MappingError(f"{i.op}: immediate {i.immediate}; 13 bits hold {LEAST} to {MOST}")
    for name, known in ((i.op, OPCODES), (i.a, SOURCES), (i.b, SOURCES), (i.flag, FLAGS)):
        if name not in known:
            raise MappingError(f"{i.op}: {name!r} is none of {', '.join(known)}")
    if i.register is not None and not 0 <= i.register < 4:
        raise MappingError(f"{i.op}: register {i.register}; a PE has R0 to R3")
    word = SOURCES.index(i.a) << 28 | SOURCES.index(i.b) << 24 | OPCODES.index(i.op) << 19
    word |= (i.register or 0) << 17 | (i.register is not None) << 16
    return word | FLAGS.index(i.flag) << 13 | (i.immediate & 0x1FFF)


def decode(word: int) -> PeInstruction:
    """Return the instruction of a word; MappingError for a number that stands for nothing."""
    a, b, op, flag = word >> 28 & 15, word >> 24 & 15, word >> 19 & 31, word >> 13 & 7
    if not 0 <= word < 1 << 32 or max(a, b) >= len(SOURCES) or op >= len(OPCODES) or flag >= len(FLAGS):
        raise MappingError(f"word {word:#x} is no instruction")
    register = word >> 17 & 3 if word >> 16 & 1 else None
    immediate = (word & 0x1FFF) - ((word & 0x1000) << 1)
    return PeInstruction(OPCODES[op], SOURCES[a], SOURCES[b], register, FLAGS[flag], immediate)


def spell(instruction: PeInstruction) -> str:
    """Return an instruction as the group's simulator reads it: ``SADD R0, RCL, 4``; the step of LWD and SWD is 4."""
    i = instruction
    a, b = (str(i.immediate) if source == "IMM" else source for source in (i.a, i.b))
    target = "ROUT" if i.register is None else f"R{i.register}"
    if i.op in ("NOP", "EXIT"):
        return i.op
    if i.op in BRANCHES:
        return f"{i.op} {a}, {b}, {i.immediate}"
    if i.op in SELECTS:
        return f"{i.op} {target}, {a}, {b}, {i.flag}"
    # What a store writes is operand A; an address is operand B.
    shown = {"LWD": [target], "SWD": [a], "LWI": [target, b], "SWI": [a, b], "JUMP": [a, b]}
    return f"{i.op} {', '.join(shown.get(i.op, [target, a, b]))}"
