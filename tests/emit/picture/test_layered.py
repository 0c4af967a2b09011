"""The layered layout: order, distances, crossings."""

from __future__ import annotations

import itertools

from hypothesis import given
from hypothesis import strategies as st

from gridloom.emit.picture.layered import LayeredGraph, _crossings, _monotone, place


def test_two_crossed_edges_are_uncrossed() -> None:
    graph = LayeredGraph()
    a, b = graph.add(10, 0), graph.add(10, 0)
    c, d = graph.add(10, 1), graph.add(10, 1)
    graph.chain(a, d, 4)
    graph.chain(b, c, 4)
    x = place(graph, 8)
    assert (x[a] < x[b]) == (x[d] < x[c])


def test_a_chain_over_layers_is_straight() -> None:
    graph = LayeredGraph()
    top, bottom = graph.add(30, 0), graph.add(30, 4)
    items = graph.chain(top, bottom, 4)
    assert len(items) == 5
    x = place(graph, 8)
    assert max(x[k] for k in items) - min(x[k] for k in items) < 0.5


def test_crossings_are_counted() -> None:
    below = [[3, 4], [2], [], [], []]
    assert _crossings([0, 1], [2, 3, 4], below) == 2


@given(st.lists(st.tuples(st.floats(-50, 50), st.floats(0.1, 9)), min_size=1, max_size=30))
def test_monotone_fit_does_not_decrease_and_keeps_the_weighted_mean(points: list[tuple[float, float]]) -> None:
    goals, weights = [goal for goal, _ in points], [weight for _, weight in points]
    fit = _monotone(goals, weights)
    assert all(a <= b + 1e-9 for a, b in itertools.pairwise(fit))
    mean = sum(g * w for g, w in points)
    assert abs(sum(value * w for value, w in zip(fit, weights)) - mean) < 1e-6 * max(1, abs(mean)) + 1e-6


@given(st.integers(0, 10_000))
def test_boxes_of_a_layer_keep_their_distance(seed: int) -> None:
    import random

    draw = random.Random(seed)
    graph = LayeredGraph()
    items = [graph.add(draw.uniform(10, 60), draw.randrange(5)) for _ in range(draw.randrange(2, 25))]
    for _ in range(30):
        a, b = draw.choice(items), draw.choice(items)
        if graph.layer[a] < graph.layer[b]:
            graph.chain(a, b, 4)
    x = place(graph, 10)
    for layer in set(graph.layer):
        row = sorted((k for k in range(len(x)) if graph.layer[k] == layer), key=lambda k: x[k])
        for a, b in itertools.pairwise(row):
            room = 5 if graph.is_joint[a] and graph.is_joint[b] else 10
            assert x[b] - x[a] >= (graph.width[a] + graph.width[b]) / 2 + room - 1e-6
    assert min(x[k] - graph.width[k] / 2 for k in range(len(x))) > -1e-9
