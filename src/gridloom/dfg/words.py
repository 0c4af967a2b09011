"""What a graph of domain ``i32`` computes in words of another length: the reference of hardware with such words.

Every value is a signed word of W bits, 2 to 64: streams, live-ins, memory, constants and results keep their low W bits,
and the numbers of the graph itself, which have 32 bits, keep their sign in longer words.
An op is that of the op table with 32 replaced by W; shift amounts keep as many bits as numbers below W need. Sums,
products and logic are the low bits of what 32 bits give; quotients, right shifts, comparisons and counts are not, so a
graph means something else once a value leaves its word.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Final

import numpy as np

from gridloom.dfg.interpreter import Interpreter, Observation, Stimulus, Words
from gridloom.dfg.model import Dfg
from gridloom.dfg.ops import FUSED, OP_TABLE
from gridloom.dfg.semantics import DOMAIN_CODE, evaluate
from gridloom.errors import SimulationError

_COMPARISONS: Final[dict[str, Callable[[int, int], bool]]] = {
    "eq": operator.eq, "ne": operator.ne, "lt": operator.lt, "le": operator.le, "gt": operator.gt, "ge": operator.ge,
    "ult": operator.lt, "ule": operator.le,
}  # fmt: skip
_SHIFTS = ("shl", "shr", "lshr", "rotl", *(name for name, (first, *_) in FUSED.items() if "sh" in first))
#: Ops whose first two operands are read as numbers without a sign, and not merely compared.
_UNSIGNED = ("lshr", "udiv", "urem", "popcount", "clz", *(name for name in FUSED if name.startswith("lshr_")))


def word_of(value: int, width: int) -> int:
    """The signed number in the low ``width`` bits.

    >>> word_of(200, 8), word_of(-1, 8), word_of(40000, 16)
    (-56, -1, -25536)
    """
    half = 1 << width - 1
    return (value + half & (1 << width) - 1) - half


def evaluate_word(op: str, width: int, *operands: int) -> int:
    """The result of an integer op on words of ``width`` bits.

    SimulationError for an op that only words of up to 32 bits have: one that no hardware computes.

    >>> evaluate_word("add", 8, 127, 1), evaluate_word("lshr", 8, -128, 1), evaluate_word("clz", 8, 1)
    (-128, 64, 7)
    """
    words = [word_of(value, width) for value in operands]
    row = OP_TABLE["i32"][op]
    if op in _SHIFTS:
        words[1] &= (1 << (width - 1).bit_length()) - 1
    if op == "rotl":
        bits = words[0] & (1 << width) - 1
        return word_of((bits | bits << width) << words[1] >> width, width)
    if op == "mulh":
        return words[0] * words[1] >> width
    if width > 32:
        return word_of(_long_word(op, width, *words, *(0,) * (3 - len(words))), width)
    if op in _UNSIGNED and width < 32:
        words = [value & (1 << width) - 1 for value in words]
    buffer = np.array([*words, 0, 0, 0], dtype=np.int64)
    result = int(evaluate(DOMAIN_CODE["i32"], row.code, 0, buffer, row.arity))
    return word_of(result - (32 - width if op == "clz" else 0), width)


def _long_word(op: str, width: int, a: int, b: int, c: int) -> int:
    """The result of an op on words of more than 32 bits, which the kernels of the op table do not hold; not yet cut.

    ``rotl`` and ``mulh`` are :func:`evaluate_word`'s; shift amounts are cut already.
    """
    if op in FUSED:
        first, second, at = FUSED[op]
        value = word_of(_long_word(first, width, a, b, 0), width)
        return _long_word(second, width, c, value, 0) if at else _long_word(second, width, value, c, 0)
    ones = (1 << width) - 1
    ua, ub = a & ones, b & ones
    if op in ("div", "rem", "udiv", "urem"):
        return _long_quotient(op, *((ua, ub) if op.startswith("u") else (a, b)))
    if op in _COMPARISONS:
        return int(_COMPARISONS[op](ua, ub) if op.startswith("u") else _COMPARISONS[op](a, b))
    table = {
        "move": a, "add": a + b, "sub": a - b, "mul": a * b, "square": a * a, "and": a & b, "or": a | b, "xor": a ^ b,
        "not": ~a, "neg": -a, "abs": abs(a), "min": min(a, b), "max": max(a, b), "umin": min(ua, ub),
        "umax": max(ua, ub), "select": b if a else c, "sext8": word_of(a, 8), "sext16": word_of(a, 16),
        "zext8": a & 0xFF, "zext16": a & 0xFFFF, "popcount": ua.bit_count(), "clz": width - ua.bit_length(),
        "min_tag": b | 1 if (b | 1) < (a | 1) else a & ~1, "select_tag": b if a & 1 else c,
        "select_sign": a if c < 0 else b, "select_zero": b if c else a,
    }  # fmt: skip
    if op in ("shl", "shr", "lshr"):
        return ua << b if op == "shl" else (a if op == "shr" else ua) >> b
    if op not in table:
        raise SimulationError(f"op {op!r} is defined for words of up to 32 bits, found {width}")
    return table[op]


def _long_quotient(op: str, a: int, b: int) -> int:
    """A quotient or a remainder, rounded towards zero; a divisor of 0 gives 0 and leaves the dividend."""
    wants_rest = op.endswith("rem")
    if b == 0:
        return a if wants_rest else 0
    quotient = abs(a) // abs(b) * (-1 if (a < 0) != (b < 0) else 1)
    return a - quotient * b if wants_rest else quotient


def widen_stimulus(stimulus: Stimulus, width: int) -> Stimulus:
    """The stimulus of a graph of 32 bits with numbers of ``width`` bits, 33 to 64.

    Numbers of up to 16 bits stay as they are, since they may be indices; longer ones keep their low 32 bits, and the
    bits above are a mix of those.
    """

    def spread(value: int) -> int:
        if -(1 << 16) <= value < 1 << 16:
            return value
        low = value & 0xFFFFFFFF
        return word_of((low * 0x9E3779B1 ^ low >> 7) << 32 | low, width)

    def grown(table: dict[str, Words]) -> dict[str, Words]:
        return {name: np.array([spread(v) for v in words.tolist()], dtype=np.int64) for name, words in table.items()}

    return Stimulus(
        iterations=stimulus.iterations,
        streams=grown(stimulus.streams),
        liveins={name: spread(value) for name, value in stimulus.liveins.items()},
        memory=grown(stimulus.memory),
    )


def narrow_stimulus(stimulus: Stimulus, width: int) -> Stimulus:
    """The stimulus with every word cut to ``width`` bits.

    The stimulus that is passed in is not changed.
    """

    def cut(table: dict[str, Words]) -> dict[str, Words]:
        # Words of a stimulus are 64-bit integers, which hold every word of 33 bits and more as it is.
        if width > 32:
            return {name: words.copy() for name, words in table.items()}
        half = 1 << width - 1
        return {name: (words + half & (1 << width) - 1) - half for name, words in table.items()}

    return Stimulus(
        iterations=stimulus.iterations,
        streams=cut(stimulus.streams),
        liveins={name: word_of(value, width) for name, value in stimulus.liveins.items()},
        memory=cut(stimulus.memory),
    )


class WordInterpreter(Interpreter):
    """The reference interpreter in words of ``width`` bits. SimulationError for a graph of another domain than i32."""

    def __init__(self, dfg: Dfg, width: int) -> None:
        if dfg.domain != "i32":
            raise SimulationError(
                f"graph {dfg.name!r} is in domain {dfg.domain!r}; words of {width} bits mean something in 'i32' only"
            )
        self.width = width
        super().__init__(dfg)

    def _operand(self, e: int) -> tuple[int, int, list[int | str]]:
        source, distance, initial = super()._operand(e)
        return source, distance, [v if isinstance(v, str) else word_of(v, self.width) for v in initial]

    def run(self, stimulus: Stimulus) -> Observation:
        """Run ``stimulus.iterations`` iterations of the stimulus, brought to the length of the words."""
        return super().run(self.fitted(stimulus))

    def fitted(self, stimulus: Stimulus) -> Stimulus:
        """Return the stimulus as it is run: narrowed, or widened where words have more than 32 bits."""
        return widen_stimulus(stimulus, self.width) if self.width > 32 else narrow_stimulus(stimulus, self.width)

    def _fire(self, k: int, iteration: int, rows: list[list[int]], memory: dict[str, Words], stimulus: Stimulus) -> int:
        return word_of(super()._fire(k, iteration, rows, memory, stimulus), self.width)

    def _compute(self, k: int, buffer: Words, count: int) -> int:
        return evaluate_word(self.dfg.nodes[k].op, self.width, *buffer[:count].tolist())
