"""One start of a spatial mapper: anneal a placement, route it, balance it, mend what failed, make wires wait.

Everything here is a function of the problem, the configuration and a seed, so that starts can run on any thread in any
order.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from gridloom.map.balance.exact import Balance, Timing, balance, plan
from gridloom.map.route.pathfinder import Routes, route, shortest
from gridloom.map.screening import match
from gridloom.map.static_problem import UNLIMITED, Bools, Ints, StaticProblem

if TYPE_CHECKING:
    from gridloom.map.anneal import AnnealConfig

Score = tuple[int, ...]

# The cost of one hop too many: weights are whole numbers, feedback raises them in steps finer than a hop.
_UNIT = 8


@dataclass(frozen=True, slots=True, eq=False)
class Candidate:
    """A placement with what became of it. ``score`` is compared first to last; its head is 0 for legal ones."""

    score: Score
    position: Ints
    routes: Routes
    balance: Balance | None
    moves: int

    @property
    def legal(self) -> bool:
        """True when it is routed and balanced."""
        return self.balance is not None and self.routes.legal


class StaticSearch:
    """The parts of a problem that all starts share."""

    def __init__(self, problem: StaticProblem, config: AnnealConfig, fixed: dict[int, int]) -> None:
        self.problem = problem
        self.config = config
        #: Problem node -> tile, for nodes that stay where they are.
        self.fixed = fixed
        self.timing = Timing(problem)
        self.grid = np.full((problem.arch.rows, problem.arch.cols), 0, dtype=np.int32)
        self.grid[problem.row, problem.col] = np.arange(problem.tiles, dtype=np.int32)
        self.movable = np.array([k for k in range(problem.size) if k not in fixed], dtype=np.int32)
        self.fixed_tiles: Bools = np.zeros(problem.tiles, dtype=np.bool_)
        self.fixed_tiles[list(fixed.values())] = True

    # -- placement --------------------------------------------------------------------------------------------------

    @cached_property
    def recurrent(self) -> Bools:
        """The edges that lie on a cycle: their length is bounded by the distance of the cycle."""
        import rustworkx

        p = self.problem
        graph: rustworkx.PyDiGraph = rustworkx.PyDiGraph()
        graph.add_nodes_from(range(p.size))
        graph.add_edges_from([(a, b, None) for a, b in zip(p.source.tolist(), p.target.tolist())])
        component = np.zeros(p.size, dtype=np.int32)
        for number, members in enumerate(rustworkx.strongly_connected_components(graph)):
            component[list(members)] = number
        return np.asarray((component[p.source] == component[p.target]) & (p.source != p.target))

    @cached_property
    def levels(self) -> Ints:
        """For each edge the links it has for nothing: its span in the schedule that the graph alone would have."""
        one = np.ones(len(self.problem.edges), dtype=np.int32)
        anywhere = np.zeros(self.problem.size, dtype=np.int32)
        window = plan(self.timing, anywhere, one, 0) if self.config.objective == "buffers" else None
        return one if window is None else np.maximum(one, window.high)

    @property
    def weights(self) -> Ints:
        """The price of a hop too many, by edge."""
        return np.where(self.recurrent, 6 * _UNIT, _UNIT).astype(np.int32)

    def scattered(self, rng: np.random.Generator) -> Ints:
        """A random placement that obeys op classes and pins."""
        p = self.problem
        open_tiles = [np.flatnonzero(row & ~self.fixed_tiles) for row in p.allowed]
        shuffled = [rng.permutation(row).astype(np.int32) for row in open_tiles]
        order = sorted(rng.permutation(p.size).tolist(), key=lambda k: len(shuffled[p.kind[k]]))
        position = match(p, order, shuffled, self.fixed)
        if position is None:
            raise AssertionError("screening lets only problems with a placement through")
        return position

    def anneal(
        self, position: Ints, weight: Ints, *, seed: int, heat: float, moves_each: int, stop: NDArray[np.uint8]
    ) -> tuple[Ints, int, int]:
        """(placement, its cost in hops too many, moves) from a first placement."""
        from gridloom.map.place.anneal_kernel import anneal

        p = self.problem
        starts, edges = p.incident
        owner = np.repeat(np.arange(p.size, dtype=np.int32), np.diff(starts))
        neighbour = np.where(p.source[edges] == owner, p.target[edges], p.source[edges]).astype(np.int32)
        placed = position.copy()
        cost, moves = anneal(
            placed, self.movable, self.fixed_tiles, p.kind, p.allowed, starts, neighbour, weight[edges],
            self.levels[edges], p.hops, p.row, p.col, self.grid, seed, heat, moves_each, 0, stop,
        )  # fmt: skip
        return placed, int(cost), int(moves)

    # -- routing and balancing --------------------------------------------------------------------------------------

    def realise(self, position: Ints, seed: int, moves: int, stop: NDArray[np.uint8]) -> Candidate:
        """Route and balance a placement as well as the objective asks."""
        short = shortest(self.problem, position)
        fastest = self.config.objective == "latency"
        routes = route(self.problem, position, short, short + self.config.detour, seed=seed, stop=stop)
        balanced = balance(self.timing, position, routes.length, fastest=fastest) if routes.legal else None
        if balanced is None or (self.config.objective == "buffers" and balanced.total > 0):
            routes, balanced = self._lengthened(position, short, routes, balanced, seed, stop)
        return Candidate(self.score(routes, balanced), position, routes, balanced, moves)

    def _lengthened(
        self, position: Ints, short: Ints, routes: Routes, balanced: Balance | None, seed: int, stop: NDArray[np.uint8]
    ) -> tuple[Routes, Balance | None]:
        """Wires as long as values wait: the smallest FIFO bound for which such routes exist."""
        worst = UNLIMITED if balanced is None else balanced.maximum
        bounds = [0, 1, 2, 4, UNLIMITED] if balanced is None else range(worst + 1)
        bases = [short] if balanced is None else [short, routes.length]
        for bound in bounds:
            for base in bases:
                window = plan(self.timing, position, base, bound, fastest=self.config.objective == "latency")
                if window is None:
                    continue
                found = route(self.problem, position, window.low, window.high, seed=seed, hop=0.05, late=1.0, stop=stop)
                again = balance(self.timing, position, found.length) if found.legal else None
                if again is not None and (
                    balanced is None or (again.maximum, again.total) < (balanced.maximum, balanced.total)
                ):
                    return found, again
        return routes, balanced

    def score(self, routes: Routes, balanced: Balance | None) -> Score:
        """What candidates are compared by, smallest first; the objective decides the order after legality."""
        if not routes.legal:
            return (2, routes.lost, routes.overuse)
        wire = int(np.maximum(routes.length - 1, 0).sum())
        if balanced is None:
            return (1, wire)
        buffers = (balanced.maximum, balanced.total)
        if self.config.objective == "wirelength":
            return (0, wire, *buffers, balanced.latency)
        if self.config.objective == "latency":
            return (0, balanced.latency, *buffers, wire)
        return (0, *buffers, balanced.latency, wire)

    # -- a start ----------------------------------------------------------------------------------------------------

    def start(
        self, first: Ints | None, *, seed: int, heat: float, moves_each: int, stop: NDArray[np.uint8]
    ) -> Candidate:
        """Anneal, route, balance; what could not be routed is placed again with its hops made dearer."""
        rng = np.random.default_rng(seed)
        position = self.scattered(rng) if first is None else first
        weight = self.weights
        position, _, moves = self.anneal(position, weight, seed=seed, heat=heat, moves_each=moves_each, stop=stop)
        best = self.realise(position, seed, moves, stop)
        for turn in range(self.config.repairs):
            if best.legal or stop[0]:
                break
            weight = self._dearer(weight, best)
            position, _, more = self.anneal(
                best.position, weight, seed=seed + turn + 1, heat=0.06, moves_each=moves_each, stop=stop
            )
            moves += more
            again = self.realise(position, seed + turn + 1, moves, stop)
            best = again if again.score < best.score else Candidate(*_same(best), moves)
        return best

    def _dearer(self, weight: Ints, candidate: Candidate) -> Ints:
        """Raise the price of edges that fight for links, or of recurrences when cycles could not be met."""
        routes = candidate.routes
        raised = weight.copy()
        if routes.legal:
            raised[self.recurrent] *= 2
            return np.minimum(raised, 1 << 12)
        for e in range(len(self.problem.edges)):
            links = routes.way[e, : routes.length[e]]
            if self.problem.source[e] != self.problem.target[e] and (len(links) == 0 or (routes.used[links] > 1).any()):
                raised[e] += _UNIT // 2
        return raised


def _same(candidate: Candidate) -> tuple[Score, Ints, Routes, Balance | None]:
    return candidate.score, candidate.position, candidate.routes, candidate.balance
