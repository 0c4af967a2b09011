"""Loops of 32-bit integers as graphs of 24-bit words: both compute the same, or what does not fit is named."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gridloom.dfg.interpreter import interpret
from gridloom.dfg.model import Dfg, DfgBuilder
from gridloom.errors import OptionError, SourceError
from gridloom.targets.rows.words24.narrowing import Narrowing, narrow
from gridloom.targets.rows.words24.ranges import WORD, range_of
from gridloom.targets.rows.words24.words import signed_digits
from gridloom.transform.assumed import assume_ranges

TWO = ("add", "sub", "mul", "and", "or", "xor", "min", "max", "umin", "umax", "eq", "ne", "lt", "le", "gt", "ge", "ult",
       "ule")  # fmt: skip
ONE = ("not", "neg", "abs", "sext8", "sext16", "zext8", "zext16", "square")


def loop(*, ranges: dict[str, tuple[int, int]] | None = None, **outputs: str) -> Dfg:
    """A loop over inputs x and y with one op per output: ``name="op x y"``."""
    b = DfgBuilder("loop", "i32")
    for name in ("x", "y"):
        b.input(name)
    for name, text in outputs.items():
        op, *operands = text.split()
        names = [word if word in ("x", "y") else b.const(int(word)) for word in operands]
        b.output(b.add(op, *names, id=f"{name}_value"), name)
    read = {edge.source for edge in b.edges}
    b.nodes = [node for node in b.nodes if node.op != "input" or node.id in read]
    return replace(b.build(), ranges=ranges or {"x": (-100, 100), "y": (-100, 100)})


def check(made: Narrowing) -> None:
    for seed in range(3):
        made.check(iterations=40, seed=seed)


@pytest.mark.parametrize("op", TWO)
@pytest.mark.parametrize("ranges", [(-100, 100), (0, 255), (-2000, 4)])
def test_an_op_of_two_values_is_the_same_in_24_bits(op: str, ranges: tuple[int, int]) -> None:
    check(narrow(loop(z=f"{op} x y", ranges={"x": ranges, "y": (-90, 1000) if op[0] != "u" else ranges})))


@pytest.mark.parametrize("op", ONE)
@pytest.mark.parametrize("limits", [(-2000, 2000), (0, 1000), (-100, 100)])
def test_an_op_of_one_value_is_the_same_in_24_bits(op: str, limits: tuple[int, int]) -> None:
    check(narrow(loop(z=f"{op} x", ranges={"x": limits})))


@pytest.mark.parametrize("op", ["shl", "shr", "lshr"])
@pytest.mark.parametrize("limits", [(-60_000, 60_000), (0, (1 << 24) - 1), (-8_000_000, 8_000_000)])
@pytest.mark.parametrize("amount", [0, 3, 9, 20, 31])
def test_a_shift_is_the_same_or_names_the_value_that_does_not_fit(
    op: str, limits: tuple[int, int], amount: int
) -> None:
    try:
        made = narrow(loop(z=f"{op} x {amount}", ranges={"x": limits}))
    except SourceError as error:
        assert "'z_value' lies in" in str(error)
        assert range_of(op, [limits, (amount, amount)])[1] > 1 << 23
        return
    check(made)


@pytest.mark.parametrize("op", ["min", "max", "lt", "le", "eq", "ult"])
def test_values_over_the_whole_word_are_compared(op: str) -> None:
    half = 1 << 23
    check(narrow(loop(z=f"{op} x y", ranges={"x": (-half, half - 1), "y": (-half, half - 1)})))
    check(narrow(loop(z=f"{op} x y", ranges={"x": (0, 2 * half - 1), "y": (0, 2 * half - 1)})))


@pytest.mark.parametrize("condition", ["lt x y", "ge x y", "eq x y", "ne x y", "and x 3", "le x 0"])
@pytest.mark.parametrize(("yes", "no"), [("x", "y"), ("7", "0"), ("0", "9"), ("y", "0"), ("5", "12"), ("0", "x")])
def test_a_choice_is_the_same_in_24_bits(condition: str, yes: str, no: str) -> None:
    b = DfgBuilder("choice", "i32")
    names = {name: b.input(name) for name in ("x", "y")}

    def node(word: str) -> str:
        return names.get(word) or b.const(int(word))

    op, *operands = condition.split()
    chosen = b.add("select", b.add(op, *map(node, operands)), node(yes), node(no))
    b.output(b.add("add", chosen, names["y"]), "z")
    dfg = replace(b.build(), ranges={"x": (-5, 5), "y": (-5, 5)})
    used = {edge.source for edge in dfg.edges}
    check(narrow(replace(dfg, nodes=tuple(n for n in dfg.nodes if n.op != "input" or n.id in used))))


@settings(max_examples=60, deadline=None)
@given(data=st.data())
def test_random_loops_compute_the_same_or_are_refused_with_a_name(data: st.DataObject) -> None:
    b = DfgBuilder("random", "i32")
    values = [b.input("x"), b.input("y"), b.livein("k")]
    for _ in range(data.draw(st.integers(1, 12))):
        kind = data.draw(st.sampled_from(["two", "one", "shift", "select", "constant"]))
        pick = [data.draw(st.sampled_from(values)) for _ in range(3)]
        if kind == "two":
            values.append(b.add(data.draw(st.sampled_from(TWO)), *pick[:2]))
        elif kind == "one":
            values.append(b.add(data.draw(st.sampled_from(ONE)), pick[0]))
        elif kind == "shift":
            amount = b.const(data.draw(st.integers(0, 20)))
            values.append(b.add(data.draw(st.sampled_from(["shl", "shr", "lshr"])), pick[0], amount))
        elif kind == "select":
            values.append(b.add("select", *pick))
        else:
            number = b.const(data.draw(st.integers(-(1 << 31), (1 << 31) - 1)))
            values.append(b.add(data.draw(st.sampled_from(["add", "mul", "and", "xor"])), pick[0], number))
    b.output(values[-1], "z")
    stored = data.draw(st.sampled_from([(-128, 127), (0, 65535), (-(1 << 31), (1 << 31) - 1)]))
    dfg = replace(b.build(), ranges={"x": (-300, 300), "y": (0, 255), "k": (-20, 20), "z": stored})
    try:
        made = narrow(dfg, multiplies=data.draw(st.booleans()))
    except SourceError as error:
        assert "value '" in str(error) or "'k'" in str(error)
        return
    assert made.dfg.domain == "cma24"
    assert all(-65536 <= int(node.value or 0) <= 65535 for node in made.dfg.nodes if node.op == "const")
    check(made)


# -- what is known of values ------------------------------------------------------------------------------------------


def test_a_value_that_does_not_fit_is_named_with_its_range_and_what_to_do() -> None:
    with pytest.raises(SourceError) as refused:
        narrow(loop(z="mul x y", ranges={"x": (-32768, 32767), "y": (-32768, 32767)}))
    assert str(refused.value) == (
        "graph 'loop': value 'z_value' lies in -1073709056..1073741824, which 24-bit words (-8388608..8388607, or "
        "0..16777215) do not hold; use narrower types or a mask, or state a range that holds, as in --assume-range "
        "x=-100..100"
    )


def test_what_is_stored_in_a_byte_need_not_fit() -> None:
    made = narrow(loop(z="mul x y", ranges={"x": WORD, "y": WORD, "z": (0, 255)}))
    check(made)
    assert [node.op for node in made.dfg.nodes] == ["input", "input", "mult", "output"]


def test_a_live_in_has_to_fit_a_constant_register() -> None:
    b = DfgBuilder("scale", "i32")
    b.output(b.add("add", b.input("x"), b.livein("k")), "z")
    dfg = replace(b.build(), ranges={"x": (0, 9), "k": (0, 1 << 17)})
    with pytest.raises(SourceError, match=r"live-in 'k' lies in 0\.\.131072, which constant registers of 17 bits"):
        narrow(dfg)
    check(narrow(dfg, registers=False))


def test_ranges_are_assumed_by_array_node_and_star() -> None:
    b = DfgBuilder("named", "i32")
    first = b.add("input", id="a_in", variable="a[1i+1]")
    b.output(b.add("add", first, b.input("y")), "z")
    dfg = b.build()
    known = assume_ranges(dfg, {"a": (0, 9), "*": (-5, 5)}).ranges
    assert known == {"a_in": (0, 9), "y": (-5, 5)}
    with pytest.raises(OptionError, match="--assume-range: the loop has no value 'q'; it reads a, y"):
        assume_ranges(dfg, {"q": (0, 1)})


# -- carried values ---------------------------------------------------------------------------------------------------


def test_an_input_of_an_earlier_iteration_is_a_stream_of_its_own() -> None:
    b = DfgBuilder("window", "i32")
    x = b.input("x")
    total = b.add("add", x, id="total")
    b.carry(x, total, operand=1, distance=2, initial=[7, -7])
    b.output(total, "z")
    made = narrow(replace(b.build(), ranges={"x": (-100, 100)}))
    assert [node.variable for node in made.dfg.nodes if node.op == "input"] == ["x", "x@-2"]
    check(made)


def test_a_counter_is_a_stream() -> None:
    b = DfgBuilder("count", "i32")
    count = b.add("add", id="i")
    b.carry(count, count, operand=0, distance=1, initial=[-1])
    b.carry(b.const(1), count, operand=1, distance=0)
    b.output(b.add("shl", count, b.const(1)), "z")
    made = narrow(replace(b.build(), ranges={"i": (-1, 1000)}))
    assert [node.op for node in made.dfg.nodes] == ["input", "const", "sl", "output"]
    check(made)


def test_a_sum_over_the_loop_is_refused() -> None:
    b = DfgBuilder("sum", "i32")
    total = b.add("add", b.input("x"), id="acc")
    b.carry(total, total, operand=1, distance=1, initial=[0])
    b.output(total, "z")
    with pytest.raises(SourceError, match="value 'acc' is kept for later iterations; rows of combinational ALUs keep"):
        narrow(b.build())


# -- constants and products -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("factor", [3, 7, 10, 255, -9, 1000, 4433, -1, 0, 64])
def test_a_product_with_a_constant_is_shifts_and_sums_where_the_alu_does_not_multiply(factor: int) -> None:
    made = narrow(loop(z=f"mul x {factor}", ranges={"x": (-100, 100)}), multiplies=False)
    assert "mult" not in {node.op for node in made.dfg.nodes}
    check(made)


def test_a_product_of_two_values_needs_a_multiplier() -> None:
    with pytest.raises(SourceError, match="'z_value' is a product of two values, and the ALUs of the array do not"):
        narrow(loop(z="mul x y"), multiplies=False)


@given(st.integers(-(1 << 23), (1 << 23) - 1))
def test_signed_digits_add_up_and_no_two_stand_together(factor: int) -> None:
    digits = signed_digits(factor)
    assert sum(sign << exponent for exponent, sign in digits) == factor
    exponents = [exponent for exponent, _ in digits]
    assert all(b - a > 1 for a, b in pairwise(exponents))


@pytest.mark.parametrize("number", [0x800000, 0x123456, 70000, -70000, 0xFF0000, 0x1FFFF])
def test_constants_that_no_register_holds_are_put_together(number: int) -> None:
    made = narrow(loop(z=f"xor x {number}", ranges={"x": (0, 255)}))
    assert all(-65536 <= int(node.value or 0) <= 65535 for node in made.dfg.nodes if node.op == "const")
    check(made)


def test_a_large_bias_before_a_shift_is_added_after_it() -> None:
    b = DfgBuilder("bias", "i32")
    b.output(b.add("sext16", b.add("lshr", b.add("add", b.input("x"), b.const(134_219_776)), b.const(11))), "z")
    made = narrow(replace(b.build(), ranges={"x": (-4_000_000, 4_000_000), "z": (-32768, 32767)}))
    check(made)


# -- differences are found --------------------------------------------------------------------------------------------


def test_a_graph_of_words_that_computes_something_else_is_found_out() -> None:
    made = narrow(loop(z="add x y"))
    wrong = replace(
        made.dfg, nodes=tuple(replace(node, op="xor") if node.op == "add" else node for node in made.dfg.nodes)
    )
    given, words = made.stimulus(20, 0)
    assert made.findings(given, interpret(wrong, words).outputs) == ["output 'z' differs from what the source stores"]
    assert made.findings(given, interpret(made.dfg, words).outputs) == []
    with pytest.raises(SourceError, match="an error in gridloom; please report it"):
        replace(made, dfg=wrong).check()


def test_random_values_keep_to_the_ranges() -> None:
    given, _ = narrow(loop(z="add x y", ranges={"x": (3, 9), "y": (-2, 0)})).stimulus(200, 1)
    assert (np.min(given.streams["x"]), np.max(given.streams["x"])) == (3, 9)
    assert (np.min(given.streams["y"]), np.max(given.streams["y"])) == (-2, 0)
