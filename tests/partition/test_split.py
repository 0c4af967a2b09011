"""Cutting graphs: the parts together compute the graph, ports are counted, impossible cuts are refused."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gridloom.compiler.source import load_source
from gridloom.dfg.interpreter import interpret, random_stimulus
from gridloom.dfg.model import Dfg, DfgBuilder
from gridloom.errors import DfgError
from gridloom.partition import BisectionConfig, bisect, run_parts, split
from gridloom.partition.split import is_op

KERNELS = ["cma_aes", "cma_radix4_fft", "cma_rgb_to_ycc", "cma_dct8", "cma_md5", "fir", "iir"]


def same_results(dfg: Dfg, assignment: dict[str, int]) -> None:
    stimulus = random_stimulus(dfg, 12, seed=4)
    whole = interpret(dfg, stimulus)
    outputs = run_parts(split(dfg, assignment), stimulus)
    for name, words in whole.outputs.items():
        assert np.array_equal(outputs[name], words), name


def chain() -> Dfg:
    b = DfgBuilder("chain", "cma24")
    x, y = b.input("x"), b.input("y")
    first = b.add("add", x, b.const(3), id="first")
    second = b.add("xor", first, y, id="second")
    third = b.add("sub", second, first, id="third")
    fourth = b.add("add", third, x, id="fourth")
    b.output(fourth, "out")
    b.output(second, "early")
    return b.build()


@pytest.mark.parametrize("kernel", KERNELS)
def test_two_parts_in_order_compute_the_kernel(kernel: str) -> None:
    dfg = load_source(f"kernel:{kernel}")
    same_results(dfg, dict(bisect(dfg, BisectionConfig(seeds=4)).assignment))


@given(seed=st.integers(0, 1000), parts=st.integers(1, 5), domain=st.sampled_from(["i32", "cma24", "opaque"]))
def test_any_cut_along_a_topological_order_computes_the_graph(seed: int, parts: int, domain: str) -> None:
    rng = np.random.default_rng(seed)
    b = DfgBuilder("random", domain)
    made = [b.input("x"), b.input("y"), b.const(7)]
    for k in range(12):
        made.append(b.add("xor" if k % 3 else "add", made[int(rng.integers(len(made)))], made[-1]))
    b.carry(made[-2], b.add("add", made[-1], id="late"), operand=1, distance=2, initial=[5, 6])
    b.output("late", "z")
    b.output(made[6], "w")
    dfg = b.build()
    order = [dfg.nodes[k].id for k in dfg.topological if is_op(dfg, k)]
    same_results(dfg, {name: k * parts // len(order) for k, name in enumerate(order)})


def test_what_crosses_is_stored_once_and_loaded_where_it_is_read() -> None:
    parts = split(chain(), {"first": 0, "second": 0, "third": 1, "fourth": 1})
    assert [sorted(part.loads) for part in parts] == [["x", "y"], ["first", "second", "x"]]
    # `second` is an output of the graph already; only `first` needs a store of its own.
    assert [sorted(part.stores) for part in parts] == [["early", "first.store"], ["out"]]
    assert [part.ops for part in parts] == [2, 2]
    assert [part.constants for part in parts] == [1, 0]


def test_one_part_is_the_graph_itself() -> None:
    dfg = chain()
    (part,) = split(dfg, dict.fromkeys(["first", "second", "third", "fourth"], 7))
    assert (part.dfg.nodes, part.dfg.edges, part.dfg.name) == (dfg.nodes, dfg.edges, dfg.name)


def test_cutting_a_part_again_still_computes_the_graph() -> None:
    dfg = load_source("kernel:cma_md5")
    halves = split(dfg, bisect(dfg, BisectionConfig(seeds=2)).assignment)
    quarters = [p for half in halves for p in split(half.dfg, bisect(half.dfg, BisectionConfig(seeds=2)).assignment)]
    stimulus = random_stimulus(dfg, 6, seed=1)
    values = dict(stimulus.streams)
    for part in quarters:
        seen = interpret(part.dfg, type(stimulus)(iterations=6, streams={n: values[n] for n in part.loads}))
        for node in part.dfg.nodes:
            if node.op == "output":
                values[node.variable or node.id] = seen.outputs[node.id]
    whole = interpret(dfg, stimulus)
    for node in dfg.nodes:
        if node.op == "output":
            assert np.array_equal(values[node.variable or node.id], whole.outputs[node.id])


@pytest.mark.parametrize(
    ("assignment", "text"),
    [
        ({"first": 0, "second": 0, "third": 0}, "graph 'chain': op 'fourth' has no part; every op needs one"),
        (
            {"first": 1, "second": 0, "third": 1, "fourth": 1},
            "graph 'chain': 'first' in part 1 is read by 'second' in part 0, before it",
        ),
        (
            {"first": 0, "second": 0, "third": 0, "fourth": 0, "fifth": 1},
            "graph 'chain': a part is given to 'fifth', which is no node",
        ),
    ],
)
def test_cuts_that_make_no_sense_are_refused(assignment: dict[str, int], text: str) -> None:
    with pytest.raises(DfgError) as caught:
        split(chain(), assignment)
    assert str(caught.value) == text


def test_a_memory_that_is_written_stays_in_one_part() -> None:
    b = DfgBuilder("memory", "i32")
    b.array("a", 16)
    loaded = b.load("a", b.const(1), id="load")
    b.store("a", b.const(2), b.add("add", loaded, b.input("x"), id="sum"), id="store")
    dfg = b.build()
    with pytest.raises(DfgError, match="array 'a' is written and used in more than one part"):
        split(dfg, {"load": 0, "sum": 0, "store": 1})
