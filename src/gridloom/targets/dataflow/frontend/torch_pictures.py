"""What PyTorch's operators on pictures become: convolutions, pooling, interpolation.

A picture is (samples, channels, *sizes), with one to three sizes. The functions are like those of `torch_operators`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Final

from gridloom.targets.dataflow.frontend.graph import Shape
from gridloom.targets.dataflow.frontend.operations import window_counts
from gridloom.targets.dataflow.frontend.resampling import (
    POSITIONS,
    along_axis,
    interpolation,
    means,
    transposed_convolution,
)
from gridloom.targets.dataflow.frontend.torch_operators import Result, TorchCall

_NEAREST: Final = ("upsample_nearest1d", "upsample_nearest2d", "upsample_nearest3d")
_NEAREST_CENTRE: Final = tuple(f"_upsample_nearest_exact{sizes}d" for sizes in (1, 2, 3))
_LINEAR: Final = ("upsample_linear1d", "upsample_bilinear2d", "upsample_trilinear3d")
#: Operators that torch would otherwise decompose.
WHOLE: Final = (*_NEAREST, *_NEAREST_CENTRE, *_LINEAR, "upsample_bicubic2d", "im2col")


def _convolution(call: TorchCall) -> Result:
    stride, padding, dilation, transposed, _, groups = (call.value(k) for k in range(3, 9))
    sizes = len(stride)
    padding = list(padding) * (sizes if len(padding) == 1 else 1)
    geometry = {"stride": stride, "dilation": dilation, "before": padding}
    if transposed:
        geometry["out"] = call.dimensions[2:]
        made = transposed_convolution(call.builder, call.node(0), call.node(1), geometry, groups, call.name)
    else:
        geometry["after"] = padding
        made = call.builder.convolution(call.node(0), call.node(1), geometry, groups, call.name)
    return made if call.value(2) is None else call.builder.add_bias(made, call.node(2), call.name, 1)


def _pool_geometry(call: TorchCall, positions: tuple[int, int, int, int]) -> Mapping[str, Sequence[int]]:
    """Kernel, stride, padding and dilation of a pooling; windows that ``ceil_mode`` adds reach into more padding."""
    sizes = call.builder.dimensions(call.node(0))[2:]
    kernel, stride, padding, dilation = (call.value(k) if k >= 0 else [1] for k in positions)
    kernel, padding, dilation = (
        list(given or [default]) * (len(sizes) if len(given or [0]) == 1 else 1)
        for given, default in ((kernel, 1), (padding, 0), (dilation, 1))
    )
    stride = list(stride) * (len(sizes) if len(stride) == 1 else 1) if stride else kernel
    geometry = {"kernel": kernel, "stride": stride, "dilation": dilation, "before": padding, "after": list(padding)}
    for k, wanted in enumerate(call.dimensions[2:]):
        while window_counts(sizes, geometry)[k] < wanted:
            geometry["after"][k] += 1
    return geometry


def _max_pool(call: TorchCall) -> Result:
    return (call.builder.pool("max_pool", call.node(0), _pool_geometry(call, (1, 2, 3, 4)), call.name),)


def _mean_pool(call: TorchCall) -> Result:
    if call.value(6) is not None:
        raise call.refuse("divides by a number of its own (divisor_override)")
    geometry = _pool_geometry(call, (1, 2, 3, -1))
    return call.builder.pool("mean_pool", call.node(0), geometry, call.name, padded=int(call.value(5, True)))


def _adaptive_mean_pool(call: TorchCall) -> Result:
    """Mean of equal windows; where sizes do not divide, a product with the matrix of means along each dimension."""
    x, wanted = call.node(0), call.dimensions[2:]
    sizes = call.builder.dimensions(x)[2:]
    if not any(size % count for size, count in zip(sizes, wanted)):
        return call.builder.pool("mean_pool", x, _equal_windows(sizes, wanted), call.name, padded=1)
    for k, (size, count) in enumerate(zip(sizes, wanted)):
        x = along_axis(call.builder, x, k + 2, means(size, count), f"{call.name}.{k}")
    return x


def _adaptive_max_pool(call: TorchCall) -> Result:
    """Maximum of equal windows; sizes that do not divide are refused."""
    sizes, wanted = call.builder.dimensions(call.node(0))[2:], call.dimensions[2:]
    if any(size % count for size, count in zip(sizes, wanted)):
        raise call.refuse(f"pools {sizes} to {wanted}, which does not divide")
    return (call.builder.pool("max_pool", call.node(0), _equal_windows(sizes, wanted), call.name),)


def _equal_windows(sizes: Shape, wanted: Shape) -> Mapping[str, Sequence[int]]:
    """Return the geometry of windows that share a picture among them."""
    kernel, zeros = [size // count for size, count in zip(sizes, wanted)], [0] * len(sizes)
    return {"kernel": kernel, "stride": kernel, "dilation": [1] * len(sizes), "before": zeros, "after": zeros}


def _upsample(mode: str, *, exact: bool = False) -> Callable[[TorchCall], Result]:
    """Interpolation to the size of the result; scales that the call names count, not the ratio of sizes."""

    def run(call: TorchCall) -> Result:
        x = call.node(0)
        align = mode != "nearest" and bool(call.value(2))
        scales = call.value(2 if mode == "nearest" else 3)
        rule = "align_corners" if align else "asymmetric" if mode == "nearest" and not exact else "half_pixel"
        for k, wanted in enumerate(call.dimensions[2:]):
            size = call.builder.dimensions(x)[k + 2]
            scale = 1 / scales[k] if scales else size / wanted
            at = [POSITIONS[rule](row, size, wanted, scale) for row in range(wanted)]
            rounding = "round_prefer_ceil" if exact else "floor"
            x = along_axis(call.builder, x, k + 2, interpolation(at, size, mode, rounding), f"{call.name}.{k}")
        return x

    return run


def _windows(call: TorchCall) -> Result:
    """The windows of a picture as columns: (samples, channels * kernel, windows)."""
    x = call.node(0)
    kernel, dilation, padding, stride = (call.value(k) for k in range(1, 5))
    geometry = {"kernel": kernel, "stride": stride, "dilation": dilation, "before": padding, "after": padding}
    samples, columns, windows = call.dimensions
    seen = call.builder.windows(x, geometry, 1, f"{call.name}.windows")
    apart = call.builder.reshape(seen, (samples, windows, columns), f"{call.name}.apart")
    return call.builder.permute(apart, (0, 2, 1), call.name)


#: Operators on pictures: (samples, channels, *sizes).
PICTURES: Final[dict[str, Callable[[TorchCall], Result]]] = {
    "convolution": _convolution,
    **dict.fromkeys(("max_pool2d_with_indices", "max_pool3d_with_indices"), _max_pool),
    **dict.fromkeys(("avg_pool1d", "avg_pool2d", "avg_pool3d"), _mean_pool),
    **dict.fromkeys(("_adaptive_avg_pool2d", "_adaptive_avg_pool3d"), _adaptive_mean_pool),
    **dict.fromkeys(("adaptive_max_pool2d", "adaptive_max_pool3d"), _adaptive_max_pool),
    **dict.fromkeys(_NEAREST, _upsample("nearest")),
    **dict.fromkeys(_NEAREST_CENTRE, _upsample("nearest", exact=True)),
    **dict.fromkeys(_LINEAR, _upsample("linear")),
    "upsample_bicubic2d": _upsample("cubic"),
    "im2col": _windows,
}
