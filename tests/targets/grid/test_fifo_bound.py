"""The bound on the deepest FIFO: links against what all issue cycles would ask for."""

from __future__ import annotations

import random
from itertools import product

import pytest

from gridloom.archs import Arch, build
from gridloom.compiler.source import load_source
from gridloom.dfg import Dfg, DfgBuilder
from gridloom.targets.grid.bounds import fifo_bound, least_links

LAST = 6


def random_graph(seed: int) -> Dfg:
    """Up to six nodes: inputs, and ops that read one or two earlier ones."""
    rng = random.Random(seed)
    b = DfgBuilder(f"random{seed}")
    made = [b.input("x")] + ([b.input("y")] if rng.random() < 0.5 else [])
    while len(made) < rng.randint(4, 6):
        operands = [rng.choice(made) for _ in range(rng.randint(1, 2))]
        made.append(b.add("neg" if len(operands) == 1 else "add", *operands))
    return b.build()


def by_brute_force(dfg: Dfg, arch: Arch, fifo: int) -> int:
    """The least links over all issue cycles from 0 to LAST."""
    names = [node.id for node in dfg.nodes]
    edges = [(names.index(e.source), names.index(e.target)) for e in dfg.edges]
    fixed = [node.op == "input" and arch.inputs == "aligned" for node in dfg.nodes]
    least = 1 << 30
    for cycles in product(*(range(1) if held else range(LAST + 1) for held in fixed)):
        if any(cycles[b] < cycles[a] + 1 for a, b in edges):
            continue
        nets: dict[int, int] = {}
        readers: dict[int, set[int]] = {}
        for a, b in edges:
            nets[a] = max(nets.get(a, 1), cycles[b] - cycles[a] - fifo)
            readers.setdefault(a, set()).add(b)
        least = min(least, sum(max(length, len(readers[a])) for a, length in nets.items()))
    return least


@pytest.mark.parametrize("seed", range(12))
@pytest.mark.parametrize("inputs", ["aligned", "skewed"])
def test_least_links_are_those_of_the_best_issue_cycles(seed: int, inputs: str):
    dfg, arch = random_graph(seed), build(f"mesh:3x3,inputs={inputs}")
    for fifo in (0, 1):
        assert least_links(dfg, arch, fifo) == by_brute_force(dfg, arch, fifo)


def test_value_that_waits_in_a_wire_takes_a_link_a_cycle():
    # x is added to itself after eight ops: its wire has nine links, each of the ops one.
    b = DfgBuilder("chain")
    value = x = b.input("x")
    for _ in range(8):
        value = b.add("neg", value)
    b.add("add", x, value)
    dfg = b.build()
    arch = build("mesh:1x10,inputs=skewed")
    assert [least_links(dfg, arch, fifo) for fifo in (0, 1, 8)] == [17, 16, 10]
    assert fifo_bound(dfg, arch).value == 0


def test_bound_rises_when_links_do_not_suffice():
    b = DfgBuilder("ladder")
    value = b.input("x")
    early = [value]
    for _ in range(4):
        value = b.add("neg", value)
        early.append(value)
    for other in early[:-1]:
        value = b.add("add", value, other)
    dfg, arch = b.build(), build("mesh:1x9,inputs=skewed")
    found = fifo_bound(dfg, arch)
    assert found.value >= 1
    assert found.reason == (
        f"FIFOs of at most {found.value - 1} need {least_links(dfg, arch, found.value - 1)} links, of 16"
    )
    assert least_links(dfg, arch, found.value) <= 16


def test_graph_with_more_readers_than_links_has_no_bound():
    b = DfgBuilder("star")
    x = b.input("x")
    for _ in range(3):
        b.add("neg", x)
    assert fifo_bound(b.build(), build("mesh:1x2")).value == 0


def test_published_graphs_are_not_bounded_away_from_zero():
    for name, side in (("K4N4", 8), ("matmul44", 6), ("matmul22normal", 5)):
        found = fifo_bound(load_source(f"kernel:neosa-{name}"), build(f"mesh:{side}x{side},inputs=skewed"))
        assert found.value == 0
