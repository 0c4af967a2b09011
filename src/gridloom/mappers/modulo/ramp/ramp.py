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
from gridloom.mappers.budget import Budget
from gridloom.mappers.modulo.ramp.run import run_technique
from gridloom.mappers.modulo.ramp.search import STRATEGIES, Limits, Technique
from gridloom.mappers.settings import check_settings
from gridloom.mapping.model import Failure, Mapping


@dataclass(frozen=True, kw_only=True)
class RampConfig:
    """Settings of ``ramp``. OptionError for a value out of range or a strategy that does not exist."""

    #: The II to map at; None: the first from the MII on.
    ii: int | None = None
    #: IIs that are tried at most.
    attempts: int = 24
    #: Schedules that are tried at an II before the next; without the strategy ``reschedule`` it is one.
    starts: int = 2
    #: Moves without a larger clique after which a clique search ends.
    moves: int = 1500
    #: Links of an unmapped op that strategies are tried on.
    links: int = 3
    #: Edits in a row that may map no more ops than before.
    sideways: int = 2
    #: Placements that are tried for a schedule, one for each option of a strategy.
    options: int = 80
    #: Strategies by name, comma-separated: route, memory, files, livein, recompute, reschedule.
    strategies: str = ",".join(STRATEGIES)

    def __post_init__(self) -> None:
        check_settings(
            self, at_least={"ii": 1, "attempts": 1, "starts": 1, "moves": 1, "links": 1, "sideways": 0, "options": 1}
        )
        for name in self.names:
            if name not in STRATEGIES:
                raise OptionError(f"strategies: no strategy is called {name!r}; known: {', '.join(STRATEGIES)}")

    @property
    def names(self) -> frozenset[str]:
        """The strategies that are switched on."""
        return frozenset(word.strip() for word in self.strategies.split(",") if word.strip())


def ramp(dfg: Dfg, arch: Arch, config: RampConfig, budget: Budget) -> Mapping | Failure:
    """A mapping at the first II that RAMP's algorithm succeeds at, or why there is none.

    Ends after ``config.attempts`` IIs or with the budget, whose moves are those of clique searches. OptionError for an
    array that is not like a torus.
    """
    limits = Limits(
        ii=config.ii, attempts=config.attempts, starts=config.starts, moves=config.moves, links=config.links,
        sideways=config.sideways, options=config.options,
    )  # fmt: skip
    return run_technique("ramp", dfg, arch, Technique(strategies=config.names), limits, config, budget)
