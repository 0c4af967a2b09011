"""Cost models that are formulas: `closed_form`, `wirelength`, `heuristic` and `tuned`.

`closed_form` looks at the slowest round trip of packets and credits. A producer may send a packet when its consumer has
room for it; the packet takes its length to be made, its length to be sent and a cycle for each link. So a flow with a
buffer of ``room`` vectors sustains at most ``room / (2 packet + hops)`` vectors per cycle, and the pipeline runs at the
share of full speed that its worst flow allows. There are no parameters. Where links are not shared much this is nearly
exact on the simulated array, which is why every table has it.

`wirelength` is the mean length of the routes, weighted by what they carry: what most placers minimise. As a prediction
of efficiency it is a straight line, fitted to the training data of the learned cost model (``gridloom eval cost-model
--set report=rules``).

`heuristic` is what an expert writes down without measuring: a speed for each operation in isolation, and congestion as
the sum of peak rates. A unit generates its outputs at the speed its rule says; a link is congested by what its flows
send at the same time at the worst; the slowest of all decides. It does not see that flows take turns in time, nor how
they wait for each other.

`tuned` stands for a team that tunes its heuristic by measuring. It has the rules of `heuristic` and one more, the
mean rate on a link: the slowest unit by itself, the sum of peak rates and the sum of mean rates on the busiest link,
the longest route and the mean route. Each has a number that says how much it counts, and all six numbers were fitted to
the same training data.
"""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np

from gridloom.targets.dataflow.costs.load import UNIT_OPS, Decisions, Floats, Pipeline, link_rates, rooms


class ClosedForm:
    """The cost model `closed_form`; it holds no state but what is fixed of the last pipeline."""

    name = "closed_form"

    def __init__(self) -> None:
        self._known: tuple[Pipeline, Floats] | None = None

    def efficiency(self, pipeline: Pipeline, decisions: Decisions) -> Floats:
        """Return the share of full speed that the worst flow allows. Linear in flows."""
        return np.asarray(self._flows(pipeline, decisions).min(axis=1, initial=1.0), dtype=np.float64)

    def preference(self, pipeline: Pipeline, decisions: Decisions) -> Floats:
        """Return the efficiency plus the mean of what each flow alone would allow, which has fewer plateaus."""
        flows = self._flows(pipeline, decisions)
        return np.asarray(flows.min(axis=1, initial=1.0) + flows.mean(axis=1), dtype=np.float64)

    def _flows(self, pipeline: Pipeline, decisions: Decisions) -> Floats:
        """Return the share of full speed that each flow of each decision allows, 1 at the most."""
        if self._known is None or self._known[0] is not pipeline:
            self._known = (pipeline, rooms(pipeline) / np.maximum(pipeline.rate, 1e-12))
        hops = np.diff(decisions.route_start).reshape(len(decisions), pipeline.flows)
        allowed: Floats = np.minimum(1.0, self._known[1] / (2.0 * pipeline.packet + hops))
        return allowed


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


#: Speed of an operation in isolation, as a share of its ideal one.
_SPEED: Final = {
    "gemm": 0.95, "elementwise": 0.9, "reduce": 0.85, "softmax": 0.8, "norm": 0.8, "input": 0.7, "output": 0.7,
    "weights": 0.95, "rows": 0.9, "gather": 0.9,
}  # fmt: skip
#: The share of a flow's rate that each cycle of distance costs.
_PER_HOP: Final = 0.004


class Heuristic:
    """The cost model `heuristic`.

    It holds no state, needs no training and costs one pass over the hops of all decisions.
    """

    name = "heuristic"

    def efficiency(self, pipeline: Pipeline, decisions: Decisions) -> Floats:
        """1 over the worst slowdown of any unit, link or flow. Linear in the hops."""
        speed = np.array([_SPEED[op] for op in UNIT_OPS])
        # A unit that is busy all of the bound at a speed of 0.9 takes 1 / 0.9 times the bound.
        isolated = float(np.max(pipeline.unit_load / speed[pipeline.unit_op]))
        congestion = link_rates(pipeline, decisions, pipeline.peak).max(axis=1)
        hops = np.diff(decisions.route_start).reshape(len(decisions), pipeline.flows)
        # Flows of an eighth of a vector per cycle or more feel their whole distance, slower ones a share of it.
        longest = (hops * np.minimum(1.0, 8 * pipeline.rate)).max(axis=1)
        slowdown: Floats = np.maximum(isolated, congestion) * (1.0 + _PER_HOP * longest)
        return 1.0 / slowdown


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
