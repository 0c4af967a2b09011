"""Lowered graphs compute the same with the ops of the machine."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from gridloom.archs import build
from gridloom.dfg import Dfg, DfgBuilder
from gridloom.dfg.interpreter import Interpreter, Stimulus
from gridloom.dfg.ops import OP_TABLE
from gridloom.targets.modulo.export.openedge.lowering import lower
from gridloom.targets.modulo.families.openedge import OPS
from gridloom.transform.streams import streams_to_memory

ARCH = build("openedge-cgra")
LEAST, MOST = -(1 << 31), (1 << 31) - 1
CORNERS = (0, 1, -1, 2, 31, 32, 255, 256, -128, 4095, 4096, -4097, 1 << 30, MOST, LEAST, LEAST + 1, 0x55555555, -7)
#: Ops that the machine has not and that the lowering gives it.
LOWERED = [
    "neg",
    "not",
    "abs",
    "square",
    "rotl",
    "sext8",
    "sext16",
    "zext8",
    "zext16",
    "popcount",
    "min",
    "max",
    "umin",
    "umax",
    "eq",
    "ne",
    "lt",
    "le",
    "gt",
    "ge",
    "ult",
    "ule",
    "select",
    "mul_add",
    "mul_sub",
    "mul_rsub",
    "mul_and",
    "mul_xor",
    "shl_add",
    "shl_sub",
    "shr_add",
    "lshr_or",
]


def one_op(op: str, constants: dict[int, int]) -> Dfg:
    """A loop of one op on streams, with constants at some operands, whose result also decides a select."""
    b = DfgBuilder(op)
    operands = [b.const(constants[k]) if k in constants else b.input(f"x{k}") for k in range(OP_TABLE["i32"][op].arity)]
    result = b.add(op, *operands, id="result")
    b.output(result, "y")
    b.output(b.add("select", result, b.const(3), b.const(-5), id="chosen"), "z")
    return b.build()


def differences(dfg: Dfg, memory: dict[str, list[int]], liveins: dict[str, int] | None = None) -> list[str]:
    """The arrays and live-outs in which a graph and the lowered one differ."""
    plain = streams_to_memory(dfg)
    words = {name: np.array(values, dtype=np.int64) for name, values in memory.items()}
    stimulus = Stimulus(iterations=min(map(len, memory.values())), liveins=liveins or {}, memory=words)
    expected, found = Interpreter(plain).run(stimulus), Interpreter(lower(dfg, ARCH)).run(stimulus)
    assert expected.liveouts == found.liveouts
    return [name for name in expected.memory if not np.array_equal(expected.memory[name], found.memory[name])]


def streams(count: int) -> dict[str, list[int]]:
    """All pairs of corners, and for a third operand their order turned."""
    pairs = [(a, b) for a in CORNERS for b in CORNERS][: 128 * 3]
    rng = np.random.default_rng(5)
    rows = [pairs[k] + (CORNERS[k % len(CORNERS)],) for k in rng.permutation(len(pairs))[:128]]
    return {f"x{k}_stream": [row[k] for row in rows] for k in range(count)}


@pytest.mark.parametrize("op", LOWERED)
def test_an_op_is_lowered_to_ops_of_the_machine(op: str):
    dfg = one_op(op, {})
    assert {node.op for node in lower(dfg, ARCH).nodes} <= OPS | {"const", "livein", "load", "store"}
    arity = OP_TABLE["i32"][op].arity
    assert differences(dfg, streams(arity)) == []


@pytest.mark.parametrize("op", ["eq", "ne", "lt", "le", "gt", "ge", "ult", "ule", "min", "max", "umin", "umax"])
@pytest.mark.parametrize("value", [0, 1, -1, 7, -9, 5000, MOST, LEAST, LEAST + 1, MOST - 1])
def test_comparisons_with_constants_are_exact(op: str, value: int):
    for at in (0, 1):
        assert differences(one_op(op, {at: value}), {f"x{1 - at}_stream": [*CORNERS, value]}) == []


def test_an_op_without_a_rule_stays():
    assert "div" in {node.op for node in lower(one_op("div", {}), ARCH).nodes}


def test_a_lowered_graph_and_one_without_integers_stay_as_they_are():
    lowered = lower(one_op("add", {}), ARCH)
    assert lower(lowered, ARCH) is lowered
    b = DfgBuilder("singles", "f32")
    b.output(b.add("add", b.input("x"), b.input("y")), "z")
    singles = b.build()
    assert lower(singles, ARCH) is singles


def test_the_loop_counts_and_branches():
    lowered = lower(one_op("add", {}), ARCH)
    assert [node.id for node in lowered.nodes if node.op == "ne"] == ["loop_branch"]
    assert [edge.source for edge in lowered.edges if edge.target == "loop_branch"] == ["loop_count", "c0"]


def test_constants_that_do_not_fit_are_kept_in_registers():
    b = DfgBuilder("constants")
    x = b.input("x")
    b.output(b.add("add", b.add("and", x, b.const(4096)), b.const(-4096)), "y")
    lowered = lower(b.build(), ARCH)
    assert {node.value: node.op_class for node in lowered.nodes if node.op == "const" and abs(node.value or 0) > 1} == {
        4096: "livein", -4096: None,
    }  # fmt: skip


def test_an_instruction_has_one_immediate():
    b = DfgBuilder("immediates")
    b.output(b.add("select", b.input("x"), b.const(3), b.const(-5)), "y")
    lowered = lower(b.build(), ARCH)
    assert {node.value: node.op_class for node in lowered.nodes if node.op == "const" and node.value in (3, -5)} == {
        3: "livein", -5: None,
    }  # fmt: skip


Index = Callable[[DfgBuilder, str], str]
INDICES: dict[str, tuple[Index, int]] = {
    "counter": (lambda b, i: i, 1),
    "offset": (lambda b, i: b.add("add", i, b.const(3)), 1),
    "stride": (lambda b, i: b.add("add", b.add("mul", i, b.const(3)), b.const(2)), 1),
    "shifted": (lambda b, i: b.add("sub", b.add("shl", i, b.const(1)), b.const(0)), 1),
    "constant": (lambda b, i: b.const(7), 1),
    "live-in": (lambda b, i: b.add("add", b.livein("n"), i), 2),
    "loaded": (lambda b, i: b.load("t", i), 3),
    "loaded and offset": (lambda b, i: b.add("add", b.load("t", i), b.const(5)), 3),
    "loaded and counter": (lambda b, i: b.add("add", i, b.load("t", i)), 3),
    "masked": (lambda b, i: b.add("and", i, b.const(3)), 2),
}


@pytest.mark.parametrize("name", INDICES)
def test_indices_become_pointers(name: str):
    make, extra = INDICES[name]
    b = DfgBuilder("indexed")
    for array, length in (("t", 40), ("x", 128), ("y", 40)):
        b.array(array, length)
    i = b.add("add", "i", b.const(1), id="i")
    b.edges.pop(-2)
    b.carry("i", "i", operand=0, distance=1, initial=[-1])
    b.store("y", i, b.load("x", make(b, i)))
    dfg = b.build()
    lowered = lower(dfg, ARCH)
    memory = {"t": [k % 7 for k in range(40)], "x": [k * k for k in range(128)], "y": [0] * 40}
    plain, found = (
        Interpreter(graph).run(
            Stimulus(
                iterations=30, liveins={"n": 11}, memory={k: np.array(v, dtype=np.int64) for k, v in memory.items()}
            )
        )
        for graph in (dfg, lowered)
    )
    assert plain.memory["y"].tolist() == found.memory["y"].tolist()
    sums = [node.id for node in lowered.nodes if node.op in ("add", "shl") and node.id.startswith(("x_", "y_", "shl"))]
    assert len(sums) <= 1 + extra


def test_a_conditional_store_keeps_what_was_there():
    b = DfgBuilder("conditional")
    for array in ("x", "y"):
        b.array(array, 40)
    i = b.add("add", "i", b.const(1), id="i")
    b.edges.pop(-2)
    b.carry("i", "i", operand=0, distance=1, initial=[-1])
    x = b.load("x", i)
    b.add("store_if", b.add("and", i, b.const(7)), x, b.add("lt", x, b.const(9)), array="y", id="put")
    dfg = b.build()
    assert differences(dfg, {"x": [k * 5 % 23 for k in range(40)], "y": list(range(40))}) == []
    # The next iteration may read what this one stores.
    assert [(e.source, e.target, e.distance) for e in lower(dfg, ARCH).edges if e.kind == "order"] == [
        ("put", "put_old", 1)
    ]


def test_a_value_has_one_history():
    b = DfgBuilder("histories")
    x = b.input("x")
    late = b.add("sub", x, b.const(0), id="late")
    b.edges.pop(-2)
    b.carry(x, late, operand=0, distance=1, initial=[5])
    later = b.add("sub", x, b.const(0), id="later")
    b.edges.pop(-2)
    b.carry(x, later, operand=0, distance=2, initial=[8, 6])
    b.output(late, "y")
    b.output(later, "z")
    dfg = b.build()
    assert [node.op for node in lower(dfg, ARCH).nodes if node.id.endswith("_again")] == ["move"]
    assert differences(dfg, {"x_stream": list(range(20))}) == []
