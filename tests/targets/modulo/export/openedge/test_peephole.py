"""Shortened graphs compute the same, in fewer ops or on shorter ways."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.targets.modulo.export.openedge.test_lowering import ARCH, differences, streams

from gridloom.dfg import Dfg, DfgBuilder
from gridloom.dfg.interpreter import Interpreter, random_stimulus
from gridloom.targets.modulo.export.openedge import peephole
from gridloom.targets.modulo.export.openedge.lowering import lower
from gridloom.targets.modulo.export.openedge.peephole import shorten

LOOP_OPS = ("add", "and", "or", "xor", "sub", "not", "neg", "lt", "lshr")


def depth_of(dfg: Dfg) -> int:
    """The ops on the longest way to an output within an iteration; an input is a load."""
    depth: dict[str, int] = {}
    for k in dfg.topological:
        node = dfg.nodes[k].id
        into = [dfg.edges[e] for e in dfg.operand_edges(node)]
        before = max((depth[edge.source] for edge in into if edge.distance == 0), default=0)
        depth[node] = before + (dfg.nodes[k].op not in ("const", "output"))
    return max(depth[node.id] for node in dfg.nodes if node.op == "output")


def run(dfg: Dfg) -> dict[str, list[int]]:
    """What a graph gives out."""
    found = Interpreter(dfg).run(random_stimulus(dfg, 12, seed=1))
    return {name: values.tolist() for name, values in found.outputs.items()}


@st.composite
def graphs(draw: st.DrawFn) -> Dfg:
    """Graphs of bit ops and sums, with masks, shared values and a recurrence."""
    b = DfgBuilder("drawn")
    values = [b.input("x"), b.input("y"), b.const(1), b.const(0), b.const(-1)]
    for _ in range(draw(st.integers(2, 14))):
        op = draw(st.sampled_from(LOOP_OPS))
        picked = [draw(st.sampled_from(values)) for _ in range(1 if op in ("not", "neg") else 2)]
        values.append(b.add(op, *picked))
    total = b.add("add", values[-1], values[-2], id="total")
    b.output(total, "z")
    return b.build()


@given(graphs())
def test_shortened_graphs_give_the_same(dfg: Dfg):
    assert run(shorten(dfg)) == run(dfg)


@given(graphs())
def test_no_way_gets_longer(dfg: Dfg):
    assert depth_of(shorten(dfg)) <= depth_of(dfg)


def test_a_sum_becomes_a_tree():
    b = DfgBuilder("sum")
    total = b.input("x0")
    for k in range(1, 8):
        total = b.add("add", total, b.input(f"x{k}"))
    b.output(total, "y")
    dfg = b.build()
    assert (depth_of(dfg), depth_of(shorten(dfg))) == (8, 4)
    assert run(shorten(dfg)) == run(dfg)


def test_a_recurrence_joins_last():
    b = DfgBuilder("running")
    inner = b.add("add", b.input("x"))
    total = b.add("add", inner, b.input("y"), id="total")
    b.carry(total, inner, operand=1)
    b.output(total, "z")
    dfg = b.build()
    assert [edge.target for edge in dfg.edges if edge.distance] == [inner]
    assert [edge.target for edge in shorten(dfg).edges if edge.distance] == ["total"]
    assert run(shorten(dfg)) == run(dfg)


def test_a_mask_of_a_bit_becomes_a_select():
    b = DfgBuilder("crc")
    bit = b.add("and", b.input("x"), b.const(1))
    b.output(b.add("and", b.input("p"), b.add("sub", b.const(0), bit), id="masked"), "y")
    dfg = b.build()
    assert next(node.op for node in shorten(dfg).nodes if node.id == "masked") == "select"
    assert run(shorten(dfg)) == run(dfg)


def test_a_choice_of_bits_takes_three_ops():
    b = DfgBuilder("choice")
    m, x, y = (b.input(name) for name in "mxy")
    b.output(b.add("or", b.add("and", m, x), b.add("and", b.add("not", m), y)), "z")
    dfg = b.build()
    lowered = [node.op for node in lower(dfg, ARCH).nodes if node.op in ("and", "or", "xor")]
    assert sorted(lowered) == ["and", "xor", "xor"]
    assert run(shorten(dfg)) == run(dfg)


def test_a_wrong_rewrite_is_found(monkeypatch: pytest.MonkeyPatch):
    """Planted fault: a mask of any word, not of a bit, becomes a select."""
    monkeypatch.setattr(peephole._ShorterGraph, "_is_bit", lambda self, ref: True)
    b = DfgBuilder("mask")
    b.output(b.add("and", b.input("x0"), b.add("neg", b.input("x1"))), "y")
    assert differences(b.build(), {**streams(2), "y_stream": [0] * 128}) == ["y_stream"]
