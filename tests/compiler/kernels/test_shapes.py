"""How many nodes of which kind the parametric kernels have, and the rules their shapes follow."""

from __future__ import annotations

import doctest
from collections import Counter
from pathlib import Path

import networkx
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.compiler.kernels.catalog import kernels, markdown_table

from gridloom.compiler.kernels import placed_nodes
from gridloom.compiler.kernels.kmeans import KMEANS
from gridloom.compiler.kernels.linear_algebra import CONVOLUTION, MATMUL, MATMUL_ADD, SYSTOLIC_MATMUL
from gridloom.compiler.kernels.loops import CRC32
from gridloom.compiler.kernels.polybench import ATAX
from gridloom.compiler.kernels.random_graphs import RANDOM_GROWING, RANDOM_LAYERED, RANDOM_SERIES_PARALLEL
from gridloom.compiler.kernels.signal import FIR, IIR
from gridloom.compiler.kernels.trees import MAP_REDUCE, TREE_EXPAND, TREE_REDUCE
from gridloom.dfg import Dfg, recurrence_mii

DOCUMENT = Path(__file__).resolve().parents[3] / "docs" / "kernels.md"


def _ops(dfg: Dfg) -> Counter[str]:
    return Counter(node.op for node in dfg.nodes)


def _fanout(dfg: Dfg) -> int:
    return max(len(edges) for k, edges in enumerate(dfg.out_edges) if not dfg.ops[k].timeless)


def _levels(dfg: Dfg) -> dict[str, int]:
    level = {}
    for k in dfg.topological:
        sources = [dfg.edges[e].source for e in dfg.in_edges[k] if not dfg.op(dfg.edges[e].source).timeless]
        level[dfg.nodes[k].id] = max((level[s] + 1 for s in sources), default=0)
    return level


@pytest.mark.parametrize("n", [2, 3, 5, 8])
def test_classic_matmul(n: int) -> None:
    dfg = MATMUL.build(n=n)
    assert _ops(dfg) == {"input": 2 * n**2, "mul": n**3, "add": n**3 - n**2, "output": n**2}
    assert _fanout(dfg) == n


@pytest.mark.parametrize("n", [2, 4])
def test_matmul_with_an_addend(n: int) -> None:
    dfg = MATMUL_ADD.build(n=n)
    assert _ops(dfg) == {"input": 3 * n**2, "mul": n**3, "add": n**3, "output": n**2}
    assert _fanout(dfg) == n


@pytest.mark.parametrize("n", [2, 3, 7])
def test_systolic_matmul(n: int) -> None:
    dfg = SYSTOLIC_MATMUL.build(n=n)
    assert sum(dfg.op_class(node.id) == "mul" for node in dfg.nodes) == n**2
    assert _ops(dfg)["add"] == n**2
    assert placed_nodes(dfg) == 2 * n**2
    assert _fanout(dfg) == 2


@pytest.mark.parametrize("k", [2, 3, 4, 5, 6])
def test_convolution(k: int) -> None:
    ops = _ops(CONVOLUTION.build(k=k))
    assert (ops["input"], ops["mul"], ops["add"], ops["move"]) == (k**2, k**2, k**2 - 1, 0)


@given(k=st.integers(2, 16))
def test_registers_balance_a_convolution(k: int) -> None:
    dfg = CONVOLUTION.build(k=k, registers=1)
    level = _levels(dfg)
    moved = [e for e in dfg.edges if not dfg.op(e.source).timeless]
    assert all(level[e.target] == level[e.source] + 1 for e in moved)


@given(k=st.integers(2, 12), n=st.integers(1, 12))
def test_kmeans_is_balanced_and_counts_its_ops(k: int, n: int) -> None:
    dfg = KMEANS.build(k=k, n=n)
    ops = _ops(dfg)
    assert (ops["input"], ops["sub"], ops["square"], ops["add"]) == (n, k * n, k * n, k * (n - 1))
    assert (ops["min_tag"], ops["select_tag"], ops["output"]) == (k - 1, k - 1, 1)
    level = _levels(dfg)
    routed = [e for e in dfg.edges if not dfg.op(e.source).timeless and dfg.node(e.target).op != "select_tag"]
    assert all(level[e.target] == level[e.source] + 1 for e in routed)


