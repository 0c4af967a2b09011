"""Integer ops in words of any length against definitions of their own."""

from __future__ import annotations

import math
import random
from collections.abc import Callable
from fractions import Fraction

import numpy as np
import pytest
from tests.dfg.test_semantics import I32, run

from gridloom.dfg import DfgBuilder
from gridloom.dfg.interpreter import Stimulus, interpret, random_stimulus
from gridloom.dfg.ops import FUSED, OP_TABLE
from gridloom.dfg.words import WordInterpreter, _long_word, evaluate_word, narrow_stimulus, widen_stimulus, word_of
from gridloom.errors import SimulationError

WIDTHS = (2, 3, 4, 8, 13, 16, 24, 31, 32)


def signed(value: int, width: int) -> int:
    low = value % 2**width
    return low - 2**width if low >= 2 ** (width - 1) else low


def quotient(a: int, b: int) -> int:
    return math.trunc(Fraction(a, b)) if b else 0


#: Ops that are not just the low bits of their 32-bit result, by bit strings and exact arithmetic: (width, operands).
NARROW: dict[str, Callable[..., int]] = {
    "div": lambda w, a, b: quotient(a, b),
    "rem": lambda w, a, b: a - quotient(a, b) * b,
    "udiv": lambda w, a, b: (a % 2**w) // (b % 2**w) if b else 0,
    "urem": lambda w, a, b: (a % 2**w) % (b % 2**w) if b else a,
    "mulh": lambda w, a, b: (a * b) // 2**w,
    "shl": lambda w, a, b: a * 2 ** (b % slots(w)),
    "shr": lambda w, a, b: math.floor(Fraction(a, 2 ** (b % slots(w)))),
    "lshr": lambda w, a, b: (a % 2**w) // 2 ** (b % slots(w)),
    "rotl": lambda w, a, b: int((f"{a % 2**w:0{w}b}" * 2 + "0" * slots(w))[b % slots(w) :][:w], 2),
    "umin": lambda w, a, b: min(a % 2**w, b % 2**w),
    "umax": lambda w, a, b: max(a % 2**w, b % 2**w),
    "ult": lambda w, a, b: int(a % 2**w < b % 2**w),
    "ule": lambda w, a, b: int(a % 2**w <= b % 2**w),
    "popcount": lambda w, a: f"{a % 2**w:b}".count("1"),
    "clz": lambda w, a: w - (a % 2**w).bit_length(),
}


#: Fused ops: the shift of the table above, then the second op on numbers without a limit.
SECOND: dict[str, Callable[[int, int], int]] = {
    "add": lambda x, c: x + c,
    "sub": lambda x, c: c - x,
    "rsub": lambda x, c: x - c,
    "and": lambda x, c: x & c,
    "or": lambda x, c: x | c,
    "xor": lambda x, c: x ^ c,
}
for first in ("shl", "shr", "lshr"):
    for second, combine in SECOND.items():
        NARROW[f"{first}_{second}"] = lambda w, a, b, c, f=NARROW[first], g=combine: g(f(w, a, b), c)


def slots(width: int) -> int:
    """The power of two that shift amounts are taken by."""
    return next(2**k for k in range(6) if 2**k >= width)


def samples(width: int, count: int = 60) -> list[int]:
    rng = random.Random(width)
    edges = [0, 1, -1, 2, -2, width - 1, width, width + 1, 2 ** (width - 1) - 1, -(2 ** (width - 1))]
    return [signed(v, width) for v in edges] + [signed(rng.getrandbits(width), width) for _ in range(count)]


@pytest.mark.parametrize("width", WIDTHS)
def test_ops_compute_in_words_of_their_own(width: int) -> None:
    rng = random.Random(f"ops {width}")
    words = samples(width)
    for op, reference in I32.items():
        arity = reference.__code__.co_argcount
        for _ in range(80):
            operands = [rng.choice(words) for _ in range(arity)]
            exact = NARROW[op](width, *operands) if op in NARROW else reference(*operands)
            assert evaluate_word(op, width, *operands) == signed(exact, width), (op, width, operands)


def test_whole_words_are_the_simulators() -> None:
    rng = random.Random("whole")
    words = samples(32)
    for op, reference in I32.items():
        for _ in range(60):
            operands = [rng.choice(words) for _ in range(reference.__code__.co_argcount)]
            assert evaluate_word(op, 32, *operands) == run("i32", op, *operands), (op, operands)


