"""What a sample adds to the best of several: the credit of a board whose search keeps only the best one.

A policy that is trained for the mean of its boards makes them alike; a search that plays k boards and goes on from the
best wants a policy whose best of k is good, which may be another one (risk-seeking policy gradients, Petersen et al.
2021). The gradient of the expected best of k samples is that of the mean with each sample's return replaced by what it
adds, on average over all choices of k - 1 others, to the best of them.
"""

from __future__ import annotations

from math import comb

import numpy as np
from numpy.typing import NDArray


def marginal_gains(values: NDArray[np.float64], best_of: int) -> NDArray[np.float64]:
    """Return what each of n values adds to the largest of ``best_of`` of them, scaled to mean 0 and deviation 1.

    Value i adds max(0, v_i - max S), and the mean is over all sets S of ``best_of - 1`` of the other values. With the
    values in ascending order, value j is the largest of S in comb(j, best_of - 2) of comb(n - 1, best_of - 1) sets, if
    j < i. All values equal: zeros. Needs 2 <= best_of <= n. O(n log n).
    """
    count = len(values)
    order = np.argsort(values, kind="stable")
    ascending = np.asarray(values, dtype=np.float64)[order]
    share = np.array([comb(j, best_of - 2) for j in range(count)], dtype=np.float64) / comb(count - 1, best_of - 1)
    # The sum over j < i of (v_i - v_j) * share_j.
    below, weighted = (np.concatenate([[0.0], np.cumsum(part)[:-1]]) for part in (share, share * ascending))
    gains = np.empty(count)
    gains[order] = ascending * below - weighted
    gains -= gains.mean()
    deviation = float(gains.std())
    return gains / deviation if deviation > 1e-12 else np.zeros(count)
