"""``regimap``: register-aware mapping that learns from failed placements, which RAMP was measured against.

M. Hamzeh, A. Shrivastava, S. Vrudhula, REGIMap: Register-Aware Application Mapping on CGRAs (DAC 2013). The idea:

1. a modulo schedule, in which values with too many readers at once are passed on by PEs;
2. a maximum weighted clique of (op, PE) pairs is a placement; a value that waits does so in registers of the one PE
   that makes and reads it; nothing is spilled, and live-ins are loaded from memory;
3. a failed placement changes the schedule: each op without a PE gets moves on the dependences that bind it to the PE of
   a predecessor, or else to that of a successor, or else another cycle; all is scheduled and placed again;
4. when that leaves more ops without a PE, the schedule begins anew and counts on one PE fewer, so that it is thinner.

RAMP's paper describes it without steps 3 and 4, as one that never reschedules; ``learns=false`` is that account.
Two things are not as published: the clique search is RAMP's local one, and thinner schedules are tried after higher
IIs, not before them, so that a limit on time leaves a mapping. Cost and limits are those of ``ramp``.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from gridloom.archs.model import Arch
from gridloom.dfg.model import Dfg
from gridloom.mapping.model import Failure, Mapping
from gridloom.search.budget import Budget, SearchClock
from gridloom.search.settings import check_settings
from gridloom.targets.modulo.mappers.ramp.graph import WorkGraph, schedule
from gridloom.targets.modulo.mappers.ramp.place import RampAttempt
from gridloom.targets.modulo.mappers.ramp.run import run_technique
from gridloom.targets.modulo.mappers.ramp.search import RampLimits, RampSearch, Technique
from gridloom.targets.modulo.mappers.ramp.strategies import RouteAhead


@dataclass(frozen=True, kw_only=True)
class RegimapConfig:
    """Settings of ``regimap``."""

    #: The II to map at; None: the first from the MII on.
    ii: int | None = None
    #: IIs that are tried at most.
    attempts: int = 24
    #: Whether failed placements change the schedule, as in REGIMap's own paper; false: as RAMP's paper describes it.
    learns: bool = True
    #: Changes of a schedule, one after the other, before a thinner one is begun.
    changes: int = 50
    #: Moves without a larger clique after which a clique search ends.
    moves: int = 400
    #: Links of an unmapped op that moves are tried on, where it does not learn.
    links: int = 4
    #: Placements that are tried for a schedule, where it does not learn.
    options: int = 600

    def __post_init__(self) -> None:
        least = {"ii": 1, "attempts": 1, "changes": 0, "moves": 1, "links": 1, "options": 1}
        check_settings(self, at_least=least)


def regimap(dfg: Dfg, arch: Arch, config: RegimapConfig, budget: Budget) -> Mapping | Failure:
    """A mapping at the lowest II that the technique succeeds at, or why there is none.

    Ends when no thinner schedule is left at any of ``config.attempts`` IIs, or with the budget. OptionError for an
    array that is not like a torus.
    """
    technique = Technique(
        strategies=frozenset({"route"}),
        reschedules=config.learns,
        shared_files=False,
        keeps_live_ins=False,
    )
    tried = config.changes if config.learns else config.options
    limits = RampLimits(
        ii=config.ii, attempts=config.attempts, starts=len(arch.tiles) if config.learns else 1, moves=config.moves,
        links=config.links, sideways=1, options=tried, first=tried,
    )  # fmt: skip
    kind = LearningSearch if config.learns else RampSearch
    return run_technique("regimap", dfg, arch, technique, limits, config, budget, kind)


class LearningSearch(RampSearch):
    """REGIMap's own search: round k over the IIs schedules for k PEs fewer than the array has."""

    def _at(self, ii: int, start: int, clock: SearchClock) -> RampAttempt | None:
        """Schedule for some of the PEs, place, and change the schedule until every op has a PE.

        None where there is no schedule for so few PEs, or the changes do not help.
        """
        room = self.counts.room
        counts = replace(self.counts, room=(room[0] - start, *room[1:]))
        if len(self.original.ops) > counts.room[0] * ii:
            return None
        ahead = RouteAhead(self.editor, self.placer, counts)
        now: RampAttempt | None = None
        edited: WorkGraph | None = self.original
        self.trace.steps = {}
        for _ in range(1 + self.limits.options):
            cycle = None if edited is None else schedule(edited, counts, ii, reach=self.placer.reach)
            if edited is None or cycle is None:
                return None
            graph, cycle = ahead.certain_failures(edited, cycle, ii)
            after = self._place(graph, cycle, ii, clock, None if now is None else now.near)
            if not after.left:
                return after
            if clock.over() or (now is not None and after.left > now.left):
                return None
            now, edited = after, self._changed(after)
        return None

    def _changed(self, now: RampAttempt) -> WorkGraph | None:
        """The graph with moves, or another cycle, for each op without a PE; None: there is nothing to change."""
        graph, moved = now.graph, set[int]()
        for op in now.unmapped:
            binding = self._binding(now, now.graph.entering[op]) or self._binding(now, now.graph.leaving[op])
            fresh = [k for k in binding if k not in moved]
            for k in fresh:
                graph = self.editor.with_moves(graph, [k], 1)
                self.trace.steps["route"] = self.trace.steps.get("route", 0) + 1
            moved.update(fresh)
            if not binding:
                ops = list(graph.ops)
                ops[op] = replace(ops[op], postponed=ops[op].postponed + 1)
                graph = replace(graph, ops=tuple(ops))
                self.trace.steps["reschedule"] = self.trace.steps.get("reschedule", 0) + 1
        return None if graph is now.graph else graph

    @staticmethod
    def _binding(now: RampAttempt, links: tuple[int, ...]) -> list[int]:
        """Those of some links whose value waits, so that both ends need the same PE."""
        graph = now.graph
        return [
            k
            for k in links
            if not graph.links[k].memory
            and graph.links[k].source != graph.links[k].target
            and now.length(graph.links[k]) > graph.ops[graph.links[k].source].latency
        ]
