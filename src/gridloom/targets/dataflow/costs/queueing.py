"""The cost model `queueing`: `bottleneck`, and packets wait for those of other flows where their ways meet.

A packet that comes to a link finds a packet of another flow there with a chance of that flow's load. It is taken to
wait for the whole of that packet, since those that come at the same time wait for each other too. This lengthens the
round trip, which lowers the speed, which lowers the loads: the largest speed at which every flow keeps up is the
prediction. No number in it is fitted, but this form of the wait was chosen among 18 by the labels of the data set. What
it does not see: that stages work in bursts, so that loads change within a block of rows, and packets that hold up
others in full buffers.
"""

from __future__ import annotations

import numpy as np

from gridloom.targets.dataflow.costs.bottleneck import Bottleneck
from gridloom.targets.dataflow.costs.load import Decisions, Floats, Ints, Pipeline, rooms


class Queueing:
    """The cost model `queueing`; it holds no state but what is fixed of the last pipeline."""

    name = "queueing"

    def __init__(self) -> None:
        self.bottleneck = Bottleneck()
        self._known: tuple[Pipeline, Ints, Ints] | None = None

    def efficiency(self, pipeline: Pipeline, decisions: Decisions) -> Floats:
        """Return the share of full speed that waits and resources allow. Linear in the hops and in those they meet."""
        return self.details(pipeline, decisions)[1]

    def preference(self, pipeline: Pipeline, decisions: Decisions) -> Floats:
        """Return the efficiency plus the mean of what each flow alone would allow, which has fewer plateaus."""
        flows = self.bottleneck.flows(pipeline, decisions).mean(axis=1)
        return np.asarray(self.efficiency(pipeline, decisions) + flows, dtype=np.float64)

    def details(self, pipeline: Pipeline, decisions: Decisions) -> tuple[Floats, Floats, Floats]:
        """Return the prediction of `bottleneck`, that of this model, and what each hop meets at full speed."""
        from gridloom.targets.dataflow.costs.load_kernel import find_sustained_share, meeting_loads

        room, order = self.fixed(pipeline)
        most = self.bottleneck.efficiency(pipeline, decisions)
        meets: Floats = meeting_loads(
            len(decisions), pipeline.links, decisions.route_start, decisions.route_links, pipeline.rate,
            pipeline.packet, pipeline.tree, order,
        )  # fmt: skip
        found: Floats = find_sustained_share(decisions.route_start, meets, pipeline.rate, pipeline.packet, room, most)
        return most, found, meets

    def fixed(self, pipeline: Pipeline) -> tuple[Ints, Ints]:
        """Return the rooms of the flows, and the flows tree by tree; computed once for each pipeline in a row."""
        if self._known is None or self._known[0] is not pipeline:
            order = np.argsort(pipeline.tree, kind="stable").astype(np.int64)
            self._known = (pipeline, rooms(pipeline), order)
        return self._known[1:]
