"""``genetic``: the published genetic mapper for rows of combinational ALUs, as a reference.

After GenMap (Kojima, Doan and Amano, IEEE TVLSI 28(11), 2020). The idea:

1. an individual is a PE for each op and the pipeline bits;
2. the first ones follow the order of the ops from the ports upwards, at random; some are made anew every generation;
3. parents exchange genes (a PE that is taken twice is given away again), children swap or move ops or flip a bit;
4. NSGA-II keeps the best by wire length, width and the width of the ops; routes are shared trees, found one after the
   other, and a conflict makes an individual worse than every valid one;
5. the narrowest valid individual is the result, of equal ones that with the shortest wires.

Cost: an evaluation takes about 1 ms for 60 nodes. Limits: what is routed first stands in the way of the rest, and most
individuals of a tight graph are not valid; ``width`` finds narrower mappings in a fraction of the time. Differs from
the published mapper: ports are taken by nearness. With ``objectives=published`` power and slack are objectives, too, by
the published model (:mod:`gridloom.targets.rows.mappers.power`), which takes about 1 ms more for each valid individual.

Random numbers are drawn by one generator in one thread; only evaluations, which draw none, run in parallel. So the same
seed and effort give the same mapping with any number of workers.
"""

from __future__ import annotations

import random
import time
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from gridloom.archs.model import Arch
from gridloom.dfg.model import Dfg
from gridloom.errors import MissingExtra, install_hint
from gridloom.mapping.model import Failure, Mapping
from gridloom.search.arrays import Int32s
from gridloom.search.budget import Budget, SearchClock
from gridloom.search.choice import check_suits
from gridloom.search.settings import check_settings, origin
from gridloom.targets.rows.mappers.mapping import RowLayout, layout_of, to_failure, to_mapping
from gridloom.targets.rows.mappers.power import operation
from gridloom.targets.rows.mappers.problem import OP, RowArray, RowGraph, check_rows, flatten, restrict
from gridloom.targets.rows.mappers.screening import screen, width_bound
from gridloom.targets.rows.mappers.search import blank_state

if TYPE_CHECKING:
    from gridloom.targets.rows.mappers.kernel import RowKernelGraph, RowState

# Individuals that a job evaluates: enough to be worth a thread, and fixed so that workers do not change the result.
_CHUNK = 25
# The price of a conflict in the router: any detour is cheaper.
_PRICE = 50.0


@dataclass(frozen=True, kw_only=True)
class GeneticConfig:
    """Settings of ``genetic``; the defaults are the published ones.

    A setting out of range raises OptionError.
    """

    #: Individuals of the first generation.
    population: int = 300
    #: Children per generation.
    offspring: int = 100
    #: Individuals that survive a generation.
    survivors: int = 45
    #: New random individuals per generation.
    immigrants: int = 10
    #: Probability that two parents exchange genes.
    crossover: float = 0.7
    #: Probability that a child is changed.
    mutation: float = 0.3
    #: Probability that a mutation moves an op only to a PE next to its own.
    local: float = 0.5
    #: Generations at most when the budget has no limit.
    generations: int = 300
    #: Generations without a better individual after which a search without limit ends.
    stall: int = 100
    #: Rounds in which edges that conflict are routed again; 0: none, as published.
    reroutes: int = 0
    #: ``wires``: wire length, width and the width of the ops; ``published``: width, wire length, power and slack.
    objectives: Literal["wires", "published"] = "wires"
    #: ``published``: the clock period in ns, for power and slack.
    period: float = 100.0

    def __post_init__(self) -> None:
        least = {"population": 2, "offspring": 1, "survivors": 2, "immigrants": 0, "generations": 1, "stall": 1}
        check_settings(
            self,
            at_least=least | {"reroutes": 0},
            shares=("crossover", "mutation", "local"),
            one_of={"objectives": ("wires", "published")},
            positive=("period",),
        )


@dataclass(eq=False)
class _Individual:
    """Genes, and what they are worth: conflicts, wire length, width, op width.

    ``fitness`` is DEAP's object, which NSGA-II sorts by. It is never changed after the evaluation.
    """

    place: Int32s
    bits: list[int]
    figures: tuple[int, int, int, int]
    fitness: Any

    @property
    def key(self) -> tuple[int, int, int, int]:
        """What the result is chosen by, the smallest first: conflicts, width, wire length, op width."""
        conflicts, wire, columns, op_columns = self.figures
        return conflicts, columns, wire, op_columns


def genetic(dfg: Dfg, arch: Arch, config: GeneticConfig, budget: Budget) -> Mapping | Failure:
    """A mapping of a graph on an array of combinational rows by NSGA-II, or why there is none.

    Runs until the budget is used up (an evaluation is a move), or for ``config.generations``. Needs the extra
    ``genetic``; OptionError for another kind of array.
    """
    _selection()
    check_suits("genetic", dfg, arch)
    clock = budget.start()
    check_rows(arch)
    graph = flatten(dfg, arch)
    reason = screen(graph, arch, arch.cols)
    if reason is not None:
        return reason
    evolution = _Evolution(graph, arch, config, budget.seed)
    evolution.warm_up()
    clock.prepared()
    best = evolution.best(clock)
    if best.fitness is None:
        # Not one individual was evaluated in time.
        return to_failure(graph, None, arch.cols)
    layout = evolution.layout(best)
    clock.report("done", _in_words(best))
    if not layout.legal:
        return to_failure(graph, layout, arch.cols)
    bound = width_bound(graph, arch)
    record = origin("genetic", config, clock, optimal=best.figures[2] == bound, bound=bound)
    return to_mapping(graph, layout, "none", record)


