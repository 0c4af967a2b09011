"""A lower bound on the wirelength of a graph on a mesh: what is left of it without its long wires has to be planar.

Edges of one link lie on links of the mesh, which is a plane graph, so that they form a planar graph; an edge of two
links or more is long. On two colours, as on a chessboard, an edge between tiles of one colour has an even number of
links, two at least, which counts 1; a long edge between two colours has three at least, which counts 2. The least sum
over all colourings with no more nodes than tiles of a colour, and over all choices of long edges that leave a planar
graph, is a bound on every placement. A solver (CP-SAT) finds it for the non-planar parts (subdivisions of K5 and K3,3)
that are known; where what it leaves is not planar, more of them are found and added.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import networkx as nx

from gridloom.archs.spec import build
from gridloom.compiler.source import load_source
from gridloom.targets.grid.mappers.problem import build_problem

Edge = tuple[int, int]
#: How often the graph that is left is searched for non-planar parts, each time in another order.
_TRIES = 6
#: Effort of the solver in each round, in its own deterministic seconds.
_SOLVER_EFFORT = 20.0


def bound_wirelength(source: str, side: int, rounds: int) -> dict[str, Any]:
    """Return the bound after at most so many rounds, and whether it is all that planarity proves."""
    problem = build_problem(load_source(source), build(f"mesh:{side}x{side}"))
    pairs = {(min(a, b), max(a, b)) for a, b in zip(problem.source.tolist(), problem.target.tolist()) if a != b}
    edges, order = sorted(pairs), random.Random(1)
    relaxation = Relaxation(problem.size, edges, side)
    best = parts = 0
    for _ in range(rounds):
        bound, short = relaxation.solve()
        best = max(best, bound)
        relaxation.model.add(relaxation.cost >= best)
        found = parts_left(edges, short, order)
        if not found:
            return {"bound": best, "parts": parts, "complete": True}
        parts += len(found)
        for part in found:
            relaxation.forbid(part)
    return {"bound": best, "parts": parts, "complete": False}


def find_chains(edges: Sequence[Edge], left: Sequence[int]) -> dict[Edge, list[int]]:
    """Return the paths between nodes of degree 3 and more, by their ends, as numbers of edges.

    Nodes of degree 1 and a second path between the same ends change nothing about planarity and are left out.
    """
    number = {edges[k]: k for k in left}
    graph = nx.k_core(nx.Graph(list(number)), 2)
    found: dict[Edge, list[int]] = {}
    for node in graph:
        for step in graph[node] if graph.degree(node) > 2 else ():
            path = [node, step]
            while graph.degree(path[-1]) == 2:
                path.append(next(other for other in graph[path[-1]] if other != path[-2]))
            ends = (min(path[0], path[-1]), max(path[0], path[-1]))
            if ends[0] != ends[1]:
                found.setdefault(ends, [number[min(pair), max(pair)] for pair in pairwise(path)])
    return found


def find_part(known: Sequence[Edge], order: random.Random) -> list[Edge]:
    """Return chains that are not planar together but would be without any one of them; none where all are planar."""
    part = list(known)
    order.shuffle(part)
    if nx.check_planarity(nx.Graph(part))[0]:
        return []
    for ends in list(part):
        rest = [other for other in part if other != ends]
        if not nx.check_planarity(nx.Graph(rest))[0]:
            part = rest
    return part


def parts_left(edges: Sequence[Edge], left: Sequence[int], order: random.Random) -> list[list[int]]:
    """Return non-planar parts of what is left, as numbers of edges; empty where it is planar."""
    everything = find_chains(edges, left)
    found = []
    for _ in range(_TRIES):
        known = dict(everything)
        while part := find_part(list(known), order):
            found.append([k for ends in part for k in known[ends]])
            for ends in order.sample(part, 2):
                del known[ends]
    return found


class Relaxation:
    """Colours and long edges as a model; non-planar parts are added as they become known."""

    def __init__(self, nodes: int, edges: Sequence[Edge], side: int) -> None:
        from ortools.sat.python import cp_model

        self.solver = cp_model.CpSolver()
        self.solver.parameters.num_workers = 1
        self.solver.parameters.max_deterministic_time = _SOLVER_EFFORT
        self.model = model = cp_model.CpModel()
        colour = [model.new_bool_var("") for _ in range(nodes)]
        self.even = [model.new_bool_var("") for _ in edges]
        self.odd = [model.new_bool_var("") for _ in edges]
        for (a, b), even, odd in zip(edges, self.even, self.odd):
            model.add_bool_xor([colour[a], colour[b], even])
            model.add_at_most_one([even, odd])
        tiles = side * side
        model.add_linear_constraint(sum(colour), nodes - tiles // 2, (tiles + 1) // 2)
        self.cost = sum(self.even) + 2 * sum(self.odd)
        model.minimize(self.cost)

    def forbid(self, part: Sequence[int]) -> None:
        """Say that one of the edges of a non-planar part is long."""
        self.model.add_bool_or([self.even[k] for k in part] + [self.odd[k] for k in part])

    def solve(self) -> tuple[int, list[int]]:
        """Return the proved bound and the edges that the best solution leaves short."""
        self.solver.solve(self.model)
        left = [k for k, pair in enumerate(zip(self.even, self.odd)) if not any(map(self.solver.value, pair))]
        return round(self.solver.best_objective_bound + 0.49), left
