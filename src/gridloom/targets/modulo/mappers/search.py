"""Starts of the ``modulo`` search: state, order and register use of each, run on threads, lowest number wins.

A start is one call of ``negotiate``. Its seed is made of the user's seed, the II and the number of the start, and it
depends on nothing else; a start ends early only when one of a lower number has won, and its outcome is not used then.
So the result of a batch is the same with any number of workers. Diversity replaces restarts by hand: the starts vary
the order of nodes, the prices and the use of registers.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property, partial
from typing import TYPE_CHECKING

import numpy as np

from gridloom import registry
from gridloom.search.arrays import Float64s, Int64s
from gridloom.search.budget import SearchClock
from gridloom.targets.modulo.mappers.initial.placement import initial_places
from gridloom.targets.modulo.mappers.listed import list_parameters, list_rank, list_registers
from gridloom.targets.modulo.mappers.mapping import Solution, memory_words
from gridloom.targets.modulo.mappers.problem import WORD_BYTES, ModuloProblem, RegisterUse
from gridloom.targets.modulo.mappers.reach.distances import Distances
from gridloom.targets.modulo.mappers.schedule.iterative import warm_up_distances
from gridloom.targets.modulo.mappers.state import ModuloLoop, Parameters, Race, empty_state, workspace

#: Starts that run together. The number is fixed, so that a result does not depend on the number of workers.
BATCH = 4


if TYPE_CHECKING:
    from gridloom.targets.modulo.mappers.config import ModuloConfig

#: Weight of the distance to its preferred cycle for a node without placed neighbours.
PULL = 0.3

#: Annealing moves for each move of an effort.
ANNEALING = 40

# Annealing moves that take about as long as placing a node with its routes, and count as one move of an effort.
_COUNTED = 100

# Registers per tile that quick starts keep to.
_FEW = 4

# Nodes from which on kernels are warmed up on another loop.
_STAND_IN = 200

#: Graphs with at least this many nodes are placed by annealing before their routes are negotiated.
LARGE = 100

#: On arrays with more tiles than this, routes are looked for in a box around their ends.
BOXED = 100

# Of a batch for a large graph, the starts from this one on begin with nothing placed.
_ANNEALED = 3

# Batches at an II for a small graph in which all starts begin with nothing placed.
_COLD_BATCHES = 2

# Rounds of negotiation from an annealed placement for each round of an effort's patience.
_ROUNDS = 8

# Graphs with more nodes than this keep the arrays of one II only.
_KEPT = 1000


@dataclass(frozen=True, eq=False)
class ModuloAttempt:
    """How a start ended: its solution, or the state it gave up in.

    ``solution`` is legal only where ``found`` is true.
    """

    found: bool
    solution: Solution
    #: Moves of the negotiation, and those of the annealing by the time that they take.
    moves: int
    #: Signals without room in the best round.
    overuse: int


class ModuloSearch:
    """Starts for one problem; keeps the arrays of each II that was tried."""

    def __init__(self, problem: ModuloProblem, *, large: bool | None = None) -> None:
        self.problem = problem
        #: Whether the first starts anneal a placement. Estimates of routes know nothing of wires that take no cycle.
        self.large = len(problem.nodes) >= LARGE and not problem.arch.has("crossbars") if large is None else large
        self.distances = Distances(problem)
        self.objective = registry.hook_for("objectives", problem.arch)
        self._loops: dict[int, ModuloLoop] = {}

    def loop(self, ii: int) -> ModuloLoop:
        """The graph's arrays for an II, made once."""
        if ii not in self._loops:
            # The tables of a very large graph take some hundred megabytes.
            if len(self.problem.nodes) > _KEPT:
                self._loops.clear()
            self._loops[ii] = self.problem.loop(ii)
        return self._loops[ii]

    def batch(
        self, ii: int, first: int, effort: Parameters | None, clock: SearchClock, *, any_wins: bool = False
    ) -> tuple[ModuloAttempt | None, ModuloAttempt]:
        """Run a batch of starts from number ``first`` on; (the winner or None, the start that came closest).

        Without an ``effort`` they are list starts, which have their own.

        The moves of starts after the winner are not counted, since how many they made depends on the timing. With
        ``any_wins`` the first mapping in time ends the batch, so that nobody waits for a start of a lower number that
        may fail; the result then depends on the timing.
        """
        won = np.full(1, 1 << 30, dtype=np.int64)
        loop = self.loop(ii)
        jobs: list[Callable[[], ModuloAttempt | None]] = [
            partial(self._start, loop, ii, first + k, effort, clock, won, any_wins=any_wins) for k in range(BATCH)
        ]
        attempts = [attempt for attempt in clock.run(jobs) if attempt is not None]
        winner = next((k for k, attempt in enumerate(attempts) if attempt.found), None)
        clock.moves += sum(attempt.moves for attempt in attempts[: BATCH if winner is None else winner + 1])
        closest = min(attempts, key=lambda attempt: attempt.overuse)
        return (None if winner is None else attempts[winner]), closest

    def _start(
        self,
        loop: ModuloLoop,
        ii: int,
        number: int,
        effort: Parameters | None,
        clock: SearchClock,
        won: Int64s,
        *,
        any_wins: bool = False,
    ) -> ModuloAttempt | None:
        """One start: a solution that fits the data memory, or the state in which it gave up.

        None where a start of a lower number, or any with ``any_wins``, has won before this one begins.
        """
        from gridloom.targets.modulo.mappers.place_kernel import negotiate

        if won[0] < number:
            return None
        seed = np.random.SeedSequence((clock.budget.seed, ii, number, *(() if effort else (0,))))
        rng = np.random.default_rng(seed)
        annealed = effort is not None and effort.annealing > 0 and self.annealed(number)
        if effort is None:
            registers = list_registers(self.problem, number)
            parameters, move_price = list_parameters(loop.nodes, number, rng), 1.5
        else:
            registers = self.settled_registers(number) if annealed else self.registers(ii, number)
            parameters, move_price = _parameters(effort, loop.nodes, rng)
        fabric = self.problem.fabric(loop, ii, registers, move_price)
        state = empty_state(fabric, loop, self.problem.pool_room)
        report = np.array([0, 1 << 30], dtype=np.int64)
        rank = list_rank(loop, number, rng) if effort is None else _rank(loop, rng)
        first_tile = self._first_tiles(number)
        first_cycle, counted = None, 0
        race = Race(stop=clock.stop, won=won, number=number)
        if effort is not None and annealed:
            parameters = _settled(parameters, effort, rng)
            places = initial_places(
                self.distances, fabric, loop, registers, rank, first_tile, rng, effort.annealing, race
            )
            counted = effort.annealing * loop.nodes // _COUNTED
            if places is not None:
                first_tile, first_cycle = places
        boxed = fabric.tiles > BOXED and fabric.wires == 0
        reach = self.distances.reach if boxed else None
        seed_of_kernel = int(rng.integers(1 << 31))
        work = workspace(fabric, state, rank, first_tile, seed_of_kernel, first_cycle, reach, self._lanes)
        found = bool(negotiate(fabric, loop, state, work, parameters, race, report))
        solution = Solution(self.problem, ii, registers, state)
        if found and not self._fits(solution):
            found = False
        if found:
            won[0] = -1 if any_wins else min(int(won[0]), number)
        return ModuloAttempt(found, solution, int(report[0]) + counted, int(report[1]))

    def counts_clocks(self, config: ModuloConfig) -> bool:
        """Whether the least clocks are looked for, and not the lowest II alone."""
        return self.objective is not None and config.batches > 0

    def sample(self, ii: int, first: int, effort: Parameters, clock: SearchClock) -> list[Solution]:
        """Run a batch of starts from number ``first`` on, none of which ends another; return the legal solutions."""
        loop = self.loop(ii)
        jobs: list[Callable[[], ModuloAttempt | None]] = [
            partial(self._start, loop, ii, first + k, effort, clock, np.full(1, 1 << 30, dtype=np.int64))
            for k in range(BATCH)
        ]
        attempts = [attempt for attempt in clock.run(jobs) if attempt is not None]
        clock.moves += sum(attempt.moves for attempt in attempts)
        return [attempt.solution for attempt in attempts if attempt.found]

    @cached_property
    def _lanes(self) -> tuple[Int64s, Int64s] | None:
        """[kind] -> clocks that its ops take; [kind, tile] -> the lane that they use; None: slots last equally."""
        if self.objective is None:
            return None
        classes = [self.problem.dfg.ops[k].op_class for k in self.problem.kind_models]
        lanes = self.objective.lanes_of(self.problem.arch)
        lane = [lanes if self.objective.takes_lane(name) else [-1] * len(lanes) for name in classes]
        return np.array([self.objective.clocks_of(name) for name in classes], dtype=np.int64), np.array(lane)

    def annealed(self, number: int) -> bool:
        """True for a start that anneals a placement first: most of those of a large graph.

        A small graph, which is as a rule mapped by its first starts, gets some once these have failed.
        """
        if self.problem.arch.has("crossbars"):
            return False
        if self.large:
            return number % BATCH < _ANNEALED
        return number >= _COLD_BATCHES * BATCH and number % 2 == 1

    def settled_registers(self, number: int) -> RegisterUse:
        """How a start from an annealed placement uses register files: all of them, and all rotate.

        Where there are live-ins, which only registers that stay in place can keep, fewer rotate in turns.
        """
        most = max((len(file.registers) for file in self.problem.arch.register_files), default=0)
        if not self.problem.liveins:
            return RegisterUse(limit=most, rotating=most)
        still = (1, most // 2, most, (most + 3) // 4)[number // BATCH % 4]
        return RegisterUse(limit=most, rotating=max(0, most - still))

    def _first_tiles(self, number: int) -> Int64s:
        """The tile on which each node is placed first; every second start goes on from the placement that is given."""
        problem = self.problem
        given = problem.first if number % 2 == 0 else {}
        return np.array([given.get(k, -1) for k in problem.nodes], dtype=np.int64)

    def _fits(self, solution: Solution) -> bool:
        """True when arrays, spilled values and live-ins fit the data memory."""
        limit = self.problem.arch.data_memory
        if limit is None:
            return True
        words = sum(array.length for array in self.problem.dfg.arrays) + memory_words(solution)
        return words * WORD_BYTES <= limit

    def registers(self, ii: int, number: int) -> RegisterUse:
        """How a start uses register files: few or all, still or rotating in turns.

        Starts that keep to few registers are quick, and find on a larger file what a smaller one has room for. The
        choices follow each other by the number of the start.
        """
        files = self.problem.arch.register_files
        most = max((len(file.registers) for file in files), default=0)
        few = min(most, _FEW * max(1, -(-len(self.problem.arch.tiles) // max(1, 2 * len(files)))))
        half = (few + 1) // 2
        choices = [(few, half), (most, 0), (few, few), (most, most - 1), (few, 0), (most, most // 2), (2, 1)]
        # A register that does not rotate holds a value for II cycles, which is of little use at a low II.
        if ii <= 2:
            choices = [(few, few), (most, most), (few, half), (most, most - 1)]
        limit, rotating = choices[number % len(choices)]
        return RegisterUse(limit=min(limit, most), rotating=max(0, min(rotating, limit, most)))

    def warm_up(self) -> None:
        """Load or compile the kernels before any clock runs, by a start that is stopped at once.

        The II is large enough for every recurrence, or 64, so that the loop's arrays can be made. A large loop has
        arrays that take seconds to make: a small one of the same types stands in for it.
        """
        from gridloom.search.budget import Budget

        if len(self.problem.nodes) > _STAND_IN:
            warm_up()
            return
        warm_up_distances()
        clock = Budget().start()
        clock.stop[0] = 1
        effort = Parameters(
            moves=2, patience=1, present=1.0, growth=1.0, ceiling=1.0, history=1.0, noise=0.0, extra=1, pull=PULL,
            removal=1.0,
        )  # fmt: skip
        ii = 1 + sum(d.delay for d in self.problem.dependences if d.distance >= 0)
        ii = min(ii, 64)
        loop = self.loop(ii)
        self._start(loop, ii, 0, effort, clock, np.full(1, 1 << 30, dtype=np.int64))
        self._loops.clear()


def warm_up() -> None:
    """Load or compile the kernels of all loops, large ones included."""
    ModuloSearch(two_ops(), large=True).warm_up()


def two_ops() -> ModuloProblem:
    """The smallest loop that runs every kernel."""
    from gridloom.dfg.model import DfgBuilder

    arch = registry.load("archs", "torus")({"family": "torus", "rows": 1, "cols": 2, "regs": 1})
    b = DfgBuilder("two")
    b.add("neg", b.add("neg", b.livein("x")))
    return ModuloProblem(b.build(), arch)


def _rank(loop: ModuloLoop, rng: np.random.Generator) -> Float64s:
    """The order of the first placement: along the schedule or against it, by height, outwards or back from a node.

    One of five orders is drawn, each with some noise; the least rank is placed first.
    """
    kind = rng.random()
    if kind < 0.15:
        return loop.preferred + 0.5 * rng.random(loop.nodes)
    if kind < 0.35:
        return -loop.height + 1.5 * rng.random(loop.nodes)
    if kind < 0.55:
        return -loop.preferred + 0.5 * rng.random(loop.nodes)
    if kind < 0.75:
        return _backwards(loop, rng)
    return _outwards(loop, rng)


def _parameters(effort: Parameters, nodes: int, rng: np.random.Generator) -> tuple[Parameters, float]:
    """The parameters of a start and its price of a move. Starts differ: what suits one loop does not suit the next."""
    parameters = effort._replace(
        moves=effort.moves * nodes,
        present=effort.present * (1.0 + 1.5 * rng.random()),
        history=effort.history * (0.3 + 0.9 * rng.random()),
        noise=effort.noise * 10.0 ** rng.random(),
        extra=effort.extra if rng.random() < 0.5 else 3 * effort.extra,
        removal=min(1.0, effort.removal + 0.4 * (rng.random() - 0.4)),
    )
    move_price = 1.0 + rng.random()
    if effort.clock_price > 0.0:
        parameters = parameters._replace(clock_price=effort.clock_price * 8.0 ** rng.random())
    return parameters._replace(leaving=parameters.removal), move_price


def _settled(parameters: Parameters, effort: Parameters, rng: np.random.Generator) -> Parameters:
    """The parameters of a start from an annealed placement: little of it leaves in a round, and prices do not grow.

    Growing prices send routes on detours, which take slots that others need; where there is little room, overuse then
    spreads instead of going away.
    """
    present = 1.5 + rng.random()
    return parameters._replace(
        patience=_ROUNDS * effort.patience,
        present=present,
        growth=1.0,
        ceiling=present,
        history=0.05 + 0.1 * rng.random(),
        removal=0.2 + 0.2 * rng.random(),
        leaving=0.2 + 0.2 * rng.random(),
        rerouting=0.4 + 0.3 * rng.random(),
    )


def _backwards(loop: ModuloLoop, rng: np.random.Generator) -> Float64s:
    """Depth first from results to what they need, chain by chain, so that a chain finds its places together.

    The lowest nodes (by height) come first; of the operands of a node, the earliest in the schedule is followed first.
    """
    feeds: list[list[int]] = [[] for _ in range(loop.nodes)]
    for a, b, distance in zip(loop.source.tolist(), loop.target.tolist(), loop.distance.tolist()):
        if a < loop.nodes and distance == 0:
            feeds[b].append(a)
    for a, b in zip(loop.tie_source.tolist(), loop.tie_target.tolist()):
        feeds[b].append(a)
    rank = np.full(loop.nodes, -1.0)
    shuffle = 0.5 * rng.random(loop.nodes)
    count = 0.0
    for start in np.argsort(loop.height + shuffle, kind="stable").tolist():
        waiting = [start]
        while waiting:
            node = waiting.pop()
            if rank[node] < 0:
                rank[node] = count
                count += 1.0
                waiting += sorted((n for n in feeds[node] if rank[n] < 0), key=lambda n: shuffle[n] - loop.preferred[n])
    return rank


def _outwards(loop: ModuloLoop, rng: np.random.Generator) -> Float64s:
    """Breadth first from a random node over edges in both directions."""
    rank = np.full(loop.nodes, -1.0)
    links: list[list[int]] = [[] for _ in range(loop.nodes)]
    for a, b in zip(loop.source.tolist(), loop.target.tolist()):
        if a < loop.nodes:
            links[a].append(b)
            links[b].append(a)
    count = 0.0
    for start in rng.permutation(loop.nodes).tolist():
        frontier = [start] if rank[start] < 0 else []
        while frontier:
            following = []
            for node in frontier:
                if rank[node] < 0:
                    rank[node] = count
                    count += 1.0
                    following += links[node]
            frontier = following
    return rank
