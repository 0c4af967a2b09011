"""``anneal``: multi-start simulated annealing, PathFinder routing and exact balancing for the static grids.

After VPR's placer and router (Betz and Rose 1997, McMurchie and Ebeling 1995) and NeoSA (spatial mapping of fully
pipelined dataflow, one op per PE, II = 1). The idea:

1. many starts anneal a placement; a hop costs what the objective says, and swaps know op classes;
2. links are negotiated for: each link carries one signal of one age;
3. issue cycles and FIFOs are optimal for the routes (difference constraints, minimum cuts);
4. where FIFOs remain, cycles are fixed first and wires are routed as long as values have to wait;
5. what cannot be routed or balanced is annealed together with its routes; later starts anneal the best ones anew;
6. for short wires, placements are annealed together with shortest ways from the beginning.

Cost: a start of n nodes makes about 40 * inner * n^(4/3) moves, linear beyond 64 nodes; routing takes about as long as
a short start. Limits: for other objectives links are not seen while placing, one op per tile, no recomputation.
"""

from __future__ import annotations

from collections.abc import Callable
from collections.abc import Mapping as MappingABC
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from gridloom.archs.model import Arch
from gridloom.dfg.model import Dfg
from gridloom.mapping.model import Failure, Mapping
from gridloom.search.arrays import Int32s
from gridloom.search.budget import Budget, SearchClock
from gridloom.search.choice import check_suits
from gridloom.search.placements import GivenRegions, cannot_sit, check_complete, find_outside, regions_of, tiles_of
from gridloom.search.settings import check_settings
from gridloom.targets.grid.mappers.batches import BATCH, ObjectiveGoal, in_words, provenance, start_seed
from gridloom.targets.grid.mappers.mapping import PlacementCandidate, look_at, to_failure, to_mapping
from gridloom.targets.grid.mappers.problem import StaticProblem, build_problem
from gridloom.targets.grid.mappers.screening import screen
from gridloom.targets.grid.mappers.search import SHORT, WAYS_SHARE, Objective, StaticSearch

# The part of the remaining time that a run with trees of nets may take, and moves per second, a low estimate.
_SPREAD, _NET_MOVES = 0.4, 400_000

# About how many temperatures a start has: it turns a number of moves into moves per temperature.
_TEMPERATURES = 80

# Short wires: the part of a time limit after which the rest is for long starts, and how much of the rest they plan for:
# mending takes as long again.
_TRIAL = 0.1
_LONG, _LONG_MENDED = 0.9, 0.45

# Nodes beyond which the moves of a node no longer grow: large graphs are to take little more time than their size.
_LARGE = 64


@dataclass(frozen=True, kw_only=True)
class AnnealConfig(GivenRegions):
    """Settings of ``anneal``.

    The placements ``pin``, ``init`` and ``place`` are inherited. With a time limit or an effort the number of starts
    follows from the budget, and ``starts`` is not read.
    """

    #: What is made small first: FIFO depths (``buffers``), links of routes beyond the first (``wirelength``), the same
    #: of the shortest ways between tiles, taken or not (``placement``), or cycles to the last result (``latency``).
    objective: Objective = "buffers"
    #: The number of starts when the budget has no limit.
    starts: int = 24
    #: Moves per temperature of the first starts, as a multiple of nodes^(4/3) (nodes * 4 beyond 64 nodes); the number
    #: doubles from batch to batch.
    inner: float = 8.0
    #: How often ``inner`` doubles at most.
    doublings: int = 4
    #: The first temperature of a start at random, as a multiple of the spread of costs.
    heat: float = 0.4
    #: The first temperature of a start from an elite or a given placement, as a multiple of the spread of costs.
    reheat: float = 0.08
    #: How many of the best candidates are kept for later starts to begin from; 0: every start begins at random.
    elites: int = 4
    #: Moves for each node in runs that move nodes together with their routes and cycles.
    joint: int = 1000
    #: How many links longer than the shortest way a route may be.
    detour: int = 4

    def __post_init__(self) -> None:
        check_settings(
            self,
            one_of={"objective": ("buffers", "wirelength", "placement", "latency")},
            at_least={"starts": 1, "doublings": 0, "elites": 0, "joint": 0, "detour": 0},
            positive=("inner", "heat", "reheat"),
        )


