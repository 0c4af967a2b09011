"""Single effects of the machine: every answer is derived in a comment, and both simulators have to give it.

The arrays have no DRAM latency and no refresh unless a test is about them. ``M`` is a 2 x 6 grid: compute units at
(0,0), (0,2), (0,4), (1,1), (1,3), (1,5), memory units between them, DRAM interfaces left and right of row 0.
"""

from __future__ import annotations

from dataclasses import replace

import pytest
from tests.hand_mappings import make
from tests.targets.dataflow.machine.test_measure import measure
from tests.targets.dataflow.machine.test_run import graph, way

from gridloom.archs import build
from gridloom.mapping import Mapping
from gridloom.sim import simulate
from gridloom.targets.dataflow.program.model import TokenEdge
from gridloom.verify import legal

QUIET = "dram_latency=0,refresh_cycles=0"
M = f"rdu:2x6,{QUIET}"


def period(mapping: Mapping, *, iterations: int = 48) -> float:
    """The period of a legal mapping, in which both simulators agree."""
    assert legal(mapping) == []
    verdict = simulate(mapping, iterations=iterations)
    assert verdict.ok
    assert verdict.period is not None
    found = measure(mapping, skip=iterations // 4, iterations=iterations // 2, cap=iterations)
    assert found.cycles / (iterations // 2) == verdict.period
    return verdict.period


def stream(
    tokens: int, links: int, *, work: tuple[int, int] = (1, 1), arch: str = M, room: int | None = None
) -> Mapping:
    """A compute unit that sends packets to another over so many links (2, 4 or 6), straight on."""
    dfg = graph(
        "stream",
        {"a": ("gemm", work[0]), "b": ("elementwise", work[1])},
        [TokenEdge(source="a", target="b", tokens=tokens, room=room)],
    )
    ends = {2: ("cu_1_1", ("sw_1_1",)), 4: ("cu_0_2", ("sw_0_0", "sw_0_1", "sw_0_2"))}
    ends[6] = ("cu_0_4", ("sw_0_0", "sw_0_1", "sw_0_2", "sw_0_3", "sw_0_4"))
    target, between = ends[links]
    return make(dfg, arch, 1, {"a": ("cu_0_0", 0), "b": (target, 0)}, {("a", "b", 0): way("cu_0_0", *between, target)})


# -- one flow ---------------------------------------------------------------------------------------------------------


def test_slow_consumer_decides():
    # The consumer works 9 cycles for each packet, and everything else is faster.
    assert period(stream(4, 2, work=(4, 9))) == 9


def test_slow_producer_decides():
    assert period(stream(4, 2, work=(11, 4))) == 11


def test_link_carries_one_vector_per_cycle():
    # A packet of 4 keeps each of the links for 4 cycles, and both units are done in 1.
    assert period(stream(4, 2)) == 4


@pytest.mark.parametrize(("links", "cycles"), [(2, 12), (4, 16), (6, 20)])
def test_room_for_one_packet_is_a_round_trip(links: int, cycles: int):
    # b begins in cycle t and takes its 4 vectors; the credit is back in t + h. a works 1 cycle and the packet enters
    # the first link in t + h + 1, the last in t + 2 h; its 4 vectors are there in t + 2 h + 4: 2 h + 4 cycles.
    assert period(stream(4, links, room=4)) == 2 * links + 4
    # A producer that works 5 cycles adds 4.
    assert period(stream(4, links, room=4, work=(5, 1))) == cycles


def test_room_for_two_packets_halves_the_round_trip():
    # Two packets per round trip of 2 * 6 + 4 = 16 cycles.
    assert period(stream(4, 6, room=8)) == 8


def test_wide_window_hides_the_distance():
    # 16 vectors of room: four packets of 4 per 16 cycles, which is as fast as the link.
    assert period(stream(4, 6)) == 4


def test_small_packets_cost_nothing_on_a_link():
    # A packet of one vector in each cycle: the round trip of 2 * 6 + 1 = 13 cycles is less than the 16 of the FIFO.
    assert period(stream(1, 6)) == 1


def test_buffer_of_one_packet_slows_every_link():
    # A buffer that holds 4 has room again when a packet of 4 has left it: the packet enters in cycle t, its head is
    # there in t + 1 and it is gone in t + 5, so that the next may enter the link in t + 5.
    assert period(stream(4, 4, arch=f"{M},switch_buffer=4")) == 5
    assert period(stream(4, 4, arch=f"{M},switch_buffer=8")) == 4
    # Of packets of 6 only one fits in 8.
    assert period(stream(6, 2)) == 7


# -- shared links -----------------------------------------------------------------------------------------------------


def fork(
    first: int, second: int, *, part: int = 1, works: tuple[int, int, int] = (1, 1, 1), shared: bool = True
) -> Mapping:
    """A unit that sends to two others, over one link or over two, the same or different parts of its result."""
    dfg = graph(
        "fork",
        {"a": ("gemm", works[0]), "b": ("elementwise", works[1]), "c": ("elementwise", works[2])},
        [TokenEdge(source="a", target="b", tokens=first), TokenEdge(source="a", target="c", tokens=second, part=part)],
    )
    other = ("sw_0_1", "sw_0_2") if shared else ("sw_1_1", "sw_1_2")
    return make(
        dfg,
        M,
        1,
        {"a": ("cu_0_0", 0), "b": ("cu_1_1", 0), "c": ("cu_0_2", 0)},
        {
            ("a", "b", 0): way("cu_0_0", "sw_0_1", "sw_1_1", "cu_1_1"),
            ("a", "c", 0): way("cu_0_0", *other, "cu_0_2"),
        },
    )


def test_two_flows_share_a_link():
    # cu_0_0>sw_0_1 carries 3 + 5 vectors for each firing.
    assert period(fork(3, 5)) == 8


def test_two_flows_on_two_links_do_not():
    assert period(fork(3, 4, shared=False)) == 4


def test_multicast_crosses_a_shared_link_once():
    # The same 4 vectors go to both: one packet on the first link, which branches behind it.
    assert period(fork(4, 4, part=0)) == 4
    assert period(fork(4, 4, part=1)) == 8


def test_packets_of_different_sizes_are_no_multicast():
    assert period(fork(3, 5, part=0)) == 8


def test_multicast_waits_for_its_slowest_branch():
    # c takes 13 cycles for each packet; its FIFO is full soon, and b gets no more than c.
    assert period(fork(4, 4, part=0, works=(1, 1, 13))) == 13


def merge(tokens: int, works: tuple[int, int]) -> Mapping:
    """Two units that send to two others; both routes cross the link sw_0_2>sw_0_3."""
    dfg = graph(
        "merge",
        {"a": ("gemm", 1), "b": ("gemm", 1), "c": ("elementwise", works[0]), "d": ("elementwise", works[1])},
        [TokenEdge(source="a", target="c", tokens=tokens), TokenEdge(source="b", target="d", tokens=tokens)],
    )
    return make(
        dfg,
        M,
        1,
        {"a": ("cu_0_0", 0), "b": ("cu_1_1", 0), "c": ("cu_0_4", 0), "d": ("cu_1_3", 0)},
        {
            ("a", "c", 0): way("cu_0_0", "sw_0_1", "sw_0_2", "sw_0_3", "sw_0_4", "cu_0_4"),
            ("b", "d", 0): way("cu_1_1", "sw_1_2", "sw_0_2", "sw_0_3", "sw_1_3", "cu_1_3"),
        },
    )


def test_flows_of_two_units_take_turns():
    # Each gets every other packet of the shared link: 2 * 4 cycles.
    assert period(merge(4, (1, 1))) == 8


def test_slow_consumer_does_not_stop_its_neighbour_on_a_link():
    # c takes a packet every 40 cycles, and credits keep its packets out of the network: d has the link nearly to
    # itself. In 40 cycles the link carries one packet for c and nine for d; the iterations of both are counted until
    # the slower is done.
    mapping = merge(4, (40, 1))
    assert period(mapping) == 40
    units = {unit.node: unit for unit in simulate(mapping, iterations=48).units}
    assert units["c"].starved < 40


# -- memory units -----------------------------------------------------------------------------------------------------


def gather(banks: int) -> Mapping:
    """Two compute units that write into one memory unit, over links of their own; it sends to a third."""
    dfg = graph(
        "gather",
        {"a": ("gemm", 1), "b": ("gemm", 1), "m": ("buffer", 1), "c": ("elementwise", 1)},
        [
            TokenEdge(source="a", target="m", tokens=4, room=16),
            TokenEdge(source="b", target="m", operand=1, tokens=4, room=16),
            TokenEdge(source="m", target="c"),
        ],
    )
    return make(
        dfg,
        f"{M},memory_ports={banks}",
        1,
        {"a": ("cu_0_0", 0), "b": ("cu_0_2", 0), "m": ("mu_0_1", 0), "c": ("cu_1_1", 0)},
        {
            ("a", "m", 0): way("cu_0_0", "sw_0_1", "mu_0_1"),
            ("b", "m", 1): way("cu_0_2", "sw_0_2", "mu_0_1", operand=1),
            ("m", "c", 0): way("mu_0_1", "sw_1_1", "cu_1_1"),
        },
    )


def test_hot_bank_writes_one_vector_per_cycle():
    # Both inputs write bank 0: 4 + 4 vectors for each firing.
    assert period(gather(1)) == 8


def test_two_banks_write_at_the_same_time():
    assert period(gather(2)) == 4


# -- DRAM -------------------------------------------------------------------------------------------------------------


def reads(tokens: int, arch: str, works: tuple[int, int] = (1, 1)) -> Mapping:
    """An input that sends what it reads to a compute unit beside it."""
    dfg = graph(
        "reads", {"x": ("input", works[0]), "a": ("gemm", works[1])}, [TokenEdge(source="x", target="a", tokens=tokens)]
    )
    return make(
        dfg,
        arch,
        1,
        {"x": ("dram_left_0", 0), "a": ("cu_0_0", 0)},
        {("x", "a", 0): way("dram_left_0", "sw_0_0", "cu_0_0")},
    )


def test_dram_channel_gives_a_vector_every_so_many_cycles():
    # 4 vectors of 3 cycles each; the reader makes 4 addresses in 4 cycles.
    assert period(reads(4, M)) == 12
    assert period(reads(4, f"{M},dram_cycles=7")) == 28


def test_reads_ahead_hide_the_latency():
    # 64 vectors of room: 16 reads of 4 under way. One takes 4 cycles of addresses, 12 in the channel, 100 on its way
    # and 4 through the port, and the credit of its room comes back in 1: far less than 16 * 12 cycles.
    assert period(reads(4, "rdu:2x6,refresh_cycles=0,dram_latency=100")) == 12


def test_too_few_reads_ahead_show_the_latency():
    # Room for two reads of 4. A read's addresses take 4 cycles and it enters the channel 4 cycles after it began, is
    # through 12 later and in the interface's queue 100 after that, crosses the port in 4 and is taken; the credit takes
    # 1 more: 4 + 12 + 100 + 4 + 1 = 121 cycles for two reads. They follow each other 12 cycles apart.
    assert period(reads(4, "rdu:2x6,refresh_cycles=0,dram_latency=100,dram_queue=8")) == pytest.approx(60.5)


def test_refresh_takes_its_share():
    # In 400 cycles the channel rests for 100 and serves 25 reads of 12 cycles in the other 300; 25 reads are 400.
    assert period(reads(4, "rdu:2x6,dram_latency=0,refresh_every=400,refresh_cycles=100"), iterations=400) == 16


def test_row_is_opened_for_its_first_packet():
    # Two packets of 4 lie in a row of 8: the first waits 10 cycles for its row, the second finds it open. Reads of 12.
    assert period(reads(4, f"{M},dram_row=8,dram_banks=1,row_cycles=10")) == (22 + 12) / 2
    # In rows of 4 every packet has a row of its own, whatever the banks; in one long row none waits after the first.
    assert period(reads(4, f"{M},dram_row=4,dram_banks=16,row_cycles=10")) == 22
    assert period(reads(4, f"{M},dram_row=1024,row_cycles=10")) == 12


def test_streams_close_each_others_rows_in_one_bank():
    # Two inputs take turns on one channel. With one bank each packet finds the row of the other open: 2 * (12 + 10).
    # With two banks their rows lie in different ones, and every other packet of each begins a new row: 2 * (12 + 5).
    for banks, cycles in ((1, 44), (2, 34)):
        arch = build(f"{M},dram_channels=1,dram_row=8,dram_banks={banks},row_cycles=10")
        assert period(replace(two_inputs(1), arch=arch)) == cycles


def test_rows_are_written_as_they_are_read():
    # A writer alone on the channel: 4 vectors of 3 cycles, and 10 more for every other packet.
    dfg = graph("write", {"a": ("gemm", 1), "y": ("output", 1)}, [TokenEdge(source="a", target="y", tokens=4)])
    mapping = make(
        dfg,
        f"{M},dram_row=8,row_cycles=10",
        1,
        {"a": ("cu_0_0", 0), "y": ("dram_left_0", 0)},
        {("a", "y", 0): way("cu_0_0", "sw_0_0", "dram_left_0")},
    )
    assert period(mapping) == 17


def two_inputs(channels: int) -> Mapping:
    """Two inputs, left and right, each with a compute unit of its own."""
    dfg = graph(
        "two inputs",
        {"x": ("input", 1), "y": ("input", 1), "a": ("gemm", 1), "b": ("gemm", 1)},
        [TokenEdge(source="x", target="a", tokens=4), TokenEdge(source="y", target="b", tokens=4)],
    )
    return make(
        dfg,
        f"{M},dram_channels={channels}",
        1,
        {"x": ("dram_left_0", 0), "y": ("dram_right_0", 0), "a": ("cu_0_0", 0), "b": ("cu_1_5", 0)},
        {
            ("x", "a", 0): way("dram_left_0", "sw_0_0", "cu_0_0"),
            ("y", "b", 0): way("dram_right_0", "sw_1_6", "cu_1_5"),
        },
    )


def test_saturated_channel_is_shared():
    # One channel for both inputs: 2 * 4 vectors of 3 cycles.
    assert period(two_inputs(1)) == 24


def test_channels_of_their_own_are_not():
    assert period(two_inputs(2)) == 12


def test_reading_and_writing_share_a_channel():
    # What is read goes through a compute unit and back to an interface on the same channel: 4 + 4 vectors of 3 cycles.
    dfg = graph(
        "copy",
        {"x": ("input", 1), "a": ("gemm", 1), "y": ("output", 1)},
        [TokenEdge(source="x", target="a", tokens=4), TokenEdge(source="a", target="y", tokens=4)],
    )
    mapping = make(
        dfg,
        f"{M},dram_channels=1",
        1,
        {"x": ("dram_left_0", 0), "a": ("cu_0_0", 0), "y": ("dram_right_0", 0)},
        {
            ("x", "a", 0): way("dram_left_0", "sw_0_0", "cu_0_0"),
            ("a", "y", 0): way("cu_0_0", "sw_0_1", "sw_0_2", "sw_0_3", "sw_0_4", "sw_0_5", "sw_0_6", "dram_right_0"),
        },
    )
    assert period(mapping) == 24


def test_multicast_is_read_once():
    # 4 vectors of 3 cycles, whoever gets them; two parts are read one after the other.
    for part, cycles in ((0, 12), (1, 24)):
        dfg = graph(
            "cast",
            {"x": ("input", 1), "a": ("gemm", 1), "b": ("gemm", 1)},
            [TokenEdge(source="x", target="a", tokens=4), TokenEdge(source="x", target="b", tokens=4, part=part)],
        )
        mapping = make(
            dfg,
            M,
            1,
            {"x": ("dram_left_0", 0), "a": ("cu_0_0", 0), "b": ("cu_1_1", 0)},
            {
                ("x", "a", 0): way("dram_left_0", "sw_0_0", "cu_0_0"),
                ("x", "b", 0): way("dram_left_0", "sw_1_0", "sw_1_1", "cu_1_1"),
            },
        )
        assert period(mapping) == cycles
