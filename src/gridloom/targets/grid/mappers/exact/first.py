"""A first mapping by a SAT solver: places within reach of each other, shorter wires, then routes.

No step proves that there is no mapping, and none comes from another mapper: each answer is a solver's.

1. *Places.* Every node has a tile of its own, and the ends of every edge are at most so many links apart. The least
   distance for which a solution is found soon is taken.
2. *Shorter wires.* A few tiles around the ends of a long edge, with the nodes on them, are a small model: can these
   nodes sit on these tiles with shorter edges, all others staying where they are? Where they cannot, an equally long
   arrangement is taken, so that the next model is another one (large neighbourhood search, Shaw 1998).
3. *Routes.* With places settled, which links each net takes is a model of its own (:mod:`.model`). Where it has no
   solution, the solver names a few edges that are in each other's way; their ends are never again all placed so, and
   another small model moves some of them. That is repeated until there are routes.

Cost: about edges * tiles * (tiles within the distance) literals for the first step, milliseconds for each small model.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from gridloom.search.arrays import Int32s
from gridloom.search.budget import SearchClock
from gridloom.search.sat import Clauses
from gridloom.search.solver import MAX_SIZE
from gridloom.targets.grid.mappers.problem import StaticProblem

# Conflicts of the model of places in the first round (four times as many in each round after it), and of a small model.
_CONFLICTS = 2_000
_FEW_CONFLICTS = 300

# Tiles around each end of an edge that a small model has.
_AROUND = 8

# Small models in a row without a shorter wire after which routes are asked for, and how often that is before other
# places are looked for.
_PATIENCE = 40
_TRIES = 60

# Links that wires may grow by where edges are in each other's way: first none, and more where that did not help.
_GROWTH = (0, 0, 0, 1, 1, 2, 2, 3, 4, 6)

#: Asked for routes between places: None where there are some, otherwise edges that cannot all be routed, if known.
Routed = Callable[[Int32s], list[int] | None]


def first_mapping(problem: StaticProblem, clock: SearchClock, until: Callable[[], bool], routed: Routed) -> bool:
    """Look for places that ``routed`` takes, until ``until`` says so; True when it took some."""
    rng = np.random.default_rng(clock.budget.seed)
    nearest, farthest = 1, int(problem.hops.max(initial=1))
    conflicts = _CONFLICTS
    while nearest <= farthest and not until():
        answer: Int32s | bool | None = None
        for distance in range(nearest, farthest + 1):
            answer = near_places(problem, distance, clock, conflicts, rng)
            if answer is False and distance == nearest:
                nearest += 1
            if until() or isinstance(answer, np.ndarray):
                break
        if isinstance(answer, np.ndarray) and _shorten_and_route(
            WireShortening(problem, answer, rng), clock, until, routed
        ):
            return True
        conflicts *= 4
    return False


def _shorten_and_route(wires: WireShortening, clock: SearchClock, until: Callable[[], bool], routed: Routed) -> bool:
    """Shorten wires, then ask for routes and move nodes whose edges are in each other's way, in turn."""
    idle = 0
    while idle < _PATIENCE and wires.total and not until():
        idle = 0 if wires.shorten(clock) else idle + 1
    for _ in range(_TRIES):
        if until():
            return False
        blamed = routed(wires.places)
        if blamed is None:
            return True
        if not wires.part(blamed, clock):
            return False
    return False


def near_places(
    problem: StaticProblem, distance: int, clock: SearchClock, conflicts: int, rng: np.random.Generator
) -> Int32s | bool | None:
    """A tile for each node such that no edge spans more than ``distance`` links.

    False: there is none. None: not found within the conflicts or the budget, or a model too large to be written down.
    """
    p = problem
    allowed = p.allowed[p.kind]
    near = (p.hops <= distance) & (p.hops > 0)
    pairs = sorted({(a, b) for a, b in zip(p.source.tolist(), p.target.tolist()) if a != b})
    if 2 * len(pairs) * int(near.sum()) > 4 * MAX_SIZE:
        return None
    with Clauses() as model:
        at = _numbered(model, allowed)
        _add_assignment(model, at)
        for a, b in pairs:
            for first, second, row in ((a, b, near), (b, a, near.T)):
                if clock.over():
                    return None
                model.add_all(_reaches(at[first], at[second], row))
        model.prefer((at[at > 0] * rng.choice([-1, 1], size=int((at > 0).sum()))).tolist())
        answer = model.solve(clock, conflicts)
        return _positions(model, at) if answer else answer


