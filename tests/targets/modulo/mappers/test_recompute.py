"""Nodes that are computed more than once: what copies read and feed, and that mappings with them are right."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

from gridloom.archs import build
from gridloom.dfg import Dfg, DfgBuilder
from gridloom.targets.modulo.mappers.problem import ModuloProblem, NodeCopy
from gridloom.targets.modulo.mappers.recompute import with_copies


def fan(width: int) -> Dfg:
    """A counter whose double many nodes read."""
    b = DfgBuilder("fan")
    b.array("o", 64)
    i = b.add("add", b.const(1), id="i")
    b.carry(i, i, operand=1, initial=[0])
    double = b.add("add", i, i, id="double")
    for k in range(width):
        b.store("o", i, b.add("xor", double, b.const(k), id=f"x{k}"))
    return b.build()


def fed(problem: ModuloProblem) -> Counter[tuple[str, int, str]]:
    """For each (node, copy) and the node that it feeds, how many edges there are."""
    ids = [problem.dfg.nodes[k].id for k in problem.nodes]
    return Counter(
        (ids[a], problem.copy_of[a], ids[b]) for a, b in problem.ends if a < len(problem.nodes) and b < len(ids)
    )


def test_copy_feeds_its_readers_and_reads_what_the_node_reads() -> None:
    dfg = fan(3)
    arch = build("torus:3x3")
    plain = ModuloProblem(dfg, arch)
    double = dfg.index["double"]
    readers = frozenset(
        e for e in plain.edges if dfg.edges[e].source == "double" and dfg.edges[e].target in ("x1", "x2")
    )
    problem = ModuloProblem(dfg, arch, [NodeCopy(node=double, readers=readers)])
    table = fed(problem)
    assert table["double", 0, "x0"] == table["double", 1, "x1"] == table["double", 1, "x2"] == 1
    assert table["double", 0, "x1"] == 0
    assert table["i", 0, "double"] == 4


def test_copy_of_a_node_that_carries_a_value_to_itself_carries_its_own() -> None:
    dfg = fan(2)
    arch = build("torus:3x3")
    counter = dfg.index["i"]
    readers = frozenset(
        e for e in ModuloProblem(dfg, arch).edges if (dfg.edges[e].source, dfg.edges[e].target) == ("i", "double")
    )
    problem = ModuloProblem(dfg, arch, [NodeCopy(node=counter, readers=readers)])
    table = fed(problem)
    assert table["i", 0, "i"] == table["i", 1, "i"] == 1
    assert table["i", 1, "double"] == 2


def test_copies_of_a_node_and_of_its_source_meet() -> None:
    dfg = fan(2)
    arch = build("torus:3x3")
    edges = ModuloProblem(dfg, arch).edges
    into = frozenset(e for e in edges if (dfg.edges[e].source, dfg.edges[e].target) == ("i", "double"))
    out = frozenset(e for e in edges if (dfg.edges[e].source, dfg.edges[e].target) == ("double", "x1"))
    copies = [NodeCopy(node=dfg.index["i"], readers=into), NodeCopy(node=dfg.index["double"], readers=out)]
    for plan in (copies, copies[::-1]):
        table = fed(ModuloProblem(dfg, arch, plan))
        assert table["i", 1, "double"] == 4
        assert table["i", 0, "double"] == 0
        assert table["double", 1, "x1"] == 1


def test_order_edges_hold_for_all_copies_of_both_ends() -> None:
    b = DfgBuilder("ordered")
    x = b.livein("x")
    first, second = b.add("neg", x, id="first"), b.add("not", x, id="second")
    b.order(first, second, distance=0, delay=2)
    for k in range(2):
        b.add("add", first, second, id=f"sum{k}")
    dfg, arch = b.build(), build("torus:3x3")
    edges = ModuloProblem(dfg, arch).edges
    copies = [
        NodeCopy(
            node=dfg.index[name],
            readers=frozenset(e for e in edges if (dfg.edges[e].source, dfg.edges[e].target) == (name, "sum1")),
        )
        for name in ("first", "second")
    ]
    problem = ModuloProblem(dfg, arch, copies)
    ids = [(dfg.nodes[k].id, problem.copy_of[n]) for n, k in enumerate(problem.nodes)]
    found = {(ids[a], ids[b]) for a, b in problem.tie_ends}
    assert found == {(("first", m), ("second", n)) for m in range(2) for n in range(2)}


@pytest.mark.parametrize("seed", range(4))
def test_every_reader_is_fed_as_often_as_in_the_graph(seed: int) -> None:
    plain = ModuloProblem(fan(8), build("torus:4x4"))
    problem = with_copies(plain, plain.loop(4).preferred, 4, np.random.default_rng(seed))
    assert problem is not None
    assert len(problem.nodes) > len(plain.nodes)
    readers = [n for n, k in enumerate(problem.nodes) if problem.dfg.nodes[k].id.startswith("x")]
    assert Counter(b for _, b in problem.ends if b in readers) == Counter(dict.fromkeys(readers, 1))
