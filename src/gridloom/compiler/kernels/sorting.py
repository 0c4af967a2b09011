"""Sorting networks: rows of values that compare-and-exchange units put into order, several networks side by side.

Each comparator is a ``min`` and a ``max`` of the same two values. Networks that stand side by side share nothing, so
that they are several flows at once in one graph.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from gridloom.compiler.kernels.base import Kernel, KernelValues
from gridloom.compiler.parameters import choice, number
from gridloom.dfg.carriers import Words
from gridloom.dfg.model import DfgBuilder

if TYPE_CHECKING:
    from gridloom.dfg.interpreter import Stimulus


def odd_even_merge(n: int) -> list[tuple[int, int]]:
    """Return the comparators (low, high) of Batcher's odd-even merge sort for any number of values.

    The network for the next power of two, without comparators that touch a value beyond the last: such a value would
    be larger than all others and never move.
    """
    pairs = []
    p = 1
    while p < n:
        k = p
        while k >= 1:
            for j in range(k % p, n - k, 2 * k):
                for i in range(min(k, n - j - k)):
                    if (i + j) // (2 * p) == (i + j + k) // (2 * p):
                        pairs.append((i + j, i + j + k))
            k //= 2
        p *= 2
    return pairs


def transposition(n: int) -> list[tuple[int, int]]:
    """Return the comparators of odd-even transposition sort: neighbours only, n rounds."""
    return [(k, k + 1) for turn in range(n) for k in range(turn % 2, n - 1, 2)]


def _graph(b: DfgBuilder, n: int, network: str, flows: int) -> None:
    """Comparators in their order; each replaces two values by their minimum and maximum."""
    pairs = odd_even_merge(n) if network == "merge" else transposition(n)
    for flow in range(flows):
        row = [b.input(f"x{flow}_{k}") for k in range(n)]
        for low, high in pairs:
            row[low], row[high] = b.add("min", row[low], row[high]), b.add("max", row[low], row[high])
        for k, value in enumerate(row):
            b.output(value, f"y{flow}_{k}")


def _model(stimulus: Stimulus, n: int, network: str, flows: int) -> KernelValues:
    """Rows in ascending order."""
    streams: dict[str, Words] = {}
    for flow in range(flows):
        rows = np.sort(np.stack([stimulus.streams[f"x{flow}_{k}"] for k in range(n)]), axis=0)
        streams |= {f"y{flow}_{k}": rows[k] for k in range(n)}
    return KernelValues(streams=streams)


SORTING_NETWORK = Kernel(
    "sorting_network",
    "n values in ascending order, by a network of comparators; several networks are flows that share nothing",
    _graph,
    _model,
    {
        "n": number(4, 2, 16, "values of a network"),
        "network": choice("merge", ("merge", "transposition"), "Batcher's odd-even merge sort, or neighbours only"),
        "flows": number(1, 1, 8, "networks side by side"),
    },
)