def test_a_graph_wraps_at_its_word() -> None:
    b = DfgBuilder("wrap")
    b.add("add", b.input("x"), b.const(200), id="s")
    b.carry("s", b.add("xor", "s", id="t"), operand=1, distance=1, initial=[300])
    b.output(b.add("lshr", "t", b.const(1)), "y")
    stimulus = Stimulus(iterations=2, streams={"x": np.array([100, 1000])})
    shown = WordInterpreter(b.build(), 8).run(stimulus)
    # 100 + 200 = 44 in 8 bits, 300 = 44, 44 ^ 44 = 0; 1000 + 200 = 176 = -80, -80 ^ 44 = 156 unsigned, halved 78.
    assert shown.outputs["y"].tolist() == [0, 78]
    assert shown.values[1].min() >= -128


def test_words_of_32_bits_change_nothing() -> None:
    b = DfgBuilder("same")
    b.array("A", 8)
    b.store("A", b.add("and", b.input("i"), b.const(7)), b.livein("k"))
    b.output(b.add("mul", "i", "k"), "y")
    dfg = b.build()
    stimulus = random_stimulus(dfg, 20)
    whole, narrow = interpret(dfg, stimulus), WordInterpreter(dfg, 32).run(stimulus)
    assert np.array_equal(whole.values, narrow.values)
    assert np.array_equal(whole.memory["A"], narrow.memory["A"])


def test_every_part_of_a_stimulus_is_narrowed() -> None:
    given = Stimulus(
        iterations=1, streams={"x": np.array([255])}, liveins={"k": 128}, memory={"A": np.array([-129, 5])}
    )
    small = narrow_stimulus(given, 8)
    assert (small.streams["x"].tolist(), small.liveins, small.memory["A"].tolist()) == ([-1], {"k": -128}, [127, 5])
    assert word_of(-129, 8) == 127


def test_other_domains_have_no_words_of_another_length() -> None:
    b = DfgBuilder("cma", "cma24")
    b.output(b.input("x"), "y")
    with pytest.raises(SimulationError, match="words of 8 bits mean something in 'i32' only"):
        WordInterpreter(b.build(), 8)


INTEGER = [
    name
    for name, op in OP_TABLE["i32"].items()
    if op.in_hardware and (op.op_class in ("alu", "mul", "div") or name in FUSED)
]


def test_ops_without_hardware_have_no_long_words() -> None:
    with pytest.raises(SimulationError, match=r"^op 'fdiv' is defined for words of up to 32 bits, found 64$"):
        evaluate_word("fdiv", 64, 1, 1)


@pytest.mark.parametrize("op", [name for name in INTEGER if name not in ("rotl", "mulh") and not name.startswith("f")])
def test_long_words_follow_the_op_table(op: str) -> None:
    """The rules for words above 32 bits, taken at 32, give what the kernels of the op table give."""
    rng = random.Random(op)
    shifts = "sh" in op
    for _ in range(200):
        words = [rng.choice([word_of(rng.getrandbits(32), 32), rng.randint(-2, 2), -(1 << 31)]) for _ in range(3)]
        if shifts:
            words[1] &= 31
        arity = OP_TABLE["i32"][op].arity
        assert word_of(_long_word(op, 32, *words), 32) == evaluate_word(op, 32, *words[:arity]), words


@pytest.mark.parametrize(("op", "operands", "result"), [
    ("add", ((1 << 39) - 1, 1), -(1 << 39)), ("lshr", (-1, 8), (1 << 32) - 1), ("clz", (1,), 39),
    ("mulh", (1 << 38, 8), 2), ("rotl", (1 << 38, 2), 1), ("udiv", (-1, 2), (1 << 39) - 1), ("sext8", (255,), -1),
])  # fmt: skip
def test_ops_of_forty_bits(op: str, operands: tuple[int, ...], result: int) -> None:
    assert evaluate_word(op, 40, *operands) == result


def test_a_widened_stimulus_keeps_its_indices_and_its_low_bits() -> None:
    given = Stimulus(iterations=3, streams={"x": np.array([5, -70_000, 1 << 30])}, liveins={"k": 65_535}, memory={})
    wide = widen_stimulus(given, 64)
    assert wide.liveins == {"k": 65_535}
    assert wide.streams["x"][0] == 5
    assert (wide.streams["x"] & 0xFFFFFFFF).tolist() == [5, -70_000 & 0xFFFFFFFF, 1 << 30]
    assert abs(int(wide.streams["x"][1])) > 1 << 40
