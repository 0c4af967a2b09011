"""A lower bound on the wirelength of a graph on a mesh: what is left of it without its long wires has to be planar.

    python benchmarks/wirelength_bound.py kernel:neosa-K4N4 8 --seconds 300

Edges of one link lie on links of the mesh, which is a plane graph, so that they form a planar graph; an edge of two
links or more is long. On two colours, as on a chessboard, an edge between tiles of one colour has an even number of
links, two at least, which counts 1; a long edge between two colours has three at least, which counts 2. The least sum
over all colourings with no more nodes than tiles of a colour, and over all choices of long edges that leave a planar
graph, is a bound on every placement and every mapping. A solver (CP-SAT) finds it for the non-planar parts
(subdivisions of K5 and K3,3) that are known; where what it leaves is not planar, more of them are found and added.
"""

from __future__ import annotations

import argparse
import random
import sys
import time
from collections.abc import Sequence
from itertools import pairwise

import networkx as nx
from ortools.sat.python import cp_model

from gridloom.archs.spec import build
from gridloom.frontend.source import load_source
from gridloom.targets.grid.mappers.problem import build_problem

Edge = tuple[int, int]
Chains = dict[Edge, list[int]]

#: How often the graph that is left is searched for non-planar parts, each time in another order.
ROUNDS = 6


def edges_of(source: str, side: int) -> tuple[int, list[Edge]]:
    """Return how many nodes of a SOURCE have a tile, and the pairs of them that edges connect."""
    problem = build_problem(load_source(source), build(f"mesh:{side}x{side}"))
    pairs = {(min(a, b), max(a, b)) for a, b in zip(problem.source.tolist(), problem.target.tolist()) if a != b}
    return problem.size, sorted(pairs)


def chains(edges: Sequence[Edge], left: Sequence[int]) -> Chains:
    """Return the paths between nodes of degree 3 and more, by their ends, as numbers of edges.

    Nodes of degree 1 and a second path between the same ends change nothing about planarity and are left out.
    """
    number = {edges[k]: k for k in left}
    graph = nx.k_core(nx.Graph(list(number)), 2)
    found: Chains = {}
    for node in graph:
        for step in graph[node] if graph.degree(node) > 2 else ():
            path = [node, step]
            while graph.degree(path[-1]) == 2:
                path.append(next(other for other in graph[path[-1]] if other != path[-2]))
            ends = (min(path[0], path[-1]), max(path[0], path[-1]))
            if ends[0] != ends[1]:
                found.setdefault(ends, [number[min(pair), max(pair)] for pair in pairwise(path)])
    return found


def non_planar_part(known: Chains, order: random.Random) -> list[Edge] | None:
    """Return chains that are not planar together but would be without any one of them; None where all are planar."""
    part = list(known)
    order.shuffle(part)
    if nx.check_planarity(nx.Graph(part))[0]:
        return None
    for ends in list(part):
        rest = [other for other in part if other != ends]
        if not nx.check_planarity(nx.Graph(rest))[0]:
            part = rest
    return part


def parts_left(edges: Sequence[Edge], left: Sequence[int], order: random.Random) -> list[list[int]]:
    """Return non-planar parts of what is left, as numbers of edges; empty where it is planar."""
    everything = chains(edges, left)
    found = []
    for _ in range(ROUNDS):
        known = dict(everything)
        while (part := non_planar_part(known, order)) is not None:
            found.append([k for ends in part for k in known[ends]])
            for ends in order.sample(part, 2):
                del known[ends]
    return found


class Relaxation:
    """Colours and long edges as a model; non-planar parts are added as they become known."""

    def __init__(self, nodes: int, edges: Sequence[Edge], side: int) -> None:
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

    def solve(self, seconds: float) -> tuple[int, list[int]]:
        """Return (proved bound, edges that the best solution leaves short)."""
        solver = cp_model.CpSolver()
        solver.parameters.num_workers = 1
        solver.parameters.max_time_in_seconds = max(1.0, seconds)
        solver.solve(self.model)
        left = [k for k, pair in enumerate(zip(self.even, self.odd)) if not any(map(solver.value, pair))]
        return round(solver.best_objective_bound + 0.49), left


def main() -> None:
    """Print the bound each time that it grows, and what ended the search."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("source")
    parser.add_argument("side", type=int)
    parser.add_argument("--seconds", type=float, default=300.0)
    asked = parser.parse_args()
    nodes, edges = edges_of(asked.source, asked.side)
    relaxation, order = Relaxation(nodes, edges, asked.side), random.Random(1)
    best, parts, began = 0, 0, time.monotonic()
    while (left := asked.seconds - (time.monotonic() - began)) > 0:
        bound, short = relaxation.solve(left)
        if bound > best:
            best = bound
            relaxation.model.add(relaxation.cost >= best)
            sys.stdout.write(f"wirelength {best} or more: {parts} parts, {time.process_time():.0f} CPU s\n")
            sys.stdout.flush()
        found = parts_left(edges, short, order)
        if not found:
            sys.stdout.write("what the best solution leaves short is planar: nothing more to prove this way\n")
            break
        parts += len(found)
        for part in found:
            relaxation.forbid(part)


if __name__ == "__main__":
    main()
