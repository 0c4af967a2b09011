"""Cold starts: single effects with answers derived in comments, and what holds for every program in both simulators.

The arrays are those of test_machine.py: without DRAM latency and refresh unless a test is about them. A packet of
configuration or weights has 4 vectors, which is half a switch buffer.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from math import gcd

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from tests.hand_mappings import make, rdu_two_stages
from tests.targets.dataflow.machine.test_machine import M, reads, stream
from tests.targets.dataflow.machine.test_measure import ARRAYS, measure, routes, small_network, uneven
from tests.targets.dataflow.machine.test_run import graph, multi_rate_mapping, way

from gridloom.archs import build
from gridloom.archs.spec import parameters
from gridloom.errors import SimulationError
from gridloom.mapping import Mapping, configure
from gridloom.search.budget import Budget
from gridloom.sim import simulate
from gridloom.targets.dataflow.families.rdu import RduParameters
from gridloom.targets.dataflow.machine.cold import ColdStart, ColdStartFigures, passes, section_program
from gridloom.targets.dataflow.machine.measure import Measurement, Meter
from gridloom.targets.dataflow.machine.run import simulate_elastic
from gridloom.targets.dataflow.mappers.dataflow import dataflow
from gridloom.targets.dataflow.mappers.search import DataflowConfig
from gridloom.targets.dataflow.program.model import TokenEdge
from gridloom.targets.dataflow.rates import repetitions


def on_packets(mapping: Mapping, start: ColdStart) -> Measurement:
    meter = Meter(mapping.dfg, mapping.arch)
    return meter.measure(*routes(mapping, meter), cold=start)


def cold(mapping: Mapping, **given: object) -> ColdStartFigures:
    """The figures of a cold start, in which both simulators agree, and whose values are right."""
    start = ColdStart(**given)  # type: ignore[arg-type]
    found = on_packets(mapping, start).cold
    verdict = simulate_elastic(configure(mapping), cold=start)
    assert verdict.ok
    assert found is not None
    assert verdict.cold == found
    return found


def on(mapping: Mapping, arch: str) -> Mapping:
    return replace(mapping, arch=build(arch))


# -- configuration ----------------------------------------------------------------------------------------------------


def test_configuration_comes_at_the_pace_of_its_channel():
    # 32 vectors for each of two units: 16 packets, all from the one channel. A reader makes 4 addresses until cycle 4;
    # the channel is then busy for 16 * 12 cycles, until 196. The last packet, for cu_1_1, crosses the port until 200,
    # the interface sends it until 204, its head enters the links sw_1_0, sw_1_1, cu_1_1 in 204, 205 and 206, its last
    # vector is there at 210, and the unit has taken it at 211.
    mapping = stream(4, 2, arch=f"{M},dram_channels=1")
    assert cold(mapping).configured == 4 + 16 * 12 + 4 + 4 + 2 + 4 + 1
    # A channel that is twice as slow takes 24 cycles for a packet.
    assert cold(on(mapping, f"{M},dram_channels=1,dram_cycles=6")).configured == 4 + 16 * 24 + 15


def test_units_with_less_configuration_are_ready_sooner():
    # Two packets for two units, none at all.
    mapping = stream(4, 2, arch=f"{M},dram_channels=1")
    assert cold(on(mapping, f"{M},dram_channels=1,configure_vectors=4")).configured == 4 + 2 * 12 + 15
    assert cold(on(mapping, f"{M},dram_channels=1,configure_vectors=0")).configured == 0


def test_channels_share_the_configuration():
    # Two channels have 8 of the 16 packets each and are through at 4 + 8 * 12 = 100. Those of the second one come from
    # the right side; the last, for cu_1_1, goes over 6 links: sw_1_6, sw_1_5, .. sw_1_2, cu_1_1.
    assert cold(stream(4, 2)).configured == 100 + 4 + 4 + 5 + 4 + 1


def test_latency_of_the_memory_is_seen_once():
    # Ten packets of 12 cycles are under way in the 100 cycles, 40 vectors of the 64 that the interface has room for.
    mapping = stream(4, 2, arch="rdu:2x6,refresh_cycles=0,dram_channels=1,dram_latency=100")
    assert cold(mapping).configured == 211 + 100


def test_refresh_interrupts_the_configuration():
    # The channel rests in the last 20 of every 100 cycles. It begins packets in 4, 16, .. 76, then in 100, 112, .. 172,
    # seven each, and the last two in 200 and 212: it is through at 224, and 15 cycles later all is in place.
    mapping = stream(4, 2, arch="rdu:2x6,dram_latency=0,dram_channels=1,refresh_every=100,refresh_cycles=20")
    assert cold(mapping).configured == 224 + 15


def test_rows_are_opened_for_the_configuration():
    # The streams of the two units lie in rows of their own, in different banks: each waits for its row once.
    mapping = stream(4, 2, arch=f"{M},dram_channels=1,dram_row=128,row_cycles=10")
    assert cold(mapping).configured == 211 + 2 * 10


def test_interfaces_are_configured_over_the_switch_beside_them():
    # One packet for the interface of x, over dram_left_0>sw_0_0>dram_left_0, and one for cu_0_0 after it, over two
    # links, too: 4 + 2 * 12 + 4 + 4 + 1 + 4 + 1.
    assert cold(reads(4, f"{M},dram_channels=1,configure_vectors=4")).configured == 42


def test_refreshes_go_on_from_one_step_to_the_next():
    # As above configured at 42. The section reads in 42 + 4 = 46, 58 and 70; the channel rests from 80 to 100, so that
    # the fourth read begins in 100. A read takes 12 cycles, 4 through the port, x 1, its packet 1 + 4 over two links, a
    # 1: it shows 23 cycles after it began.
    arch = "rdu:2x6,dram_latency=0,dram_channels=1,configure_vectors=4,refresh_every=100,refresh_cycles=20"
    found = cold(reads(4, arch), blocks=4)
    assert (found.configured, found.first_output, found.last_output) == (42, 46 + 23, 100 + 23)


# -- weights ----------------------------------------------------------------------------------------------------------


def product(arch: str) -> Mapping:
    """A product with 48 vectors of weights: 12 firings of 4 for each result."""
    dfg = graph(
        "product",
        {"w": ("buffer", 4), "g": ("gemm", 4), "y": ("elementwise", 1)},
        [TokenEdge(source="w", target="g", tokens=4), TokenEdge(source="g", target="y", puts_every=12)],
    )
    return make(
        dfg,
        arch,
        1,
        {"w": ("mu_0_1", 0), "g": ("cu_0_0", 0), "y": ("cu_1_1", 0)},
        {
            ("w", "g", 0): way("mu_0_1", "sw_0_1", "cu_0_0"),
            ("g", "y", 0): way("cu_0_0", "sw_1_1", "cu_1_1"),
        },
    )


def test_weights_are_written_into_the_bank_of_their_memory_unit():
    # 12 packets, 6 for each of the two channels, which are through at 4 + 6 * 12 = 76. Both last packets leave their
    # interfaces at 84. That from the left crosses sw_0_0, sw_0_1 and enters mu_0_1 in 86, so that the bank writes it in
    # 87 to 90; that from the right goes over 6 links, could be written from 90 on, waits for the bank until 91, is
    # written at 95 and taken at 96.
    found = cold(product(f"{M},configure_vectors=0"))
    assert (found.configured, found.loaded) == (0, 96)
    # With a bank for each stream it does not wait.
    assert cold(product(f"{M},configure_vectors=0,memory_ports=2")).loaded == 95
    # The first result: w works 4 cycles, its packet takes 1 + 4 over two links, g works 12 * 4 cycles since w sends a
    # packet every 4, the result takes 2 and y 1.
    assert found.first_output == 96 + 4 + 5 + 48 + 2 + 1


def test_weights_come_after_the_configuration():
    # 3 units with 32 vectors are 24 packets, 12 for each channel: 4 + 12 * 12 = 148. The last one from the right is for
    # cu_1_1: 6 links. Without refresh the weights take as long as they do alone.
    found = cold(product(M))
    assert (found.configured, found.loaded) == (148 + 4 + 4 + 5 + 4 + 1, 166 + 96)


def test_one_channel_brings_all_weights():
    # 12 packets of 12 cycles, then 3 links and the bank: 4 + 144 + 4 + 4 + 3 + 4 + 1.
    assert cold(product(f"{M},configure_vectors=0,dram_channels=1")).loaded == 164


# -- filling and draining ---------------------------------------------------------------------------------------------


def chain(units: int, work: int) -> Mapping:
    """Compute units one after the other, each sending packets of 4 to the next over two links."""
    tiles = ["cu_0_0", "cu_1_1", "cu_0_2", "cu_1_3", "cu_0_4", "cu_1_5"][:units]
    names = [f"u{k}" for k in range(units)]
    dfg = graph(
        "chain",
        {name: ("elementwise" if k else "gemm", work) for k, name in enumerate(names)},
        [TokenEdge(source=a, target=b, tokens=4) for a, b in pairwise(names)],
    )
    hops = {
        (names[k], names[k + 1], 0): way(tiles[k], f"sw_1_{k + 1}", tiles[k + 1]) for k in range(units - 1)
    }  # fmt: skip
    return make(dfg, f"{M},configure_vectors=0", 1, {name: (tiles[k], 0) for k, name in enumerate(names)}, hops)


@pytest.mark.parametrize("units", [2, 4, 6])
def test_filling_a_chain_takes_the_work_and_the_way_of_each_unit(units: int):
    # A unit works 7 cycles; its packet enters the second link a cycle after the first, and 4 cycles later it is there.
    found = cold(chain(units, 7), blocks=9)
    assert found.first_output == units * 7 + (units - 1) * 5
    # From then on a block every 7 cycles, and nothing else is left when the last one is through.
    assert found.last_output == found.first_output + 8 * 7


def test_chain_that_is_faster_than_its_links_drains_at_their_pace():
    assert cold(chain(4, 1), blocks=9).last_output == 4 + 3 * 5 + 8 * 4


def test_results_are_in_memory_when_a_section_has_drained():
    # test_run.py derives 159 for the first result in DRAM; each further one waits 12 cycles for its 4 vectors to be
    # read, so that the last of 10 is written 9 * 12 cycles later.
    mapping = on(rdu_two_stages(), "rdu:2x2,configure_vectors=0")
    found = cold(mapping, blocks=5, samples=2)
    assert (found.configured, found.loaded) == (0, 0)
    assert (found.first_output, found.last_output) == (159, 159 + 9 * 12)


# -- attention --------------------------------------------------------------------------------------------------------


def attention() -> Mapping:
    """A unit that sends keys into a memory unit and queries to a product, which reads both."""
    dfg = graph(
        "attention",
        {"a": ("gemm", 4), "m": ("buffer", 1), "w": ("gemm", 3)},
        [
            TokenEdge(source="a", target="m", tokens=4, room=8),
            TokenEdge(source="m", target="w", tokens=4),
            TokenEdge(source="a", target="w", operand=1, tokens=4, part=1),
        ],
    )
    return make(
        dfg,
        f"{M},configure_vectors=0",
        1,
        {"a": ("cu_0_0", 0), "m": ("mu_0_1", 0), "w": ("cu_1_1", 0)},
        {
            ("a", "m", 0): way("cu_0_0", "sw_0_1", "mu_0_1"),
            ("m", "w", 0): way("mu_0_1", "sw_1_2", "cu_1_1"),
            ("a", "w", 1): way("cu_0_0", "sw_1_1", "cu_1_1", operand=1),
        },
    )


@pytest.mark.parametrize("blocks", [1, 5, 12])
def test_held_operand_waits_for_a_sample(blocks: int):
    # a puts the last keys of the first sample at 4 B; they cross two links and the bank and are there at 4 B + 6. m
    # reads them until 4 B + 7, they cross two links until 4 B + 12, and w works until 4 B + 15: its query, the first of
    # the second pass, was there at 4 B + 9. From then on a block every 4 cycles.
    found = cold(attention(), blocks=blocks, held=frozenset({"m"}))
    assert found.first_output == 4 * blocks + 15
    assert found.last_output == found.first_output + 4 * (blocks - 1)


def test_samples_after_the_first_do_not_wait():
    found = cold(attention(), blocks=5, samples=3, held=frozenset({"m"}))
    assert found.last_output == 4 * 5 + 15 + 4 * (15 - 1)


def test_run_may_end_before_the_sample_does():
    # The first sample is held whole, and three of its five blocks of results follow.
    found = cold(attention(), blocks=5, results=3, held=frozenset({"m"}))
    assert (found.first_output, found.last_output) == (4 * 5 + 15, 4 * 5 + 15 + 4 * 2)


def test_operand_that_is_not_held_does_not_wait():
    # The block's own keys are there at 4 + 6, m is done at 11 and w at 19.
    assert cold(attention(), blocks=5).first_output == 19


def test_units_begin_in_the_pass_that_needs_them():
    dfg = attention().dfg
    assert passes(dfg, frozenset({"m"})) == [0, 1, 1]
    program = section_program(dfg, repetitions(dfg), ColdStart(blocks=5, samples=2, held=frozenset({"m"})))
    # a runs in the pass before, too; the queries of that pass are dropped.
    assert program.blocks == [15, 10, 10]
    assert program.dropped == [0, 0, 20]
    assert (program.dfg.edges[0].takes, program.dfg.edges[0].takes_every, program.dfg.edges[0].room) == (20, 5, 40)


def test_attention_of_a_network_holds_keys_and_values():
    mapping = small_network("mha", width=64, heads=4, rows=32)
    held = frozenset(n.id for n in mapping.dfg.nodes if n.op == "buffer" and n.label in ("scores", "context"))
    memory = frozenset(name for name in held if name.split(".")[1].startswith("w"))
    waiting, at_once = cold(mapping, blocks=32, held=memory), cold(mapping, blocks=32)
    assert waiting.loaded == at_once.loaded
    # The first pass takes about as long as the second.
    steady = measure(mapping, warm=True, skip=4, iterations=16).period
    assert waiting.first_output - at_once.first_output == pytest.approx(32 * steady, rel=0.2)


# -- what holds for all -----------------------------------------------------------------------------------------------

Rates = tuple[list[int], list[int], list[int]]
RATES = st.tuples(
    st.lists(st.integers(1, 9), min_size=9, max_size=9),
    st.lists(st.integers(1, 6), min_size=6, max_size=6),
    st.lists(st.integers(1, 3), min_size=2, max_size=2),
)


def layers(rates: Rates, arch: str, seed: int) -> Mapping:
    """Two held operands one after the other, weights, and a value that passes both by, with any rates."""
    work, tokens, every = rates
    ops = {
        "x": "input", "v": "elementwise", "m": "buffer", "w": "buffer", "g": "gemm", "n": "buffer", "h": "gemm",
        "d": "buffer", "y": "output",
    }  # fmt: skip
    edges = [
        TokenEdge(source="x", target="v", tokens=tokens[0], takes=tokens[1]),
        TokenEdge(source="v", target="m", tokens=tokens[2], puts_every=every[0], room=512),
        TokenEdge(source="m", target="g", tokens=tokens[3]),
        TokenEdge(source="w", target="g", operand=1, tokens=tokens[4]),
        TokenEdge(source="g", target="n", tokens=tokens[5], puts_every=every[1], room=512),
        TokenEdge(source="n", target="h", tokens=2),
        TokenEdge(source="h", target="y"),
    ]
    nodes = {name: (op, cycles) for (name, op), cycles in zip(ops.items(), work)}
    counts = repetitions(graph("part", {k: v for k, v in nodes.items() if k != "d"}, edges))
    # What passes by has as many tokens as firings of both ends, in a memory unit with room for them.
    v, h = counts[1], counts[6]
    common = gcd(v, h)
    edges += [
        TokenEdge(source="v", target="d", tokens=h // common, takes=h // common, room=2048),
        TokenEdge(source="d", target="h", operand=1, tokens=h // common, takes=v // common),
    ]
    config = DataflowConfig(cost="wirelength", judge=None, start="random", chains=1, finalists=1)
    mapping = dataflow(graph("layers", nodes, edges), build(arch), config, Budget(effort=1, seed=seed))
    assert isinstance(mapping, Mapping)
    return mapping


def agree(mapping: Mapping, start: ColdStart) -> ColdStartFigures | None:
    """Both simulators give the same figures, and the values are right; or both come to a deadlock."""
    found = on_packets(mapping, start)
    verdict = simulate_elastic(configure(mapping), cold=start)
    assert verdict.cold == found.cold
    assert found.deadlock == ("deadlock" in (verdict.error or ""))
    assert verdict.ok or found.deadlock
    return found.cold


STARTS = st.builds(
    ColdStart,
    blocks=st.integers(1, 5),
    samples=st.integers(1, 3),
    held=st.sampled_from([frozenset(), frozenset({"m"}), frozenset({"n"}), frozenset({"m", "n"})]),
)


@pytest.mark.slow
@settings(max_examples=500)
@given(rates=RATES, arch=st.sampled_from(ARRAYS), seed=st.integers(0, 10_000), start=STARTS)
def test_packets_and_tokens_agree_on_500_cold_starts(rates: Rates, arch: str, seed: int, start: ColdStart):
    agree(layers(rates, arch, seed), start)


@settings(max_examples=20)
@given(rates=RATES, arch=st.sampled_from(ARRAYS), seed=st.integers(0, 1000), start=STARTS)
@example(
    rates=([1] * 9, [4] * 6, [1, 1]),
    arch=ARRAYS[1],
    seed=1,
    start=ColdStart(blocks=3, samples=2, held=frozenset({"m", "n"})),
)
def test_packets_and_tokens_agree_from_cold(rates: Rates, arch: str, seed: int, start: ColdStart):
    agree(layers(rates, arch, seed), start)


@settings(max_examples=20)
@given(
    work=st.lists(st.integers(1, 9), min_size=6, max_size=6),
    tokens=st.lists(st.integers(1, 8), min_size=8, max_size=8),
    every=st.lists(st.integers(1, 4), min_size=3, max_size=3),
    arch=st.sampled_from(ARRAYS),
    seed=st.integers(0, 1000),
    blocks=st.integers(1, 6),
)
def test_steps_follow_each_other_and_none_is_faster_than_memory_and_units(
    work: list[int], tokens: list[int], every: list[int], arch: str, seed: int, blocks: int
):
    mapping = uneven(work, tokens, every, 0, arch, seed)
    found = agree(mapping, ColdStart(blocks=blocks))
    if found is None:
        return
    p = parameters(RduParameters, mapping.arch.spec)
    channels = min(p.dram_channels, sum(tile.kind == "dram" for tile in mapping.arch.tiles))
    vectors = len(mapping.dfg.nodes) * p.configure_vectors
    assert found.configured >= -(-vectors // channels) * p.dram_cycles + p.dram_latency
    assert found.configured == found.loaded < found.first_output <= found.last_output
    assert found.last_output - found.loaded >= blocks * Meter(mapping.dfg, mapping.arch).bound


@settings(max_examples=10)
@given(rates=RATES, arch=st.sampled_from(ARRAYS), seed=st.integers(0, 1000))
def test_weights_take_no_less_than_their_vectors_in_all_channels(rates: Rates, arch: str, seed: int):
    mapping = layers(rates, arch, seed)
    found = on_packets(mapping, ColdStart()).cold
    if found is None:
        return
    p = parameters(RduParameters, mapping.arch.spec)
    channels = min(p.dram_channels, sum(tile.kind == "dram" for tile in mapping.arch.tiles))
    vectors = repetitions(mapping.dfg)[mapping.dfg.index["w"]] * rates[1][4]
    assert found.loaded - found.configured >= -(-vectors // channels) * p.dram_cycles + p.dram_latency


def test_deadlock_has_no_figures():
    dfg = graph(
        "stuck",
        {"x": ("input", 1), "g": ("gemm", 2), "j": ("elementwise", 1)},
        [
            TokenEdge(source="x", target="g", tokens=1, takes=8),
            TokenEdge(source="g", target="j", tokens=8, takes=1),
            TokenEdge(source="x", target="j", operand=1, tokens=2, room=4),
        ],
    )
    mapping = replace(multi_rate_mapping(16), dfg=dfg)
    assert agree(mapping, ColdStart(blocks=2)) is None
    assert on_packets(mapping, ColdStart(blocks=2)).period == float("inf")


def test_senseless_starts_are_refused():
    with pytest.raises(SimulationError, match="expected at least 1 block and 1 sample, found 0 and 1"):
        ColdStart(blocks=0)
    with pytest.raises(SimulationError, match="expected at least 1 block and 1 sample, found 2 and 0"):
        ColdStart(blocks=2, samples=0)
    with pytest.raises(SimulationError, match="expected 1 to 6 blocks of results, found 7"):
        ColdStart(blocks=2, samples=3, results=7)
    with pytest.raises(SimulationError, match="graph 'chain': has no node 'z' to hold an operand"):
        on_packets(chain(2, 1), ColdStart(held=frozenset({"z"})))


# -- the steady state -------------------------------------------------------------------------------------------------

#: Network, its sizes, array and seed; then what the simulators gave for it before there were cold starts: period and
#: cycles of a run from the middle, weighted sums of its usage of units, links and other resources, cycles of a run from
#: empty buffers, and period and cycles token by token.
BEFORE = [
    ("mlp", {"width": 64, "layers": 2}, "rdu:16x8", 0,
     1258 / 9, 1258, (924884, 45724915, 23940), 840, 140.0, 2007),
    ("mha", {"width": 64, "heads": 4, "rows": 32}, "rdu:16x8", 1,
     1423 / 9, 1423, (6027822, 121985425, 27392), 914, 457 / 3, 2508),
    ("ffn", {"width": 64}, "rdu:16x8", 2,
     4883 / 9, 4883, (3585298, 174199094, 60740), 3168, 528.0, 6982),
    ("mlp", {"width": 128, "layers": 2}, "rdu:8x8,channels=2,memory_ports=2", 3,
     216.0, 1944, (5182087, 124487306, 47371), 1294, 647 / 3, 3036),
    ("gemm", {"inner": 64, "columns": 128}, "rdu:8x8,dram_channels=2,refresh_every=900,refresh_cycles=90", 4,
     76.0, 684, (495090, 15698953, 35215), 515, 515 / 6, 1097),
]  # fmt: skip


def weighted(table: np.ndarray) -> int:
    return int((table * np.arange(1, 1 + table.size).reshape(table.shape)).sum())


@pytest.mark.parametrize("row", BEFORE, ids=lambda row: f"{row[0]} {row[3]}")
def test_steady_state_is_what_it_was_before_there_were_cold_starts(row: tuple):  # type: ignore[type-arg]
    name, sizes, arch, seed, period, cycles, usage, empty, token_period, token_cycles = row
    mapping = small_network(name, arch, seed, **sizes)
    found = measure(mapping, warm=True, skip=3, iterations=9)
    assert (found.period, found.cycles) == (period, cycles)
    assert (weighted(found.units), weighted(found.links), weighted(found.others)) == usage
    assert measure(mapping, skip=3, iterations=6, cap=12).cycles == empty
    verdict = simulate(mapping, iterations=12)
    assert (verdict.period, verdict.cycles) == (token_period, token_cycles)
