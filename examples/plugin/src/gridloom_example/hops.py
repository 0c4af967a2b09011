"""The cost model ``hops`` of the mapper ``dataflow``: the fewer links a value takes, the better."""

from __future__ import annotations

import numpy as np

from gridloom.targets.dataflow.costs.load import Decisions, Floats, Pipeline


class Hops:
    """Predicts the efficiency of a placement from the mean length of its routes; it holds no state."""

    name = "hops"

    def efficiency(self, pipeline: Pipeline, decisions: Decisions) -> Floats:
        """One number for each decision, from 0 to 1; higher is better."""
        links = np.diff(decisions.route_start).reshape(len(decisions), pipeline.flows)
        return np.asarray(1.0 / (1.0 + links.mean(axis=1)), dtype=np.float64)
