"""Element-wise kernels on streams, and the reductions closest to them.

They are the smallest kernels: one or a few ops for each lane, no memory, and at most one carried value.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from gridloom.compiler.kernels.base import Kernel, KernelValues
from gridloom.compiler.kernels.building import connect, previous, reduce_tree
from gridloom.compiler.kernels.reference import past, signed32
from gridloom.compiler.parameters import choice, number
from gridloom.dfg.model import DfgBuilder

if TYPE_CHECKING:
    from gridloom.dfg.interpreter import Stimulus


_ADDED_LANES = {"lanes": number(1, 1, 64, "elements per iteration")}


def _vector_add(b: DfgBuilder, lanes: int) -> None:
    """One adder for each lane."""
    for k in range(lanes):
        total = b.add("add", b.input(f"x{k}"), b.input(f"y{k}"))
        b.output(total, f"z{k}")


def _vector_add_model(stimulus: Stimulus, lanes: int) -> KernelValues:
    """The sums of all lanes, wrapped to 32 bits."""
    s = stimulus.streams
    return KernelValues(streams={f"z{k}": signed32(s[f"x{k}"] + s[f"y{k}"]) for k in range(lanes)})


VECTOR_ADD = Kernel("vector_add", "z = x + y, element by element", _vector_add, _vector_add_model, _ADDED_LANES)


_NUMBERS = {"domain": choice("i32", ("i32", "f32"), "integers or IEEE singles")}


def _axpy(b: DfgBuilder, domain: str) -> None:
    """One product with the live-in and one sum."""
    product = b.add("mul", b.livein("a"), b.input("x"))
    b.output(b.add("add", product, b.input("y")), "z")


def _axpy_model(stimulus: Stimulus, domain: str) -> KernelValues:
    """In ``f32`` NumPy rounds the product and the sum, as the ops do."""
    a, x, y = stimulus.liveins["a"], stimulus.streams["x"], stimulus.streams["y"]
    if domain == "i32":
        return KernelValues(streams={"z": signed32(signed32(a * x) + y)})
    single = np.array([a], dtype=np.int32).view(np.float32)[0]
    z = single * x.astype(np.int32).view(np.float32) + y.astype(np.int32).view(np.float32)
    return KernelValues(streams={"z": z.view(np.int32).astype(np.int64)})


AXPY = Kernel("axpy", "z = a * x + y with a live-in a, on integers or singles", _axpy, _axpy_model, _NUMBERS)


_DIMENSIONS = {"dims": number(3, 1, 32, "dimensions of the points")}


def _distance(b: DfgBuilder, dims: int) -> None:
    """Differences, squares, and an adder tree over the dimensions."""
    differences = [b.add("sub", b.input(f"a{k}"), b.input(f"b{k}")) for k in range(dims)]
    squares = [b.add("square", difference) for difference in differences]
    b.output(reduce_tree(b, "add", squares), "d")


def _distance_model(stimulus: Stimulus, dims: int) -> KernelValues:
    """The sum of the squared differences, wrapped to 32 bits."""
    s = stimulus.streams
    differences = np.array([signed32(s[f"a{k}"] - s[f"b{k}"]) for k in range(dims)])
    return KernelValues(streams={"d": signed32((differences * differences).sum(axis=0))})


DISTANCE = Kernel("distance", "squared distance of two points", _distance, _distance_model, _DIMENSIONS)


_MULTIPLIED_LANES = {"lanes": number(1, 1, 64, "products per iteration")}


def _dot_product(b: DfgBuilder, lanes: int) -> None:
    """Products of all lanes, an adder tree, and a running sum that is also a live-out."""
    products = [b.add("mul", b.input(f"x{k}"), b.input(f"y{k}")) for k in range(lanes)]
    connect(b, "add", reduce_tree(b, "add", products), previous("sum"), id="sum", liveout="sum")
    b.output("sum", "s")


def _dot_product_model(stimulus: Stimulus, lanes: int) -> KernelValues:
    """The running sums of the products, and the last one as the live-out."""
    s = stimulus.streams
    running = np.cumsum(sum(s[f"x{k}"] * s[f"y{k}"] for k in range(lanes)), dtype=np.int64)
    sums = signed32(running)
    return KernelValues(streams={"s": sums}, liveouts={"sum": int(sums[-1])} if len(sums) else {})


DOT_PRODUCT = Kernel("dot_product", "running sum of x * y", _dot_product, _dot_product_model, _MULTIPLIED_LANES)


_FUSED = {"fused": choice(0, (0, 1), "1: one op multiplies and adds")}


def _mul_add(b: DfgBuilder, fused: int) -> None:
    """One fused op, or a multiplier and an adder."""
    x, y, z = b.input("x"), b.input("y"), b.input("z")
    total = b.add("mul_add", x, y, z) if fused else b.add("add", b.add("mul", x, y), z)
    b.output(total, "w")


def _mul_add_model(stimulus: Stimulus, fused: int) -> KernelValues:
    """Both forms compute the same, since integers do not round."""
    s = stimulus.streams
    return KernelValues(streams={"w": signed32(s["x"] * s["y"] + s["z"])})


MUL_ADD = Kernel("mul_add", "w = x * y + z", _mul_add, _mul_add_model, _FUSED)


def _stream_pair(b: DfgBuilder) -> None:
    """The sample of this iteration and the one before, each times a constant, added."""
    newer = b.input("x")
    doubled = connect(b, "mul", newer, 2)
    older = connect(b, "mul", previous(newer), 6)
    b.output(b.add("add", doubled, older), "y")


def _stream_pair_model(stimulus: Stimulus) -> KernelValues:
    """The same sum over the stream and the stream delayed by one iteration."""
    x = stimulus.streams["x"]
    return KernelValues(streams={"y": signed32(2 * x + 6 * past(x, 1))})


STREAM_PAIR = Kernel(
    "stream_pair", "y[i] = 2 x[i+1] + 6 x[i]; the stream brings x[i+1], x[0] is 0", _stream_pair, _stream_pair_model
)
