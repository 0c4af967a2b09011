"""Exact balancing against brute force."""

from __future__ import annotations

from itertools import product

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from gridloom.archs.spec import build
from gridloom.dfg.model import Dfg, DfgBuilder
from gridloom.targets.grid.mappers.balance.exact import IssueTiming, balance, plan
from gridloom.targets.grid.mappers.problem import build_problem


@st.composite
def routed_graphs(draw):
    """A small graph with carried edges, lengths for its routes, and FIFO limits by tile."""
    count = draw(st.integers(2, 5))
    inputs = draw(st.integers(1, 2))
    b = DfgBuilder("g", "opaque")
    names = []
    for k in range(count):
        if k < inputs:
            names.append(b.add("input", id=f"n{k}"))
            continue
        operands = draw(st.lists(st.sampled_from(names), min_size=1, max_size=2))
        names.append(b.add("op", *operands, id=f"n{k}"))
        if draw(st.booleans()):
            b.carry(names[k], names[k], operand=len(operands), distance=draw(st.integers(1, 2)))
    if count > inputs and draw(st.booleans()):
        b.order(names[0], names[-1], delay=draw(st.integers(0, 3)))
    dfg = b.build()
    lengths = draw(st.lists(st.integers(1, 4), min_size=len(dfg.edges), max_size=len(dfg.edges)))
    limit = draw(st.sampled_from([None, 0, 1, 3]))
    return dfg, lengths, limit, draw(st.sampled_from(["aligned", "skewed"])), draw(st.sampled_from([1, 2]))


def by_brute_force(dfg: Dfg, lengths, limit, aligned: bool, latency: int, span: int) -> tuple[int, int] | None:
    """(smallest maximum, smallest total under it) over all issue cycles below ``span``."""
    index = dfg.index
    best = None
    for t in product(range(span), repeat=len(dfg.nodes)):
        if aligned and any(t[k] for k, node in enumerate(dfg.nodes) if node.op == "input"):
            continue
        fifos = []
        for edge, length in zip(dfg.edges, lengths):
            a, b = index[edge.source], index[edge.target]
            if edge.kind == "order":
                fifos.append(0 if t[b] >= t[a] + edge.delay - edge.distance else -1)
                continue
            travel = latency + (0 if a == b else length - 1)
            fifos.append(t[b] + edge.distance - t[a] - travel)
        deepest = max(fifos, default=0)
        if min(fifos, default=0) >= 0 and (limit is None or deepest <= limit):
            found = (deepest, sum(fifos))
            best = found if best is None or found < best else best
    return best


@given(routed_graphs())
def test_maximum_and_total_are_those_of_brute_force(case):
    dfg, lengths, limit, inputs, latency = case
    fifo = "none" if limit is None else limit
    arch = build({
        "family": "mesh", "rows": 3, "cols": 3, "inputs": inputs, "latency": {"*": latency},
        "fifo": None if fifo == "none" else fifo, "operands": 4,
    })  # fmt: skip
    problem = build_problem(dfg, arch)
    routed = np.array([lengths[e] for e in problem.edges], dtype=np.int32)
    position = np.arange(problem.size, dtype=np.int32)
    found = balance(IssueTiming(problem), position, routed)
    # Longest chain: four edges of latency 2 and three passes each.
    expected = by_brute_force(dfg, lengths, limit, inputs == "aligned", latency, span=8)
    if expected is None:
        # Brute force looks at a few cycles only; what it misses must at least need more of them.
        assert found is None or found.issue.max() >= 8
        return
    assert found is not None
    assert (found.maximum, found.total) <= expected
    if found.issue.max() < 8:
        assert (found.maximum, found.total) == expected


def test_the_triangle_needs_one_fifo_cycle_when_its_routes_are_short(triangle):
    problem = build_problem(triangle, build("onehop:2x2"))
    found = balance(IssueTiming(problem), np.arange(3, dtype=np.int32), np.ones(3, dtype=np.int32))
    assert found is not None
    assert (found.maximum, found.total, found.latency) == (1, 1, 3)


