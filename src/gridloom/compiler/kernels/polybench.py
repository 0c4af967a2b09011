"""Inner loops of PolyBench's linear algebra and stencils, on integers, each nest flattened into one loop.

Arrays are one-dimensional, rows one after the other. A load and a store that meet at one address are tied by order
edges with the distance at which they meet; where the indices of two iterations never agree there is none.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from gridloom.compiler.kernels.base import Kernel, KernelValues
from gridloom.compiler.kernels.building import arrays, connect, nest, reduce_tree, restarted_sum
from gridloom.compiler.kernels.reference import copied_memory, signed32
from gridloom.compiler.parameters import choice, number
from gridloom.dfg.carriers import Words
from gridloom.dfg.model import DfgBuilder

if TYPE_CHECKING:
    from gridloom.dfg.interpreter import Stimulus

ALPHA, BETA = 3, -5

_SIZE = {"n": number(8, 2, 64, "rows and columns")}


def _at(b: DfgBuilder, row: str, column: str, n: int) -> str:
    """The address of element (row, column) of an n-column matrix."""
    return b.add("add", connect(b, "mul", row, n), column)


def _start(b: DfgBuilder, column: str) -> str:
    """True in the first iteration of an inner loop."""
    return connect(b, "eq", column, 0)


def _end(b: DfgBuilder, column: str, n: int) -> str:
    """True in the last iteration of an inner loop."""
    return connect(b, "eq", column, n - 1)


# -- products of matrices -------------------------------------------------------------------------------------------


def _gemm_like(b: DfgBuilder, n: int, right_is_transposed: bool) -> None:
    """The common body of both products: a sum over k that begins with the scaled element of C and ends in a store.

    The store is conditional, since the flattened loop passes it in every iteration of k.
    """
    i, j, k = nest(b, {"i": n, "j": n, "k": n})
    left = b.load("A", _at(b, i, k, n))
    right = b.load("A", _at(b, j, k, n)) if right_is_transposed else b.load("B", _at(b, k, j, n))
    scaled = connect(b, "mul", b.add("mul", left, right), ALPHA)
    target = _at(b, i, j, n)
    old = b.load("C", target)
    restarted_sum(b, _start(b, k), connect(b, "mul", old, BETA), scaled, "sum")
    new = b.add("store_if", target, "sum", _end(b, k, n), array="C")
    # The element is read in every iteration of k, for the last time in the one that writes it.
    b.order(old, new)


def _gemm(b: DfgBuilder, n: int) -> None:
    """Rows of A times columns of B."""
    arrays(b, A=n * n, B=n * n, C=n * n)
    _gemm_like(b, n, right_is_transposed=False)


def _syrk(b: DfgBuilder, n: int) -> None:
    """Rows of A times rows of A."""
    arrays(b, A=n * n, C=n * n)
    _gemm_like(b, n, right_is_transposed=True)


def _gemm_model(stimulus: Stimulus, n: int) -> KernelValues:
    """The product with B."""
    return _product(stimulus, n, stimulus.memory["B"].reshape(n, n))


def _syrk_model(stimulus: Stimulus, n: int) -> KernelValues:
    """The product with the transpose of A."""
    return _product(stimulus, n, stimulus.memory["A"].reshape(n, n).T)


def _product(stimulus: Stimulus, n: int, right: Words) -> KernelValues:
    """``C = alpha A right + beta C`` for the elements whose inner loops are complete."""
    memory = copied_memory(stimulus)
    left = stimulus.memory["A"].reshape(n, n)
    complete = stimulus.iterations // n
    # Arithmetic modulo 2**64 is arithmetic modulo 2**32, so NumPy's own wrap-around does no harm.
    updated = signed32(ALPHA * (left @ right) + BETA * stimulus.memory["C"].reshape(n, n)).ravel()
    memory["C"][:complete] = updated[:complete]
    return KernelValues(memory=memory)


GEMM = Kernel("gemm", "C = alpha A B + beta C", _gemm, _gemm_model, _SIZE, limit=lambda n: n**3)

SYRK = Kernel("syrk", "C = alpha A A' + beta C", _syrk, _syrk_model, _SIZE, limit=lambda n: n**3)


# -- products of a matrix and vectors -------------------------------------------------------------------------------


def _update(b: DfgBuilder, array: str, index: str, term: str, distance: int) -> None:
    """``array[index] += term`` where the same element comes up again ``distance`` iterations later."""
    old = b.load(array, index)
    new = b.store(array, index, b.add("add", old, term))
    b.order(old, new)
    b.order(new, old, distance=distance)


def _add_transposed_product(memory: dict[str, Words], target: str, vector: str, n: int, iterations: int) -> None:
    """``target += A' vector`` in the first iterations of the nest, element by element."""
    for t in range(iterations):
        i, j = divmod(t, n)
        memory[target][j] = signed32(int(memory[target][j]) + int(memory["A"][t]) * int(memory[vector][i]))


def _atax(b: DfgBuilder, n: int) -> None:
    """One pass over A; each element updates one element of y."""
    arrays(b, A=n * n, tmp=n, y=n)
    i, j = nest(b, {"i": n, "j": n})
    element = b.load("A", _at(b, i, j, n))
    _update(b, "y", j, b.add("mul", element, b.load("tmp", i)), n)


