"""Single operators of PyTorch and ONNX compute what torch computes, from both front ends."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from tests.targets.dataflow.tensor_values import run_values

from gridloom.errors import SourceError
from gridloom.targets.dataflow.frontend.onnx_file import import_file
from gridloom.targets.dataflow.frontend.statics import ImportedNetwork
from gridloom.targets.dataflow.program.costs import total_flops

torch = pytest.importorskip("torch")

import torch.nn.functional as F  # noqa: E402
from tests.targets.dataflow.frontend.torch_networks import Applied  # noqa: E402
from torch import nn  # noqa: E402

from gridloom.targets.dataflow.frontend.torch_module import import_module  # noqa: E402

#: Functions of a picture of shape (1, 4, 6, 6).
BOTH = {
    "to the nearest": lambda x: F.interpolate(x, scale_factor=2),
    "to the nearest, another size": lambda x: F.interpolate(x, size=(9, 7)),
    "bilinear": lambda x: F.interpolate(x, scale_factor=2, mode="bilinear"),
    "bilinear, corners kept": lambda x: F.interpolate(x, size=(9, 11), mode="bilinear", align_corners=True),
    "smaller": lambda x: F.interpolate(x, size=(4, 3), mode="bilinear"),
    "linear": lambda x: F.interpolate(x[0], scale_factor=3, mode="linear"),
    "bicubic": lambda x: F.interpolate(x, scale_factor=2, mode="bicubic"),
    "pixels shuffled": lambda x: F.pixel_shuffle(x, 2),
    "pixels gathered": lambda x: F.pixel_unshuffle(x, 2),
    "elu": lambda x: F.elu(x, 0.7),
    "selu": F.selu,
    "celu": lambda x: F.celu(x, 0.6),
    "softplus": F.softplus,
    "softsign": F.softsign,
    "mish": F.mish,
    "hard sigmoid": F.hardsigmoid,
    "hard swish": F.hardswish,
    "a slope for each channel": lambda x: F.prelu(x, torch.tensor([0.1, 0.2, 0.3, 0.4])),
    "unit length": lambda x: F.normalize(x, dim=1),
    "sum of magnitudes": lambda x: torch.linalg.vector_norm(x, 1, 2),
    "largest along a dimension": lambda x: x.amax(1),
    "logarithm of a sum": lambda x: torch.logsumexp(x, 1),
    "running sum": lambda x: x.cumsum(2),
    "product": lambda x: x.prod(1),
    "rounded": torch.round,
    "sign": torch.sign,
    "remainder": lambda x: x % 0.7,
    "rounded quotient": lambda x: torch.floor(x / 0.4),
    "norm of each channel": F.instance_norm,
    "tangent": torch.tan,
    "arc tangent": torch.atan,
}
TORCH_ALONE = {
    "nearest centre": lambda x: F.interpolate(x, scale_factor=1.5, mode="nearest-exact"),
    "trilinear": lambda x: F.interpolate(x[None], scale_factor=2, mode="trilinear"),
    "means of unequal windows": lambda x: F.adaptive_avg_pool2d(x, (4, 5)),
    "largest of equal windows": lambda x: F.adaptive_max_pool2d(x, 3),
    "mean of boxes": lambda x: F.avg_pool3d(x[None], 2),
    "largest of boxes": lambda x: F.max_pool3d(x[None], 2),
    "windows as columns": lambda x: F.unfold(x, 3, dilation=2, padding=1, stride=2),
    "values of a maximum": lambda x: x.max(1, keepdim=True).values,
    "least of all": lambda x: x.min(),
    "larger of two": lambda x: torch.max(x, -x),
    "quotient, rounded down": lambda x: x // 0.4,
    "quotient, rounded to zero": lambda x: torch.div(x, 0.4, rounding_mode="trunc"),
    "norm without scale and shift": lambda x: F.layer_norm(x, (6,)),
    "logarithm near one": lambda x: torch.log1p(x.abs()),
    "complement of the error function": torch.erfc,
    "powers of two": torch.exp2,
}


def run(network: ImportedNetwork, x: Any) -> Any:
    (name,) = [node.id for node in network.dfg.nodes if node.op == "input"]
    return run_values(network.dfg, {name: x.numpy()}, network.weights)["output"]


def close(found: Any, wanted: Any) -> bool:
    return bool(found.shape == wanted.shape and np.abs(found - wanted).max() <= 1e-5 * max(1, np.abs(wanted).max()))


def picture() -> Any:
    return torch.randn(1, 4, 6, 6, generator=torch.Generator().manual_seed(3))


@pytest.mark.parametrize("name", [*BOTH, *TORCH_ALONE])
def test_operator_of_torch_computes_what_torch_computes(name: str):
    function, x = {**BOTH, **TORCH_ALONE}[name], picture()
    assert close(run(import_module(Applied(function), (x,)), x), function(x).numpy())


@pytest.mark.parametrize("name", BOTH)
def test_operator_of_onnx_computes_what_torch_computes(name: str, tmp_path: Path):
    pytest.importorskip("onnx")
    function, x = BOTH[name], picture()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        torch.onnx.export(Applied(function), (x,), str(tmp_path / "one.onnx"), dynamo=False, opset_version=18)
    assert close(run(import_file(tmp_path / "one.onnx"), x), function(x).numpy())


@st.composite
def transposed(draw: Any) -> tuple[Any, Any]:
    """A transposed convolution of any kind, and a picture for it."""
    groups = draw(st.sampled_from([1, 1, 2, 3]))
    channels, results = (groups * draw(st.integers(1, 2)) for _ in range(2))
    kernel, stride, dilation = draw(st.integers(1, 4)), draw(st.integers(1, 3)), draw(st.integers(1, 2))
    padding = draw(st.integers(0, dilation * (kernel - 1)))
    extra = draw(st.integers(0, max(stride, dilation) - 1))
    sizes = [draw(st.integers(1, 4)) for _ in range(draw(st.integers(1, 2)))]
    assume(all((size - 1) * stride - 2 * padding + dilation * (kernel - 1) + extra + 1 > 0 for size in sizes))
    kind = nn.ConvTranspose1d if len(sizes) == 1 else nn.ConvTranspose2d
    torch.manual_seed(draw(st.integers(0, 99)))
    module = kind(channels, results, kernel, stride, padding, extra, groups, draw(st.booleans()), dilation)
    return module.eval(), torch.randn(draw(st.integers(1, 2)), channels, *sizes)


# An export takes half a second.
@settings(max_examples=12)
@given(transposed())
def test_transposed_convolution_of_any_geometry(case: tuple[Any, Any]):
    module, x = case
    assert close(run(import_module(module, (x,)), x), module(x).detach().numpy())


def test_transposed_convolution_does_no_work_on_zeros_between_pixels():
    module, x = nn.ConvTranspose2d(8, 4, 2, stride=2, bias=False).eval(), torch.zeros(1, 8, 5, 5)
    # Each of 25 pixels times 8 channels, for each of 4 results and 4 places.
    assert total_flops(import_module(module, (x,)).dfg) == 2 * 25 * 8 * 4 * 4


def test_interpolation_by_a_whole_factor_to_the_nearest_is_a_view():
    dfg = import_module(Applied(lambda x: F.interpolate(x, scale_factor=2)), (picture(),)).dfg
    assert {node.op for node in dfg.nodes} == {"input", "transpose", "output"}


@pytest.mark.parametrize(
    ("function", "words"),
    [
        (lambda x: F.adaptive_max_pool2d(x, 4), r"pools \(6, 6\) to \(4, 4\), which does not divide"),
        (lambda x: torch.linalg.vector_norm(x, 3, 1), "has order 3"),
    ],
)
def test_what_is_not_lowered_is_refused_in_words(function: Any, words: str):
    with pytest.raises(SourceError, match=words):
        import_module(Applied(function), (picture(),))


@pytest.mark.parametrize("gated", ["sequence lengths", "activations"])
def test_recurrent_layer_of_another_kind_is_refused(gated: str, tmp_path: Path):
    onnx = pytest.importorskip("onnx")
    from onnx import TensorProto, helper, numpy_helper

    weights = [
        numpy_helper.from_array(np.zeros((1, 3, 2), np.float32), "w"),
        numpy_helper.from_array(np.zeros((1, 3, 1), np.float32), "r"),
        numpy_helper.from_array(np.zeros(1, np.int32), "lengths"),
    ]
    inputs = ["x", "w", "r", "", "lengths"] if gated == "sequence lengths" else ["x", "w", "r"]
    more = {"activations": ["Relu", "Tanh"]} if gated == "activations" else {}
    node = helper.make_node("GRU", inputs, ["y"], hidden_size=1, **more)
    x, y = (helper.make_tensor_value_info(n, TensorProto.FLOAT, s) for n, s in (("x", [2, 1, 2]), ("y", [2, 1, 1, 1])))
    graph = helper.make_graph([node], "g", [x], [y], weights)
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)]), tmp_path / "gru.onnx")
    words = "has peepholes, clipping, sequence lengths, another layout or other activations, which is not lowered"
    with pytest.raises(SourceError, match=words):
        import_file(tmp_path / "gru.onnx")
