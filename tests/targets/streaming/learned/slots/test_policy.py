"""The slot policy: boards that count links and registers as the annealer does, look-ahead, what training brought."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gridloom.archs import build
from gridloom.compiler.source import load_source
from gridloom.search.budget import Budget
from gridloom.targets.streaming.fuse import fuse
from gridloom.targets.streaming.learned.guided import GuidedSearch, GuidedSettings, slot_player
from gridloom.targets.streaming.learned.slots.policy import (
    depth_first,
    graph_of,
    load_slots,
    net_of,
    random_slots,
    rank_slots,
)
from gridloom.targets.streaming.mappers.mapping import realise
from gridloom.targets.streaming.mappers.problem import SpokesProblem, build_problem

GO = np.zeros(1, dtype=np.uint8)


def problem_of(source: str, arch: str = "streaming-engine:16,spokes=8") -> SpokesProblem:
    return build_problem(fuse(load_source(source)), build(arch))


def random_graph(nodes: int, seed: int) -> str:
    return f"kernel:random_growing,nodes={nodes},inputs=4,seed={seed},domain=opaque"


@given(nodes=st.integers(2, 30), seed=st.integers(0, 99))
@settings(max_examples=25, deadline=None)
def test_depth_first_is_a_topological_order(nodes: int, seed: int) -> None:
    problem = problem_of(random_graph(nodes, seed))
    order = depth_first(problem, graph_of(problem).tail)
    place = np.empty(problem.size, dtype=int)
    place[order] = np.arange(problem.size)
    tables = problem.tables
    for n in range(problem.size):
        for e in range(tables.pred_at[n], tables.pred_at[n + 1]):
            assert tables.pred_distance[e] > 0 or place[tables.pred[e]] < place[n]


@given(nodes=st.integers(4, 30), seed=st.integers(0, 50), ii=st.integers(2, 8))
@settings(max_examples=25, deadline=None)
def test_boards_keep_the_rules_and_cost_what_the_annealer_says(nodes: int, seed: int, ii: int) -> None:
    problem = problem_of(random_graph(nodes, seed))
    for order in ("depth", "topological"):
        player = slot_player(rank_slots(), GuidedSettings(), GO)
        tile, spoke, cost = player(ii, problem, order, seed, np.array([0.0, 1.0], dtype=np.float32))
        for b in range(2):
            if cost[b] >= 1e9:
                continue
            slots = {(int(t), int(s)) for t, s in zip(tile[b], spoke[b])}
            assert len(slots) == problem.size
            for _, members in problem.cliques:
                assert len({int(tile[b][n]) for n in members}) == len(members)
            found = realise(problem, ii, tile[b], spoke[b], lambda: True)
            assert found is not None
            assert cost[b] >= found.cycles


def test_look_ahead_leaves_a_tile_for_each_start() -> None:
    # Eight starts on eight tiles: a board that puts other nodes first must not take the last tile of one.
    problem = problem_of("kernel:sorting_network,n=8", "streaming-engine:8,spokes=8")
    player = slot_player(random_slots(1), GuidedSettings(), GO)
    _, _, cost = player(6, problem, "depth", 3, np.ones(16, dtype=np.float32))
    assert (cost < 1e9).all()


#: Graphs of the strict suite on which trained and untrained weights are compared, with an II at which both complete.
GRAPHS = (
    ("kernel:ifft", "streaming-engine:16,spokes=8", 4),
    ("kernel:dct8", "streaming-engine:16,spokes=8", 4),
    ("kernel:kmeans", "streaming-engine:32,spokes=8", 4),
    (random_graph(30, 1), "streaming-engine:16,spokes=8", 6),
    (random_graph(40, 2), "streaming-engine:32,spokes=8", 6),
)


def greedy_costs(weights: dict[str, np.ndarray]) -> np.ndarray:
    """What the greedy boards of some graphs cost, over their longest paths."""
    found = []
    for source, arch, ii in GRAPHS:
        problem = problem_of(source, arch)
        for order in ("depth", "topological"):
            player = slot_player(weights, GuidedSettings(), GO)
            cost = player(ii, problem, order, 0, np.zeros(1, dtype=np.float32))[2]
            found.append(min(float(cost[0]), 1e4) / graph_of(problem).floor)
    return np.array(found)


def test_trained_weights_place_far_better_than_untrained_ones() -> None:
    # Untrained networks differ widely: the best of twelve is what a test without training would show.
    untrained = min(float(np.log(greedy_costs(random_slots(seed))).mean()) for seed in range(12))
    assert np.log(greedy_costs(load_slots())).mean() < untrained - 0.3


def test_a_tile_that_costs_is_used_less() -> None:
    problem = problem_of("kernel:ifft")
    graph = graph_of(problem)
    assert net_of(load_slots(), problem, graph).new_tile > 0


@pytest.mark.parametrize("column", ["rank", "untrained"])
def test_search_takes_any_weights(column: str) -> None:
    problem = problem_of("kernel:fft_radix2")
    weights = rank_slots() if column == "rank" else random_slots(0)
    clock = Budget(effort=4000, seed=1).start()
    config = GuidedSettings()
    best = GuidedSearch(problem, slot_player(weights, config, clock.stop), config, clock).run(None)
    assert best.legal is not None
    assert best.legal.violations == 0
