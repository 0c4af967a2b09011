"""One start of a spatial mapper: anneal a placement, route it, balance it, mend what failed, make wires wait.

Everything here is a function of the problem, the configuration and a seed, so that starts can run on any thread in any
order. A start goes through up to four stages:

1. a placement is annealed, by hops alone or, for objectives with short wires, together with shortest ways;
2. PathFinder routes it and exact balancing finds issue cycles and FIFOs;
3. where signals are left without links, nodes are moved together with their routes (:meth:`StaticSearch._polished`);
4. where FIFOs are deeper than they need to be, the cycles are fixed first for a bound on the FIFOs, and wires are made
   as long as values have to wait (:meth:`StaticSearch._shallowest`).

What a start came to is a :class:`PlacementCandidate`. Its score is a tuple that is compared first to last, so that
legality comes before the objective and the objective before everything else.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import cached_property, partial
from typing import Final, Literal, Protocol

import numpy as np
from numpy.typing import NDArray

from gridloom.search.arrays import Bools, Int32s
from gridloom.targets.grid.mappers.balance.exact import Balance, IssueTiming, LengthWindow, balance, plan
from gridloom.targets.grid.mappers.mapping import PlacementCandidate, Score
from gridloom.targets.grid.mappers.place.joint import JointAnnealer
from gridloom.targets.grid.mappers.place.nets import NetAnnealer
from gridloom.targets.grid.mappers.place.ways import HOT, WaysAnnealer
from gridloom.targets.grid.mappers.problem import StaticProblem, edge_tables, graph_tables, grid_tables
from gridloom.targets.grid.mappers.route.pathfinder import GridRoutes, route, shortest
from gridloom.targets.grid.mappers.screening import match

Objective = Literal["buffers", "wirelength", "placement", "latency"]

#: Objectives whose placements are annealed together with shortest ways.
SHORT: Final = ("wirelength", "placement")
Flag = NDArray[np.uint8]

# The cost of one hop too many: weights are whole numbers, feedback raises them in steps finer than a hop.
_UNIT = 8

# First temperature of runs that begin at a candidate with short wires, in links.
_WARM = 0.5

# Signals that a run with routes leaves without a link, for each edge, from which a placement is annealed anew with the
# trees of its nets: the graph is dense, and mending is not enough.
_DENSE = 0.05

#: Moves of such a run, as a multiple of the moves per temperature of plain annealing.
NETS_SHARE = 1600

#: Moves of a start that makes wires short, as a multiple of the moves per temperature of plain annealing.
WAYS_SHARE = 160


class SearchSettings(Protocol):
    """What a start reads of a mapper's configuration."""

    @property
    def objective(self) -> Objective:
        """What is made small first."""

    @property
    def joint(self) -> int:
        """Moves for each node in runs that move routes, too."""

    @property
    def detour(self) -> int:
        """Links that a route may be longer than the shortest way."""


