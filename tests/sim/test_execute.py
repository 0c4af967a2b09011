"""Values of small hand-made mappings, worked out by hand: what each part of an array does, cycle by cycle."""

from __future__ import annotations

import numpy as np
import pytest
from tests.hand_mappings import make, mesh_fifo_2, mesh_unbalanced, torus_register_transfer, torus_rotating, torus_spill

from gridloom.dfg import DfgBuilder, Edge
from gridloom.dfg.interpreter import Stimulus
from gridloom.dfg.model import Dfg
from gridloom.errors import SimulationError
from gridloom.mapping import Instance, Mapping, Route, configure
from gridloom.sim import run, simulate
from gridloom.sim.execute import execute
from gridloom.sim.kernel import POISON
from gridloom.sim.slot_code import compile_slots


def words(*values: int) -> np.ndarray:
    return np.array(values, dtype=np.int64)


def counter(b: DfgBuilder, name: str = "i") -> str:
    """0, 1, 2, ...: an add that reads itself."""
    b.add("add", id=name)
    b.edges.append(Edge(source=name, target=name, operand=0, distance=1, initial=(-1,)))
    b.edges.append(Edge(source=b.const(1), target=name, operand=1))
    return name


def test_mesh_fifo_makes_up_for_two_cycles():
    # y = (a + 1) + 3 a
    seen = run(configure(mesh_fifo_2()), Stimulus(iterations=3, streams={"a": words(5, -2, 10)}))
    assert seen.outputs["y"].tolist() == [21, -7, 41]


def test_mesh_without_the_fifo_adds_values_of_different_iterations():
    # b's result is at d two cycles early: d of iteration k adds c(k) to b(k + 2).
    seen = run(configure(mesh_unbalanced()), Stimulus(iterations=5, streams={"a": words(1, 10, 100, 1000, 5)}))
    assert seen.outputs["y"][:3].tolist() == [101 + 3, 1001 + 30, 6 + 300]


def test_rotating_registers_keep_a_value_longer_than_ii():
    # a0 = 10 + 1, b0 = 33, a1 = 20 + 1, b1 = 63, a2 = b0 + 1 = 34, b2 = 102, a3 = b1 + 1 = 64, b3 = 192.
    # d = b ^ (a + 7): 33 ^ 18, 63 ^ 28, 102 ^ 41, 192 ^ 71.
    mapping = torus_rotating()
    seen = run(configure(mapping), Stimulus(iterations=4))
    assert seen.values[:, mapping.dfg.index["d"]].tolist() == [33 ^ 18, 63 ^ 28, 102 ^ 41, 192 ^ 71]
    assert seen.liveouts == {"d": 192 ^ 71}


def test_value_moves_from_one_register_file_to_another():
    # a = 4, e = ((12 - 7) + 11) ^ 5 = 21; a = 6, e = (18 - 7 + 11) ^ 5 = 19; a = 22, e = (66 - 7 + 11) ^ 5 = 67.
    mapping = torus_register_transfer()
    seen = run(configure(mapping), Stimulus(iterations=3))
    assert seen.values[:, mapping.dfg.index["a"]].tolist() == [4, 6, 22]
    assert seen.values[:, mapping.dfg.index["e"]].tolist() == [21, 19, 67]


def test_spilled_value_comes_back_three_iterations_later():
    memory = {"X": np.arange(80, dtype=np.int64) * 2, "Y": np.zeros(80, dtype=np.int64)}
    seen = run(configure(torus_spill()), Stimulus(iterations=6, memory=memory))
    # X[k] = 2 k; s = X[k] + (100, 200, 300, X[0], X[1], X[2]).
    assert seen.memory["Y"][:7].tolist() == [100, 202, 304, 6, 10, 14, 0]