def test_a_plan_without_fifos_makes_the_short_edge_of_the_triangle_two_links_long(triangle):
    problem = build_problem(triangle, build("onehop:2x2"))
    window = plan(IssueTiming(problem), np.arange(3, dtype=np.int32), np.ones(3, dtype=np.int32), 0)
    assert window is not None
    spans = {
        (triangle.edges[e].source, triangle.edges[e].target): int(window.high[k]) for k, e in enumerate(problem.edges)
    }
    assert spans == {("a", "b"): 1, ("a", "c"): 2, ("b", "c"): 1}
    assert (window.low == window.high).all()


def test_with_the_latency_first_fifos_are_the_smallest_at_the_least_latency():
    b = DfgBuilder("late", "opaque")
    x, y = b.add("input", id="x"), b.add("input", id="y")
    join = b.add("op", x, y, id="join")
    b.add("op", join, id="end")
    problem = build_problem(b.build(), build("mesh:2x2,inputs=skewed"))
    lengths = np.array([3, 1, 1], dtype=np.int32)
    found = balance(IssueTiming(problem), np.arange(4, dtype=np.int32), lengths, fastest=True)
    assert found is not None
    assert (found.latency, found.maximum) == (5, 0)


def unequal_paths() -> Dfg:
    """From x to join: five nodes one way, one node (m) the other."""
    b = DfgBuilder("unequal", "opaque")
    x = b.add("input", id="x")
    m = b.add("op", x, id="m")
    last = x
    for k in range(5):
        last = b.add("op", last, id=f"n{k}")
    b.add("op", m, last, id="join")
    return b.build()


def waits(arch, position: dict[str, str]) -> dict[tuple[str, str], int] | None:
    """Edge -> FIFO cycles, all routes one link long, nodes on the named tiles and the others where there is room."""
    dfg = unequal_paths()
    problem = build_problem(dfg, arch)
    free = [tile.name for tile in arch.tiles if tile.name not in position.values()]
    names = [dfg.nodes[n].id for n in problem.nodes.tolist()]
    tiles = [arch.tile_index[position[name] if name in position else free.pop()] for name in names]
    found = balance(IssueTiming(problem), np.array(tiles, dtype=np.int32), np.ones(len(problem.edges), dtype=np.int32))
    if found is None:
        return None
    edges = [dfg.edges[e] for e in problem.edges.tolist()]
    return {(edge.source, edge.target): int(found.fifo[k]) for k, edge in enumerate(edges) if found.fifo[k]}


def test_a_delay_is_split_along_the_short_path():
    assert waits(build("mesh:3x3"), {}) == {("x", "m"): 2, ("m", "join"): 2}


def test_a_delay_is_split_as_the_tiles_on_the_path_allow():
    def limited(value: int):
        where = {"tiles": [[0, 0]]}
        return build({"family": "mesh", "rows": 3, "cols": 3, "fifo": [{"value": 3}, {"where": where, "value": value}]})

    assert waits(limited(1), {"m": "pe_0_0"}) == {("x", "m"): 1, ("m", "join"): 3}
    assert waits(limited(1), {"join": "pe_0_0"}) == {("x", "m"): 3, ("m", "join"): 1}
    assert waits(limited(0), {"m": "pe_0_0"}) is None


def test_a_recurrence_longer_than_its_distance_has_no_balance():
    b = DfgBuilder("ring", "opaque")
    x = b.add("input", id="x")
    first = b.add("op", x, id="first")
    second = b.add("op", first, id="second")
    b.carry(second, first, operand=1, distance=2)
    problem = build_problem(b.build(), build("mesh:2x2"))
    position = np.arange(3, dtype=np.int32)
    short = np.ones(3, dtype=np.int32)
    assert balance(IssueTiming(problem), position, short) is not None
    assert balance(IssueTiming(problem), position, short + 1) is None
