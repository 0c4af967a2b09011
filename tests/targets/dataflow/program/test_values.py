"""Values of tensor operations: parameters as text, windows, and what is refused in words."""

from __future__ import annotations

import numpy as np
import pytest
from tests.targets.dataflow.tensor_values import node_value, run_values, windows

from gridloom.errors import DfgError
from gridloom.targets.dataflow.frontend.graph import TensorBuilder
from gridloom.targets.dataflow.program.model import TensorOperation
from gridloom.targets.dataflow.program.parameters import encode_parameters, parameters_of


def value(node: TensorOperation, *operands: object) -> np.ndarray:
    return node_value(node, [np.asarray(operand) for operand in operands], {}, {})


def test_parameters_come_back_as_they_were_written():
    how = encode_parameters(kernel=(3, 1), eps=1e-5, axis=-1)
    assert parameters_of(TensorOperation(id="a", op="norm", how=how)) == {"kernel": [3, 1], "eps": [1e-5], "axis": [-1]}


def test_parameters_of_another_form_are_refused():
    with pytest.raises(DfgError, match=r"node 'a': expected how='key=number,...;...', found 'axes'"):
        parameters_of(TensorOperation(id="a", op="norm", how="axes"))


def test_windows_of_a_row_with_padding_stride_and_dilation():
    x = np.arange(1.0, 6.0).reshape(1, 1, 5)
    p = {"kernel": [2], "stride": [2], "dilation": [2], "before": [1], "after": [0]}
    # Positions 0 and 2, 2 and 4, ... of 0 1 2 3 4 5.
    assert windows(x, p)[0, 0].tolist() == [[0, 2], [2, 4]]


def test_softmax_of_a_row_that_is_masked_out_is_zero():
    rows = np.array([[0.0, 0.0], [-np.inf, -np.inf]], dtype=np.float32)
    assert value(TensorOperation(id="s", op="softmax", how="axis=-1"), rows).tolist() == [[0.5, 0.5], [0.0, 0.0]]


def test_mean_of_a_window_counts_padding_only_where_it_is_asked_to():
    x = np.ones((1, 1, 2), dtype=np.float32)
    how = "kernel=2;stride=1;dilation=1;before=1;after=0;padded="
    assert value(TensorOperation(id="p", op="reduce", label="mean_pool", how=f"{how}0"), x).tolist() == [[[1.0, 1.0]]]
    assert value(TensorOperation(id="p", op="reduce", label="mean_pool", how=f"{how}1"), x).tolist() == [[[0.5, 1.0]]]


def test_operands_that_do_not_fit_are_an_error_that_names_the_node():
    with pytest.raises(DfgError, match="node 'm': gemm does not fit its operands"):
        value(TensorOperation(id="m", op="gemm"), np.zeros((2, 3)), np.zeros((2, 3)))


def test_operation_without_values_is_refused():
    with pytest.raises(DfgError, match="node 'g': elementwise 'relu_grad' has shapes but no values"):
        value(TensorOperation(id="g", op="elementwise", label="relu_grad"), 1.0)


def test_numbers_of_a_graph_are_in_single_precision():
    b = TensorBuilder("half")
    x = b.input("x", (1, 2))
    b.output(b.elementwise("mul", x, b.constant(0.1)), "out")
    found = run_values(b.build(), {"x": np.array([[1.0, 3.0]], dtype=np.float32)}, {})["out"]
    assert found.dtype == np.float32
    assert found.tolist() == (np.array([[1.0, 3.0]], dtype=np.float32) * np.float32(0.1)).tolist()
