"""Elastic arrays: periods worked out by hand, shared links, deadlocks that say who waits, tokens that go astray."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

import pytest
from tests.hand_mappings import make, rdu_two_stages

from gridloom.dfg import DfgBuilder
from gridloom.dfg.model import Dfg
from gridloom.errors import SimulationError
from gridloom.mapping import Configuration, Mapping, configure
from gridloom.sim import simulate
from gridloom.sim.compare import simulate_configuration
from gridloom.targets.dataflow.machine import token_tables as layout
from gridloom.targets.dataflow.machine.run import TokenNetwork, repetitions
from gridloom.targets.dataflow.program.model import TokenEdge

# A 2 x 4 grid: compute units at (0,0), (0,2), (1,1), (1,3), memory units between them, DRAM left and right of row 0.
# DRAM is as fast as a link here: test_machine.py is about DRAM.
ARRAY = "rdu:2x4,dram_cycles=1,dram_latency=0,refresh_cycles=0"


def way(*tiles: str, operand: int = 0) -> tuple[list[tuple[str, int]], int]:
    links = [(f"{a}>{b}", 0) for a, b in pairwise(tiles)]
    return [(f"{tiles[0]}.out", 0), *links, (f"{tiles[-1]}.in{operand}", 0)], 0


def graph(name: str, works: dict[str, tuple[str, int]], edges: list[TokenEdge]) -> Dfg:
    b = DfgBuilder(name, "tensor")
    for node, (op, work) in works.items():
        b.add(op, id=node, work=work)
    b.edges += edges
    return b.build()


def test_two_stage_pipeline_runs_at_the_pace_of_its_memory():
    # The first 4 vectors: addresses until 4, DRAM channel until 16, at the interface at 116, through its port at 120.
    # x: 120..121, its tokens cross two links in cycles 121..124 and 122..125 and are all there at 126. g: 126..134, its
    # tokens at 139. v: 139..144; its packet is in the last buffer at 146 and is written in 12 cycles. y: 158..159.
    # From then on an iteration every 12 cycles, in which the channel reads 4 vectors: the 64th ends at 159 + 63 * 12.
    verdict = simulate(rdu_two_stages())
    assert verdict.ok
    assert verdict.period == 12
    assert verdict.cycles == 915
    use = {unit.node: unit for unit in verdict.units}
    assert use["g"].busy == 64 * 8
    assert use["v"].busy == 64 * 5
    assert (use["g"].stalled, use["x"].stalled) == (0, 0)


def fork(shared: bool) -> Mapping:
    """x feeds a and b with four tokens each an iteration, over one link or over two."""
    dfg = graph(
        "fork",
        {"x": ("gemm", 1), "a": ("gemm", 3), "b": ("gemm", 3)},
        [TokenEdge(source="x", target="a", tokens=4), TokenEdge(source="x", target="b", tokens=4, part=1)],
    )
    over = ("sw_0_1", "sw_1_1") if shared else ("sw_1_1",)
    return make(
        dfg,
        ARRAY,
        1,
        {"x": ("cu_0_0", 0), "a": ("cu_0_2", 0), "b": ("cu_1_1", 0)},
        {
            ("x", "a", 0): way("cu_0_0", "sw_0_1", "sw_0_2", "cu_0_2"),
            ("x", "b", 0): way("cu_0_0", *over, "cu_1_1"),
        },
    )


def test_flows_over_links_of_their_own_do_not_slow_each_other():
    # Each link carries 4 tokens an iteration; the units need 3 cycles.
    assert simulate(fork(shared=False)).period == 4


def test_flows_that_share_a_link_take_turns():
    # cu_0_0>sw_0_1 carries 4 + 4 tokens an iteration.
    assert simulate(fork(shared=True)).period == 8


def ring() -> Dfg:
    return graph(
        "ring",
        {"g": ("gemm", 3), "v": ("elementwise", 4)},
        [TokenEdge(source="g", target="v"), TokenEdge(source="v", target="g", distance=1, initial=(5,))],
    )


def ring_mapping() -> Mapping:
    return make(
        ring(),
        ARRAY,
        1,
        {"g": ("cu_0_0", 0), "v": ("cu_1_1", 0)},
        {("g", "v", 0): way("cu_0_0", "sw_1_1", "cu_1_1"), ("v", "g", 0): way("cu_1_1", "sw_1_1", "cu_0_0")},
    )


def test_recurrence_runs_at_the_pace_of_its_loop():
    # 3 cycles of g, 2 links, 4 cycles of v, 2 links back: 11.
    verdict = simulate(ring_mapping())
    assert verdict.ok
    assert verdict.period == 11


def multi_rate() -> Dfg:
    """g gathers eight tokens into one firing; j joins each of its eight results with two tokens of the stream."""
    return graph(
        "gather",
        {"x": ("input", 1), "g": ("gemm", 2), "j": ("elementwise", 1)},
        [
            TokenEdge(source="x", target="g", tokens=1, takes=8),
            TokenEdge(source="g", target="j", tokens=8, takes=1),
            TokenEdge(source="x", target="j", operand=1, tokens=2),
        ],
    )


def multi_rate_mapping(fifo: int) -> Mapping:
    return make(
        multi_rate(),
        f"{ARRAY},fifo={fifo}",
        1,
        {"x": ("dram_left_0", 0), "g": ("cu_0_0", 0), "j": ("cu_1_1", 0)},
        {
            ("x", "g", 0): way("dram_left_0", "sw_0_0", "cu_0_0"),
            ("g", "j", 0): way("cu_0_0", "sw_1_1", "cu_1_1"),
            ("x", "j", 1): way("dram_left_0", "sw_1_0", "sw_1_1", "cu_1_1", operand=1),
        },
    )


def test_rates_give_the_firings_of_an_iteration():
    assert repetitions(configure(multi_rate_mapping(32))) == [8, 1, 8]


def test_deep_buffers_let_the_short_way_wait_for_the_long_one():
    verdict = simulate(multi_rate_mapping(32))
    assert verdict.ok
    # sw_1_1>cu_1_1 carries the 8 tokens of g and the 8 * 2 of x of each iteration.
    assert verdict.period == 24


def test_shallow_buffers_deadlock_and_say_who_waits_for_whom():
    # j's buffer for x holds 8, two a firing: x stops after four, but g needs eight before j gets anything from it.
    verdict = simulate(multi_rate_mapping(8))
    assert not verdict
    assert verdict.period is None
    assert "deadlock" in (verdict.error or "")
    assert "x on dram_left_0 waits for room at j: 8 of 8 taken" in (verdict.error or "")
    assert "j on cu_1_1 waits for tokens of g: 0 of 1" in (verdict.error or "")
    assert "g on cu_0_0 waits for tokens of x: 4 of 8" in (verdict.error or "")


def test_rates_that_do_not_balance_are_refused():
    dfg = graph(
        "unbalanced",
        {"x": ("input", 1), "v": ("elementwise", 1)},
        [TokenEdge(source="x", target="v", tokens=2), TokenEdge(source="x", target="v", operand=1, tokens=3, takes=2)],
    )
    mapping = make(dfg, ARRAY, 1, {"x": ("dram_left_0", 0), "v": ("cu_0_0", 0)}, {})
    with pytest.raises(SimulationError, match=r"edge 1 \(x -> v\) puts 3 tokens and takes 2"):
        simulate(mapping)


# -- tokens that go astray --------------------------------------------------------------------------------------------


def join() -> Configuration:
    dfg = graph(
        "join",
        {"x": ("input", 1), "z": ("input", 1), "v": ("elementwise", 1)},
        [TokenEdge(source="x", target="v"), TokenEdge(source="z", target="v", operand=1)],
    )
    return configure(
        make(
            dfg,
            ARRAY,
            1,
            {"x": ("dram_left_0", 0), "z": ("dram_right_0", 0), "v": ("cu_0_2", 0)},
            {
                ("x", "v", 0): way("dram_left_0", "sw_0_0", "sw_0_1", "sw_0_2", "cu_0_2"),
                ("z", "v", 1): way("dram_right_0", "sw_0_4", "sw_0_3", "cu_0_2", operand=1),
            },
        )
    )


def test_join_is_right():
    assert simulate_configuration(join()).ok


def test_swapped_flows_show():
    configuration = join()
    a, b = configuration.token_paths
    swapped = replace(configuration, token_paths=(replace(a, edge=b.edge), replace(b, edge=a.edge)))
    verdict = simulate_configuration(swapped)
    assert not verdict
    assert verdict.divergence is not None
    assert (verdict.divergence.what, verdict.divergence.iteration) == ("node v", 0)


def test_missing_flow_starves_its_consumer():
    configuration = join()
    verdict = simulate_configuration(replace(configuration, token_paths=configuration.token_paths[:1]))
    assert "v on cu_0_2 waits for tokens of z: 0 of 1 (has no route)" in (verdict.error or "")


def test_links_that_do_not_join_up_carry_nothing():
    configuration = join()
    first, second = configuration.token_paths
    broken = replace(first, links=first.links[:1] + first.links[2:])
    verdict = simulate_configuration(replace(configuration, token_paths=(broken, second)))
    assert "sw_0_1>sw_0_2 does not begin at sw_0_0" in (verdict.error or "")


def test_flow_that_ends_elsewhere_arrives_nowhere():
    configuration = join()
    first, second = configuration.token_paths
    broken = replace(first, links=first.links[:-1])
    verdict = simulate_configuration(replace(configuration, token_paths=(broken, second)))
    assert "ends at sw_0_2, not at cu_0_2" in (verdict.error or "")


def test_limit_of_cycles_is_not_called_a_deadlock(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("gridloom.targets.dataflow.machine.run._MAX_CYCLES", 40)
    verdict = simulate(rdu_two_stages())
    assert not verdict.ok
    assert verdict.error == "64 iterations take more than 40 cycles, the most that is simulated: ask for fewer"


def arrays(network: TokenNetwork) -> list[list[int]]:
    tables = (network.counters, network.consumed, network.results, network.finished, network.usage, network.fired)
    return [table.ravel().tolist() for table in tables]


@pytest.mark.parametrize("step", [1, 7, 100])
@pytest.mark.parametrize("mapping", [rdu_two_stages(), fork(shared=True), ring_mapping(), multi_rate_mapping(8)])
def test_a_run_in_pieces_is_the_run_at_once(mapping: Mapping, step: int):
    # Cycles in which nothing begins are skipped in a run at once, and shown to whoever asks for them; the third mapping
    # feeds itself, the last one comes to a deadlock.
    configuration = configure(mapping)
    whole, pieces = (TokenNetwork(configuration, repetitions(configuration), 12) for _ in range(2))
    cycles = whole.run()
    run = pieces.start()
    before = -1
    while before < run.cycle:
        before = run.cycle
        run.advance(before + step)
    assert (before, arrays(pieces)) == (cycles, arrays(whole))
    assert pieces.stuck() == whole.stuck()


def test_tokens_are_counted_cycle_by_cycle():
    # g puts its four tokens in cycle 134 (see above); one of them crosses the first link in each of the next cycles.
    configuration = configure(rdu_two_stages())
    network = TokenNetwork(configuration, repetitions(configuration), 4)
    run = network.start()
    flow = next(f for f, e in enumerate(network.tables.edges) if e >= 0 and network.dfg.edges[e].source == "g")
    first = network.flows[flow, layout.F_COUNTER]
    seen = {}
    while run.cycle < 145:
        now = run.cycle
        run.advance(now + 1)
        seen[run.cycle] = int(network.counters[first + 1])
    assert [seen[cycle] for cycle in range(134, 140)] == [0, 1, 2, 3, 4, 4]
