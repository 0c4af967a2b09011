"""What the operations of a tensor graph cost: sizes and floating-point operations, from shapes alone."""

from __future__ import annotations

from math import prod
from typing import Final

from gridloom.errors import DfgError
from gridloom.targets.dataflow.program.model import TensorOperation, TensorProgram
from gridloom.targets.dataflow.program.parameters import parameters_of

#: Floating-point operations per element of a vector operation, by its label or op; its gradient costs one more.
STEPS: Final = {
    "relu": 1, "add": 1, "sub": 1, "mul": 1, "div": 2, "bias": 1, "scale": 1, "neg": 1, "copy": 1,
    "gelu": 8, "tanh": 4, "sigmoid": 4, "silu": 5, "exp": 4, "sqrt": 2, "pow": 4, "select": 1,
    "softmax": 5, "norm": 8, "reduce": 1, "log": 4, "rsqrt": 2, "reciprocal": 2, "erf": 4, "cos": 4, "sin": 4,
    "batch_norm": 2, "clip": 2, "leaky_relu": 2, "variance": 3, "elu": 6, "softplus": 8, "softsign": 4, "log1p": 5,
    "log2": 4, "log10": 4, "expm1": 5, "exp2": 4, "tan": 4, "atan": 4, "asin": 4, "acos": 4, "sinh": 4, "cosh": 4,
    "floor_div": 3, "remainder": 4, "fmod": 4, "atan2": 6,
}  # fmt: skip


#: Operations that look at a window for each element of their result, and what they do for each element of the window.
WINDOWED: Final = {"max_pool": 1, "mean_pool": 1, "depthwise": 2}

#: Reductions whose result is smaller than what they read: they cost a step for each element that they read.
REDUCTIONS: Final = frozenset({"sum", "mean", "max", "min", "any", "product", "variance"})


def steps(node: TensorOperation) -> int:
    """Floating-point operations per element of a vector operation."""
    name = node.label or node.op
    if name in WINDOWED:
        return WINDOWED[name] * prod(int(size) for size in parameters_of(node)["kernel"])
    return STEPS.get(name.removesuffix("_grad"), 1) + name.endswith("_grad")


def contraction(dfg: TensorProgram, node: TensorOperation) -> int:
    """What a matrix product sums over: the size of operand 0 over the rows of the result. DfgError if not whole.

    It follows from shapes alone, since a tensor graph does not say which dimension a product sums over.
    """
    left = dfg.operands(node)[0]
    inner, rest = divmod(prod(left.shape) * node.shape[-1], prod(node.shape))
    if rest or not inner:
        raise DfgError(
            f"a product of shape {node.shape} does not come from an operand of shape {left.shape}",
            where=f"graph {dfg.name!r}: node {node.id!r}",
        )
    return inner


def count_elements(dfg: TensorProgram, node: TensorOperation) -> int:
    """Elements that a vector operation takes its steps for: those of its result, or of what a reduction reads."""
    reads = node.op == "reduce" and node.label in REDUCTIONS
    return max(prod(other.shape) for other in dfg.operands(node)) if reads else prod(node.shape)


def flops(dfg: TensorProgram, node: TensorOperation) -> int:
    """Floating-point operations per sample: 2 for each multiply-accumulate, `steps` for each element of a vector op."""
    if node.op == "gemm":
        return 2 * prod(node.shape) * contraction(dfg, node)
    if node.op in ("elementwise", "softmax", "norm", "reduce"):
        return steps(node) * count_elements(dfg, node)
    return 0


def total_flops(dfg: TensorProgram) -> int:
    """Floating-point operations of one sample of the whole graph."""
    return sum(flops(dfg, node) for node in dfg.nodes)
