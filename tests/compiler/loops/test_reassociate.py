"""Chains of one op over a carried value come round in one op, and compute the same."""

from __future__ import annotations

import numpy as np
import pytest

import gridloom as gl
from gridloom import Array, float32, int32, loop, maximum, state
from gridloom.dfg.interpreter import Interpreter, Stimulus
from gridloom.dfg.recurrence import recurrence_mii


@gl.kernel
def total(x: Array[int32, 64], n: int32):
    s = state(5)
    for i in loop(n):
        s.set(s + x[i] - x[i + 1] + x[i + 2] - 3)
    return s


@gl.kernel
def falling(x: Array[int32, 64], n: int32):
    s = state(5)
    for i in loop(n):
        s.set(s - x[i] - x[i + 1] - x[i + 2])
    return s


@gl.kernel
def highest(x: Array[int32, 64], n: int32):
    s = state(-9)
    for i in loop(n):
        s.set(maximum(x[i + 2], maximum(maximum(s, x[i]), x[i + 1])))
    return s


@gl.kernel
def watched(x: Array[int32, 64], y: Array[int32, 64], n: int32):
    s = state(0)
    for i in loop(n):
        half = s + x[i]
        y[i] = half
        s.set(half + x[i + 1])
    return s


@gl.kernel
def mixed(x: Array[int32, 64], n: int32):
    s = state(1)
    for i in loop(n):
        s.set((s + x[i]) * x[i + 1] + 7)
    return s


@gl.kernel
def rounded(x: Array[float32, 64], n: int32):
    s = state(0.0)
    for i in loop(n):
        s.set(s + x[i] + x[i + 1])
    return s


@gl.kernel
def backwards(x: Array[int32, 64], n: int32):
    s = state(3)
    for i in loop(n):
        s.set(x[i] - (s + x[i + 1]))
    return s


@gl.kernel
def doubled(x: Array[int32, 64], n: int32):
    s = state(3)
    for i in loop(n):
        s.set(s + x[i] + s)
    return s


CASES = {total: 1, falling: 1, highest: 1, watched: 2, mixed: 3, rounded: 2, backwards: 2, doubled: 2}


@pytest.mark.parametrize("kernel", CASES, ids=lambda kernel: kernel.name)
def test_recurrences_are_as_short_as_they_may_be_and_compute_the_same(kernel):
    graph = kernel.graph()
    assert recurrence_mii(graph) == CASES[kernel]
    rng = np.random.default_rng(1)
    data = (
        rng.normal(0, 9, 64).astype("f4") if kernel is rounded else rng.integers(-(1 << 31), 1 << 31, 64).astype("i4")
    )
    words = data.view("i4").astype(np.int64)
    arrays = {"x": words} | ({"y": np.zeros(64, np.int64)} if kernel is watched else {})
    seen = Interpreter(graph).run(Stimulus(iterations=40, memory=arrays, liveins=kernel.start({}, arrays)))
    given = [data, np.zeros(64, "i4"), 40] if kernel is watched else [data, 40]
    expected = kernel(*given)
    found = seen.liveouts["result"]
    assert found == (int(np.float32(expected).view("i4")) if kernel is rounded else expected)
