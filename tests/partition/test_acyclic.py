"""Repaired and refined bisections run one way, and refinement never makes them worse."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from tests.search.conftest import random_dag

from gridloom.partition.acyclic import ClusterGraph, cluster, one_way, refine, transfers


def imbalance(graph: ClusterGraph, side: list[int]) -> int:
    return abs(sum(weight if s else -weight for weight, s in zip(graph.weight, side, strict=True)))


def runs_one_way(graph: ClusterGraph, side: list[int]) -> bool:
    return all(side[a] <= side[b] for a, row in enumerate(graph.successors) for b in row)


@given(seed=st.integers(0, 500), nodes=st.integers(6, 30), choice=st.randoms(use_true_random=False))
def test_every_repair_and_refinement_runs_one_way(seed: int, nodes: int, choice: object) -> None:
    graph = cluster(random_dag(nodes, seed))
    side = [choice.randint(0, 1) for _ in range(graph.size)]  # type: ignore[attr-defined]
    for repaired in one_way(graph, side):
        assert runs_one_way(graph, repaired)
        if not 0 < sum(repaired) < graph.size:
            continue
        better = refine(graph, repaired, 2)
        assert runs_one_way(graph, better)
        worse = (max(0, imbalance(graph, repaired) - 2), transfers(graph, repaired))
        assert (max(0, imbalance(graph, better) - 2), transfers(graph, better)) <= worse
