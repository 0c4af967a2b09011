"""What the core operators of PyTorch become: a function for each, in one table.

Operators on pictures (convolutions, pooling, interpolation) have a file of their own, `torch_pictures`.

A function gets a reader and the call; it returns the value of the call, or a tuple of values where the operator has
several results. `TorchCall` fetches arguments by position or name, as nodes or as numbers.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, Protocol

import numpy as np

from gridloom.errors import SourceError
from gridloom.targets.dataflow.frontend.graph import Shape
from gridloom.targets.dataflow.frontend.operations import OperationBuilder
from gridloom.targets.dataflow.frontend.resampling import along_axis
from gridloom.targets.dataflow.frontend.statics import Static
from gridloom.targets.dataflow.program.parameters import encode_parameters

Value = str | Static
Result = Value | tuple[Any, ...]


class TorchCall(Protocol):
    """A call of an operator, as the table's functions see it."""

    builder: OperationBuilder
    name: str
    #: The dimensions of the (first) result.
    dimensions: Shape

    def node(self, position: int, key: str = "") -> str:
        """Return an argument as a node."""

    def weights(self, position: int) -> str:
        """Return the right operand of a product as a node."""

    def value(self, position: int, default: Any = None, key: str = "") -> Any:
        """Return an argument as it stands: a number, a list, None."""

    def computed(self, value: Any) -> str:
        """Return any value as a node."""

    def refuse(self, why: str) -> SourceError:
        """Return the error for a call that is not lowered."""


def _reshape(call: TorchCall) -> Result:
    return call.builder.reshape(call.node(0), call.dimensions, call.name)


def _permute(call: TorchCall) -> Result:
    return call.builder.permute(call.node(0), call.value(1), call.name)


def _transpose(call: TorchCall) -> Result:
    x = call.node(0)
    axes = list(range(len(call.builder.dimensions(x))))
    a, b = call.value(1, -2), call.value(2, -1)
    axes[a], axes[b] = axes[b], axes[a]
    return call.builder.permute(x, axes, call.name)


def _expand(call: TorchCall) -> Result:
    return call.builder.expand(call.node(0), call.dimensions, call.name)


def _slice(call: TorchCall) -> Result:
    stop = call.value(3)
    stop = None if stop is None or stop > 1 << 60 else stop
    return call.builder.slice(call.node(0), call.value(1, 0), call.value(2) or 0, stop, call.value(4, 1), call.name)


def _select(call: TorchCall) -> Result:
    return call.builder.select(call.node(0), call.value(1), call.value(2), call.name)


def _same(call: TorchCall) -> Result:
    return call.node(0)


def _copy(call: TorchCall) -> Result:
    """A copy; a change of type is an operation where whole numbers become others or the reverse."""
    kind = str(call.value(9, None, "dtype"))
    x = call.node(0)
    if "int" in kind:
        return call.builder.apply("to_int", [x], call.name)
    return call.builder.apply("to_bool", [x], call.name) if "bool" in kind else x


def _split(call: TorchCall) -> Result:
    """Parts of a dimension: of the sizes that are given, or of one size."""
    x, axis = call.node(0), call.value(2, 0, "dim")
    total = call.builder.dimensions(x)[axis]
    sizes = call.value(1)
    if isinstance(sizes, int):
        sizes = [min(sizes, total - k) for k in range(0, total, sizes)]
    return tuple(call.builder.split(x, axis, sizes, call.name))


def _unbind(call: TorchCall) -> Result:
    x, axis = call.node(0), call.value(1, 0, "dim")
    count = call.builder.dimensions(x)[axis]
    return tuple(call.builder.select(x, axis, k, f"{call.name}.{k}") for k in range(count))


def _cat(call: TorchCall) -> Result:
    parts = [call.computed(part) for part in call.value(0)]
    return call.builder.concat(parts, call.value(1, 0, "dim"), call.name)


def _stack(call: TorchCall) -> Result:
    axis = call.value(1, 0, "dim") % len(call.dimensions)
    parts = []
    for k, part in enumerate(call.value(0)):
        x = call.computed(part)
        old = call.builder.dimensions(x)
        parts.append(call.builder.reshape(x, (*old[:axis], 1, *old[axis:]), f"{call.name}.{k}"))
    return call.builder.concat(parts, axis, call.name)


def _repeat(call: TorchCall) -> Result:
    x, times = call.node(0), call.value(1)
    old = call.builder.dimensions(x)
    x = call.builder.reshape(x, (1,) * (len(times) - len(old)) + old, f"{call.name}.wide")
    return call.builder.tile(x, times, call.name)