def register_mapping(hold: str) -> Mapping:
    """p = i + 1 is read by q one cycle after it appeared: by then only a register that holds still has it."""
    b = DfgBuilder("late_read")
    b.add("add", counter(b), b.const(1), id="p")
    b.add("mul", "p", b.const(3), id="q", liveout="q")
    # i on PE 0 at 0, p on PE 1 at 1, q on PE 0 at 3: p is in PE 1's output register at 2, and has to be there at 3.
    return make(
        b.build(),
        f"torus:1x2,regs=0,hold={hold}",
        4,
        {"i": ("pe_0_0", 0), "p": ("pe_0_1", 1), "q": ("pe_0_0", 3)},
        {
            ("i", "p", 0): ([("pe_0_0.out", 1), ("pe_0_0>pe_0_1", 1), ("pe_0_1.in0", 1)], 0),
            ("p", "q", 0): ([("pe_0_1.out", 2), ("pe_0_1.out", 3), ("pe_0_1>pe_0_0", 3), ("pe_0_0.in0", 3)], 0),
            # q overwrites PE 0's output register only at 4: i would be gone then, so PE 1 hands it back at 2.
            ("i", "i", 0): (
                [("pe_0_0.out", 1), ("pe_0_0.out", 2), ("pe_0_0.in0", 2), ("pe_0_0.fu", 2), ("pe_0_0.out", 3),
                 ("pe_0_0>pe_0_1", 3), ("pe_0_1.in0", 3), ("pe_0_1.fu", 3), ("pe_0_1.out", 4), ("pe_0_1>pe_0_0", 4),
                 ("pe_0_0.in0", 4)],
                0,
            ),
        },
    )  # fmt: skip


def test_output_register_holds_until_it_is_written():
    assert simulate(register_mapping("until-write")).ok


def test_output_register_that_holds_one_cycle_has_nothing_left_after_it():
    mapping = register_mapping("next")
    assert not simulate(mapping).ok
    seen = run(configure(mapping), Stimulus(iterations=1))
    # The late read is of an undriven register: its pattern goes through the multiplier.
    assert seen.values[0, mapping.dfg.index["p"]] == 1
    assert seen.values[0, mapping.dfg.index["q"]] != 3


def test_central_register_file_joins_any_two_tiles():
    # i on PE (0,0) at 0 writes r3 of the central file at 1; PE (1,1), not a neighbour, reads it at 2. i reads it at 3.
    b = DfgBuilder("central")
    b.add("mul", counter(b), b.const(5), id="q", liveout="q")
    mapping = make(
        b.build(),
        "torus:3x3,regs=4,file=central",
        3,
        {"i": ("pe_0_0", 0), "q": ("pe_1_1", 2)},
        {
            ("i", "i", 0): ([("pe_0_0.out", 1), ("pe_0_0.out", 2), ("pe_0_0.out", 3), ("pe_0_0.in0", 3)], 0),
            ("i", "q", 0): ([("rf.r3", 1), ("rf.r3", 2), ("pe_1_1.in0", 2)], 0),
        },
    )
    seen = run(configure(mapping), Stimulus(iterations=4))
    assert seen.values[:, mapping.dfg.index["q"]].tolist() == [0, 5, 10, 15]
    assert simulate(mapping).ok


def livein_graph() -> Dfg:
    b = DfgBuilder("scaled")
    b.add("mul", counter(b), b.livein("k"), id="q", liveout="q")
    return b.build()


@pytest.mark.parametrize(
    ("place", "way"),
    [
        ("pe_0_1.r1", [("pe_0_1.r1", 2), ("pe_0_1.in1", 2)]),
        ("mem", [("mem", 1), ("pe_0_1.load", 1), ("pe_0_1.out", 2), ("pe_0_1.in1", 2)]),
    ],
    ids=["register", "memory"],
)
def test_livein_waits_in_a_register_or_in_memory(place: str, way: list[tuple[str, int]]):
    mapping = make(
        livein_graph(),
        "torus:1x2,regs=2",
        2,
        {"i": ("pe_0_0", 0), "k": (place, 0), "q": ("pe_0_1", 2)},
        {
            ("i", "i", 0): ([("pe_0_0.out", 1), ("pe_0_0.out", 2), ("pe_0_0.in0", 2)], 0),
            ("i", "q", 0): ([("pe_0_0.out", 1), ("pe_0_0.out", 2), ("pe_0_0>pe_0_1", 2), ("pe_0_1.in0", 2)], 0),
            ("k", "q", 1): (way, 0),
        },
    )
    seen = run(configure(mapping), Stimulus(iterations=4, liveins={"k": 7}))
    assert seen.liveouts == {"q": 21}
    assert simulate(mapping).ok


