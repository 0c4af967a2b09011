"""``memmap``: memory-aware mapping, one of the techniques that RAMP was measured against.

S. Yin et al., Memory-Aware Loop Mapping on Coarse-Grained Reconfigurable Architectures (TVLSI 2016), of which only the
abstract and RAMP's account were at hand: dependences are routed over PEs and over memory, and which go over memory is
decided by their length alone. The idea:

1. a first schedule says how long each dependence is; those of length 3 or more become a store and a load;
2. the graph with them is scheduled, so that memory and PEs have room for what was inserted (``decides=before``);
3. what still waits is passed on in the cycles that the schedule left: one of length 3 or more over memory, others over
   a PE; then a maximum clique of (op, PE) pairs either places all of it, or the next II is tried.

Live-ins are loaded from memory, no value waits in a register, and nothing is scheduled again after a failure. RAMP's
paper says in its introduction that what is spilled is decided before the schedule, and in its results that it is
decided after it; ``decides=after`` leaves out step 2. Further rounds over the IIs place the same schedules by other
cliques. Cost and limits are those of ``ramp``.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from gridloom.archs.model import Arch
from gridloom.dfg.model import Dfg
from gridloom.errors import OptionError
from gridloom.mapping.model import Failure, Mapping
from gridloom.search.arrays import Int64s
from gridloom.search.budget import Budget
from gridloom.search.settings import check_settings
from gridloom.targets.modulo.mappers.ramp.graph import WorkGraph
from gridloom.targets.modulo.mappers.ramp.place import RampAttempt
from gridloom.targets.modulo.mappers.ramp.run import run_technique
from gridloom.targets.modulo.mappers.ramp.search import RampLimits, Technique
from gridloom.targets.modulo.mappers.ramp.strategies import Editor

#: Dependences of at least this length go through memory: store, load and use take a cycle each.
_LONG = 3

_DECISIONS = ("before", "after")


@dataclass(frozen=True, kw_only=True)
class MemmapConfig:
    """Settings of ``memmap``."""

    #: The II to map at; None: the first from the MII on.
    ii: int | None = None
    #: IIs that are tried at most.
    attempts: int = 24
    #: Whether long dependences go over memory ``before`` or ``after`` the schedule.
    decides: str = "before"
    #: Rounds over the IIs: cliques that are searched for each schedule.
    starts: int = 20
    #: Moves without a larger clique after which a clique search ends.
    moves: int = 1500

    def __post_init__(self) -> None:
        check_settings(self, at_least={"ii": 1, "attempts": 1, "starts": 1, "moves": 1})
        if self.decides not in _DECISIONS:
            raise OptionError(f"decides: expected {' or '.join(_DECISIONS)}, found {self.decides!r}")


def memmap(dfg: Dfg, arch: Arch, config: MemmapConfig, budget: Budget) -> Mapping | Failure:
    """A mapping at the lowest II that the technique succeeds at, or why there is none.

    Ends after ``config.starts`` rounds over ``config.attempts`` IIs or with the budget. OptionError for an array that
    is not like a torus.
    """
    technique = Technique(
        strategies=frozenset(),
        reschedules=False,
        keeps_live_ins=False,
        forecast=_long_over_memory if config.decides == "before" else None,
        rewrite=_over_memory,
    )
    limits = RampLimits(
        ii=config.ii, attempts=config.attempts, starts=config.starts, moves=config.moves, links=1, sideways=0,
        options=1, first=1,
    )  # fmt: skip
    return run_technique("memmap", dfg, arch, technique, limits, config, budget)


def _groups(attempt: RampAttempt) -> list[tuple[tuple[int, int, bool], list[int]]]:
    """The links whose values wait, by source, length, and whether memory may take them; a store's own value may not."""
    graph = attempt.graph
    groups: dict[tuple[int, int, bool], list[int]] = {}
    for k, link in enumerate(graph.links):
        length = attempt.length(link)
        if not link.memory and length > graph.ops[link.source].latency:
            spilled = length >= _LONG and graph.ops[link.target].kind != "store"
            groups.setdefault((link.source, length, spilled), []).append(k)
    return sorted(groups.items())


def _long_over_memory(editor: Editor, attempt: RampAttempt) -> WorkGraph:
    """The graph with a store and a load for each dependence that is long in a first schedule, without their cycles."""
    graph = attempt.graph
    for (_, _, spilled), shared in _groups(attempt) if editor.has_memory else []:
        if spilled:
            graph = editor.with_spill(graph, shared)
    return graph


def _over_memory(editor: Editor, attempt: RampAttempt) -> tuple[WorkGraph, Int64s]:
    """Long dependences over memory, those of one cycle more than the least over a PE; their cycles follow from it.

    Dependences of one value and one due cycle share their store, load or move. Where the array has no memory, all of
    them go over PEs. Inserted ops take fixed cycles, next to their producer or their reader; the placement may then
    fail.
    """
    graph, cycle = attempt.graph, attempt.cycle.tolist()
    for (source, length, spilled), shared in _groups(attempt):
        ready = int(attempt.cycle[source]) + attempt.graph.ops[source].latency
        due = int(attempt.cycle[source]) + length
        before = len(graph.ops)
        if spilled and editor.has_memory:
            graph = editor.with_spill(graph, shared)
            cycle += [ready] if len(graph.ops) - before == 2 else []
            cycle.append(due - graph.ops[-1].latency)
        else:
            graph = editor.with_moves(graph, shared, due - ready)
            cycle += [ready + k for k in range(due - ready)]
    return replace(graph), np.array(cycle, dtype=np.int64)
