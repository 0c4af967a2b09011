"""Graphs and checks that the tests of mappers share."""

from __future__ import annotations

import random

import numpy as np
import pytest

from gridloom.dfg.model import Dfg, DfgBuilder, Edge
from gridloom.mapping.model import Mapping


def random_dag(nodes: int, seed: int, *, inputs: int = 3, fan_in: int = 2, locality: int = 8) -> Dfg:
    """A connected-looking random graph of adds and multiplications over streams; leaves become outputs."""
    rng = random.Random(seed)
    b = DfgBuilder(f"random_{nodes}_{seed}", "i32")
    made = [b.input(f"x{k}") for k in range(inputs)]
    while len(made) < nodes:
        recent = made[-locality:]
        operands = [rng.choice(recent) for _ in range(min(fan_in, 2))]
        made.append(b.add(rng.choice(["add", "sub", "mul", "xor"]), *operands))
    used = {edge.source for edge in b.edges}
    for name in made:
        if name not in used:
            b.output(name, f"y_{name}")
    return b.build()


def butterflies(stages: int) -> Dfg:
    """Sum and difference of two values, again and again: on rows of ALUs each stage needs a row of its own."""
    b = DfgBuilder("butterflies", "cma24")
    left, right = b.input("x"), b.input("z")
    for _ in range(stages):
        left, right = b.add("add", left, right), b.add("sub", left, right)
    b.output(left, "y")
    b.output(right, "w")
    return b.build()


def sums(seed: int, ops: int, inputs: int, near: int) -> Dfg:
    """A random graph of sums for rows of ALUs: one of the last ``near`` values and one of the last twice as many."""
    rng = np.random.default_rng(seed)
    b = DfgBuilder(f"sums_{seed}", "cma24")
    made = [b.input(f"x{k}") for k in range(inputs)]
    for _ in range(ops):
        left = made[-1 - int(rng.integers(min(near, len(made))))]
        made.append(b.add("add", left, made[-1 - int(rng.integers(min(2 * near, len(made))))]))
    b.output(made[-1], "y")
    return b.build()


def counter(b: DfgBuilder) -> str:
    """i = 0, 1, 2, ..."""
    b.add("add", id="i")
    b.edges.append(Edge(source="i", target="i", operand=0, distance=1, initial=(-1,)))
    b.edges.append(Edge(source=b.const(1), target="i", operand=1))
    return "i"


def far(distance: int) -> Dfg:
    """B[i] = A[i] + A[i - distance], the old value carried."""
    b = DfgBuilder(f"far{distance}")
    b.array("A", 64)
    b.array("B", 64)
    i = counter(b)
    a = b.load("A", i, id="a")
    b.add("add", a, id="s")
    b.edges.append(Edge(source="a", target="s", operand=1, distance=distance, initial=tuple(range(1, distance + 1))))
    b.store("B", i, "s", id="w")
    return b.build()


def proved_right(mapping: Mapping) -> None:
    """Fail unless the mapping is legal and computes what its graph computes."""
    from gridloom.sim import simulate
    from gridloom.verify import legal

    assert legal(mapping) == []
    assert simulate(mapping, iterations=24, seed=3).ok


@pytest.fixture
def triangle() -> Dfg:
    """One value that meets its own successor: a -> b -> c and a -> c."""
    b = DfgBuilder("triangle", "i32")
    x = b.input("a")
    y = b.add("neg", x, id="b")
    b.add("add", x, y, id="c")
    return b.build()
