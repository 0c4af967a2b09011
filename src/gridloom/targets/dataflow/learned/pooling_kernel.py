"""Compiled pooling of the flows of a decision into the columns that trees see, and compiled walks through trees."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from gridloom.jit import checked_kernel

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
Singles = NDArray[np.float32]
Shorts = NDArray[np.int16]


@checked_kernel
def _ranked(values: Singles, ranks: Ints, best: Floats, pooled: Singles, at: int) -> int:
    """Write largest value, mean, and the values of some ranks from a column on; returns the column after them."""
    kept, total = 0, 0.0
    for value in values:
        total += value
        if kept == len(best) and value <= best[kept - 1]:
            continue
        place = min(kept, len(best) - 1)
        while place > 0 and best[place - 1] < value:
            best[place] = best[place - 1]
            place -= 1
        best[place] = value
        kept = min(kept + 1, len(best))
    pooled[at] = best[0]
    pooled[at + 1] = total / len(values)
    for k in range(len(ranks)):
        pooled[at + 2 + k] = best[min(ranks[k], kept - 1)]
    return at + 2 + len(ranks)


@checked_kernel
def _in_set(edges: Singles, of: int, limit: float, asked: Ints, pooled: Singles, at: int) -> int:
    """Write count, largest values and means over the flows of which a feature is above a limit; zeros for none."""
    count = 0
    for f in range(len(edges)):
        if edges[f, of] > limit:
            count += 1
            for k in range(len(asked)):
                value = edges[f, asked[k]]
                pooled[at + 1 + 2 * k] = max(pooled[at + 1 + 2 * k], value)
                pooled[at + 2 + 2 * k] += value
    pooled[at] = count
    for k in range(len(asked)):
        pooled[at + 2 + 2 * k] /= max(count, 1)
    return at + 1 + 2 * len(asked)


@checked_kernel
def pool_flows(
    edges: Singles, speeds: Singles, ranks: Ints, critical: Ints, set_of: Ints, set_limit: Floats, in_sets: Ints,
    columns: int,
) -> Singles:  # fmt: skip
    """Return [decision, column] -> what trees see; the columns are `features.POOLED`.

    ``edges`` is [decision, flow, feature], ``speeds`` [decision, formula]; the rest are numbers of features and ranks.
    Features are not negative. Linear in decisions times flows times features.
    """
    count, flows, features = edges.shape
    pooled = np.zeros((count, columns), dtype=np.float32)
    best = np.zeros(ranks[-1] + 1)
    for d in range(count):
        pooled[d, 0] = speeds[d, 0]
        pooled[d, 1] = np.log(speeds[d, 1] / speeds[d, 0])
        if flows == 0:
            continue
        at = 2
        for k in range(features):
            at = _ranked(edges[d, :, k], ranks, best, pooled[d], at)
        for of in critical:
            worst = np.argmax(edges[d, :, of])
            for k in range(features):
                pooled[d, at + k] = edges[d, worst, k]
            at += features
        for k in range(len(set_of)):
            at = _in_set(edges[d], set_of[k], set_limit[k], in_sets, pooled[d], at)
    return pooled


@checked_kernel
def tree_scores(
    rows: Singles, feature: Shorts, threshold: Singles, left: Shorts, right: Shorts, value: Singles, start: float
) -> Floats:
    """Return the score of each row: what the leaves that it comes to say together. Linear in trees times their depth.

    The arrays are those of `boosted.Forest`, [tree, node].
    """
    scores = np.full(len(rows), start)
    for row in range(len(rows)):
        for tree in range(len(feature)):
            node = 0
            while left[tree, node] != node:
                goes_left = rows[row, feature[tree, node]] <= threshold[tree, node]
                node = left[tree, node] if goes_left else right[tree, node]
            scores[row] += value[tree, node]
    return scores
