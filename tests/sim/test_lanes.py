"""SIMD lanes in the simulator: each computes what the interpreter computes on its own streams."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.random_cases import legal_mappings
from tests.simd_cases import mapped, running_sum, table, widened

from gridloom.dfg.interpreter import Interpreter, Observation, Stimulus
from gridloom.errors import SimulationError
from gridloom.mapping import Mapping, configure
from gridloom.sim import run_lanes, simulate
from gridloom.sim.lanes import lane_stimuli


def same(a: Observation, b: Observation) -> bool:
    return (
        np.array_equal(a.values, b.values)
        and a.liveouts == b.liveouts
        and all(np.array_equal(words, b.memory[name]) for name, words in a.memory.items())
    )


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 11), st.sampled_from([32, 64, 128, 512]), st.integers(1, 12), st.integers(0, 99))
def test_every_lane_computes_what_the_interpreter_says(number: int, simd: int, iterations: int, seed: int) -> None:
    mapping = widened(legal_mappings("engine", 12)[number], simd)
    drawn = lane_stimuli(Interpreter(mapping.dfg), simd // 32, iterations, seed)
    shown = run_lanes(configure(mapping), [stimulus for stimulus, _ in drawn])
    assert len(shown) == simd // 32
    # Random streams of the same length are never the same.
    assert (
        len({stimulus.streams["x"].tobytes() + stimulus.streams["y"].tobytes() for stimulus, _ in drawn}) == simd // 32
    )
    for (stimulus, _), observed in zip(drawn, shown, strict=True):
        assert same(observed, Interpreter(mapping.dfg).run(stimulus))


def test_carried_values_belong_to_a_lane() -> None:
    mapping = mapped(running_sum(), "streaming-engine:2,spokes=3,simd=64")
    given_words = [np.array(words, dtype=np.int64) for words in ([1, 2, 3], [10, 20, 30])]
    stimuli = [Stimulus(iterations=3, streams={"x": words}, liveins={"start": 100}) for words in given_words]
    shown = run_lanes(configure(mapping), stimuli)
    assert [lane.outputs["y"].tolist() for lane in shown] == [[101, 103, 106], [110, 130, 160]]
    # A reduction leaves a partial result in each lane, for the user to combine.
    assert [lane.liveouts["total"] for lane in shown] == [106, 160]


def test_memory_belongs_to_a_lane() -> None:
    mapping = mapped(table(), "streaming-engine:8,spokes=6,simd=128")
    drawn = lane_stimuli(Interpreter(mapping.dfg), 4, 20, 3)
    shown = run_lanes(configure(mapping), [stimulus for stimulus, _ in drawn])
    assert all(same(observed, expected) for observed, (_, expected) in zip(shown, drawn, strict=True))
    assert len({lane.memory["U"].tobytes() for lane in shown}) == 4


def test_a_verdict_says_how_many_lanes_ran() -> None:
    verdict = simulate(mapped(running_sum(), "streaming-engine:2,spokes=3,simd=512"), iterations=8)
    assert (verdict.ok, verdict.lanes) == (True, 16)
    assert verdict.explain().splitlines()[0].endswith(", in each of 16 SIMD lanes)")
    assert simulate(mapped(running_sum(), "streaming-engine:2,spokes=3")).lanes == 1


def test_a_wrong_value_names_its_lane() -> None:
    mapping = mapped(running_sum(), "streaming-engine:2,spokes=3,simd=64")
    late = replace(mapping, routes=tuple(replace(route, fifo=route.fifo + 1) for route in mapping.routes))
    verdict = simulate(late, iterations=4)
    assert not verdict.ok
    assert any(mismatch.what == "lane 1: output y" for mismatch in verdict.mismatches)


def test_lanes_with_other_live_ins_are_refused() -> None:
    mapping = mapped(running_sum(), "streaming-engine:2,spokes=3,simd=64")
    first = lane_stimuli(Interpreter(mapping.dfg), 1, 4, 0)[0][0]
    with pytest.raises(SimulationError) as error:
        run_lanes(configure(mapping), [first, replace(first, liveins={"start": first.liveins["start"] + 1})])
    assert str(error.value) == "lane 1: SIMD lanes share live-ins and the number of iterations; its own differ"


def test_a_stimulus_is_missing_for_some_lane() -> None:
    mapping: Mapping = mapped(running_sum(), "streaming-engine:2,spokes=3,simd=64")
    first = lane_stimuli(Interpreter(mapping.dfg), 1, 4, 0)[0][0]
    with pytest.raises(SimulationError) as error:
        run_lanes(configure(mapping), [first])
    assert str(error.value) == "array 'streaming-engine:2,spokes=3,simd=64' has 2 SIMD lanes; found 1 stimuli"
