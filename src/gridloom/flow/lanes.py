"""What ``gridloom map --split-lanes`` does: one loop over the SIMD lanes of an array, instead of one for each lane."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from gridloom.archs.model import Arch
from gridloom.dfg.interpreter import interpret, random_stimulus
from gridloom.dfg.model import Dfg
from gridloom.errors import DfgError, OptionError, SimulationError
from gridloom.flow.loops.alternatives import Alternative
from gridloom.flow.result import Result
from gridloom.flow.source.comparison import NoReference, Reference, SourceComparison
from gridloom.transform.lanes import split_over_lanes


def split_alternatives(rows: Sequence[Alternative], arch: Arch) -> list[Alternative]:
    """Return the graphs that each lane runs; those of a loop's graphs that cannot be split are left out.

    OptionError for an array with one lane; DfgError with the reason where no graph can be split.
    """
    lanes = arch.simd_lanes()
    if lanes == 1:
        raise OptionError(f"array {arch.name!r} has one SIMD lane; give it a width (simd=512)", where="--split-lanes")
    found: list[Alternative] = []
    refused: DfgError | None = None
    for row in rows:
        try:
            split = split_over_lanes(row.dfg, lanes)
        except DfgError as error:
            refused = refused or error
            continue
        kept = None if row.reference is None else SplitReference(row.reference, row.dfg, lanes)
        found.append(replace(row, dfg=split, reference=kept))
    if not found and refused is not None:
        raise refused
    return found


def told_of_split(result: Result) -> Result:
    """Return the result of a graph that was split, whose metrics say so; the graph itself is that of one lane."""
    if "simd" not in result.metrics:
        return result
    simd = {**result.metrics["simd"], "split": True, "split_refused": None}
    return replace(result, metrics={**result.metrics, "simd": simd})


#: Iterations of each lane that are compared.
_ITERATIONS = 8


@dataclass(frozen=True, slots=True)
class SplitReference:
    """The source of a ``whole`` graph; the graph to compare is what each of so many ``lanes`` runs of it."""

    reference: Reference
    whole: Dfg
    lanes: int

    def compare(self, dfg: Dfg, seed: int) -> SourceComparison:
        """Compare the whole graph with its source, and all lanes together with the whole graph."""
        compared = self.reference.compare(self.whole, seed)
        if compared.findings or not compared.runs:
            return compared
        try:
            finding = self._difference(dfg, seed)
        except SimulationError as error:
            return SourceComparison(reason=str(error))
        return replace(compared, findings=(finding,) if finding else ())

    def unrolled(self, copies: int) -> NoReference:
        """Such graphs are not unrolled."""
        return NoReference("the graph was unrolled after it was split over lanes")

    def _difference(self, dfg: Dfg, seed: int) -> str:
        """The first output or live-out in which the lanes differ from the whole; "" where they differ in none."""
        given = random_stimulus(self.whole, _ITERATIONS * self.lanes, seed)
        wanted = interpret(self.whole, given)
        for lane in range(self.lanes):
            streams = {name: words[lane :: self.lanes] for name, words in given.streams.items()}
            found = interpret(dfg, replace(given, iterations=_ITERATIONS, streams=streams))
            for name, words in found.outputs.items():
                if not np.array_equal(words, wanted.outputs[name][lane :: self.lanes]):
                    return f"output {name} of lane {lane} is not what the loop puts out in its iterations"
        last = [name for name, word in found.liveouts.items() if word != wanted.liveouts[name]]
        return f"live-out {last[0]} of the last lane is not that of the loop" if last else ""
