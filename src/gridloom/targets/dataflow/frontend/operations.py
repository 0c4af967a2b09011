"""Operations with values: what the front ends for PyTorch and ONNX build their graphs with.

A tensor of these graphs has two shapes. Its *dimensions* are those of the source, on which permutations, slices and
broadcasts work. Its *shape* is what an array streams: rows of columns, where the columns are the
features of a sequence or the channels of a picture (``TensorBuilder.columns`` says which dimension that is). Views keep
track of it, so that the picture (samples, channels, height, width) streams as samples * height * width rows of
channels. Convolutions become a view (``windows``) and a product.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import prod

import numpy as np

from gridloom.errors import SourceError
from gridloom.targets.dataflow.frontend.graph import Shape, TensorBuilder
from gridloom.targets.dataflow.program.parameters import Tensor, encode_parameters


class OperationBuilder(TensorBuilder):
    """Builds a graph of operations with parameters; methods return the id of the node that they add.

    Methods raise SourceError for tensors that do not fit each other. ``weights`` collects the values of live-ins.
    """

    def __init__(self, name: str, notes: str = "") -> None:
        super().__init__(name, notes)
        self._dimensions: dict[str, Shape] = {}
        #: Which dimension of a value are its columns.
        self._columns: dict[str, int] = {}
        self.weights: dict[str, Tensor] = {}
        #: Inputs of four dimensions are pictures (samples, channels, height, width), as networks that convolve have.
        self.pictures = False

    def dimensions(self, node: str) -> Shape:
        """The dimensions of a value, as its source counts them."""
        return self._dimensions[node]

    # -- values that come from outside -------------------------------------------------------------------------------

    def external(self, name: str, dimensions: Shape) -> str:
        """Add an input; a picture streams its channels as columns."""
        columns = 1 if self.pictures and len(dimensions) == 4 else max(0, len(dimensions) - 1)
        node = self.input(name, streamed_shape(dimensions, columns))
        return self._know(node, dimensions, columns)

    def stored(self, name: str, value: Tensor | None, dimensions: Shape) -> str:
        """Add a weight; ``value`` is None where only its shape is known."""
        node = self.weight(name, dimensions or (1,))
        if value is not None:
            self.weights[node] = value
        return self._know(node, dimensions, max(0, len(dimensions) - 1))

    def number(self, value: float) -> str:
        """Add a number that comes with an instruction."""
        return self._know(self.constant(value), (), 0)

    def _know(self, node: str, dimensions: Shape, columns: int) -> str:
        """Note the dimensions of a node; return it."""
        self._dimensions[node], self._columns[node] = dimensions, columns
        return node

    def _make(
        self, op: str, label: str | None, operands: Sequence[str], dimensions: Shape, columns: int, how: str, name: str
    ) -> str:
        """Add an operation with its parameters; return its id."""
        shape = streamed_shape(dimensions, columns)
        node = self._add(op, tuple(operands), shape, name, label, how or None)
        return self._know(node, dimensions, columns)

    # -- views -------------------------------------------------------------------------------------------------------

    def permute(self, x: str, axes: Sequence[int], name: str) -> str:
        """Exchange dimensions; nothing is added where they stay."""
        old = self.dimensions(x)
        axes = [axis % len(old) for axis in axes]
        if axes == list(range(len(old))):
            return x
        new = tuple(old[axis] for axis in axes)
        columns = axes.index(self._columns[x]) if old else 0
        return self._make("transpose", "permute", [x], new, columns, encode_parameters(axes=axes), name)

    def reshape(self, x: str, new: Shape, name: str) -> str:
        """Count the same elements in other dimensions; a dimension of -1 is what is left."""
        old = self.dimensions(x)
        if -1 in new:
            rest = prod(size for size in new if size != -1)
            new = tuple(prod(old) // max(1, rest) if size == -1 else size for size in new)
        if prod(new) != prod(old):
            raise SourceError(f"{name!r} makes {new} of {old}", where=self.name)
        if new == old:
            return x
        return self._make("transpose", "reshape", [x], new, self._kept(x, new), encode_parameters(shape=new), name)

    def _kept(self, x: str, new: Shape) -> int:
        """Return which dimension of a new shape are the columns: the same one where it is still there, or the last."""
        old, columns = self.dimensions(x), self._columns[x]
        before = prod(old[:columns])
        for axis, size in enumerate(new):
            if old and size == old[columns] and prod(new[:axis]) == before and size > 1:
                return axis
        return max(0, len(new) - 1)

    def expand(self, x: str, new: Shape, name: str) -> str:
        """Repeat a tensor along dimensions of size 1; -1 leaves a dimension."""
        old = (1,) * (len(new) - len(self.dimensions(x))) + self.dimensions(x)
        new = tuple(a if b == -1 else max(a, b) for a, b in zip(old, new))
        if new == self.dimensions(x):
            return x
        columns = self._columns[x] + len(new) - len(self.dimensions(x))
        return self._make("transpose", "expand", [x], new, columns, encode_parameters(shape=new), name)

    def slice(self, x: str, axis: int, start: int, stop: int | None, step: int, name: str) -> str:
        """Take every ``step``-th element of a dimension from ``start`` up to ``stop``."""
        old = self.dimensions(x)
        axis %= len(old)
        count = len(range(*slice(start, stop, step).indices(old[axis])))
        if count == old[axis] and step == 1:
            return x
        new = (*old[:axis], count, *old[axis + 1 :])
        first, last, _ = slice(start, stop, step).indices(old[axis])
        how = encode_parameters(axis=axis, start=first, step=step)
        if last >= 0:
            how += ";" + encode_parameters(stop=last)
        return self._make("transpose", "slice", [x], new, self._columns[x], how, name)

    def select(self, x: str, axis: int, index: int, name: str) -> str:
        """Take one element of a dimension, which goes."""
        old = self.dimensions(x)
        axis %= len(old)
        index %= old[axis]
        part = self.slice(x, axis, index, index + 1, 1, name)
        return self.reshape(part, (*old[:axis], *old[axis + 1 :]), f"{name}.flat")

    def concat(self, parts: Sequence[str], axis: int, name: str) -> str:
        """Put tensors side by side."""
        first = self.dimensions(parts[0])
        axis %= len(first)
        new = (*first[:axis], sum(self.dimensions(part)[axis] for part in parts), *first[axis + 1 :])
        if len(parts) == 1:
            return parts[0]
        computed = next((part for part in parts if not self.is_weight(part)), parts[0])
        return self._make(
            "transpose", "concat", parts, new, self._columns[computed], encode_parameters(axis=axis), name
        )

    def tile(self, x: str, times: Sequence[int], name: str) -> str:
        """Repeat a whole tensor along each dimension."""
        new = tuple(size * n for size, n in zip(self.dimensions(x), times))
        return self._make("transpose", "tile", [x], new, self._columns[x], encode_parameters(times=times), name)

    def pad(self, x: str, before: Sequence[int], after: Sequence[int], value: float, name: str) -> str:
        """Put a constant around a tensor."""
        new = tuple(a + size + b for size, a, b in zip(self.dimensions(x), before, after))
        how = encode_parameters(before=before, after=after, value=value)
        return self._make("transpose", "pad", [x], new, self._columns[x], how, name)

    def gather(self, table: str, ids: str, axis: int, name: str) -> str:
        """Take the rows of a table that ``ids`` names: an embedding."""
        old, picked = self.dimensions(table), self.dimensions(ids)
        axis %= len(old)
        new = (*old[:axis], *picked, *old[axis + 1 :])
        return self._make("transpose", "gather", [table, ids], new, len(new) - 1, encode_parameters(axis=axis), name)

    # -- products ----------------------------------------------------------------------------------------------------

    def product(self, left: str, right: str, name: str) -> str:
        """Multiply matrices; leading dimensions are batches, repeated where one operand has them alone."""
        a, b = self.dimensions(left), self.dimensions(right)
        if len(a) == 1:
            return self.reshape(self.product(self.reshape(left, (1, *a), f"{name}.row"), right, name), b[-1:], name)
        if len(b) == 1:
            column = self.reshape(right, (*b, 1), f"{name}.column")
            return self.reshape(self.product(left, column, name), a[:-1], f"{name}.flat")
        if a[-1] != b[-2]:
            raise SourceError(f"{name!r} multiplies {a} by {b}", where=self.name)
        try:
            batch = np.broadcast_shapes(a[:-2], b[:-2])
        except ValueError:
            raise SourceError(f"{name!r} multiplies {a} by {b}", where=self.name) from None
        new = (*batch, a[-2], b[-1])
        return self._make("gemm", None, [left, right], new, len(new) - 1, "", name)

    def windows(self, x: str, geometry: Mapping[str, Sequence[int]], groups: int, name: str) -> str:
        """View (samples, channels, *sizes) as rows of windows: (groups, windows, channels / groups * kernel).

        ``geometry`` has kernel, stride, dilation, before and after; one group has no dimension of its own.
        """
        samples, channels, *sizes = self.dimensions(x)
        geometry = {**geometry, "sizes": sizes}
        rows, columns = samples * prod(window_counts(sizes, geometry)), channels // groups * prod(geometry["kernel"])
        batch = (groups,) if groups > 1 else ()
        how = encode_parameters(**geometry, groups=groups)
        return self._make("transpose", "windows", [x], (*batch, rows, columns), len(batch) + 1, how, name)

    def convolution(self, x: str, weight: str, geometry: Mapping[str, Sequence[int]], groups: int, name: str) -> str:
        """Convolve (samples, channels, *sizes) by (results, channels / groups, *kernel).

        ``geometry`` has stride, dilation, before and after. A convolution with a kernel for each channel is a vector
        operation; any other is the product of the windows of ``x`` and the kernels.
        """
        samples, channels, *sizes = self.dimensions(x)
        results, inner, *kernel = self.dimensions(weight)
        geometry = {"kernel": kernel, **geometry, "sizes": sizes}
        out = tuple(window_counts(sizes, geometry))
        if groups == channels == results:
            how = encode_parameters(**geometry)
            return self._make("elementwise", "depthwise", [x, weight], (samples, results, *out), 1, how, name)
        seen = self.windows(x, geometry, groups, f"{name}.windows")
        batch = (groups,) if groups > 1 else ()
        order = (0, 2, 1) if batch else (1, 0)
        kernels = self.reshape(weight, (*batch, results // groups, inner * prod(kernel)), f"{name}.kernels")
        made = self.product(seen, self.permute(kernels, order, f"{name}.weights"), name)
        if batch:
            made = self.permute(made, (1, 0, 2), f"{name}.groups")
        picture = self.reshape(made, (samples, *out, results), f"{name}.picture")
        return self.permute(picture, (0, len(sizes) + 1, *range(1, len(sizes) + 1)), f"{name}.channels")

    # -- vector operations -------------------------------------------------------------------------------------------

    def apply(self, label: str, operands: Sequence[str], name: str, how: str = "") -> str:
        """Apply an operation to each element; smaller operands are repeated."""
        try:
            new = np.broadcast_shapes(*(self.dimensions(operand) for operand in operands))
        except ValueError:
            found = " and ".join(str(self.dimensions(operand)) for operand in operands)
            raise SourceError(f"{name!r} ({label}) works on {found}", where=self.name) from None
        return self._like("elementwise", label, operands, new, how, name)

    def along(self, op: str, label: str | None, operands: Sequence[str], name: str, how: str = "") -> str:
        """Add an operation whose result has the dimensions of operand 0: softmax, norm, batch norm, bias."""
        return self._like(op, label, operands, self.dimensions(operands[0]), how, name)

    def normalise(self, x: str, given: Sequence[str | None], name: str, **parameters: float) -> str:
        """Add a norm; scale and shift are given, either of which may be missing."""
        flags = {key: int(value is not None) for key, value in zip(("scale", "shift"), given, strict=True)}
        operands = [x, *(value for value in given if value is not None)]
        return self.along("norm", None, operands, name, encode_parameters(**parameters, **flags))

    def add_bias(self, product: str, bias: str, name: str, axis: int = -1) -> str:
        """Add a vector to a product along an axis, or a tensor where it is none."""
        if len(self.dimensions(bias)) != 1:
            return self.apply("add", [product, bias], f"{name}.bias")
        return self.along("elementwise", "bias", [product, bias], f"{name}.bias", f"axis={axis}")

    def split(self, x: str, axis: int, sizes: Sequence[int], name: str) -> list[str]:
        """Cut a dimension into parts of these sizes."""
        starts = [sum(sizes[:k]) for k in range(len(sizes))]
        parts = enumerate(zip(starts, sizes))
        return [self.slice(x, axis, start, start + size, 1, f"{name}.{k}") for k, (start, size) in parts]

    def _like(self, op: str, label: str | None, operands: Sequence[str], new: Shape, how: str, name: str) -> str:
        """Add an operation whose columns are those of its largest computed operand."""
        computed = [x for x in operands if not self.is_weight(x)] or list(operands)
        model = max(computed, key=lambda x: prod(self.dimensions(x)))
        columns = max(0, self._columns[model] + len(new) - len(self.dimensions(model)))
        return self._make(op, label, operands, new, columns, how, name)

    def reduce(self, label: str, x: str, axes: Sequence[int], keep: bool, name: str, **more: float) -> str:
        """Take the sum, mean, maximum, ... over some dimensions, which stay with size 1 where ``keep``."""
        old = self.dimensions(x)
        axes = sorted(axis % len(old) for axis in axes) if axes else list(range(len(old)))
        new = tuple(1 if k in axes else size for k, size in enumerate(old) if keep or k not in axes)
        columns = self._columns[x]
        if not keep:
            columns = len(new) - 1 if columns in axes else columns - sum(axis < columns for axis in axes)
        how = encode_parameters(axes=axes, keep=int(keep), **more)
        return self._make("reduce", label, [x], new, max(0, columns), how, name)

    def pool(self, label: str, x: str, geometry: Mapping[str, Sequence[int]], name: str, **more: float) -> str:
        """Take the maximum or the mean of each window of (samples, channels, *sizes)."""
        samples, channels, *sizes = self.dimensions(x)
        geometry = {**geometry, "sizes": sizes}
        new = (samples, channels, *window_counts(sizes, geometry))
        return self._make("reduce", label, [x], new, 1, encode_parameters(**geometry, **more), name)


def streamed_shape(dimensions: Shape, columns: int) -> Shape:
    """Return the shape that an array streams: the columns last, and no dimensions of size 1 before them.

    >>> streamed_shape((1, 64, 7, 7), 1), streamed_shape((2, 4, 32, 32), 3), streamed_shape((), 0)
    ((7, 7, 64), (2, 4, 32, 32), (1, 1))
    """
    if not dimensions:
        return (1, 1)
    rows = tuple(size for k, size in enumerate(dimensions) if k != columns and size != 1) or (1,)
    return (*rows, dimensions[columns])


def window_counts(sizes: Sequence[int], geometry: Mapping[str, Sequence[int]]) -> list[int]:
    """Return how many windows there are along each of the sizes.

    >>> window_counts([224], {"kernel": [7], "stride": [2], "dilation": [1], "before": [3], "after": [3]})
    [112]
    """
    rows = zip(sizes, *(geometry[key] for key in ("kernel", "stride", "dilation", "before", "after")))
    return [(size + low + high - reach * (kernel - 1) - 1) // step + 1 for size, kernel, step, reach, low, high in rows]
