"""Algorithm 1 of RAMP: schedule, place by a maximum clique, diagnose what has no PE, try strategies, keep the best.

The techniques that RAMP was measured against are this search with fewer strategies and without rescheduling.

At an II, an attempt is improved step by step: each step edits the graph by one strategy and schedules and places it
again. A step counts when it maps more ops, or, a few times in a row, as many. All of it starts from the original graph
again at the next II. The clique search is seeded by the user's seed, the II and the number of placements before it, so
that the same seed and effort give the same mapping.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

import numpy as np

from gridloom.mapping.mii import Mii
from gridloom.search.arrays import Int64s
from gridloom.search.budget import SearchClock
from gridloom.targets.modulo.mappers.problem import ModuloProblem
from gridloom.targets.modulo.mappers.ramp.graph import Link, WorkGraph, least_ii, schedule, work_graph
from gridloom.targets.modulo.mappers.ramp.mapping import fits_memory
from gridloom.targets.modulo.mappers.ramp.place import Placer, RampAttempt, check_pairs, start_attempt
from gridloom.targets.modulo.mappers.ramp.strategies import Editor, RouteAhead
from gridloom.targets.modulo.mappers.schedule.iterative import Resources, resources

#: The strategies by name, in the order in which they are tried for each diagnosis.
DISTANT = ("route", "memory", "files")
LIVE_IN = ("livein",)
CONSECUTIVE = ("recompute", "route", "reschedule")
STRATEGIES = tuple(dict.fromkeys((*DISTANT, *LIVE_IN, *CONSECUTIVE)))

#: Searches for a maximum clique by name: ours, and the one that the paper names.
CLIQUES = ("local", "dharwadker")

#: The share of edits after which ops keep their cycles where they can; the others schedule the whole graph anew.
SELECTIVE = 0.75

#: An edit after scheduling, before placement: a graph and the cycles of all its ops.
Rewrite = Callable[[Editor, RampAttempt], tuple[WorkGraph, Int64s]]

#: An edit that a first schedule decides, and that is scheduled with the rest of the graph.
Forecast = Callable[[Editor, RampAttempt], WorkGraph]


@dataclass(frozen=True, kw_only=True)
class Technique:
    """What a technique allows: the default is RAMP, and each field that is changed is a restriction."""

    strategies: frozenset[str] = frozenset(STRATEGIES)
    #: Whether the whole graph is scheduled again once something was inserted.
    reschedules: bool = True
    #: Whether a value may wait in a file that several PEs share; else its producer and consumer have to be one PE.
    shared_files: bool = True
    #: Live-ins stay in registers where they fit.
    keeps_live_ins: bool = True
    forecast: Forecast | None = None
    rewrite: Rewrite | None = None


@dataclass(frozen=True, kw_only=True)
class RampLimits:
    """How long a technique goes on; the configurations of the mappers fill it in."""

    ii: int | None
    #: IIs that are tried from the MII on.
    attempts: int
    #: Schedules that are tried at an II.
    starts: int
    #: Moves without a larger clique after which a clique search ends.
    moves: int
    #: Links of an op that strategies are tried on.
    links: int
    #: Edits that do not map more ops than before, in a row.
    sideways: int
    #: Placements that are tried for a schedule.
    options: int
    #: The same for the first start at an II; each further start has twice as many, up to ``options``.
    first: int
    #: The search for a maximum clique: one of CLIQUES.
    clique: str = "local"


@dataclass
class RampTrace:
    """What a search went through, for the provenance of a mapping or the words of a failure."""

    iis: list[int] = field(default_factory=list)
    #: Schedules that were placed.
    placements: int = 0
    #: The attempt that left the fewest ops without a tile.
    closest: RampAttempt | None = None
    #: How often each strategy was chosen in the attempt that succeeded.
    chosen: dict[str, int] = field(default_factory=dict)
    #: The same for the attempt at hand.
    steps: dict[str, int] = field(default_factory=dict)


class RampSearch:
    """The search for one problem with one technique; ``run`` it once."""

    def __init__(self, problem: ModuloProblem, technique: Technique, limits: RampLimits, bound: Mii) -> None:
        self.problem = problem
        self.technique = technique
        self.limits = limits
        self.bound = bound
        self.editor = Editor(problem)
        self.counts: Resources = resources(problem.arch, problem.classes)
        self.original = self._original()
        check_pairs(len(self.original.ops), len(problem.arch.tiles))
        self.placer = Placer(problem, technique.shared_files, limits.moves, limits.clique)
        routes = technique.reschedules and "route" in technique.strategies
        self.ahead = RouteAhead(self.editor, self.placer, self.counts) if routes else None
        self.trace = RampTrace()
        #: Placements that are left for the schedule at hand.
        self.left = 0
        self.rng = np.random.default_rng(0)

    def _original(self) -> WorkGraph:
        """The loop's graph, with live-ins that do not fit the registers loaded from memory."""
        graph = work_graph(self.problem)
        liveins = sorted({keep.livein for keep in graph.keeps})
        room = _live_in_registers(self.problem) if self.technique.keeps_live_ins else 0
        if not self.editor.has_memory:
            return graph
        # Those that most ops read stay: a register serves all of them.
        readers = {k: sum(keep.livein == k for keep in graph.keeps) for k in liveins}
        for livein in sorted(liveins, key=lambda k: (-readers[k], k))[room:]:
            ops = sorted({keep.op for keep in graph.keeps if keep.livein == livein})
            graph = self.editor.with_fetch(graph, livein, ops)
        return graph

    def run(self, clock: SearchClock) -> RampAttempt | None:
        """The complete attempt of the lowest II found, from the MII of the graph on; None: the limits ended it.

        Starts go round by round over the IIs, each round with more placements per start: the first round goes up until
        a mapping exists, the others try the IIs below it again.
        """
        iis = self._intervals()
        best: RampAttempt | None = None
        for start in range(self.limits.starts):
            for ii in iis:
                if clock.over():
                    return best
                if start == 0:
                    self.trace.iis.append(ii)
                found = self._at(ii, start, clock)
                clock.report(f"II {ii}", "" if best is None else f"II {best.ii}")
                if found is not None:
                    best = found
                    iis = [lower for lower in iis if lower < ii]
                    self.trace.chosen = dict(self.trace.steps)
                    break
            if not iis:
                break
        return best

    def _intervals(self) -> list[int]:
        """The IIs that are tried, in rising order."""
        first = least_ii(self.original, self.counts, self.bound)
        contexts = [tile.contexts for tile in self.problem.arch.tiles if tile.contexts is not None]
        iis = range(first, first + self.limits.attempts) if self.limits.ii is None else [self.limits.ii]
        return [ii for ii in iis if ii <= min(contexts, default=ii)]

    # -- one II -------------------------------------------------------------------------------------------------------

    def _at(self, ii: int, start: int, clock: SearchClock) -> RampAttempt | None:
        """One start at an II: schedule, place, then edit until every op has a tile; None: it did not succeed.

        The first start schedules in the order of heights, further ones in a perturbed order.
        """
        self.rng = np.random.default_rng((clock.budget.seed, ii, start))
        varied = start > 0
        shuffled = varied and "reschedule" in self.technique.strategies
        cycle = schedule(self.original, self.counts, ii, reach=self.placer.reach, rng=self.rng if shuffled else None)
        if cycle is None:
            return None
        graph = self.original
        if self.technique.forecast is not None:
            graph = self.technique.forecast(self.editor, start_attempt(graph, cycle, ii))
            cycle = schedule(graph, self.counts, ii, reach=self.placer.reach)
            if cycle is None:
                return None
        if self.technique.rewrite is not None:
            graph, cycle = self.technique.rewrite(self.editor, start_attempt(graph, cycle, ii))
        elif self.ahead is not None:
            if varied:
                graph, cycle = self.ahead.by_chance(graph, cycle, ii, self.rng)
            graph, cycle = self.ahead.certain_failures(graph, cycle, ii)
        now = self._place(graph, cycle, ii, clock, None)
        self.trace.steps = {}
        self.left = min(self.limits.options, self.limits.first << min(start, 20))
        sideways, least = 0, now.failures
        while now.unmapped and not self._over(clock):
            name, best = self._best(now, sideways < self.limits.sideways, varied, clock)
            if best is None:
                return None
            sideways = 0 if best.failures < least else sideways + 1
            least = min(least, best.failures)
            self.trace.steps[name] = self.trace.steps.get(name, 0) + 1
            now = best
        return None if now.unmapped else now

    def _best(
        self, now: RampAttempt, sideways: bool, varied: bool, clock: SearchClock
    ) -> tuple[str, RampAttempt | None]:
        """The best of the options for the ops without a tile: most ops mapped, then fewest PEs and registers.

        Ops are taken one by one, the earliest first or, where ``varied``, in random order; the first with a valid
        option decides. Among options that map as many ops as before, a varied search takes one by chance.
        """
        ops = now.unmapped
        if varied:
            ops = [ops[k] for k in self.rng.permutation(len(ops))]
        for op in ops:
            for names in self._diagnosis(now, op):
                options: list[tuple[str, RampAttempt]] = []
                for name in self.rng.permutation(names).tolist() if varied else names:
                    options += [(name, option) for option in self._options(name, now, op, varied, clock)]
                    if options and options[-1][1].failures < (now.failures if varied else 1):
                        return options[-1]
                least = min((option.failures for _, option in options), default=now.failures + 2)
                if least < now.failures or (sideways and least <= now.failures + varied):
                    equals = [pair for pair in options if pair[1].failures == least]
                    if varied and least >= now.failures:
                        return equals[int(self.rng.integers(len(equals)))]
                    return min(equals, key=lambda pair: pair[1].cost)
                if self._over(clock):
                    return "", None
        return "", None

    def _over(self, clock: SearchClock) -> bool:
        """True when the placements of this schedule, or the budget, are used up."""
        return self.left <= 0 or clock.over()

    def _diagnosis(self, now: RampAttempt, op: int) -> Iterator[tuple[str, ...]]:
        """The strategies for what may keep an op from its tile, group by group, the likeliest reason first."""
        graph = now.graph
        if any(now.length(link) > graph.delay(link) for link in self._touching(graph, op)):
            yield DISTANT
        if any(keep.op == op for keep in graph.keeps):
            yield LIVE_IN
        yield CONSECUTIVE

    @staticmethod
    def _touching(graph: WorkGraph, op: int) -> list[Link]:
        """The links of an op, in and out, that do not go through memory."""
        return [graph.links[k] for k in (*graph.entering[op], *graph.leaving[op]) if not graph.links[k].memory]

    def _options(self, name: str, now: RampAttempt, op: int, first: bool, clock: SearchClock) -> list[RampAttempt]:
        """The attempts that a strategy leads to; a sequence of edits ends with the first that gains.

        ``first``: so does the strategy. An attempt without a failure ends it in any case and comes last.
        """
        if name not in self.technique.strategies:
            return []
        tried: list[RampAttempt] = []
        for edits in self._edits(name, now, op):
            for graph in edits:
                if self._over(clock):
                    return tried
                found = self._again(graph, now, clock)
                if found is None and name == "route":
                    # Where there is no room for so many moves, there is none for more.
                    break
                if found is None:
                    continue
                tried.append(found)
                if found.failures < now.failures or (name == "route" and found.failures > now.failures + 1):
                    break
            if tried and tried[-1].failures < (now.failures if first else 1):
                break
        return tried

    def _edits(self, name: str, now: RampAttempt, op: int) -> Iterator[Iterator[WorkGraph]]:
        """The edits of a strategy for an op, as sequences whose later edits are tried if the first gain nothing."""
        graph, editor = now.graph, self.editor
        if name == "livein":
            yield editor.load_live_in(graph, op)
            return
        if name == "reschedule":
            yield editor.reschedule(now, op)
            return
        for k in self._links(now, op, name):
            if name == "route":
                yield editor.route_over_tiles(now, k, self.placer.hops_of(now, graph.links[k]))
            elif name == "memory":
                yield editor.spill_to_memory(now, k)
            elif name == "files":
                yield editor.spill_to_files(now, k)
            else:
                yield editor.recompute(now, k)

    def _links(self, now: RampAttempt, op: int, name: str) -> list[int]:
        """Links of an op that a strategy may help: the longest first, for recomputation those into it first."""
        graph = now.graph
        own = [k for k in (*graph.entering[op], *graph.leaving[op]) if not graph.links[k].memory]
        own = [k for k in dict.fromkeys(own) if graph.links[k].target != graph.links[k].source or name != "recompute"]
        if name in ("memory", "files"):
            own = [k for k in own if now.length(graph.links[k]) > graph.ops[graph.links[k].source].latency]
        if name == "recompute":
            return own[: self.limits.links]
        # Those that stand in the way of the op on the tile that is nearest to fit, then the longest.
        ranked = sorted(own, key=lambda k: (self.placer.fits(now, graph.links[k]), -now.length(graph.links[k])))
        return ranked[: self.limits.links]

    def _again(self, graph: WorkGraph, now: RampAttempt, clock: SearchClock) -> RampAttempt | None:
        """Schedule and place an edited graph; None where there is no schedule, or no room in memory."""
        fixed = None if self.technique.reschedules else now.cycle
        wanted = now.cycle if fixed is None and self.rng.random() < SELECTIVE else None
        cycle = schedule(graph, self.counts, now.ii, reach=self.placer.reach, fixed=fixed, wanted=wanted)
        if cycle is None:
            return None
        if self.ahead is not None:
            graph, cycle = self.ahead.certain_failures(graph, cycle, now.ii)
        self.left -= 1
        found = self._place(graph, cycle, now.ii, clock, now.near)
        return found if fits_memory(self.problem, found) else None

    def _place(self, graph: WorkGraph, cycle: Int64s, ii: int, clock: SearchClock, start: Int64s | None) -> RampAttempt:
        """Place a schedule, and remember the attempt if none came closer."""
        seed = (clock.budget.seed * 1_000_003 + ii * 8191 + self.trace.placements) % (1 << 31)
        found = self.placer.place(graph, cycle, ii, clock, start, seed)
        self.trace.placements += 1
        if self.trace.closest is None or found.cost < self.trace.closest.cost:
            self.trace.closest = found
        return found


def _live_in_registers(problem: ModuloProblem) -> int:
    """Registers that live-ins may take at first: those that do not rotate; half of a file where the mapping chooses."""
    return sum(
        len(file.registers) // 2 if file.adjustable else len(file.registers) - file.rotating
        for file in problem.arch.register_files
    )
