"""What came of running a graph beside the source that it was read from."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Protocol

from gridloom.dfg.model import Dfg

#: Operations of the graph that a comparison runs, and the most iterations of one entry into the loop.
MOST_OPERATIONS: Final = 20_000
MOST_ITERATIONS: Final = 64


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceComparison:
    """What a comparison showed. Without ``runs`` nothing was compared, for the ``reason`` given."""

    #: Differences, one sentence each.
    findings: tuple[str, ...] = ()
    #: How often the loop was entered and compared.
    runs: int = 0
    reason: str = ""


class Reference(Protocol):
    """The source of a graph, which can be run."""

    def compare(self, dfg: Dfg, seed: int) -> SourceComparison:
        """Run the source and the graph on random data and compare what they leave. Costs about 0.1 s."""
        ...

    def unrolled(self, copies: int) -> Reference:
        """The same for a graph of which one iteration does several of the loop's."""
        ...


@dataclass(frozen=True, slots=True)
class NoReference:
    """A source that cannot be run beside its graph, with the reason."""

    reason: str

    def compare(self, dfg: Dfg, seed: int) -> SourceComparison:
        """Nothing is compared."""
        return SourceComparison(reason=self.reason)

    def unrolled(self, copies: int) -> NoReference:
        """The same reason."""
        return self


@dataclass(frozen=True, slots=True)
class StandIn:
    """The source of a graph that stands for another one, which is compared in its place.

    Whoever made the one of the other has compared the two.
    """

    reference: Reference
    dfg: Dfg

    def compare(self, dfg: Dfg, seed: int) -> SourceComparison:
        """Compare the graph that the other one stands for."""
        return self.reference.compare(self.dfg, seed)

    def unrolled(self, copies: int) -> NoReference:
        """Such graphs are not unrolled."""
        return NoReference("the graph was unrolled after it was made of another one")
