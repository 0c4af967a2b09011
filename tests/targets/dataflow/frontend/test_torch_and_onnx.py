"""PyTorch modules and ONNX files: the operations that the built-in networks have, and limits that are named."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from gridloom import registry
from gridloom.archs import build
from gridloom.compiler.source import load_source
from gridloom.dfg.model import Dfg
from gridloom.errors import SourceError
from gridloom.targets.dataflow.lowering.lower import lower
from gridloom.targets.dataflow.program.costs import flops, total_flops

torch = pytest.importorskip("torch")

MODEL = """
import torch
from torch import nn


def build(hidden=128):
    return nn.Sequential(nn.Linear(64, hidden), nn.ReLU(), nn.Linear(hidden, 64)), (torch.zeros(32, 64),)


def bare():
    return nn.Linear(64, 64)


def encoder():
    return nn.TransformerEncoderLayer(64, 4, 128, batch_first=True), (torch.zeros(1, 32, 64),)


class Sorted(nn.Module):
    def forward(self, x):
        return x.sort()[0]


def sorting():
    return Sorted(), (torch.zeros(1, 8),)


def needs(width):
    return nn.Linear(width, width), (torch.zeros(1, width),)
"""


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("module") / "model.py"
    path.write_text(MODEL, encoding="utf-8")
    return path


def products(dfg: Dfg) -> list[int]:
    return sorted(flops(dfg, node) for node in dfg.nodes if node.op == "gemm")


def test_module_has_the_operations_of_the_network_it_is(model: Path):
    dfg = load_source(f"{model}:build")
    same = registry.load("networks", "mlp").build(rows=32, width=64, hidden=128, layers=2)
    assert total_flops(dfg) == total_flops(same)
    assert dfg.name == "model.build"


def test_parameters_go_to_the_function(model: Path):
    assert products(load_source(f"{model}:build,hidden=256")) == [2 * 32 * 64 * 256] * 2


def test_module_without_inputs_takes_rows_and_width(model: Path):
    assert products(load_source(f"{model}:bare,rows=16,width=64")) == [2 * 16 * 64 * 64]
    with pytest.raises(SourceError, match="returns a module without example inputs"):
        load_source(f"{model}:bare")


def test_transformer_layer_of_torch_has_the_products_of_a_block(model: Path):
    dfg = load_source(f"{model}:encoder")
    same = registry.load("networks", "encoder").build(rows=32, width=64, heads=4, hidden=128)
    assert sum(products(dfg)) == sum(products(same))
    assert sum(section.flops for section in lower(dfg, build("rdu:16x8")).sections) == total_flops(dfg)


def test_operator_that_is_not_lowered_is_named(model: Path):
    with pytest.raises(SourceError, match="operator 'sort' is not one that is lowered; known: _adaptive"):
        load_source(f"{model}:sorting")


def test_missing_function_lists_those_there_are(model: Path):
    with pytest.raises(
        SourceError, match="has no function 'nothing'; it has: build, bare, encoder, Sorted, sorting, needs"
    ):
        load_source(f"{model}:nothing")


def onnx_mlp(path: Path) -> None:
    onnx = pytest.importorskip("onnx")
    helper, tensor = onnx.helper, onnx.TensorProto
    weights = [("w0", (64, 128)), ("b0", (128,)), ("w1", (128, 64))]
    nodes = [
        helper.make_node("MatMul", ["x", "w0"], ["a"], name="first"),
        helper.make_node("Add", ["a", "b0"], ["b"], name="bias"),
        helper.make_node("Relu", ["b"], ["c"], name="relu"),
        helper.make_node("MatMul", ["c", "w1"], ["y"], name="second"),
    ]
    stored = [
        helper.make_tensor(name, tensor.FLOAT, shape, [0.0] * (shape[0] * (shape[1] if len(shape) > 1 else 1)))
        for name, shape in weights
    ]
    graph = helper.make_graph(
        nodes,
        "mlp",
        [helper.make_tensor_value_info("x", tensor.FLOAT, (32, 64))],
        [helper.make_tensor_value_info("y", tensor.FLOAT, (32, 64))],
        stored,
    )
    onnx.save(helper.make_model(graph), str(path))


def test_onnx_file_has_the_operations_of_the_network_it_is(tmp_path: Path):
    onnx_mlp(tmp_path / "mlp.onnx")
    dfg = load_source(str(tmp_path / "mlp.onnx"))
    assert products(dfg) == [2 * 32 * 64 * 128] * 2
    assert [node.label for node in dfg.nodes if node.op == "elementwise"] == ["add", "relu"]
    assert sum(section.flops for section in lower(dfg, build("rdu:16x8")).sections) == total_flops(dfg)


def test_what_is_not_onnx_is_said(tmp_path: Path):
    pytest.importorskip("onnx")
    (tmp_path / "no.onnx").write_bytes(b"not a model")
    with pytest.raises(SourceError, match="is not an ONNX model"):
        load_source(str(tmp_path / "no.onnx"))


def test_weights_that_a_model_keeps_in_another_file_are_not_opened(tmp_path: Path):
    onnx = pytest.importorskip("onnx")
    path = tmp_path / "mlp.onnx"
    onnx_mlp(path)
    whole = load_source(str(path))
    model = onnx.load(str(path))
    for item in model.graph.initializer:
        # Only raw bytes go into another file.
        item.CopyFrom(onnx.numpy_helper.from_array(onnx.numpy_helper.to_array(item), item.name))
    onnx.save(model, str(path), save_as_external_data=True, location="data", size_threshold=0)
    (tmp_path / "data").unlink()
    os.mkfifo(tmp_path / "data")
    assert products(load_source(str(path))) == products(whole)


def test_all_parts_of_a_split_are_there(tmp_path: Path):
    onnx = pytest.importorskip("onnx")
    helper, tensor = onnx.helper, onnx.TensorProto
    nodes = [
        helper.make_node("Relu", ["x"], ["a"], name="relu"),
        helper.make_node("Split", ["a"], ["p", "q"], name="halves", axis=1, num_outputs=2),
        helper.make_node("Mul", ["p", "q"], ["y"], name="gate"),
    ]
    graph = helper.make_graph(
        nodes,
        "gated",
        [helper.make_tensor_value_info("x", tensor.FLOAT, (4, 8))],
        [helper.make_tensor_value_info("y", tensor.FLOAT, (4, 4))],
    )
    onnx.save(helper.make_model(graph), str(tmp_path / "gated.onnx"))
    dfg = load_source(str(tmp_path / "gated.onnx"))
    assert [node.op for node in dfg.nodes] == ["input", "elementwise", *["transpose"] * 2, "elementwise", "output"]


def test_function_that_fails_is_an_error_that_says_why(model: Path):
    with pytest.raises(SourceError, match="the function fails: TypeError: needs\\(\\) missing 1 required"):
        load_source(f"{model}:needs")


def test_show_lists_the_networks_of_a_file(model: Path, capsys: pytest.CaptureFixture[str]):
    from gridloom.cli.commands.show_command import show

    assert show(what=str(model)) == 0
    lines = capsys.readouterr().out.replace(str(model), "model.py").splitlines()
    assert lines[:3] == [
        "model.py:build  (line 6; parameters hidden=128)",
        "  2 gemm, 3 elementwise",
        # 2 x 32 x 64 x 128 for each product, 32 x (128 + 64) for the biases and 32 x 128 for the activation.
        "  1,058,816 operations per sample, 16,576 weights",
    ]
    assert "  cannot be mapped: it needs width; give numbers: model.py:needs,width=1" in lines
    assert any("cannot be mapped: operator 'sort' is not one that is lowered" in line for line in lines)
