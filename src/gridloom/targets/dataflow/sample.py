"""A small pipeline with placements that differ in quality: what the battery for cost models asks about."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from gridloom import registry
from gridloom.mapping.model import Mapping
from gridloom.search.budget import Budget
from gridloom.targets.dataflow.costs.load import Decisions, Ints, Pipeline, pipeline
from gridloom.targets.dataflow.costs.wirelength import mean_hops
from gridloom.targets.dataflow.lowering.lower import lower
from gridloom.targets.dataflow.mappers.dataflow import dataflow
from gridloom.targets.dataflow.mappers.route import route
from gridloom.targets.dataflow.mappers.search import DataflowConfig, Search

_RANDOM = 15


class Sample(NamedTuple):
    """Decisions about one pipeline; ``better`` and ``worse`` are the numbers of two that no model may exchange."""

    pipeline: Pipeline
    decisions: Decisions
    better: int
    worse: int


def sample_decisions() -> Sample:
    """Return random placements of a small network, and before them one that was annealed for short routes."""
    arch = registry.load("archs", "rdu")({"family": "rdu", "rows": 8, "cols": 8})
    network = registry.load("networks", "mlp").build(rows=4, width=64, layers=2)
    found = pipeline(lower(network, arch).sections[0].dfg, arch)
    drawn = Search(found, DataflowConfig(cost="heuristic", chains=_RANDOM, start="random"), 0).places
    decisions = route(found, np.vstack([_compact(found), drawn]))
    return Sample(found, decisions, 0, int(np.argmax(mean_hops(found, decisions))))


def _compact(found: Pipeline) -> Ints:
    """A placement whose routes are short."""
    mapping = dataflow(found.dfg, found.arch, DataflowConfig(cost="wirelength", judge=None), Budget(effort=4000))
    if not isinstance(mapping, Mapping):
        raise AssertionError(f"the sample of dataflow placements does not fit its array: {mapping}")
    tiles = {instance.node: found.arch.tile_index[instance.place] for instance in mapping.instances}
    return np.array([tiles[node.id] for node in found.dfg.nodes], dtype=np.int64)
