"""Product arrays as chains of multiply-adds: the same values, fewer nodes, and every other graph as it was."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.search.conftest import random_dag

from gridloom.archs.spec import build
from gridloom.compiler.kernels.base import from_spec
from gridloom.dfg.interpreter import interpret, random_stimulus
from gridloom.dfg.model import Dfg, DfgBuilder
from gridloom.errors import DfgError
from gridloom.flow.inputs import prepare
from gridloom.targets.grid.systolic import check_equal, fit, make_systolic


def kernel(text: str) -> Dfg:
    found, parameters = from_spec(text)
    return found.build(**parameters)


def layer(inputs: int, outputs: int, seed: int, *, domain: str = "i32", kept: bool = False) -> Dfg:
    """A fully connected layer with random weights, sums of random shape and a bias for every second output."""
    rng = np.random.default_rng(seed)
    b = DfgBuilder("layer", domain)
    values = [b.input(f"x{k}") for k in range(inputs)]
    for row in range(outputs):
        terms = [b.add("mul", value, b.const(int(rng.integers(-9, 9)))) for value in values]
        if kept:
            b.output(terms[0], f"kept{row}")
        terms += [b.const(int(rng.integers(99)))] * (row % 2)
        while len(terms) > 1:
            left, right = terms.pop(int(rng.integers(len(terms)))), terms.pop(int(rng.integers(len(terms))))
            terms.append(b.add("add", left, right))
        b.output(terms[0], f"y{row}")
    return b.build()


def same(source: Dfg, made: Dfg) -> None:
    stimulus = random_stimulus(source, 6, seed=5)
    expected, found = interpret(source, stimulus), interpret(made, stimulus)
    assert expected.outputs.keys() == found.outputs.keys()
    assert all((expected.outputs[name] == found.outputs[name]).all() for name in expected.outputs)


@pytest.mark.parametrize(
    ("text", "nodes"), [("matmul,n=4", 112), ("matmul_add,n=4", 128), ("matmul_add,n=6", 360), ("matmul_add,n=8", 768)]
)
def test_products_of_matrices_become_chains(text, nodes):
    source = kernel(text)
    made = make_systolic(source)
    assert len(made.nodes) == nodes
    same(source, made)


@settings(max_examples=20)
@given(st.integers(4, 12), st.integers(4, 9), st.integers(0, 1000))
def test_layers_compute_the_same(inputs, outputs, seed):
    source = layer(inputs, outputs, seed)
    made = make_systolic(source)
    assert sum(node.op == "mul_add" for node in made.nodes) in (0, inputs * outputs - (outputs + 1) // 2)
    same(source, made)


@pytest.mark.parametrize("text", ["convolution,k=5", "fir", "kmeans", "neosa-matmul66", "neosa-matmul22normal"])
def test_graphs_whose_factors_are_not_shared_stay_as_they_are(text):
    source = kernel(text)
    assert make_systolic(source) is source


@settings(max_examples=10)
@given(st.integers(5, 60), st.integers(0, 1000))
def test_random_graphs_stay_right(nodes, seed):
    source = random_dag(nodes, seed)
    same(source, make_systolic(source))


def test_products_that_something_else_reads_are_not_fused():
    source = layer(6, 8, 1, kept=True)
    made = make_systolic(source)
    assert sum(node.op == "mul" for node in made.nodes) >= 8
    same(source, made)


def test_floating_point_sums_keep_their_order():
    source = layer(8, 8, 1, domain="f32")
    assert fit(source, build("mesh:9x9")) is source


def test_arrays_without_room_for_three_operands_get_the_graph_as_it_is():
    source = kernel("matmul_add,n=4")
    assert fit(source, build("mesh:14x14,operands=2")) is source
    assert fit(source, build("mesh:14x14")) is not source


def test_graphs_that_leave_tiles_free_keep_their_trees():
    source = kernel("matmul_add,n=4")
    assert fit(source, build("mesh:14x16")) is not source
    assert fit(source, build("mesh:16x16")) is source
    assert prepare("kernel:matmul_add,n=4", "mesh:12x12").dfg == make_systolic(source)


def test_a_graph_that_computes_something_else_is_refused():
    other = layer(8, 8, 2)
    with pytest.raises(DfgError, match=r"'y0' differs after a rewriting \(an error in gridloom; please report it\)"):
        check_equal(layer(8, 8, 1), other)
