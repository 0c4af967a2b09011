"""The verdict: right mappings pass, every kind of damage to a configuration shows, short runs are tried."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from tests.hand_mappings import LEGAL, make, mesh_fifo_2, mesh_unbalanced, torus_rotating, vpcma_three_rows

from gridloom.archs.model import Kind
from gridloom.dfg import DfgBuilder, Edge
from gridloom.dfg.interpreter import Stimulus
from gridloom.dfg.ops import OP_TABLE
from gridloom.errors import SimulationError
from gridloom.mapping import Configuration, Mapping, Slot, configure
from gridloom.sim import run, simulate, stimulus_for
from gridloom.sim.compare import simulate_configuration
from gridloom.sim.slot_code import compile_slots

CLOCKED = [name for name in LEGAL if not name.startswith("rdu")]


@pytest.mark.parametrize("name", LEGAL)
def test_hand_made_mapping_is_right(name: str):
    verdict = simulate(LEGAL[name]())
    assert verdict.ok, verdict.explain()
    assert verdict.iterations == 64


@pytest.mark.parametrize("name", CLOCKED)
def test_runs_shorter_than_the_pipeline_are_tried(name: str):
    mapping = LEGAL[name]()
    depth = compile_slots(configure(mapping)).depth
    verdict = simulate(mapping)
    assert {1, 2, 3, 64} <= set(verdict.trip_counts)
    assert depth == 1 or any(count < depth for count in verdict.trip_counts)


def test_wrong_mapping_says_where_it_went_wrong():
    verdict = simulate(mesh_unbalanced())
    assert not verdict
    assert {mismatch.what for mismatch in verdict.mismatches} == {"output y"}
    assert verdict.divergence is not None
    assert (verdict.divergence.what, verdict.divergence.iteration) == ("node d", 0)
    assert "first to diverge: node d in iteration 0 of a run of 64" in verdict.explain()


def test_same_seed_gives_the_same_verdict():
    assert simulate(mesh_unbalanced(), seed=3) == simulate(mesh_unbalanced(), seed=3)
    assert simulate(mesh_unbalanced(), seed=3) != simulate(mesh_unbalanced(), seed=4)


# -- damage -----------------------------------------------------------------------------------------------------------


def with_slot(configuration: Configuration, k: int, **fields: object) -> Configuration:
    slots = list(configuration.slots)
    slots[k] = replace(slots[k], **fields)
    return replace(configuration, slots=tuple(slots))


def with_operand(configuration: Configuration, k: int, position: int, **fields: object) -> Configuration:
    operands = list(configuration.slots[k].operands)
    operands[position] = replace(operands[position], **fields)
    return with_slot(configuration, k, operands=tuple(operands))


def timeless(configuration: Configuration, slot: Slot, position: int) -> bool:
    return configuration.dfg.ops[slot.operands[position].node].timeless


def wrong_start_stages(configuration: Configuration) -> Iterator[tuple[str, Configuration]]:
    # A move may repeat what the output register holds anyway, so that only ops are sure to show.
    for k, slot in enumerate(configuration.slots):
        if slot.kind == "op":
            yield f"slot {k} a stage late", with_slot(configuration, k, start=slot.start + 1)


def wrong_fifos(configuration: Configuration) -> Iterator[tuple[str, Configuration]]:
    for k, slot in enumerate(configuration.slots):
        for position, operand in enumerate(slot.operands):
            if slot.kind == "op" and operand.kind == "routed" and not timeless(configuration, slot, position):
                yield (
                    f"FIFO {k}.{position}",
                    with_operand(configuration, k, position, fifo=operand.fifo + configuration.ii),
                )


def wrong_initial_values(configuration: Configuration) -> Iterator[tuple[str, Configuration]]:
    for k, slot in enumerate(configuration.slots):
        for position, operand in enumerate(slot.operands):
            for number, value in enumerate(operand.initial):
                initial = list(operand.initial)
                initial[number] = value + 1
                damaged = with_operand(configuration, k, position, initial=tuple(initial))
                yield f"initial value {k}.{position}[{number}]", damaged


def cut_multiplexers(configuration: Configuration) -> Iterator[tuple[str, Configuration]]:
    count = len(configuration.arch.kind)
    for row, slot in zip(*np.nonzero(configuration.driver >= 0)):
        resource = row if row < count else configuration.lanes[row - count]
        if configuration.arch.kind[resource] in (Kind.IN, Kind.LINK, Kind.SWITCH, Kind.REG):
            driver = configuration.driver.copy()
            driver[row, slot] = -1
            yield f"{configuration.arch.resource_names[resource]} in slot {slot}", replace(configuration, driver=driver)


def wrong_ops(configuration: Configuration) -> Iterator[tuple[str, Configuration]]:
    """Give an op slot the node of another op slot of the same arity."""
    ops = [k for k, slot in enumerate(configuration.slots) if slot.kind == "op" and len(slot.operands) == 2]
    for a, b in pairwise(ops):
        nodes = configuration.slots[a].node, configuration.slots[b].node
        if configuration.dfg.nodes[nodes[0]].op != configuration.dfg.nodes[nodes[1]].op:
            swapped = with_slot(configuration, a, node=nodes[1])
            yield f"ops {a} and {b}", with_slot(swapped, b, node=nodes[0])


@pytest.mark.parametrize("damage", [wrong_start_stages, wrong_fifos, wrong_initial_values, cut_multiplexers, wrong_ops])
def test_every_damage_to_a_hand_made_configuration_shows(damage):
    found = 0
    for name in CLOCKED:
        for what, damaged in damage(configure(LEGAL[name]())):
            found += 1
            assert not simulate_configuration(damaged), f"{name}: {what} was not noticed"
    assert found >= 3


def test_swapped_operands_of_a_subtraction_show():
    b = DfgBuilder("difference")
    b.output(b.add("sub", b.input("x"), b.input("z"), id="d"), "y")
    mapping = make(
        b.build(),
        "mesh:1x4",
        1,
        {"x": ("pe_0_0", 0), "d": ("pe_0_1", 1), "z": ("pe_0_2", 0), "y": ("pe_0_3", 3)},
        {
            ("x", "d", 0): ([("pe_0_0.out", 1), ("pe_0_0>pe_0_1", 1), ("pe_0_1.in0", 1)], 0),
            ("z", "d", 1): ([("pe_0_2.out", 1), ("pe_0_2>pe_0_1", 1), ("pe_0_1.in1", 1)], 0),
            ("d", "y", 0): (
                [("pe_0_1.out", 2), ("pe_0_1>pe_0_2", 2), ("pe_0_2>pe_0_3", 3), ("pe_0_3.in0", 3)], 0,
            ),
        },
    )  # fmt: skip
    configuration = configure(mapping)
    assert simulate_configuration(configuration).ok
    k = next(k for k, slot in enumerate(configuration.slots) if slot.node == mapping.dfg.index["d"])
    a, b_operand = configuration.slots[k].operands
    swapped = with_slot(
        configuration, k, operands=(replace(a, resource=b_operand.resource), replace(b_operand, resource=a.resource))
    )
    assert not simulate_configuration(swapped)


def test_wrong_register_shows():
    configuration = configure(torus_rotating())
    arch = configuration.arch
    reading, r0, r1 = (arch.resource(f"pe_0_0.{name}") for name in ("in0", "r0", "r1"))
    driver = configuration.driver.copy()
    assert driver[reading, 0] == r0
    driver[reading, 0] = r1
    assert not simulate_configuration(replace(configuration, driver=driver))


def test_registers_that_do_not_rotate_show():
    configuration = configure(torus_rotating())
    assert not simulate_configuration(replace(configuration, settings={"rotating": {}}))


# -- combinational rows -----------------------------------------------------------------------------------------------


def unregistered_rows(pipeline: list[int]) -> Mapping:
    """The three rows with every value of an iteration in one cycle."""
    mapping = vpcma_three_rows()
    return replace(
        mapping,
        instances=tuple(replace(instance, cycle=0) for instance in mapping.instances),
        routes=tuple(replace(route, hops=tuple((name, 0) for name, _ in route.hops)) for route in mapping.routes),
        settings={"pipeline": pipeline},
    )


def test_rows_without_registers_settle_in_one_cycle():
    mapping = unregistered_rows([0] * 7)
    seen = run(configure(mapping), Stimulus(iterations=2, streams={"x": np.array([1, 2]), "w": np.array([10, 20])}))
    # ((x + 5) * w) - 9
    assert seen.outputs["y"].tolist() == [51, 131]
    assert simulate(mapping).ok


@pytest.mark.parametrize("pipeline", [[1, 0, 0, 0, 0, 0, 0], [0, 1, 0, 0, 0, 0, 0], [1, 1, 0, 0, 0, 0, 0]])
def test_register_that_the_schedule_does_not_know_shows(pipeline: list[int]):
    assert not simulate(unregistered_rows(pipeline))


def test_combinational_cycle_names_its_resources():
    configuration = configure(vpcma_three_rows())
    east, west = (configuration.arch.resource(name) for name in ("pe_0_2.e", "pe_0_3.w"))
    driver = configuration.driver.copy()
    driver[east, 0], driver[west, 0] = west, east
    damaged = replace(configuration, driver=driver)
    text = "combinational cycle: pe_0_3.w -> pe_0_2.e -> pe_0_3.w; put a register into it"
    with pytest.raises(SimulationError, match=text):
        compile_slots(damaged)
    verdict = simulate_configuration(damaged)
    assert not verdict
    assert text in (verdict.error or "")


# -- stimuli ----------------------------------------------------------------------------------------------------------


def gather(length: int) -> DfgBuilder:
    b = DfgBuilder("gather")
    b.array("A", length)
    b.output(b.load("A", b.input("x"), id="l"), "y")
    return b


def test_stream_that_indexes_an_array_stays_within_it():
    stimulus = stimulus_for(gather(5).build(), 64)
    assert stimulus.iterations == 64
    assert 0 <= stimulus.streams["x"].min() <= stimulus.streams["x"].max() < 5


def test_stream_that_indexes_nothing_stays_wild():
    b = gather(5)
    b.output(b.add("add", b.input("z"), b.const(1)), "w")
    assert abs(stimulus_for(b.build(), 64).streams["z"]).max() > 5


def test_contents_that_index_an_array_stay_within_it():
    b = DfgBuilder("indirect")
    b.array("A", 6)
    b.array("B", 3)
    b.output(b.load("B", b.load("A", b.input("x"))), "y")
    stimulus = stimulus_for(b.build(), 64)
    assert stimulus.iterations == 64
    assert stimulus.memory["A"].max() < 3


def test_counter_stops_at_the_end_of_its_array():
    b = DfgBuilder("walk")
    b.array("A", 10)
    b.add("add", id="i")
    b.edges.append(Edge(source="i", target="i", operand=0, distance=1, initial=(-1,)))
    b.edges.append(Edge(source=b.const(1), target="i", operand=1))
    b.output(b.load("A", "i"), "y")
    assert stimulus_for(b.build(), 64).iterations == 10


def test_live_in_that_is_never_zero_stays_in_its_range():
    b = gather(5)
    b.output(b.add("add", b.livein("back"), b.livein("byte")), "w")
    b.ranges |= {"back": (-(1 << 31), -6), "byte": (0, 255)}
    found = [stimulus_for(b.build(), 8, seed=seed).liveins for seed in range(40)]
    assert all(-(1 << 31) <= liveins["back"] <= -6 for liveins in found)
    assert any(liveins["back"] >= -80 for liveins in found)
    # What types say of the others does not tame them.
    assert any(liveins["byte"] > 255 for liveins in found)


def test_index_that_never_fits_is_an_error_that_says_so():
    b = DfgBuilder("outside")
    b.array("A", 4)
    b.output(b.load("A", b.const(4)), "y")
    with pytest.raises(SimulationError, match="graph 'outside': no stimulus keeps its first iteration inside"):
        stimulus_for(b.build(), 64)


def test_iterations_must_be_at_least_one():
    with pytest.raises(SimulationError, match="iterations: expected at least 1, found 0"):
        simulate(mesh_fifo_2(), iterations=0)


# -- every op ---------------------------------------------------------------------------------------------------------


def cross(domain: str, op: str, arity: int) -> Mapping:
    """One op in the middle of a mesh, its operands around it."""
    b = DfgBuilder("cross", domain)
    sources = [b.input(name) for name in "abc"[:arity]]
    b.output(b.add(op, *sources, id="q"), "y")
    around = {"a": "pe_0_1", "b": "pe_1_0", "c": "pe_1_2"}
    places = {name: (around[name], 0) for name in sources} | {"q": ("pe_1_1", 1), "y": ("pe_2_1", 2)}
    routes = {
        (name, "q", k): ([(f"{around[name]}.out", 1), (f"{around[name]}>pe_1_1", 1), (f"pe_1_1.in{k}", 1)], 0)
        for k, name in enumerate(sources)
    }
    routes["q", "y", 0] = ([("pe_1_1.out", 2), ("pe_1_1>pe_2_1", 2), ("pe_2_1.in0", 2)], 0)
    return make(b.build(), "mesh:3x3", 1, places, routes)


@pytest.mark.parametrize("domain", ["i32", "f32", "cma24"])
def test_every_op_computes_on_the_array_what_the_interpreter_says(domain: str):
    classes = ("alu", "mul", "div", "fp")
    ops = [(name, op.arity) for name, op in OP_TABLE[domain].items() if op.op_class in classes]
    assert len(ops) > 12
    wrong = [name for name, arity in ops if not simulate(cross(domain, name, arity), iterations=64)]
    assert wrong == []


def test_opaque_graph_is_compared_node_by_node():
    b = DfgBuilder("published", "opaque")
    b.add("load", b.input("x"), id="l")
    b.add("store", "l", id="s")
    places = {"x": ("pe_0_0", 0), "l": ("pe_0_1", 1), "s": ("pe_0_2", 2)}
    way = {
        ("x", "l", 0): ([("pe_0_0.out", 1), ("pe_0_0>pe_0_1", 1), ("pe_0_1.in0", 1)], 0),
        ("l", "s", 0): ([("pe_0_1.out", 2), ("pe_0_1>pe_0_2", 2), ("pe_0_2.in0", 2)], 0),
    }
    assert simulate(make(b.build(), "mesh:1x3", 1, places, way)).ok
    verdict = simulate(make(b.build(), "mesh:1x3", 1, {**places, "s": ("pe_0_2", 3)}, way))
    assert not verdict
    assert verdict.mismatches[0].what == "node s"
