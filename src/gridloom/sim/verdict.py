"""What a simulation says: right or wrong, where it went wrong first, and for elastic arrays the period.

A wrong mapping is a verdict, not an exception: callers print it, store it or search on.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True, slots=True, kw_only=True)
class Mismatch:
    """One value that the array got wrong.

    ``expected`` is the interpreter's value, ``found`` the array's, both as raw 64-bit words of the domain. A word that
    begins with 5EED in hexadecimal was never driven.
    """

    #: ``output y``, ``memory A[3]``, ``live-out s``, ``node x``, ``access of x``.
    what: str
    #: The iteration it belongs to; -1 for what stands at the end of a run.
    iteration: int
    expected: int
    found: int
    #: Iterations of the run it showed in.
    trip_count: int = 0

    def __str__(self) -> str:
        when = f" in iteration {self.iteration}" if self.iteration >= 0 else ""
        return f"{self.what}{when} of a run of {self.trip_count}: expected {self.expected}, found {self.found}"


class ColdFigures(Protocol):
    """When the steps of a cold start are done, in cycles since the array had no configuration."""

    @property
    def configured(self) -> int:
        """The configuration is in place."""
        ...

    @property
    def loaded(self) -> int:
        """The weights are in place."""
        ...

    @property
    def first_output(self) -> int:
        """The first result has left the array."""
        ...

    @property
    def last_output(self) -> int:
        """The last result has left the array."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class UnitUse:
    """Elastic arrays: what a unit did with its cycles.

    Each cycle of a run, until the unit's last firing is done, is busy, starved or stalled; ``firings`` counts those
    that began.
    """

    tile: str
    node: str
    firings: int
    busy: int
    #: Cycles without enough tokens at the inputs.
    starved: int
    #: Cycles with a result that the way out has no room for.
    stalled: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """The outcome of ``simulate``. It is true where the array computed what the graph means in every run.

    ``mismatches`` lists what a user would see (outputs, memory, live-outs); ``divergence`` is where to look for the
    cause.
    """

    ok: bool
    #: Iterations of the run that was asked for; fewer than ``asked`` where more would leave the graph's arrays.
    iterations: int
    #: Every trip count that was run.
    trip_counts: tuple[int, ...]
    #: Cycles of the run of ``iterations`` iterations.
    cycles: int
    #: Iterations that the caller asked for.
    asked: int = 0
    #: The first few values that differ.
    mismatches: tuple[Mismatch, ...] = ()
    #: The first node, in program order, whose value differs: where to look.
    divergence: Mismatch | None = None
    #: Why the configuration could not be run, or how it came to a stop.
    error: str | None = None
    #: SIMD lanes that ran, each on values of its own.
    lanes: int = 1
    #: Elastic arrays: cycles per iteration of the graph in the steady state, and who was waiting.
    period: float | None = None
    units: tuple[UnitUse, ...] = ()
    #: Elastic arrays, with a cold start: when its steps were done.
    cold: ColdFigures | None = None

    def __bool__(self) -> bool:
        return self.ok

    def explain(self) -> str:
        """A few lines for a reader: what was tested, what went wrong, and the first node that did.

        >>> print(Verdict(ok=True, iterations=8, trip_counts=(1, 8), cycles=20).explain())
        right in runs of 1, 8 iterations (8 iterations take 20 cycles)
        """
        counts = ", ".join(map(str, self.trip_counts))
        length = f"{self.iterations} iterations take {self.cycles} cycles"
        lanes = f", in each of {self.lanes} SIMD lanes" if self.lanes > 1 else ""
        lines = [f"{'right' if self.ok else 'WRONG'} in runs of {counts} iterations ({length}{lanes})"]
        if self.period is not None:
            lines.append(f"period: {self.period:g} cycles per iteration")
        if self.error:
            lines.append(self.error)
        lines += [str(mismatch) for mismatch in self.mismatches]
        if self.divergence is not None:
            lines.append(f"first to diverge: {self.divergence}")
        return "\n".join(lines)