# -- memory -----------------------------------------------------------------------------------------------------------


def load_before_store(load_cycle: int) -> Mapping:
    """In each iteration A[0] is read, then overwritten with x: y is x of the iteration before."""
    b = DfgBuilder("exchange")
    b.array("A", 1)
    b.input("x")
    b.load("A", b.const(0), id="l")
    b.store("A", b.const(0), "x", id="w")
    b.order("l", "w", delay=0)
    b.output("l", "y")
    at = load_cycle + 1
    return make(
        b.build(),
        "mesh:2x2",
        1,
        {"x": ("pe_0_0", 0), "w": ("pe_0_1", 1), "l": ("pe_1_1", load_cycle), "y": ("pe_1_0", at)},
        {
            ("x", "w", 1): ([("pe_0_0.out", 1), ("pe_0_0>pe_0_1", 1), ("pe_0_1.in1", 1)], 0),
            ("l", "y", 0): ([("pe_1_1.out", at), ("pe_1_1>pe_1_0", at), ("pe_1_0.in0", at)], 0),
        },
    )


def test_load_sees_memory_before_the_stores_of_its_cycle():
    mapping = load_before_store(load_cycle=1)
    seen = run(configure(mapping), Stimulus(iterations=3, streams={"x": words(4, 5, 6)}, memory={"A": words(9)}))
    assert seen.outputs["y"].tolist() == [9, 4, 5]
    assert seen.memory["A"].tolist() == [6]
    assert simulate(mapping).ok


def test_load_a_cycle_later_sees_the_store():
    mapping = load_before_store(load_cycle=2)
    seen = run(configure(mapping), Stimulus(iterations=3, streams={"x": words(4, 5, 6)}, memory={"A": words(9)}))
    assert seen.outputs["y"].tolist() == [4, 5, 6]
    assert not simulate(mapping).ok


def on_one_row(dfg: Dfg, places: dict[str, int], cycles: dict[str, int], links: list[tuple[str, str, int]]) -> Mapping:
    """A mapping on a row of a mesh; each value goes straight to its consumer and waits there."""
    width = max(places.values()) + 1
    routes = {}
    for source, target, operand in links:
        a, b = places[source], places[target]
        step = 1 if b > a else -1
        cycle = cycles[source] + 1
        hops = [(f"pe_0_{a}.out", cycle)]
        for k, at in enumerate(range(a, b, step)):
            hops.append((f"pe_0_{at}>pe_0_{at + step}", cycle + k))
        arrival = cycle + max(abs(b - a) - 1, 0)
        hops.append((f"pe_0_{b}.in{operand}", arrival))
        distance = next(
            e.distance
            for e in dfg.edges
            if (e.source, e.target, e.operand, e.kind) == (source, target, operand, "data")
        )
        routes[source, target, operand] = (hops, cycles[target] + distance - arrival)
    return make(dfg, f"mesh:1x{width}", 1, {n: (f"pe_0_{c}", cycles[n]) for n, c in places.items()}, routes)


def test_conditional_store_leaves_memory_alone_when_its_condition_is_0():
    b = DfgBuilder("conditional")
    b.array("A", 4)
    b.add("store_if", b.const(2), b.input("x"), b.input("p"), id="w", array="A")
    mapping = on_one_row(b.build(), {"x": 0, "w": 1, "p": 2}, {"x": 0, "p": 0, "w": 1}, [("x", "w", 1), ("p", "w", 2)])
    stimulus = Stimulus(
        iterations=3, streams={"x": words(7, 8, 9), "p": words(1, 1, 0)}, memory={"A": words(0, 0, 0, 0)}
    )
    assert run(configure(mapping), stimulus).memory["A"].tolist() == [0, 0, 8, 0]
    assert simulate(mapping).ok


