"""The cost model `closed_form`: the slowest round trip of packets and credits decides, and nothing else is looked at.

A producer may send a packet when its consumer has room for it; the packet takes its length to be made, its length to be
sent and a cycle for each link. So a flow with a buffer of ``room`` vectors sustains at most
``room / (2 packet + hops)`` vectors per cycle, and the pipeline runs at the share of full speed that its worst flow
allows. There are no parameters. Where links are not shared much this is nearly exact on the simulated array, which is
why every table has it.
"""

from __future__ import annotations

import numpy as np

from gridloom.targets.dataflow.costs.load import Decisions, Floats, Pipeline, rooms


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


def closed_form() -> ClosedForm:
    """Return the cost model, ready to use."""
    return ClosedForm()
