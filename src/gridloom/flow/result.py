"""What a flow returns: a mapping that was confirmed, or a failure with its reasons, and the record of it as JSON.

A Result is complete in itself: it holds the graph and the array as they were mapped, so that reports and pictures need
nothing else. Its record (``to_dict``) is what the command line prints and what suites store, with null
for a field that has no meaning.
"""

from __future__ import annotations

from collections.abc import Mapping as MappingABC
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, Literal, Protocol

from gridloom.archs.model import Arch
from gridloom.dfg.model import Dfg
from gridloom.mapping.mii import Mii
from gridloom.mapping.model import Failure, Mapping

if TYPE_CHECKING:
    from gridloom.flow.loops.loop_text import LoopText
    from gridloom.flow.why.explanation import Explanation

#: The fields that ``stats`` recomputes from a mapping, in the order of the record.
METRICS: Final = (
    "latency",
    "period",
    "throughput",
    "wirelength",
    "longest_wire",
    "placed_wirelength",
    "buffers",
    "width",
    "height",
    "tiles_used",
    "routing_tiles",
    "occupancy",
    "slots",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Verified:
    """What was confirmed about a mapping, by parts that share no code with the mapper."""

    legal: bool = False
    simulated: bool = False
    #: What the simulated values were compared with: the source, or only the graph that was made of it.
    compared_with: Literal["source", "graph"] = "graph"
    #: Why the graph was not compared with its source; "" where it was, and for graphs that have no other source.
    not_compared: str = ""

    def to_dict(self) -> dict[str, Any]:
        """The record as plain JSON data."""
        more = {"not_compared": self.not_compared} if self.not_compared else {}
        return {"legal": self.legal, "simulated": self.simulated, "compared_with": self.compared_with, **more}


class ProgramSection(Protocol):
    """A part of a program that is mapped alone."""

    @property
    def result(self) -> Result:
        """What came of it."""
        ...

    @property
    def count(self) -> int:
        """Sections of the program that are like this one, itself included."""
        ...

    @property
    def start(self) -> Any:
        """What its target knows of its start from an empty array; None without a mapping."""
        ...

    def to_dict(self) -> dict[str, Any]:
        """The section as plain JSON data."""
        ...


@dataclass(frozen=True, kw_only=True)
class Result:
    """The outcome of one flow. ``mapping`` is there exactly when it passed both checks."""

    dfg: Dfg
    arch: Arch
    mapper: str
    seed: int
    #: Seconds of search, without JIT compilation, checks and input and output.
    seconds: float
    #: The lower bound on the II; None on elastic arrays, which have none.
    bound: Mii | None = None
    verified: Verified = Verified()
    mapping: Mapping | None = None
    failure: Failure | None = None
    metrics: MappingABC[str, Any] = field(default_factory=dict)
    #: A mapping that its mapper believed in and the checks refused; kept so that it can be looked at.
    refused: Mapping | None = None
    #: Where the search was cut short by the user.
    interrupted: bool = False
    #: Programs that are mapped by sections: every different one, with what came of it.
    sections: tuple[ProgramSection, ...] = ()
    #: The text of the loop that was mapped, for the report; None for graphs that were not read from a loop.
    text: LoopText | None = None
    #: What was tried where a source stands for several graphs, and which one was kept.
    remarks: tuple[str, ...] = ()
    #: Iterations of the source's loop that one iteration of the graph does.
    copies: int = 1

    @property
    def status(self) -> Literal["mapped", "failed"]:
        """``mapped`` only with a mapping that is legal and computes what the graph, or its source, computes."""
        return "failed" if self.mapping is None else "mapped"

    def __repr__(self) -> str:
        what = f"{self.dfg.name} on {self.arch.name} with {self.mapper}, seed {self.seed}"
        if self.failure is not None:
            return f"<Result failed: {what}: {self.failure.constraint}>"
        ii = "" if self.mapping is None or not self.arch.is_timed else f", II {self.mapping.ii}"
        return f"<Result {self.status}: {what}{ii}>"

    def _repr_html_(self) -> str:
        from gridloom.flow.display.picture import result_html

        return result_html(self)

    @property
    def lines(self) -> MappingABC[str, int]:
        """Node -> the line of the source that it was made of; empty for sources without lines."""
        return {} if self.text is None else self.text.listing(self.dfg).nodes

    def why(self, *, search: bool = True) -> Explanation:
        """What bounds the result or forbids a mapping, and what would help, tried before it is offered.

        With ``search``, short searches try what no bound can judge: seconds, where the result is above its bounds.
        """
        from gridloom import registry
        from gridloom.flow.request import Request
        from gridloom.flow.why.explanation import explain

        mapper = self.mapper if registry.has("mappers", self.mapper) else "auto"
        trial = Request(source=self.dfg, arch=self.arch, mapper=mapper, seed=self.seed) if search else None
        return explain(self.dfg, self.arch, self.mapping, self.failure, lines=self.lines, trial=trial)

    def to_dict(self) -> dict[str, Any]:
        """The record as plain JSON data: every field is always there, null where it has no meaning."""
        found = self.mapping.provenance if self.mapping is not None else {}
        return {
            "status": self.status,
            "verified": self.verified.to_dict(),
            "mapper": self.mapper,
            "seed": self.seed,
            "seconds": round(self.seconds, 6),
            "dfg": {"name": self.dfg.name, "nodes": len(self.dfg.nodes), "edges": len(self.dfg.edges)},
            "arch": {
                "name": self.arch.name,
                "rows": self.arch.rows,
                "cols": self.arch.cols,
                "tiles": len(self.arch.tiles),
            },
            "failure": None if self.failure is None else failure_record(self.failure),
            "ii": None if self.mapping is None or not self.arch.is_timed else self.mapping.ii,
            "mii": self.bound.total if self.bound else None,
            "res_mii": self.bound.res if self.bound else None,
            "rec_mii": self.bound.rec if self.bound else None,
            **{name: self.metrics.get(name) for name in METRICS},
            **({"simd": self.metrics["simd"]} if "simd" in self.metrics else {}),
            "optimal": bool(found.get("optimal", False)),
            "bound": found.get("bound"),
            "proof": found.get("proof"),
            **({"sections": [item.to_dict() for item in self.sections]} if self.sections else {}),
            "found_by": found.get("found_by"),
            **({"remarks": list(self.remarks), "copies": self.copies} if self.remarks else {}),
        }


def blank_record() -> dict[str, Any]:
    """The record of a flow that broke down before it had anything to say: every field is there, and empty."""
    empty = ("mapper", "seed", "dfg", "arch", "failure", "ii", "mii", "res_mii", "rec_mii", *METRICS)
    proved = {"optimal": False, "bound": None, "proof": None, "found_by": None}
    return {"status": "failed", "verified": Verified().to_dict(), "seconds": 0.0, **dict.fromkeys(empty), **proved}


def failure_record(failure: Failure) -> dict[str, Any]:
    """A Failure as plain JSON data."""
    return {
        "constraint": failure.constraint,
        "demand": failure.demand,
        "bound": failure.bound,
        "levers": list(failure.levers),
        "congested": list(failure.congested),
        "cause": failure.cause,
    }
