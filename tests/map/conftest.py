"""Graphs and checks that the tests of mappers share."""

from __future__ import annotations

import random

import pytest

from gridloom.dfg.model import Dfg, DfgBuilder
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
