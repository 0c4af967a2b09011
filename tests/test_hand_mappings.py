"""The hand-written mappings: legal, right in value, with the cycles and metrics that their comments derive."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from tests import hand_mappings as hand

from gridloom.archs import build
from gridloom.dfg.interpreter import Stimulus, interpret
from gridloom.mapping import configure, json_format
from gridloom.sim import run, simulate
from gridloom.verify import legal, stats


@pytest.mark.parametrize("name", hand.LEGAL)
def test_hand_mapping_is_legal(name: str) -> None:
    assert legal(hand.LEGAL[name]()) == []


@pytest.mark.parametrize("name", hand.LEGAL)
def test_hand_mapping_computes_what_its_graph_computes(name: str) -> None:
    verdict = simulate(hand.LEGAL[name]())
    assert verdict.ok, verdict.mismatches


@pytest.mark.parametrize("name", hand.LEGAL)
def test_hand_mapping_survives_json(name: str) -> None:
    mapping = hand.LEGAL[name]()
    again = json_format.loads(json_format.dumps(mapping))
    assert (again.dfg, again.ii, again.instances, again.routes) == (
        mapping.dfg, mapping.ii, mapping.instances, mapping.routes,
    )  # fmt: skip
    assert again.arch.fingerprint == mapping.arch.fingerprint


def test_fifo_of_two_and_its_split_have_the_published_wires_and_buffers() -> None:
    whole, split, local = (stats(f()) for f in (hand.mesh_fifo_2, hand.mesh_fifo_split, hand.mesh_local))
    assert (whole.longest_wire, whole.wirelength, whole.buffers_max, whole.buffers_total) == (2, 2, 2, 2)
    assert (split.longest_wire, split.wirelength, split.buffers_max, split.buffers_total) == (2, 2, 1, 2)
    assert (local.longest_wire, local.wirelength, local.buffers_max, local.buffers_total) == (0, 0, 0, 0)
    # y issues at 5 (at 3 in the local one); its result counts one cycle later.
    assert (whole.latency, split.latency, local.latency) == (6, 6, 4)


def test_delay_mismatch_is_refused_by_both_judges() -> None:
    mapping = hand.mesh_unbalanced()
    assert [violation.kind for violation in legal(mapping)] == ["timing"]
    assert not simulate(mapping).ok


def test_diamond_streams_the_values_derived_by_hand() -> None:
    mapping = hand.mesh_fifo_2()
    stimulus = Stimulus(iterations=4, streams={"a": np.array([0, 1, 10, -3])})
    # y = 4 a + 1
    assert run(configure(mapping), stimulus).outputs["y"].tolist() == [1, 5, 41, -11]


def test_recurrence_of_distance_two_gives_the_values_derived_by_hand() -> None:
    # a = 11, 21, then 3*11+1 = 34, 3*21+1 = 64; d = 3a ^ (a+7): 33^18 = 51, 63^28 = 35, 102^41 = 79, 192^71 = 135.
    mapping = hand.torus_rotating()
    for n, expected in enumerate([51, 35, 79, 135], start=1):
        assert run(configure(mapping), Stimulus(iterations=n)).liveouts == {"d": expected}
    assert stats(mapping).ii == stats(mapping).mii == 2


def test_value_handed_between_register_files_gives_the_values_derived_by_hand() -> None:
    # e = ((3 (e(-2) + 1) - 7) + 11) ^ 5. From 3: 12 + 4 = 16, ^ 5 = 21. From 5: 18 + 4 = 22, ^ 5 = 19.
    # From 21: 66 + 4 = 70, ^ 5 = 67.
    mapping = hand.torus_register_transfer()
    for n, expected in enumerate([21, 19, 67], start=1):
        assert run(configure(mapping), Stimulus(iterations=n)).liveouts == {"e": expected}


def test_spilled_value_comes_back_three_iterations_later() -> None:
    mapping = hand.torus_spill()
    x = np.arange(1000, 1080)
    memory = {"X": x, "Y": np.zeros(80, dtype=np.int64)}
    observed = run(configure(mapping), Stimulus(iterations=5, memory=memory))
    # 1000 + 100, 1001 + 200, 1002 + 300, then x[3] + x[0], x[4] + x[1].
    assert observed.memory["Y"][:5].tolist() == [1100, 1201, 1302, 2003, 2005]


def test_streaming_engine_waits_as_the_rule_says() -> None:
    mapping = hand.streaming_engine_distance()
    waits = {mapping.dfg.edges[r.edge].source: r.fifo for r in mapping.routes if r.fifo}
    assert waits == {"n0": 2, "n1": 8, "n2": 13}
    assert stats(mapping).latency == 19
    stimulus = Stimulus(
        iterations=1,
        streams={k: np.array([v]) for k, v in (("x", 5), ("y", 1), ("z", -2))},
        liveins={"x0": 2, "y0": 5, "z0": 0},
    )
    assert run(configure(mapping), stimulus).outputs["d"].tolist() == [9 + 16 + 4]


def test_three_rows_give_the_values_derived_by_hand() -> None:
    mapping = hand.vpcma_three_rows()
    stimulus = Stimulus(iterations=3, streams={"x": np.array([1, 2, 3]), "w": np.array([10, 20, 2])})
    # (x + 5) * w - 9
    assert run(configure(mapping), stimulus).outputs["y"].tolist() == [51, 131, 7]


def test_slowest_stage_sets_the_period_of_the_two_stage_pipeline() -> None:
    # A channel that takes a cycle per vector reads the 4 vectors of a firing in 4 cycles, and the elementwise needs 5,
    # so the gemm's 8 are the most. Reads come 100 cycles late, but 64 vectors are read ahead: 16 firings, 128 cycles.
    mapping = hand.rdu_two_stages()
    assert simulate(replace(mapping, arch=build("rdu:2x2,dram_cycles=1"))).period == 8


def test_channel_of_the_dram_sets_the_period_of_the_two_stage_pipeline() -> None:
    # The channel of x takes 3 cycles for each of the 4 vectors of a firing: 12, more than the gemm's 8. y is written
    # over the other channel, and neither rests within the run of less than 1000 cycles: the first time is that of the
    # second one, in cycle 7800 - 350 - 7800 / 2 = 3550.
    verdict = simulate(hand.rdu_two_stages())
    assert verdict.period == 4 * 3
    gemm = next(unit for unit in verdict.units if unit.node == "g")
    assert gemm.busy == 8 * gemm.firings


@pytest.mark.parametrize("name", [n for n in hand.LEGAL if not n.startswith("rdu")])
def test_interpreter_and_array_agree_on_trip_counts_around_the_pipeline_depth(name: str) -> None:
    mapping = hand.LEGAL[name]()
    dfg = mapping.dfg
    from gridloom.dfg.interpreter import random_stimulus

    for n in range(1, 9):
        stimulus = random_stimulus(dfg, n, seed=n)
        expected, found = interpret(dfg, stimulus), run(configure(mapping), stimulus)
        assert found.liveouts == expected.liveouts
        for node, stream in expected.outputs.items():
            assert found.outputs[node].tolist() == stream.tolist()
        for array, words in expected.memory.items():
            assert found.memory[array].tolist() == words.tolist()
