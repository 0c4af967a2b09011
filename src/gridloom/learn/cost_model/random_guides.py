"""Guides of the searches that the data set comes from: rules with random weights, for placements of many kinds.

A cost model that guides searches meets placements that searches by other rules do not come to. Data from one rule alone
would leave it to guess there; every job of the data set therefore draws its own.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from gridloom.estimate.dataflow import CostModel, Decisions, Floats, Pipeline
from gridloom.estimate.heuristic import heuristic
from gridloom.learn.cost_model.inference import features
from gridloom.learn.cost_model.kernel import EDGE_FEATURES

_WINDOW = EDGE_FEATURES.index("window")
_PEAKS = EDGE_FEATURES.index("peaks")


@dataclass(kw_only=True)
class Windows:
    """How much of the FIFOs' time round trips take: a power mean over the flows, and the same of peak rates."""

    #: 1 is the mean, large values are near the worst flow.
    power: float
    #: What the peak rates on shared links count beside the round trips.
    peaks: float
    name: str = "windows"

    def efficiency(self, pipeline: Pipeline, decisions: Decisions) -> Floats:
        """A number of 0 to 1, higher is better; it orders placements and predicts nothing. Linear in the hops."""
        found = features(pipeline, decisions).astype(np.float64)
        taken = found[:, :, _WINDOW] + self.peaks * found[:, :, _PEAKS]
        mean: Floats = np.mean(taken**self.power, axis=1) ** (1.0 / self.power)
        return 1.0 / (1.0 + mean)


def drawn(random: np.random.Generator) -> CostModel:
    """The guide of one job: the hand-written cost model, or round trips with random weights."""
    if random.random() < 0.5:
        return heuristic()
    return Windows(power=float(2 ** random.uniform(0, 4)), peaks=float(random.random()))
