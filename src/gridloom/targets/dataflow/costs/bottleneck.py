"""The cost model `bottleneck`: the busiest resource or the slowest round trip decides, as the designer knows them.

A flow over h links with packets of p vectors has its next packet 2 p + 2 h - 1 cycles after the one whose room it
takes: p to make it, p to send it, h cycles there and h for the credit. So it sustains at most
``room / (2 p + 2 h - 1)`` vectors per cycle. A link carries one vector per cycle, a DRAM channel one in
``dram_cycles``, less what refreshing takes. The pipeline runs at the share of full speed that the worst of all these
allows. There are no fitted numbers. It does not see how packets wait for each other: for room in switches, behind
another flow's packet, for a bank.
"""

from __future__ import annotations

import numpy as np

from gridloom.archs.spec import parameters
from gridloom.targets.dataflow.costs.load import Decisions, Floats, Ints, Pipeline, link_rates, rooms
from gridloom.targets.dataflow.families.rdu import RduParameters


class Bottleneck:
    """The cost model `bottleneck`; it holds no state but what is fixed of the last pipeline."""

    name = "bottleneck"

    def __init__(self) -> None:
        self._known: tuple[Pipeline, Floats, Ints, Floats] | None = None

    def efficiency(self, pipeline: Pipeline, decisions: Decisions) -> Floats:
        """Return the share of full speed that the worst flow, link or channel allows. Linear in the hops."""
        loads = np.maximum(1.0, link_rates(pipeline, decisions, pipeline.rate).max(axis=1, initial=0.0))
        flows = self.flows(pipeline, decisions).min(axis=1, initial=1.0)
        return np.asarray(np.minimum(flows, 1.0 / np.maximum(loads, self._channels(pipeline, decisions))))

    def preference(self, pipeline: Pipeline, decisions: Decisions) -> Floats:
        """Return the efficiency plus the mean of what each flow alone would allow, which has fewer plateaus."""
        flows = self.flows(pipeline, decisions)
        return np.asarray(self.efficiency(pipeline, decisions) + flows.mean(axis=1), dtype=np.float64)

    def flows(self, pipeline: Pipeline, decisions: Decisions) -> Floats:
        """Return the share of full speed that each flow of each decision allows, 1 at the most."""
        hops = np.diff(decisions.route_start).reshape(len(decisions), pipeline.flows)
        allowed: Floats = np.minimum(1.0, self._fixed(pipeline)[1] / (2.0 * pipeline.packet + 2.0 * hops - 1.0))
        return allowed

    def _fixed(self, pipeline: Pipeline) -> tuple[Pipeline, Floats, Ints, Floats]:
        """What is the same in all decisions: buffer time of flows, channel of tiles, DRAM cycles of units."""
        if self._known is None or self._known[0] is not pipeline:
            p = parameters(RduParameters, pipeline.arch.spec)
            drams = [t for t, tile in enumerate(pipeline.arch.tiles) if tile.kind == "dram"]
            channel = np.full(len(pipeline.arch.tiles), -1, dtype=np.int64)
            channel[drams] = np.arange(len(drams)) % max(1, min(p.dram_channels, len(drams)))
            busy = p.dram_cycles / (1.0 - p.refresh_cycles / p.refresh_every)
            taken = np.zeros(pipeline.units)
            first = np.unique(np.stack([pipeline.source, pipeline.tree]), axis=1, return_index=True)[1]
            np.add.at(taken, pipeline.source[first], pipeline.rate[first])
            np.add.at(taken, pipeline.target, np.where(pipeline.unit_kind[pipeline.target] == 2, pipeline.rate, 0.0))
            window = rooms(pipeline) / np.maximum(pipeline.rate, 1e-12)
            self._known = (pipeline, window, channel, np.where(pipeline.unit_kind == 2, taken * busy, 0.0))
        return self._known

    def _channels(self, pipeline: Pipeline, decisions: Decisions) -> Floats:
        """Return for each decision the load of the busiest DRAM channel: 1 is all that it can do."""
        _, _, channel, busy = self._fixed(pipeline)
        units = np.flatnonzero(pipeline.unit_kind == 2)
        worst = np.zeros(len(decisions))
        for d in range(len(decisions) if len(units) else 0):
            worst[d] = np.bincount(channel[decisions.places[d, units]], busy[units]).max()
        return worst
