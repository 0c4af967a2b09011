"""The measuring simulator: periods worked out by hand, the token simulator's cycles, what never may happen."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from tests.hand_mappings import rdu_two_stages
from tests.targets.dataflow.machine.test_run import fork, graph, multi_rate_mapping, ring_mapping

from gridloom import registry
from gridloom.archs import build
from gridloom.errors import SimulationError
from gridloom.mapping import Mapping, configure
from gridloom.search.budget import Budget
from gridloom.sim import simulate
from gridloom.targets.dataflow.costs.load import pipeline
from gridloom.targets.dataflow.lowering.lower import lower
from gridloom.targets.dataflow.machine.measure import Measurement, Meter
from gridloom.targets.dataflow.machine.run import TokenNetwork, repetitions
from gridloom.targets.dataflow.mappers.dataflow import dataflow
from gridloom.targets.dataflow.mappers.search import DataflowConfig
from gridloom.targets.dataflow.program.model import TokenEdge
from gridloom.targets.dataflow.rates import edge_tokens


def routes(mapping: Mapping, meter: Meter) -> tuple[np.ndarray, np.ndarray]:
    start, links = [0], []
    for edge in range(len(mapping.dfg.edges)):
        for name, _ in mapping.route_of[edge, 0].hops:
            number = int(meter.link_number[mapping.arch.resource(name)])
            links += [number] if number >= 0 else []
        start.append(len(links))
    return np.array(start), np.array(links)


def measure(mapping: Mapping, *, warm: bool = False, skip: int = 16, iterations: int = 32, **rest: int) -> Measurement:
    meter = Meter(mapping.dfg, mapping.arch, warm=warm)
    return meter.measure(*routes(mapping, meter), skip=skip, iterations=iterations, **rest)


def small_network(name: str, arch: str = "rdu:16x8", seed: int = 0, **parameters: int) -> Mapping:
    """A network of few units, placed at random, so that links are shared."""
    array = build(arch)
    dfg = lower(registry.load("networks", name).build(**parameters), array).sections[0].dfg
    config = DataflowConfig(cost="heuristic", judge=None, start="random", chains=1, finalists=1)
    mapping = dataflow(dfg, array, config, Budget(effort=1, seed=seed))
    assert isinstance(mapping, Mapping)
    return mapping


@pytest.mark.parametrize(
    ("mapping", "period"),
    [(rdu_two_stages(), 12), (fork(True), 8), (fork(False), 4), (ring_mapping(), 11), (multi_rate_mapping(16), 24)],
    ids=["two stages", "shared link", "own links", "ring", "two rates"],
)
def test_pipelines_worked_out_by_hand(mapping: Mapping, period: int):
    assert measure(mapping).period == period


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize(
    ("name", "parameters"),
    [("mlp", {"width": 64, "layers": 2}), ("mha", {"width": 64, "heads": 4, "rows": 32}), ("ffn", {"width": 64})],
)
def test_packets_take_the_cycles_that_tokens_take(name: str, parameters: dict[str, int], seed: int):
    mapping = small_network(name, seed=seed, **parameters)
    iterations = 12
    verdict = simulate(mapping, iterations=iterations)
    assert verdict.ok
    found = measure(mapping, skip=iterations // 4, iterations=iterations // 2, cap=iterations)
    assert found.period == verdict.period


def test_a_run_from_the_middle_settles_at_the_period_of_a_run_from_the_start():
    mapping = small_network("mlp", width=128, layers=2)
    cold = measure(mapping, skip=24, iterations=16)
    assert measure(mapping, warm=True, skip=4, iterations=16).period == pytest.approx(cold.period, rel=0.02)


def test_every_cycle_of_a_unit_is_busy_starved_or_stalled():
    found = measure(small_network("mha", width=64, heads=4, rows=32), skip=4, iterations=8)
    assert (found.units.sum(axis=1) == found.cycles).all()
    assert (found.units >= 0).all()


def test_links_carry_what_the_flows_put_on_them():
    mapping = small_network("mlp", width=64, layers=2)
    meter = Meter(mapping.dfg, mapping.arch)
    start, links = routes(mapping, meter)
    iterations = 32
    found = meter.measure(start, links, skip=4, iterations=iterations)
    tokens = edge_tokens(mapping.dfg, meter.counts)
    expected = np.zeros(len(found.links))
    for edge, count in enumerate(tokens):
        expected[links[start[edge] : start[edge + 1]]] += count
    # Packets on their way at either end of the window may count or not.
    assert np.abs(found.links[:, 0] / iterations - expected).max() <= 0.1 * expected.max()


@settings(max_examples=12)
@given(seed=st.integers(0, 1000), name=st.sampled_from(["gemm", "mlp", "ffn"]))
def test_no_period_is_below_the_bound(seed: int, name: str):
    sizes = {"gemm": {"inner": 64, "columns": 128}, "mlp": {"width": 64}, "ffn": {"width": 64}}
    found = measure(small_network(name, seed=seed, **sizes[name]), warm=True, skip=2, iterations=4)
    assert found.period >= found.bound
    assert 0 < found.efficiency <= 1


def slower(mapping: Mapping, op: str, factor: int) -> Mapping:
    """The mapping with the work of an op's units multiplied: memory ports or DRAM with less bandwidth."""
    nodes = tuple(replace(n, work=n.work * factor) if n.op == op else n for n in mapping.dfg.nodes)
    return replace(mapping, dfg=replace(mapping.dfg, nodes=nodes))


