"""The hand-written cost model: rules for each operation in isolation, and congestion as the sum of peak rates.

It is the baseline that a learned model is compared with: what an expert writes down without measuring. A unit generates
its outputs at the speed its rule says; a link is congested by what its flows send at the same time at the worst; the
slowest of all decides. It does not see that flows take turns in time, nor how they wait for each other.
"""

from __future__ import annotations

from typing import Final

import numpy as np

from gridloom.targets.dataflow.costs.load import UNIT_OPS, Decisions, Floats, Pipeline, link_rates

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


def heuristic() -> Heuristic:
    """The cost model, ready to use."""
    return Heuristic()
