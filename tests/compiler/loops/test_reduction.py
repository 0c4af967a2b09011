"""Loops reduced to what every iteration has to do anew: how much that is, and that they compute the same."""

from __future__ import annotations

import numpy as np
import pytest

import gridloom as gl
from gridloom import Array, int32, loop, state
from gridloom.compiler.loops.prologue import text
from gridloom.dfg.interpreter import Interpreter, Stimulus


def ops(kernel, **options) -> dict[str, int]:
    counted: dict[str, int] = {}
    graph = kernel.graph(**options)
    for node, op in zip(graph.nodes, graph.ops):
        if not op.timeless:
            counted[node.op] = counted.get(node.op, 0) + 1
    return counted


@gl.kernel
def fir(x: Array[int32, 64], h: Array[int32, 4], y: Array[int32, 64], n: int32):
    for i in loop(n):
        y[i] = h[0] * x[i] + h[1] * x[i + 1] + h[2] * x[i + 2] + h[3] * x[i + 3]


@gl.kernel
def rows(x: Array[int32, 256], y: Array[int32, 256], r: int32, w: int32, n: int32):
    for i in loop(n):
        y[r * w + i] = x[(r + 1) * w + i] + x[(r - 1) * w + i]


@gl.kernel
def strided(x: Array[int32, 256], y: Array[int32, 64], w: int32, n: int32):
    for i in loop(n):
        y[i] = x[i * w] + x[i * w]


@gl.kernel
def in_place(x: Array[int32, 64], n: int32):
    for i in loop(n):
        x[i + 1] = x[i] + x[i + 1]


@gl.kernel
def far(x: Array[int32, 128], y: Array[int32, 128], n: int32):
    for i in loop(n):
        y[i] = x[i] + x[i + 40]


@gl.kernel
def from_a_parameter(x: Array[int32, 64], start: int32, n: int32):
    s = state(start)
    for i in loop(n):
        s.set(s + x[i])
    return s


def test_a_filter_loads_one_sample_and_no_coefficient():
    assert ops(fir, reduced=False)["load"] == 8
    assert ops(fir)["load"] == 1


def test_what_no_iteration_changes_leaves_the_loop():
    assert "mul" in ops(rows, reduced=False)
    assert ops(rows) == {"load": 2, "add": 4, "store": 1}


def test_a_product_of_the_counter_is_a_sum():
    assert ops(strided, reduced=False) == {"mul": 1, "load": 2, "add": 2, "store": 1}
    assert ops(strided) == {"load": 1, "add": 3, "store": 1}


def test_loads_of_an_array_that_is_written_stay():
    assert ops(in_place)["load"] == 2


def test_a_value_is_not_kept_for_too_many_iterations():
    assert ops(far)["load"] == 2


def test_a_state_from_a_parameter_needs_no_select():
    assert ops(from_a_parameter) == {"load": 1, "add": 2}
    assert [e.initial for e in from_a_parameter.graph().edges if "start" in e.initial] == [("start",)]


def test_the_prologue_is_told_in_the_terms_of_the_source():
    from gridloom.compiler.loops.body import Body
    from gridloom.compiler.loops.operations import Const, LiveIn
    from gridloom.compiler.loops.prologue import Prologue

    body = Body("f")
    prologue = Prologue(body)
    row = prologue.emit("mul", LiveIn("y"), LiveIn("w"))
    element = prologue.element("x", prologue.emit("add", row, Const(3)))
    assert isinstance(element, LiveIn)
    assert text(body.prologue, element.name) == "x[(y * w) + 3]"


@pytest.mark.parametrize("kernel", [fir, rows, strided, in_place, far, from_a_parameter], ids=lambda k: k.name)
@pytest.mark.parametrize("iterations", [1, 2, 3, 11])
def test_the_reduced_graph_computes_what_the_graph_as_written_computes(kernel, iterations: int):
    rng = np.random.default_rng(iterations)
    memory = {n: rng.integers(-99, 99, k.length) for n, k in kernel.parameters.items() if hasattr(k, "length")}
    given = {"r": 2, "w": 7, "n": iterations, "start": -5}
    seen = [
        Interpreter(kernel.graph(reduced=reduced)).run(
            Stimulus(iterations=iterations, memory=memory, liveins=kernel.start(given, memory))
        )
        for reduced in (True, False)
    ]
    for name in memory:
        np.testing.assert_array_equal(seen[0].memory[name], seen[1].memory[name])
    assert seen[0].liveouts == seen[1].liveouts
