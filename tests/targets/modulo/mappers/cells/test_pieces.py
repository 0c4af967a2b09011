"""Repeated parts of a graph, found by structure."""

from __future__ import annotations

from collections import Counter
from random import Random

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.targets.modulo.mappers.cells.graphs import copies, shuffled, stencil

from gridloom.archs import build
from gridloom.dfg import Dfg, DfgBuilder
from gridloom.targets.modulo.mappers.cells.pieces import mix_values, refine_colours, repetition

TORUS = build("torus:8x8")


def kinds(dfg: Dfg) -> Counter[tuple[int, int, int]]:
    """How many pieces there are of each kind, with their nodes and the duplicated nodes that they need."""
    found = repetition(dfg, TORUS)
    assert found is not None
    return Counter((piece.kind, len(piece.nodes), len(piece.again)) for piece in found.pieces)


def test_unrolled_copies_are_pieces_and_their_counter_is_duplicated() -> None:
    dfg = copies(8)
    found = repetition(dfg, TORUS)
    assert found is not None
    assert {dfg.nodes[k].id for k in found.duplicated} == {"i"}
    assert kinds(dfg) == {(0, 5, 1): 8}


def test_addresses_that_two_copies_share_are_duplicated_with_what_they_need() -> None:
    # The first and the last copy have an address that no other reads.
    assert kinds(stencil(12)) == {(0, 4, 3): 10, (1, 5, 2): 1, (2, 5, 2): 1}


def test_every_placed_node_is_in_one_piece_or_duplicated() -> None:
    dfg = stencil(9)
    found = repetition(dfg, TORUS)
    assert found is not None
    own = [node for piece in found.pieces for node in piece.nodes]
    placed = {k for k, op in enumerate(dfg.ops) if not op.timeless}
    assert len(own) == len(set(own))
    assert set(own) | found.duplicated == placed
    assert not set(own) & found.duplicated


def test_a_chain_has_no_repeated_pieces() -> None:
    b = DfgBuilder("chain")
    node = b.livein("x")
    for _ in range(100):
        node = b.add("add", node, node)
    b.add("neg", node)
    assert repetition(b.build(), TORUS) is None


def test_copies_that_differ_in_an_op_are_of_another_kind() -> None:
    assert sorted(kinds(copies(8, odd=2)).items()) == [((0, 5, 1), 6), ((1, 5, 1), 2)]


@given(st.integers(6, 12), st.integers(0, 3), st.randoms(use_true_random=False))
@settings(max_examples=10, deadline=None)
def test_the_order_and_the_names_of_nodes_do_not_matter(count: int, odd: int, random: Random) -> None:
    dfg = copies(count, odd=min(odd, count // 4))
    assert kinds(shuffled(dfg, random)) == kinds(dfg)


def test_pieces_of_a_kind_list_nodes_that_correspond() -> None:
    dfg = shuffled(copies(6), Random(3))
    found = repetition(dfg, TORUS)
    assert found is not None
    ops = {tuple(dfg.nodes[k].op for k in piece.nodes) for piece in found.pieces if piece.kind == 0}
    assert len(ops) == 1


def test_colours_tell_nodes_apart_by_what_lies_within_the_rounds() -> None:
    # A path of four nodes: after one round its ends differ from its inner nodes, which need two to differ.
    source, target = np.array([0, 1, 2, 3]), np.array([1, 2, 3, 4])
    first, label, both = (
        mix_values(np.zeros(5, dtype=np.uint64)),
        np.zeros(4, dtype=np.uint64),
        np.ones(4, dtype=np.bool_),
    )
    assert len(set(refine_colours(first, source, target, label, both, 1).tolist())) == 3
    assert len(set(refine_colours(first, source, target, label, both, 4).tolist())) == 5
