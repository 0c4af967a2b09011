"""The op table: for each domain and op its arity, op class, whether it yields a result, and its code.

Semantics are in :mod:`gridloom.dfg.semantics`, keyed by the codes given here: this module stays free of numba so that
looking up an arity costs nothing.

A *domain* says what a value is: a 32-bit integer (``i32``), a single (``f32``), the 24-bit word with carry of the CMA
arrays (``cma24``), a hash that stands for an unknown computation (``opaque``), or a tensor token (``tensor``). The
code of an op is its position in its domain's table, plus a base that keeps domains apart. In ``f32`` the plain names
are aliases of the float ops, so that a graph of singles says ``add`` as one of integers does. Compiled kernels hold
codes as constants, so new rows go to the end of the table, where they change no other code.
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
    """One row of the op table.

    ``code`` is what the numba kernels of :mod:`gridloom.dfg.semantics` branch on; ``result`` is False for stores.
    """

    name: str
    arity: int
    op_class: str
    code: int
    result: bool = True

    @property
    def timeless(self) -> bool:
        """True for values that are the same in every cycle: constants and live-ins."""
        return self.op_class in ("const", "livein")


#: (arity, op class, whether it yields a result)
_Row = tuple[int, str, bool]


def _rows(*groups: tuple[int, str, tuple[str, ...]], result: bool = True) -> dict[str, _Row]:
    """Rows of the op table from groups of ops that share their arity and op class."""
    return {name: (arity, op_class, result) for arity, op_class, names in groups for name in names}


# The order of the names gives the codes, which semantics.py refers to by name.
_COMMON = (
    _rows(
        (0, "const", ("const",)),
        (0, "livein", ("livein",)),
        (0, "input", ("input",)),
        (1, "output", ("output",)),
        (1, "alu", ("move",)),
        (1, "mem", ("load",)),
    )
    | _rows((2, "mem", ("store",)), (3, "mem", ("store_if",)), result=False)
    | _rows((1, "mem", ("load_address",)), (1, "mem_data", ("load_data",)), (1, "mem", ("store_address",)))
    | _rows((2, "mem_data", ("store_data",)), result=False)
)

_ARITHMETIC = _rows(
    (2, "alu", ("add", "sub")),
    (2, "mul", ("mul",)),
    (2, "div", ("div", "rem", "udiv", "urem")),
    (2, "mul", ("mulh",)),
    (3, "mul", ("mul_add", "mul_sub", "shl_add")),
    (2, "alu", ("shl", "shr", "lshr", "rotl", "and", "or", "xor")),
    (1, "alu", ("not", "neg", "abs")),
    (2, "alu", ("min", "max", "umin", "umax", "eq", "ne", "lt", "le", "gt", "ge", "ult", "ule")),
    (3, "alu", ("select",)),
    (1, "alu", ("sext8", "sext16", "zext8", "zext16", "popcount", "clz")),
    # The square of one wire: a multiplier whose operands are one signal.
    (1, "mul", ("square",)),
    # A comparator that hands on the smaller operand with the winner in bit 0, and the multiplexer that this bit steers.
    (2, "alu", ("min_tag",)),
    (3, "alu", ("select_tag",)),
)

# On 32-bit patterns read as IEEE single precision; in domain f32 the plain names mean these.
_FLOAT = _rows(
    (2, "fp", ("fadd", "fsub", "fmul", "fdiv")),
    (1, "fp", ("fneg", "fabs")),
    (2, "fp", ("fmin", "fmax", "feq", "flt", "fle")),
    (1, "fp", ("fsqrt",)),
    (3, "fp", ("fmul_add",)),
    (1, "fp", ("int_to_float", "float_to_int")),
    (2, "fp", ("fne", "fgt", "fge")),
    (1, "fp", ("fsquare",)),
    (3, "fp", ("fmul_sub",)),
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

# The last rows of the table: the codes of all others stay as they are.
_FUSED: dict[str, _Row] = {
    name: (3, "fp" if name.startswith("f") else "mul", True)
    for name in FUSED
    if name not in _ARITHMETIC and name not in _FLOAT
}

_CMA24 = _rows(
    (1, "alu", ("nop",)),
    (2, "alu", ("add", "sub", "mult", "sl", "sr", "sra", "sel")),
    (1, "alu", ("cat", "not")),
    (2, "alu", ("and", "or", "xor", "eql", "gt", "lt")),
)

# Tensor ops are uninterpreted on tokens: their work and shapes are attributes of the node.
_TENSOR = _rows(
    (0, "dram", ("input",)),
    (1, "dram", ("output",)),
    (ANY_ARITY, "gemm", ("gemm",)),
    (ANY_ARITY, "vector", ("elementwise", "reduce", "softmax", "norm")),
    (ANY_ARITY, "buffer", ("transpose", "buffer")),
)

_F32_MEANS: Final = {
    "add": "fadd", "sub": "fsub", "mul": "fmul", "div": "fdiv", "neg": "fneg", "abs": "fabs", "min": "fmin",
    "max": "fmax", "eq": "feq", "ne": "fne", "lt": "flt", "le": "fle", "gt": "fgt", "ge": "fge", "sqrt": "fsqrt",
    "square": "fsquare", "mul_add": "fmul_add", "mul_sub": "fmul_sub",
    "mul_rsub": "fmul_rsub",
}  # fmt: skip


def _table(*parts: dict[str, _Row], base: int = 0) -> dict[str, Op]:
    """The ops of some parts of the table, coded from ``base`` in their order; later parts replace rows of earlier."""
    merged: dict[str, _Row] = {}
    for part in parts:
        merged.update(part)
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
