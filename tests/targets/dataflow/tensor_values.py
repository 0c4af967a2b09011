"""What the operations of a tensor graph compute, in numpy: the one place where their meaning stands.

A node's op and label name the operation, and its ``how`` holds the parameters as ``key=value;key=value``, where a value
is a number or several with commas. Graphs of the front ends for PyTorch and ONNX say everything that is needed;
the built-in networks have shapes only and cannot be run. Arithmetic is in single precision.

``transpose`` nodes move elements and compute nothing: ``reshape``, ``permute``, ``expand``, ``slice``, ``concat``,
``pad``, ``tile``, ``gather`` (rows of a table) and ``windows`` (what a convolution reads for each of its results).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from math import erf
from typing import Any, Final

import numpy as np

from gridloom.errors import DfgError
from gridloom.targets.dataflow.program.model import TensorOperation, TensorProgram
from gridloom.targets.dataflow.program.parameters import Parameters, Tensor, parameters_of


def run_values(dfg: TensorProgram, inputs: Mapping[str, Tensor], weights: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """Return the value of every node of a tensor graph, by its id.

    ``inputs`` are the values of the ``input`` nodes and ``weights`` those of the live-ins, both by node id. DfgError
    where one is missing, and for an operation whose values are not defined. Costs the operations of the graph.
    """
    values: dict[str, Tensor] = {}
    for k in dfg.topological:
        node = dfg.nodes[k]
        operands = [values[dfg.edges[e].source] for e in dfg.operand_edges(node.id)]
        values[node.id] = node_value(node, operands, inputs, weights)
    return values


def node_value(
    node: TensorOperation, operands: list[Tensor], inputs: Mapping[str, Tensor], weights: Mapping[str, Tensor]
) -> Tensor:
    """Return the value of one node, given those of its operands. DfgError where it has none."""
    where = f"node {node.id!r}"
    if node.op in ("input", "livein"):
        given = inputs if node.op == "input" else weights
        if node.id not in given:
            kind = "input" if node.op == "input" else "weight"
            raise DfgError(
                f"has no value: expected one for each {kind}, found {', '.join(sorted(given)) or 'none'}", where=where
            )
        return np.asarray(given[node.id])
    if node.op == "const":
        return np.asarray(node.value)
    if node.op == "output":
        return operands[0]
    function = _FUNCTIONS.get((node.op, node.label or "")) or _FUNCTIONS.get((node.op, ""))
    if function is None:
        raise DfgError(f"{node.op} {node.label or ''!r} has shapes but no values", where=where)
    try:
        with np.errstate(all="ignore"):
            return _single(function(operands, parameters_of(node)))
    except (ValueError, IndexError, KeyError, TypeError) as error:
        raise DfgError(f"{node.label or node.op} does not fit its operands: {error}", where=where) from None


def _single(value: Tensor) -> Tensor:
    """Return a value in single precision, unless it is of whole numbers or truth values."""
    return value.astype(np.float32, copy=False) if value.dtype.kind == "f" else value


def _ints(parameters: Parameters, key: str) -> tuple[int, ...]:
    """Return a parameter that consists of whole numbers."""
    return tuple(int(value) for value in parameters[key])


# -- views -------------------------------------------------------------------------------------------------------------


def _slice(operands: list[Tensor], p: Parameters) -> Tensor:
    """Return every step-th element along one axis; a stop that is missing is the end."""
    axis, start, step = int(p["axis"][0]), int(p["start"][0]), int(p["step"][0])
    stop = int(p["stop"][0]) if "stop" in p else None
    index = [slice(None)] * operands[0].ndim
    index[axis] = slice(start, stop, step)
    return operands[0][tuple(index)]


def _pad(operands: list[Tensor], p: Parameters) -> Tensor:
    """Return a tensor with a constant around it; ``before`` and ``after`` are for each axis."""
    widths = list(zip(_ints(p, "before"), _ints(p, "after")))
    return np.pad(operands[0], widths, constant_values=p["value"][0])


def windows(x: Tensor, p: Parameters, fill: float = 0.0) -> Tensor:
    """Return the windows that a convolution or a pooling reads: (samples, channels, *results, *kernel).

    ``x`` is (samples, channels, *sizes); ``kernel``, ``stride``, ``dilation``, ``before`` and ``after`` (the padding)
    have a number for each of the sizes.
    """
    kernel, stride, dilation = (_ints(p, key) for key in ("kernel", "stride", "dilation"))
    padding = [(0, 0), (0, 0), *zip(_ints(p, "before"), _ints(p, "after"))]
    padded = np.pad(x, padding, constant_values=fill)
    reach = tuple(d * (k - 1) + 1 for k, d in zip(kernel, dilation))
    axes = tuple(range(2, x.ndim))
    seen = np.lib.stride_tricks.sliding_window_view(padded, reach, axes)
    index = [
        slice(None),
        slice(None),
        *(slice(None, None, s) for s in stride),
        *(slice(None, None, d) for d in dilation),
    ]
    return seen[tuple(index)]


def _columns(operands: list[Tensor], p: Parameters) -> Tensor:
    """Return the windows as rows of a matrix, (results, channels * kernel), with an axis of groups where there are."""
    seen = windows(operands[0], p)
    sizes = (seen.ndim - 2) // 2
    samples, channels, *rest = seen.shape
    results, kernel = rest[:sizes], rest[sizes:]
    groups = int(p["groups"][0])
    seen = seen.reshape(samples, groups, channels // groups, *results, *kernel)
    order = (1, 0, *range(3, 3 + sizes), 2, *range(3 + sizes, 3 + 2 * sizes))
    matrix = seen.transpose(order).reshape(groups, int(np.prod([samples, *results])), -1)
    return matrix if groups > 1 else matrix[0]


# -- vector operations -------------------------------------------------------------------------------------------------

_erf: Final = np.vectorize(erf, otypes=[np.float64])


def _gelu(operands: list[Tensor], p: Parameters) -> Tensor:
    """Return the Gaussian error linear unit, exact or (``tanh=1``) by the usual approximation."""
    x = operands[0].astype(np.float64)
    if p.get("tanh"):
        return np.asarray(0.5 * x * (1 + np.tanh(np.sqrt(2 / np.pi) * (x + 0.044715 * x**3))), dtype=np.float32)
    return np.asarray(0.5 * x * (1 + _erf(x / np.sqrt(2))), dtype=np.float32)


def _sigmoid(x: Tensor) -> Tensor:
    """Return the logistic function, without overflow for large negative numbers."""
    return np.asarray(np.where(x >= 0, 1 / (1 + np.exp(-np.abs(x))), np.exp(-np.abs(x)) / (1 + np.exp(-np.abs(x)))))


def _softmax(operands: list[Tensor], p: Parameters) -> Tensor:
    """Return the softmax along ``axis``; where all elements are minus infinity, zeros."""
    x, axis = operands[0], int(p.get("axis", [-1])[0])
    top = x.max(axis=axis, keepdims=True)
    raised = np.exp(x - np.where(np.isfinite(top), top, 0))
    total = raised.sum(axis=axis, keepdims=True)
    return np.asarray(raised / np.where(total == 0, 1, total))


def _norm(operands: list[Tensor], p: Parameters) -> Tensor:
    """Return a tensor with mean 0 and variance 1 over its last ``axes`` axes, then scaled and shifted.

    With ``groups``, the axes are those of a group of channels (axis 1) and all after it. With ``rms=1`` the mean stays.
    """
    x = operands[0]
    groups = int(p.get("groups", [0])[0])
    shaped = x.reshape(x.shape[0], groups, -1) if groups else x
    axes = (2,) if groups else tuple(range(x.ndim - int(p["axes"][0]), x.ndim))
    mean = 0 if p.get("rms") else shaped.mean(axis=axes, keepdims=True, dtype=np.float64)
    spread = ((shaped - mean) ** 2).mean(axis=axes, keepdims=True, dtype=np.float64)
    result = ((shaped - mean) / np.sqrt(spread + p["eps"][0])).reshape(x.shape).astype(np.float32)
    along = (-1, *[1] * (x.ndim - 2)) if groups else None
    at = 1
    for key in ("scale", "shift"):
        if p.get(key, [0])[0]:
            other = operands[at] if along is None else operands[at].reshape(along)
            result = result * other if key == "scale" else result + other
            at += 1
    return np.asarray(result)


def _batch_norm(operands: list[Tensor], p: Parameters) -> Tensor:
    """Return x scaled and shifted channel by channel (axis 1): operands are x, scale, shift, mean and variance."""
    x = operands[0]
    scale, shift, mean, variance = (o.reshape(-1, *[1] * (x.ndim - 2)).astype(np.float64) for o in operands[1:5])
    factor = scale / np.sqrt(variance + p["eps"][0])
    return np.asarray(x * factor + (shift - mean * factor), dtype=np.float32)


def _reduce(function: Callable[..., Any]) -> Callable[[list[Tensor], Parameters], Tensor]:
    """Return an operation that takes the sum, mean, ... over ``axes``; ``keep=1`` leaves them with size 1."""

    def run(operands: list[Tensor], p: Parameters) -> Tensor:
        return np.asarray(function(operands[0], axis=_ints(p, "axes"), keepdims=bool(p["keep"][0])))

    return run


def _max_pool(operands: list[Tensor], p: Parameters) -> Tensor:
    """Return the largest element of each window."""
    seen = windows(operands[0], p, fill=-np.inf)
    return np.asarray(seen.max(axis=tuple(range(seen.ndim - len(p["kernel"]), seen.ndim))))


def _mean_pool(operands: list[Tensor], p: Parameters) -> Tensor:
    """Return the mean of each window; padding counts as elements only with ``padded=1``."""
    axes = tuple(range(-len(p["kernel"]), 0))
    total = windows(operands[0], p).sum(axis=axes)
    if p["padded"][0]:
        return np.asarray(total / np.prod(p["kernel"]))
    return np.asarray(total / windows(np.ones_like(operands[0]), p).sum(axis=axes))


def _depthwise(operands: list[Tensor], p: Parameters) -> Tensor:
    """Return a convolution in which each channel has a kernel of its own: operands are x and (channels, 1, *kernel)."""
    seen = windows(operands[0], p)
    sizes = len(p["kernel"])
    kernel = operands[1].reshape(operands[1].shape[0], *[1] * sizes, *operands[1].shape[2:])
    return np.asarray((seen * kernel).sum(axis=tuple(range(-sizes, 0))))


def _bias(operands: list[Tensor], p: Parameters) -> Tensor:
    """Return x plus a vector along ``axis`` (the last one unless told)."""
    x, axis = operands[0], int(p.get("axis", [-1])[0])
    return np.asarray(x + operands[1].reshape(-1, *[1] * (x.ndim - 1 - axis % x.ndim)))


def _elu(operands: list[Tensor], p: Parameters) -> Tensor:
    """Return ``scale * x`` above zero and ``scale * alpha * (exp(input_scale * x) - 1)`` below."""
    x = operands[0]
    alpha, scale, inner = (np.float32(p.get(key, [1.0])[0]) for key in ("alpha", "scale", "input_scale"))
    return np.asarray(np.where(x > 0, scale * x, scale * alpha * np.expm1(inner * np.minimum(x, 0))))


def _clip(operands: list[Tensor], p: Parameters) -> Tensor:
    """Return x within ``low`` and ``high``, either of which may be missing."""
    return np.clip(operands[0], p.get("low", [-np.inf])[0], p.get("high", [np.inf])[0])


_UNARY: Final[dict[str, Callable[[Tensor], Any]]] = {
    "relu": lambda x: np.maximum(x, 0), "tanh": np.tanh, "sigmoid": _sigmoid, "silu": lambda x: x * _sigmoid(x),
    "exp": np.exp, "log": np.log, "neg": np.negative, "sqrt": np.sqrt, "rsqrt": lambda x: 1 / np.sqrt(x),
    "reciprocal": lambda x: 1 / x, "erf": _erf, "erfc": lambda x: 1 - _erf(x), "cos": np.cos, "sin": np.sin,
    "abs": np.abs, "not": np.logical_not,
    "copy": lambda x: x, "to_float": lambda x: x.astype(np.float32), "to_int": lambda x: x.astype(np.int64),
    "to_bool": lambda x: x.astype(np.bool_), "floor": np.floor, "ceil": np.ceil, "trunc": np.trunc, "round": np.rint,
    "sign": np.sign, "log1p": np.log1p, "log2": np.log2, "log10": np.log10, "expm1": np.expm1, "exp2": np.exp2,
    "tan": np.tan, "atan": np.arctan, "asin": np.arcsin, "acos": np.arccos, "sinh": np.sinh, "cosh": np.cosh,
    "softplus": lambda x: np.logaddexp(x, np.float32(0)), "softsign": lambda x: x / (1 + np.abs(x)),
}  # fmt: skip
_BINARY: Final[dict[str, Callable[[Tensor, Tensor], Any]]] = {
    "add": np.add, "sub": np.subtract, "mul": np.multiply, "div": np.divide, "pow": np.power, "max": np.maximum,
    "min": np.minimum, "equal": np.equal, "less": np.less, "less_equal": np.less_equal, "greater": np.greater,
    "greater_equal": np.greater_equal, "and": np.logical_and, "or": np.logical_or, "not_equal": np.not_equal,
    "floor_div": np.floor_divide, "remainder": np.remainder, "fmod": np.fmod, "atan2": np.arctan2,
}  # fmt: skip
_FUNCTIONS: Final[dict[tuple[str, str], Callable[[list[Tensor], Parameters], Tensor]]] = {
    ("gemm", ""): lambda o, p: np.matmul(o[0], o[1]),
    ("softmax", ""): _softmax,
    ("norm", ""): _norm,
    ("transpose", "reshape"): lambda o, p: o[0].reshape(_ints(p, "shape")),
    ("transpose", "permute"): lambda o, p: o[0].transpose(_ints(p, "axes")),
    ("transpose", "expand"): lambda o, p: np.broadcast_to(o[0], _ints(p, "shape")),
    ("transpose", "slice"): _slice,
    ("transpose", "concat"): lambda o, p: np.concatenate(o, axis=int(p["axis"][0])),
    ("transpose", "pad"): _pad,
    ("transpose", "tile"): lambda o, p: np.tile(o[0], _ints(p, "times")),
    ("transpose", "gather"): lambda o, p: np.take(o[0], o[1].astype(np.int64), axis=int(p["axis"][0])),
    ("transpose", "windows"): _columns,
    ("elementwise", "gelu"): _gelu,
    ("elementwise", "batch_norm"): _batch_norm,
    ("elementwise", "bias"): _bias,
    ("elementwise", "clip"): _clip,
    ("elementwise", "elu"): _elu,
    ("elementwise", "leaky_relu"): lambda o, p: np.where(o[0] > 0, o[0], o[0] * np.float32(p["slope"][0])),
    ("elementwise", "select"): lambda o, p: np.where(o[0], o[1], o[2]),
    ("elementwise", "depthwise"): _depthwise,
    ("reduce", "max_pool"): _max_pool,
    ("reduce", "mean_pool"): _mean_pool,
    ("reduce", "sum"): _reduce(np.sum),
    ("reduce", "mean"): _reduce(np.mean),
    ("reduce", "max"): _reduce(np.max),
    ("reduce", "min"): _reduce(np.min),
    ("reduce", "any"): _reduce(np.any),
    ("reduce", "product"): _reduce(np.prod),
    ("reduce", "variance"): lambda o, p: np.asarray(
        o[0].astype(np.float64).var(axis=_ints(p, "axes"), keepdims=bool(p["keep"][0]), ddof=int(p["less"][0]))
    ).astype(np.float32),
}


def _unary(function: Callable[[Tensor], Any]) -> Callable[[list[Tensor], Parameters], Tensor]:
    """Return an operation on each element of one tensor."""
    return lambda operands, p: np.asarray(function(operands[0]))


def _binary(function: Callable[[Tensor, Tensor], Any]) -> Callable[[list[Tensor], Parameters], Tensor]:
    """Return an operation on the elements of two tensors, the smaller one repeated."""
    return lambda operands, p: np.asarray(function(*_same(operands[0], operands[1])))


def _same(left: Tensor, right: Tensor) -> tuple[Tensor, Tensor]:
    """Return two operands so that a single constant does not widen a tensor in single precision."""
    if left.dtype != right.dtype and "f" in (left.dtype.kind, right.dtype.kind):
        return left.astype(np.float32, copy=False), right.astype(np.float32, copy=False)
    return left, right


_FUNCTIONS.update({("elementwise", name): _unary(function) for name, function in _UNARY.items()})
_FUNCTIONS.update({("elementwise", name): _binary(function) for name, function in _BINARY.items()})
