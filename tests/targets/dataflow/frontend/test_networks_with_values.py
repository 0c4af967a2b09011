"""Networks from PyTorch and ONNX: the graph, and what is lowered from it, compute what torch computes."""

from __future__ import annotations

import warnings
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.targets.dataflow.lowered_values import run_lowered_program
from tests.targets.dataflow.tensor_values import run_values

from gridloom.archs import build
from gridloom.errors import DfgError, SourceError
from gridloom.targets.dataflow.frontend.onnx_file import import_file
from gridloom.targets.dataflow.frontend.statics import ImportedNetwork
from gridloom.targets.dataflow.lowering.lower import lower
from gridloom.targets.dataflow.program.costs import total_flops

torch = pytest.importorskip("torch")

from tests.targets.dataflow.frontend import torch_networks  # noqa: E402

from gridloom.targets.dataflow.frontend.torch_module import from_module, import_module  # noqa: E402

NAMES = ("llama", "resnet", "vit", "lstm", "both_ways", "mobile", "unet", "gru", "rnn")


@cache
def networks() -> dict[str, Any]:
    return torch_networks.small_networks()


def from_onnx(module: Any, inputs: tuple[Any, ...], path: Path) -> ImportedNetwork:
    pytest.importorskip("onnx")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        torch.onnx.export(module, inputs, str(path), dynamo=False)
    return import_file(path)


def imported(name: str, way: str, folder: Path) -> ImportedNetwork:
    module, inputs = networks()[name]
    if way == "torch":
        return import_module(module, inputs, name=name)
    return from_onnx(module, inputs, folder / f"{name}.onnx")


def expected(name: str) -> Any:
    module, inputs = networks()[name]
    with torch.no_grad():
        return module(*inputs).numpy()


def fed(name: str, network: ImportedNetwork) -> dict[str, Any]:
    names = [node.id for node in network.dfg.nodes if node.op == "input"]
    return {key: tensor.numpy() for key, tensor in zip(names, networks()[name][1])}


def error(found: Any, wanted: Any) -> float:
    assert found.shape == wanted.shape
    return float(np.abs(found - wanted).max() / np.abs(wanted).max())


@pytest.mark.parametrize("way", ["torch", "onnx"])
@pytest.mark.parametrize("name", NAMES)
def test_graph_and_lowered_program_compute_what_torch_computes(name: str, way: str, tmp_path: Path):
    network = imported(name, way, tmp_path)
    inputs = fed(name, network)
    assert error(run_values(network.dfg, inputs, network.weights)["output"], expected(name)) < 1e-5
    for spec in ("rdu:16x8", "rdu:8x8,lanes=4"):
        arch = build(spec)
        lowered = lower(network.dfg, arch)
        lanes = int(arch.spec.get("lanes", 16))
        found = run_lowered_program(network.dfg, lowered, inputs, network.weights, lanes=lanes)
        assert error(found["output"], expected(name)) < 1e-5


@pytest.mark.parametrize("name", ["resnet", "vit", "lstm"])
def test_products_that_are_merged_with_what_follows_compute_the_same(name: str, tmp_path: Path):
    network = imported(name, "torch", tmp_path)
    lowered = lower(network.dfg, build("rdu:8x8,lanes=4"), merge="products")
    assert any(stage.kind == "gemm" and len(stage.ops) > 1 for part in lowered.sections for stage in part.stages)
    found = run_lowered_program(network.dfg, lowered, fed(name, network), network.weights, lanes=4)
    assert error(found["output"], expected(name)) < 1e-5


@pytest.mark.parametrize("name", ["llama", "resnet", "vit", "mobile"])
def test_operations_of_the_sections_are_those_of_the_network(name: str, tmp_path: Path):
    dfg = imported(name, "torch", tmp_path).dfg
    assert sum(section.flops for section in lower(dfg, build("rdu:16x8")).sections) == total_flops(dfg)


def test_picture_streams_its_positions_and_a_section_ends_where_they_change(tmp_path: Path):
    dfg = imported("resnet", "torch", tmp_path).dfg
    sections = lower(dfg, build("rdu:16x8")).sections
    assert [{stage.rows for stage in section.stages} for section in sections] == [{256}, {64}, {16}, {1}]
    assert [section.blocks for section in sections] == [256, 64, 16, 1]


