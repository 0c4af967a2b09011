"""The cost model `simulated`: the simulator's own measurement of every decision."""

from __future__ import annotations

import numpy as np

from gridloom.estimate.dataflow import Decisions, Floats, Pipeline
from gridloom.sim.elastic.measure import Meter


class Simulated:
    """Measures instead of predicting: exact, and some hundred times slower than the other cost models.

    The meter of the last pipeline is kept, since a search asks about one pipeline many times.
    """

    name = "simulated"

    def __init__(self) -> None:
        self._meter: Meter | None = None

    def efficiency(self, pipeline: Pipeline, decisions: Decisions) -> Floats:
        """Throughput over the bound, measured; 0 for a deadlock."""
        if self._meter is None or self._meter.dfg is not pipeline.dfg or self._meter.arch is not pipeline.arch:
            self._meter = Meter(pipeline.dfg, pipeline.arch)
        meter = self._meter
        return np.array([meter.measure(*decisions.routes(k)).efficiency for k in range(len(decisions))])


def simulated() -> Simulated:
    """Return the cost model, ready to use."""
    return Simulated()
