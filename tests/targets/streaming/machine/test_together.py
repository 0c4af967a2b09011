"""Flows with an II each on one clock: whatever messages take, the values are the interpreter's."""

from __future__ import annotations

import dataclasses

import pytest

from gridloom.archs import build
from gridloom.dfg.model import Dfg, DfgBuilder
from gridloom.errors import SimulationError
from gridloom.mapping.model import Mapping
from gridloom.search.budget import Budget
from gridloom.targets.streaming.machine.flow_part import FlowPart
from gridloom.targets.streaming.machine.program_reference import reference
from gridloom.targets.streaming.machine.together import simulate_program
from gridloom.targets.streaming.mappers.anneal import SpokesAnnealConfig, anneal_spokes
from gridloom.targets.streaming.program.model import Channel, Flow, Program

ARCH = build("streaming-engine:12,spokes=8")


def affine(scale: int, livein: bool = False) -> Dfg:
    """y = x * scale + 1, or + k."""
    b = DfgBuilder("affine")
    b.output(b.add("mul_add", b.input("x"), b.const(scale), b.livein("k") if livein else b.const(1)), "y")
    return b.build()


def running_sum() -> Dfg:
    b = DfgBuilder("sum")
    total = b.add("add", b.input("x"), id="t", liveout="last")
    b.carry(total, total, operand=1, distance=1, initial=[5])
    b.output(total, "s")
    return b.build()


def stored(array: str) -> Dfg:
    """A[i] = A[i] + 3 for i = 0, 1, ..."""
    b = DfgBuilder("stored")
    b.array(array, 16)
    i = b.add("add", b.const(1), id="i")
    b.carry("i", "i", operand=1, distance=1, initial=[-1])
    b.store(array, i, b.add("add", b.load(array, i), b.const(3)))
    return b.build()


def flow(name: str, dfg: Dfg, ii: int, iterations: int = 20) -> Flow:
    found = anneal_spokes(dfg, ARCH, SpokesAnnealConfig(ii=ii), Budget(effort=2000, seed=1))
    assert isinstance(found, Mapping)
    return Flow(name=name, iterations=iterations, base=0, tiles=12, mapping=found)


def joined(flows: list[Flow], *channels: Channel) -> Program:
    return Program(name="p", arch=ARCH, flows=tuple(flows), channels=channels)


def transfer(source: str, target: str, value: str = "y", into: str = "x") -> Channel:
    return Channel(kind="transfer", source=source, target=target, value=value, into=into)


@pytest.mark.parametrize(("first", "second"), [(1, 7), (7, 1), (3, 3)])
def test_flows_of_any_two_iis_hand_their_values_on(first: int, second: int) -> None:
    program = joined([flow("a", affine(3), first), flow("b", affine(5), second)], transfer("a", "b"))
    assert simulate_program(program).ok
    verdict = simulate_program(program, latencies=(1,))
    assert verdict.ok and verdict.mismatches == ()
    _, shown = reference(program, 0)
    assert (shown["b"].outputs["y"] == (shown["a"].outputs["y"] * 5 + 1 + (1 << 31)) % (1 << 32) - (1 << 31)).all()
    # A fast source leaves messages behind, a fast target waits for them.
    waits = {run.flow: run.waited for run in verdict.flows}
    assert (verdict.waiting["transfer a.y -> b.x"] > 5) == (first < second)
    assert (waits["b"] > 20) == (first > second)


def test_longer_messages_change_the_cycles_and_nothing_else() -> None:
    program = joined(
        [flow("a", affine(3), 2), flow("b", running_sum(), 3), flow("c", affine(7), 1)],
        transfer("a", "b"),
        transfer("b", "c", value="s"),
    )
    verdict = simulate_program(program, latencies=(1, 200), runs=3)
    assert verdict.ok
    assert len(set(verdict.cycles)) > 1
    assert max(verdict.cycles[:3]) < min(verdict.cycles[3:])


def test_output_of_earlier_iterations_begins_with_its_initial_values() -> None:
    b = DfgBuilder("late")
    b.add("add", b.input("x"), b.const(1), id="t")
    b.add("output", id="y", variable="y")
    b.carry("t", "y", operand=0, distance=2, initial=[40, 50])
    program = joined([flow("a", b.build(), 2), flow("b", affine(2), 3)], transfer("a", "b"))
    assert simulate_program(program).ok
    _, shown = reference(program, 0)
    assert shown["b"].outputs["y"][:2].tolist() == [81, 101]


def test_live_out_is_loaded_before_the_target_begins() -> None:
    load = Channel(kind="load", source="a", target="b", value="last", into="k")
    program = joined([flow("a", running_sum(), 3), flow("b", affine(2, livein=True), 1, iterations=5)], load)
    verdict = simulate_program(program)
    assert verdict.ok
    runs = {run.flow: run for run in verdict.flows}
    assert runs["b"].began > runs["a"].ended


