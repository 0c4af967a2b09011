"""What ONNX's operators on pictures become: convolutions, pooling, interpolation, blocks of pixels.

A picture is (samples, channels, *sizes). The functions are like those of `onnx_operators`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final

from gridloom.targets.dataflow.frontend.graph import Shape
from gridloom.targets.dataflow.frontend.onnx_operators import OnnxCall, Results
from gridloom.targets.dataflow.frontend.operations import window_counts
from gridloom.targets.dataflow.frontend.resampling import (
    POSITIONS,
    ROUNDINGS,
    along_axis,
    interpolation,
    transposed_convolution,
)
from gridloom.targets.dataflow.frontend.statics import Static


def _geometry(call: OnnxCall, sizes: Shape, kernel: Sequence[int]) -> dict[str, Any]:
    """Stride, dilation and padding; the padding may be said by a rule (``auto_pad``) and by ``ceil_mode``."""
    count = len(sizes)
    stride, dilation = (list(call.attributes.get(key) or [1] * count) for key in ("strides", "dilations"))
    pads = list(call.attributes.get("pads") or [0] * 2 * count)
    rule = call.attributes.get("auto_pad", b"NOTSET")
    rule = rule.decode() if isinstance(rule, bytes) else rule
    if rule in ("SAME_UPPER", "SAME_LOWER"):
        for k, size in enumerate(sizes):
            reach = (-(-size // stride[k]) - 1) * stride[k] + (kernel[k] - 1) * dilation[k] + 1
            small, large = (lack := max(0, reach - size)) // 2, lack - lack // 2
            pads[k], pads[count + k] = (small, large) if rule == "SAME_UPPER" else (large, small)
    geometry = {
        "kernel": list(kernel), "stride": stride, "dilation": dilation, "before": pads[:count], "after": pads[count:],
    }  # fmt: skip
    if call.attributes.get("ceil_mode"):
        low = window_counts(sizes, geometry)
        for k, size in enumerate(sizes):
            over = (size + pads[k] + pads[count + k] - dilation[k] * (kernel[k] - 1) - 1) % stride[k]
            # A window that would begin in the padding behind the tensor is left out.
            if over and low[k] * stride[k] < size + pads[k]:
                geometry["after"][k] += stride[k] - over
    return geometry


def _conv(call: OnnxCall) -> Results:
    kernel = call.size(1)[2:]
    geometry = _geometry(call, call.size(0)[2:], kernel)
    geometry.pop("kernel")
    groups = call.attributes.get("group", 1)
    made = call.builder.convolution(call.node(0), call.node(1), geometry, groups, call.name)
    return [call.builder.add_bias(made, call.node(2), call.name, 1) if call.has(2) else made]


def _max_pool(call: OnnxCall) -> Results:
    if call.results > 1:
        raise call.refuse("also returns where the largest elements are")
    geometry = _geometry(call, call.size(0)[2:], call.attributes["kernel_shape"])
    return [call.builder.pool("max_pool", call.node(0), geometry, call.name)]


def _mean_pool(call: OnnxCall) -> Results:
    geometry = _geometry(call, call.size(0)[2:], call.attributes["kernel_shape"])
    padded = int(call.attributes.get("count_include_pad", 0))
    return [call.builder.pool("mean_pool", call.node(0), geometry, call.name, padded=padded)]


def _global_pool(label: str) -> Callable[[OnnxCall], Results]:
    """The mean or the maximum of a whole picture."""
    return lambda call: [call.builder.reduce(label, call.node(0), range(2, len(call.size(0))), True, call.name)]


def _conv_transpose(call: OnnxCall) -> Results:
    """A transposed convolution; its padding is given, or follows from the size of the result."""
    sizes, kernel = call.size(0)[2:], call.size(1)[2:]
    count = len(sizes)
    stride, dilation = (list(call.attributes.get(key) or [1] * count) for key in ("strides", "dilations"))
    extra = list(call.attributes.get("output_padding") or [0] * count)
    whole = [
        step * (size - 1) + more + reach * (k - 1) + 1
        for size, step, more, reach, k in zip(sizes, stride, extra, dilation, kernel)
    ]
    before, out = _cut_off(call, whole, [size * step for size, step in zip(sizes, stride)])
    geometry = {"stride": stride, "dilation": dilation, "before": before, "out": out}
    groups = call.attributes.get("group", 1)
    made = transposed_convolution(call.builder, call.node(0), call.node(1), geometry, groups, call.name)
    return [call.builder.add_bias(made, call.node(2), call.name, 1) if call.has(2) else made]


def _cut_off(call: OnnxCall, whole: Sequence[int], same: Sequence[int]) -> tuple[list[int], list[int]]:
    """Return what a transposed convolution cuts off before its result, and the sizes of the result."""
    count = len(whole)
    rule = call.attributes.get("auto_pad", b"NOTSET").decode()
    wanted = call.attributes.get("output_shape") or (same if rule.startswith("SAME") else None)
    if wanted is None:
        pads = list(call.attributes.get("pads") or [0] * 2 * count)
        return pads[:count], [size - a - b for size, a, b in zip(whole, pads[:count], pads[count:])]
    wanted = list(wanted)[-count:]
    lost = [max(0, size - out) for size, out in zip(whole, wanted)]
    return [n // 2 if rule == "SAME_UPPER" else n - n // 2 for n in lost], wanted


def _resize(call: OnnxCall) -> Results:
    """Interpolation along every dimension whose size changes; crops and filters against aliasing are refused."""
    mode = call.attributes.get("mode", b"nearest").decode()
    # Before version 10 the operator was called Upsample, and before 11 it had one rule of positions.
    old = call.op == "Upsample" or call.version < 11
    rule = "asymmetric" if old else call.attributes.get("coordinate_transformation_mode", b"half_pixel").decode()
    rounding = "floor" if old else call.attributes.get("nearest_mode", b"round_prefer_floor").decode()
    policy = call.attributes.get("keep_aspect_ratio_policy", b"stretch")
    known = rule in POSITIONS and rounding in ROUNDINGS and call.attributes.get("cubic_coeff_a", -0.75) == -0.75
    if not known or policy != b"stretch" or call.attributes.get("antialias") or call.attributes.get("exclude_outside"):
        raise call.refuse(f"interpolates with {rule!r}, antialias, exclude_outside or a rule of its own")
    x, mode = call.node(0), "linear" if mode == "bilinear" else mode
    for axis, wanted, scale in _new_sizes(call, old):
        size = call.builder.dimensions(x)[axis]
        at = [POSITIONS[rule](k, size, wanted, scale) for k in range(wanted)]
        x = along_axis(call.builder, x, axis, interpolation(at, size, mode, rounding), f"{call.name}.{axis}")
    return [x]


def _new_sizes(call: OnnxCall, old: bool) -> list[tuple[int, int, float]]:
    """Return the dimensions that change, each with its new size and old elements per new one."""
    sizes = call.size(0)
    axes = [axis % len(sizes) for axis in call.attributes.get("axes") or range(len(sizes))]
    if not old and call.has(3):
        wanted = call.numbers(3, "sizes") or []
        steps = [sizes[axis] / size for axis, size in zip(axes, wanted)]
    else:
        scales = _scales(call, 1 if old else 2)
        wanted = [int(sizes[axis] * scale) for axis, scale in zip(axes, scales)]
        steps = [1 / scale for scale in scales]
    return [row for row in zip(axes, wanted, steps) if row[1] != sizes[row[0]]]


def _scales(call: OnnxCall, k: int) -> list[float]:
    """Return the scales of an interpolation, from input k or, in the oldest versions, an attribute."""
    if not call.has(k):
        return [float(scale) for scale in call.attributes["scales"]]
    value = call.inputs[k]
    if not isinstance(value, Static) or value.value is None:
        raise call.refuse("computes its scales from the inputs")
    return [float(scale) for scale in value.value.reshape(-1)]


def _depth_to_space(call: OnnxCall) -> Results:
    """Blocks of channels become blocks of pixels."""
    samples, channels, height, width = call.size(0)
    n = call.attributes["blocksize"]
    depth = channels // (n * n)
    first = call.attributes.get("mode", b"DCR") == b"DCR"
    apart = (samples, n, n, depth, height, width) if first else (samples, depth, n, n, height, width)
    order = (0, 3, 4, 1, 5, 2) if first else (0, 1, 4, 2, 5, 3)
    b = call.builder
    woven = b.permute(b.reshape(call.node(0), apart, f"{call.name}.apart"), order, f"{call.name}.woven")
    return [b.reshape(woven, (samples, depth, height * n, width * n), call.name)]


def _space_to_depth(call: OnnxCall) -> Results:
    """Blocks of pixels become blocks of channels."""
    samples, channels, height, width = call.size(0)
    n, b = call.attributes["blocksize"], call.builder
    apart = b.reshape(call.node(0), (samples, channels, height // n, n, width // n, n), f"{call.name}.apart")
    woven = b.permute(apart, (0, 3, 5, 1, 2, 4), f"{call.name}.woven")
    return [b.reshape(woven, (samples, channels * n * n, height // n, width // n), call.name)]


#: Operators on pictures.
PICTURES: Final[dict[str, Callable[[OnnxCall], Results]]] = {
    "Conv": _conv,
    "ConvTranspose": _conv_transpose,
    "MaxPool": _max_pool,
    "AveragePool": _mean_pool,
    "GlobalAveragePool": _global_pool("mean"),
    "GlobalMaxPool": _global_pool("max"),
    "Resize": _resize,
    "Upsample": _resize,
    "DepthToSpace": _depth_to_space,
    "SpaceToDepth": _space_to_depth,
}