def _reaches(first: NDArray[np.int64], second: NDArray[np.int64], near: NDArray[np.bool_]) -> list[list[int]]:
    """If one end is on a tile, the other end is on one of the tiles near it."""
    clauses = []
    for tile in np.flatnonzero(first).tolist():
        others = second[near[tile]]
        clauses.append([-int(first[tile]), *others[others > 0].tolist()])
    return clauses


def _numbered(model: Clauses, allowed: NDArray[np.bool_]) -> NDArray[np.int64]:
    """[node, tile] -> the variable "node on tile"; 0 where the node may not sit there."""
    at = np.zeros(allowed.shape, dtype=np.int64)
    for node, tile in np.argwhere(allowed).tolist():
        at[node, tile] = model.new()
    return at


def _add_assignment(model: Clauses, at: NDArray[np.int64]) -> None:
    """A node has one tile, a tile has one node at most."""
    for row in at:
        model.exactly_one(row[row > 0].tolist())
    for column in at.T:
        model.at_most(column[column > 0].tolist(), 1)


def _positions(model: Clauses, at: NDArray[np.int64]) -> Int32s:
    """The tile (a column of ``at``) of each node in the model's solution."""
    found = [next(t for t in np.flatnonzero(row).tolist() if model.is_true(int(row[t]))) for row in at]
    return np.array(found, dtype=np.int32)