@pytest.mark.parametrize("op", ["buffer", "gemm"])
def test_less_bandwidth_never_makes_it_faster(op: str):
    mapping = small_network("mlp", width=128, layers=2)
    periods = [measure(slower(mapping, op, k), warm=True, skip=2, iterations=6).period for k in (1, 2, 4, 16)]
    assert periods == sorted(periods)
    assert periods[-1] > periods[0]


def test_slower_memory_never_makes_it_faster():
    mapping = small_network("mlp", width=128, layers=2)
    periods = []
    for cycles in (1, 3, 12, 48):
        meter = Meter(mapping.dfg, build(f"rdu:16x8,dram_cycles={cycles}"))
        periods.append(meter.measure(*routes(mapping, meter), skip=2, iterations=6).period)
    assert periods == sorted(periods)
    assert periods[-1] > periods[0]


def test_noise_is_drawn_from_its_seed_and_is_off_by_default():
    mapping = rdu_two_stages()
    meter = Meter(mapping.dfg, mapping.arch)
    way = routes(mapping, meter)
    quiet = meter.measure(*way).period
    noisy = [meter.measure(*way, noise=0.05, seed=seed).period for seed in (0, 1, 0)]
    assert noisy[0] == noisy[2] != noisy[1]
    assert all(0.7 < value / quiet < 1.4 for value in noisy)


def test_larger_buffers_never_make_it_slower():
    mapping = small_network("ffn", width=64)
    periods = []
    for fifo in (16, 32, 64):
        arch = build(f"rdu:16x8,fifo={fifo}")
        meter = Meter(mapping.dfg, arch)
        periods.append(meter.measure(*routes(mapping, meter), skip=2, iterations=6).period)
    assert periods == sorted(periods, reverse=True)
    assert periods[-1] < periods[0]


def test_a_deadlock_is_reported():
    # g waits for both of its inputs, x has room for only one packet more on the way to the other.
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
    found = measure(mapping, skip=1, iterations=1)
    assert found.deadlock
    assert found.period == float("inf")
    assert found.efficiency == 0


def test_links_without_turns_starve_the_later_flow_but_carry_as_much():
    mapping = fork(True)
    meter = Meter(mapping.dfg, mapping.arch, warm=False)
    ways = routes(mapping, meter)
    assert (
        meter.measure(*ways, skip=4, iterations=8, fair=False).period
        >= meter.measure(*ways, skip=4, iterations=8).period
    )


def test_a_run_without_turns_ends_when_a_flow_waits_for_too_long(monkeypatch: pytest.MonkeyPatch):
    mapping = fork(True)
    meter = Meter(mapping.dfg, mapping.arch, warm=False)
    ways = routes(mapping, meter)
    monkeypatch.setattr("gridloom.targets.dataflow.machine.measure._PATIENCE", 0)
    assert meter.measure(*ways, skip=4, iterations=8, fair=False).efficiency == 0
    assert meter.measure(*ways, skip=4, iterations=8).efficiency > 0


def test_bound_is_that_of_the_slowest_compute_unit():
    mapping = small_network("mlp", width=128, layers=2)
    assert Meter(mapping.dfg, mapping.arch).bound == pipeline(mapping.dfg, mapping.arch).bound


def uneven(work: list[int], tokens: list[int], every: list[int], part: int, arch: str, seed: int) -> Mapping:
    """An input, two compute units, a memory unit and outputs with any rates, placed at random."""
    names = {"x": "input", "v": "elementwise", "m": "buffer", "w": "gemm", "a": "output", "b": "output"}
    dfg = graph(
        "uneven",
        {name: (op, cycles) for (name, op), cycles in zip(names.items(), work)},
        [
            TokenEdge(source="x", target="v", tokens=tokens[0], takes=tokens[1], takes_every=every[0]),
            TokenEdge(source="v", target="m", tokens=tokens[2], takes=tokens[3], puts_every=every[1]),
            TokenEdge(source="v", target="b", tokens=tokens[2], takes=tokens[5], puts_every=every[1], part=part),
            TokenEdge(source="m", target="w", tokens=tokens[4], takes=tokens[6]),
            TokenEdge(source="w", target="a", tokens=tokens[7], takes=tokens[7], puts_every=every[2]),
        ],
    )
    config = DataflowConfig(cost="wirelength", judge=None, start="random", chains=1, finalists=1)
    mapping = dataflow(dfg, build(arch), config, Budget(effort=1, seed=seed))
    assert isinstance(mapping, Mapping)
    return mapping


