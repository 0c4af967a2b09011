"""What the operators of ONNX become: a function for each, in one table.

Operators on pictures and recurrent layers have files of their own, `onnx_pictures` and `onnx_recurrent`.

A function gets the call of an operator and returns its results, first one first. Inputs are nodes or static values;
parameters that ONNX passes as tensors (shapes, axes, pads) must be static.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from gridloom.errors import SourceError
from gridloom.targets.dataflow.frontend.graph import Shape
from gridloom.targets.dataflow.frontend.operations import OperationBuilder
from gridloom.targets.dataflow.frontend.resampling import along_axis
from gridloom.targets.dataflow.frontend.statics import Operands, Static
from gridloom.targets.dataflow.program.parameters import encode_parameters

Value = str | Static


@dataclass(frozen=True, kw_only=True)
class OnnxCall:
    """A call of an operator: inputs that are missing are None."""

    builder: OperationBuilder
    operands: Operands
    op: str
    name: str
    inputs: Sequence[Value | None]
    attributes: dict[str, Any]
    #: The version of the operator set.
    version: int
    results: int

    def node(self, k: int) -> str:
        """Return an input as a node."""
        value = self.inputs[k]
        if value is None:
            raise self.refuse(f"has no input {k}")
        return self.operands.node(value)

    def has(self, k: int) -> bool:
        """Return whether there is an input k."""
        return k < len(self.inputs) and self.inputs[k] is not None

    def numbers(self, k: int, attribute: str) -> list[int] | None:
        """Return a parameter that newer versions pass as input k and older ones as an attribute; None for neither."""
        if self.has(k):
            value = self.inputs[k]
            if not isinstance(value, Static):
                raise self.refuse(f"computes its {attribute} from the inputs")
            return value.numbers()
        found = self.attributes.get(attribute)
        return None if found is None else [int(item) for item in (found if isinstance(found, list) else [found])]

    def size(self, k: int) -> Shape:
        """Return the dimensions of an input."""
        value = self.inputs[k]
        if isinstance(value, Static):
            return value.dimensions
        return self.builder.dimensions(self.node(k))

    def refuse(self, why: str) -> SourceError:
        """Return the error for a call that is not lowered."""
        return SourceError(f"operator {self.op!r} ({self.name}) {why}, which is not lowered", where=self.builder.name)


Results = Sequence[Value]


def _same(call: OnnxCall) -> Results:
    return [call.node(0)]


def _cast(call: OnnxCall) -> Results:
    """A change of type; one of floating-point types changes nothing here."""
    label = {6: "to_int", 7: "to_int", 9: "to_bool"}.get(call.attributes["to"])
    x = call.node(0)
    return [x if label is None else call.builder.apply(label, [x], call.name)]


def _matmul(call: OnnxCall) -> Results:
    right = call.inputs[1]
    if right is None:
        raise call.refuse("has one input")
    return [call.builder.product(call.node(0), call.operands.matrix(right), call.name)]


def _turned(call: OnnxCall, k: int, turn: bool) -> str:
    """A matrix that is given the other way round."""
    value = call.inputs[k]
    if turn and isinstance(value, Static):
        value = Static(value.name, value.dimensions[::-1], None if value.value is None else value.value.T)
        return call.operands.node(value)
    return call.builder.permute(call.node(k), (1, 0), f"{call.name}.turned") if turn else call.node(k)


def _gemm(call: OnnxCall) -> Results:
    """``alpha A B + beta C``; factors other than 1 are operations of their own."""
    a, b = (_turned(call, k, bool(call.attributes.get(key))) for k, key in ((0, "transA"), (1, "transB")))
    made = call.builder.product(a, b, call.name)
    if call.attributes.get("alpha", 1.0) != 1.0:
        factor = call.builder.number(call.attributes["alpha"])
        made = call.builder.apply("mul", [made, factor], f"{call.name}.alpha")
    if not call.has(2):
        return [made]
    bias = call.node(2)
    if call.attributes.get("beta", 1.0) != 1.0:
        factor = call.builder.number(call.attributes["beta"])
        bias = call.builder.apply("mul", [bias, factor], f"{call.name}.beta")
    return [call.builder.add_bias(made, bias, call.name)]


def _batch_norm(call: OnnxCall) -> Results:
    how = encode_parameters(eps=float(call.attributes.get("epsilon", 1e-5)))
    operands = [call.node(k) for k in range(5)]
    return [call.builder.along("elementwise", "batch_norm", operands, call.name, how)]


def _normalised(call: OnnxCall, **parameters: float) -> str:
    """A norm with a scale and a shift, inputs 1 and 2, either of which may be missing."""
    x, given = call.node(0), [call.node(k) if call.has(k) else None for k in (1, 2)]
    eps = float(call.attributes.get("epsilon", 1e-5))
    return call.builder.normalise(x, given, call.name, **parameters, eps=eps)


def _layer_norm(call: OnnxCall) -> Results:
    axis = call.attributes.get("axis", -1)
    return [_normalised(call, axes=len(call.size(0)) - axis % len(call.size(0)))]


def _rms_norm(call: OnnxCall) -> Results:
    axis = call.attributes.get("axis", -1)
    how = encode_parameters(
        axes=len(call.size(0)) - axis % len(call.size(0)), eps=float(call.attributes.get("epsilon", 1e-5)),
        scale=1, rms=1,
    )  # fmt: skip
    return [call.builder.along("norm", None, [call.node(0), call.node(1)], call.name, how)]


def _group_norm(call: OnnxCall) -> Results:
    return [_normalised(call, groups=call.attributes["num_groups"])]


def _instance_norm(call: OnnxCall) -> Results:
    """A norm of each channel by itself."""
    return [_normalised(call, groups=call.size(0)[1])]


def _softmax(call: OnnxCall) -> Results:
    axis = call.attributes.get("axis", -1 if call.version >= 13 else 1)
    if call.version < 13 and axis % len(call.size(0)) != len(call.size(0)) - 1:
        raise call.refuse("runs over several dimensions (a version before 13)")
    made = call.builder.along("softmax", None, [call.node(0)], call.name, encode_parameters(axis=axis))
    return [call.builder.apply("log", [made], f"{call.name}.log") if call.op == "LogSoftmax" else made]


def _reshape(call: OnnxCall) -> Results:
    old, new = call.size(0), call.numbers(1, "shape") or []
    keep = not call.attributes.get("allowzero")
    shape = tuple(old[k] if size == 0 and keep else size for k, size in enumerate(new))
    return [call.builder.reshape(call.node(0), shape, call.name)]


def _flatten(call: OnnxCall) -> Results:
    old, axis = call.size(0), call.attributes.get("axis", 1)
    rows = 1
    for size in old[: axis % (len(old) + 1) if axis < 0 else axis]:
        rows *= size
    return [call.builder.reshape(call.node(0), (rows, -1), call.name)]


def _squeeze(call: OnnxCall) -> Results:
    old, axes = call.size(0), call.numbers(1, "axes")
    gone = {axis % len(old) for axis in axes} if axes else {k for k, size in enumerate(old) if size == 1}
    return [call.builder.reshape(call.node(0), tuple(s for k, s in enumerate(old) if k not in gone), call.name)]


def _unsqueeze(call: OnnxCall) -> Results:
    old, axes = call.size(0), call.numbers(1, "axes") or []
    count = len(old) + len(axes)
    new, rest = {axis % count for axis in axes}, iter(old)
    return [call.builder.reshape(call.node(0), tuple(1 if k in new else next(rest) for k in range(count)), call.name)]


def _transpose(call: OnnxCall) -> Results:
    axes = call.attributes.get("perm") or list(range(len(call.size(0))))[::-1]
    return [call.builder.permute(call.node(0), axes, call.name)]


def _expand(call: OnnxCall) -> Results:
    wanted = call.numbers(1, "shape") or []
    old = call.size(0)
    count = max(len(old), len(wanted))
    wide = tuple([1] * (count - len(wanted)) + wanted)
    return [call.builder.expand(call.node(0), wide, call.name)]


def _slice(call: OnnxCall) -> Results:
    x = call.node(0)
    starts, stops = call.numbers(1, "starts") or [], call.numbers(2, "ends") or []
    axes = call.numbers(3, "axes") or list(range(len(starts)))
    steps = call.numbers(4, "steps") or [1] * len(starts)
    for start, stop, axis, step in zip(starts, stops, axes, steps):
        far = abs(stop) > 1 << 30
        x = call.builder.slice(x, axis, start, None if far else stop, step, call.name)
    return [x]


def _concat(call: OnnxCall) -> Results:
    parts = [call.node(k) for k in range(len(call.inputs))]
    return [call.builder.concat(parts, call.attributes["axis"], call.name)]


def _split(call: OnnxCall) -> Results:
    axis = call.attributes.get("axis", 0)
    total = call.size(0)[axis]
    each = -(-total // call.results)
    sizes = call.numbers(1, "split") or [min(each, total - k) for k in range(0, total, each)]
    return call.builder.split(call.node(0), axis, sizes, call.name)


def _gather(call: OnnxCall) -> Results:
    """Rows of a table; a single position is a part of the tensor."""
    axis, places = call.attributes.get("axis", 0), call.inputs[1]
    if isinstance(places, Static) and places.dimensions == () and places.value is not None:
        return [call.builder.select(call.node(0), axis, places.numbers()[0], call.name)]
    return [call.builder.gather(call.node(0), call.node(1), axis, call.name)]


def _pad(call: OnnxCall) -> Results:
    mode = call.attributes.get("mode", b"constant")
    if mode not in (b"constant", "constant"):
        raise call.refuse(f"pads by mode {mode!r}")
    count = len(call.size(0))
    pads = call.numbers(1, "pads") or [0] * 2 * count
    axes = [axis % count for axis in (call.numbers(3, "axes") or range(count))]
    before, after = [0] * count, [0] * count
    for k, axis in enumerate(axes):
        before[axis], after[axis] = pads[k], pads[len(axes) + k]
    value = call.inputs[2] if call.has(2) else None
    known = float(value.value.reshape(-1)[0]) if isinstance(value, Static) and value.value is not None else 0.0
    return [call.builder.pad(call.node(0), before, after, known, call.name)]


def _tile(call: OnnxCall) -> Results:
    return [call.builder.tile(call.node(0), call.numbers(1, "repeats") or [], call.name)]


def _reduce(label: str) -> Callable[[OnnxCall], Results]:
    """A reduction; its axes come as an input or as an attribute."""

    def run(call: OnnxCall) -> Results:
        axes = call.numbers(1, "axes")
        if not axes and call.attributes.get("noop_with_empty_axes"):
            return [call.node(0)]
        return [
            call.builder.reduce(label, call.node(0), axes or [], bool(call.attributes.get("keepdims", 1)), call.name)
        ]

    return run


def _apply(label: str) -> Callable[[OnnxCall], Results]:
    """An operation on each element of its inputs; more than two are taken one after the other."""

    def run(call: OnnxCall) -> Results:
        nodes = [call.node(k) for k in range(len(call.inputs)) if call.has(k)]
        while len(nodes) > 2 and label != "select":
            nodes[:2] = [call.builder.apply(label, nodes[:2], call.name)]
        return [call.builder.apply(label, nodes, call.name)]

    return run


def _gelu(call: OnnxCall) -> Results:
    how = "tanh=1" if call.attributes.get("approximate") in (b"tanh", "tanh") else ""
    return [call.builder.apply("gelu", [call.node(0)], call.name, how)]


def _clip(call: OnnxCall) -> Results:
    limits: dict[str, float] = {}
    for k, (key, attribute) in enumerate((("low", "min"), ("high", "max")), 1):
        value = call.inputs[k] if call.has(k) else call.attributes.get(attribute)
        if isinstance(value, str):
            raise call.refuse("computes its limits from the inputs")
        if isinstance(value, Static):
            value = None if value.value is None else value.value.reshape(-1)[0]
        if value is not None:
            limits[key] = float(value)
    return [call.builder.apply("clip", [call.node(0)], call.name, encode_parameters(**limits))]


def _elu(call: OnnxCall) -> Results:
    """Exponential linear units: Elu, and Selu with its two factors."""
    selu = call.op == "Selu"
    alpha = call.attributes.get("alpha", 1.6732632423543772 if selu else 1.0)
    scale = call.attributes.get("gamma", 1.0507009873554805) if selu else 1.0
    inner = 1 / alpha if call.op == "Celu" else 1.0
    how = encode_parameters(alpha=float(alpha), scale=float(scale), input_scale=float(inner))
    return [call.builder.apply("elu", [call.node(0)], call.name, how)]


def _prelu(call: OnnxCall) -> Results:
    """x above zero, and below it x times a slope that is a tensor."""
    b, x = call.builder, call.node(0)
    below = b.apply("mul", [b.apply("min", [x, b.number(0)], f"{call.name}.below"), call.node(1)], f"{call.name}.slope")
    return [b.apply("add", [b.apply("relu", [x], f"{call.name}.above"), below], call.name)]


def _hard_sigmoid(call: OnnxCall) -> Results:
    """A sigmoid of three lines; HardSwish is x times one of slope 1/6."""
    b, x, swish = call.builder, call.node(0), call.op == "HardSwish"
    slope, middle = (1 / 6, 0.5) if swish else (call.attributes.get("alpha", 0.2), call.attributes.get("beta", 0.5))
    line = b.apply("mul", [x, b.number(float(slope))], f"{call.name}.slope")
    line = b.apply("add", [line, b.number(float(middle))], f"{call.name}.line")
    gate = b.apply("clip", [line], f"{call.name}.gate", encode_parameters(low=0.0, high=1.0))
    return [b.apply("mul", [x, gate], call.name) if swish else gate]


def _mish(call: OnnxCall) -> Results:
    b, x = call.builder, call.node(0)
    soft = b.apply("tanh", [b.apply("softplus", [x], f"{call.name}.softplus")], f"{call.name}.tanh")
    return [b.apply("mul", [x, soft], call.name)]


def _mod(call: OnnxCall) -> Results:
    label = "fmod" if call.attributes.get("fmod") else "remainder"
    return [call.builder.apply(label, [call.node(0), call.node(1)], call.name)]


def _running_sum(call: OnnxCall) -> Results:
    """The sum of all elements up to each one: a product with a triangle of ones."""
    axes = call.numbers(1, "axis")
    if not axes or call.attributes.get("exclusive") or call.attributes.get("reverse"):
        raise call.refuse("leaves each element out, or sums from the end")
    triangle = np.tri(call.size(0)[axes[0]], dtype=np.float32)
    return [along_axis(call.builder, call.node(0), axes[0], triangle, call.name)]


def _vector_norm(before: str, after: str) -> Callable[[OnnxCall], Results]:
    """A sum of squares or magnitudes, and its root or logarithm where ``after`` names one."""

    def run(call: OnnxCall) -> Results:
        b, x = call.builder, call.node(0)
        operands = [x, x] if before == "mul" else [x]
        made = b.apply(before, operands, f"{call.name}.{before}")
        keep = bool(call.attributes.get("keepdims", 1))
        total = b.reduce("sum", made, call.numbers(1, "axes") or [], keep, f"{call.name}.sum")
        return [b.apply(after, [total], call.name) if after else total]

    return run


def _leaky(call: OnnxCall) -> Results:
    return [call.builder.apply("leaky_relu", [call.node(0)], call.name, f"slope={call.attributes.get('alpha', 0.01)}")]


OPERATORS: Final[dict[str, Callable[[OnnxCall], Results]]] = {
    **dict.fromkeys(("Identity", "Dropout"), _same),
    **dict.fromkeys(("Softmax", "LogSoftmax"), _softmax),
    "Cast": _cast, "MatMul": _matmul, "Gemm": _gemm,
    "BatchNormalization": _batch_norm, "LayerNormalization": _layer_norm, "RMSNormalization": _rms_norm,
    "GroupNormalization": _group_norm, "InstanceNormalization": _instance_norm,
    "Reshape": _reshape, "Flatten": _flatten, "Squeeze": _squeeze,
    "Unsqueeze": _unsqueeze, "Transpose": _transpose, "Expand": _expand, "Slice": _slice, "Concat": _concat,
    "Split": _split, "Gather": _gather, "Pad": _pad, "Tile": _tile, "Gelu": _gelu, "Clip": _clip,
    "LeakyRelu": _leaky, "ReduceMean": _reduce("mean"), "ReduceSum": _reduce("sum"), "ReduceMax": _reduce("max"),
    "ReduceMin": _reduce("min"), "ReduceProd": _reduce("product"), "ReduceL1": _vector_norm("abs", ""),
    "ReduceL2": _vector_norm("mul", "sqrt"), "ReduceSumSquare": _vector_norm("mul", ""),
    "ReduceLogSumExp": _vector_norm("exp", "log"), "CumSum": _running_sum, "PRelu": _prelu, "Mish": _mish, "Mod": _mod,
    **dict.fromkeys(("Elu", "Selu", "Celu"), _elu),
    **dict.fromkeys(("HardSigmoid", "HardSwish"), _hard_sigmoid),
    **{op: _apply(label) for op, label in {
        "Relu": "relu", "Tanh": "tanh", "Sigmoid": "sigmoid", "Add": "add", "Sub": "sub", "Mul": "mul", "Div": "div",
        "Exp": "exp", "Log": "log", "Neg": "neg", "Pow": "pow", "Sqrt": "sqrt", "Reciprocal": "reciprocal",
        "Erf": "erf", "Cos": "cos", "Sin": "sin", "Abs": "abs", "Where": "select", "Sum": "add", "Max": "max",
        "Min": "min", "Equal": "equal", "Less": "less", "LessOrEqual": "less_equal", "Greater": "greater",
        "GreaterOrEqual": "greater_equal", "And": "and", "Or": "or", "Not": "not", "Floor": "floor", "Swish": "silu",
        "Ceil": "ceil", "Round": "round", "Sign": "sign", "Softplus": "softplus", "Softsign": "softsign", "Tan": "tan",
        "Atan": "atan", "Asin": "asin", "Acos": "acos", "Sinh": "sinh", "Cosh": "cosh",
    }.items()},
}  # fmt: skip
