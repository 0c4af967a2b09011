"""The exact mapper on static grids, against brute force and against what is known of trees."""

from __future__ import annotations

from itertools import permutations, product

import numpy as np
import pytest
from tests.search.conftest import proved_right, random_dag

from gridloom.archs import Arch, build
from gridloom.compiler.source import load_source
from gridloom.dfg import Dfg, DfgBuilder
from gridloom.flow import Request, run
from gridloom.mapping import Failure, Mapping
from gridloom.search.budget import Budget
from gridloom.search.solver import ExactConfig
from gridloom.targets.grid.mappers.balance.exact import IssueTiming, balance
from gridloom.targets.grid.mappers.exact.model import StaticModel, StaticScope
from gridloom.targets.grid.mappers.exact.search import exact_static as exact
from gridloom.targets.grid.mappers.exact.search import relaxed_wirelength, sufficient_length
from gridloom.targets.grid.mappers.problem import StaticProblem, build_problem
from gridloom.verify import legal, stats

pytest.importorskip("ortools")


def small(text: str) -> Dfg:
    """A graph from words such as ``a>b a>c b>c``; nodes that nothing feeds are inputs, the rest add or negate."""
    pairs = [tuple(word.split(">")) for word in text.split()]
    names = sorted({name for pair in pairs for name in pair})
    b = DfgBuilder(text)
    for name in names:
        sources = [s for s, t in pairs if t == name]
        if sources:
            b.add(("neg", "add", "select")[len(sources) - 1], *sources, id=name)
        else:
            b.input(name)
    return b.build()


def ways(problem: StaticProblem, start: int, end: int, longest: int) -> list[tuple[int, ...]]:
    """All routes of links from a tile to a tile that do not use a link twice."""
    links = problem.links
    done: list[tuple[int, ...]] = []
    partial = [(int(k),) for k in links.leaving[links.leaving_at[start] : links.leaving_at[start + 1]]]
    while partial:
        way = partial.pop()
        last = way[-1]
        if links.target[last] == end:
            done.append(way)
        if len(way) < longest:
            onward = links.following[links.following_at[last] : links.following_at[last + 1]].tolist()
            partial += [(*way, k) for k in onward if k not in way]
    return done


def brute_force(dfg: Dfg, arch: Arch, longest: int) -> tuple[int, int]:
    """(least wirelength, least deepest FIFO) over all placements and all routes of at most ``longest`` links."""
    problem = build_problem(dfg, arch)
    timing = IssueTiming(problem)
    edges = list(zip(problem.source.tolist(), problem.target.tolist()))
    wire, fifo = 1 << 30, 1 << 30
    for tiles in permutations(range(problem.tiles), problem.size):
        choices = [ways(problem, tiles[a], tiles[b], longest) for a, b in edges]
        for chosen in product(*choices):
            carried = {(link, a, age) for (a, _), way in zip(edges, chosen) for age, link in enumerate(way)}
            if len({link for link, _, _ in carried}) < len(carried):
                continue
            length = np.array([len(way) for way in chosen], dtype=np.int32)
            wire = min(wire, int((length - 1).sum()))
            cycles = balance(timing, np.array(tiles, dtype=np.int32), length)
            fifo = min(fifo, cycles.maximum if cycles is not None else fifo)
    return wire, fifo


CASES = [
    ("a>b a>c b>c", "mesh:2x2,inputs=skewed"),
    ("a>b a>c b>c", "mesh:1x3,inputs=aligned"),
    ("a>c b>c c>d a>d", "mesh:2x2,inputs=aligned"),
    ("a>b b>c a>c c>d", "mesh:2x2,inputs=skewed"),
    ("a>b b>c c>d a>d", "mesh:1x4,inputs=skewed"),
    ("a>b b>c a>c c>d", "mesh:2x2,inputs=aligned,link=1"),
]


@pytest.mark.parametrize(("text", "array"), CASES)
def test_agrees_with_brute_force(text: str, array: str):
    dfg, arch = small(text), build(array)
    longest = 3
    wire, fifo = brute_force(dfg, arch, longest)
    for objective, expected in (("wirelength", wire), ("buffers", fifo)):
        config = ExactConfig(objective=objective, longest=longest, workers=1)
        found = exact(dfg, arch, config, Budget(time_limit=60))
        if expected == 1 << 30:
            assert isinstance(found, Failure)
            continue
        assert isinstance(found, Mapping)
        proved_right(found)
        measured = stats(found)
        assert (measured.wirelength if objective == "wirelength" else measured.buffers_max) == expected


def test_triangle_has_no_wirelength_0_on_a_mesh(triangle: Dfg):
    found = exact(triangle, build("mesh:3x3"), ExactConfig(objective="wirelength", workers=1), Budget())
    assert isinstance(found, Mapping)
    proved_right(found)
    assert stats(found).wirelength == found.provenance["bound"] == 1
    assert found.provenance["proof"][0].startswith("wirelength 1 or more by counting: 1 odd cycles")


