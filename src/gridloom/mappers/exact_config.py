"""Settings of the ``exact`` mapper, which its models for the different kinds of arrays share."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from gridloom._version import __version__
from gridloom.errors import OptionError
from gridloom.mappers.budget import Budget


@dataclass(frozen=True, kw_only=True)
class ExactConfig:
    """Settings of ``exact``."""

    #: The II to map at; None: from the MII on, the lowest that is not refuted.
    ii: int | None = None
    #: Go on until every II below the result is refuted for schedules of any length, not only within a window.
    prove: bool = False
    #: Threads of the solver. Its search strategies differ from thread to thread: 8 are worth it on 2 cores, too.
    workers: int = 8
    #: Modulo arrays: cycles from the first to the last issue of an iteration; None: the critical path and an II more.
    spread: int | None = None
    #: Modulo arrays: what a mapping may do. Proofs hold for what is allowed.
    rotate: bool = True
    spill: bool = True
    copies: bool = True
    #: Static arrays: what is made small: the deepest FIFO, links beyond one an edge, cycles to the last result.
    objective: Literal["buffers", "wirelength", "latency"] = "buffers"
    #: Static arrays: links that a route may have; None: enough for every way that pays.
    longest: int | None = None

    def __post_init__(self) -> None:
        for name in ("ii", "workers", "spread", "longest"):
            value = getattr(self, name)
            if value is not None and value < 1:
                raise OptionError(f"{name}: expected at least 1, found {value}")
        if self.objective not in ("buffers", "wirelength", "latency"):
            raise OptionError(f"objective: expected buffers, wirelength or latency, found {self.objective!r}")


def provenance(config: ExactConfig, budget: Budget, seconds: float) -> dict[str, object]:
    """Where a mapping of this mapper comes from, without what was proved of it."""
    standard = ExactConfig()
    changed = {name: getattr(config, name) for name in vars(config) if getattr(config, name) != getattr(standard, name)}
    origin = {"mapper": "exact", "config": changed, "seed": budget.seed, "version": __version__}
    # A run ended by effort is the same byte for byte, so nothing that a clock says goes into it.
    return origin if budget.time_limit is None else origin | {"seconds": round(seconds, 6)}
