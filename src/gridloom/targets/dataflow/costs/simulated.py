"""The cost model `simulated`: the simulator's own measurement of every decision."""

from __future__ import annotations

import numpy as np

from gridloom.targets.dataflow.costs.load import Decisions, Floats, Pipeline
from gridloom.targets.dataflow.machine.measure import Meter

#: Seconds for each link that a packet crosses; large graphs leave the caches and take about twice as long.
_CROSSING = 1e-7


class Simulated:
    """Measures instead of predicting: exact, and some hundred times slower than the other cost models.

    The meter of the last pipeline is kept, since a search asks about one pipeline many times.
    """

    name = "simulated"

    def __init__(self) -> None:
        self._meter: Meter | None = None

    def efficiency(self, pipeline: Pipeline, decisions: Decisions) -> Floats:
        """Throughput over the bound, measured; 0 for a deadlock."""
        meter = self._of(pipeline)
        return np.array([meter.measure(*decisions.routes(k)).efficiency for k in range(len(decisions))])

    def seconds(self, pipeline: Pipeline, decisions: Decisions) -> float:
        """About how long the measurement of the first decision takes."""
        return _CROSSING * self._of(pipeline).crossings(decisions.routes(0)[0])

    def _of(self, pipeline: Pipeline) -> Meter:
        """The meter of a pipeline."""
        if self._meter is None or self._meter.dfg is not pipeline.dfg or self._meter.arch is not pipeline.arch:
            self._meter = Meter(pipeline.dfg, pipeline.arch)
        return self._meter
