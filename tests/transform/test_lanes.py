"""One loop over SIMD lanes: the lanes together compute what the loop computes, or the reason why not is named."""

from __future__ import annotations

import random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.random_cases import engine_graph
from tests.simd_cases import running_sum, table

from gridloom.dfg.interpreter import Stimulus, interpret
from gridloom.dfg.model import Dfg, DfgBuilder
from gridloom.errors import DfgError
from gridloom.sim import stimulus_for
from gridloom.transform.lanes import lanes_refusal, split_over_lanes


def carried(distance: int, initial: list[int | float | str], kind: str = "add") -> Dfg:
    """y(i) = x(i) op y(i - distance)."""
    b = DfgBuilder("carried")
    total = b.add(kind, b.input("x"), id="total", liveout="total")
    b.carry(total, total, operand=1, distance=distance, initial=initial)
    b.output(total, "y")
    return b.build()


def check_split(dfg: Dfg, lanes: int, rounds: int, seed: int) -> None:
    """Interleave what the lanes of a split graph show, and compare it with the whole loop."""
    whole = stimulus_for(dfg, iterations=lanes * rounds, seed=seed)
    expected = interpret(dfg, whole)
    part = split_over_lanes(dfg, lanes)
    shown = [
        interpret(
            part,
            Stimulus(
                iterations=rounds,
                streams={name: words[lane::lanes] for name, words in whole.streams.items()},
                liveins=whole.liveins,
                memory={name: words.copy() for name, words in whole.memory.items()},
            ),
        )
        for lane in range(lanes)
    ]
    for name, words in expected.outputs.items():
        assert np.array_equal(np.stack([one.outputs[name] for one in shown], axis=1).ravel(), words)
    # The last iteration ran in the last lane.
    assert shown[-1].liveouts == expected.liveouts


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 10_000), st.sampled_from([2, 4, 16]), st.integers(1, 5))
def test_loops_without_carried_values_are_the_same_in_every_lane(seed: int, lanes: int, rounds: int) -> None:
    dfg = engine_graph(random.Random(seed))
    assert split_over_lanes(dfg, lanes) == dfg
    check_split(dfg, lanes, rounds, seed)


@settings(max_examples=40, deadline=None)
@given(st.integers(1, 3), st.sampled_from([2, 4, 16]), st.integers(1, 6), st.data())
def test_a_distance_that_is_a_multiple_of_the_lanes_is_carried_within_a_lane(
    steps: int, lanes: int, rounds: int, data: st.DataObject
) -> None:
    firsts = data.draw(st.lists(st.integers(-9, 9), min_size=steps, max_size=steps))
    dfg = carried(steps * lanes, [first for first in firsts for _ in range(lanes)], kind="sub")
    assert [edge.distance for edge in split_over_lanes(dfg, lanes).edges if edge.distance] == [steps]
    check_split(dfg, lanes, rounds, seed=steps)


def test_initial_values_that_are_not_given_are_zero_in_every_lane() -> None:
    check_split(carried(8, []), 4, 5, seed=1)


@settings(max_examples=30, deadline=None)
@given(st.integers(1, 40), st.sampled_from([2, 4, 16]))
def test_a_carried_value_that_crosses_lanes_is_named(distance: int, lanes: int) -> None:
    reason = lanes_refusal(carried(distance, []), lanes)
    if distance % lanes == 0:
        assert reason is None
        return
    many = "s" if distance > 1 else ""
    assert reason == (
        f"'total' is carried over {distance} iteration{many} to 'total', which is no multiple of {lanes} lanes"
    )


def test_initial_values_that_differ_between_lanes_are_named() -> None:
    assert lanes_refusal(carried(2, [1, 2]), 2) == (
        "the initial values from 'total' to 'total' are not the same in all lanes"
    )


def test_a_reduction_is_refused_with_the_graph() -> None:
    with pytest.raises(DfgError) as error:
        split_over_lanes(running_sum(), 16)
    assert str(error.value) == (
        "graph 'running_sum': cannot be split over 16 SIMD lanes: 'total' is carried over 1 iteration to 'total', "
        "which is no multiple of 16 lanes"
    )


def test_a_loop_that_stores_is_refused() -> None:
    b = DfgBuilder("scatter")
    b.array("A", 8)
    b.store("A", b.add("and", b.input("x"), b.const(7)), b.input("v"), id="put")
    assert lanes_refusal(b.build(), 2) == "'put' stores to array 'A', and every lane has arrays of its own"


def test_one_lane_takes_every_loop() -> None:
    for dfg in (running_sum(), table()):
        assert lanes_refusal(dfg, 1) is None
        assert split_over_lanes(dfg, 1).nodes == dfg.nodes
