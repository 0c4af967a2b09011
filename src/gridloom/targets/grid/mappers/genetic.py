"""``genetic-grid``: a genetic placer for the static grids; routes, FIFOs and cycles as in ``anneal``.

After the genetic placers for meshes of coarse-grained arrays (Silva, Ferreira, Garcia and Cardoso, ReConFig 2006). The
idea:

1. an individual is a placement, its fitness the hops beyond those that the objective gives for nothing;
2. a child takes a rectangle of the grid from one parent and the rest from the other, as far as tiles are free;
3. children are improved by a short cool annealing (a memetic algorithm; ``improve=0``: a plain genetic one);
4. parents are chosen by tournaments, the best of parents and children survive;
5. the best individuals of each population are routed and balanced; populations are independent starts.

Cost: about generations * offspring * improve * nodes moves per temperature for each start. Limits: links are not seen
before an individual is routed; ``anneal`` reaches the same wires in a fraction of the moves.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from gridloom.archs.model import Arch
from gridloom.dfg.model import Dfg
from gridloom.mapping.model import Failure, Mapping
from gridloom.search.arrays import Int32s
from gridloom.search.budget import Budget, SearchClock
from gridloom.search.choice import check_suits
from gridloom.search.settings import check_settings
from gridloom.targets.grid.mappers.batches import BATCH, ObjectiveGoal, best_of, in_words, provenance, start_seed
from gridloom.targets.grid.mappers.mapping import PlacementCandidate, to_failure, to_mapping
from gridloom.targets.grid.mappers.problem import build_problem
from gridloom.targets.grid.mappers.screening import match, screen
from gridloom.targets.grid.mappers.search import Objective, StaticSearch

# Individuals of a population that are routed.
_ROUTED = 3


@dataclass(frozen=True, kw_only=True)
class GeneticGridConfig:
    """Settings of ``genetic-grid``.

    A population makes ``population + generations * offspring`` individuals at most; each is improved by a short
    annealing of ``improve`` moves for each node and temperature.
    """

    #: What is made small first: FIFO depths, links of routes beyond the first, or cycles to the last result.
    objective: Objective = "buffers"
    #: The number of populations when the budget has no limit.
    starts: int = 4
    #: Individuals of a population.
    population: int = 24
    #: Children per generation.
    offspring: int = 24
    #: Generations of a population.
    generations: int = 30
    #: Tournament size: a parent is the best of this many individuals.
    tournament: int = 3
    #: The share of nodes that a mutation puts somewhere else.
    mutation: float = 0.02
    #: Moves for each node and temperature when a child is improved; 0: children stay as they are.
    improve: int = 2
    #: Moves for each node together with its routes where signals compete for links.
    joint: int = 300
    #: How many links longer than the shortest way a route may be.
    detour: int = 4

    def __post_init__(self) -> None:
        least = {"starts": 1, "population": 2, "offspring": 1, "generations": 0, "tournament": 1}
        least |= {"improve": 0, "joint": 0, "detour": 0}
        check_settings(
            self, one_of={"objective": ("buffers", "wirelength", "latency")}, at_least=least, shares=("mutation",)
        )


def genetic_grid(dfg: Dfg, arch: Arch, config: GeneticGridConfig, budget: Budget) -> Mapping | Failure:
    """A mapping of a graph on a static grid (mesh, onehop, hex, chess) by a genetic placer, or why there is none.

    Runs until the budget is used up, ``config.starts`` populations are made (budget without limit) or the result is
    proved to be the best. OptionError for another kind of array.
    """
    check_suits("genetic-grid", dfg, arch)
    clock = budget.start()
    problem = build_problem(dfg, arch)
    reason = screen(problem)
    if reason is not None:
        return reason
    evolution = _Evolution(StaticSearch(problem, config, {}), config)
    evolution.search.warm_up()
    clock.prepared()
    goal = ObjectiveGoal(problem, config.objective)

    def job(number: int) -> partial[PlacementCandidate]:
        return partial(evolution.start, start_seed(budget.seed, number), clock)

    best = best_of(job, clock, starts=config.starts, goal=goal)
    clock.report("done", in_words(best))
    if not best.legal:
        return to_failure(problem, best, False)
    return to_mapping(problem, best, provenance("genetic-grid", config, clock, best, goal))


@dataclass(frozen=True, slots=True, eq=False)
class _Individual:
    """A placement and its cost: hops beyond those that the objective gives for nothing, weighted. It has no routes."""

    position: Int32s
    cost: int


class _Evolution:
    """Populations of one problem.

    ``rows[kind]`` are the tiles on which nodes of a kind may sit. A population is a start: populations exchange
    nothing.
    """

    def __init__(self, search: StaticSearch, config: GeneticGridConfig) -> None:
        self.search = search
        self.config = config
        p = search.problem
        self.rows = [np.flatnonzero(allowed).astype(np.int32) for allowed in p.allowed]

    def start(self, seed: int, clock: SearchClock) -> PlacementCandidate:
        """Evolve a population; route and balance its best.

        The best three are routed as they are. Where none of them is legal, the best one is annealed a little and moved
        together with its routes. Under an effort each start of a batch may use an equal part of it.
        """
        rng = np.random.default_rng(seed)
        search, config = self.search, self.config
        effort = clock.budget.effort
        most = None if effort is None else effort // BATCH
        moves = 0
        individuals: list[_Individual] = []
        for _ in range(config.population):
            if clock.stop[0] and individuals:
                break
            child, made = self._improved(search.scattered(rng, search.problem.allowed), rng, clock)
            individuals.append(child)
            moves += made
        for _ in range(config.generations):
            if clock.stop[0] or (most is not None and moves >= most):
                break
            for _ in range(config.offspring):
                if clock.stop[0]:
                    break
                child, made = self._improved(self._child(individuals, rng), rng, clock)
                individuals.append(child)
                moves += made
            individuals = self._survivors(individuals)
        # One that is out of time routes its best alone.
        count = 1 if clock.stop[0] else _ROUTED
        routed = [search.realise(one.position, seed, 0, clock.stop) for one in individuals[:count]]
        best = min(routed, key=lambda candidate: candidate.score)
        if not best.legal and config.joint and not clock.stop[0]:
            best = search.start(best.position, seed=seed, heat=0.02, moves_each=16, stop=clock.stop)
        return replace(best, moves=best.moves + moves)

    def _improved(self, position: Int32s, rng: np.random.Generator, clock: SearchClock) -> tuple[_Individual, int]:
        """(the individual that a cool annealing makes of a placement, moves made)."""
        search = self.search
        # An annealing that is stopped before it begins only counts the cost.
        stop = clock.stop if self.config.improve else np.ones(1, dtype=np.uint8)
        moves_each = max(1, self.config.improve * search.problem.size)
        placed, cost, moves = search.anneal(
            position,
            search.problem.allowed,
            seed=int(rng.integers(1 << 62)),
            heat=0.02,
            moves_each=moves_each,
            stop=stop,
        )
        return _Individual(placed, cost), moves

    def _survivors(self, individuals: list[_Individual]) -> list[_Individual]:
        """The best, each placement once."""
        different: dict[bytes, _Individual] = {}
        for one in sorted(individuals, key=lambda one: one.cost):
            different.setdefault(one.position.tobytes(), one)
        return list(different.values())[: self.config.population]

    def _parent(self, individuals: list[_Individual], rng: np.random.Generator) -> Int32s:
        """The best of ``tournament`` individuals drawn at random, with replacement."""
        drawn = rng.integers(len(individuals), size=self.config.tournament)
        best: Int32s = min((individuals[k] for k in drawn), key=lambda one: one.cost).position
        return best

    def _child(self, individuals: list[_Individual], rng: np.random.Generator) -> Int32s:
        """A rectangle of one parent, the rest of the other; who finds the tile taken goes where there is room.

        Mutation takes nodes off their tiles at random. All nodes without a tile are then matched with the free tiles
        that can run them, in random order; where the kept nodes leave no matching, the child is a copy of the first
        parent.
        """
        p = self.search.problem
        first, second = self._parent(individuals, rng), self._parent(individuals, rng)
        top, bottom = np.sort(rng.integers(p.arch.rows, size=2))
        left, right = np.sort(rng.integers(p.arch.cols, size=2))
        inside = (p.row >= top) & (p.row <= bottom) & (p.col >= left) & (p.col <= right)
        kept = {int(k): int(first[k]) for k in np.flatnonzero(inside[first])}
        taken = set(kept.values())
        for node in rng.permutation(p.size).tolist():
            if node not in kept and int(second[node]) not in taken:
                kept[node] = int(second[node])
                taken.add(kept[node])
        for node in np.flatnonzero(rng.random(p.size) < self.config.mutation).tolist():
            kept.pop(node, None)
        rows = [rng.permutation(row).astype(np.int32) for row in self.rows]
        order = sorted(rng.permutation(p.size).tolist(), key=lambda node: len(rows[p.kind[node]]))
        placement = match(p, order, rows, kept)
        return first.copy() if placement is None else np.asarray(placement, dtype=np.int32)
