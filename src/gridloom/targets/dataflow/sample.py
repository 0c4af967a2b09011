"""A small pipeline with placements that differ in quality: what the battery for cost models asks about."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from gridloom import registry
from gridloom.targets.dataflow.costs.formulas import mean_hops
from gridloom.targets.dataflow.costs.load import Decisions, Ints, Pipeline, pipeline
from gridloom.targets.dataflow.lowering.lower import lower
from gridloom.targets.dataflow.mappers.route import route
from gridloom.targets.dataflow.mappers.search import AnnealingChains, DataflowConfig

_RANDOM = 15
_EXCHANGES = 600


class Sample(NamedTuple):
    """Decisions about one pipeline; ``better`` and ``worse`` are the numbers of two that no model may exchange."""

    pipeline: Pipeline
    decisions: Decisions
    better: int
    worse: int


def sample_decisions() -> Sample:
    """Return random placements of a small network, and before them one with short routes."""
    arch = registry.load("archs", "rdu")({"family": "rdu", "rows": 8, "cols": 8})
    network = registry.load("networks", "mlp").build(rows=4, width=64, layers=2)
    found = pipeline(lower(network, arch).sections[0].dfg, arch)
    drawn = AnnealingChains(found, DataflowConfig(cost="heuristic", chains=_RANDOM, start="random"), 0).places
    decisions = route(found, np.vstack([_compact(found, drawn[0]), drawn]))
    return Sample(found, decisions, 0, int(np.argmax(mean_hops(found, decisions))))


def _compact(found: Pipeline, places: Ints) -> Ints:
    """A placement whose routes are short: units of one kind exchange their tiles where that shortens them."""
    rng = np.random.default_rng(0)
    best, length = places, np.inf
    for _ in range(_EXCHANGES):
        a = int(rng.integers(found.units))
        b = int(rng.choice(np.flatnonzero(found.unit_kind == found.unit_kind[a])))
        tried = best.copy()
        tried[[a, b]] = tried[[b, a]]
        hops = float(mean_hops(found, route(found, tried[None, :]))[0])
        if hops < length:
            best, length = tried, hops
    return best
