"""Flows with an II each on one clock: whatever messages take, the values are the interpreter's."""

from __future__ import annotations

import dataclasses

import pytest

from gridloom.archs import build
from gridloom.dfg.model import Dfg, DfgBuilder
from gridloom.errors import SimulationError
from gridloom.mappers.budget import Budget
from gridloom.mappers.spokes.anneal import SpokesAnnealConfig, anneal_spokes
from gridloom.mapping.model import Mapping
from gridloom.mapping.program import Channel, Flow, Program
from gridloom.sim import together
from gridloom.sim.together import reference, simulate_program

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
    monkeypatch.setattr(together._Part, "ready", lambda part: True)
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
