"""The interpreter against plain Python loops."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.dfg.graphs import dfgs

from gridloom.dfg import Dfg, DfgBuilder, Edge, Node
from gridloom.dfg.interpreter import Stimulus, interpret, random_stimulus
from gridloom.errors import SimulationError

N = 20


def wrap(value: int) -> int:
    return (value + (1 << 31)) % (1 << 32) - (1 << 31)


def words(*values: int) -> np.ndarray:
    return np.array(values, dtype=np.int64)


def test_running_sum_of_products() -> None:
    b = DfgBuilder("mac")
    total = b.add("add", b.add("mul", b.input("x"), b.livein("k")), id="sum", liveout="total")
    b.carry(total, total, operand=1, initial=[5])
    b.output(total, "y")
    dfg = b.build()
    stimulus = random_stimulus(dfg, N, seed=3)
    expected, running = [], 5
    for x in stimulus.streams["x"].tolist():
        running = wrap(running + x * stimulus.liveins["k"])
        expected.append(running)
    found = interpret(dfg, stimulus)
    assert found.outputs["y"].tolist() == expected
    assert found.liveouts == {"total": expected[-1]}
    assert found.values[:, dfg.index["sum"]].tolist() == expected


def test_values_of_earlier_iterations_and_padded_initial_values() -> None:
    b = DfgBuilder("difference")
    b.input("x")
    b.add("sub", "x", id="d")
    b.edges.append(Edge(source="x", target="d", operand=1, distance=3, initial=(10, 20)))
    b.output("d", "y")
    found = interpret(b.build(), Stimulus(iterations=5, streams={"x": words(1, 2, 3, 4, 5)}))
    assert found.outputs["y"].tolist() == [1 - 10, 2 - 20, 3 - 0, 4 - 1, 5 - 2]


def test_loads_and_stores_happen_in_program_order() -> None:
    # for i: t[i + 1] = t[i] + 1 -- each iteration reads what the one before has written.
    b = DfgBuilder("chain")
    b.array("t", N + 1)
    one = b.const(1)
    b.add("add", id="i")
    b.carry("i", "i", operand=0, initial=[-1])
    b.edges.append(Edge(source=one, target="i", operand=1))
    b.store("t", b.add("add", "i", one), b.add("add", b.load("t", "i"), one))
    found = interpret(b.build(), Stimulus(iterations=N, memory={"t": words(7, *[0] * N)}))
    assert found.memory["t"].tolist() == list(range(7, 8 + N))


def test_stimulus_is_not_written_to() -> None:
    b = DfgBuilder("fill")
    b.array("t", 1)
    b.store("t", b.const(0), b.const(9))
    memory = {"t": words(4)}
    assert interpret(b.build(), Stimulus(iterations=1, memory=memory)).memory["t"].tolist() == [9]
    assert memory["t"].tolist() == [4]


def test_conditional_store_writes_where_its_condition_holds() -> None:
    b = DfgBuilder("marks")
    b.array("t", 8)
    b.add("store_if", b.input("k"), b.const(1), b.input("c"), array="t")
    streams = {"k": words(0, 3, 5), "c": words(1, 0, -2)}
    found = interpret(b.build(), Stimulus(iterations=3, streams=streams))
    assert found.memory["t"].tolist() == [1, 0, 0, 0, 0, 1, 0, 0]


def test_address_and_data_halves_make_one_access() -> None:
    nodes = (
        Node(id="k", op="input"),
        Node(id="la", op="load_address", array="t"),
        Node(id="ld", op="load_data", array="t"),
        Node(id="v", op="neg"),
        Node(id="sa", op="store_address", array="t"),
        Node(id="sd", op="store_data", array="t"),
    )
    edges = (
        Edge(source="k", target="la"),
        Edge(source="la", target="ld", kind="pair"),
        Edge(source="ld", target="v"),
        Edge(source="k", target="sa"),
        Edge(source="v", target="sd"),
        Edge(source="sa", target="sd", operand=1, kind="pair"),
    )
    b = DfgBuilder("negate")
    b.nodes, b.edges = list(nodes), list(edges)
    b.array("t", 4)
    found = interpret(b.build(), Stimulus(iterations=2, streams={"k": words(2, 0)}, memory={"t": words(5, 6, 7, 8)}))
    assert found.memory["t"].tolist() == [-5, 6, -7, 8]


@pytest.mark.parametrize("index", [-1, 4, 1 << 31])
def test_index_out_of_bounds_names_graph_iteration_node_and_length(index: int) -> None:
    b = DfgBuilder("reader")
    b.array("t", 4)
    b.load("t", b.input("k"), id="l")
    with pytest.raises(SimulationError) as error:
        interpret(b.build(), Stimulus(iterations=2, streams={"k": words(0, index)}))
    assert str(error.value) == f"graph 'reader': iteration 1: node 'l' indexes t[{index}]; it has 4 words"


def test_no_iteration_leaves_nothing_to_observe() -> None:
    b = DfgBuilder("g")
    b.output(b.add("neg", b.input("x"), liveout="last"), "y")
    found = interpret(b.build(), Stimulus(iterations=0, streams={"x": words()}))
    assert (found.outputs["y"].tolist(), found.liveouts) == ([], {})


@given(dfgs(), st.integers(0, 5), st.integers(0, 2**32))
def test_prefix_of_a_longer_run_is_the_shorter_run(dfg: Dfg, n: int, seed: int) -> None:
    long = random_stimulus(dfg, 6, seed)
    short = Stimulus(
        iterations=n,
        streams={name: stream[:n] for name, stream in long.streams.items()},
        liveins=long.liveins,
        memory=long.memory,
    )
    assert interpret(dfg, short).values.tolist() == interpret(dfg, long).values[:n].tolist()


def test_same_seed_gives_the_same_stimulus_within_the_domain() -> None:
    b = DfgBuilder("g", "cma24")
    b.array("t", 50)
    b.add("add", b.input("x"), b.livein("k"))
    dfg = b.build()
    one, two, other = (random_stimulus(dfg, 50, seed) for seed in (1, 1, 2))
    assert one.streams["x"].tolist() == two.streams["x"].tolist() != other.streams["x"].tolist()
    everything = [*one.streams["x"].tolist(), *one.memory["t"].tolist(), one.liveins["k"]]
    assert 0 <= min(everything) <= max(everything) < 1 << 24
    assert random_stimulus(dfg, 50, within={"x": 7}).streams["x"].max() == 6


def test_live_in_or_stream_that_the_stimulus_lacks_is_named():
    b = DfgBuilder("g")
    b.output(b.add("add", b.input("x"), b.livein("k")), "y")
    dfg = b.build()
    with pytest.raises(SimulationError) as caught:
        interpret(dfg, Stimulus(iterations=2, streams={"x": np.zeros(2, dtype=np.int64)}, liveins={}, memory={}))
    assert str(caught.value) == "graph 'g': the stimulus has no value for live-in 'k'"
    with pytest.raises(SimulationError) as caught:
        interpret(dfg, Stimulus(iterations=2, streams={"x": np.zeros(1, dtype=np.int64)}, liveins={"k": 1}, memory={}))
    assert str(caught.value) == "graph 'g': the stimulus has 1 of 2 values for input 'x'"
