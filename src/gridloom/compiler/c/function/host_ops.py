"""What one instruction of the IR computes, as a Python expression over the values that it reads.

Integers are Python numbers, signed in their width; a truth value is 0 or 1; a pointer is an address, 0 to 2**32 - 1.
Singles and doubles are NumPy scalars, whose arithmetic rounds as IEEE 754 says. Names in capitals are given to the
generated code by :mod:`gridloom.compiler.c.function.host`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

from gridloom.compiler.ir.ir import Instruction
from gridloom.compiler.ir.layout import DataLayout, integer_bits
from gridloom.compiler.ir.tokens import is_number
from gridloom.errors import SourceError

_PLAIN: Final = {"add": "+", "sub": "-", "mul": "*"}
_BITWISE: Final = {"and": "&", "or": "|", "xor": "^"}
_REAL: Final = {"fadd": "+", "fsub": "-", "fmul": "*", "fdiv": "/"}
_DIVISIONS: Final = {"sdiv": "SDIV", "srem": "SREM", "udiv": "UDIV", "urem": "UREM"}
_RELATIONS: Final = {"gt": ">", "ge": ">=", "lt": "<", "le": "<=", "eq": "==", "ne": "!="}
#: Loads and stores of these types go through typed views.
SCALARS: Final = ("i8", "i16", "i32", "i64", "float", "double")


def bits_of(kind: str) -> int:
    """Bits of an integer or a pointer; SourceError for what the host does not compute with."""
    if kind == "ptr":
        return 32
    if 0 < (bits := integer_bits(kind)) <= 64:
        return bits
    raise SourceError(f"it computes with {kind}; integers of up to 64 bits, float and double are taken")


def is_real(kind: str) -> bool:
    """True for singles and doubles; SourceError for other floating types and vectors."""
    if kind in ("float", "double"):
        return True
    bits_of(kind)
    return False


def write_signed(text: str, bits: int) -> str:
    """The low bits of a number, signed."""
    if bits == 1:
        return f"({text}) & 1"
    half, mask = 1 << (bits - 1), (1 << bits) - 1
    return f"((({text}) + {half:#x}) & {mask:#x}) - {half:#x}"


def write_unsigned(text: str, bits: int) -> str:
    """The number that the bits of a signed one make without a sign."""
    return f"({text} & {(1 << bits) - 1:#x})"


def expression(item: Instruction, operands: Sequence[str], layout: DataLayout) -> str:
    """The Python expression of an instruction; SourceError for one that the host does not know.

    ``operands`` are expressions of its operands. Memory accesses, calls, phis and branches are not handled here.
    """
    opcode = item.opcode
    if opcode in _METHODS:
        return _METHODS[opcode](item, operands)
    if opcode in _PLAIN:
        a, b = operands
        return write_signed(f"{a} {_PLAIN[opcode]} {b}", bits_of(item.type))
    if opcode in _BITWISE:
        bits_of(item.type)
        return f"{operands[0]} {_BITWISE[opcode]} {operands[1]}"
    if opcode in _REAL:
        is_real(item.type)
        return f"{operands[0]} {_REAL[opcode]} {operands[1]}"
    if opcode in _DIVISIONS:
        return f"{_DIVISIONS[opcode]}({operands[0]}, {operands[1]}, {bits_of(item.type)}, {item.line})"
    if opcode == "getelementptr":
        return _address(item, operands, layout)
    raise SourceError(f"instruction {opcode!r} is not known to the host")


def _address(item: Instruction, operands: Sequence[str], layout: DataLayout) -> str:
    """The address that a getelementptr computes."""
    kind, terms, constant = item.source_type, [operands[0]], 0
    for k, (value, text) in enumerate(zip(item.operands[1:], operands[1:])):
        if k and not kind.startswith("["):
            offset, kind = layout.members(kind)[getattr(value, "value", 0)]
            constant += offset
            continue
        kind = kind[kind.index(" x ") + 3 : -1] if k else kind
        size = layout.size(kind)
        if is_number(text):
            constant += int(text) * size
        else:
            terms.append(f"{text} * {size}" if size != 1 else text)
    if constant:
        terms.append(str(constant))
    return f"({' + '.join(terms)}) & 0xffffffff" if len(terms) > 1 else terms[0]


def _shift_left(item: Instruction, operands: Sequence[str]) -> str:
    bits = bits_of(item.type)
    return write_signed(f"{operands[0]} << {_amount(operands[1], bits)}", bits)


def _amount(text: str, bits: int) -> str:
    """A shift amount; more than the width has no meaning in C, and is cut to it as processors do."""
    return text if text.isdigit() else f"({text} & {max(bits - 1, 0)})"


def _logical_shift(item: Instruction, operands: Sequence[str]) -> str:
    bits = bits_of(item.type)
    return write_signed(f"{write_unsigned(operands[0], bits)} >> {_amount(operands[1], bits)}", bits)


def _arithmetic_shift(item: Instruction, operands: Sequence[str]) -> str:
    return f"{operands[0]} >> {_amount(operands[1], bits_of(item.type))}"


def _compare(item: Instruction, operands: Sequence[str]) -> str:
    kind, (a, b) = item.operands[0].type, operands
    bits = bits_of(kind)
    if item.predicate.startswith("u") and kind != "ptr":
        a, b = write_unsigned(a, bits), write_unsigned(b, bits)
    elif item.predicate.startswith("s") and kind == "ptr":
        a, b = write_signed(a, 32), write_signed(b, 32)
    return f"1 if {a} {_RELATIONS[item.predicate[-2:]]} {b} else 0"


def _compare_reals(item: Instruction, operands: Sequence[str]) -> str:
    is_real(item.operands[0].type)
    a, b = operands
    if item.predicate in ("true", "false"):
        return "1" if item.predicate == "true" else "0"
    apart = f"{a} != {a} or {b} != {b}"
    if item.predicate in ("uno", "ord"):
        return f"{int(item.predicate == 'uno')} if {apart} else {int(item.predicate == 'ord')}"
    related = f"{a} {_RELATIONS[item.predicate[-2:]]} {b}"
    if item.predicate == "one":
        return f"0 if {apart} else 1 if {related} else 0"
    # Python's relations are ordered but for !=, as C's are.
    if item.predicate.startswith("o") or item.predicate == "une":
        return f"1 if {related} else 0"
    return f"1 if {apart} or {related} else 0"


def _truncate(item: Instruction, operands: Sequence[str]) -> str:
    bits_of(item.operands[0].type)
    return write_signed(operands[0], bits_of(item.type))


def _zero_extend(item: Instruction, operands: Sequence[str]) -> str:
    bits_of(item.type)
    return write_unsigned(operands[0], bits_of(item.operands[0].type))


def _sign_extend(item: Instruction, operands: Sequence[str]) -> str:
    bits_of(item.type)
    return f"-{operands[0]}" if item.operands[0].type == "i1" else operands[0]


def _select(item: Instruction, operands: Sequence[str]) -> str:
    return f"{operands[1]} if {operands[0]} else {operands[2]}"


def _same(item: Instruction, operands: Sequence[str]) -> str:
    return operands[0]


def _bitcast(item: Instruction, operands: Sequence[str]) -> str:
    source = item.operands[0].type
    return operands[0] if source == item.type else f"BITCAST({operands[0]}, {source!r}, {item.type!r})"


def _to_pointer(item: Instruction, operands: Sequence[str]) -> str:
    return f"{operands[0]} & 0xffffffff"


def _from_pointer(item: Instruction, operands: Sequence[str]) -> str:
    return write_signed(operands[0], bits_of(item.type)) if bits_of(item.type) <= 32 else operands[0]


def _to_real(item: Instruction, operands: Sequence[str]) -> str:
    is_real(item.type)
    bits = bits_of(item.operands[0].type)
    text = write_unsigned(operands[0], bits) if item.opcode == "uitofp" else f"({operands[0]})"
    return f"TO_REAL({text}, {item.type!r})"


def _to_integer(item: Instruction, operands: Sequence[str]) -> str:
    return f"TO_INTEGER({operands[0]}, {bits_of(item.type)}, {item.opcode == 'fptosi'})"


def _negate(item: Instruction, operands: Sequence[str]) -> str:
    is_real(item.type)
    return f"-{operands[0]}"


def _resize(item: Instruction, operands: Sequence[str]) -> str:
    is_real(item.type), is_real(item.operands[0].type)
    return f"{'F64' if item.type == 'double' else 'F32'}({operands[0]})"


def _remainder(item: Instruction, operands: Sequence[str]) -> str:
    is_real(item.type)
    return f"FMOD({operands[0]}, {operands[1]})"


def _extract(item: Instruction, operands: Sequence[str]) -> str:
    position = item.text.rpartition(", ")[2]
    if not position.isdecimal():
        raise SourceError("instruction 'extractvalue' is not known to the host in this form")
    return f"{operands[0]}[{position}]"


_METHODS: Final[dict[str, Callable[[Instruction, Sequence[str]], str]]] = {
    "shl": _shift_left, "lshr": _logical_shift, "ashr": _arithmetic_shift, "icmp": _compare, "fcmp": _compare_reals,
    "trunc": _truncate, "zext": _zero_extend, "sext": _sign_extend, "select": _select, "freeze": _same,
    "bitcast": _bitcast, "inttoptr": _to_pointer, "ptrtoint": _from_pointer, "sitofp": _to_real, "uitofp": _to_real,
    "fptosi": _to_integer, "fptoui": _to_integer, "fneg": _negate, "fpext": _resize, "fptrunc": _resize,
    "frem": _remainder, "extractvalue": _extract,
}  # fmt: skip
