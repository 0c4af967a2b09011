"""The cost model `wirelength`: the mean length of the routes, weighted by what they carry.

It is what most placers minimise. As a prediction of efficiency it is a straight line, fitted to the training data of
the learned cost model (``gridloom eval cost-model --set report=rules``).
"""

from __future__ import annotations

from typing import Final

import numpy as np

from gridloom.targets.dataflow.costs.load import Decisions, Floats, Pipeline

#: Efficiency with routes of no length, and what each hop of mean length takes from it.
AT_ZERO: Final = 0.8275
PER_HOP: Final = 0.05597


class Wirelength:
    """The cost model `wirelength`; it holds no state."""

    name = "wirelength"

    def efficiency(self, pipeline: Pipeline, decisions: Decisions) -> Floats:
        """Return a line through the mean length of the routes. Linear in flows."""
        return np.asarray(np.clip(AT_ZERO - PER_HOP * mean_hops(pipeline, decisions), 0.01, 1.0), dtype=np.float64)


def mean_hops(pipeline: Pipeline, decisions: Decisions) -> Floats:
    """Return for each decision the mean length of its routes, weighted by the rates of the flows."""
    hops = np.diff(decisions.route_start).reshape(len(decisions), pipeline.flows)
    mean: Floats = hops @ pipeline.rate / max(1e-12, float(pipeline.rate.sum()))
    return mean


def wirelength() -> Wirelength:
    """Return the cost model, ready to use."""
    return Wirelength()
