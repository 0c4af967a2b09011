"""fuse: a product or shift and the sum that alone reads it become one op, with the same results."""

from __future__ import annotations

import random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.plain_arrays import shared_in_time, static_grid

from gridloom.archs import build
from gridloom.compiler.source import load_source
from gridloom.dfg.interpreter import Stimulus, interpret
from gridloom.dfg.model import Dfg, DfgBuilder
from gridloom.dfg.ops import FUSED
from gridloom.sim import stimulus_for
from gridloom.targets.streaming.fuse import fuse


def pair(first: str, second: str, at: int, domain: str = "i32") -> Dfg:
    """second(first(x, y), z), with the product at operand ``at``."""
    b = DfgBuilder("pair", domain)
    x, y, z = b.input("x"), b.input("y"), b.input("z")
    product = b.add(first, x) if first == "square" else b.add(first, x, y)
    b.output(b.add(second, *([product, z] if at == 0 else [z, product])), "w")
    return b.build()


def ops(dfg: Dfg) -> list[str]:
    return [node.op for node in dfg.nodes if node.op not in ("input", "output", "const")]


def same_results(before: Dfg, after: Dfg) -> None:
    stimulus = stimulus_for(before, iterations=16, seed=5)
    a, b = interpret(before, stimulus), interpret(after, stimulus)
    assert a.outputs.keys() == b.outputs.keys()
    for name in a.outputs:
        assert np.array_equal(a.outputs[name], b.outputs[name])
    for name in a.memory:
        assert np.array_equal(a.memory[name], b.memory[name])


SHIFTS = ("shl", "shr", "lshr")
LOGIC = ("and", "or", "xor")
INTEGER = [
    *((first, second, at, "i32", f"{first}_{second}") for first in ("mul", *SHIFTS) for second in ("add", *LOGIC)
      for at in (0, 1)),
    *((first, "sub", at, "i32", f"{first}_{'sub' if at else 'rsub'}") for first in ("mul", *SHIFTS) for at in (0, 1)),
    *(("square", second, at, "i32", f"mul_{second}") for second in ("add", *LOGIC) for at in (0, 1)),
    ("square", "sub", 0, "i32", "mul_rsub"),
    ("square", "sub", 1, "i32", "mul_sub"),
]  # fmt: skip
SINGLE = [
    ("mul", "add", 0, "f32", "fmul_add"),
    ("mul", "sub", 0, "f32", "fmul_rsub"),
    ("mul", "sub", 1, "f32", "fmul_sub"),
    ("fmul", "fadd", 1, "i32", "fmul_add"),
    ("fmul", "fsub", 0, "i32", "fmul_rsub"),
    ("square", "sub", 0, "f32", "fmul_rsub"),
]


@pytest.mark.parametrize(("first", "second", "at", "domain", "fused"), [*INTEGER, *SINGLE])
def test_pair_becomes_one_instruction(first: str, second: str, at: int, domain: str, fused: str) -> None:
    dfg = pair(first, second, at, domain)
    assert ops(fuse(dfg)) == [fused]
    same_results(dfg, fuse(dfg))


def test_every_fused_op_of_the_table_is_made_from_some_pair() -> None:
    assert {fused for *_, fused in [*INTEGER, *SINGLE]} == set(FUSED)


WORD = st.integers(-(1 << 31), (1 << 31) - 1) | st.sampled_from([0, 1, -1, 31, 32, (1 << 31) - 1, -(1 << 31)])


@given(case=st.sampled_from([*INTEGER, *SINGLE]), words=st.lists(st.tuples(WORD, WORD, WORD), min_size=1, max_size=8))
@settings(deadline=None, max_examples=300)
def test_fused_instruction_gives_the_bits_of_the_pair(
    case: tuple[str, str, int, str, str], words: list[tuple[int, int, int]]
) -> None:
    dfg = pair(*case[:4])
    columns = np.array(words, dtype=np.int64).T
    stimulus = Stimulus(iterations=len(words), streams=dict(zip("xyz", columns)))
    before, after = interpret(dfg, stimulus), interpret(fuse(dfg), stimulus)
    assert before.outputs["w"].tolist() == after.outputs["w"].tolist()


@given(seed=st.integers(0, 1 << 20), nodes=st.integers(4, 24))
@settings(deadline=None, max_examples=40)
def test_random_graph_of_products_shifts_and_logic_computes_the_same(seed: int, nodes: int) -> None:
    rng = random.Random(seed)
    b = DfgBuilder("mixed")
    values = [b.input(f"x{k}") for k in range(3)]
    for _ in range(nodes):
        op = rng.choice(["mul", *SHIFTS, "add", "sub", *LOGIC])
        values.append(b.add(op, rng.choice(values[-4:]), rng.choice(values)))
    read = {edge.source for edge in b.edges}
    for k, name in enumerate([value for value in values if value not in read]):
        b.output(name, f"y{k}")
    dfg = b.build()
    same_results(dfg, fuse(dfg))


@pytest.mark.parametrize(("first", "second", "at"), [("add", "add", 0), ("mul", "max", 1), ("rotl", "xor", 0)])
def test_pair_without_a_fused_op_stays(first: str, second: str, at: int) -> None:
    dfg = pair(first, second, at)
    assert fuse(dfg) is dfg


def test_word_that_reads_a_product_twice_stays() -> None:
    b = DfgBuilder("both")
    product = b.add("mul", b.input("x"), b.input("y"))
    b.output(b.add("xor", product, product), "w")
    assert ops(fuse(b.build())) == ["mul", "xor"]


def test_product_that_two_nodes_read_stays() -> None:
    b = DfgBuilder("twice")
    product = b.add("mul", b.input("x"), b.input("y"))
    b.output(b.add("add", product, b.const(1)), "a")
    b.output(product, "b")
    assert ops(fuse(b.build())) == ["mul", "add"]


def test_product_of_an_earlier_iteration_stays() -> None:
    b = DfgBuilder("carried")
    product = b.add("mul", b.input("x"), b.input("y"), id="p")
    total = b.add("add", b.input("z"), id="t")
    b.carry(product, total, operand=1, distance=1, initial=[3])
    b.output(total, "w")
    assert ops(fuse(b.build())) == ["mul", "add"]


def test_carried_operand_of_the_sum_keeps_its_distance() -> None:
    b = DfgBuilder("mac")
    product = b.add("mul", b.input("x"), b.input("y"))
    total = b.add("add", product, id="acc")
    b.carry(total, total, operand=1, distance=1, initial=[7])
    b.output(total, "s")
    dfg = b.build()
    assert ops(fuse(dfg)) == ["mul_add"]
    same_results(dfg, fuse(dfg))


@pytest.mark.parametrize("name", ["distance", "fft_radix2", "fft_radix4", "ifft", "fir", "dct8", "gemm"])
def test_kernel_computes_the_same(name: str) -> None:
    dfg = load_source(f"kernel:{name}")
    after = fuse(dfg)
    assert len(after.nodes) < len(dfg.nodes)
    same_results(dfg, after)


def test_only_arrays_with_spokes_fuse() -> None:
    assert build("streaming-engine").has("fuses")
    assert not shared_in_time().has("fuses")
    assert not static_grid().has("fuses")


def test_opaque_graph_stays() -> None:
    dfg = load_source("kernel:random_growing,domain=opaque")
    assert fuse(dfg) is dfg