def test_array_is_loaded_as_the_source_leaves_it() -> None:
    load = Channel(kind="load", source="a", target="b", value="A", into="B")
    program = joined([flow("a", stored("A"), 8, iterations=10), flow("b", stored("B"), 8, iterations=4)], load)
    assert simulate_program(program).ok
    stimuli, shown = reference(program, 0)
    before = stimuli["a"].memory["A"]
    assert (shown["b"].memory["B"][:4] == before[:4] + 6).all()
    assert (shown["b"].memory["B"][4:10] == before[4:10] + 3).all()


def test_started_flow_begins_after_the_other_has_ended() -> None:
    program = joined([flow("a", affine(2), 4), flow("b", affine(3), 1)], Channel(kind="start", source="a", target="b"))
    verdict = simulate_program(program, latencies=(30,))
    runs = {run.flow: run for run in verdict.flows}
    assert verdict.ok and runs["b"].began > runs["a"].ended


def test_flow_that_does_not_wait_for_its_messages_shows(monkeypatch: pytest.MonkeyPatch) -> None:
    program = joined([flow("a", affine(3), 7), flow("b", affine(5), 1)], transfer("a", "b"))
    monkeypatch.setattr(FlowPart, "ready", lambda part: True)
    verdict = simulate_program(program)
    assert not verdict.ok
    assert verdict.mismatches[0].what == "flow b: output y"


def test_wrong_wait_in_a_flow_shows() -> None:
    program = joined([flow("a", running_sum(), 3), flow("b", affine(5), 2)], transfer("a", "b", value="s"))
    good = program.flows[0].mapping
    (route,) = good.routes
    bad = dataclasses.replace(good, routes=(dataclasses.replace(route, fifo=route.fifo + 1),))
    flows = (dataclasses.replace(program.flows[0], mapping=bad), program.flows[1])
    assert simulate_program(program).ok
    assert not simulate_program(dataclasses.replace(program, flows=flows)).ok


def test_more_messages_than_tile_memory_holds_are_refused() -> None:
    small = build("streaming-engine:12,spokes=8,tile_memory=4")
    flows = [dataclasses.replace(part, mapping=dataclasses.replace(part.mapping, arch=small))
             for part in (flow("a", affine(3), 1), flow("b", affine(5), 8))]  # fmt: skip
    program = dataclasses.replace(joined(flows, transfer("a", "b")), arch=small)
    verdict = simulate_program(program)
    assert not verdict.ok and verdict.mismatches == ()
    assert verdict.error is not None and "more messages wait than a tile memory holds (4)" in verdict.error


def test_stream_that_only_passes_is_refused() -> None:
    b = DfgBuilder("wire")
    b.output(b.input("x"), "y")
    b.output(b.add("add", "x", b.const(1)), "z")
    program = joined([flow("a", b.build(), 1), flow("b", affine(5), 1)], transfer("a", "b"))
    with pytest.raises(SimulationError, match="a transfer carries what the flow computes"):
        simulate_program(program)


def test_same_seed_gives_the_same_cycles() -> None:
    program = joined([flow("a", affine(3), 2), flow("b", affine(5), 1)], transfer("a", "b"))
    assert simulate_program(program, seed=4) == simulate_program(program, seed=4)


# -- branches, loops and limits -------------------------------------------------------------------------------------


def countdown() -> Dfg:
    """One step: left = left - 1, total = total + left; go while left > 0."""
    b = DfgBuilder("countdown")
    left = b.add("sub", b.livein("left"), b.const(1), id="l", liveout="left_now")
    b.add("add", left, b.livein("total"), id="s", liveout="total_now")
    b.add("gt", left, b.const(0), id="g", liveout="go")
    return b.build()


def limited() -> Dfg:
    """left = x & 15, as a live-out: how often the loop runs."""
    b = DfgBuilder("limited")
    b.add("and", b.input("x"), b.const(15), id="m", liveout="count")
    return b.build()


def loop(**settings: int) -> Program:
    """Seed of the loop from a stream, the loop itself, and a flow that takes its result."""
    flows = [
        flow("first", limited(), 2, 3),
        flow("loop", countdown(), 2, 1),
        flow("last", affine(3, livein=True), 2, 4),
    ]

    def branch(source: str, target: str, **condition: str) -> Channel:
        return Channel(kind="branch", source=source, target=target, **condition)  # type: ignore[arg-type]

    def load(source: str, value: str, target: str, into: str) -> Channel:
        return Channel(kind="load", source=source, target=target, value=value, into=into)

    return joined(
        flows,
        load("first", "count", "loop", "left"),
        branch("first", "loop"),
        load("loop", "left_now", "loop", "left"),
        load("loop", "total_now", "loop", "total"),
        load("loop", "total_now", "last", "k"),
        branch("loop", "loop", when="go"),
        branch("loop", "last", unless="go"),
    )