def test_triangle_has_wirelength_0_where_diagonals_are_links(triangle: Dfg):
    found = exact(triangle, build("hex:3x3"), ExactConfig(objective="wirelength", workers=1), Budget())
    assert isinstance(found, Mapping)
    assert (stats(found).wirelength, found.provenance["optimal"]) == (0, True)


@pytest.mark.parametrize(("array", "wirelength"), [("mesh:4x4", 2), ("mesh:4x5", 0)])
def test_tree_of_15_nodes(array: str, wirelength: int):
    dfg = load_source("kernel:neosa-tree_n_15_t_1")
    found = exact(dfg, build(array), ExactConfig(objective="wirelength", workers=2), Budget(time_limit=120))
    assert isinstance(found, Mapping)
    proved_right(found)
    assert (stats(found).wirelength, found.provenance["optimal"]) == (wirelength, True)


def test_matrix_product_needs_no_fifo_on_the_smallest_mesh():
    dfg = load_source("kernel:neosa-matmul22")
    found = exact(dfg, build("mesh:3x3,inputs=skewed"), ExactConfig(workers=2), Budget(time_limit=120))
    assert isinstance(found, Mapping)
    proved_right(found)
    assert (stats(found).buffers_max, found.provenance["optimal"]) == (0, True)


def test_latency_is_minimised_and_fifo_limits_are_kept():
    dfg = random_dag(8, 3)
    arch = build("mesh:4x4,fifo=1,inputs=skewed")
    found = exact(dfg, arch, ExactConfig(objective="latency", workers=2), Budget(time_limit=60))
    assert isinstance(found, Mapping)
    proved_right(found)
    assert stats(found).buffers_max <= 1
    assert found.provenance["bound"] <= (stats(found).latency or 0)


def test_relaxed_bound_is_below_what_is_found_and_not_0_for_the_tree():
    dfg, arch = load_source("kernel:neosa-tree_n_15_t_1"), build("mesh:4x4")
    bound, value = relaxed_wirelength(dfg, arch, ExactConfig(workers=2), Budget(time_limit=60))
    assert (bound, value) == (2, 2)


def test_no_route_is_longer_than_links_allow(triangle: Dfg):
    # 4 tiles in a ring have 8 links; each of the 3 edges needs one of its own into its target.
    assert sufficient_length(build_problem(triangle, build("mesh:2x2"))) == 6


def test_refuted_with_short_routes_says_so():
    dfg, arch = small("a>b b>c a>c"), build("mesh:1x3,inputs=skewed")
    found = exact(dfg, arch, ExactConfig(workers=1, longest=1), Budget(time_limit=30))
    assert isinstance(found, Failure)
    assert "with routes of at most 1 links" in found.bound


def test_model_that_is_too_large_is_not_built(monkeypatch: pytest.MonkeyPatch, triangle: Dfg):
    monkeypatch.setattr("gridloom.search.solver.MAX_SIZE", 10)
    found = exact(triangle, build("mesh:3x3"), ExactConfig(workers=1), Budget())
    assert isinstance(found, Failure)
    assert (found.constraint, found.levers[0]) == ("size of the exact model", "--mapper anneal")


def test_too_many_nodes_are_refused_by_counting():
    result = run(Request(source="kernel:distance", arch="mesh:2x2", mapper="exact", time_limit=5))
    assert result.failure is not None
    assert result.failure.constraint == "tiles"


def test_a_long_distance_is_not_refuted():
    """Values that wait for hundreds of iterations need issue cycles as far apart, on an array with skewed inputs."""
    b = DfgBuilder("far", "i32")
    x = b.input("x")
    early = b.add("neg", x, id="early")
    late = b.add("add", b.input("y"), id="late")
    b.carry(early, late, operand=1, distance=250, initial=[0] * 250)
    b.output(late, "z")
    dfg, arch = b.build(), build("mesh:3x3,inputs=skewed")
    found = exact(dfg, arch, ExactConfig(), Budget(time_limit=20))
    assert isinstance(found, Mapping)
    assert list(legal(found)) == []
    assert max(route.fifo for route in found.routes) == 0


def test_first_mapping_of_a_large_graph_comes_from_places_then_routes():
    dfg, arch = load_source("kernel:kmeans,k=2,n=2"), build("mesh:8x8,inputs=skewed")
    config = ExactConfig(workers=1, first_legal=True)
    result = exact(dfg, arch, config, Budget(effort=200_000))
    assert isinstance(result, Mapping)
    proved_right(result)
    assert not any("refuted" in sentence for sentence in result.provenance["proof"])


def test_settled_places_take_routes_up_to_a_few_links_longer_than_the_shortest_way(triangle: Dfg):
    problem = build_problem(triangle, build("mesh:4x4"))
    model = StaticModel(problem, StaticScope(longest=6, places=(0, 1, 5)), Budget().start())
    own, targets = {0: 0, 1: 1}, {0: (1, 5), 1: (5,)}
    for net, link, age in model.used:
        end = int(problem.links.target[link])
        longer = [age + 1 + problem.hops[end, t] - problem.hops[own[net], t] for t in targets[net]]
        assert min(longer) <= 4
    assert set(model.at) == {(0, 0), (1, 1), (2, 5)}
