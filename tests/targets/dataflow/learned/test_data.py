"""Guides of the searches that the data set of the cost model comes from."""

from __future__ import annotations

import numpy as np
import pytest

from gridloom.targets.dataflow.learned import data
from gridloom.targets.dataflow.learned.data import RoundTripGuide, random_guide
from gridloom.targets.dataflow.mappers.search import AnnealingChains, DataflowConfig


@pytest.fixture
def pipeline() -> data.Pipeline:
    return data.graph_pipeline("mlp", (("layers", 2), ("width", 64)), "present")


def test_round_trips_tell_short_ways_from_random_ones(pipeline: data.Pipeline):
    short = AnnealingChains(pipeline, DataflowConfig(cost="heuristic", chains=4), 0)
    random_places = short.places.copy()
    short.shorten()
    guide = RoundTripGuide(power=2.0, peaks=0.5)
    good = guide.efficiency(pipeline, data.route_places(pipeline, short.places, "present"))
    poor = guide.efficiency(pipeline, data.route_places(pipeline, random_places, "present"))
    assert good.min() > poor.max()
    assert poor.min() > 0
    assert good.max() < 1


def test_jobs_draw_different_guides():
    names = {random_guide(np.random.default_rng(seed)).name for seed in range(20)}
    assert names == {"heuristic", "windows"}