class WireShortening:
    """Places whose wires are made shorter, a few tiles at a time.

    ``places`` is the tile of each node; :meth:`shorten` changes it in place, never for longer wires.
    """

    def __init__(self, problem: StaticProblem, places: Int32s, rng: np.random.Generator) -> None:
        self.problem = problem
        self.places = places
        self._rng = rng
        self._forbidden: list[dict[int, int]] = []
        self._edges = np.flatnonzero(problem.source != problem.target)
        self._edges_of: list[list[int]] = [[] for _ in range(problem.size)]
        for e in self._edges.tolist():
            self._edges_of[problem.source[e]].append(e)
            self._edges_of[problem.target[e]].append(e)
        self._hops = problem.hops.astype(np.int64)
        self._allowed = problem.allowed[problem.kind]

    def _longer(self) -> NDArray[np.int64]:
        """Links beyond the first of each edge, on the shortest way."""
        p, places = self.problem, self.places
        return self._hops[places[p.source[self._edges]], places[p.target[self._edges]]] - 1

    @property
    def total(self) -> int:
        """Links beyond the first, over all edges."""
        return int(self._longer().sum())

    def shorten(self, clock: SearchClock) -> bool:
        """One small model around a random long edge; True when wires became shorter."""
        longer = self._longer()
        edge = self._edges[self._rng.choice(len(longer), p=longer / longer.sum())]
        ends = self.places[self.problem.source[edge]], self.places[self.problem.target[edge]]
        tiles = sorted({near for tile in ends for near in self._around(int(tile))})
        nodes = np.flatnonzero(np.isin(self.places, tiles)).tolist()
        return self._rearrange(nodes, tiles, clock)

    def _around(self, tile: int) -> list[int]:
        """Some tiles closest to a tile, at random where several are as close."""
        order = np.lexsort((self._rng.random(self.problem.tiles), self._hops[tile]))
        chosen: list[int] = order[:_AROUND].tolist()
        return chosen

    def part(self, edges: list[int], clock: SearchClock) -> bool:
        """Move nodes of edges that cannot all be routed; False where no small model has another place for them.

        From now on the ends of these edges are never again all on the tiles that they are on now.
        """
        p = self.problem
        ends = sorted({int(node) for e in edges for node in (p.source[e], p.target[e])})
        if not ends:
            return False
        self._forbidden.append({node: int(self.places[node]) for node in ends})
        held = [int(self.places[node]) for node in ends]
        before = self.places.copy()
        for growth in _GROWTH:
            some = [int(tile) for tile in self._rng.choice(held, size=2)]
            near = sorted(held, key=lambda tile: (self._hops[some[0], tile], tile))[:_AROUND]
            tiles = sorted({*near, *self._around(some[0]), *self._around(some[1])})
            nodes = np.flatnonzero(np.isin(self.places, tiles)).tolist()
            self._rearrange(nodes, tiles, clock, growth)
            if any(self.places[node] != before[node] for node in ends):
                return True
        return False

    def _rearrange(self, nodes: list[int], tiles: list[int], clock: SearchClock, growth: int = 0) -> bool:
        """Put the nodes on these tiles with edges as short as is found soon; True when they are shorter than before.

        The first solution is any that is longer by ``growth`` at most, with the solver's choices at random.
        """
        before = self.total
        with Clauses() as model:
            at = _numbered(model, self._allowed[np.ix_(nodes, tiles)])
            _add_assignment(model, at)
            units, spent = self._lengths(model, nodes, tiles, at)
            model.prefer((at[at > 0] * self._rng.choice([-1, 1], size=int((at > 0).sum()))).tolist())
            model.at_most(units, spent + growth)
            model.add_all(self._exclusions(nodes, tiles, at))
            while model.solve(clock, _FEW_CONFLICTS):
                self.places[nodes] = np.array(tiles, dtype=np.int32)[_positions(model, at)]
                left = spent - (before - self.total)
                if left <= 0:
                    break
                model.at_most(units, left - 1)
        return self.total < before

    def _exclusions(self, nodes: list[int], tiles: list[int], at: NDArray[np.int64]) -> list[list[int]]:
        """A clause for each arrangement that is known to have no routes, where nodes that stay are part of it."""
        index = {node: k for k, node in enumerate(nodes)}
        place = {tile: k for k, tile in enumerate(tiles)}
        clauses = []
        for arrangement in self._forbidden:
            staying = [node for node in arrangement if node not in index]
            if any(self.places[node] != arrangement[node] for node in staying):
                continue
            moving = [(index[node], place.get(tile)) for node, tile in arrangement.items() if node in index]
            if all(tile is not None for _, tile in moving):
                clauses.append([-int(at[k, tile]) for k, tile in moving if tile is not None])
        return [clause for clause in clauses if all(clause)]

    def _lengths(
        self, model: Clauses, nodes: list[int], tiles: list[int], at: NDArray[np.int64]
    ) -> tuple[list[int], int]:
        """(one literal for each link of an edge beyond the least, how many are true now).

        Edges to nodes that stay where they are make a cost for each tile; those between two nodes a clause for each
        tile and length.
        """
        p, hops = self.problem, self._hops
        index = {node: k for k, node in enumerate(nodes)}
        apart = hops[np.ix_(tiles, tiles)]
        fixed = np.zeros(at.shape, dtype=np.int64)
        units: list[int] = []
        spent = 0
        place = {tile: k for k, tile in enumerate(tiles)}
        for e in sorted({e for node in nodes for e in self._edges_of[node]}):
            a, b = int(p.source[e]), int(p.target[e])
            first, second = index.get(a), index.get(b)
            if first is not None and second is not None:
                far = [model.new() for _ in range(1, int(apart.max()))]
                units += far
                spent += int(apart[place[int(self.places[a])], place[int(self.places[b])]]) - 1
                for length, literal in enumerate(far, start=1):
                    near = (apart <= length) & (apart > 0)
                    clauses = _reaches(at[first], at[second], near) + _reaches(at[second], at[first], near.T)
                    model.add_all([literal, *clause] for clause in clauses)
            elif first is not None:
                fixed[first] += hops[tiles, self.places[b]]
            elif second is not None:
                fixed[second] += hops[self.places[a], tiles]
        for k, node in enumerate(nodes):
            open_tiles = np.flatnonzero(at[k])
            least = int(fixed[k][open_tiles].min())
            over = [model.new() for _ in range(int(fixed[k][open_tiles].max()) - least)]
            units += over
            spent += int(fixed[k][place[int(self.places[node])]]) - least
            for t in open_tiles.tolist():
                model.add_all([-int(at[k, t]), literal] for literal in over[: int(fixed[k][t]) - least])
        return units, spent
