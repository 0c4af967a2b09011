"""Exchangeable nodes: pairs by hand, and no placement is lost but those that others stand for."""

from __future__ import annotations

import itertools

import pytest

from gridloom.archs import build
from gridloom.dfg.model import Dfg, DfgBuilder
from gridloom.targets.streaming.mappers.exact.symmetry import exchangeable
from gridloom.targets.streaming.mappers.problem import build_problem


def star(leaves: int, op: str = "add") -> Dfg:
    """One node that several others read; the first leaf may have another op."""
    b = DfgBuilder("star")
    b.add("add", b.input("x"), b.const(1), id="p")
    for k in range(leaves):
        b.output(b.add(op if k == 0 else "add", "p", b.const(k), id=f"r{k}"), f"u{k}")
    return b.build()


def chain() -> Dfg:
    b = DfgBuilder("chain")
    b.add("add", b.input("x"), b.const(1), id="p")
    b.add("sub", "p", b.const(2), id="q")
    b.output(b.add("xor", "p", "q", id="r"), "u")
    return b.build()


def pairs(dfg: Dfg, ops: bool = False) -> list[tuple[str, str]]:
    problem = build_problem(dfg, build("streaming-engine:8"))
    return sorted((problem.name(i), problem.name(j)) for i, j in exchangeable(problem, ops))


def test_leaves_of_a_star_are_ordered() -> None:
    assert pairs(star(3)) == [("r0", "r1"), ("r0", "r2"), ("r1", "r2")]


def test_nodes_of_a_chain_are_told_apart() -> None:
    assert pairs(chain()) == []


def test_ops_tell_nodes_apart_where_they_matter() -> None:
    assert pairs(star(3, op="sub"), ops=True) == [("r1", "r2")]
    assert len(pairs(star(3, op="sub"), ops=False)) == 3


@pytest.mark.parametrize("tiles", [3, 4])
def test_an_order_of_tiles_is_kept_for_every_placement(tiles: int) -> None:
    """Two trees side by side: each row of tiles can be permuted by an automorphism into one that keeps all pairs."""
    b = DfgBuilder("trees")
    for t in range(2):
        roots = [b.add("add", b.input(f"x{t}{k}"), b.const(1), id=f"l{t}{k}") for k in range(2)]
        b.output(b.add("xor", *roots, id=f"s{t}"), f"u{t}")
    problem = build_problem(b.build(), build("streaming-engine:8"))
    ordered = exchangeable(problem, False)
    assert ordered
    number = problem.number
    arcs = {(number[f"l{t}{k}"], number[f"s{t}"]) for t in range(2) for k in range(2)}
    images = [
        image
        for image in itertools.permutations(range(problem.size))
        if {(image[a], image[c]) for a, c in arcs} == arcs
    ]
    assert len(images) == 8
    for row in itertools.product(range(tiles), repeat=problem.size):
        moved = [[row[image[n]] for n in range(problem.size)] for image in images]
        assert any(all(tile[i] <= tile[j] for i, j in ordered) for tile in moved)
