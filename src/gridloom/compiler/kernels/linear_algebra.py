"""Matrix products, classic and systolic, and the k x k convolution.

The classic product reads two matrices in each iteration and has a fan-out of n. The systolic one holds one matrix in
its multipliers and has local connections only. Both, and the convolution, are shapes of the NeoSA evaluation.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from gridloom.compiler.kernels.base import Kernel, KernelValues
from gridloom.compiler.kernels.building import connect, reduce_tree, sink
from gridloom.compiler.kernels.reference import signed32, sinks, weight
from gridloom.compiler.parameters import choice, number
from gridloom.dfg.carriers import Words
from gridloom.dfg.model import DfgBuilder

if TYPE_CHECKING:
    from gridloom.dfg.interpreter import Stimulus


_SIZE = {"n": number(2, 2, 16, "rows and columns")}


def _matmul(b: DfgBuilder, n: int) -> None:
    """All products of rows and columns, each row and column read n times, and an adder tree for each element."""
    left = [[b.input(f"a{i}_{k}") for k in range(n)] for i in range(n)]
    right = [[b.input(f"b{k}_{j}") for j in range(n)] for k in range(n)]
    for i in range(n):
        for j in range(n):
            products = [b.add("mul", left[i][k], right[k][j]) for k in range(n)]
            b.output(reduce_tree(b, "add", products), f"c{i}_{j}")


def _matmul_model(stimulus: Stimulus, n: int) -> KernelValues:
    """The product of both matrices of each iteration."""
    s = stimulus.streams
    left = np.array([[s[f"a{i}_{k}"] for k in range(n)] for i in range(n)])
    right = np.array([[s[f"b{k}_{j}"] for j in range(n)] for k in range(n)])
    product = signed32(np.einsum("ikt,kjt->ijt", left, right))
    return KernelValues(streams={f"c{i}_{j}": product[i, j] for i in range(n) for j in range(n)})


MATMUL = Kernel(
    "matmul", "C = A B, a new pair of n x n matrices every iteration; fan-out n", _matmul, _matmul_model, _SIZE
)


def _matmul_add(b: DfgBuilder, n: int) -> None:
    """The classic product, and one more adder for each element: n^3 multipliers and n^3 adders."""
    left = [[b.input(f"a{i}_{k}") for k in range(n)] for i in range(n)]
    right = [[b.input(f"b{k}_{j}") for j in range(n)] for k in range(n)]
    for i in range(n):
        for j in range(n):
            products = [b.add("mul", left[i][k], right[k][j]) for k in range(n)]
            total = reduce_tree(b, "add", products)
            b.output(b.add("add", total, b.input(f"c{i}_{j}")), f"d{i}_{j}")


def _matmul_add_model(stimulus: Stimulus, n: int) -> KernelValues:
    """The product of A and B of each iteration, and C added to it."""
    s = stimulus.streams
    left, right, addend = (np.array([[s[f"{m}{i}_{j}"] for j in range(n)] for i in range(n)]) for m in "abc")
    total = signed32(np.einsum("ikt,kjt->ijt", left, right) + addend)
    return KernelValues(streams={f"d{i}_{j}": total[i, j] for i in range(n) for j in range(n)})


MATMUL_ADD = Kernel(
    "matmul_add", "D = A B + C, three n x n matrices every iteration; fan-out n", _matmul_add, _matmul_add_model, _SIZE
)


def systolic_matrix(n: int) -> Words:
    """The B that a systolic product holds: odd numbers, ones in the first column."""
    return np.array([[1 if j == 0 else weight(i * n + j) for j in range(n)] for i in range(n)], dtype=np.int64)


def _systolic(b: DfgBuilder, n: int) -> None:
    """Each product goes right as well as down, so a multiplier holds the quotient of two neighbours of B.

    A node has one result: what a multiplier hands to the right is a[i] * B[i][j], not a[i]. Odd numbers have inverses
    modulo 2**32, so the product with B[i][j+1] / B[i][j] is exact. The first column is the input itself.
    """
    matrix = systolic_matrix(n)
    above: list[str | int] = [weight(j) for j in range(n)]
    for i in range(n):
        moving = b.add("input", id=f"a{i}", variable=f"a{i}", op_class="mul")
        for j in range(n):
            if j:
                held = int(matrix[i, j]) * pow(int(matrix[i, j - 1]), -1, 1 << 32) % (1 << 32)
                moving = connect(b, "mul", moving, signed32(held))
            if i == n - 1:
                sink(b, "add", moving, above[j], id=f"y{j}")
            else:
                above[j] = connect(b, "add", moving, above[j])


def _systolic_model(stimulus: Stimulus, n: int) -> KernelValues:
    """Each row times the held matrix, plus the bias."""
    rows = np.array([stimulus.streams[f"a{i}"] for i in range(n)])
    bias = np.array([weight(j) for j in range(n)], dtype=np.int64)
    product = signed32(systolic_matrix(n).T @ rows + bias[:, None])
    return sinks({f"y{j}": product[j] for j in range(n)})


SYSTOLIC_MATMUL = Kernel(
    "systolic_matmul",
    "rows of A times a B that the multipliers hold, plus a bias; products go right, sums go down",
    _systolic,
    _systolic_model,
    {"n": number(3, 2, 32, "rows and columns")},
)


_WINDOW = {
    "k": number(3, 2, 16, "rows and columns of the window"),
    "registers": choice(0, (0, 1), "1: moves balance the adder tree where it is not full"),
}


def _convolution(b: DfgBuilder, k: int, registers: int) -> None:
    """One multiplier for each element of the window, then an adder tree."""
    products = [connect(b, "mul", b.input(f"x{i}_{j}"), weight(i * k + j)) for i in range(k) for j in range(k)]
    reduce_tree(b, "add", products, registers=bool(registers), id="y", liveout="y")


def _convolution_model(stimulus: Stimulus, k: int, registers: int) -> KernelValues:
    """The sum of the window times the weights."""
    window = np.array([[stimulus.streams[f"x{i}_{j}"] for j in range(k)] for i in range(k)])
    taps = np.array([[weight(i * k + j) for j in range(k)] for i in range(k)], dtype=np.int64)
    return sinks({"y": signed32(np.einsum("ijt,ij->t", window, taps))})


CONVOLUTION = Kernel(
    "convolution",
    "a k x k window times fixed weights, summed by an adder tree",
    _convolution,
    _convolution_model,
    _WINDOW,
)
