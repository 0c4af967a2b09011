"""Streams turned into loads and stores give the same values, in memory."""

from __future__ import annotations

import numpy as np
import pytest

from gridloom import registry
from gridloom.archs import build
from gridloom.dfg import DfgBuilder
from gridloom.dfg.interpreter import Stimulus, interpret
from gridloom.transform.streams import needs_memory, streams_to_memory


@pytest.mark.parametrize("name", ["vector_add", "fir", "iir", "kmeans", "sobel", "cma_aes", "cma_md5"])
def test_memory_holds_what_the_streams_were(name: str) -> None:
    kernel = registry.load("kernels", name)
    dfg = kernel.build()
    stimulus = kernel.stimulus(50, 3)
    expected = interpret(dfg, stimulus)
    turned = streams_to_memory(dfg, length=60)
    arrays = {node.id: node.array for node in turned.nodes if node.op in ("load", "store")}
    memory = {a.name: np.zeros(a.length, dtype=np.int64) for a in turned.arrays}
    memory.update({k: v.copy() for k, v in stimulus.memory.items()})
    for node, words in stimulus.streams.items():
        memory[arrays[node]][:50] = words
    found = interpret(turned, Stimulus(iterations=50, liveins=stimulus.liveins, memory=memory))
    assert expected.outputs
    for node, words in expected.outputs.items():
        assert found.memory[arrays[node]][:50].tolist() == words.tolist()
    assert found.liveouts == expected.liveouts


def test_graph_without_streams_stays_as_it_is() -> None:
    b = DfgBuilder("g")
    b.add("add", b.const(1), b.const(2), id="s", liveout="s")
    dfg = b.build()
    assert streams_to_memory(dfg) is dfg


def test_names_of_the_graph_are_not_taken_twice() -> None:
    b = DfgBuilder("g")
    b.array("x_stream", 4)
    b.output(b.add("add", b.input("x"), b.livein("iteration"), id="one"), "y")
    turned = streams_to_memory(b.build())
    assert {node.id for node in turned.nodes} >= {"iteration", "one", "iteration1", "one1"}
    assert [array.name for array in turned.arrays] == ["x_stream", "x_stream1", "y_stream"]


@pytest.mark.parametrize(
    ("arch", "expected"),
    [("torus:2x2", True), ("torus:2x2,memory=none", False), ("mesh:2x2", False), ("streaming-engine", False)],
)
def test_only_arrays_with_memory_and_without_ports_ask_for_it(arch: str, expected: bool) -> None:
    b = DfgBuilder("g")
    b.output(b.input("x"), "y")
    assert needs_memory(b.build(), build(arch)) is expected
