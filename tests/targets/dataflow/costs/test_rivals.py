"""Simple cost models of dataflow placements: what they compute, and what stands in for a model that knows nothing."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from tests.targets.dataflow.machine.test_run import graph

from gridloom import registry
from gridloom.archs import build
from gridloom.flow.request import Request
from gridloom.flow.run import run
from gridloom.targets.dataflow.costs.bottleneck import Bottleneck
from gridloom.targets.dataflow.costs.formulas import (
    AT_ZERO,
    PER_HOP,
    ClosedForm,
    RuleCounts,
    Tuned,
    Wirelength,
    mean_hops,
    measures,
    predict_efficiency,
)
from gridloom.targets.dataflow.costs.load import Decisions, Pipeline, Ranged, link_rates, pipeline, rooms
from gridloom.targets.dataflow.costs.queueing import Queueing
from gridloom.targets.dataflow.learned.inference import MACHINE
from gridloom.targets.dataflow.lowering.lower import lower
from gridloom.targets.dataflow.mappers.route import route
from gridloom.targets.dataflow.mappers.search import AnnealingChains, DataflowConfig
from gridloom.targets.dataflow.program.model import TokenEdge


def lowered(spec: str) -> Pipeline:
    arch = build(spec)
    network = registry.load("networks", "mlp").build(rows=4, width=64, layers=2)
    return pipeline(lower(network, arch).sections[0].dfg, arch)


@pytest.fixture(scope="module")
def found() -> Pipeline:
    return lowered("rdu:8x8")


@pytest.fixture(scope="module")
def decisions(found: Pipeline) -> Decisions:
    return route(
        found, AnnealingChains(found, DataflowConfig(cost="heuristic", chains=6, start="random"), 0).places, aware=True
    )


def test_closed_form_is_room_over_the_round_trip_of_the_worst_flow(found: Pipeline, decisions: Decisions):
    starts, _ = decisions.routes(2)
    room = rooms(found)
    # A packet is made, sent and crosses its links before the buffer can be filled again.
    flows = [room[f] / (found.rate[f] * (2 * found.packet[f] + starts[f + 1] - starts[f])) for f in range(found.flows)]
    assert ClosedForm().efficiency(found, decisions)[2] == pytest.approx(min(1.0, *flows))


def test_preference_of_the_closed_form_moves_where_the_worst_flow_stays(found: Pipeline, decisions: Decisions):
    model = ClosedForm()
    added = model.preference(found, decisions) - model.efficiency(found, decisions)
    assert np.all((added > 0) & (added <= 1))
    assert len(set(added.round(9))) > 1


def test_wirelength_is_a_line_through_the_mean_route(found: Pipeline, decisions: Decisions):
    starts, _ = decisions.routes(0)
    mean = float(np.diff(starts) @ found.rate / found.rate.sum())
    assert mean_hops(found, decisions)[0] == pytest.approx(mean)
    assert Wirelength().efficiency(found, decisions)[0] == pytest.approx(AT_ZERO - PER_HOP * mean)


def test_rules_with_fitted_numbers_take_the_worst_slowdown_and_price_the_routes(found: Pipeline, decisions: Decisions):
    rules = RuleCounts(unit=1.0, peak=0.5, load=2.0, longest=0.01, mean=0.02, best=0.8)
    unit, peak, load, longest, mean = measures(found, decisions)[1]
    expected = 0.8 / (max(1.0, unit, 0.5 * peak, 2.0 * load) * (1 + 0.01 * longest + 0.02 * mean))
    assert Tuned(rules).efficiency(found, decisions)[1] == pytest.approx(expected)
    assert predict_efficiency(measures(found, decisions), rules).shape == (6,)


@pytest.mark.parametrize(
    ("spec", "reason"),
    [
        ("rdu:8x8", None),
        ("rdu:16x8,memory_bytes=65536", None),
        ("rdu:8x8,fifo=32", "the weights were trained for 16 fifo, found 32"),
        ("rdu:8x8,channels=4", "the weights were trained for 1 channels, found 4"),
        ("rdu:32x8", None),
        ("rdu:48x8", "the weights were trained for 1 to 32 units along the longer side, found 48"),
    ],
)
def test_learned_model_says_where_it_was_not_trained(monkeypatch: pytest.MonkeyPatch, spec: str, reason: str | None):
    model = registry.load("costs", "learned")()
    assert isinstance(model, Ranged)
    monkeypatch.setitem(model.about, "machine", MACHINE)
    assert model.outside(lowered(spec)) == reason


def test_weights_of_an_earlier_machine_are_not_asked(monkeypatch: pytest.MonkeyPatch):
    model = registry.load("costs", "learned")()
    monkeypatch.setitem(model.about, "machine", MACHINE - 1)
    reason = "the weights were trained for an earlier machine; `gridloom train cost-model` makes new ones"
    assert model.outside(lowered("rdu:8x8")) == reason


def test_bottleneck_is_the_worst_of_round_trips_links_and_channels(found: Pipeline, decisions: Decisions):
    model = registry.load("costs", "bottleneck")()
    hops = np.diff(decisions.route_start).reshape(len(decisions), found.flows)
    trips = (rooms(found) / found.rate / (2 * found.packet + 2 * hops - 1)).min(axis=1)
    loads = link_rates(found, decisions, found.rate).max(axis=1)
    said = model.efficiency(found, decisions)
    assert (said <= np.minimum(1.0, np.minimum(trips, 1 / loads)) + 1e-12).all()
    assert (said > 0).all()


def test_search_outside_the_training_range_takes_the_bottleneck_and_says_so(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setitem(registry.load("costs", "learned")().about, "machine", MACHINE)
    request = Request(
        source="model:mlp,rows=4,width=64,layers=2",
        arch="rdu:4x4,fifo=32",
        effort=32,
        settings={"chains": 4, "cost": "learned"},
    )
    result = run(request)
    assert result.status == "mapped"
    assert result.remarks == (
        "cost model 'learned' was replaced by 'bottleneck': the weights were trained for 16 fifo, found 32",
    )
    assert run(Request(**{**vars(request), "arch": "rdu:4x4"})).remarks == ()


def crossing(rate: float, room: int = 16) -> tuple[Pipeline, Decisions]:
    """Two flows on ways of three links that meet on the second one and stay together on the third."""
    dfg = graph(
        "crossing",
        dict.fromkeys("abc", ("elementwise", 4)),
        [
            TokenEdge(source="a", target="c", tokens=4, room=room),
            TokenEdge(source="b", target="c", operand=1, tokens=4, room=room),
        ],
    )
    found = replace(pipeline(dfg, build("rdu:4x4")), rate=np.full(2, rate))
    ways = np.array([0, 2, 3, 1, 2, 3], dtype=np.int64)
    return found, Decisions(places=np.array([[0, 1, 2]]), route_start=np.array([0, 3, 6]), route_links=ways)


def test_packets_wait_once_where_ways_meet():
    found, decisions = crossing(0.25)
    _, _, meets = Queueing().details(found, decisions)
    # The other flow has a load of a quarter and packets of four vectors; on the third link they are in order already.
    assert meets.tolist() == [0, 1, 0, 0, 1, 0]


def test_speed_is_the_largest_at_which_every_round_trip_fits_its_room():
    # Two flows of rate 1 leave each other half of the link, whatever their room.
    assert Queueing().efficiency(*crossing(1.0))[0] == pytest.approx(0.5)
    # At the share x a packet takes 2 * 4 cycles to be made and sent, 2 * 3 - 1 on the way, and waits x * 0.5 * 4. With
    # half a vector per cycle and a room of 6: x * 0.5 * (13 + 2 x) = 6.
    share = (-13 + np.sqrt(13**2 + 4 * 2 * 12)) / (2 * 2)
    assert Queueing().efficiency(*crossing(0.5, 6))[0] == pytest.approx(share, rel=2e-3)
    assert Bottleneck().efficiency(*crossing(0.5, 6))[0] == pytest.approx(6 / (0.5 * 13))


def test_queueing_is_never_above_the_bottleneck(found: Pipeline, decisions: Decisions):
    most, share, _ = Queueing().details(found, decisions)
    assert (share <= most).all()
    assert (share > 0.5 * most).all()