@pytest.mark.parametrize("nodes", [3, 15, 127])
@pytest.mark.parametrize("components", [1, 4])
def test_trees(nodes: int, components: int) -> None:
    leaves = (nodes + 1) // 2
    reducing, expanding = (
        TREE_REDUCE.build(nodes=nodes, components=components),
        TREE_EXPAND.build(nodes=nodes, components=components),
    )
    assert _ops(reducing) == {"input": leaves * components, "add": (leaves - 1) * components}
    assert placed_nodes(expanding) == nodes * components
    assert _ops(expanding)["output"] == leaves * components
    assert networkx.is_forest(reducing.to_networkx()) and networkx.is_forest(expanding.to_networkx())
    for tail in (1, 3, 6):
        dfg = MAP_REDUCE.build(nodes=nodes, components=components, tail=tail)
        assert placed_nodes(dfg) == (nodes + tail * leaves) * components
        assert _ops(dfg)["mul"] == leaves * components


def test_recurrences() -> None:
    assert recurrence_mii(FIR.build()) == recurrence_mii(FIR.build(form="direct")) == 1
    # multiply, add, shift; with order 2 one more add, over the nearer feedback
    assert recurrence_mii(IIR.build(order=1)) == 3
    assert recurrence_mii(IIR.build(order=2)) == 4
    assert recurrence_mii(CRC32.build()) == 1 + 8 * 4


def test_updates_in_place_are_ordered_at_the_distance_where_they_meet() -> None:
    orders = [edge for edge in ATAX.build(n=8).edges if edge.kind == "order"]
    assert sorted(edge.distance for edge in orders) == [0, 8]


@given(layers=st.integers(1, 8), width=st.integers(2, 8), seed=st.integers(0, 1000))
def test_layered_graphs_have_equal_paths_and_no_dead_node(layers: int, width: int, seed: int) -> None:
    dfg = RANDOM_LAYERED.build(layers=layers, width=width, seed=seed)
    assert len(dfg.nodes) == (layers + 2) * width
    level = _levels(dfg)
    assert all(level[edge.target] == level[edge.source] + 1 for edge in dfg.edges)
    assert all(edges or node.op == "output" for node, edges in zip(dfg.nodes, dfg.out_edges, strict=True))


@given(nodes=st.integers(1, 120), inputs=st.integers(1, 8), seed=st.integers(0, 1000))
def test_growing_networks_have_bounded_fan_out_and_no_dead_node(nodes: int, inputs: int, seed: int) -> None:
    dfg = RANDOM_GROWING.build(nodes=nodes, inputs=inputs, seed=seed)
    assert sum(node.op not in ("input", "output") for node in dfg.nodes) == nodes
    assert _fanout(dfg) <= 4
    assert all(edges or node.op == "output" for node, edges in zip(dfg.nodes, dfg.out_edges, strict=True))


@given(nodes=st.integers(1, 60), seed=st.integers(0, 1000))
def test_series_parallel_graphs_reduce_to_one_edge(nodes: int, seed: int) -> None:
    dfg = RANDOM_SERIES_PARALLEL.build(nodes=nodes, seed=seed)
    edges = Counter((edge.source, edge.target) for edge in dfg.edges)
    while True:
        edges = Counter(dict.fromkeys(edges, 1))
        into, out = Counter(b for _, b in edges), Counter(a for a, _ in edges)
        inner = next((n for n in into if n in out and into[n] == out[n] == 1), None)
        if inner is None:
            break
        source = next(a for a, b in edges if b == inner)
        target = next(b for a, b in edges if a == inner)
        del edges[source, inner], edges[inner, target]
        edges[source, target] += 1
    assert set(edges) == {("x_0", "y_0")}


@pytest.mark.parametrize("kernel", [RANDOM_LAYERED, RANDOM_GROWING, RANDOM_SERIES_PARALLEL], ids=lambda k: k.name)
def test_a_seed_gives_the_same_graph(kernel: object) -> None:
    assert kernel.build(seed=5) == kernel.build(seed=5)  # type: ignore[attr-defined]
    assert kernel.build(seed=5).edges != kernel.build(seed=6).edges  # type: ignore[attr-defined]


def test_the_document_holds_the_table() -> None:
    assert markdown_table() in DOCUMENT.read_text(encoding="utf-8"), (
        "docs/kernels.md is not what tests.compiler.kernels.catalog.markdown_table() gives"
    )


def test_the_document_runs() -> None:
    results = doctest.testfile(str(DOCUMENT), module_relative=False)
    assert results.attempted >= 6
    assert results.failed == 0


def test_every_registered_kernel_has_the_name_it_is_registered_under() -> None:
    from gridloom import registry

    assert [kernel.name for kernel in kernels()] == registry.names("kernels")
