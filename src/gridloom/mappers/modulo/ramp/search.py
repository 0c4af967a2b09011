"""Algorithm 1 of RAMP: schedule, place by a maximum clique, diagnose what has no PE, try strategies, keep the best.

The techniques that RAMP was measured against are this search with fewer strategies and without rescheduling.

At an II, an attempt is improved step by step: each step edits the graph by one strategy and schedules and places it
again. A step counts when it maps more ops, or, a few times in a row, as many. All of it starts from the original graph
again at the next II. The clique search is seeded by the user's seed, the II and the number of ops, so that the same
seed and effort give the same mapping.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

import numpy as np

from gridloom.mappers.budget import Clock
from gridloom.mappers.core.arrays import Int64s
from gridloom.mappers.modulo.problem import ModuloProblem
from gridloom.mappers.modulo.ramp.graph import Link, WorkGraph, least_ii, work_graph
from gridloom.mappers.modulo.ramp.mapping import fits_memory
from gridloom.mappers.modulo.ramp.place import Attempt, Placer, Rules, check_pairs
from gridloom.mappers.modulo.ramp.schedule import schedule
from gridloom.mappers.modulo.ramp.strategies import Editor
from gridloom.mappers.modulo.schedule.resources import Resources, resources
from gridloom.mapping.mii import Mii

#: The strategies by name, in the order in which they are tried for each diagnosis.
DISTANT = ("route", "memory", "files")
LIVE_IN = ("livein",)
CONSECUTIVE = ("recompute", "route", "reschedule")
STRATEGIES = tuple(dict.fromkeys((*DISTANT, *LIVE_IN, *CONSECUTIVE)))

#: An edit after scheduling, before placement: a graph and the cycles of all its ops.
Rewrite = Callable[[Editor, Attempt], tuple[WorkGraph, Int64s]]


@dataclass(frozen=True, kw_only=True)
class Technique:
    """What a technique allows: the default is RAMP, and each field that is changed is a restriction."""

    strategies: frozenset[str] = frozenset(STRATEGIES)
    #: Whether the whole graph is scheduled again once something was inserted.
    reschedules: bool = True
    rules: Rules = field(default_factory=Rules)
    #: Live-ins stay in registers where they fit.
    keeps_live_ins: bool = True
    rewrite: Rewrite | None = None


@dataclass(frozen=True, kw_only=True)
class Limits:
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


@dataclass
class Trace:
    """What a search went through, for the provenance of a mapping or the words of a failure."""

    iis: list[int] = field(default_factory=list)
    #: The attempt that left the fewest ops without a tile.
    closest: Attempt | None = None
    #: How often each strategy was chosen in the attempt that succeeded.
    chosen: dict[str, int] = field(default_factory=dict)


class RampSearch:
    """The search for one problem with one technique; ``run`` it once."""

    def __init__(self, problem: ModuloProblem, technique: Technique, limits: Limits, bound: Mii) -> None:
        self.problem = problem
        self.technique = technique
        self.limits = limits
        self.bound = bound
        self.editor = Editor(problem)
        self.counts: Resources = resources(problem.arch, problem.classes)
        self.original = self._original()
        check_pairs(len(self.original.ops), len(problem.arch.tiles))
        self.placer = Placer(problem, technique.rules, limits.moves)
        self.trace = Trace()
        #: Placements that are left for the schedule at hand.
        self.left = 0

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

    def run(self, clock: Clock) -> Attempt | None:
        """The first complete attempt, from the MII of the graph on; None: the limit or the budget ended it."""
        first = least_ii(self.original, self.counts, self.bound)
        contexts = [tile.contexts for tile in self.problem.arch.tiles if tile.contexts is not None]
        iis = range(first, first + self.limits.attempts) if self.limits.ii is None else [self.limits.ii]
        # A further start is a schedule in another order, which is rescheduling, too.
        starts = self.limits.starts if "reschedule" in self.technique.strategies else 1
        for ii in iis:
            if ii > min(contexts, default=ii) or clock.over():
                break
            self.trace.iis.append(ii)
            for start in range(starts):
                found = self._at(ii, start, clock)
                if found is not None or clock.over():
                    break
            clock.report(f"II {ii}", "" if found is None else f"II {ii}")
            if found is not None:
                return found
        return None

    # -- one II -------------------------------------------------------------------------------------------------------

    def _at(self, ii: int, start: int, clock: Clock) -> Attempt | None:
        """One start at an II: schedule, place, then edit until every op has a tile; None: it did not succeed.

        The first start schedules in the order of heights, further ones in a perturbed order.
        """
        rng = np.random.default_rng((clock.budget.seed, ii, start)) if start else None
        cycle = schedule(self.original, self.counts, ii, reach=self.placer.reach, rng=rng)
        if cycle is None:
            return None
        graph = self.original
        if self.technique.rewrite is not None:
            bare = Attempt(graph=graph, ii=ii, cycle=cycle, place=np.full(len(graph.ops), -1), files=())
            graph, cycle = self.technique.rewrite(self.editor, bare)
        now = self._place(graph, cycle, ii, clock, None)
        self.trace.chosen = {}
        self.left = self.limits.options
        sideways = 0
        while now.unmapped and not self._over(clock):
            name, best = self._best(now, sideways < self.limits.sideways, clock)
            if best is None:
                return None
            sideways = 0 if best.cost[0] < now.cost[0] else sideways + 1
            self.trace.chosen[name] = self.trace.chosen.get(name, 0) + 1
            now = best
        return None if now.unmapped else now

    def _best(self, now: Attempt, sideways: bool, clock: Clock) -> tuple[str, Attempt | None]:
        """The best of the options for the ops without a tile: most ops mapped, then fewest PEs and registers.

        Ops are taken one by one, the earliest first; the first with a valid option decides.
        """
        for op in now.unmapped:
            for names in self._diagnosis(now, op):
                best: Attempt | None = None
                strategy = ""
                for name in names:
                    option = self._option(name, now, op, clock)
                    if option is not None and (best is None or option.cost < best.cost):
                        best, strategy = option, name
                limit = now.cost[0] if not sideways else now.cost[0] + 1
                if best is not None and best.cost[0] < limit:
                    return strategy, best
                if self._over(clock):
                    return "", None
        return "", None

    def _over(self, clock: Clock) -> bool:
        """True when the placements of this schedule, or the budget, are used up."""
        return self.left <= 0 or clock.over()

    def _diagnosis(self, now: Attempt, op: int) -> Iterator[tuple[str, ...]]:
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

    def _option(self, name: str, now: Attempt, op: int, clock: Clock) -> Attempt | None:
        """The best attempt that a strategy leads to; a strategy of several steps ends with the first that gains."""
        if name not in self.technique.strategies:
            return None
        best: Attempt | None = None
        for edits in self._edits(name, now, op):
            for graph in edits:
                if self._over(clock):
                    return best
                found = self._again(graph, now, clock)
                if found is None and name == "route":
                    # Where there is no room for so many moves, there is none for more.
                    break
                if found is None:
                    continue
                if best is None or found.cost < best.cost:
                    best = found
                if found.cost[0] < now.cost[0] or (name == "route" and found.cost[0] > now.cost[0] + 1):
                    break
            if best is not None and best.cost[0] == 0:
                break
        return best

    def _edits(self, name: str, now: Attempt, op: int) -> Iterator[Iterator[WorkGraph]]:
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
                yield editor.route_over_tiles(now, k)
            elif name == "memory":
                yield editor.spill_to_memory(now, k)
            elif name == "files":
                yield editor.spill_to_files(now, k)
            else:
                yield editor.recompute(now, k)

    def _links(self, now: Attempt, op: int, name: str) -> list[int]:
        """Links of an op that a strategy may help: the longest first, for recomputation those into it first."""
        graph = now.graph
        own = [k for k in (*graph.entering[op], *graph.leaving[op]) if not graph.links[k].memory]
        own = [k for k in dict.fromkeys(own) if graph.links[k].target != graph.links[k].source or name != "recompute"]
        if name in ("memory", "files"):
            own = [k for k in own if now.length(graph.links[k]) > graph.ops[graph.links[k].source].latency]
        if name == "recompute":
            return own[: self.limits.links]
        return sorted(own, key=lambda k: -now.length(graph.links[k]))[: self.limits.links]

    def _again(self, graph: WorkGraph, now: Attempt, clock: Clock) -> Attempt | None:
        """Schedule and place an edited graph; None where there is no schedule, or no room in memory."""
        fixed = None if self.technique.reschedules else now.cycle
        cycle = schedule(graph, self.counts, now.ii, reach=self.placer.reach, fixed=fixed)
        if cycle is None:
            return None
        self.left -= 1
        found = self._place(graph, cycle, now.ii, clock, now.place)
        return found if fits_memory(self.problem, found) else None

    def _place(self, graph: WorkGraph, cycle: Int64s, ii: int, clock: Clock, start: Int64s | None) -> Attempt:
        """Place a schedule, and remember the attempt if none came closer."""
        seed = (clock.budget.seed * 1_000_003 + ii * 8191 + len(graph.ops)) % (1 << 31)
        found = self.placer.place(graph, cycle, ii, clock, start, seed)
        if self.trace.closest is None or found.cost < self.trace.closest.cost:
            self.trace.closest = found
        return found


def _live_in_registers(problem: ModuloProblem) -> int:
    """Registers that live-ins may take at first: those that do not rotate; half of a file where the mapping chooses."""
    return sum(
        len(file.registers) // 2 if file.adjustable else len(file.registers) - file.rotating
        for file in problem.arch.register_files
    )
