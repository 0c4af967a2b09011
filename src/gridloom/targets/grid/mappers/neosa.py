"""``neosa``: the published annealing placer of fully pipelined grids, as a reference for other mappers.

After NeoSA (a thesis on heterogeneous coarse-grained arrays for machine learning, Universidade Federal de Viçosa,
algorithm 1). The idea:

1. many independent instances begin at random; the cost is the wirelength, hops beyond the first summed over edges;
2. at each temperature every pair of cells is offered a swap, kept if no worse or with probability exp(-delta / T);
3. T falls from 100, times 0.999, until 1e-5 or until the wirelength is 0: after each sweep as the thesis prints the
   algorithm, or after each first cell of a sweep as the released program has it;
4. a node never leaves the region that it begins in: tiles with the same op classes, and in the released program either
   those on the border of the array or those inside, whatever its op classes.

The published router and FIFO count are not part of it: routes and FIFOs are ours (PathFinder, exact balancing), so
that a placement counts only if it is legal. Cost: 16,111 sweeps of tiles^2 / 2 pairs for each instance as printed, and
a tiles-th of that as released. Limits: congestion and balance are not seen while placing; nothing is learned from one
instance for the next.

Instances are taken in the order of their numbers, each as if those after it had not been made, so that neither the
number of workers nor the device changes the result.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import partial
from typing import Any, Final, Literal

import numpy as np

from gridloom.archs.model import Arch, Tile
from gridloom.dfg.model import Dfg
from gridloom.errors import OptionError, install_hint
from gridloom.mapping.model import Failure, Mapping
from gridloom.search.arrays import Int32s
from gridloom.search.budget import Budget, SearchClock
from gridloom.search.choice import check_suits
from gridloom.search.settings import check_settings, origin
from gridloom.targets.grid.mappers.mapping import PlacementCandidate, to_failure, to_mapping
from gridloom.targets.grid.mappers.problem import StaticProblem, build_problem
from gridloom.targets.grid.mappers.screening import screen
from gridloom.targets.grid.mappers.search import Flag, Objective, StaticSearch

#: Whole instances that an effort pays for; where it cannot, they cool faster.
PAID = 4
#: Instances that are made between two looks at the budget: for each worker of the processor, and on a GPU.
_FOR_EACH_WORKER = 2
_ON_GPU = 4096


@dataclass(frozen=True, kw_only=True)
class NeosaConfig:
    """Settings of ``neosa``; the temperatures are the published ones.

    A sweep over all pairs of cells is made at each of about 16,000 temperatures, whatever the size of the graph, so
    that an instance of a large array is slow; a larger drop (``cooling`` of 0.99) makes it ten times as fast. The
    released schedule makes as many sweeps less as there are tiles.
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
    #: ``printed``: the temperature falls after each sweep, as the thesis prints the algorithm. ``released``: it falls
    #: after each first cell of a sweep, and nodes do not cross between the border and the inside, as in the program.
    schedule: Literal["printed", "released"] = "printed"
    #: Where instances are placed: ``cpu``, ``gpu``, or ``auto`` for a GPU if there is one. The result is the same.
    device: Device = "cpu"
    #: How many links longer than the shortest way a route may be.
    detour: int = 4

    def __post_init__(self) -> None:
        check_settings(
            self,
            one_of={
                "objective": ("buffers", "wirelength", "latency"),
                "schedule": ("printed", "released"),
                "device": DEVICES,
            },
            at_least={"instances": 1, "detour": 0},
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
    def temperatures(self) -> int:
        """Temperatures of an instance that does not reach wirelength 0."""
        return math.ceil(math.log(self.cold / self.hot) / math.log(self.cooling))

    def sweeps(self, tiles: int) -> int:
        """Sweeps of an instance on an array of so many tiles that does not reach wirelength 0.

        >>> NeosaConfig().sweeps(64), NeosaConfig(schedule="released").sweeps(64)
        (16111, 252)
        """
        return math.ceil(self.temperatures / (tiles if self.schedule == "released" else 1))


def neosa(dfg: Dfg, arch: Arch, config: NeosaConfig, budget: Budget) -> Mapping | Failure:
    """The best legal one of many NeoSA placements on a static grid (mesh, onehop, hex, chess), or why there is none.

    Ends with ``config.instances`` instances, with the budget, with the first legal instance if that is asked for, or
    at a figure of 0 that nothing can be below. OptionError for another kind of array.
    """
    check_suits("neosa", dfg, arch)
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
    instances that were looked at, ``legal`` those of them that could be routed and balanced.
    """

    def __init__(self, problem: StaticProblem, config: NeosaConfig, clock: SearchClock) -> None:
        self.problem = problem
        self.config = config
        self.gpu = on_gpu(config.device)
        self.search = StaticSearch(problem, config, {})
        self.region = regions(problem.arch, border=config.schedule == "released")
        self.made = 0
        self.legal = 0
        self.search.warm_up()
        self.place(0, cooling=0.5, stop=np.ones(1, dtype=np.uint8))
        self.clock = clock.prepared()

    def best(self) -> PlacementCandidate:
        """Run batches until the configuration or the budget ends them; the first of equally good instances stays."""
        best: PlacementCandidate | None = None
        while best is None or not self._ended(best):
            count = min(self._batch, self.config.instances - self.made)
            for candidate in self._candidates(range(self.made, self.made + count)):
                if candidate is None or (best is not None and self._ended(best)):
                    break
                self.made += 1
                self.clock.moves += candidate.moves
                self.legal += candidate.legal
                if best is None or candidate.score < best.score:
                    best = candidate
            self.clock.report(f"{self.made} instances", f"{self.legal} legal")
        return best

    @property
    def _batch(self) -> int:
        """Instances of a batch. Their number changes what is made in vain at the end of a run, never the result."""
        return _ON_GPU if self.gpu else _FOR_EACH_WORKER * self.clock.budget.workers

    def _candidates(self, numbers: range) -> list[PlacementCandidate | None]:
        """The instances of these numbers, placed, routed and balanced; None for those that time did not allow."""
        seeds = [self._seed(number) for number in numbers]
        placed = self._placed_on_gpu(seeds) if self.gpu else [None] * len(seeds)
        return self.clock.run([partial(self._instance, *job) for job in zip(numbers, seeds, placed)])

    def _seed(self, number: int) -> int:
        seed = np.random.SeedSequence((self.clock.budget.seed, number)).generate_state(1, np.uint64)[0]
        return int(seed >> np.uint64(2))

    def _placed_on_gpu(self, seeds: list[int]) -> list[tuple[Int32s, int]]:
        """(placement, sweeps made) of each seed, all at the same time."""
        from gridloom.targets.grid.mappers.place.neosa_gpu import place_all

        position = np.stack([self._scattered(seed) for seed in seeds])
        words = np.array(seeds, dtype=np.uint64)
        search, schedule = self.search, self._schedule(self._cooling())
        sweeps = place_all(position, self.region, search.graph, search.grid, schedule, words, self.clock.stop)
        return list(zip(position, sweeps.tolist()))

    def _ended(self, best: PlacementCandidate) -> bool:
        chosen = best.legal and (self.config.first_legal or self.optimal(best))
        return chosen or self.made >= self.config.instances or self.clock.over()

    def optimal(self, candidate: PlacementCandidate) -> bool:
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
        """The configured factor; a smaller one if the effort does not pay for :data:`PAID` whole instances."""
        effort = self.clock.budget.effort
        if effort is None:
            return self.config.cooling
        falls = max(1, effort // (PAID * self.pairs))
        if self.config.schedule == "released":
            falls *= self.problem.tiles
        return min(self.config.cooling, math.exp(math.log(self.config.cold / self.config.hot) / falls))

    def _instance(self, number: int, seed: int, placed: tuple[Int32s, int] | None) -> PlacementCandidate | None:
        """Place (unless a GPU has done it), route and balance.

        The first instance is routed even when time is up, so that a short run has something to return, but not for
        longer than a run needs to wind up. A later one that time runs out for does not count.
        """
        if number > 0 and self.clock.stop[0]:
            return None
        position, sweeps = placed or self.place(seed, cooling=self._cooling(), stop=self.clock.stop)
        moves = sweeps * self.pairs
        if number > 0:
            return self.search.realise(position, seed, moves, self.clock.stop)
        with self.clock.winding_up() as stop:
            return self.search.realise(position, seed, moves, stop)

    def place(self, seed: int, *, cooling: float, stop: Flag) -> tuple[Int32s, int]:
        """(placement, sweeps made) of one instance on the processor."""
        from gridloom.search.annealing import logarithms
        from gridloom.targets.grid.mappers.place.neosa_kernel import neosa as anneal

        search, position = self.search, self._scattered(seed)
        schedule, table = self._schedule(cooling), logarithms()
        _, sweeps = anneal(position, self.region, search.graph, search.grid, schedule, table, seed, stop)
        return position, int(sweeps)

    def _scattered(self, seed: int) -> Int32s:
        """The random placement that an instance begins with."""
        return self.search.scattered(np.random.default_rng(seed), self.problem.allowed)

    def _schedule(self, cooling: float) -> Any:
        from gridloom.targets.grid.mappers.place.neosa_kernel import NeosaSchedule

        return NeosaSchedule(self.config.hot, self.config.cold, cooling, self.config.schedule == "released")

    def provenance(self, best: PlacementCandidate) -> dict[str, Any]:
        """Where the mapping came from, with how many instances were legal."""
        return origin(
            "neosa",
            self.config,
            self.clock,
            instances=self.made,
            legal_instances=self.legal,
            optimal=self.optimal(best),
        )


def regions(arch: Arch, *, border: bool) -> Int32s:
    """A number for each tile; tiles that run the same ops have the same one, and with ``border`` the same place.

    The place is the border of the array or its inside.
    """
    numbers: dict[tuple[frozenset[str], frozenset[str], bool], int] = {}
    keys = [(tile.classes, tile.lacks, border and _on_border(arch, tile)) for tile in arch.tiles]
    return np.array([numbers.setdefault(key, len(numbers)) for key in keys], dtype=np.int32)


def _on_border(arch: Arch, tile: Tile) -> bool:
    return tile.row in (0, arch.rows - 1) or tile.col in (0, arch.cols - 1)


Device = Literal["cpu", "gpu", "auto"]
DEVICES: Final[tuple[Device, ...]] = ("cpu", "gpu", "auto")


def on_gpu(device: Device) -> bool:
    """Return True when the instances run on a GPU; ``auto`` takes one if there is one.

    OptionError for ``gpu`` where numba-cuda is not installed or finds no device. The simulator of numba-cuda
    (``NUMBA_ENABLE_CUDASIM=1``) counts as a device.
    """
    if device == "cpu":
        return False
    try:
        from numba import cuda

        found = bool(cuda.is_available())
    except ImportError:
        found = False
        missing = f"numba-cuda is not installed; {install_hint('gpu')}"
    else:
        missing = "CUDA finds no GPU on this machine"
    if device == "gpu" and not found:
        raise OptionError(f"device: 'gpu' cannot be used: {missing}, or take device=cpu")
    return found