def paired_graph() -> Dfg:
    """y = A[i] through an address and a data half; B[i] = 2 x through the same."""
    b = DfgBuilder("halves")
    b.array("A", 80)
    b.array("B", 80)
    b.input("x")
    counter(b)
    b.add("load_address", "i", id="la")
    b.add("load_data", id="ld", array="A")
    b.edges.append(Edge(source="la", target="ld", kind="pair", delay=1))
    b.add("store_address", "i", id="sa")
    b.add("add", "x", "x", id="v")
    b.add("store_data", "v", id="sd", array="B")
    b.edges.append(Edge(source="sa", target="sd", operand=1, kind="pair", delay=0))
    b.output("ld", "y")
    return b.build()


def test_address_and_data_halves_meet():
    # la at 1 and ld at 2: delay 1. x at 0, v at 2, sd at 3; sa at 3: delay 0.
    mapping = on_one_row(
        paired_graph(),
        {"y": 0, "ld": 1, "la": 2, "i": 3, "sa": 4, "x": 7, "v": 6, "sd": 5},
        {"i": 0, "la": 1, "ld": 2, "y": 3, "sa": 3, "x": 0, "v": 2, "sd": 3},
        [("i", "i", 0), ("i", "la", 0), ("i", "sa", 0), ("ld", "y", 0), ("x", "v", 0), ("x", "v", 1), ("v", "sd", 0)],
    )
    memory = {"A": np.arange(80, dtype=np.int64) + 50, "B": np.zeros(80, dtype=np.int64)}
    seen = run(configure(mapping), Stimulus(iterations=3, streams={"x": words(1, 2, 3)}, memory=memory))
    assert seen.outputs["y"].tolist() == [50, 51, 52]
    assert seen.memory["B"][:4].tolist() == [2, 4, 6, 0]
    assert simulate(mapping).ok


def test_access_out_of_bounds_is_recorded_not_raised():
    b = DfgBuilder("gather")
    b.array("A", 4)
    b.output(b.load("A", b.input("x"), id="l"), "y")
    mapping = on_one_row(b.build(), {"x": 0, "l": 1, "y": 2}, {"x": 0, "l": 1, "y": 2}, [("x", "l", 0), ("l", "y", 0)])
    program = compile_slots(configure(mapping))
    ran = execute(program, Stimulus(iterations=3, streams={"x": words(3, 9, -1)}, memory={"A": words(5, 6, 7, 8)}))
    assert ran.trap is not None
    assert str(ran.trap) == "node 'l' accesses word 9 of 4 in firing 1"
    assert ran.trap.count == 2
    assert ran.observation.outputs["y"][0] == 8
    assert ran.observation.outputs["y"][1] & POISON == POISON


# -- recomputation, unlimited wires, asynchronous flows ---------------------------------------------------------------


def test_each_edge_reads_the_copy_it_names():
    # p = x + 1 is computed twice: at pe_0_0 for q0, at pe_0_2 for q1.
    b = DfgBuilder("twice")
    b.add("add", b.input("x"), b.const(1), id="p")
    b.output("p", "q0")
    b.output("p", "q1")
    dfg = b.build()
    number = {(e.source, e.target): k for k, e in enumerate(dfg.edges)}
    places = {"x": ("pe_0_1", 0), "q0": ("pe_1_0", 2), "q1": ("pe_1_2", 2)}
    base = make(dfg, "mesh:2x3", 1, places, {})
    routes = [
        Route(edge=number["x", "p"], hops=(("pe_0_1.out", 1), ("pe_0_1>pe_0_0", 1), ("pe_0_0.in0", 1))),
        Route(edge=number["x", "p"], hops=(("pe_0_1.out", 1), ("pe_0_1>pe_0_2", 1), ("pe_0_2.in0", 1)), copy=1),
        Route(edge=number["p", "q0"], hops=(("pe_0_0.out", 2), ("pe_0_0>pe_1_0", 2), ("pe_1_0.in0", 2))),
        Route(edge=number["p", "q1"], hops=(("pe_0_2.out", 2), ("pe_0_2>pe_1_2", 2), ("pe_1_2.in0", 2)), source_copy=1),
    ]
    copies = (Instance(node="p", place="pe_0_0", cycle=1), Instance(node="p", place="pe_0_2", cycle=1, copy=1))
    mapping = Mapping(dfg=dfg, arch=base.arch, ii=1, instances=base.instances + copies, routes=tuple(routes))
    assert simulate(mapping).ok


