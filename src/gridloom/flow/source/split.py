"""The source of a graph whose iterations are split over SIMD lanes."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from gridloom.dfg.interpreter import interpret, random_stimulus
from gridloom.dfg.model import Dfg
from gridloom.errors import SimulationError
from gridloom.flow.source.comparison import NoReference, Reference, SourceComparison

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
