"""Training of the II estimator with scikit-learn, and its rivals: the MII, a constant, a closed form, regression.

Each pair is a question for every II from its MII up to a little above its label: is this II reachable? Boosted trees
learn the answer. All rivals predict the II itself, never below the MII, and are fitted on the same pairs.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

import numpy as np
from numpy.typing import NDArray

from gridloom.learn.boosted import ARRAYS, ForestSettings, grow
from gridloom.targets.modulo.learned.data import family_of
from gridloom.targets.modulo.learned.features import NAMES, Floats, at
from gridloom.targets.modulo.learned.inference import ASKED, ReachabilityTrees
from gridloom.targets.modulo.learned.labels import LabelledLoop

#: IIs above a label that are asked about as well: there the answer is yes.
_BEYOND: Final = 3

#: Pairs -> how far above its MII each is predicted.
Predictor = Callable[[Sequence[LabelledLoop]], NDArray[np.int64]]


def questions(pairs: Sequence[LabelledLoop]) -> tuple[Floats, NDArray[np.int64], Floats]:
    """Return features, answers and weights of all questions of some pairs; each pair weighs the same."""
    rows, answers, weight = [], [], []
    for pair in pairs:
        last = min(pair.mii + ASKED - 1, pair.ii + _BEYOND)
        iis = np.arange(pair.mii, last + 1)
        rows.append(at(pair.values, iis))
        answers.append(iis >= pair.ii)
        weight.append(np.full(len(iis), 1.0 / np.sqrt(len(iis))))
    return np.concatenate(rows), np.concatenate(answers).astype(np.int64), np.concatenate(weight)


def train_trees(pairs: Sequence[LabelledLoop], settings: ForestSettings, seed: int) -> ReachabilityTrees:
    """Return trees that are trained on some pairs; MissingExtra without scikit-learn. Seconds for a thousand pairs."""
    grown = grow(*questions(pairs), settings, seed)
    return ReachabilityTrees(
        **{name: getattr(grown, name) for name in (*ARRAYS, "start", "depth")},
        nodes=int(max(pair.values[NAMES.index("nodes")] for pair in pairs)),
        tiles=int(max(pair.values[NAMES.index("tiles")] for pair in pairs)),
    )


def predictor_of(trees: ReachabilityTrees) -> Predictor:
    """Return the predictions of trees."""

    def predict(pairs: Sequence[LabelledLoop]) -> NDArray[np.int64]:
        return np.array([trees.likely(trees.reachable(pair.values, pair.mii)) for pair in pairs], dtype=np.int64)

    return predict


def folds_of(pairs: Sequence[LabelledLoop], count: int, seed: int) -> list[list[LabelledLoop]]:
    """Return the pairs in folds of about the same size; a family is in one fold."""
    families: dict[str, list[LabelledLoop]] = {}
    for pair in pairs:
        families.setdefault(family_of(pair.source), []).append(pair)
    names = sorted(families)
    np.random.default_rng(seed).shuffle(names)
    folds: list[list[LabelledLoop]] = [[] for _ in range(count)]
    for name in names:
        min(folds, key=len).extend(families[name])
    return folds


# -- rivals -----------------------------------------------------------------------------------------------------------


def _above(pairs: Sequence[LabelledLoop]) -> NDArray[np.int64]:
    return np.array([pair.ii - pair.mii for pair in pairs], dtype=np.int64)


def _column(pairs: Sequence[LabelledLoop], name: str) -> Floats:
    k = NAMES.index(name)
    return np.array([pair.values[k] for pair in pairs])


def just_mii(_: Sequence[LabelledLoop]) -> Predictor:
    """Return the MII as the prediction."""
    return lambda asked: np.zeros(len(asked), dtype=np.int64)


def mii_and_constant(pairs: Sequence[LabelledLoop]) -> Predictor:
    """Return the MII and the constant that is best on some pairs above their MII: the median of those."""
    above = _above(pairs)
    constant = int(np.median(above[above > 0])) if np.any(above > 0) else 0
    return lambda asked: np.full(len(asked), constant, dtype=np.int64)


def closed_form(pairs: Sequence[LabelledLoop]) -> Predictor:
    """Return a closed form with two constants: the II at which slots, and readers beyond the first, have room.

    II = max(MII, ceil((slots + a * extra readers) / tiles), RecMII + b where a recurrence has further readers). The
    constants are the best of a grid on the pairs given.
    """

    def predicted(asked: Sequence[LabelledLoop], a: float, b: float) -> NDArray[np.int64]:
        slots, extra, tiles = (_column(asked, name) for name in ("slots", "extra_readers", "tiles"))
        needed = np.ceil((slots + a * extra) / tiles)
        tight = _column(asked, "rec") + b * (_column(asked, "bound_nodes") > 1)
        bound = _column(asked, "mii")
        return np.maximum(0, np.maximum(needed, np.floor(tight)) - bound).astype(np.int64)

    above = _above(pairs)
    grid = [(a, b) for a in np.arange(0.0, 1.55, 0.1) for b in (0.0, 1.0, 2.0)]
    best = min(grid, key=lambda ab: float(np.abs(predicted(pairs, *ab) - above).mean()))
    return lambda asked: predicted(asked, *best)


def regression(pairs: Sequence[LabelledLoop]) -> Predictor:
    """Return linear regression on the features at the MII, rounded; ridge, since some features depend on each other."""

    def rows(asked: Sequence[LabelledLoop]) -> Floats:
        return np.concatenate([at(pair.values, np.array([pair.mii])) for pair in asked])

    known = rows(pairs)
    mean, spread = known.mean(axis=0), known.std(axis=0) + 1e-9
    x = np.concatenate([(known - mean) / spread, np.ones((len(pairs), 1))], axis=1)
    solved = np.linalg.solve(x.T @ x + 3.0 * np.eye(x.shape[1]), x.T @ _above(pairs))

    def predict(asked: Sequence[LabelledLoop]) -> NDArray[np.int64]:
        z = np.concatenate([(rows(asked) - mean) / spread, np.ones((len(asked), 1))], axis=1)
        return np.asarray(np.maximum(0, np.rint(z @ solved)), dtype=np.int64)

    return predict


RIVALS: Final[dict[str, Callable[[Sequence[LabelledLoop]], Predictor]]] = {
    "mii": just_mii,
    "mii_and_constant": mii_and_constant,
    "closed_form": closed_form,
    "regression": regression,
}