def test_loop_of_flows_ends_when_its_data_say_so() -> None:
    program = loop()
    for seed in range(6):
        verdict = simulate_program(program, seed=seed, latencies=(1, 40))
        assert verdict.ok, verdict.mismatches
        stimuli, shown = reference(program, seed)
        turns = max(1, int(stimuli["first"].streams["x"][2]) & 15)
        runs = {run.flow: run.activations for run in verdict.flows}
        assert runs == {"first": 1, "loop": turns, "last": 1}
        assert shown["loop"].liveouts["left_now"] in (0, -1)


def test_flows_of_a_loop_hand_streams_on_in_every_turn() -> None:
    produce, consume = flow("produce", affine(3, livein=True), 2, 5), flow("consume", running_sum(), 3, 5)
    count = flow("count", countdown(), 2, 1)
    channels = [
        Channel(kind="branch", source="host", target="count"),
        Channel(kind="load", source="count", target="count", value="left_now", into="left"),
        Channel(kind="load", source="count", target="produce", value="left_now", into="k"),
        Channel(kind="branch", source="count", target="produce", when="go"),
        Channel(kind="branch", source="count", target="consume", when="go"),
        transfer("produce", "consume"),
        Channel(kind="branch", source="consume", target="count"),
    ]
    program = joined([count, produce, consume], *channels)
    program = dataclasses.replace(program, channels=(Channel(kind="load", source="few", target="count", value="count",
        into="left"), *program.channels), flows=(*program.flows, flow("few", limited(), 2, 2)))  # fmt: skip
    program = dataclasses.replace(program, channels=tuple(
        dataclasses.replace(c, source="few") if c.source == "host" else c for c in program.channels))  # fmt: skip
    verdict = simulate_program(program, latencies=(1, 30))
    assert verdict.ok, verdict.mismatches
    runs = {run.flow: run.activations for run in verdict.flows}
    assert runs["produce"] == runs["consume"] == runs["count"] - 1


def test_full_channel_holds_its_source_up_and_changes_no_value() -> None:
    program = joined([flow("a", affine(3), 1), flow("b", affine(5), 7)], transfer("a", "b"))
    narrow = dataclasses.replace(program, channels=(dataclasses.replace(program.channels[0], capacity=2),))
    free, held = simulate_program(program, latencies=(5,)), simulate_program(narrow, latencies=(5,))
    assert free.ok and held.ok
    assert held.waiting["transfer a.y -> b.x"] <= 2 < free.waiting["transfer a.y -> b.x"]
    waited = {run.flow: run.waited for run in held.flows}
    assert waited["a"] > 50


def test_deadlock_names_what_every_flow_waits_for() -> None:
    # The target reads its second stream two iterations behind the first, and the channel has one place only.
    b = DfgBuilder("split")
    x = b.add("add", b.input("x"), b.const(1))
    b.output(x, "y")
    b.output(b.add("mul", "x", b.const(3)), "z")
    source = b.build()
    c = DfgBuilder("join")
    c.add("input", id="u", variable="u")
    early = c.add("add", c.input("v"), c.const(1), id="e")
    c.add("add", early, id="s", liveout="last")
    c.carry("u", "s", operand=1, distance=3, initial=[0, 0, 0])
    target = c.build()
    channels = (
        dataclasses.replace(transfer("a", "b", "y", "v"), capacity=1),
        dataclasses.replace(transfer("a", "b", "z", "u"), capacity=1),
    )
    program = joined([flow("a", source, 2, 12), flow("b", target, 2, 12)], *channels)
    with pytest.raises(SimulationError) as error:
        simulate_program(program, latencies=(3,))
    assert "deadlock in cycle" in str(error.value)
    assert "flow a waits for a place on transfer a.z -> b.u (capacity 1)" in str(error.value)
    assert "flow b waits for iteration" in str(error.value)


def test_loop_without_an_end_is_named() -> None:
    once = flow("a", countdown(), 2, 1)
    again = [Channel(kind="branch", source="host", target="a"), Channel(kind="branch", source="a", target="a")]
    with pytest.raises(SimulationError, match="runs for more than 20000 activations"):
        simulate_program(joined([once], *again))


def test_memory_replies_hold_a_flow_up_and_change_no_value() -> None:
    program = joined([flow("a", stored("A"), 8, iterations=10)])
    quick = simulate_program(program, latencies=(1,))
    slow = simulate_program(program, latencies=(1,), memory=40, outstanding=1)
    assert quick.ok and slow.ok
    assert slow.flows[0].waited > 50 > quick.flows[0].waited


@pytest.mark.slow
def test_loop_of_flows_is_right_a_thousand_times() -> None:
    program = loop()
    for seed in range(1000):
        assert simulate_program(program, seed=seed, latencies=(1 + seed % 50,), runs=1).ok