def _selection() -> Any:
    """DEAP's modules (base, tools); MissingExtra when it is not installed."""
    try:
        from deap import base, tools
    except ImportError:
        raise MissingExtra(f"mapper 'genetic' needs DEAP; install it with: {install_hint('genetic')}") from None
    return base, tools


class _Evolution:
    """The generations of individuals: their genes, their evaluation and their selection.

    Genes are (place, bits): ``place`` has the PE of each op and -1 for every other node, ``bits`` a pipeline bit for
    each row boundary. Every op always has a PE of its own.
    """

    def __init__(self, graph: RowGraph, arch: Arch, config: GeneticConfig, seed: int) -> None:
        base, self.tools = _selection()
        count = 4 if config.objectives == "published" else 3
        self.fitness = type("Fitness", (base.Fitness,), {"weights": (-1.0,) * count})
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
        #: Seconds that making the layout of the result takes, about.
        self.last = 0.0
        self.kernel_graph = self._kernel_graph()

    def _highest_rows(self) -> dict[int, int]:
        """For each op the highest row that leaves room for all that depends on it.

        Where the graph is deeper than the array, several levels share a row.
        """
        height = dict.fromkeys(self.order, 0)
        for n in reversed(self.order):
            for m in self.sources[n]:
                height[m] = max(height[m], height[n] + 1)
        top = self.arch.rows - 1
        deepest = max([top, *height.values()])
        return {n: top - height[n] * top // max(1, deepest) for n in self.order}

    # -- evaluation ---------------------------------------------------------------------------------------------------

    def array(self, bits: Sequence[int]) -> RowArray:
        """The array for pipeline bits. Routes depend only on the highest boundary that is on.

        Bits below the highest one only shift the stages of whole rows, which leaves the same arcs legal; so all of them
        share an array with every lower boundary on.
        """
        highest = max((k + 1 for k, bit in enumerate(bits) if bit), default=0)
        if highest not in self.arrays:
            self.arrays[highest] = restrict(self.arch, self.arch.cols, [int(k < highest) for k in range(self.length)])
        return self.arrays[highest]

    def _kernel_graph(self) -> RowKernelGraph:
        """The graph as the kernels take it; the router does not read what may move, so that is left empty."""
        from gridloom.targets.rows.mappers.kernel import RowKernelGraph

        graph = self.graph
        none = np.zeros(0, dtype=np.int32)
        allowed = np.zeros((1, 1), dtype=np.uint8)
        return RowKernelGraph(graph.source, graph.target, graph.operand, graph.group, *graph.touch, none, allowed)

    def _blank(self, array: RowArray) -> RowState:
        """A state that fits the array, for one evaluation or several in turn."""
        return blank_state(self.graph, array)

    def _evaluate(self, place: Int32s, array: RowArray, state: RowState) -> tuple[int, int, int, int]:
        """(conflicts, wire length, width, op width) of a placement.

        The ports are written into ``place`` and the routes into ``state``.
        """
        from gridloom.targets.rows.mappers.genetic_kernel import evaluate

        column = array.rows.col[self.arch.tile[array.resource]]
        figures = evaluate(self.kernel_graph, array.rows, place, column, self.config.reroutes, _PRICE, state)
        conflicts, wire, columns, op_columns = figures.tolist()
        return conflicts, wire, columns, op_columns

    def _evaluate_chunk(self, genes: Sequence[tuple[Int32s, list[int]]], clock: SearchClock) -> list[_Individual]:
        """The individuals of some genes, one after the other in one thread; fewer when the clock stops them.

        Each objective has 1000 per conflict added, so that no valid individual is dominated by one that is not.
        """
        state: RowState | None = None
        done = []
        for place, bits in genes:
            if clock.stop[0]:
                break
            array = self.array(bits)
            state = self._blank(array) if state is None or len(state.used) != len(array.rows.base) else state
            figures = self._evaluate(place, array, state)
            conflicts, wire, columns, op_columns = figures
            fitness = self.fitness()
            worse = 1000.0 * conflicts
            if self.config.objectives == "wires":
                fitness.values = (wire + worse, columns + worse, op_columns + worse)
            else:
                power, slack = self._operation(place, bits, array, state) if conflicts == 0 else (worse, -worse)
                fitness.values = (columns + worse, wire + worse, power, -slack)
            done.append(_Individual(place, bits, figures, fitness))
        return done

    def _operation(self, place: Int32s, bits: list[int], array: RowArray, state: RowState) -> tuple[float, float]:
        """Power and slack of a valid individual under its own pipeline bits."""
        found = operation(self.graph, array, place, state.route, state.length, bits, self.config.period)
        return found.power, found.slack

    def evaluated(self, genes: Sequence[tuple[Int32s, list[int]]], clock: SearchClock) -> list[_Individual]:
        """The individuals of some genes, evaluated in parallel; fewer when time is up. Each counts as a move.

        The arrays are built first, since threads share the table of arrays. Genes whose array there is no time for are
        left out.
        """
        ready = 0
        for _, bits in genes:
            if clock.over():
                break
            self.array(bits)
            ready += 1
        genes = genes[:ready]
        chunks = [genes[k : k + _CHUNK] for k in range(0, len(genes), _CHUNK)]
        found = [i for chunk in clock.run([partial(self._evaluate_chunk, c, clock) for c in chunks]) for i in chunk]
        clock.moves += len(found)
        return found

    def warm_up(self) -> None:
        """Compile the kernels, so that the clock only sees the search."""
        place, bits = self.random_genes()
        began = time.monotonic()
        array = self.array(bits)
        self._evaluate(place, array, self._blank(array))
        # The result is built and routed once more: that much of a time limit is kept for it.
        self.last = 1.2 * (time.monotonic() - began)

    def layout(self, best: _Individual) -> RowLayout:
        """The layout of an individual: it is routed once more, under its own bits."""
        array = restrict(self.arch, self.arch.cols, best.bits)
        state = self._blank(array)
        conflicts, wire, _, _ = self._evaluate(best.place, array, state)
        return layout_of(array, state, conflicts, float(wire), 1)

    # -- generations --------------------------------------------------------------------------------------------------

    def best(self, clock: SearchClock) -> _Individual:
        """The best individual of all generations; one that counts as not valid where there was no time for any."""
        config = self.config
        population = self.evaluated(self._drawn(config.population, clock), clock)
        if not population:
            population = [self._unevaluated()]
        best = min(population, key=lambda one: one.key)
        generation = waited = 0
        while not clock.over() and (clock.remaining is None or clock.remaining > self.last):
            population = _distinct(population)
            population = self.tools.selNSGA2(population, min(config.survivors, len(population)))
            genes = [self.child(population) for _ in range(config.offspring)]
            genes += self._drawn(config.immigrants, clock)
            population = population + self.evaluated(genes, clock)
            leader = min(population, key=lambda one: one.key)
            generation, waited = generation + 1, waited + 1
            if leader.key < best.key:
                best, waited = leader, 0
            clock.report(f"generation {generation}", _in_words(best))
            if clock.budget.unlimited and (generation >= config.generations or waited >= config.stall):
                break
        return best

    def _drawn(self, count: int, clock: SearchClock) -> list[tuple[Int32s, list[int]]]:
        """Random genes; fewer when time is up."""
        genes: list[tuple[Int32s, list[int]]] = []
        while len(genes) < count and not (genes and clock.over()):
            genes.append(self.random_genes())
        return genes

    def _unevaluated(self) -> _Individual:
        """An individual without places, with figures worse than any real ones."""
        place = np.full(len(self.graph.nodes), -1, dtype=np.int32)
        return _Individual(place, [0] * self.length, (1 << 20, 0, 0, 0), None)

    # -- genes --------------------------------------------------------------------------------------------------------

    def random_genes(self) -> tuple[Int32s, list[int]]:
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
        if near:
            return rng.choice(near)
        above = [k for (r, c), k in self.tile_at.items() if r > row and c < columns and k not in taken]
        return rng.choice(above or [k for k in self.tiles if k not in taken])

    def child(self, population: Sequence[_Individual]) -> tuple[Int32s, list[int]]:
        """Genes of two parents, or of one, changed or not. Ports are cleared; the evaluation chooses them anew."""
        rng = self.rng
        mother, father = rng.choice(population), rng.choice(population)
        place, bits = mother.place.copy(), list(mother.bits)
        if rng.random() < self.config.crossover:
            self._cross(place, father.place)
            cut = rng.randint(0, self.length)
            bits[cut:] = father.bits[cut:]
        if rng.random() < self.config.mutation:
            self._mutate(place, bits)
        place[self.graph.group != OP] = -1
        return place, bits

    def _cross(self, place: Int32s, other: Int32s) -> None:
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

    def _mutate(self, place: Int32s, bits: list[int]) -> None:
        """Move one op, in exchange with the op that is there; or, one time in five, flip a pipeline bit."""
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


def _distinct(population: Sequence[_Individual]) -> list[_Individual]:
    """The individuals without duplicates, by their genes: copies of the best would crowd out everything else."""
    return list({(one.place.tobytes(), *one.bits): one for one in population}.values())


def _topological(graph: RowGraph) -> list[int]:
    """The numbers of the nodes in topological order."""
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
    """The individual for a progress report."""
    conflicts, wire, columns, _ = one.figures
    return f"not valid yet: {conflicts} conflicts" if conflicts else f"width {columns}, wires {wire}"
