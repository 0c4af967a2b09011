"""Graphs of Python kernels against the kernels themselves."""

from __future__ import annotations

from dataclasses import replace

import pytest

import gridloom as gl
from gridloom import Array, int16, int32, loop
from gridloom.compiler.loops.spec import Memory
from gridloom.flow.source.python_kernels import KernelReference


@gl.kernel
def fir(x: Array[int16, 128], c: Array[int16, 4], y: Array[int16, 128], n: int32) -> None:
    for i in loop(n):
        total = 0
        for k in range(4):
            total = total + c[k] * x[i + k]
        y[i] = total >> 3


@gl.kernel
def shifted(x: Array[int32, 256], first: int32, n: int32):
    last = gl.state(0)
    for i in loop(1, n):
        last.set(x[i + (first & 7)] * 3 + last)
    return last


@pytest.mark.parametrize("memory", ["arrays", "streams"])
@pytest.mark.parametrize("unroll", [1, 2])
@pytest.mark.parametrize("reduced", [True, False])
def test_the_graph_of_a_kernel_is_compared_with_it(memory: Memory, unroll: int, reduced: bool) -> None:
    graph = fir.graph(memory=memory, unroll=unroll, reduced=reduced)
    found = KernelReference(kernel=fir, memory=memory, copies=unroll).compare(graph, 0)
    assert found.findings == () and found.runs >= 2


def test_a_wrong_operation_is_found() -> None:
    graph = fir.graph()
    nodes = tuple(replace(node, op="sub", op_class=None) if node.op == "mul" else node for node in graph.nodes)
    wrong = replace(graph, nodes=nodes, _checked=False)
    (finding,) = KernelReference(kernel=fir, memory="arrays").compare(wrong, 0).findings
    assert finding.startswith("kernel fir, ") and "by the graph and" in finding


def test_a_mapped_kernel_says_that_it_computes_what_the_source_computes() -> None:
    result = gl.map(fir, "torus:4x4", seed=1, effort=5000)
    assert (result.status, result.verified.compared_with) == ("mapped", "source")


def test_a_kernel_that_takes_no_random_data_says_why() -> None:
    @gl.kernel
    def table(x: Array[int32, 4], y: Array[int32, 4]) -> None:
        for i in loop(0):
            y[i] = x[i] + 1

    found = KernelReference(kernel=table, memory="arrays").compare(table.graph(), 0)
    assert (found.runs, found.reason) == (0, "no random arguments led into the loop")
