"""The settings of ``modulo``, which the walks over IIs read, too."""

from __future__ import annotations

from dataclasses import dataclass

from gridloom.search.placements import GivenRegions
from gridloom.search.settings import check_settings


@dataclass(frozen=True, kw_only=True)
class ModuloConfig(GivenRegions):
    """Settings of ``modulo``; the starts of a batch vary the prices at random around these values."""

    #: The II to map at; None: from the MII on, the lowest that is found.
    ii: int | None = None
    #: Decide the IIs below the result, too: half of the budget goes to ``exact``, which needs the extra of that name.
    prove: bool = False
    #: Moves per node after which a start of the first walk gives up.
    moves: int = 24
    #: Rounds without progress after which a start of the first walk gives up.
    patience: int = 15
    #: How often ``moves`` and ``patience`` double at most, from pass to pass.
    doublings: int = 4
    #: Passes over IIs below the best when the budget has no limit.
    passes: int = 4
    #: What each signal in a slot adds to its price at first, as a multiple of the price of the empty slot.
    present: float = 0.6
    #: The largest value that ``present`` grows to.
    ceiling: float = 12.0
    #: The factor by which ``present`` grows from round to round.
    growth: float = 1.06
    #: What a round of overuse adds to the price of a slot for the rest of the start.
    history: float = 0.3
    #: Random part of a candidate's price.
    noise: float = 0.05
    #: Cycles beyond one II in which a node is tried.
    extra: int = 3
    #: The probability that what touches overuse is taken out in a round.
    removal: float = 0.65
    #: Whether nodes may be computed more than once.
    recompute: bool = True
    #: On arrays whose slots last several clocks: batches of starts at each II from which the mapping of least clocks is
    #: taken; 0: the first mapping of the lowest II.
    batches: int = 32
    #: On arrays with memory banks: the bank of some arrays, as in ``x:left+y:right``; the mapper chooses the others.
    banks: str = ""

    def __post_init__(self) -> None:
        check_settings(
            self,
            at_least={
                "ii": 1,
                "moves": 1,
                "patience": 1,
                "doublings": 0,
                "batches": 0,
                "passes": 0,
                "extra": 0,
                "history": 0,
                "noise": 0,
            },
            positive=("present", "ceiling", "growth", "removal"),
        )
