"""Dependences that are routed over PEs before a placement is tried, since no placement could meet them.

RAMP diagnoses what a clique search left out. Some failures are certain before it, and each would cost a search to find:
a value that waits on the one PE whose slot its reader would need, and a value with more readers in the next cycle than
wires lead to (the out-degree problem). They are routed at once, with rescheduling, and what is left is diagnosed.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from gridloom.search.arrays import Int64s
from gridloom.targets.modulo.mappers.ramp.graph import WorkGraph
from gridloom.targets.modulo.mappers.ramp.place import Placer, RampAttempt, start_attempt
from gridloom.targets.modulo.mappers.ramp.schedule import schedule
from gridloom.targets.modulo.mappers.ramp.strategies import Editor, sharing
from gridloom.targets.modulo.mappers.schedule.resources import Resources

# Rounds of routing and rescheduling after which what still fails is left to the diagnosis.
_ROUNDS = 8

# Of the distant dependences for which there is room, the share that a start routes ahead; one is drawn.
_SHARES = (0.0, 0.0, 0.3, 0.6, 1.0)


@dataclass(frozen=True, eq=False)
class RouteAhead:
    """Routes dependences of schedules of one problem over PEs; both methods return a graph and its cycles."""

    editor: Editor
    placer: Placer
    counts: Resources

    def by_chance(self, graph: WorkGraph, cycle: Int64s, ii: int, rng: np.random.Generator) -> tuple[WorkGraph, Int64s]:
        """Route some of the distant dependences over a PE each, chosen by chance.

        A value that waits for several readers would have all of them on its own PE. At most half of the free slots are
        taken. The graph as it was where there is no schedule with the moves.
        """
        now = start_attempt(graph, cycle, ii)
        waiting = [
            k
            for k, link in enumerate(graph.links)
            if not link.memory and link.source != link.target and now.length(link) > graph.ops[link.source].latency
        ]
        free = len(self.placer.problem.arch.tiles) * ii - len(graph.ops)
        share = _SHARES[int(rng.integers(len(_SHARES)))]
        count = int(share * min(len(waiting), free // 2)) if self.placer.reach else 0
        edited = graph
        for k in rng.permutation(len(waiting))[: max(0, count)]:
            edited = self.editor.with_moves(edited, [waiting[k]], 1)
        return self._scheduled(edited, now)

    def certain_failures(self, graph: WorkGraph, cycle: Int64s, ii: int) -> tuple[WorkGraph, Int64s]:
        """Route what no two tiles allow, round by round, for each value the shortest link first.

        Ends where nothing is left, or there is no schedule with more moves.
        """
        for _ in range(_ROUNDS):
            now = start_attempt(graph, cycle, ii)
            edited = graph
            for source in range(len(graph.ops)):
                edited = self._routed(edited, now, source)
            if edited is graph:
                break
            graph, cycle = self._scheduled(edited, now)
            if graph is now.graph:
                break
        return graph, cycle

    def _scheduled(self, edited: WorkGraph, now: RampAttempt) -> tuple[WorkGraph, Int64s]:
        """The edited graph with its cycles; as it was where it has no schedule."""
        if edited is now.graph:
            return now.graph, now.cycle
        cycle = schedule(edited, self.counts, now.ii, reach=self.placer.reach, wanted=now.cycle)
        return (now.graph, now.cycle) if cycle is None else (edited, cycle)

    def _routed(self, edited: WorkGraph, now: RampAttempt, source: int) -> WorkGraph:
        """Moves for the readers of a value that cannot be near it.

        ``edited`` is the graph of ``now`` with moves for other values.
        """
        graph, latency = now.graph, now.graph.ops[source].latency
        mine = [k for k in graph.leaving[source] if not graph.links[k].memory]
        failing = [k for k in mine if self.placer.certainly_fails(now, graph.links[k])]
        if failing:
            k = min(failing, key=lambda k: (now.length(graph.links[k]), k))
            # At II 1 a value moves on in every cycle, so all moves are known.
            wait = now.length(graph.links[k]) - latency
            return self.editor.with_moves(edited, sharing(now, k)[0], wait if now.ii == 1 else 1)
        at_once = [k for k in mine if now.length(graph.links[k]) == latency]
        reach = self.placer.reach
        if not reach or len({graph.links[k].target for k in at_once}) <= reach:
            return edited
        far = [k for k in mine if now.length(graph.links[k]) > latency and graph.links[k].most is None]
        return self.editor.with_moves(edited, at_once[reach // 2 + 1 :] + far, 1)