def test_samples_of_a_batch_stream_one_after_the_other_through_attention(tmp_path: Path):
    dfg = imported("llama", "torch", tmp_path).dfg
    (section,) = lower(dfg, build("rdu:16x8")).sections
    held = [stage for stage in section.stages if stage.held]
    assert section.blocks == 2 * 6
    # One matrix for each of four heads is held at a time, whatever the number of samples.
    assert [(stage.batch, stage.rows) for stage in held] == [(4, 12), (4, 12)]


def test_norm_that_is_written_out_is_one_stage(tmp_path: Path):
    dfg = imported("llama", "torch", tmp_path).dfg
    (section,) = lower(dfg, build("rdu:16x8")).sections
    ops = [{dfg.node(op).label for op in stage.ops} for stage in section.stages]
    assert {"pow", "mean", "add", "rsqrt", "mul"} in ops


def test_stage_that_reads_what_nothing_brings_is_refused(tmp_path: Path):
    network = imported("llama", "torch", tmp_path)
    lowered = lower(network.dfg, build("rdu:16x8"))
    section = lowered.sections[0]
    stage = next(stage for stage in section.stages if stage.kind == "gemm")
    from dataclasses import replace

    stages = tuple(replace(s, inputs=()) if s is stage else s for s in section.stages)
    broken = replace(lowered, sections=(replace(section, stages=stages),))
    with pytest.raises(DfgError, match="which none of its inputs brings"):
        run_lowered_program(network.dfg, broken, fed("llama", network), network.weights, lanes=16)


def test_built_in_networks_have_no_values():
    from gridloom import registry

    dfg = registry.load("networks", "mha").build(rows=8, width=16, heads=2)
    with pytest.raises(DfgError, match="node 'x': has no value: expected one for each input, found none"):
        run_values(dfg, {}, {})


def test_operator_of_onnx_that_is_not_lowered_is_named(tmp_path: Path):
    pytest.importorskip("onnx")
    module, inputs = torch_networks.Applied(lambda x: x.det()), (torch.zeros(1, 4, 4),)
    with pytest.raises(SourceError, match="operator 'Det' is not lowered; known: Abs, Acos, Add"):
        from_onnx(module, inputs, tmp_path / "determinant.onnx")


def test_result_that_is_not_lowered_is_named():
    with pytest.raises(SourceError, match=r"module: result 1 of operator 'max' \(max_1\) is not one that is lowered"):
        from_module(torch_networks.Applied(lambda x: x.max(1)[1] + x.max(1)[0]), (torch.zeros(2, 4),))


def test_reading_a_module_warns_of_nothing():
    with warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always")
        from_module(torch.nn.Linear(4, 4), (torch.zeros(2, 4),))
    assert [str(warning.message) for warning in warned] == []


@pytest.mark.slow
def test_whole_resnet_18_lowers_to_its_operations():
    dfg = from_module(torch_networks.ResNet().eval(), (torch.zeros(1, 3, 224, 224),))
    sections = lower(dfg, build("rdu:16x8")).sections
    # 1.81 billion multiply-accumulates in the products; the rest are norms, activations and pooling.
    products = sum(stage.flops for section in sections for stage in section.stages if stage.kind == "gemm")
    assert products == 2 * 1_814_073_344
    assert sum(section.flops for section in sections) == total_flops(dfg)


@pytest.mark.slow
@pytest.mark.parametrize("way", ["torch", "onnx"])
def test_whole_resnet_18_computes_what_torch_computes(way: str, tmp_path: Path):
    torch.manual_seed(0)
    module, inputs = torch_networks.prepared(torch_networks.ResNet()), (torch.randn(1, 3, 32, 32),)
    if way == "torch":
        network = import_module(module, inputs, name="resnet18")
    else:
        network = from_onnx(module, inputs, tmp_path / "resnet18.onnx")
    with torch.no_grad():
        wanted = module(*inputs).numpy()
    (name,) = [node.id for node in network.dfg.nodes if node.op == "input"]
    given = {name: inputs[0].numpy()}
    assert error(run_values(network.dfg, given, network.weights)["output"], wanted) < 1e-5
    lowered = lower(network.dfg, build("rdu:16x8"))
    found = run_lowered_program(network.dfg, lowered, given, network.weights, lanes=16)
    assert error(found["output"], wanted) < 1e-5
