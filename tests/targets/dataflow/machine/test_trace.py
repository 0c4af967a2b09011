"""The trace of tokens is the elastic simulator's own run, a moment at a time."""

from __future__ import annotations

import numpy as np
from tests import hand_mappings as hand

from gridloom.mapping.configuration import configure
from gridloom.targets.dataflow.machine.run import TokenNetwork, repetitions, simulate_elastic
from gridloom.targets.dataflow.machine.trace import BUSY, STALLED, STARVED, record_tokens


def test_moments_end_where_the_whole_run_ends() -> None:
    configuration = configure(hand.rdu_two_stages())
    trace = record_tokens(configuration, iterations=6)
    network = TokenNetwork(configuration, repetitions(configuration), 6)
    cycles = network.run()
    assert (trace.fired[-1] == network.fired[: len(network.slots)]).all()
    assert (trace.counters[-1] == network.counters).all()
    assert int(trace.cycles[-1]) == cycles
    assert trace.stuck is None and not trace.cut


def test_busy_starved_and_stalled_add_up_to_the_usage_of_the_verdict() -> None:
    configuration = configure(hand.rdu_two_stages())
    trace = record_tokens(configuration, iterations=6)
    lasted = np.diff(trace.cycles)
    verdict = simulate_elastic(configuration, iterations=6)
    for u, unit in enumerate(verdict.units):
        spent = {kind: int(lasted[trace.state[:-1, u] == kind].sum()) for kind in (BUSY, STARVED, STALLED)}
        assert (spent[BUSY], spent[STARVED], spent[STALLED]) == (unit.busy, unit.starved, unit.stalled)


def test_a_long_run_is_cut() -> None:
    trace = record_tokens(configure(hand.rdu_two_stages()), iterations=6, moments=3)
    assert len(trace.cycles) == 3 and trace.cut


def test_each_flow_names_its_links_and_its_units() -> None:
    mapping = hand.rdu_two_stages()
    trace = record_tokens(configure(mapping), iterations=2)
    assert {flow.edge for flow in trace.flows} == set(range(len(mapping.dfg.edges)))
    assert all(flow.links and flow.source >= 0 and flow.target >= 0 and flow.room > 0 for flow in trace.flows)
