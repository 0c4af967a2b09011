"""Operations that make pictures larger or smaller: transposed convolutions and interpolation.

Both become operations that a graph has already. A **transposed convolution** with stride s is a plain convolution that
computes the s x s results between neighbouring positions as channels of their own, and a view that puts them side by
side (sub-pixel convolution): no zeros are inserted into the picture, so no work is done on them. **Interpolation** is
linear in each dimension, so it is a product with a constant matrix along each one; where whole elements are repeated,
it is a view.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from math import ceil, floor
from typing import Final

import numpy as np

from gridloom.targets.dataflow.frontend.operations import OperationBuilder
from gridloom.targets.dataflow.program.parameters import Tensor

# -- transposed convolutions -------------------------------------------------------------------------------------------


def transposed_convolution(
    b: OperationBuilder, x: str, weight: str, geometry: Mapping[str, Sequence[int]], groups: int, name: str
) -> str:
    """Add the transposed convolution of (samples, channels, *sizes) by (channels, results / groups, *kernel).

    ``geometry`` has stride, dilation, before (the padding that is cut off) and out (the sizes of the result). Returns
    the node of the result.
    """
    stride, dilation = geometry["stride"], list(geometry["dilation"])
    if any(step > 1 and reach > 1 for step, reach in zip(stride, dilation)):
        weight, dilation = _spread(b, weight, dilation, name), [1] * len(dilation)
    kernel = b.dimensions(weight)[2:]
    taps = [-(-size // step) for size, step in zip(kernel, stride)]
    around = [reach * (tap - 1) for reach, tap in zip(dilation, taps)]
    plain = {"stride": [1] * len(taps), "dilation": dilation, "before": around, "after": around}
    phases = b.convolution(x, _phase_kernels(b, weight, stride, taps, groups, name), plain, groups, name)
    return _cut(b, _side_by_side(b, phases, stride, name), geometry["before"], geometry["out"], name)


def _spread(b: OperationBuilder, weight: str, dilation: Sequence[int], name: str) -> str:
    """Return a kernel with zeros between its elements, which needs no dilation."""
    for k, reach in enumerate(dilation):
        axis, old = k + 2, b.dimensions(weight)
        apart = b.reshape(weight, (*old[: axis + 1], 1, *old[axis + 1 :]), f"{name}.apart{k}")
        none = [0] * (len(old) + 1)
        after = [reach - 1 if place == axis + 1 else 0 for place in range(len(old) + 1)]
        wide = b.pad(apart, none, after, 0.0, f"{name}.zeros{k}")
        flat = b.reshape(wide, (*old[:axis], old[axis] * reach, *old[axis + 1 :]), f"{name}.spread{k}")
        weight = b.slice(flat, axis, 0, reach * (old[axis] - 1) + 1, 1, f"{name}.kernel{k}")
    return weight


def _phase_kernels(
    b: OperationBuilder, weight: str, stride: Sequence[int], taps: Sequence[int], groups: int, name: str
) -> str:
    """Return the kernels of all phases: (results * phases, channels / groups, *taps).

    Result q * stride + r is the sum over j of element q - j times kernel element r + j * stride, so that phase r takes
    every stride-th element of the kernel from r on, in reverse order.
    """
    channels, results, *kernel = b.dimensions(weight)
    sizes = len(kernel)
    lacking = [step * tap - size for step, tap, size in zip(stride, taps, kernel)]
    if any(lacking):
        weight = b.pad(weight, [0] * (sizes + 2), [0, 0, *lacking], 0.0, f"{name}.whole")
    split = [size for pair in zip(taps, stride) for size in pair]
    weight = b.reshape(weight, (groups, channels // groups, results, *split), f"{name}.phases")
    for k in range(sizes):
        weight = b.slice(weight, 3 + 2 * k, -1, None, -1, f"{name}.turned{k}")
    order = (0, 2, *range(4, 4 + 2 * sizes, 2), 1, *range(3, 3 + 2 * sizes, 2))
    weight = b.permute(weight, order, f"{name}.order")
    count = groups * results * int(np.prod(stride))
    return b.reshape(weight, (count, channels // groups, *taps), f"{name}.kernels")


def _side_by_side(b: OperationBuilder, phases: str, stride: Sequence[int], name: str) -> str:
    """Return a picture from one whose channels are (results, *phases): the phases become neighbours."""
    samples, channels, *sizes = b.dimensions(phases)
    if all(step == 1 for step in stride):
        return phases
    count = len(sizes)
    results = channels // int(np.prod(stride))
    apart = b.reshape(phases, (samples, results, *stride, *sizes), f"{name}.apart")
    order = [0, 1]
    for k in range(count):
        order += [2 + count + k, 2 + k]
    woven = b.permute(apart, order, f"{name}.woven")
    whole = tuple(size * step for size, step in zip(sizes, stride))
    return b.reshape(woven, (samples, results, *whole), f"{name}.picture")


def _cut(b: OperationBuilder, x: str, start: Sequence[int], out: Sequence[int], name: str) -> str:
    """Return a part of a picture; positions behind its end, which no element reaches, are zeros."""
    sizes = b.dimensions(x)[2:]
    beyond = [max(0, first + count - size) for first, count, size in zip(start, out, sizes)]
    if any(beyond):
        x = b.pad(x, [0] * (len(sizes) + 2), [0, 0, *beyond], 0.0, f"{name}.beyond")
    for k, (first, count) in enumerate(zip(start, out)):
        x = b.slice(x, k + 2, first, first + count, 1, f"{name}.cut{k}")
    return x


# -- interpolation -----------------------------------------------------------------------------------------------------

#: Where the centre of element ``k`` of ``wanted`` elements lies among ``size`` elements; ``scale`` is size over wanted,
#: or what the source says instead.
POSITIONS: Final[dict[str, Callable[[int, int, int, float], float]]] = {
    "half_pixel": lambda k, size, wanted, scale: (k + 0.5) * scale - 0.5,
    "pytorch_half_pixel": lambda k, size, wanted, scale: (k + 0.5) * scale - 0.5 if wanted > 1 else 0.0,
    "align_corners": lambda k, size, wanted, scale: k * (size - 1) / (wanted - 1) if wanted > 1 else 0.0,
    "asymmetric": lambda k, size, wanted, scale: float(np.float32(k) * np.float32(scale)),
}
#: Which element is the nearest to a position.
ROUNDINGS: Final[dict[str, Callable[[float], int]]] = {
    "floor": floor,
    "ceil": ceil,
    "round_prefer_floor": lambda at: ceil(at - 0.5),
    "round_prefer_ceil": lambda at: floor(at + 0.5),
}


def interpolation(positions: Sequence[float], size: int, mode: str, rounding: str = "floor") -> Tensor:
    """Return the matrix (wanted, size) that interpolates at the positions; elements outside are those at the border.

    ``mode`` is ``nearest``, ``linear`` or ``cubic`` (Keys' kernel with a = -0.75).

    >>> interpolation([-0.25, 0.25, 0.75, 1.25], 2, "linear").tolist()
    [[1.0, 0.0], [0.75, 0.25], [0.25, 0.75], [0.0, 1.0]]
    """
    matrix = np.zeros((len(positions), size), dtype=np.float32)
    for row, at in enumerate(positions):
        if mode == "nearest":
            shares = {ROUNDINGS[rounding](at): 1.0}
        else:
            low = floor(at)
            reach = range(2) if mode == "linear" else range(-1, 3)
            weigh = _linear if mode == "linear" else _cubic
            shares = {low + k: weigh(abs(at - low - k)) for k in reach}
        for element, share in shares.items():
            matrix[row, min(max(element, 0), size - 1)] += share
    return matrix


def _linear(distance: float) -> float:
    """Return the weight of an element at a distance of at most 1."""
    return 1 - distance


def _cubic(distance: float, a: float = -0.75) -> float:
    """Return the weight of an element at a distance of at most 2."""
    d = distance
    if d <= 1:
        return (a + 2) * d**3 - (a + 3) * d**2 + 1
    return a * (d**3 - 5 * d**2 + 8 * d - 4)


def means(size: int, wanted: int) -> Tensor:
    """Return the matrix (wanted, size) of an adaptive mean: element k is the mean of its share of the elements.

    >>> means(3, 2).tolist()
    [[0.5, 0.5, 0.0], [0.0, 0.5, 0.5]]
    """
    matrix = np.zeros((wanted, size), dtype=np.float32)
    for k in range(wanted):
        first, end = k * size // wanted, -(-(k + 1) * size // wanted)
        matrix[k, first:end] = 1 / (end - first)
    return matrix


def along_axis(b: OperationBuilder, x: str, axis: int, matrix: Tensor, name: str) -> str:
    """Add the product of a constant matrix (wanted, size) and every row of ``x`` along one dimension.

    A matrix that repeats every element equally often is a view.
    """
    old = b.dimensions(x)
    axis %= len(old)
    times = matrix.shape[0] // max(1, matrix.shape[1])
    if times and np.array_equal(matrix, np.repeat(np.eye(old[axis], dtype=np.float32), times, axis=0)):
        return _repeated(b, x, axis, times, name)
    order = [k for k in range(len(old)) if k != axis] + [axis]
    back = [order.index(k) for k in range(len(old))]
    last = b.permute(x, order, f"{name}.last")
    weights = b.stored(f"{name}.matrix", np.ascontiguousarray(matrix.T), (old[axis], matrix.shape[0]))
    return b.permute(b.product(last, weights, name), back, f"{name}.back")


def _repeated(b: OperationBuilder, x: str, axis: int, times: int, name: str) -> str:
    """Return a tensor in which each element along one dimension stands ``times`` times."""
    old = b.dimensions(x)
    if times == 1:
        return x
    apart = b.reshape(x, (*old[: axis + 1], 1, *old[axis + 1 :]), f"{name}.apart")
    wide = b.expand(apart, (*old[: axis + 1], times, *old[axis + 1 :]), f"{name}.wide")
    return b.reshape(wide, (*old[:axis], old[axis] * times, *old[axis + 1 :]), name)
