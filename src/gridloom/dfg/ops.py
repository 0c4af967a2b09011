"""The op table: for each domain and op its arity, op class, whether it yields a result, and its code.

Semantics are in :mod:`gridloom.dfg.semantics`, keyed by the codes given here: this module stays free of numba so that
looking up an arity costs nothing.
"""

from __future__ import annotations

from dataclasses import dataclass
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
    """One row of the op table."""

    name: str
    arity: int
    op_class: str
    code: int
    result: bool = True

    @property
    def timeless(self) -> bool:
        """True for values that are the same in every cycle: constants and live-ins."""
        return self.op_class in ("const", "livein")


# name: (arity, class, result). The order gives the codes, which semantics.py refers to by name.
_COMMON: dict[str, tuple[int, str, bool]] = {
    "const": (0, "const", True),
    "livein": (0, "livein", True),
    "input": (0, "input", True),
    "output": (1, "output", True),
    "move": (1, "alu", True),
    "load": (1, "mem", True),
    "store": (2, "mem", False),
    "store_if": (3, "mem", False),
    "load_address": (1, "mem", True),
    "load_data": (1, "mem_data", True),
    "store_address": (1, "mem", True),
    "store_data": (2, "mem_data", False),
}

_ARITHMETIC: dict[str, tuple[int, str, bool]] = {
    "add": (2, "alu", True),
    "sub": (2, "alu", True),
    "mul": (2, "mul", True),
    "div": (2, "div", True),
    "rem": (2, "div", True),
    "udiv": (2, "div", True),
    "urem": (2, "div", True),
    "mulh": (2, "mul", True),
    "mul_add": (3, "mul", True),
    "mul_sub": (3, "mul", True),
    "shl_add": (3, "mul", True),
    "shl": (2, "alu", True),
    "shr": (2, "alu", True),
    "lshr": (2, "alu", True),
    "rotl": (2, "alu", True),
    "and": (2, "alu", True),
    "or": (2, "alu", True),
    "xor": (2, "alu", True),
    "not": (1, "alu", True),
    "neg": (1, "alu", True),
    "abs": (1, "alu", True),
    "min": (2, "alu", True),
    "max": (2, "alu", True),
    "umin": (2, "alu", True),
    "umax": (2, "alu", True),
    "eq": (2, "alu", True),
    "ne": (2, "alu", True),
    "lt": (2, "alu", True),
    "le": (2, "alu", True),
    "gt": (2, "alu", True),
    "ge": (2, "alu", True),
    "ult": (2, "alu", True),
    "ule": (2, "alu", True),
    "select": (3, "alu", True),
    "sext8": (1, "alu", True),
    "sext16": (1, "alu", True),
    "zext8": (1, "alu", True),
    "zext16": (1, "alu", True),
    "popcount": (1, "alu", True),
    "clz": (1, "alu", True),
    # The square of one wire: a multiplier whose operands are one signal.
    "square": (1, "mul", True),
    # A comparator that hands on the smaller operand with the winner in bit 0, and the multiplexer that this bit steers.
    "min_tag": (2, "alu", True),
    "select_tag": (3, "alu", True),
}

# On 32-bit patterns read as IEEE single precision; in domain f32 the plain names mean these.
_FLOAT: dict[str, tuple[int, str, bool]] = {
    "fadd": (2, "fp", True),
    "fsub": (2, "fp", True),
    "fmul": (2, "fp", True),
    "fdiv": (2, "fp", True),
    "fneg": (1, "fp", True),
    "fabs": (1, "fp", True),
    "fmin": (2, "fp", True),
    "fmax": (2, "fp", True),
    "feq": (2, "fp", True),
    "flt": (2, "fp", True),
    "fle": (2, "fp", True),
    "fsqrt": (1, "fp", True),
    "fmul_add": (3, "fp", True),
    "int_to_float": (1, "fp", True),
    "float_to_int": (1, "fp", True),
    "fne": (2, "fp", True),
    "fgt": (2, "fp", True),
    "fge": (2, "fp", True),
    "fsquare": (1, "fp", True),
    "fmul_sub": (3, "fp", True),
}

