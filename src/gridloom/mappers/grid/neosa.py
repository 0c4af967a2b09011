"""``neosa``: the published annealing placer of fully pipelined grids, as a reference for other mappers.

After NeoSA (a thesis on heterogeneous coarse-grained arrays for machine learning, Universidade Federal de Viçosa,
algorithm 1). The idea:

1. many independent instances begin at random; the cost is the wirelength, hops beyond the first summed over edges;
2. at each temperature every pair of cells is offered a swap, kept if no worse or with probability exp(-delta / T);
3. T falls from 100, times 0.999 after each sweep, until 1e-5 or until the wirelength is 0;
4. a node never leaves the region (tiles with the same op classes) that it begins in.

The published router and FIFO count are not part of it: routes and FIFOs are ours (PathFinder, exact balancing), so
that a placement counts only if it is legal. Cost: 16,111 sweeps of tiles^2 / 2 pairs for each instance. Limits:
congestion and balance are not seen while placing; nothing is learned from one instance for the next.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from gridloom.archs.model import Arch
from gridloom.dfg.model import Dfg
from gridloom.errors import OptionError
from gridloom.mappers.budget import Budget, Clock
from gridloom.mappers.choice import refuse_unsuited
from gridloom.mappers.core.arrays import Int32s
from gridloom.mappers.grid.mapping import to_failure, to_mapping
from gridloom.mappers.grid.problem import StaticProblem, build_problem
from gridloom.mappers.grid.screening import screen
from gridloom.mappers.grid.search import Candidate, Flag, Objective, StaticSearch
from gridloom.mappers.origin import origin
from gridloom.mappers.settings import check_settings
from gridloom.mapping.model import Failure, Mapping

#: Instances between which the budget is asked. Fixed, so that a result does not depend on the number of workers.
BATCH = 4


@dataclass(frozen=True, kw_only=True)
class NeosaConfig:
    """Settings of ``neosa``; the temperatures are the published ones.

    A sweep over all pairs of cells is made at each of about 16,000 temperatures, whatever the size of the graph, so
    that an instance of a large array is slow; a larger drop (``cooling`` of 0.99) makes it ten times as fast.
    """

    #: What the best of the legal instances is chosen by: FIFO depths, links of routes beyond the first, or cycles to
    #: the last result.
    objective: Objective = "buffers"
    #: The largest number of instances; the published figures are the best of 1,000.
    instances: int = 100
    #: Take the first instance that can be routed and balanced, instead of the best one.
    first_legal: bool = False
    #: The first temperature, in links.
    hot: float = 100.0
    #: The temperature at which an instance ends.
    cold: float = 1e-5
    #: What the temperature is multiplied by after each sweep over all pairs of cells.
    cooling: float = 0.999
    #: How many links longer than the shortest way a route may be.
    detour: int = 4

    def __post_init__(self) -> None:
        check_settings(
            self, one_of={"objective": ("buffers", "wirelength", "latency")}, at_least={"instances": 1, "detour": 0}
        )
        if not 0 < self.cooling < 1:
            raise OptionError(f"cooling: expected more than 0 and less than 1, found {self.cooling}")
        if not 0 < self.cold < self.hot < math.inf:
            raise OptionError(f"cold and hot: expected 0 < cold < hot, found {self.cold} and {self.hot}")

    @property
    def joint(self) -> int:
        """Moves for each node together with its routes: the published placer makes none."""
        return 0

    @property
    def sweeps(self) -> int:
        """Sweeps of an instance that does not reach wirelength 0."""
        return math.ceil(math.log(self.cold / self.hot) / math.log(self.cooling))


def neosa(dfg: Dfg, arch: Arch, config: NeosaConfig, budget: Budget) -> Mapping | Failure:
    """The best legal one of many NeoSA placements on a static grid (mesh, onehop, hex, chess), or why there is none.

    Ends with ``config.instances`` instances, with the budget, with the first legal instance if that is asked for, or
    at a figure of 0 that nothing can be below. OptionError for another kind of array.
    """
    refuse_unsuited("neosa", dfg, arch)
    clock = budget.start()
    problem = build_problem(dfg, arch)
    reason = screen(problem)
    if reason is not None:
        return reason
    run = _Instances(problem, config, clock)
    best = run.best()
    run.clock.report("done", f"{run.legal} of {run.made} instances legal")
    if not best.legal:
        return to_failure(problem, best, False)
    return to_mapping(problem, best, run.provenance(best))


class _Instances:
    """Independent instances, in batches.

    Making it compiles the kernels and places once without moving, before the clock starts. ``made`` counts the
    instances, ``legal`` those of them that could be routed and balanced.
    """

    def __init__(self, problem: StaticProblem, config: NeosaConfig, clock: Clock) -> None:
        self.problem = problem
        self.config = config
        self.search = StaticSearch(problem, config, {})
        self.region = _regions(problem.arch)
        self.made = 0
        self.legal = 0
        self.search.warm_up()
        self.place(0, cooling=0.5, stop=np.ones(1, dtype=np.uint8))
        self.clock = clock.prepared()

    def best(self) -> Candidate:
        """Run batches until the configuration or the budget ends them.

        With ``first_legal`` the first legal instance in the order of their numbers stays, however good later ones are.
        """
        best: Candidate | None = None
        while best is None or not self._ended(best):
            count = min(BATCH, self.config.instances - self.made)
            candidates = self.clock.run_some([self._job(self.made + k) for k in range(count)])
            self.made += len(candidates)
            for candidate in candidates:
                self.clock.moves += candidate.moves
                self.legal += candidate.legal
                if best is None or (candidate.score < best.score and not (best.legal and self.config.first_legal)):
                    best = candidate
            self.clock.report(f"{self.made} instances", f"{self.legal} legal")
        return best

    def _ended(self, best: Candidate) -> bool:
        chosen = best.legal and (self.config.first_legal or self.optimal(best))
        return chosen or self.made >= self.config.instances or self.clock.over()

    def optimal(self, candidate: Candidate) -> bool:
        """True when the objective is 0: nothing is below it. For the latency nothing is claimed."""
        if self.config.objective == "latency":
            return False
        figures = 3 if self.config.objective == "buffers" else 2
        return not any(candidate.score[:figures])

    @property
    def pairs(self) -> int:
        """Pairs of cells that a sweep offers a swap."""
        return max(1, self.problem.tiles * (self.problem.tiles - 1) // 2)

    def _cooling(self) -> float:
        """The configured factor; a smaller one if the effort does not pay for a batch of whole instances."""
        effort = self.clock.budget.effort
        if effort is None:
            return self.config.cooling
        sweeps = max(1, effort // (BATCH * self.pairs))
        return min(self.config.cooling, math.exp(math.log(self.config.cold / self.config.hot) / sweeps))

    def _job(self, number: int) -> Callable[[], Candidate]:
        seed = np.random.SeedSequence((self.clock.budget.seed, number)).generate_state(1, np.uint64)[0]
        return partial(self._instance, int(seed >> np.uint64(2)), self._cooling(), number == 0)

    def _instance(self, seed: int, cooling: float, first: bool) -> Candidate:
        """Place, route and balance.

        The first instance is routed even when time is up, so that a short run has something to return, but not for
        longer than a run needs to wind up.
        """
        position, sweeps = self.place(seed, cooling=cooling, stop=self.clock.stop)
        moves = sweeps * self.pairs
        if not first:
            return self.search.realise(position, seed, moves, self.clock.stop)
        with self.clock.winding_up() as stop:
            return self.search.realise(position, seed, moves, stop)

    def place(self, seed: int, *, cooling: float, stop: Flag) -> tuple[Int32s, int]:
        """(placement, sweeps made) of one instance."""
        from gridloom.mappers.grid.place.neosa_kernel import Schedule
        from gridloom.mappers.grid.place.neosa_kernel import neosa as anneal

        search = self.search
        position = search.scattered(np.random.default_rng(seed), self.problem.allowed)
        schedule = Schedule(self.config.hot, self.config.cold, cooling)
        _, sweeps = anneal(position, self.region, search.graph, search.grid, schedule, seed, stop)
        return position, int(sweeps)

    def provenance(self, best: Candidate) -> dict[str, Any]:
        """Where the mapping came from, with how many instances were legal."""
        return origin(
            "neosa",
            self.config,
            self.clock,
            instances=self.made,
            legal_instances=self.legal,
            optimal=self.optimal(best),
        )


def _regions(arch: Arch) -> Int32s:
    """A number for each tile; tiles with the same op classes have the same one."""
    numbers: dict[tuple[frozenset[str], frozenset[str]], int] = {}
    return np.array(
        [numbers.setdefault((tile.classes, tile.lacks), len(numbers)) for tile in arch.tiles], dtype=np.int32
    )
