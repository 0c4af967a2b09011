"""Inner loops of PolyBench's linear algebra and stencils, on integers, each nest flattened into one loop.

Arrays are one-dimensional, rows one after the other. A load and a store that meet at one address are tied by order
edges with the distance at which they meet; where the indices of two iterations never agree there is none.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from gridloom.dfg.model import DfgBuilder
from gridloom.frontend.kernels.base import (
    Expected,
    Kernel,
    Parameter,
    Past,
    Words,
    choice,
    connect,
    nest,
    number,
    reduce_tree,
    signed32,
)

if TYPE_CHECKING:
    from gridloom.dfg.interpreter import Stimulus

ALPHA, BETA = 3, -5


def _size() -> dict[str, Parameter]:
    return {"n": number(8, 2, 64, "rows and columns")}


def _at(b: DfgBuilder, row: str, column: str, n: int) -> str:
    """The address of element (row, column) of an n-column matrix."""
    return b.add("add", connect(b, "mul", row, n), column)


def _arrays(b: DfgBuilder, **lengths: int) -> None:
    for name, length in lengths.items():
        b.array(name, length)


def _start(b: DfgBuilder, column: str) -> str:
    return connect(b, "eq", column, 0)


def _end(b: DfgBuilder, column: str, n: int) -> str:
    return connect(b, "eq", column, n - 1)


def _accumulate(b: DfgBuilder, first: str, start: str | int, term: str, id: str) -> str:
    """A sum that begins anew from ``start`` in iterations where ``first`` holds."""
    before = connect(b, "select", first, start, Past(id, 1, (0,)))
    return b.add("add", before, term, id=id)


def _run(stimulus: Stimulus) -> dict[str, Words]:
    return {name: words.copy() for name, words in stimulus.memory.items()}


# -- products of matrices -------------------------------------------------------------------------------------------


def _gemm_like(b: DfgBuilder, n: int, right_is_transposed: bool) -> None:
    index = nest(b, {"i": n, "j": n, "k": n})
    i, j, k = index["i"], index["j"], index["k"]
    left = b.load("A", _at(b, i, k, n))
    right = b.load("A", _at(b, j, k, n)) if right_is_transposed else b.load("B", _at(b, k, j, n))
    scaled = connect(b, "mul", b.add("mul", left, right), ALPHA)
    target = _at(b, i, j, n)
    old = b.load("C", target)
    _accumulate(b, _start(b, k), connect(b, "mul", old, BETA), scaled, "sum")
    new = b.add("store_if", target, "sum", _end(b, k, n), array="C")
    # The element is read in every iteration of k, for the last time in the one that writes it.
    b.order(old, new)


def _gemm(b: DfgBuilder, n: int) -> None:
    _arrays(b, A=n * n, B=n * n, C=n * n)
    _gemm_like(b, n, right_is_transposed=False)


def _syrk(b: DfgBuilder, n: int) -> None:
    _arrays(b, A=n * n, C=n * n)
    _gemm_like(b, n, right_is_transposed=True)


def _gemm_model(stimulus: Stimulus, n: int) -> Expected:
    return _product(stimulus, n, "B")


def _syrk_model(stimulus: Stimulus, n: int) -> Expected:
    return _product(stimulus, n, None)


def _product(stimulus: Stimulus, n: int, right: str | None) -> Expected:
    memory = _run(stimulus)
    left = stimulus.memory["A"].reshape(n, n)
    other = stimulus.memory[right].reshape(n, n) if right else left.T
    complete = stimulus.iterations // n
    # Arithmetic modulo 2**64 is arithmetic modulo 2**32, so NumPy's own wrap-around does no harm.
    updated = signed32(ALPHA * (left @ other) + BETA * stimulus.memory["C"].reshape(n, n)).ravel()
    memory["C"][:complete] = updated[:complete]
    return Expected(memory=memory)


GEMM = Kernel(
    name="gemm",
    summary="C = alpha A B + beta C",
    parameters=_size(),
    graph=_gemm,
    model=_gemm_model,
    limit=lambda n: int(n) ** 3,
)

SYRK = Kernel(
    name="syrk",
    summary="C = alpha A A' + beta C",
    parameters=_size(),
    graph=_syrk,
    model=_syrk_model,
    limit=lambda n: int(n) ** 3,
)


# -- products of a matrix and vectors -------------------------------------------------------------------------------


def _update(b: DfgBuilder, array: str, index: str, term: str, distance: int) -> None:
    """``array[index] += term`` where the same element comes up again ``distance`` iterations later."""
    old = b.load(array, index)
    new = b.store(array, index, b.add("add", old, term))
    b.order(old, new)
    b.order(new, old, distance=distance)


def _atax(b: DfgBuilder, n: int) -> None:
    _arrays(b, A=n * n, tmp=n, y=n)
    index = nest(b, {"i": n, "j": n})
    element = b.load("A", _at(b, index["i"], index["j"], n))
    _update(b, "y", index["j"], b.add("mul", element, b.load("tmp", index["i"])), n)


def _atax_model(stimulus: Stimulus, n: int) -> Expected:
    memory = _run(stimulus)
    for t in range(stimulus.iterations):
        i, j = divmod(t, n)
        memory["y"][j] = signed32(int(memory["y"][j]) + int(memory["A"][t]) * int(memory["tmp"][i]))
    return Expected(memory=memory)


ATAX = Kernel(
    name="atax",
    summary="y += A' tmp: the second loop of y = A' (A x)",
    parameters=_size(),
    graph=_atax,
    model=_atax_model,
    limit=lambda n: int(n) ** 2,
)


def _bicg(b: DfgBuilder, n: int) -> None:
    _arrays(b, A=n * n, r=n, s=n, p=n, q=n)
    index = nest(b, {"i": n, "j": n})
    i, j = index["i"], index["j"]
    element = b.load("A", _at(b, i, j, n))
    _update(b, "s", j, b.add("mul", b.load("r", i), element), n)
    total = _accumulate(b, _start(b, j), 0, b.add("mul", element, b.load("p", j)), "sum")
    b.add("store_if", i, total, _end(b, j, n), array="q")


def _bicg_model(stimulus: Stimulus, n: int) -> Expected:
    memory = _run(stimulus)
    for t in range(stimulus.iterations):
        i, j = divmod(t, n)
        memory["s"][j] = signed32(int(memory["s"][j]) + int(memory["r"][i]) * int(memory["A"][t]))
    rows = stimulus.iterations // n
    memory["q"][:rows] = signed32(stimulus.memory["A"].reshape(n, n)[:rows] @ stimulus.memory["p"])
    return Expected(memory=memory)


BICG = Kernel(
    name="bicg",
    summary="s += A' r and q = A p in one pass over A",
    parameters=_size(),
    graph=_bicg,
    model=_bicg_model,
    limit=lambda n: int(n) ** 2,
)


def _mvt(b: DfgBuilder, n: int) -> None:
    _arrays(b, A=n * n, x1=n, x2=n, y1=n, y2=n)
    index = nest(b, {"i": n, "j": n})
    i, j = index["i"], index["j"]
    first, last = _start(b, j), _end(b, j, n)
    for target, vector, address in (("x1", "y1", _at(b, i, j, n)), ("x2", "y2", _at(b, j, i, n))):
        term = b.add("mul", b.load("A", address), b.load(vector, j))
        old = b.load(target, i)
        total = _accumulate(b, first, old, term, f"{target}_sum")
        b.order(old, b.add("store_if", i, total, last, array=target))


def _mvt_model(stimulus: Stimulus, n: int) -> Expected:
    memory, rows = _run(stimulus), stimulus.iterations // n
    matrix = stimulus.memory["A"].reshape(n, n)
    memory["x1"][:rows] = signed32(memory["x1"] + matrix @ memory["y1"])[:rows]
    memory["x2"][:rows] = signed32(memory["x2"] + matrix.T @ memory["y2"])[:rows]
    return Expected(memory=memory)


MVT = Kernel(
    name="mvt",
    summary="x1 += A y1 and x2 += A' y2",
    parameters=_size(),
    graph=_mvt,
    model=_mvt_model,
    limit=lambda n: int(n) ** 2,
)


# -- stencils -------------------------------------------------------------------------------------------------------


def _jacobi(b: DfgBuilder, n: int, dims: int) -> None:
    _arrays(b, A=n**dims, B=n**dims)
    index = nest(b, {f"i{d}": n - 2 for d in range(dims)})
    inner = [connect(b, "add", index[f"i{d}"], 1) for d in range(dims)]
    centre = inner[0] if dims == 1 else _at(b, inner[0], inner[1], n)
    offsets = (-1, 1) if dims == 1 else (-1, 1, -n, n)
    values = [b.load("A", centre), *(b.load("A", connect(b, "add", centre, offset)) for offset in offsets)]
    b.store("B", centre, connect(b, "div", reduce_tree(b, "add", values), 2 * dims + 1))


def _jacobi_model(stimulus: Stimulus, n: int, dims: int) -> Expected:
    memory = _run(stimulus)
    grid = stimulus.memory["A"].reshape((n,) * dims)
    total = grid.copy()
    for axis in range(dims):
        total = total + np.roll(grid, 1, axis) + np.roll(grid, -1, axis)
    wrapped = signed32(total)
    mean = np.sign(wrapped) * (np.abs(wrapped) // (2 * dims + 1))
    inside = [np.ravel_multi_index([c + 1 for c in at], grid.shape) for at in np.ndindex(*(n - 2,) * dims)]
    done = inside[: stimulus.iterations]
    memory["B"][done] = mean.ravel()[done]
    return Expected(memory=memory)


JACOBI = Kernel(
    name="jacobi",
    summary="one sweep of a Jacobi stencil: the mean of each inner element and its neighbours",
    parameters={"n": number(16, 3, 64, "elements along each side"), "dims": choice(1, (1, 2), "dimensions")},
    graph=_jacobi,
    model=_jacobi_model,
    limit=lambda n, dims: (int(n) - 2) ** int(dims),
)