#: Fused op -> (first op on operands 0 and 1, second op, operand at which the second reads the first); the other operand
#: of the second is operand 2. ``sub`` takes the first's result from operand 2, ``rsub`` the other way round.
FUSED: Final = {
    f"{first}_{name}": (first, second, at)
    for first in ("mul", "shl", "shr", "lshr")
    for name, second, at in (
        ("add", "add", 0), ("sub", "sub", 1), ("rsub", "sub", 0), ("and", "and", 0), ("or", "or", 0), ("xor", "xor", 0)
    )
} | {"fmul_add": ("fmul", "fadd", 0), "fmul_sub": ("fmul", "fsub", 1), "fmul_rsub": ("fmul", "fsub", 0)}  # fmt: skip

# The last rows of the table: the codes of all others stay as they are.
_FUSED: dict[str, tuple[int, str, bool]] = {
    name: (3, "fp" if name.startswith("f") else "mul", True)
    for name in FUSED
    if name not in _ARITHMETIC and name not in _FLOAT
}

_CMA24: dict[str, tuple[int, str, bool]] = {
    "nop": (1, "alu", True),
    "add": (2, "alu", True),
    "sub": (2, "alu", True),
    "mult": (2, "alu", True),
    "sl": (2, "alu", True),
    "sr": (2, "alu", True),
    "sra": (2, "alu", True),
    "sel": (2, "alu", True),
    "cat": (1, "alu", True),
    "not": (1, "alu", True),
    "and": (2, "alu", True),
    "or": (2, "alu", True),
    "xor": (2, "alu", True),
    "eql": (2, "alu", True),
    "gt": (2, "alu", True),
    "lt": (2, "alu", True),
}

# Tensor ops are uninterpreted on tokens: their work and shapes are attributes of the node.
_TENSOR: dict[str, tuple[int, str, bool]] = {
    "input": (0, "dram", True),
    "output": (1, "dram", True),
    "gemm": (ANY_ARITY, "gemm", True),
    "elementwise": (ANY_ARITY, "vector", True),
    "reduce": (ANY_ARITY, "vector", True),
    "softmax": (ANY_ARITY, "vector", True),
    "norm": (ANY_ARITY, "vector", True),
    "transpose": (ANY_ARITY, "buffer", True),
    "buffer": (ANY_ARITY, "buffer", True),
}

_F32_MEANS: Final = {
    "add": "fadd", "sub": "fsub", "mul": "fmul", "div": "fdiv", "neg": "fneg", "abs": "fabs", "min": "fmin",
    "max": "fmax", "eq": "feq", "ne": "fne", "lt": "flt", "le": "fle", "gt": "fgt", "ge": "fge", "sqrt": "fsqrt",
    "square": "fsquare", "mul_add": "fmul_add", "mul_sub": "fmul_sub",
    "mul_rsub": "fmul_rsub",
}  # fmt: skip


def _table(*rows: dict[str, tuple[int, str, bool]], base: int = 0) -> dict[str, Op]:
    merged: dict[str, tuple[int, str, bool]] = {}
    for row in rows:
        merged.update(row)
    return {
        name: Op(name, arity, op_class, base + code, result)
        for code, (name, (arity, op_class, result)) in enumerate(merged.items())
    }


_I32 = _table(_COMMON, _ARITHMETIC, _FLOAT, _FUSED)
_F32 = _I32 | {name: Op(name, _I32[f].arity, _I32[f].op_class, _I32[f].code) for name, f in _F32_MEANS.items()}

#: domain -> op name -> Op. ``opaque`` holds the ops whose class is known; any other name is an ``alu`` of any arity.
OP_TABLE: Final[dict[str, dict[str, Op]]] = {
    "i32": _I32,
    "f32": _F32,
    "cma24": _table(_COMMON, _CMA24, base=100),
    "opaque": {
        name: Op(name, op.arity if op.timeless or name == "input" else ANY_ARITY, op.op_class, op.code, op.result)
        for name, op in _I32.items()
    },
    "tensor": _table(_COMMON, _TENSOR, base=200),
}

OPAQUE_CODE: Final = 99


def lookup(domain: str, name: str) -> Op:
    """The op of that name in a domain.

    >>> lookup("i32", "mul").op_class, lookup("i32", "select").arity
    ('mul', 3)
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