ARRAYS = (
    "rdu:4x4",
    "rdu:4x4,dram_latency=7,refresh_every=90,refresh_cycles=20,dram_channels=1",
    "rdu:4x4,channels=2,dram_cycles=1,dram_latency=0,refresh_cycles=0,memory_ports=2",
    "rdu:4x4,fifo=40,dram_every=1,dram_channels=3,dram_latency=31",
    "rdu:4x4,dram_channels=2,dram_row=6,dram_banks=2,row_cycles=9,dram_latency=11",
    "rdu:4x4,dram_channels=1,dram_cycles=1,dram_row=16,dram_banks=4,row_cycles=5,dram_latency=0",
)


def agree(mapping: Mapping, iterations: int = 12) -> None:
    """Both simulators end every iteration in the same cycle, or both come to a deadlock."""
    verdict = simulate(mapping, iterations=iterations)
    found = measure(mapping, skip=iterations // 4, iterations=iterations // 2, cap=iterations)
    if found.deadlock:
        assert "deadlock" in (verdict.error or "")
        return
    assert verdict.ok
    assert found.period == verdict.period
    if found.period > found.bound:
        return
    # A period is at least the bound, which would hide a difference below it: there cycles are compared.
    configuration = configure(mapping)
    network = TokenNetwork(configuration, repetitions(configuration), iterations)
    network.run()
    assert network.middle() == (found.cycles, iterations // 2)


@pytest.mark.slow
@settings(max_examples=500)
@given(
    work=st.lists(st.integers(1, 9), min_size=6, max_size=6),
    tokens=st.lists(st.integers(1, 8), min_size=8, max_size=8),
    every=st.lists(st.integers(1, 4), min_size=3, max_size=3),
    part=st.integers(0, 1),
    arch=st.sampled_from(ARRAYS),
    seed=st.integers(0, 10_000),
)
def test_packets_and_tokens_agree_on_500_programs(
    work: list[int], tokens: list[int], every: list[int], part: int, arch: str, seed: int
):
    agree(uneven(work, tokens, every, part, arch, seed))


@settings(max_examples=20)
@given(
    work=st.lists(st.integers(1, 9), min_size=6, max_size=6),
    tokens=st.lists(st.integers(1, 8), min_size=8, max_size=8),
    every=st.lists(st.integers(1, 4), min_size=3, max_size=3),
    arch=st.sampled_from(ARRAYS),
    seed=st.integers(0, 1000),
)
# Room comes free in the very cycle in which the producer is done.
@example(work=[9, 1, 1, 8, 3, 1], tokens=[7, 8, 1, 5, 2, 5, 3, 2], every=[3, 1, 3], arch="rdu:4x4", seed=57)
def test_packets_and_tokens_agree_whatever_the_rates(
    work: list[int], tokens: list[int], every: list[int], arch: str, seed: int
):
    agree(uneven(work, tokens, every, 0, arch, seed))


def test_ways_of_different_depth_start_with_what_their_buffers_hold():
    array = build("rdu:16x8")
    sections = lower(registry.load("networks", "gpt2_xl").build(layers=1), array).sections
    for section in sections[3:6]:
        meter = Meter(section.dfg, array)
        carried = edge_tokens(section.dfg, meter.counts)
        for k, edge in enumerate(section.dfg.edges):
            early, room = int(meter.flows[k, 7]), int(meter.flows[k, 6])
            assert early % carried[k] == 0
            assert 0 <= early <= room - (carried[k] if early else 0)
            assert early == 0 or edge.room is not None


def test_nothing_is_skipped_where_that_is_asked_for():
    mapping = rdu_two_stages()
    meter = Meter(mapping.dfg, mapping.arch, warm=False)
    way = routes(mapping, meter)
    # Each iteration of the hand-made pipeline takes the 12 cycles in which DRAM gives its 4 vectors.
    filled = meter.measure(*way, skip=0, iterations=4).filled
    assert meter.measure(*way, skip=0, iterations=4).cycles == filled + 3 * 12
    assert meter.measure(*way, skip=1, iterations=4).cycles == 4 * 12


def test_cap_below_the_iterations_asked_for_ends_like_a_deadlock():
    mapping = rdu_two_stages()
    meter = Meter(mapping.dfg, mapping.arch, warm=False)
    assert meter.measure(*routes(mapping, meter), skip=0, iterations=4, cap=2).deadlock
    assert not meter.measure(*routes(mapping, meter), skip=0, iterations=4, cap=4).deadlock


@pytest.mark.parametrize(("skip", "iterations"), [(-1, 2), (0, 0)])
def test_senseless_number_of_iterations_is_refused(skip: int, iterations: int):
    mapping = rdu_two_stages()
    meter = Meter(mapping.dfg, mapping.arch)
    message = f"expected a skip of at least 0 and 1 iteration, found {skip} and {iterations}"
    with pytest.raises(SimulationError, match=message):
        meter.measure(*routes(mapping, meter), skip=skip, iterations=iterations)
