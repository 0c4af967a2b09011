"""What a graph of domain ``i32`` computes in words of another length: the reference of hardware with narrow words.

Every value is a signed word of W bits, 2 to 32: streams, live-ins, memory, constants and results keep their low W bits.
An op is that of the op table with 32 replaced by W; shift amounts keep as many bits as numbers below W need. Sums,
products and logic are the low bits of what 32 bits give; quotients, right shifts, comparisons and counts are not, so a
graph means something else once a value leaves its word.
"""

from __future__ import annotations

import numpy as np

from gridloom.dfg.interpreter import Interpreter, Observation, Stimulus, Words
from gridloom.dfg.model import Dfg
from gridloom.dfg.ops import FUSED, OP_TABLE
from gridloom.dfg.semantics import DOMAIN_CODE, evaluate
from gridloom.errors import SimulationError

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
    if op in _UNSIGNED and width < 32:
        words = [value & (1 << width) - 1 for value in words]
    buffer = np.array([*words, 0, 0, 0], dtype=np.int64)
    result = int(evaluate(DOMAIN_CODE["i32"], row.code, 0, buffer, row.arity))
    return word_of(result - (32 - width if op == "clz" else 0), width)


def narrowed(stimulus: Stimulus, width: int) -> Stimulus:
    """The stimulus with every word cut to ``width`` bits.

    The stimulus that is passed in is not changed.
    """

    def cut(table: dict[str, Words]) -> dict[str, Words]:
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
        """Run ``stimulus.iterations`` iterations of the narrowed stimulus."""
        return super().run(narrowed(stimulus, self.width))

    def _fire(self, k: int, iteration: int, rows: list[list[int]], memory: dict[str, Words], stimulus: Stimulus) -> int:
        return word_of(super()._fire(k, iteration, rows, memory, stimulus), self.width)

    def _compute(self, k: int, buffer: Words, count: int) -> int:
        return evaluate_word(self.dfg.nodes[k].op, self.width, *buffer[:count].tolist())
