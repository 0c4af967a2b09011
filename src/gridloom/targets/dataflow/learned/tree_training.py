"""Growing the trees of the cost model, and choosing their settings without the graphs that judge them.

Settings are chosen by folds of the graphs that are trained on, so that graphs which are held out have no part in it.
Growing needs scikit-learn.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, replace
from typing import Any, Final, Literal

import numpy as np
from numpy.typing import NDArray

from gridloom.learn.boosted import NumberSettings, grow_numbers
from gridloom.targets.dataflow.costs.load import Floats
from gridloom.targets.dataflow.learned.features import FULL_SPEED, POOLED, POOLS
from gridloom.targets.dataflow.learned.rivals import spearman
from gridloom.targets.dataflow.learned.samples import GraphSamples, fold_of
from gridloom.targets.dataflow.learned.trees import PooledTrees

#: What may be left out: the formula with all that is seen at its speed, or all but the largest values and the means.
Without = Literal["nothing", "formula", "ranks"]

#: The settings that are chosen among: how trees are grown, and below which size a correction counts as none.
GROWN: Final = (NumberSettings(), NumberSettings(trees=300, rate=0.05, leaves=15, features=0.2))
DEAD: Final = (0.0, 0.005, 0.01, 0.02)
#: Folds of the graphs that are trained on, by which settings are chosen.
INNER: Final = 3


def grow(
    groups: Sequence[GraphSamples], *, without: Without = "nothing", seed: int = 0, start: PooledTrees | None = None
) -> tuple[PooledTrees, dict[str, Any]]:
    """Return trees that are grown on graphs with the settings that suit these graphs best, and the settings.

    With ``start`` they go on from trees of another training. Costs `INNER` growths for each of the settings and one
    more: about a minute for 6,080 decisions.
    """
    folds = fold_of(groups, INNER)
    tried: list[tuple[float, NumberSettings, float]] = []
    for settings in GROWN:
        inner = _inner(groups, folds, settings, without, seed, start)
        for dead in DEAD if without != "formula" else (0.0,):
            said = [replace(trees, dead=dead).predicted(group.pooled) for trees, group in inner]
            tried.append((_loss(said, [group.efficiencies for _, group in inner]), settings, dead))
    _, settings, dead = min(tried, key=lambda item: item[0])
    return _trees(groups, without, settings, dead, seed, start), {"settings": asdict(settings), "dead": dead}


def _inner(
    groups: Sequence[GraphSamples], folds: Sequence[int], settings: NumberSettings, without: Without, seed: int,
    start: PooledTrees | None,
) -> list[tuple[PooledTrees, GraphSamples]]:  # fmt: skip
    """Each graph with trees that were not grown on it."""
    found = []
    for fold in sorted(set(folds)):
        seen = [group for group, mine in zip(groups, folds) if mine != fold] or list(groups)
        trees = _trees(seen, without, settings, 0.0, seed, start)
        found += [(trees, group) for group, mine in zip(groups, folds) if mine == fold]
    return found


def _trees(
    groups: Sequence[GraphSamples], without: Without, settings: NumberSettings, dead: float, seed: int,
    start: PooledTrees | None = None,
) -> PooledTrees:  # fmt: skip
    """Trees for the logarithm of what a formula is wrong by, or of the efficiency where there is none."""
    rows, columns = np.concatenate([group.pooled for group in groups]), _kept(without)
    wanted = np.log(np.maximum(1e-3, np.concatenate([group.efficiencies for group in groups])))
    if without != "formula":
        wanted -= np.log(rows[:, 0].astype(np.float64))
    if start is not None:
        wanted -= start.forest.scores(rows)
    forest = grow_numbers(rows if columns is None else rows[:, columns], wanted, settings, seed)
    forest = forest if start is None else start.forest.plus(forest)
    return PooledTrees(forest=forest, dead=dead, columns=columns, corrects=without != "formula")


def _kept(without: Without) -> NDArray[np.int64] | None:
    """The columns that trees see; None for all."""
    if without == "nothing":
        return None
    if without == "ranks":
        kept = [k for k, (pool, _) in enumerate(POOLED) if pool in ("whole", "largest", "mean")]
    else:
        kept = [k for k, (pool, name) in enumerate(POOLED) if pool in POOLS and name in FULL_SPEED]
    return np.array(kept, dtype=np.int64)


def _loss(said: Sequence[Floats], true: Sequence[Floats]) -> float:
    """The relative error times what the rank correlation lacks: both are wanted."""
    found, labels = np.concatenate(list(said)), np.concatenate(list(true))
    error = float(np.mean(np.abs(found - labels) / np.maximum(labels, 1e-6)))
    return error * (1 - spearman(found, labels))
