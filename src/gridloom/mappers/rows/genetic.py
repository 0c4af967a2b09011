"""``genetic``: the published genetic mapper for rows of combinational ALUs, as a reference.

After GenMap (Kojima, Doan and Amano, IEEE TVLSI 28(11), 2020). The idea:

1. an individual is a PE for each op and the pipeline bits;
2. the first ones follow the order of the ops from the ports upwards, at random; some are made anew every generation;
3. parents exchange genes (a PE that is taken twice is given away again), children swap or move ops or flip a bit;
4. NSGA-II keeps the best by wire length, width and the width of the ops; ways are shared trees, found one after the
   other, and a conflict makes an individual worse than every valid one;
5. the narrowest valid individual is the result, of equal ones that with the shortest wires.

Cost: an evaluation takes about 1 ms for 60 nodes. Limits: what is routed first stands in the way of the rest, and most
individuals of a tight graph are not valid; ``width`` finds narrower mappings in a fraction of the time. Differs from
the published mapper: ports are taken by nearness, power and slack are not objectives.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from gridloom.archs.model import Arch
from gridloom.dfg.model import Dfg
from gridloom.errors import MissingExtra
from gridloom.mappers.budget import Budget, Clock
from gridloom.mappers.choice import refuse_unsuited
from gridloom.mappers.origin import origin
from gridloom.mappers.rows.mapping import Layout, to_failure, to_mapping
from gridloom.mappers.rows.problem import OP, Ints, RowArray, RowGraph, check_rows, flatten, kernel_rows, restrict
from gridloom.mappers.rows.screening import screen, width_bound
from gridloom.mappers.settings import check_settings
from gridloom.mapping.model import Failure, Mapping

if TYPE_CHECKING:
    from gridloom.mappers.rows.kernel import Graph, Rows, State

# Individuals a job judges: large enough to be worth a thread, fixed so that workers do not change the result.
_CHUNK = 25
_PRICE = 50.0


@dataclass(frozen=True, kw_only=True)
class GeneticConfig:
    """Settings of ``genetic``; the defaults are the published ones."""

    #: Individuals of the first generation.
    population: int = 300
    #: Children a generation.
    offspring: int = 100
    #: Individuals that survive a generation.
    survivors: int = 45
    #: New random individuals a generation.
    immigrants: int = 10
    #: Probability that two parents exchange genes.
    crossover: float = 0.7
    #: Probability that a child is changed.
    mutation: float = 0.3
    #: Probability that a change keeps near its place.
    local: float = 0.5
    #: Generations at most when the budget has no limit, and without a better individual.
    generations: int = 300
    stall: int = 100
    #: How often what fights over a resource is routed again; 0: never, as published.
    reroutes: int = 0

    def __post_init__(self) -> None:
        least = {"population": 2, "offspring": 1, "survivors": 2, "immigrants": 0, "generations": 1, "stall": 1}
        check_settings(self, at_least=least | {"reroutes": 0}, shares=("crossover", "mutation", "local"))


@dataclass(eq=False)
class _Individual:
    """Genes, and what they are worth: conflicts, wire length, width, op width."""

    place: Ints
    bits: list[int]
    figures: tuple[int, int, int, int]
    fitness: Any

    @property
    def key(self) -> tuple[int, int, int, int]:
        """What the result is chosen by: valid, narrow, short."""
        conflicts, wire, columns, op_columns = self.figures
        return conflicts, columns, wire, op_columns


def genetic(dfg: Dfg, arch: Arch, config: GeneticConfig, budget: Budget) -> Mapping | Failure:
    """A mapping of a graph on an array of combinational rows by NSGA-II, or why there is none.

    Runs until the budget is used up (an evaluation is a move), or for ``config.generations``. Needs the extra
    ``genetic``; OptionError for another kind of array.
    """
    _selection()
    refuse_unsuited("genetic", dfg, arch)
    check_rows(arch)
    graph = flatten(dfg, arch)
    reason = screen(graph, arch, arch.cols)
    if reason is not None:
        return reason
    evolution = _Evolution(graph, arch, config, budget.seed)
    evolution.warm_up()
    clock = budget.start()
    best = evolution.best(clock)
    layout = evolution.layout(best)
    clock.report("done", _in_words(best))
    if not layout.legal:
        return to_failure(graph, layout, arch.cols)
    bound = width_bound(graph, arch)
    record = origin("genetic", config, clock, optimal=best.figures[2] == bound, bound=bound)
    return to_mapping(graph, layout, "none", record)


def _selection() -> Any:
    try:
        from deap import base, tools
    except ImportError:
        raise MissingExtra("mapper 'genetic' needs DEAP; install it with: pip install 'gridloom[genetic]'") from None
    return base, tools


class _Evolution:
    """Generations of individuals."""

    def __init__(self, graph: RowGraph, arch: Arch, config: GeneticConfig, seed: int) -> None:
        base, self.tools = _selection()
        self.fitness = type("Fitness", (base.Fitness,), {"weights": (-1.0, -1.0, -1.0)})
        self.graph = graph
        self.arch = arch
        self.config = config
        self.rng = random.Random(seed)
        self.ops: list[int] = np.flatnonzero(graph.group == OP).tolist()
        self.order = [n for n in _topological(graph) if graph.group[n] == OP]
        self.sources = _sources(graph)
        self.highest = self._highest_rows()
        self.length = arch.settings[0].length if arch.settings else 0
        self.tiles = [k for k, tile in enumerate(arch.tiles) if tile.kind == "pe"]
        self.tile_at = {(arch.tiles[k].row, arch.tiles[k].col): k for k in self.tiles}
        self.arrays: dict[int, RowArray] = {}
        self.kernel_graph = self._kernel_graph()

    def _highest_rows(self) -> dict[int, int]:
        """For each op the highest row that leaves room for all that depends on it."""
        height = dict.fromkeys(self.order, 0)
        for n in reversed(self.order):
            for m in self.sources[n]:
                height[m] = max(height[m], height[n] + 1)
        top = self.arch.rows - 1
        deepest = max([top, *height.values()])
        return {n: top - height[n] * top // max(1, deepest) for n in self.order}

    # -- judging ------------------------------------------------------------------------------------------------------

    def array(self, bits: Sequence[int]) -> RowArray:
        """The array for pipeline bits. Ways depend only on the highest boundary that is on."""
        highest = max((k + 1 for k, bit in enumerate(bits) if bit), default=0)
        if highest not in self.arrays:
            self.arrays[highest] = restrict(self.arch, self.arch.cols, [int(k < highest) for k in range(self.length)])
        return self.arrays[highest]

    def _kernel_graph(self) -> Graph:
        from gridloom.mappers.rows.kernel import Graph

        graph = self.graph
        none = np.zeros(0, dtype=np.int32)
        allowed = np.zeros((1, 1), dtype=np.uint8)
        return Graph(graph.source, graph.target, graph.operand, graph.group, *graph.touch, none, allowed)

    def _blank(self, array: RowArray) -> State:
        from gridloom.mappers.rows.kernel import blank

        longest = 4 * (self.arch.rows + self.arch.cols) + 16
        return blank(len(self.graph.nodes), len(array.row), len(self.graph.edges), len(array.base), longest)

    def _judge(self, place: Ints, array: RowArray, state: State) -> tuple[int, int, int, int]:
        from gridloom.mappers.rows.genetic_kernel import judge

        rows: Rows = kernel_rows(array)
        column = array.col[self.arch.tile[array.resource]]
        figures = judge(self.kernel_graph, rows, place, column, self.config.reroutes, _PRICE, state)
        conflicts, wire, columns, op_columns = figures.tolist()
        return conflicts, wire, columns, op_columns

    def _judge_chunk(self, genes: Sequence[tuple[Ints, list[int]]], clock: Clock) -> list[_Individual]:
        state: State | None = None
        done = []
        for place, bits in genes:
            if clock.stop[0]:
                break
            array = self.array(bits)
            state = self._blank(array) if state is None or len(state.used) != len(array.base) else state
            figures = self._judge(place, array, state)
            conflicts, wire, columns, op_columns = figures
            fitness = self.fitness()
            worse = 1000.0 * conflicts
            fitness.values = (wire + worse, columns + worse, op_columns + worse)
            done.append(_Individual(place, bits, figures, fitness))
        return done

    def judged(self, genes: Sequence[tuple[Ints, list[int]]], clock: Clock) -> list[_Individual]:
        """The individuals of some genes; fewer when time is up."""
        for _, bits in genes:
            self.array(bits)
        chunks = [genes[k : k + _CHUNK] for k in range(0, len(genes), _CHUNK)]
        found = [i for chunk in clock.run([partial(self._judge_chunk, c, clock) for c in chunks]) for i in chunk]
        clock.moves += len(found)
        return found

    def warm_up(self) -> None:
        """Compile the kernels, so that the clock only sees the search."""
        place, bits = self.random_genes()
        array = self.array(bits)
        self._judge(place, array, self._blank(array))

    def layout(self, best: _Individual) -> Layout:
        """The layout of an individual: it is routed once more, under its own bits."""
        array = restrict(self.arch, self.arch.cols, best.bits)
        state = self._blank(array)
        conflicts, wire, _, _ = self._judge(best.place, array, state)
        return Layout(
            array=array,
            place=state.place,
            way=state.way,
            length=state.length,
            used=state.used.astype(np.int32),
            conflicts=conflicts,
            wire=float(wire),
            moves=1,
        )

    # -- generations --------------------------------------------------------------------------------------------------

    def best(self, clock: Clock) -> _Individual:
        """The best individual of all generations."""
        config = self.config
        people = self.judged([self.random_genes() for _ in range(config.population)], clock)
        if not people:
            people = [self._unjudged()]
        best = min(people, key=lambda one: one.key)
        generation = waited = 0
        while not clock.over():
            people = _distinct(people)
            people = self.tools.selNSGA2(people, min(config.survivors, len(people)))
            genes = [self.child(people) for _ in range(config.offspring)]
            genes += [self.random_genes() for _ in range(config.immigrants)]
            people = people + self.judged(genes, clock)
            leader = min(people, key=lambda one: one.key)
            generation, waited = generation + 1, waited + 1
            if leader.key < best.key:
                best, waited = leader, 0
            clock.report(f"generation {generation}", _in_words(best))
            if clock.budget.unlimited and (generation >= config.generations or waited >= config.stall):
                break
        return best

    def _unjudged(self) -> _Individual:
        place, bits = self.random_genes()
        return _Individual(place, bits, (1 << 20, 0, 0, 0), None)

    # -- genes --------------------------------------------------------------------------------------------------------

    def random_genes(self) -> tuple[Ints, list[int]]:
        """Ops in order, each at or above its producers, within a random number of columns; and random bits."""
        rng, arch = self.rng, self.arch
        columns = rng.randint(width_bound(self.graph, arch), arch.cols)
        place = np.full(len(self.graph.nodes), -1, dtype=np.int32)
        taken: set[int] = set()
        for n in self.order:
            ends = [arch.tiles[place[m]] for m in self.sources[n]]
            row = max((end.row for end in ends), default=rng.randint(0, 1))
            col = round(sum(end.col for end in ends) / len(ends)) if ends else rng.randrange(columns)
            place[n] = self._free_near(row, max(row, self.highest[n]), col, columns, taken)
            taken.add(int(place[n]))
        bits = [rng.randint(0, 1) for _ in range(self.length)] if rng.random() < 0.5 else [0] * self.length
        return place, bits

    def _free_near(self, row: int, highest: int, col: int, columns: int, taken: set[int]) -> int:
        """A free PE a little above a place, at most in row ``highest``; a random one where there is none."""
        rng = self.rng
        near = [
            self.tile_at[r, c]
            for r in range(row, min(row + 3, highest + 1))
            for c in range(max(0, col - 2), min(columns, col + 3))
            if (r > row or c > col) and self.tile_at[r, c] not in taken
        ]
        above = [k for (r, c), k in self.tile_at.items() if r > row and c < columns and k not in taken]
        return rng.choice(near or above or [k for k in self.tiles if k not in taken])

    def child(self, people: Sequence[_Individual]) -> tuple[Ints, list[int]]:
        """Genes of two parents, or of one, changed or not."""
        rng = self.rng
        mother, father = rng.choice(people), rng.choice(people)
        place, bits = mother.place.copy(), list(mother.bits)
        if rng.random() < self.config.crossover:
            self._cross(place, father.place)
            cut = rng.randint(0, self.length)
            bits[cut:] = father.bits[cut:]
        if rng.random() < self.config.mutation:
            self._mutate(place, bits)
        place[self.graph.group != OP] = -1
        return place, bits

    def _cross(self, place: Ints, other: Ints) -> None:
        """Take a stretch of ops from the other parent; an op that loses its PE takes the one that became free."""
        ends = sorted(self.rng.sample(range(len(self.order) + 1), 2))
        owner = {int(place[n]): n for n in self.ops}
        for n in self.order[ends[0] : ends[1]]:
            here, there = int(place[n]), int(other[n])
            loser = owner.get(there)
            owner.pop(here, None)
            if loser is not None and loser != n:
                place[loser] = here
                owner[here] = loser
            place[n] = there
            owner[there] = n

    def _mutate(self, place: Ints, bits: list[int]) -> None:
        """Move one op, in exchange with who is there; or flip a bit."""
        rng = self.rng
        if bits and rng.random() < 0.2:
            k = rng.randrange(len(bits))
            bits[k] = 1 - bits[k]
            return
        n = rng.choice(self.ops)
        here = int(place[n])
        there = rng.choice(self.tiles)
        if rng.random() < self.config.local:
            tile = self.arch.tiles[here]
            near = (tile.row + rng.randint(-1, 1), tile.col + rng.randint(-1, 1))
            there = self.tile_at.get(near, there)
        for m in self.ops:
            if place[m] == there:
                place[m] = here
        place[n] = there


def _distinct(people: Sequence[_Individual]) -> list[_Individual]:
    """Each genes once: copies of the best would crowd out everything else."""
    return list({(one.place.tobytes(), *one.bits): one for one in people}.values())


def _topological(graph: RowGraph) -> list[int]:
    number = {k: n for n, k in enumerate(graph.nodes.tolist())}
    return [number[k] for k in graph.dfg.topological if k in number]


def _sources(graph: RowGraph) -> dict[int, list[int]]:
    """Op -> the ops whose results it reads."""
    found: dict[int, list[int]] = {n: [] for n in range(len(graph.nodes))}
    for a, b in zip(graph.source.tolist(), graph.target.tolist()):
        if graph.group[a] == OP and graph.group[b] == OP:
            found[b].append(a)
    return found


def _in_words(one: _Individual) -> str:
    conflicts, wire, columns, _ = one.figures
    return f"not valid yet: {conflicts} conflicts" if conflicts else f"width {columns}, wires {wire}"
