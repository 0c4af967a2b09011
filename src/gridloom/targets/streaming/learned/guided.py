"""Search around a policy: boards that it plays, and annealing that starts from the best of them; lowest II first.

An attempt at an II plays a batch of boards, half of them in depth-first and half in topological order, the first
greedily and the others with growing randomness, and anneals the best one, and what was best before, from a low
temperature. IIs are tried upwards with small attempts, in which boards that are far from legal are not annealed. Once
an II has a placement, attempts alternate between the next lower II, as long as that comes close, and the II that is
kept, and grow.

The policy is given as weights, so that the same search runs with trained and untrained weights, with the hand-written
rank alone, or with uniformly random choices.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gridloom import registry
from gridloom.search.arrays import Int32s
from gridloom.search.budget import SearchClock
from gridloom.targets.streaming.learned.slots.board_kernel import FEATURES, SURVEY, BoardGraph
from gridloom.targets.streaming.learned.slots.play_kernel import DecisionRecord, Net, play
from gridloom.targets.streaming.learned.slots.policy import Order, SlotWeights, graph_of, net_of
from gridloom.targets.streaming.mappers.anneal_kernel import Cooling, anneal
from gridloom.targets.streaming.mappers.mapping import SpokeSchedule, realise
from gridloom.targets.streaming.mappers.problem import SpokesProblem, build_problem
from gridloom.targets.streaming.mappers.search import Best, iis

_ORDERS: tuple[Order, Order] = ("depth", "topological")

#: The last temperature of annealing, in cycles.
_COLD = 0.05
#: Moves per node of the first annealing, and how often an attempt may double them.
_MOVES, _DOUBLINGS = 30, 8
#: Boards of an attempt that are scheduled and routed.
_LOOKED_AT = 3
#: Attempts at an II that do not come nearer to a legal placement before it is tried less often.
_PATIENCE = 6

#: Plays boards at an II: (ii, problem, order, seed, heats) -> (tile, spoke, cost), each with a row per board.
Player = Callable[[int, SpokesProblem, Order, int, NDArray[np.float32]], tuple[Int32s, Int32s, NDArray[np.float32]]]


@dataclass(frozen=True, kw_only=True)
class GoalWeights:
    """What a placement is judged by: cycles, tiles in use and the II, each with a weight."""

    cycles: float = 1.0
    tiles: float = 0.0
    #: None: the lowest II first, and the other two only among placements at that II.
    ii: float | None = None

    def price(self, placement: SpokeSchedule) -> tuple[float, float, int]:
        """The lower, the better; what is equal by the weights is judged by the tiles in use."""
        tiles = len(np.unique(placement.tile))
        value = self.cycles * placement.cycles + self.tiles * tiles
        return (placement.ii, value, tiles) if self.ii is None else (0.0, value + self.ii * placement.ii, tiles)


@dataclass(frozen=True, kw_only=True)
class GuidedSettings:
    """How much an attempt does."""

    #: Boards of an attempt; the first at an II has a quarter of them.
    boards: int = 32
    #: The highest temperature of play, and the first temperature of annealing in cycles.
    heat: float = 1.0
    anneal_heat: float = 0.6
    #: Attempts per II when the budget has no limit.
    batches: int = 6
    goal: GoalWeights = GoalWeights()


class GoalBest(Best):
    """The best placement by a goal instead of by II and cycles alone."""

    def __init__(self, goal: GoalWeights) -> None:
        super().__init__()
        self.goal = goal

    def keep(self, found: SpokeSchedule | None) -> None:
        """Keep a placement if it is the best legal one, or the one nearest to legal."""
        if found is None or found.violations or self.legal is None:
            super().keep(found)
        elif self.goal.price(found) < self.goal.price(self.legal):
            self.legal = found


class GuidedSearch:
    """One run of the search; the result depends on the seed and the attempts that the budget allows."""

    def __init__(
        self,
        problem: SpokesProblem,
        player: Player,
        settings: GuidedSettings,
        clock: SearchClock,
        *,
        begin: SpokesProblem | None = None,
        anneals: bool = True,
    ) -> None:
        self.problem, self.player, self.settings, self.clock = problem, player, settings, clock
        self.begin = begin
        self.anneals = anneals
        self.floor = graph_of(problem).floor
        self.best = GoalBest(settings.goal)
        #: For each II the number of attempts, the placement nearest to legal, and attempts since it came nearer.
        self.turns: dict[int, int] = {}
        self.near: dict[int, SpokeSchedule] = {}
        self.idle: dict[int, int] = {}

    def run(self, asked: int | None) -> Best:
        """Return the best placement; without a legal one the nearest."""
        candidates = list(iis(self.problem, asked))
        self.turns = dict.fromkeys(candidates, 0)
        self.idle = dict.fromkeys(candidates, 0)
        self._climb(candidates)
        if self.settings.goal.ii is not None:
            self._weigh(candidates)
        else:
            self._descend(candidates)
        return self.best

    def warm_up(self) -> None:
        """Load or compile the kernels before any clock runs, on the smallest problem: boards of large ones are long."""
        problem = _two_ops()
        ii, stop = problem.spokes, np.zeros(1, dtype=np.uint8)
        tile, spoke, _ = self.player(ii, problem, "depth", 0, np.zeros(1, dtype=np.float32))
        anneal(problem.tables, ii, 0, Cooling(2, 1.0, _COLD, 0.0), stop, tile[0], spoke[0], 0)

    def _done(self, ii: int) -> bool:
        """True when nothing better is possible at an II."""
        legal, goal = self.best.legal, self.settings.goal
        return legal is not None and legal.ii == ii and legal.cycles <= self.floor and goal.tiles == 0

    def _spent(self, ii: int) -> bool:
        return self.clock.over() or (self.clock.budget.unlimited and self.turns[ii] >= self.settings.batches)

    def _climb(self, candidates: list[int]) -> None:
        """Attempt IIs upwards until one has a legal placement, in rounds; the later rounds begin where it is likely."""
        first = 0
        while self.best.legal is None:
            for ii in candidates[first:]:
                self.best.tried = sorted({*self.best.tried, ii})
                self.attempt(ii)
                if self.best.legal is not None or self.clock.late or (self.clock.over() and ii == candidates[-1]):
                    break
            first = len(candidates) // 2
            if self._spent(candidates[-1]):
                break

    def _descend(self, candidates: list[int]) -> None:
        """Alternate between the II that is kept and the one below it, until nothing can become better."""
        while self.best.legal is not None and not self._spent(self.best.legal.ii):
            kept = self.best.legal.ii
            lower = [ii for ii in candidates if ii < kept]
            if lower and self._likely(lower[-1]):
                self.attempt(lower[-1])
                if self.best.legal.ii < kept:
                    continue
                if len(lower) > 1 and self.turns[lower[-1]] % 4 == 0 and self._likely(lower[-2]):
                    self.attempt(lower[-2])
            elif self._done(kept):
                if not lower:
                    return
                self.attempt(lower[-1])
                continue
            if not self.clock.over() and not self._done(kept):
                self.attempt(kept)

    def _likely(self, ii: int) -> bool:
        """True while attempts at an II still come nearer to a legal placement; now and then after that, too."""
        return self.idle[ii] < _PATIENCE or self.turns[ii] % 3 == 0

    def _weigh(self, candidates: list[int]) -> None:
        """Attempt all IIs from the first with a placement on in turn: a higher one may be better by the goal."""
        while self.best.legal is not None and not self.clock.over():
            for ii in candidates:
                if ii in self.near and not self.clock.over() and self.near[ii].violations > self.problem.size:
                    continue
                self.attempt(ii)
            if self._spent(candidates[-1]):
                return

    def attempt(self, ii: int) -> None:
        """Play boards at an II and anneal the best, and the best so far."""
        turn = self.turns[ii]
        self.turns[ii] += 1
        before = self.near[ii].violations if ii in self.near else 1 << 30
        starts = self._boards(ii, turn)
        known = self._known(ii)
        fine = starts and (known is None or known.violations <= max(4, self.problem.size // 3) or turn > 1)
        if fine and self.anneals and not self.clock.over() and not self._done(ii):
            origins = [starts[0]]
            origins.append((known.tile, known.spoke) if known is not None and turn else starts[min(1, len(starts) - 1)])
            self._anneal(ii, turn, origins)
        after = self.near[ii].violations if ii in self.near else 1 << 30
        self.idle[ii] = 0 if after < before else self.idle[ii] + 1
        self.clock.report(f"II {ii}", self.best.words)

    def _known(self, ii: int) -> SpokeSchedule | None:
        """The best placement at an II so far, legal or not."""
        legal = self.best.legal
        return legal if legal is not None and legal.ii == ii else self.near.get(ii)

    def _seed(self, *parts: int) -> int:
        return int(np.random.SeedSequence((self.clock.budget.seed, *parts)).generate_state(1, np.uint32)[0])

    def _boards(self, ii: int, turn: int) -> list[tuple[Int32s, Int32s]]:
        """Play a batch of boards in both orders; returns the best ones, of which the first are kept as candidates."""
        count = max(2, self.settings.boards // (2 if turn else 8))

        def job(k: int) -> Any:
            heats = np.linspace(0.0 if turn == 0 else 0.1, self.settings.heat, count).astype(np.float32)
            problem = self.begin if self.begin is not None and (turn + k) % 2 == 0 else self.problem
            return lambda: self.player(ii, problem, _ORDERS[k], self._seed(ii, turn, k), heats)

        rows: list[tuple[float, Int32s, Int32s]] = []
        for tile, spoke, cost in self.clock.run([job(k) for k in range(2)]):
            self.clock.moves += len(cost) * self.problem.size
            rows += [(float(cost[b]), tile[b], spoke[b]) for b in range(len(cost)) if cost[b] < 1e9]
        rows.sort(key=lambda row: row[0])
        for _, tile, spoke in rows[:_LOOKED_AT]:
            self._take(ii, tile, spoke)
        return [(tile, spoke) for _, tile, spoke in rows]

    def _take(self, ii: int, tile: Int32s, spoke: Int32s) -> None:
        """Schedule and route a placement, and keep it where it is better than what there is at its II."""
        found = realise(self.problem, ii, tile, spoke, lambda: self.clock.late)
        if found is None:
            return
        self.best.keep(found)
        old = self.near.get(ii)
        if old is None or (found.violations, found.cycles) < (old.violations, old.cycles):
            self.near[ii] = found

    def _anneal(self, ii: int, turn: int, origins: list[tuple[Int32s, Int32s]]) -> None:
        """Anneal placements from a low temperature and keep what becomes better."""
        moves = _MOVES * max(8, self.problem.size) * 2 ** min(turn, _DOUBLINGS)
        effort = self.clock.budget.effort
        if effort is not None:
            moves = max(64, min(moves, effort // 8))
        cooling = Cooling(moves, self.settings.anneal_heat, _COLD, self.settings.goal.tiles)

        def job(k: int) -> Any:
            tile, spoke = (array.copy() for array in origins[k])
            seed = self._seed(ii, turn, k, 1)

            def work() -> tuple[Int32s, Int32s, int]:
                tables = self.problem.tables
                _, _, made = anneal(tables, ii, seed, cooling, self.clock.stop, tile, spoke, self.floor)
                return tile, spoke, int(made)

            return work

        for tile, spoke, made in self.clock.run([job(k) for k in range(len(origins))]):
            self.clock.moves += made
            self._take(ii, tile, spoke)


def _two_ops() -> SpokesProblem:
    """The smallest problem that runs every kernel."""
    from gridloom.dfg.model import DfgBuilder

    b = DfgBuilder("two")
    b.output(b.add("neg", b.add("neg", b.input("x"))), "y")
    arch = registry.load("archs", "streaming-engine")({"family": "streaming-engine", "tiles": 2})
    return build_problem(b.build(), arch)


def slot_player(weights: SlotWeights, settings: GuidedSettings, stop: NDArray[np.uint8]) -> Player:
    """Return the player of the slot policy; graphs and their contexts are computed once per order and problem."""
    known: dict[tuple[int, Order], tuple[SpokesProblem, BoardGraph, Net]] = {}

    def player(
        ii: int, problem: SpokesProblem, order: Order, seed: int, heats: NDArray[np.float32]
    ) -> tuple[Int32s, Int32s, NDArray[np.float32]]:
        key = (id(problem), order)
        if key not in known:
            graph = graph_of(problem, order)
            known[key] = (problem, graph, net_of(weights, problem, graph))
        _, graph, net = known[key]
        tile, spoke = (np.zeros((len(heats), problem.size), dtype=np.int32) for _ in range(2))
        cost = np.full(len(heats), 1e9, dtype=np.float32)
        play(problem.tables, graph, net, ii, seed, heats, settings.goal.tiles, stop, tile, spoke, cost, NOTHING)
        return tile, spoke, cost

    return player


def _nothing() -> DecisionRecord:
    """A record that keeps nothing."""
    flat = np.zeros((0, 0), dtype=np.float32)
    rows, legal = np.zeros((0, 0, 0, FEATURES), dtype=np.float32), np.zeros((0, 0, 0), dtype=np.bool_)
    boards = np.zeros((0, 0, SURVEY), dtype=np.float32)
    return DecisionRecord(rows, legal, boards, np.zeros((0, 0), dtype=np.int32), flat, flat)


NOTHING = _nothing()