class StaticSearch:
    """The parts of a problem that all starts share.

    A mapper makes it once and calls it from all threads: nothing in it changes after the first use of its cached parts.
    The methods :meth:`start` and :meth:`realise` make candidates; ``fixed`` nodes stay on their tiles in both. The
    problem has to have passed the screening, or no random placement may exist.
    """

    def __init__(self, problem: StaticProblem, config: SearchSettings, fixed: dict[int, int]) -> None:
        self.problem = problem
        self.config = config
        #: Problem node -> tile, for nodes that stay where they are.
        self.fixed = fixed
        self.timing = IssueTiming(problem)
        self.movable = np.array([k for k in range(problem.size) if k not in fixed], dtype=np.int32)
        self.fixed_tiles: Bools = np.zeros(problem.tiles, dtype=np.bool_)
        self.fixed_tiles[list(fixed.values())] = True
        self.graph = graph_tables(problem, self.movable)
        self.grid = grid_tables(problem, self.fixed_tiles)
        edges = edge_tables(problem)
        self.joint = JointAnnealer(self.timing, self.graph, edges, self.grid)
        self.ways = WaysAnnealer(problem, self.graph, edges, self.grid)
        self.nets = NetAnnealer(problem, self.graph, edges, self.grid)
        self.regions = self._regions()

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
    def unplaced(self) -> LengthWindow:
        """The schedule that the graph alone would have, all routes being one link."""
        one = np.ones(len(self.problem.edges), dtype=np.int32)
        window = plan(self.timing, np.zeros(self.problem.size, dtype=np.int32), one, 0)
        return LengthWindow(one, one, np.zeros(self.problem.size, dtype=np.int64)) if window is None else window

    @cached_property
    def levels(self) -> Int32s:
        """For each edge the links it has for nothing: its span in the schedule that the graph alone would have.

        The plain annealer counts only hops beyond these: an edge that has to wait anyway may be longer by as much at no
        cost.
        """
        span = self.unplaced.high if self.config.objective == "buffers" else self.unplaced.low
        return np.maximum(1, span).astype(np.int32)

    @cached_property
    def weights(self) -> Int32s:
        """The price of a hop too many, by edge; for the latency that of long paths is higher.

        Edges on a cycle of the graph cost six times as much, since a recurrence that is too long makes a placement
        illegal.
        """
        weight = np.where(self.recurrent, 6 * _UNIT, _UNIT)
        if self.config.objective == "latency":
            weight = weight * (1 + np.rint(5 * self.timing.criticality() ** 4).astype(np.int64))
        return np.asarray(weight, dtype=np.int32)

    def _regions(self) -> list[Bools]:
        """Which kind may sit where, in one or more ways that starts take turns with; the last is the plain one.

        On a grid of two colours a value's cycle and its tile's colour change together, so that aligned inputs meet
        without FIFOs only if they all sit on one colour.
        """
        p = self.problem
        regions = [p.allowed]
        tied = self.timing.tied
        if p.colour is None or not tied.any() or self.config.objective != "buffers" or (p.reach != 1).any():
            return regions
        for side in (p.colour, ~p.colour):
            allowed = p.allowed.copy()
            allowed[np.unique(p.kind[tied])] &= side
            rows = [np.flatnonzero(row & ~self.fixed_tiles).astype(np.int32) for row in allowed]
            kept = all(allowed[p.kind[node], tile] for node, tile in self.fixed.items())
            order = sorted(range(p.size), key=lambda k: len(rows[p.kind[k]]))
            if kept and match(p, order, rows, self.fixed) is not None:
                regions.insert(0, allowed)
        return regions

    def _region_of(self, position: Int32s) -> Bools:
        """The narrowest region that a placement obeys."""
        kind = self.problem.kind
        return next((region for region in self.regions if region[kind, position].all()), self.problem.allowed)

    def scattered(self, rng: np.random.Generator, allowed: Bools) -> Int32s:
        """A random placement that obeys op classes and pins."""
        p = self.problem
        open_tiles = [np.flatnonzero(row & ~self.fixed_tiles) for row in allowed]
        shuffled = [rng.permutation(row).astype(np.int32) for row in open_tiles]
        order = sorted(rng.permutation(p.size).tolist(), key=lambda k: len(shuffled[p.kind[k]]))
        position = match(p, order, shuffled, self.fixed)
        if position is None:
            raise AssertionError("screening lets only problems with a placement through")
        return position

    def anneal(
        self, position: Int32s, allowed: Bools, *, seed: int, heat: float, moves_each: int, stop: Flag
    ) -> tuple[Int32s, int, int]:
        """(placement, its cost in hops too many, moves) from a first placement."""
        from gridloom.targets.grid.mappers.place.anneal_kernel import CoolingSchedule, HopPrices, anneal

        _, edges = self.problem.incident
        placed = position.copy()
        prices = HopPrices(self.weights[edges], self.levels[edges])
        grid = self.grid._replace(allowed=allowed)
        cost, moves = anneal(placed, self.graph, prices, grid, CoolingSchedule(heat, moves_each, 0), seed, stop)
        return placed, int(cost), int(moves)

    # -- routing and balancing --------------------------------------------------------------------------------------

    def realise(self, position: Int32s, seed: int, moves: int, stop: Flag) -> PlacementCandidate:
        """Route and balance a placement that stays as it is, with wires as long as the objective wants them."""
        short = shortest(self.problem, position)
        routes = route(self.problem, position, short, short + self.config.detour, seed=seed, stop=stop)

        def attempt(bound: int) -> PlacementCandidate | None:
            window = plan(self.timing, position, short, bound)
            if window is None:
                return None
            return self._judged(position, self._routed(position, window, seed, stop), 0)

        return self._shallowest(self._judged(position, routes, moves), attempt, stop)

    def _shallowest(
        self,
        candidate: PlacementCandidate,
        attempt: Callable[[int], PlacementCandidate | None],
        stop: Flag,
        record: Score | None = None,
    ) -> PlacementCandidate:
        """The best of a candidate and of attempts at FIFO bounds: 0 first, then by bisection below what there is.

        ``attempt(bound)`` is a candidate whose FIFOs are at most so deep, or None. With a record to beat, the bound
        below it comes first. Where cycles could not be met at all, a few bounds are tried. Moves of attempts count,
        successful or not. A candidate without legal routes stays as it is, and so does any of a graph with ordering
        rules: the runs that move nodes with their cycles know no such rules.
        """
        if not candidate.routes.legal or self.timing.ordered:
            return candidate
        low, high, bound = 0, 4, 0
        if candidate.balance is not None:
            if self.config.objective != "buffers" or candidate.balance.total == 0:
                return candidate
            high = candidate.balance.maximum
            if record is not None and record[0] == 0:
                high = min(high, record[1])
                bound = max(0, high - 1)
        best = candidate
        while low <= high and not stop[0]:
            attempted = attempt(bound)
            if attempted is not None:
                moves = best.moves + attempted.moves
                best = replace(min(best, attempted, key=_by_score), moves=moves)
            if attempted is not None and attempted.legal:
                high = bound - 1
            else:
                low = bound + 1
            bound = (low + high) // 2
        return best

    def _routed(self, position: Int32s, window: LengthWindow, seed: int, stop: Flag, rounds: int = 60) -> GridRoutes:
        """Routes that fill a window: short ones are no aim here, shared ones are."""
        return route(
            self.problem, position, window.low, window.high, seed=seed, rounds=rounds, patience=8, hop=0.05, late=1.0,
            stop=stop,
        )  # fmt: skip

    def _judged(self, position: Int32s, routes: GridRoutes, moves: int) -> PlacementCandidate:
        """Balance what is routed, and score it."""
        fastest = self.config.objective == "latency"
        balanced = balance(self.timing, position, routes.length, fastest=fastest) if routes.legal else None
        return PlacementCandidate(self.score(position, routes, balanced), position, routes, balanced, moves)

    def score(self, position: Int32s, routes: GridRoutes, balanced: Balance | None) -> Score:
        """What candidates are compared by, smallest first; the objective decides the order after legality.

        Legal candidates begin with 0 and the objective's own figure; the others end with how far they are from legal.
        """
        if not routes.legal:
            return (2, routes.overuse + 2 * routes.lost)
        wire = int(np.maximum(routes.length - 1, 0).sum())
        if balanced is None:
            return (1, wire)
        buffers = (balanced.maximum, balanced.total)
        if self.config.objective == "wirelength":
            return (0, wire, *buffers, balanced.latency)
        if self.config.objective == "placement":
            placed = int(np.maximum(shortest(self.problem, position) - 1, 0).sum())
            return (0, placed, wire, *buffers, balanced.latency)
        if self.config.objective == "latency":
            return (0, balanced.latency, *buffers, wire)
        return (0, *buffers, balanced.latency, wire)

    # -- a start ----------------------------------------------------------------------------------------------------

    def start(
        self,
        first: Int32s | None,
        *,
        seed: int,
        heat: float,
        moves_each: int,
        stop: Flag,
        record: Score | None = None,
        region: int = -1,
        spread: Callable[[], int] | None = None,
    ) -> PlacementCandidate:
        """Anneal, route, balance; then move nodes with their routes and cycles until nothing is fought over.

        ``first`` is the placement to begin from; None: a random one in the region of number ``region``. ``heat`` is the
        first temperature as a multiple of the spread of costs, ``moves_each`` the moves per temperature, ``record`` the
        score of the best candidate so far, which an attempt at shallower FIFOs has to beat. ``spread`` says how many
        moves a run with trees of nets may make. ``stop`` ends every stage early: the result is then what there was,
        legal or not. The same arguments give the same candidate.
        """
        rng = np.random.default_rng(seed)
        allowed = self.regions[region % len(self.regions)] if first is None else self._region_of(first)
        position = self.scattered(rng, allowed) if first is None else first
        if self.config.objective in SHORT and len(self.movable) and not self.recurrent.any():
            hot = HOT if first is None else _WARM
            return self._short_wired(position, moves_each, seed, stop, hot, self._joint_moves())
        position, _, moves = self.anneal(position, allowed, seed=seed, heat=heat, moves_each=moves_each, stop=stop)
        short = shortest(self.problem, position)
        routes = route(self.problem, position, short, short + self.config.detour, seed=seed, rounds=30, stop=stop)
        best = self._judged(position, routes, moves)
        if len(self.movable) == 0:
            return best
        joint_moves = self._joint_moves()
        if not routes.legal or self.config.objective in SHORT:
            best = self._polished(best, allowed, joint_moves, seed, stop)
        if best.routes.overuse > _DENSE * len(self.problem.edges):
            most = NETS_SHARE * moves_each if spread is None else min(NETS_SHARE * moves_each, spread())
            best = self._spread(best, allowed, most, seed, stop)
            if not best.routes.legal:
                best = self._polished(best, allowed, joint_moves, seed, stop)
        attempt = partial(self._timed, best.position, allowed, joint_moves, seed, stop)
        return self._shallowest(best, attempt, stop, record)

    def _joint_moves(self) -> int:
        """Moves of a run with routes."""
        return self.config.joint * len(self.movable)

    def _short_wired(
        self, position: Int32s, moves_each: int, seed: int, stop: Flag, hot: float, joint_moves: int
    ) -> PlacementCandidate:
        """Anneal a placement with shortest ways; where signals are left without links, move nodes with all routes.

        For the objective ``placement`` only the distance between tiles counts, so signals may take longer ways first.
        Graphs with recurrences do not come here: this annealer knows no cycles.
        """
        moves = WAYS_SHARE * moves_each
        if self.config.objective == "placement":
            position, routes, made = self.ways.place(position, moves=moves, seed=seed, stop=stop, hot=hot)
            if not routes.legal:
                short = shortest(self.problem, position)
                routes = route(self.problem, position, short, short + self.config.detour, seed=seed, stop=stop)
        else:
            position, routes, made = self.ways.run(position, moves=moves, seed=seed, stop=stop, hot=hot)
        candidate = self._judged(position, routes, made)
        allowed = self.problem.allowed
        if not routes.legal:
            candidate = self._polished(candidate, allowed, joint_moves, seed, stop)
        attempt = partial(self._timed, candidate.position, allowed, joint_moves, seed, stop)
        return self._shallowest(candidate, attempt, stop)

    def _spread(
        self, candidate: PlacementCandidate, allowed: Bools, moves: int, seed: int, stop: Flag
    ) -> PlacementCandidate:
        """Anneal a placement whose signals are far from having links together with the trees of its nets."""
        position, routes, made = self.nets.run(candidate.position, allowed, moves=moves, seed=seed, stop=stop)
        spread = self._judged(position, routes, candidate.moves + made)
        if not routes.legal:
            short = shortest(self.problem, position)
            routes = route(self.problem, position, short, short + self.config.detour, seed=seed, stop=stop)
            spread = min(spread, self._judged(position, routes, spread.moves), key=_by_score)
        return min(spread, replace(candidate, moves=spread.moves), key=_by_score)

    def _polished(
        self, candidate: PlacementCandidate, allowed: Bools, moves: int, seed: int, stop: Flag
    ) -> PlacementCandidate:
        """Move nodes with their routes until every signal has a link, or until wires are short.

        Objectives with short wires search on from the first legal state, cooler and with a higher price of hops; for
        the others the first legal state is the result.
        """
        shorten = self.config.objective in SHORT
        position, routes, made = self.joint.run(
            candidate.position, candidate.routes, None, allowed, bound=2, moves=moves, seed=seed, stop=stop,
            first_legal=not shorten, hot=0.6 if shorten else 1.0, cold=0.2 if shorten else 0.5,
            hop=2.0 if shorten else 0.5, price=2.0 if shorten else 6.0,
        )  # fmt: skip
        return self._better(candidate, position, routes, made)

    def _timed(
        self, position: Int32s, allowed: Bools, moves: int, seed: int, stop: Flag, bound: int
    ) -> PlacementCandidate:
        """Move nodes with routes and cycles from a placement, so that no FIFO is deeper than ``bound``.

        The cycles are planned first, and the router is tried on them; nodes are moved only where it leaves signals
        without links.
        """
        window = plan(self.timing, position, shortest(self.problem, position), bound) or self.unplaced
        routes = self._routed(position, window, seed, stop, rounds=16)
        if routes.legal:
            return self._judged(position, routes, 0)
        position, routes, made = self.joint.run(
            position, routes, window.issue, allowed, bound=bound, moves=moves, seed=seed, stop=stop
        )
        return self._judged(position, routes, made)

    def _better(
        self, candidate: PlacementCandidate, position: Int32s, routes: GridRoutes, made: int
    ) -> PlacementCandidate:
        """The better of a candidate and what a joint run made of it; moves count either way."""
        moves = candidate.moves + made
        joint = self._judged(position, routes, moves)
        return joint if joint.score < candidate.score else replace(candidate, moves=moves)

    def warm_up(self) -> None:
        """Compile or load the kernels that every start runs, so that the clock of a search does not count it.

        The joint annealer is left out: most starts on arrays with room never call it, and it is the largest kernel.
        """
        now = np.ones(1, dtype=np.uint8)
        allowed = self.problem.allowed
        position = self.scattered(np.random.default_rng(0), allowed)
        if len(self.movable):
            if self.config.objective in SHORT and not self.recurrent.any():
                self.ways.run(position, moves=1, seed=0, stop=now)
            else:
                self.anneal(position, allowed, seed=0, heat=1.0, moves_each=1, stop=now)
        self._routed(position, self.unplaced, 0, now)
        balance(self.timing, position, shortest(self.problem, position))


def _by_score(candidate: PlacementCandidate) -> Score:
    return candidate.score
