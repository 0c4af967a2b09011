"""``ramp``: resource-aware mapping of loops, a reference mapper for torus-like arrays.

S. Dave, M. Balasubramanian, A. Shrivastava, RAMP: Resource-Aware Mapping for CGRAs (DAC 2018). The idea:

1. live-ins that registers cannot keep become loads; the graph is modulo scheduled (Rau 1994) from the MII on;
2. a maximum clique of compatible (op, PE) pairs is a placement; output registers keep a value for one cycle only;
3. an op without a PE is diagnosed: its values wait too long, it reads live-ins, or its neighbours are too many;
4. each strategy that may help edits the graph (moves, spills to memory or other files, loads, recomputation, a later
   cycle), which is scheduled and placed again; the one that maps most ops with fewest PEs and registers is kept;
5. none: the next II, from the original graph.

Cost: a placement builds a graph of (ops * PEs)^2 bits; an II takes tens of placements an op that is left. Limits: buses
of capacity 1, equal latencies of an op class on all PEs, 40,000 pairs. ``modulo`` finds lower IIs.
"""

from __future__ import annotations

from dataclasses import dataclass

from gridloom.archs.model import Arch
from gridloom.dfg.model import Dfg
from gridloom.errors import OptionError
from gridloom.mapping.model import Failure, Mapping
from gridloom.search.budget import Budget
from gridloom.search.settings import check_settings
from gridloom.targets.modulo.mappers.ramp.run import run_technique
from gridloom.targets.modulo.mappers.ramp.search import CLIQUES, STRATEGIES, RampLimits, Technique


@dataclass(frozen=True, kw_only=True)
class RampConfig:
    """Settings of ``ramp``. OptionError for a value out of range or a strategy that does not exist."""

    #: The II to map at; None: the first from the MII on.
    ii: int | None = None
    #: IIs that are tried at most.
    attempts: int = 24
    #: Rounds over the IIs: schedules that are tried at each. Without the strategy ``reschedule`` it is always the same.
    starts: int = 100
    #: Moves without a heavier clique after which a clique search ends.
    moves: int = 400
    #: Links of an unmapped op that strategies are tried on.
    links: int = 4
    #: Edits in a row that may leave as many failures as before, or in later rounds one more.
    sideways: int = 10
    #: Placements that are tried for a schedule, one for each option of a strategy.
    options: int = 600
    #: Placements for the first schedule at an II; each further schedule has twice as many, up to ``options``.
    first: int = 40
    #: Strategies by name, comma-separated: route, memory, files, livein, recompute, reschedule.
    strategies: str = ",".join(STRATEGIES)
    #: Strategies that are left out of these, comma-separated.
    without: str = ""
    #: The search for a maximum clique: ``local``, or ``dharwadker`` as in the paper.
    clique: str = "local"

    def __post_init__(self) -> None:
        check_settings(
            self,
            at_least={
                "ii": 1,
                "attempts": 1,
                "starts": 1,
                "moves": 1,
                "links": 1,
                "sideways": 0,
                "options": 1,
                "first": 1,
            },
        )
        for key, text in (("strategies", self.strategies), ("without", self.without)):
            for name in _words(text):
                if name not in STRATEGIES:
                    raise OptionError(f"{key}: no strategy is called {name!r}; known: {', '.join(STRATEGIES)}")
        if self.clique not in CLIQUES:
            raise OptionError(f"clique: no clique search is called {self.clique!r}; known: {', '.join(CLIQUES)}")

    @property
    def names(self) -> frozenset[str]:
        """The strategies that are switched on."""
        return frozenset(_words(self.strategies)) - frozenset(_words(self.without))


def _words(text: str) -> list[str]:
    """The words of a comma-separated list."""
    return [word.strip() for word in text.split(",") if word.strip()]


def ramp(dfg: Dfg, arch: Arch, config: RampConfig, budget: Budget) -> Mapping | Failure:
    """A mapping at the first II that RAMP's algorithm succeeds at, or why there is none.

    Ends after ``config.attempts`` IIs or with the budget, whose moves are those of clique searches. OptionError for an
    array that is not like a torus.
    """
    limits = RampLimits(
        ii=config.ii, attempts=config.attempts, starts=config.starts, moves=config.moves, links=config.links,
        sideways=config.sideways, options=config.options, first=config.first, clique=config.clique,
    )  # fmt: skip
    return run_technique("ramp", dfg, arch, Technique(strategies=config.names), limits, config, budget)
