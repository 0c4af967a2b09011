"""The cost model `tuned`: rules of an expert whose numbers were fitted to measurements.

The rules are those of `heuristic` with one more, the mean rate on a link: the slowest unit by itself, the sum of peak
rates and the sum of mean rates on the busiest link, the longest route and the mean route. Each has a number that says
how much it counts, and all six numbers were fitted to the training data of the learned cost model
(``gridloom eval cost-model --set report=rules``). It stands for a team that tunes its heuristic by measuring.
"""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np

from gridloom.targets.dataflow.costs.load import Decisions, Floats, Pipeline, link_rates
from gridloom.targets.dataflow.costs.wirelength import mean_hops


class RuleCounts(NamedTuple):
    """What each rule counts."""

    #: Slowdown of the slowest unit, of a link by its peak rates, of a link by its mean rates.
    unit: float
    peak: float
    load: float
    #: What a hop of the longest and of the mean route costs.
    longest: float
    mean: float
    #: Efficiency where no rule has anything to say.
    best: float


#: The numbers that fit 6,080 decisions on 76 graphs best.
FITTED: Final = RuleCounts(unit=0.0699, peak=0.08972, load=1.67427, longest=0.01177, mean=0.0, best=1.70521)


class Tuned:
    """The cost model `tuned`."""

    name = "tuned"

    def __init__(self, rules: RuleCounts = FITTED) -> None:
        self.rules = rules

    def efficiency(self, pipeline: Pipeline, decisions: Decisions) -> Floats:
        """Return the predicted efficiency. Linear in the hops."""
        return predict_efficiency(measures(pipeline, decisions), self.rules)


def measures(pipeline: Pipeline, decisions: Decisions) -> Floats:
    """Return what the rules look at, [decision, measure], in the order of `RuleCounts` without the last."""
    hops = np.diff(decisions.route_start).reshape(len(decisions), pipeline.flows)
    longest = (hops * np.minimum(1.0, 8 * pipeline.rate)).max(axis=1, initial=0.0)
    unit = np.full(len(decisions), float(pipeline.unit_load.max(initial=1.0)))
    peak = link_rates(pipeline, decisions, pipeline.peak).max(axis=1, initial=0.0)
    load = link_rates(pipeline, decisions, pipeline.rate).max(axis=1, initial=0.0)
    return np.stack([unit, peak, load, longest, mean_hops(pipeline, decisions)], axis=1)


def predict_efficiency(measured: Floats, rules: RuleCounts) -> Floats:
    """Return the efficiency that rules predict from their measures."""
    unit, peak, load, longest, mean = measured.T
    slow = np.maximum.reduce([np.ones(len(unit)), rules.unit * unit, rules.peak * peak, rules.load * load])
    result: Floats = rules.best / (slow * (1.0 + rules.longest * longest + rules.mean * mean))
    return np.clip(result, 0.01, 1.0)


def tuned_cost() -> Tuned:
    """Return the cost model, ready to use."""
    return Tuned()