def test_operand_input_without_a_limit_takes_two_values_in_one_slot():
    # p on tile 1 and q on tile 3 both reach operand 0 of tile 2 at 0 + 3 + 1 = 4; r takes p at 4, s takes q at 5.
    b = DfgBuilder("lanes")
    b.add("add", b.input("x"), b.const(1), id="p")
    b.add("sub", b.input("z"), b.const(1), id="q")
    b.output(b.add("mul", "p", b.const(3), id="r"), "y0")
    b.output(b.add("mul", "q", b.const(5), id="s"), "y1")
    mapping = make(
        b.build(),
        "streaming-engine:4",
        2,
        {"p": ("t_1", 0), "q": ("t_3", 0), "r": ("t_2", 4), "s": ("t_2", 5)},
        {
            ("p", "r", 0): ([("t_1.out", 3), ("t_1>t_2", 3), ("t_2.in0", 4)], 0),
            ("q", "s", 0): ([("t_3.out", 3), ("t_3>t_2", 3), ("t_2.in0", 4)], 1),
        },
    )
    seen = run(configure(mapping), Stimulus(iterations=2, streams={"x": words(1, 2), "z": words(10, 20)}))
    assert seen.outputs["y0"].tolist() == [6, 9]
    assert seen.outputs["y1"].tolist() == [45, 95]
    assert simulate(mapping).ok


def asynchronous(distance_back: int) -> Mapping:
    """u sends to v without a clock in common; v may answer ``distance_back`` iterations later."""
    b = DfgBuilder("messages")
    b.add("add", b.input("x"), id="u")
    b.add("mul", id="v")
    b.edges.append(Edge(source="u", target="v", kind="async"))
    b.edges.append(Edge(source=b.const(3), target="v", operand=1))
    initial = tuple(range(1, distance_back + 1))
    b.edges.append(Edge(source="v", target="u", operand=1, kind="async", distance=distance_back, initial=initial))
    b.output("v", "y")
    return make(b.build(), "streaming-engine:8", 2, {"u": ("t_0", 0), "v": ("t_7", 0)}, {})


@pytest.mark.parametrize("seed", range(4))
def test_asynchronous_operands_are_there_whenever_their_flow_starts(seed: int):
    # Each way takes 3 cycles: 2 rounds of II 2. A distance of 4 covers both ways.
    mapping = asynchronous(distance_back=4)
    seen = run(configure(mapping), Stimulus(iterations=6, streams={"x": words(10, 20, 30, 40, 50, 60)}), seed=seed)
    # y = 3 (x + back), back = 1, 2, 3, 4, then y0 = 33, y1 = 66.
    assert seen.outputs["y"].tolist() == [33, 66, 99, 132, 3 * (50 + 33), 3 * (60 + 66)]
    assert simulate(mapping, seed=seed).ok


def test_asynchronous_edges_that_wait_for_each_other_are_refused():
    with pytest.raises(SimulationError, match="asynchronous edges wait for each other: u -> v, v -> u"):
        run(configure(asynchronous(distance_back=3)), Stimulus(iterations=2, streams={"x": words(1, 2)}))


def test_one_way_flow_starts_later_with_some_seeds():
    b = DfgBuilder("one_way")
    b.add("add", b.input("x"), b.const(1), id="u")
    b.add("mul", id="v")
    b.edges.append(Edge(source="u", target="v", kind="async"))
    b.edges.append(Edge(source=b.const(3), target="v", operand=1))
    b.output("v", "y")
    configuration = configure(make(b.build(), "streaming-engine:8", 1, {"u": ("t_0", 0), "v": ("t_7", 0)}, {}))
    stages = {compile_slots(configuration, seed=seed).stages for seed in range(12)}
    # u's result is there 3 cycles after its issue: v starts in stage 3 or up to three rounds later.
    assert stages == {(0, 3), (0, 4), (0, 5), (0, 6)}


def test_elastic_array_has_no_cycles_to_run():
    from tests.hand_mappings import rdu_two_stages

    with pytest.raises(SimulationError, match="is elastic"):
        run(configure(rdu_two_stages()), Stimulus(iterations=1))
