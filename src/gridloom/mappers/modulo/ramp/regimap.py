"""``regimap``: register-aware mapping, one of the techniques that RAMP was measured against.

M. Hamzeh, A. Shrivastava, S. Vrudhula, REGIMap: Register-Aware Application Mapping on CGRAs (DAC 2013), as RAMP's paper
describes it: a schedule, a maximum clique of (op, PE) pairs, values that wait do so in registers of the one PE that
makes and reads them, or are passed on by PEs in cycles that the schedule left free. Live-ins are loaded from memory,
nothing is spilled, nothing is scheduled again. It is ``ramp`` with these restrictions.
"""

from __future__ import annotations

from dataclasses import dataclass

from gridloom.archs.model import Arch
from gridloom.dfg.model import Dfg
from gridloom.mappers.budget import Budget
from gridloom.mappers.modulo.ramp.place import Rules
from gridloom.mappers.modulo.ramp.run import run_technique
from gridloom.mappers.modulo.ramp.search import Limits, Technique
from gridloom.mappers.settings import check_settings
from gridloom.mapping.model import Failure, Mapping


@dataclass(frozen=True, kw_only=True)
class RegimapConfig:
    """Settings of ``regimap``."""

    #: The II to map at; None: the first from the MII on.
    ii: int | None = None
    #: IIs that are tried at most.
    attempts: int = 24
    #: Moves without a larger clique after which a clique search ends.
    moves: int = 400
    #: Links of an unmapped op that moves are tried on.
    links: int = 4
    #: Placements that are tried for a schedule.
    options: int = 600

    def __post_init__(self) -> None:
        check_settings(self, at_least={"ii": 1, "attempts": 1, "moves": 1, "links": 1, "options": 1})


def regimap(dfg: Dfg, arch: Arch, config: RegimapConfig, budget: Budget) -> Mapping | Failure:
    """A mapping at the first II that the technique succeeds at, or why there is none.

    Ends after ``config.attempts`` IIs or with the budget. OptionError for an array that is not like a torus.
    """
    technique = Technique(
        strategies=frozenset({"route"}), reschedules=False, rules=Rules(shared_files=False), keeps_live_ins=False
    )
    limits = Limits(
        ii=config.ii, attempts=config.attempts, starts=1, moves=config.moves, links=config.links, sideways=1,
        options=config.options, first=config.options,
    )  # fmt: skip
    return run_technique("regimap", dfg, arch, technique, limits, config, budget)