def _atax_model(stimulus: Stimulus, n: int) -> KernelValues:
    """The updates of y, in the order of the nest."""
    memory = copied_memory(stimulus)
    _add_transposed_product(memory, "y", "tmp", n, stimulus.iterations)
    return KernelValues(memory=memory)


ATAX = Kernel("atax", "y += A' tmp: the second loop of y = A' (A x)", _atax, _atax_model, _SIZE, limit=lambda n: n**2)


def _bicg(b: DfgBuilder, n: int) -> None:
    """One pass over A; each element updates an element of s and adds to a sum that is stored at the end of a row."""
    arrays(b, A=n * n, r=n, s=n, p=n, q=n)
    i, j = nest(b, {"i": n, "j": n})
    element = b.load("A", _at(b, i, j, n))
    _update(b, "s", j, b.add("mul", b.load("r", i), element), n)
    total = restarted_sum(b, _start(b, j), 0, b.add("mul", element, b.load("p", j)), "sum")
    b.add("store_if", i, total, _end(b, j, n), array="q")


def _bicg_model(stimulus: Stimulus, n: int) -> KernelValues:
    """The updates of s in the order of the nest, and the elements of q of the complete rows."""
    memory = copied_memory(stimulus)
    _add_transposed_product(memory, "s", "r", n, stimulus.iterations)
    rows = stimulus.iterations // n
    memory["q"][:rows] = signed32(stimulus.memory["A"].reshape(n, n)[:rows] @ stimulus.memory["p"])
    return KernelValues(memory=memory)


BICG = Kernel("bicg", "s += A' r and q = A p in one pass over A", _bicg, _bicg_model, _SIZE, limit=lambda n: n**2)


def _mvt(b: DfgBuilder, n: int) -> None:
    """Two sums in one nest, one along a row of A and one along a column, each stored when it is complete."""
    arrays(b, A=n * n, x1=n, x2=n, y1=n, y2=n)
    i, j = nest(b, {"i": n, "j": n})
    first, last = _start(b, j), _end(b, j, n)
    for target, vector, address in (("x1", "y1", _at(b, i, j, n)), ("x2", "y2", _at(b, j, i, n))):
        term = b.add("mul", b.load("A", address), b.load(vector, j))
        old = b.load(target, i)
        total = restarted_sum(b, first, old, term, f"{target}_sum")
        b.order(old, b.add("store_if", i, total, last, array=target))


def _mvt_model(stimulus: Stimulus, n: int) -> KernelValues:
    """The elements of both results whose sums are complete."""
    memory, rows = copied_memory(stimulus), stimulus.iterations // n
    matrix = stimulus.memory["A"].reshape(n, n)
    memory["x1"][:rows] = signed32(memory["x1"] + matrix @ memory["y1"])[:rows]
    memory["x2"][:rows] = signed32(memory["x2"] + matrix.T @ memory["y2"])[:rows]
    return KernelValues(memory=memory)


MVT = Kernel("mvt", "x1 += A y1 and x2 += A' y2", _mvt, _mvt_model, _SIZE, limit=lambda n: n**2)


# -- stencils -------------------------------------------------------------------------------------------------------


def _jacobi(b: DfgBuilder, n: int, dims: int) -> None:
    """Loads the element and its neighbours, and stores their mean in the other array."""
    arrays(b, A=n**dims, B=n**dims)
    index = nest(b, {f"i{d}": n - 2 for d in range(dims)})
    inner = [connect(b, "add", variable, 1) for variable in index]
    centre = inner[0] if dims == 1 else _at(b, inner[0], inner[1], n)
    offsets = (-1, 1) if dims == 1 else (-1, 1, -n, n)
    values = [b.load("A", centre), *(b.load("A", connect(b, "add", centre, offset)) for offset in offsets)]
    b.store("B", centre, connect(b, "div", reduce_tree(b, "add", values), 2 * dims + 1))


def _jacobi_model(stimulus: Stimulus, n: int, dims: int) -> KernelValues:
    """The mean over shifted copies of the whole grid, stored for the elements that were visited."""
    memory = copied_memory(stimulus)
    grid = stimulus.memory["A"].reshape((n,) * dims)
    total = grid.copy()
    for axis in range(dims):
        total = total + np.roll(grid, 1, axis) + np.roll(grid, -1, axis)
    wrapped = signed32(total)
    mean = np.sign(wrapped) * (np.abs(wrapped) // (2 * dims + 1))
    inside = [np.ravel_multi_index([c + 1 for c in at], grid.shape) for at in np.ndindex(*(n - 2,) * dims)]
    done = inside[: stimulus.iterations]
    memory["B"][done] = mean.ravel()[done]
    return KernelValues(memory=memory)


JACOBI = Kernel(
    "jacobi",
    "one sweep of a Jacobi stencil: the mean of each inner element and its neighbours",
    _jacobi,
    _jacobi_model,
    {"n": number(16, 3, 64, "elements along each side"), "dims": choice(1, (1, 2), "dimensions")},
    limit=lambda n, dims: (n - 2) ** dims,
)
