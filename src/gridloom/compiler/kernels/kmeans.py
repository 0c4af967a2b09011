"""The classification step of k-means: one map (squared differences) and two reductions (sum, nearest centroid).

Each input spreads through a tree of moves to all centroids. A comparator hands on the smaller distance with the winner
in bit 0 (``min_tag``), which steers the multiplexer of the index (``select_tag``): the index paths reconverge with the
distance paths, which is what makes the graph hard to place. Moves stand where a tree is not full.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from gridloom.compiler.kernels.base import Kernel, KernelValues
from gridloom.compiler.kernels.building import connect, reduce_tree
from gridloom.compiler.kernels.reference import signed32, streams_within
from gridloom.compiler.parameters import number
from gridloom.dfg.model import DfgBuilder

if TYPE_CHECKING:
    from gridloom.dfg.interpreter import Stimulus

#: A distance and the index it belongs to: a node once two of them have met, a constant before.
Candidate = tuple[str, str | int]

SPAN = 1024


def centroid(j: int, d: int) -> int:
    """Coordinate d of centroid j: fixed numbers, well spread over the stimulus' range."""
    return (389 * j + 211 * d + 97) % SPAN


def _graph(b: DfgBuilder, k: int, n: int) -> None:
    """Squared distances to all centroids, then rounds of comparisons until one index is left."""
    squares: list[list[str]] = [[] for _ in range(k)]
    for d in range(n):
        x = b.input(f"x{d}")
        spread = [b.add("move", x) for _ in range((k + 1) // 2)]
        for j in range(k):
            squares[j].append(b.add("square", connect(b, "sub", spread[j // 2], centroid(j, d))))
    level: list[Candidate] = [(reduce_tree(b, "add", squares[j], registers=True), j) for j in range(k)]
    while len(level) > 1:
        level = _round(b, level)
    b.output(str(level[0][1]), "nearest")


def _round(b: DfgBuilder, level: list[Candidate]) -> list[Candidate]:
    """One level of comparators: each pair keeps the smaller distance and its index; an odd one waits behind moves."""
    winners: list[Candidate] = []
    for (left, left_index), (right, right_index) in zip(level[::2], level[1::2], strict=False):
        smaller = b.add("min_tag", left, right)
        winners.append((smaller, connect(b, "select_tag", smaller, right_index, left_index)))
    if len(level) % 2:
        distance, index = level[-1]
        waiting = b.add("move", distance)
        winners.append((waiting, b.add("move", index) if isinstance(index, str) else index))
    return winners


def _model(stimulus: Stimulus, k: int, n: int) -> KernelValues:
    """The index of the smallest squared distance, the lowest one where distances are equal."""
    points = np.array([stimulus.streams[f"x{d}"] for d in range(n)])
    centroids = np.array([[centroid(j, d) for d in range(n)] for j in range(k)], dtype=np.int64)
    differences = signed32(points[None, :, :] - centroids[:, :, None])
    distances = signed32((differences * differences).sum(axis=1))
    # Bit 0 of a distance carries the result of a comparison, so distances are compared without it.
    return KernelValues(streams={"nearest": np.argmin(distances >> 1, axis=0).astype(np.int64)})


KMEANS = Kernel(
    "kmeans",
    "index of the nearest of k centroids for a point of n dimensions",
    _graph,
    _model,
    {"k": number(4, 2, 32, "centroids"), "n": number(4, 1, 32, "dimensions")},
    feed=streams_within(0, SPAN),
)
