"""The op table: for each domain and op its arity, op class, whether it yields a result, and its code.

Semantics are in :mod:`gridloom.dfg.semantics`, keyed by the codes given here: this module stays free of numba so that
looking up an arity costs nothing.

A *domain* says what a value is: a 32-bit integer (``i32``), a single (``f32``), the 24-bit word with carry of the CMA
arrays (``cma24``), a hash that stands for an unknown computation (``opaque``), or a tensor token (``tensor``). In
``f32`` the plain names are aliases of the float ops, so that a graph of singles says ``add`` as one of integers does.

Every row states its code. Bit files, compiled kernels and generated Verilog hold codes, so that a code is never changed
nor used again. Codes are unique within a domain, which is checked on import; those of ``cma24`` and ``tensor`` count
from a base of their own. A new op takes any free code: below 128 where function units may come to compute it, since an
opcode has at most seven bits.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Final

from gridloom.errors import DfgError

DOMAINS: Final = ("i32", "f32", "cma24", "opaque", "tensor")

#: Op classes: what a tile must be able to do. ``const`` and ``livein`` are timeless, ``route`` is a move.
OP_CLASSES: Final = (
    "alu", "mul", "div", "fp", "mem", "mem_data", "input", "output", "const", "livein", "route",
    "gemm", "vector", "buffer", "dram",
)  # fmt: skip

ANY_ARITY: Final = -1


@dataclass(frozen=True, slots=True)
class Op:
    """One row of the op table.

    ``code`` is what the numba kernels of :mod:`gridloom.dfg.semantics` branch on; ``result`` is False for stores.
    ``in_hardware`` says that the generated function units compute the op; one without it maps and simulates, and is
    refused where hardware is asked for.
    """

    name: str
    arity: int
    op_class: str
    code: int
    result: bool = True
    in_hardware: bool = False

    @property
    def timeless(self) -> bool:
        """True for values that are the same in every cycle: constants and live-ins."""
        return self.op_class in ("const", "livein")


def _rows(*groups: tuple[int, str, dict[str, int]], result: bool = True, in_hardware: bool = False) -> dict[str, Op]:
    """Rows of the op table from groups (arity, op class, op -> code)."""
    return {
        name: Op(name, arity, op_class, code, result, in_hardware)
        for arity, op_class, codes in groups
        for name, code in codes.items()
    }


_COMMON = _rows(
    (0, "const", {"const": 0}),
    (0, "livein", {"livein": 1}),
    (0, "input", {"input": 2}),
    (1, "output", {"output": 3}),
    (1, "mem", {"load": 5, "load_address": 8, "store_address": 10}),
    (1, "mem_data", {"load_data": 9}),
) | _rows(
    (2, "mem", {"store": 6}), (3, "mem", {"store_if": 7}), (2, "mem_data", {"store_data": 11}), result=False
) | _rows((1, "alu", {"move": 4}), in_hardware=True)  # fmt: skip

_ARITHMETIC = _rows(
    (2, "alu", {"add": 12, "sub": 13}),
    (2, "mul", {"mul": 14, "mulh": 19}),
    (2, "div", {"div": 15, "rem": 16, "udiv": 17, "urem": 18}),
    (3, "mul", {"mul_add": 20, "mul_sub": 21, "shl_add": 22}),
    (2, "alu", {"shl": 23, "shr": 24, "lshr": 25, "rotl": 26, "and": 27, "or": 28, "xor": 29}),
    (1, "alu", {"not": 30, "neg": 31, "abs": 32}),
    (2, "alu", {
        "min": 33, "max": 34, "umin": 35, "umax": 36, "eq": 37, "ne": 38, "lt": 39, "le": 40, "gt": 41, "ge": 42,
        "ult": 43, "ule": 44,
    }),
    (3, "alu", {"select": 45}),
    (1, "alu", {"sext8": 46, "sext16": 47, "zext8": 48, "zext16": 49, "popcount": 50, "clz": 51}),
    # The square of one wire: a multiplier whose operands are one signal.
    (1, "mul", {"square": 52}),
    # A comparator that hands on the smaller operand with the winner in bit 0, and the multiplexer that this bit steers.
    (2, "alu", {"min_tag": 53}),
    (3, "alu", {"select_tag": 54}),
    # Fused ops, which ``FUSED`` explains.
    (3, "mul", {"mul_rsub": 75, "mul_and": 76, "mul_or": 77, "mul_xor": 78}),
    (3, "mul", {"shl_sub": 79, "shl_rsub": 80, "shl_and": 81, "shl_or": 82, "shl_xor": 83}),
    (3, "mul", {"shr_add": 84, "shr_sub": 85, "shr_rsub": 86, "shr_and": 87, "shr_or": 88, "shr_xor": 89}),
    (3, "mul", {"lshr_add": 90, "lshr_sub": 91, "lshr_rsub": 92, "lshr_and": 93, "lshr_or": 94, "lshr_xor": 95}),
    in_hardware=True,
)  # fmt: skip

# On 32-bit patterns read as IEEE single precision; in domain f32 the plain names mean these.
_FLOAT = _rows(
    (2, "fp", {"fadd": 55, "fsub": 56, "fmul": 57}),
    (1, "fp", {"fneg": 59, "fabs": 60}),
    (2, "fp", {"fmin": 61, "fmax": 62, "feq": 63, "flt": 64, "fle": 65}),
    (3, "fp", {"fmul_add": 67}),
    (1, "fp", {"int_to_float": 68, "float_to_int": 69}),
    (2, "fp", {"fne": 70, "fgt": 71, "fge": 72}),
    (1, "fp", {"fsquare": 73}),
    (3, "fp", {"fmul_sub": 74, "fmul_rsub": 96}),
    in_hardware=True,
)  # fmt: skip

# Ops that graphs, mappers and the simulator know, and no function unit computes.
_SIMULATED = _rows(
    (2, "fp", {"fdiv": 58}),
    (1, "fp", {"fsqrt": 66}),
    # Operand 0 where operand 2 is negative (zero), else operand 1: instructions that read a flag of another result.
    (3, "alu", {"select_sign": 97, "select_zero": 98}),
)

#: Fused op -> (first op on operands 0 and 1, second op, operand at which the second reads the first); the other operand
#: of the second is operand 2. ``sub`` takes the first's result from operand 2, ``rsub`` the other way round.
FUSED: Final = {
    f"{first}_{name}": (first, second, at)
    for first in ("mul", "shl", "shr", "lshr")
    for name, second, at in (
        ("add", "add", 0), ("sub", "sub", 1), ("rsub", "sub", 0), ("and", "and", 0), ("or", "or", 0), ("xor", "xor", 0)
    )
} | {"fmul_add": ("fmul", "fadd", 0), "fmul_sub": ("fmul", "fsub", 1), "fmul_rsub": ("fmul", "fsub", 0)}  # fmt: skip

_CMA24 = _rows(
    (1, "alu", {"nop": 12}),
    (2, "alu", {"add": 13, "sub": 14, "mult": 15, "sl": 16, "sr": 17, "sra": 18, "sel": 19}),
    (1, "alu", {"cat": 20, "not": 21}),
    (2, "alu", {"and": 22, "or": 23, "xor": 24, "eql": 25, "gt": 26, "lt": 27}),
    in_hardware=True,
)  # fmt: skip

# Tensor ops are uninterpreted on tokens: their work and shapes are attributes of the node.
_TENSOR = _rows(
    (0, "dram", {"input": 2}),
    (1, "dram", {"output": 3}),
    (ANY_ARITY, "gemm", {"gemm": 12}),
    (ANY_ARITY, "vector", {"elementwise": 13, "reduce": 14, "softmax": 15, "norm": 16}),
    (ANY_ARITY, "buffer", {"transpose": 17, "buffer": 18}),
)  # fmt: skip

_F32_MEANS: Final = {
    "add": "fadd", "sub": "fsub", "mul": "fmul", "div": "fdiv", "neg": "fneg", "abs": "fabs", "min": "fmin",
    "max": "fmax", "eq": "feq", "ne": "fne", "lt": "flt", "le": "fle", "gt": "fgt", "ge": "fge", "sqrt": "fsqrt",
    "square": "fsquare", "mul_add": "fmul_add", "mul_sub": "fmul_sub",
    "mul_rsub": "fmul_rsub",
}  # fmt: skip


def _table(*parts: dict[str, Op], base: int = 0) -> dict[str, Op]:
    """The ops of some parts of the table, ordered by code and counted from ``base``; later parts replace rows."""
    merged = {name: op for part in parts for name, op in part.items()}
    return {op.name: replace(op, code=base + op.code) for op in sorted(merged.values(), key=lambda op: op.code)}


_I32 = _table(_COMMON, _ARITHMETIC, _FLOAT, _SIMULATED)

#: The code of an op of domain ``opaque`` that the table does not have.
OPAQUE_CODE: Final = 99

#: domain -> op name -> Op. ``opaque`` holds the ops whose class is known; any other name is an ``alu`` of any arity.
OP_TABLE: Final[dict[str, dict[str, Op]]] = {
    "i32": _I32,
    "f32": _I32 | {name: replace(_I32[means], name=name) for name, means in _F32_MEANS.items()},
    "cma24": _table(_COMMON, _CMA24, base=100),
    "opaque": {
        name: op if op.timeless or name == "input" else replace(op, arity=ANY_ARITY) for name, op in _I32.items()
    },
    "tensor": _table(_COMMON, _TENSOR, base=200),
}


def check_codes(ops: Iterable[Op]) -> None:
    """Raise DfgError where two ops of a domain have one code, or an op has that of unknown ops.

    >>> check_codes([Op("add", 2, "alu", 12), Op("twice", 1, "alu", 12)])
    Traceback (most recent call last):
    gridloom.errors.DfgError: ops 'add' and 'twice' both have code 12
    """
    names = {OPAQUE_CODE: "any op of domain opaque"}
    for op in ops:
        other = names.setdefault(op.code, op.name)
        if other != op.name:
            raise DfgError(f"ops {other!r} and {op.name!r} both have code {op.code}")


# In domain f32 two names of one op have one code.
for _domain in ("i32", "cma24", "opaque", "tensor"):
    check_codes(OP_TABLE[_domain].values())


def lookup(domain: str, name: str) -> Op:
    """The op of that name in a domain.

    Raises DfgError for a domain or an op that is not known. In domain ``opaque`` every name is known: one that the
    table does not have is an ALU op of any arity.

    >>> lookup("i32", "mul").op_class, lookup("i32", "select").arity
    ('mul', 3)
    >>> lookup("f32", "add").op_class, lookup("opaque", "butterfly").op_class
    ('fp', 'alu')
    """
    try:
        table = OP_TABLE[domain]
    except KeyError:
        raise DfgError(f"unknown domain {domain!r}; known: {', '.join(DOMAINS)}") from None
    if name in table:
        return table[name]
    if domain == "opaque":
        return Op(name, ANY_ARITY, "alu", OPAQUE_CODE)
    raise DfgError(f"op {name!r} is not in domain {domain!r}; it has: {', '.join(table)}")
