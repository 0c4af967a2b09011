"""Scalar evolution: the answers hold when the loop is executed, in the width that they name."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gridloom.compiler.analysis.evolution import AddRec, Evolution, Fixed, Form, Unknown, bits_of
from gridloom.compiler.analysis.loops import NaturalLoop, find_loops
from gridloom.compiler.ir.ir import Constant, Instruction, Value
from gridloom.compiler.ir.reader import read_module

pytest.importorskip("llvmlite")

KINDS = ("i8", "i16", "i32")
#: More iterations than an 8-bit counter has values.
ITERATIONS = 300
PAIR = "{ i32, [3 x i16] }"
SIZES = {"i8": (1,), "i16": (2,), "[3 x i16]": (6, 2)}


def loop_of(phis: list[str], body: list[str]) -> NaturalLoop:
    lines = [f"  {line}" for line in (*phis, *body)]
    text = "\n".join([
        "define void @f(i8 %ai8, i16 %ai16, i32 %ai32, ptr %p, i32 %n) {", "entry:", "  br label %loop", "loop:",
        "  %k = phi i32 [ 0, %entry ], [ %k1, %loop ]", *lines, "  %k1 = add i32 %k, 1",
        "  %t = icmp eq i32 %k1, %n", "  br i1 %t, label %end, label %loop", "end:", "  ret void", "}", "",
    ])  # fmt: skip
    module = read_module(text, "f.ll")
    (loop,) = find_loops(module, module.functions["f"])
    return loop


def number(value: Value, known: dict[Value, int]) -> int:
    return value.value if isinstance(value, Constant) else known[value]


def signed(value: int, bits: int) -> int:
    half = 1 << (bits - 1)
    return ((value + half) & ((1 << bits) - 1)) - half


def execute(loop: NaturalLoop, known: dict[Value, int]) -> Iterator[dict[Value, int]]:
    """The values of each iteration, signed in their widths. Needs no analysis."""
    phis = [item for item in loop.instructions if item.opcode == "phi"]
    current = {phi: number(phi.operands[phi.incoming.index("entry")], known) for phi in phis}
    for _ in range(ITERATIONS):
        values = {**known, **current}
        for item in loop.instructions[len(phis) : -2]:
            operands = [number(operand, values) for operand in item.operands]
            values[item] = signed(computed(item, operands), bits_of(item.type))
        yield values
        current = {phi: number(phi.operands[phi.incoming.index("loop")], values) for phi in phis}


def computed(item: Instruction, operands: list[int]) -> int:
    if item.opcode == "zext":
        return operands[0] & ((1 << bits_of(item.operands[0].type)) - 1)
    if item.opcode in ("sext", "trunc"):
        return operands[0]
    if item.opcode == "getelementptr":
        if item.source_type == PAIR:
            return operands[0] + 12 * operands[1] + (0, 4)[operands[2]]
        return operands[0] + sum(size * index for size, index in zip(SIZES[item.source_type], operands[1:]))
    a, b = operands
    return {"add": a + b, "sub": a - b, "mul": a * b, "shl": a << (b & 7), "xor": a ^ b}[item.opcode]


@st.composite
def loops(draw: st.DrawFn) -> tuple[list[str], list[str]]:
    names = {kind: [f"%a{kind}", f"%x{kind}", f"%y{kind}"] for kind in KINDS}
    pointers, body = ["%p", "%q"], []
    for k in range(draw(st.integers(1, 12))):
        opcode = draw(
            st.sampled_from(("add", "add", "sub", "mul", "shl", "xor", "trunc", "sext", "zext", "ptr", "ptr"))
        )
        if opcode == "ptr":
            start = draw(st.sampled_from(pointers))
            index = draw(st.sampled_from([f"{kind} {name}" for kind in KINDS for name in names[kind]] + ["i32 3"]))
            body.append(f"%v{k} = getelementptr " + draw(st.sampled_from([
                f"i8, ptr {start}, {index}", f"i16, ptr {start}, {index}", f"[3 x i16], ptr {start}, i32 1, {index}",
                f"{PAIR}, ptr {start}, {index}, i32 1",
            ])))  # fmt: skip
            pointers.append(f"%v{k}")
            continue
        kind = draw(st.sampled_from(KINDS if opcode not in ("sext", "zext") else KINDS[1:]))
        if opcode in ("trunc", "sext", "zext"):
            at = KINDS.index(kind)
            others = KINDS[at + 1 :] if opcode == "trunc" else KINDS[:at]
            if not others:
                continue
            other = draw(st.sampled_from(others))
            body.append(f"%v{k} = {opcode} {other} {draw(st.sampled_from(names[other]))} to {kind}")
        else:
            second = str(draw(st.integers(0, 7 if opcode == "shl" else 100)))
            if opcode != "shl" and draw(st.booleans()):
                second = draw(st.sampled_from(names[kind]))
            body.append(f"%v{k} = {opcode} {kind} {draw(st.sampled_from(names[kind]))}, {second}")
        names[kind].append(f"%v{k}")
    phis = [f"%{name}{kind} = phi {kind} [ {draw(st.sampled_from(['5', f'%a{kind}']))}, %entry ], "
            f"[ {draw(st.sampled_from(names[kind]))}, %loop ]" for kind in KINDS for name in "xy"]  # fmt: skip
    return [*phis, f"%q = phi ptr [ %p, %entry ], [ {draw(st.sampled_from(pointers))}, %loop ]"], body


@given(loops(), st.lists(st.integers(-(1 << 31), (1 << 31) - 1), min_size=5, max_size=5))
def test_executed_values_are_those_of_the_recurrence(written: tuple[list[str], list[str]], given_: list[int]) -> None:
    loop = loop_of(*written)
    arguments = loop.function.arguments
    known = {argument: signed(value, bits_of(argument.type)) for argument, value in zip(arguments, given_)}
    evolution = Evolution(loop)
    rows = list(execute(loop, known))
    for item in loop.instructions[:-2]:
        found, start = evolution.of(item), rows[0][item]
        if isinstance(found, Fixed):
            assert all(row[item] == start for row in rows), item
        elif isinstance(found, AddRec):
            assert found.bits == bits_of(item.type)
            assert found.start is None or number(found.start, known) == start
            step = found.step.constant + sum(c * known[symbol] for symbol, c in found.step.terms.items())
            for k, row in enumerate(rows):
                assert row[item] == signed(start + k * step, found.bits), (item, k)


COUNTER = ["%c = phi i8 [ 120, %entry ], [ %c1, %loop ]"]


def answers(phis: list[str], body: list[str]) -> dict[str, Fixed | AddRec | Unknown]:
    loop = loop_of(phis, body)
    evolution = Evolution(loop)
    return {item.name: evolution.of(item) for item in loop.instructions}


def test_a_narrow_counter_wraps_around_and_its_extension_is_unknown() -> None:
    found = answers(COUNTER, ["%c1 = add i8 %c, 3", "%w = zext i8 %c to i32", "%s = sext i8 %c1 to i32"])
    assert isinstance(found["c"], AddRec) and (found["c"].bits, found["c"].step) == (8, Form(3))
    assert isinstance(found["c1"], AddRec) and found["c1"].start is None
    assert found["w"] == found["s"] == Unknown()


def test_what_is_cut_from_a_word_moves_in_its_own_width() -> None:
    found = answers([], ["%b = mul i32 %k, 300", "%c = trunc i32 %b to i8"])
    assert isinstance(found["c"], AddRec) and found["c"].bits == 8


def test_an_index_times_a_fixed_value_is_a_symbolic_step() -> None:
    loop = loop_of([], ["%m = mul i32 %n, %k", "%q = getelementptr i32, ptr %p, i32 %m"])
    bound = loop.function.arguments[4]
    (item,) = [item for item in loop.instructions if item.opcode == "getelementptr"]
    found = Evolution(loop).of(item)
    assert isinstance(found, AddRec) and found.step == Form(0, {bound: 4})
    assert Evolution(loop).step_of(item) is None


def test_a_turn_moves_what_is_computed_from_it_and_holds_the_phis() -> None:
    loop = loop_of([], ["%m = mul i32 %n, 5", "%s = add i32 %m, %k"])
    (item,) = [item for item in loop.instructions if item.name == "s"]
    bound = loop.function.arguments[4]
    assert Evolution(loop).moves(Form(0, {item: 2})) == Form(2)
    assert Evolution(loop, turn=bound).moves(Form(0, {item: 2})) == Form(10)
