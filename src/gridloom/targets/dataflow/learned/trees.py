"""The trees that correct the formula `queueing`: what they see, and what they say.

A tree sees features of flows that are pooled over a decision (`features.POOLED`), and predicts the logarithm of the
factor by which the measured speed differs from the formula's. For most decisions that factor is exactly 1, and many
small leaves together are never exactly 0: small corrections are therefore taken as none (``dead``), which keeps equal
what is equal. `tree_training` grows them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from gridloom.learn.boosted import Forest
from gridloom.targets.dataflow.costs.load import Floats
from gridloom.targets.dataflow.learned.features import CRITICAL, EDGE_FEATURES, IN_SETS, POOLED, RANKS, SETS

Singles = NDArray[np.float32]

_NUMBER: Final = {name: k for k, name in enumerate(EDGE_FEATURES)}
_RANKS: Final = np.array(RANKS, dtype=np.int64)
_CRITICAL: Final = np.array([_NUMBER[name] for name in CRITICAL], dtype=np.int64)
_SET_OF: Final = np.array([_NUMBER[name] for name, _ in SETS], dtype=np.int64)
_SET_LIMIT: Final = np.array([limit for _, limit in SETS])
_IN_SETS: Final = np.array([_NUMBER[name] for name in IN_SETS], dtype=np.int64)


def pool_features(edges: Singles, speeds: Singles) -> Singles:
    """Return [decision, column] -> what trees see of decisions (`features.POOLED`); some ten microseconds for each."""
    from gridloom.targets.dataflow.learned.pooling_kernel import pool_flows

    result: Singles = pool_flows(edges, speeds, _RANKS, _CRITICAL, _SET_OF, _SET_LIMIT, _IN_SETS, len(POOLED))
    return result


@dataclass(frozen=True, kw_only=True)
class PooledTrees:
    """Grown trees and how their scores are read."""

    forest: Forest
    #: Corrections of the logarithm that are smaller than this count as none, and larger ones are that much smaller.
    dead: float
    #: The columns that the trees see; None: all.
    columns: NDArray[np.int64] | None = None
    #: Whether the trees correct a formula; else they predict the logarithm of the efficiency.
    corrects: bool = True

    def predicted(self, rows: Singles) -> Floats:
        """Return the efficiency of decisions, at most 1. Microseconds for each."""
        from gridloom.targets.dataflow.learned.pooling_kernel import tree_scores

        seen = rows if self.columns is None else np.ascontiguousarray(rows[:, self.columns])
        f = self.forest
        found = tree_scores(seen, f.feature, f.threshold, f.left, f.right, f.value, f.start)
        if not self.corrects:
            return np.asarray(np.exp(np.minimum(0.0, found)), dtype=np.float64)
        factor = np.exp(np.sign(found) * np.maximum(0.0, np.abs(found) - self.dead))
        return np.asarray(np.minimum(1.0, rows[:, 0] * factor), dtype=np.float64)
