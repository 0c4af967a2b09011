"""Guides of the searches that the data set comes from: cost rules with random weights, for placements of many kinds.

A cost model that guides searches meets placements that searches by other rules do not reach. With data from one rule
alone it would have to guess there; therefore every job of the data set draws a rule of its own.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from gridloom.targets.dataflow.costs.heuristic import heuristic
from gridloom.targets.dataflow.costs.load import CostModel, Decisions, Floats, Pipeline
from gridloom.targets.dataflow.learned.features import FULL_SPEED
from gridloom.targets.dataflow.learned.inference import full_speed

_WINDOW = FULL_SPEED.index("window")
_PEAKS = FULL_SPEED.index("peaks")


@dataclass(kw_only=True)
class RoundTripGuide:
    """A guide by round trips: how much of the FIFOs' time they take, as a power mean over the flows.

    It implements the protocol of cost models. The window feature of a flow is the share of its FIFO's time that a round
    trip takes; 1 and more means that the buffer is too short for the distance.
    """

    #: The power of the mean: 1 is the plain mean, large values are near the worst flow.
    power: float
    #: The weight of the peak rates on shared links beside the round trips.
    peaks: float
    name: str = "windows"

    def efficiency(self, pipeline: Pipeline, decisions: Decisions) -> Floats:
        """Return a number of 0 to 1 per decision, higher is better; it only orders placements. Linear in the hops."""
        edges = full_speed(pipeline, decisions).astype(np.float64)
        taken = edges[:, :, _WINDOW] + self.peaks * edges[:, :, _PEAKS]
        mean: Floats = np.mean(taken**self.power, axis=1) ** (1.0 / self.power)
        return 1.0 / (1.0 + mean)


def random_guide(random: np.random.Generator) -> CostModel:
    """Return the guide of one job: the hand-written cost model, or round trips with random weights.

    >>> random_guide(np.random.default_rng(1)).name in ("heuristic", "windows")
    True
    """
    if random.random() < 0.5:
        return heuristic()
    return RoundTripGuide(power=float(2 ** random.uniform(0, 4)), peaks=float(random.random()))