def _pad(call: TorchCall) -> Result:
    x, widths = call.node(0), call.value(1)
    count = len(call.builder.dimensions(x))
    before, after = [0] * count, [0] * count
    for k in range(len(widths) // 2):
        before[count - 1 - k], after[count - 1 - k] = widths[2 * k], widths[2 * k + 1]
    return call.builder.pad(x, before, after, float(call.value(2, 0.0)), call.name)


def _flip(call: TorchCall) -> Result:
    x = call.node(0)
    for axis in call.value(1):
        x = call.builder.slice(x, axis, -1, None, -1, call.name)
    return x


def _embedding(call: TorchCall) -> Result:
    return call.builder.gather(call.node(0), call.node(1), 0, call.name)


def _index_select(call: TorchCall) -> Result:
    return call.builder.gather(call.node(0), call.node(2), call.value(1), call.name)


def _index(call: TorchCall) -> Result:
    """Take the elements that one tensor of positions names; several at once are refused."""
    places = call.value(1)
    axes = [k for k, place in enumerate(places) if place is not None]
    if len(axes) != 1:
        raise call.refuse("takes elements by several tensors of positions at once")
    return call.builder.gather(call.node(0), call.computed(places[axes[0]]), axes[0], call.name)


def _mm(call: TorchCall) -> Result:
    return call.builder.product(call.node(0), call.weights(1), call.name)


def _addmm(call: TorchCall) -> Result:
    """``beta b + alpha x W``; factors other than 1 are refused."""
    if call.value(3, 1, "beta") != 1 or call.value(4, 1, "alpha") != 1:
        raise call.refuse("has factors other than 1")
    product = call.builder.product(call.node(1), call.weights(2), call.name)
    return call.builder.add_bias(product, call.node(0), call.name)


def _linear(call: TorchCall) -> Result:
    weight = call.node(1)
    product = call.builder.product(call.node(0), call.builder.permute(weight, (1, 0), f"{call.name}.weight"), call.name)
    return product if call.value(2) is None else call.builder.add_bias(product, call.node(2), call.name)


def _normalised(call: TorchCall, scale: int, **parameters: float) -> str:
    """A norm whose scale is an argument and whose shift is the next one; either may be missing."""
    x = call.node(0)
    given = [None if call.value(k) is None else call.computed(call.value(k)) for k in (scale, scale + 1)]
    return call.builder.normalise(x, given, call.name, **parameters)


def _layer_norm(call: TorchCall) -> Result:
    """Normalise over the last dimensions; scale and shift may be missing."""
    return (_normalised(call, 2, axes=len(call.value(1)), eps=float(call.value(4, 1e-5))),)


def _rms_norm(call: TorchCall) -> Result:
    """Scale by the root of the mean square over the last dimensions."""
    eps = call.value(3)
    operands = [call.node(0), *([] if call.value(2) is None else [call.node(2)])]
    flags = {"scale": int(call.value(2) is not None), "rms": 1}
    how = encode_parameters(axes=len(call.value(1)), eps=1.1920929e-07 if eps is None else float(eps), **flags)
    return call.builder.along("norm", None, operands, call.name, how)


def _fused_rms_norm(call: TorchCall) -> Result:
    """The same with a second result, which nothing reads while a network runs forward."""
    return (_rms_norm(call),)


def _group_norm(call: TorchCall) -> Result:
    return (_normalised(call, 1, groups=call.value(6), eps=float(call.value(7))),)


def _batch_norm(call: TorchCall) -> Result:
    """Scale and shift channel by channel, with the statistics of training."""
    if call.value(1) is None or call.value(2) is None:
        raise call.refuse("normalises without scale and shift (affine=False)")
    operands = [call.node(k) for k in range(5)]
    how = encode_parameters(eps=float(call.value(6)))
    return (call.builder.along("elementwise", "batch_norm", operands, call.name, how),)


def _instance_norm(call: TorchCall) -> Result:
    """Normalise each channel of each sample by itself; torch writes samples and channels as the channels of one."""
    samples, channels, *_ = call.builder.dimensions(call.node(0))
    if samples != 1 or isinstance(call.value(4), bool):
        raise call.refuse("normalises by the statistics of a batch")
    return (_normalised(call, 1, groups=channels, eps=float(call.value(5))),)


def _softmax(call: TorchCall) -> Result:
    return call.builder.along("softmax", None, [call.node(0)], call.name, encode_parameters(axis=call.value(1)))


def _log_softmax(call: TorchCall) -> Result:
    made = call.builder.along("softmax", None, [call.node(0)], call.name, encode_parameters(axis=call.value(1)))
    return call.builder.apply("log", [made], f"{call.name}.log")


def _reduce(label: str) -> Callable[[TorchCall], Result]:
    """A reduction over the dimensions of argument 1, which stay where argument 2 says so."""

    def run(call: TorchCall) -> Result:
        axes = call.value(1, None, "dim")
        axes = [] if axes is None else [axes] if isinstance(axes, int) else list(axes)
        return call.builder.reduce(label, call.node(0), axes, bool(call.value(2, False, "keepdim")), call.name)

    return run


def _extreme(label: str) -> Callable[[TorchCall], Result]:
    """The largest or smallest element: of two tensors, of all, or along a dimension, where positions are not told."""

    def run(call: TorchCall) -> Result:
        axis, b = call.value(1, None, "dim"), call.builder
        if axis is None:
            return b.reduce(label, call.node(0), [], False, call.name)
        if isinstance(axis, int):
            return (b.reduce(label, call.node(0), [axis], bool(call.value(2, False, "keepdim")), call.name),)
        return b.apply(label, [call.node(0), call.node(1)], call.name)

    return run


def _vector_norm(call: TorchCall) -> Result:
    """The length of vectors: the root of the sum of squares, the sum of magnitudes, or the largest magnitude."""
    order, axes, keep = call.value(1, 2, "ord"), call.value(2, None, "dim"), bool(call.value(3, False, "keepdim"))
    x, b, name = call.node(0), call.builder, call.name
    axes = [axes] if isinstance(axes, int) else axes or []
    if order == 2:
        total = b.reduce("sum", b.apply("mul", [x, x], f"{name}.squares"), axes, keep, f"{name}.sum")
        return b.apply("sqrt", [total], name)
    labels = {1: "sum", float("inf"): "max", float("-inf"): "min"}
    if order not in labels:
        raise call.refuse(f"has order {order}")
    return b.reduce(labels[order], b.apply("abs", [x], f"{name}.abs"), axes, keep, name)


def _running_sum(call: TorchCall) -> Result:
    """The sum of all elements up to each one: a product with a triangle of ones."""
    x, axis = call.node(0), call.value(1, None, "dim")
    size = call.builder.dimensions(x)[axis]
    return along_axis(call.builder, x, axis, np.tri(size, dtype=np.float32), call.name)


def _variance(call: TorchCall) -> Result:
    less = call.value(9, 1, "correction")
    keep = bool(call.value(9, False, "keepdim"))
    axes = call.value(1, None, "dim") or []
    return call.builder.reduce("variance", call.node(0), axes, keep, call.name, less=1 if less is None else int(less))


def _one(label: str) -> Callable[[TorchCall], Result]:
    """An operation on each element of one tensor."""
    return lambda call: call.builder.apply(label, [call.node(0)], call.name)


def _two(label: str, *, swapped: bool = False) -> Callable[[TorchCall], Result]:
    """An operation on the elements of two tensors, or of a tensor and a number; a factor of the second is applied."""

    def run(call: TorchCall) -> Result:
        operands = [call.node(0), call.node(1)]
        alpha = call.value(9, 1, "alpha")
        if alpha != 1:
            operands[1] = call.builder.apply("mul", [operands[1], call.computed(alpha)], f"{call.name}.alpha")
        return call.builder.apply(label, operands[::-1] if swapped else operands, call.name)

    return run


def _divide(call: TorchCall) -> Result:
    """A quotient, rounded where the call says so."""
    rounding = call.value(9, None, "rounding_mode")
    label = "floor_div" if rounding == "floor" else "div"
    made = call.builder.apply(label, [call.node(0), call.node(1)], call.name)
    return call.builder.apply("trunc", [made], f"{call.name}.whole") if rounding == "trunc" else made


def _elu(call: TorchCall) -> Result:
    """Exponential linear units; the two factors around are those of SELU."""
    names = ("alpha", "scale", "input_scale")
    how = encode_parameters(**{key: float(call.value(k, 1.0, key)) for k, key in enumerate(names, 1)})
    return call.builder.apply("elu", [call.node(0)], call.name, how)


def _gelu(call: TorchCall) -> Result:
    how = "tanh=1" if call.value(9, "none", "approximate") == "tanh" else ""
    return call.builder.apply("gelu", [call.node(0)], call.name, how)


def _clip(call: TorchCall) -> Result:
    limits = {"low": call.value(1, None, "min"), "high": call.value(2, None, "max")}
    how = encode_parameters(**{key: float(value) for key, value in limits.items() if value is not None})
    return call.builder.apply("clip", [call.node(0)], call.name, how)


def _leaky(call: TorchCall) -> Result:
    return call.builder.apply("leaky_relu", [call.node(0)], call.name, f"slope={float(call.value(1, 0.01))}")


def _where(call: TorchCall) -> Result:
    return call.builder.apply("select", [call.node(0), call.node(1), call.node(2)], call.name)


def _masked_fill(call: TorchCall) -> Result:
    return call.builder.apply("select", [call.node(1), call.node(2), call.node(0)], call.name)


def _filled(number: float | None) -> Callable[[TorchCall], Result]:
    """A tensor of one number, like another: nothing that is computed."""

    def run(call: TorchCall) -> Result:
        given = call.value(1) if number is None else number
        return call.builder.expand(call.computed(given), call.dimensions, call.name)

    return run


OPERATORS: Final[dict[str, Callable[[TorchCall], Result]]] = {
    **dict.fromkeys(("view", "reshape", "_unsafe_view", "unsqueeze", "squeeze", "flatten", "unflatten"), _reshape),
    **dict.fromkeys(("clone", "contiguous", "alias", "detach", "dropout", "lift_fresh_copy"), _same),
    **dict.fromkeys(("_to_copy", "to"), _copy),
    **dict.fromkeys(("split", "split_with_sizes"), _split),
    **dict.fromkeys(("mm", "bmm", "matmul"), _mm),
    **dict.fromkeys(("addmm", "baddbmm"), _addmm),
    **dict.fromkeys(("native_layer_norm", "layer_norm"), _layer_norm),
    **dict.fromkeys(("_softmax", "softmax", "_safe_softmax"), _softmax),
    **dict.fromkeys(("hardtanh", "clamp"), _clip),
    "permute": _permute, "transpose": _transpose, "t": _transpose, "expand": _expand, "slice": _slice,
    "select": _select, "unbind": _unbind, "cat": _cat, "stack": _stack, "repeat": _repeat, "constant_pad_nd": _pad,
    "flip": _flip, "embedding": _embedding, "index_select": _index_select, "index": _index, "linear": _linear,
    "_fused_rms_norm": _fused_rms_norm, "rms_norm": _rms_norm, "native_group_norm": _group_norm,
    "_native_batch_norm_legit": _instance_norm,
    "_native_batch_norm_legit_no_training": _batch_norm, "_log_softmax": _log_softmax,
    "mean": _reduce("mean"), "sum": _reduce("sum"), "amax": _reduce("max"), "amin": _reduce("min"),
    "any": _reduce("any"), "prod": _reduce("product"), "var": _variance,
    "max": _extreme("max"), "min": _extreme("min"), "linalg_vector_norm": _vector_norm, "cumsum": _running_sum,
    "elu": _elu, "gelu": _gelu, "leaky_relu": _leaky, "where": _where,
    "masked_fill": _masked_fill, "full_like": _filled(None), "zeros_like": _filled(0.0), "ones_like": _filled(1.0),
    "relu": _one("relu"), "tanh": _one("tanh"), "sigmoid": _one("sigmoid"), "silu": _one("silu"), "exp": _one("exp"),
    "log": _one("log"), "neg": _one("neg"), "sqrt": _one("sqrt"), "rsqrt": _one("rsqrt"), "erf": _one("erf"),
    "reciprocal": _one("reciprocal"), "cos": _one("cos"), "sin": _one("sin"), "abs": _one("abs"),
    "logical_not": _one("not"), "bitwise_not": _one("not"), "floor": _one("floor"), "ceil": _one("ceil"),
    "trunc": _one("trunc"), "round": _one("round"), "sign": _one("sign"), "log1p": _one("log1p"), "log2": _one("log2"),
    "log10": _one("log10"), "expm1": _one("expm1"), "exp2": _one("exp2"), "tan": _one("tan"), "atan": _one("atan"),
    "asin": _one("asin"), "acos": _one("acos"), "sinh": _one("sinh"), "cosh": _one("cosh"), "erfc": _one("erfc"),
    "remainder": _two("remainder"), "fmod": _two("fmod"), "atan2": _two("atan2"), "logical_xor": _two("not_equal"),
    "add": _two("add"), "sub": _two("sub"), "rsub": _two("sub", swapped=True), "mul": _two("mul"), "div": _divide,
    "pow": _two("pow"), "maximum": _two("max"), "minimum": _two("min"), "eq": _two("equal"), "ne": _two("not_equal"),
    "lt": _two("less"), "le": _two("less_equal"), "gt": _two("greater"), "ge": _two("greater_equal"),
    "logical_and": _two("and"), "logical_or": _two("or"), "bitwise_and": _two("and"), "bitwise_or": _two("or"),
}  # fmt: skip
