"""The shipped II estimator: gradient-boosted trees in numpy, so that its use needs neither torch nor scikit-learn.

The trees answer one question for each II: does a search reach it? The answers are made to grow with the II, since a
loop that maps at an II is expected to map at a higher one. The likely II is the first whose probability reaches the
threshold, and its confidence the probability that it is reached and the one below is not.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import Any, Final

import numpy as np

from gridloom.archs.model import Arch
from gridloom.dfg.model import Dfg
from gridloom.errors import OptionError
from gridloom.learn import weights
from gridloom.learn.boosted import ARRAYS, Forest
from gridloom.targets.modulo.ii_estimate import IiEstimate, bound_ii, check_modulo
from gridloom.targets.modulo.learned.features import AT_NAMES, NAMES, Floats, at, of_pair

NAME: Final = "initiation"
#: How many IIs from the MII on are asked about; what needs more is told as the last.
ASKED: Final = 16


@dataclass(frozen=True, slots=True, kw_only=True)
class ReachabilityTrees(Forest):
    """Boosted trees that are asked whether an II is reachable, and what they were trained on."""

    #: The probability from which on an II counts as reachable.
    level: float = 0.5
    #: The most nodes and tiles of the pairs that it was trained on.
    nodes: int = 1 << 30
    tiles: int = 1 << 30

    def reachable(self, values: Floats, mii: int) -> Floats:
        """Return the probability that each II from the MII on is reachable; it does not fall."""
        scores = self.scores(at(values, np.arange(mii, mii + ASKED)).astype(np.float32).astype(np.float64))
        return np.maximum.accumulate(1 / (1 + np.exp(-np.clip(scores, -30, 30))))

    def likely(self, reachable: Floats) -> int:
        """Return how far above the MII the likely II is."""
        reached = np.nonzero(reachable >= self.level)[0]
        return int(reached[0]) if reached.size else ASKED - 1


class LearnedIi:
    """The estimator ``learned``: the trees, never below the MII."""

    name = "learned"

    def __init__(self, trees: ReachabilityTrees) -> None:
        self.trees = trees

    def estimate(self, dfg: Dfg, arch: Arch) -> IiEstimate:
        """Return the likely II; OptionError for an array without one. About a millisecond for a loop of 50 nodes."""
        check_modulo(arch)
        counted = bound_ii(dfg, arch)
        if counted.ii is None:
            return replace(counted, confidence=1.0)
        pair = of_pair(dfg, arch)
        reachable = self.trees.reachable(pair.values, pair.mii.total)
        above = self.trees.likely(reachable)
        below = float(reachable[above - 1]) if above else 0.0
        outside = self._outside(pair.values)
        return IiEstimate(
            ii=pair.mii.total + above,
            mii=pair.mii,
            reason="learned" + (f"; {outside}" if outside else ""),
            confidence=float(reachable[above]) - below,
            reachable=tuple(float(chance) for chance in reachable),
        )

    def _outside(self, values: Floats) -> str:
        """In words, where a pair is larger than all that the trees were trained on; empty: it is not."""
        nodes, tiles = values[NAMES.index("nodes")], values[NAMES.index("tiles")]
        if nodes <= self.trees.nodes and tiles <= self.trees.tiles:
            return ""
        return (
            f"{nodes:.0f} nodes on {tiles:.0f} tiles are more than the {self.trees.nodes} nodes or {self.trees.tiles} "
            "tiles that the estimator was trained on"
        )


def save_trees(path: Path, trees: ReachabilityTrees, about: Mapping[str, Any]) -> None:
    """Write trees and a description for their model card."""
    arrays = {name: getattr(trees, name) for name in ARRAYS}
    known = {name: getattr(trees, name) for name in ("start", "depth", "level", "nodes", "tiles")}
    weights.save(path, arrays, {**about, **known, "model": NAME, "features": [*NAMES, *AT_NAMES]})


def load_trees(path: Path | None = None) -> ReachabilityTrees:
    """Return the trees of a file; None: the shipped ones. OptionError for a file of another model or other features."""
    arrays, about = weights.load(path or weights.weights_path(NAME))
    if about.get("model") != NAME:
        raise OptionError(f"these are weights of {about.get('model')!r}, expected {NAME!r}", where=str(path))
    if about.get("features") != [*NAMES, *AT_NAMES]:
        raise OptionError(
            "these weights are for other features; train them again with `gridloom train initiation`", where=str(path)
        )
    known: dict[str, Any] = {name: about[name] for name in ("start", "depth", "level", "nodes", "tiles")}
    return ReachabilityTrees(**{**arrays, **known})


@lru_cache(maxsize=1)
def shipped_estimator() -> LearnedIi:
    """Return the estimator with the shipped weights, loaded once."""
    return LearnedIi(load_trees())