def anneal(dfg: Dfg, arch: Arch, config: AnnealConfig, budget: Budget) -> Mapping | Failure:
    """A mapping of a graph on a static grid (mesh, onehop, hex, chess), or why there is none.

    Runs until the budget is used up, ``config.starts`` starts are made (budget without limit) or the result is proved
    to be the best. OptionError for another kind of array or a placement that names what is not there.
    """
    check_suits("anneal", dfg, arch)
    clock = budget.start()
    regions = regions_of(dfg, arch, config)
    outside = find_outside(dfg, arch, regions)
    if outside is not None:
        return outside
    problem = build_problem(dfg, arch, regions)
    given = tiles_of(dfg, arch, config.place or config.pin, "place" if config.place else "pin")
    fixed = _of_problem(problem, given)
    first = _of_problem(problem, tiles_of(dfg, arch, config.init, "init"))
    reason = screen(problem) or _misplaced(problem, fixed) or _misplaced(problem, first)
    if reason is not None:
        return reason
    if config.place:
        check_complete(dfg, arch, given)
    search = StaticSearch(problem, config, fixed)
    search.warm_up()
    clock.prepared()
    goal = ObjectiveGoal(problem, config.objective)
    # Where every node is pinned there is nothing to move: a search would never end.
    kept = bool(fixed) and len(fixed) == len(problem.nodes)
    best = _given(search, clock) if kept else _Starts(search, config, clock, first, goal).best()
    clock.report("done", in_words(best))
    if not best.legal:
        return to_failure(problem, best, kept)
    return to_mapping(problem, best, provenance("anneal", config, clock, best, goal))


# -- the search -----------------------------------------------------------------------------------------------------


class _Starts:
    """Batches of starts: fresh ones and ones from the best so far.

    ``elites`` are the best different candidates so far, best first. In a batch every second start begins from one of
    them with a cool annealing; the others begin at random or from the placement that the user gave. Elites are only
    updated between batches, in the order of the starts, so that the result does not depend on the number of workers.
    """

    def __init__(
        self, search: StaticSearch, config: AnnealConfig, clock: SearchClock, first: dict[int, int], goal: ObjectiveGoal
    ) -> None:
        self.search = search
        self.goal = goal
        self.clock = clock
        self.config = config
        self.first = _completed(search, first)
        self.elites: list[PlacementCandidate] = []
        #: Moves of a start of the last batch if no conflicts over links had to be mended.
        self.planned = 0
        #: Whether a start had conflicts to mend, and whether the long starts were made.
        self.mended = False
        self.lengthened = False

    def best(self) -> PlacementCandidate:
        """Run batches until the budget or the proof ends them."""
        batch = 0
        while True:
            leader = self._run([self._job(batch, k) for k in range(BATCH)])
            batch += 1
            self._report(f"{batch * BATCH} starts", leader)
            if self._ended(leader):
                return leader
            if self.clock.budget.unlimited and batch * BATCH >= self.config.starts:
                return leader
            if self._time_for_long_starts():
                leader = self._run(self._long_jobs(batch))
                self._report("long starts", leader)
                if self._ended(leader):
                    return leader

    def _report(self, phase: str, leader: PlacementCandidate) -> None:
        """Tell how far the search is, with a look at its best candidate."""
        self.clock.report(phase, in_words(leader), look=lambda: look_at(self.search.problem, leader))

    def _run(self, jobs: list[Callable[[], PlacementCandidate]]) -> PlacementCandidate:
        """Run a batch; returns the best so far."""
        for candidate in self.clock.run_some(jobs):
            self.clock.moves += candidate.moves
            self.mended = self.mended or candidate.moves > self.planned
            self._keep(candidate)
        return self.elites[0]

    def _ended(self, leader: PlacementCandidate) -> bool:
        """True when the budget is used up or the best candidate is proved to be optimal."""
        return self.clock.over() or self.goal.reached(leader)

    def _time_for_long_starts(self) -> bool:
        """True once, under a time limit, when speed is known: one long start has shorter wires than many short ones."""
        limit = self.clock.budget.time_limit
        if self.config.objective != "wirelength" or limit is None or self.lengthened or self.search.recurrent.any():
            return False
        self.lengthened = self.clock.seconds > _TRIAL * limit
        return self.lengthened

    def _long_jobs(self, batch: int) -> list[Callable[[], PlacementCandidate]]:
        """A start for each worker that takes what is left of the time; less where starts had conflicts to mend."""
        workers = self.clock.budget.workers
        each = self.clock.moves / max(self.clock.seconds, 1e-6) / workers
        share = _LONG_MENDED if self.mended else _LONG
        moves_each = max(16, int(share * each * (self.clock.remaining or 0.0) / WAYS_SHARE))
        return [self._job(batch, 2 * k, moves_each) for k in range(workers)]

    def _keep(self, candidate: PlacementCandidate) -> None:
        """Elites are sorted; of equal placements and scores the first stays."""
        if any(
            candidate.score == other.score and (candidate.position == other.position).all() for other in self.elites
        ):
            return
        self.elites.append(candidate)
        self.elites.sort(key=lambda elite: elite.score)
        del self.elites[max(1, self.config.elites) :]

    def _job(self, batch: int, k: int, moves_each: int | None = None) -> Callable[[], PlacementCandidate]:
        """Start ``k`` of a batch, ready to run; ``moves_each`` replaces the moves per temperature of the batch.

        Odd starts take the elites in turn. Starts at random take the regions of the search in turn (see
        ``StaticSearch.regions``).
        """
        number = batch * BATCH + k
        moves_each = moves_each or self._moves_each(batch)
        self.planned = WAYS_SHARE * moves_each
        common: dict[str, Any] = {
            "seed": start_seed(self.clock.budget.seed, number),
            "moves_each": moves_each,
            "stop": self.clock.stop,
            "record": self.elites[0].score if self.elites else None,
            "spread": None if self.clock.budget.time_limit is None else self._moves_left,
        }
        if self.elites and self.config.elites > 0 and k % 2 == 1:
            elite = self.elites[(batch + k // 2) % len(self.elites)]
            return partial(self.search.start, elite.position, heat=self.config.reheat, **common)
        heat = self.config.heat if self.first is None else self.config.reheat
        return partial(self.search.start, self.first, heat=heat, region=number, **common)

    def _moves_left(self) -> int:
        """Moves with trees of nets that a part of the remaining time is enough for: a run that is cut short is lost."""
        return int(_SPREAD * (self.clock.remaining or 0.0) * _NET_MOVES)

    def _moves_each(self, batch: int) -> int:
        """Moves per temperature of a batch: twice those of the batch before, within ``doublings`` and the effort."""
        inner = self.config.inner * 2 ** min(batch, self.config.doublings)
        count = max(2, len(self.search.movable))
        moves = int(inner * count * min(count, _LARGE) ** (1 / 3))
        effort = self.clock.budget.effort
        if effort is not None:
            each = WAYS_SHARE if self.config.objective in SHORT else _TEMPERATURES
            moves = min(moves, effort // (BATCH * each))
        return max(moves, 16)


def _given(search: StaticSearch, clock: SearchClock) -> PlacementCandidate:
    """Route and balance the given placement, with several orders of nets."""
    position = np.array([search.fixed[k] for k in range(search.problem.size)], dtype=np.int32)
    jobs = [partial(search.realise, position, start_seed(clock.budget.seed, k), 0, clock.stop) for k in range(BATCH)]
    return min(clock.run(jobs), key=lambda candidate: candidate.score)


# -- placements that the user gives -----------------------------------------------------------------------------------


def _of_problem(problem: StaticProblem, given: MappingABC[int, int]) -> dict[int, int]:
    """Problem node -> tile, from position in the graph -> tile."""
    return {int(problem.number[k]): tile for k, tile in given.items()}


def _misplaced(problem: StaticProblem, placed: dict[int, int]) -> Failure | None:
    """The Failure of the first node that was given a tile which cannot run it; None when all tiles can.

    Beside op classes the number of operands and of links into the tile count here, so this says more than the function
    of the same name in :mod:`gridloom.search.placements`.
    """
    dfg, arch = problem.dfg, problem.arch
    for node, tile in placed.items():
        if not problem.may_sit(node, tile):
            name = dfg.nodes[problem.nodes[node]].id
            demand = f"op class {dfg.op_class(name)}, its operands and a link for each signal"
            return cannot_sit(name, arch.tiles[tile], demand)
    return None


def _completed(search: StaticSearch, first: dict[int, int]) -> Int32s | None:
    """A first placement from what the user gave; the rest at random. None: nothing was given, or it leaves no room."""
    from gridloom.targets.grid.mappers.screening import match

    kept = {node: tile for node, tile in first.items() if node not in search.fixed and not search.fixed_tiles[tile]}
    if not kept:
        return None
    rows = [np.flatnonzero(row).astype(np.int32) for row in search.problem.allowed]
    return match(search.problem, range(search.problem.size), rows, search.fixed | kept)
