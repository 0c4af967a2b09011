"""The model ``initiation``: which II does a loop reach on a modulo-scheduled array?

Importing this needs neither torch nor scikit-learn, since the estimator runs on numpy; training trees needs
scikit-learn.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gridloom.archs.model import Arch
from gridloom.dfg.model import Dfg
from gridloom.errors import OptionError
from gridloom.learn.labels import Labelled
from gridloom.learn.reach import Reached, ReachModel, ReachQuestion
from gridloom.learn.reach_training import Learner, Predict, ReachConfig, ReachEstimation
from gridloom.run.work import WorkFolder
from gridloom.targets.modulo.ii_estimate import IiEstimate, bound_ii, check_modulo
from gridloom.targets.modulo.learned.features import NAMES, Floats
from gridloom.targets.modulo.learned.question import DRAWN, QUESTION, pairs, usable


@dataclass(frozen=True, kw_only=True)
class InitiationConfig(ReachConfig):
    """Settings of ``gridloom train initiation`` and ``gridloom eval initiation``."""

    families: int = 500
    graphs: int = 6
    #: Loops of files beside the drawn ones: paths or patterns of paths, spaces separate them.
    files: str = ""

    def sources(self) -> list[str]:
        """Return the files, patterns expanded; OptionError for a pattern that no file matches."""
        found: list[str] = []
        for pattern in self.files.split():
            path = Path(pattern)
            matches = sorted(Path(path.anchor or ".").glob(str(path.relative_to(path.anchor)))) if path.name else []
            if not matches:
                raise OptionError(f"files: no file matches {pattern!r}")
            found += [str(match) for match in matches]
        return found


class LearnedIi:
    """The estimator ``learned``: IIs by a trained model, never below the MII."""

    name = "learned"

    def __init__(self, model: ReachModel) -> None:
        self.model = model

    def estimate(self, dfg: Dfg, arch: Arch) -> IiEstimate:
        """Return the likely II; OptionError for an array without one. About a millisecond for a loop of 50 nodes."""
        check_modulo(arch)
        counted = bound_ii(dfg, arch)
        seen = QUESTION.look(dfg, arch)
        if counted.ii is None or seen.refused:
            return replace(counted, confidence=1.0)
        answer = self.model.answer(QUESTION, seen.values)
        found = answer.least if answer.found is None else answer.found
        outside = self.model.scope.outside(QUESTION.scope(seen.values))
        return IiEstimate(
            ii=found,
            mii=counted.mii,
            reason="learned" + (f"; {outside}" if outside else ""),
            confidence=answer.chance(found) - answer.chance(found - 1),
            reachable=tuple(float(chance) for chance in answer.reachable),
        )


class InitiationModel(ReachEstimation):
    """What the registry holds under ``initiation``: the methods of every estimator."""

    config = InitiationConfig

    def estimator(self, path: Path | str | None = None) -> LearnedIi:
        """Return the estimator with the shipped weights, or with those of a file."""
        return LearnedIi(self.model(path))

    def estimate(self, dfg: Dfg, arch: Arch, path: Path | str | None = None) -> IiEstimate:
        """Return the estimate with the shipped weights, or with those of a file."""
        return self.estimator(path).estimate(dfg, arch)

    def drawn(self, config: InitiationConfig, arch: str | None) -> list[tuple[str, str]]:
        """Return source and array of the loops of a data set that can be labelled."""
        wanted = pairs(config.families, config.graphs, config.sources())
        if arch is not None:
            wanted = ((f"{DRAWN}{k}:0", arch) for k in range(20 * config.own))
        return list(islice((pair for pair in wanted if usable(*pair)), None if arch is None else config.own))

    def rivals(self, config: InitiationConfig, work: WorkFolder) -> dict[str, Any]:
        """Return the closed form."""
        return {"closed_form": closed_form}


def closed_form(question: ReachQuestion) -> Learner:
    """Return a closed form with two constants: the II at which slots, and readers beyond the first, have room.

    II = max(MII, ceil((slots + a * extra readers) / tiles), RecMII + b where a recurrence has further readers). The
    constants are the best of a grid on the pairs that it is fitted on.
    """

    def column(items: Sequence[Labelled], name: str) -> Floats:
        return np.array([item.values[NAMES.index(name)] for item in items])

    def predicted(items: Sequence[Labelled], a: float, b: float) -> NDArray[np.int64]:
        slots, extra, tiles = (column(items, name) for name in ("slots", "extra_readers", "tiles"))
        tight = column(items, "rec") + b * (column(items, "bound_nodes") > 1)
        needed = np.maximum(np.ceil((slots + a * extra) / tiles), np.floor(tight))
        return np.maximum(column(items, "mii"), needed).astype(np.int64)

    def learn(known: Sequence[Labelled], _seed: int) -> Predict:
        labels = np.array([item.found for item in known])
        grid = [(a, b) for a in np.arange(0.0, 1.55, 0.1) for b in (0.0, 1.0, 2.0)]
        best = min(grid, key=lambda ab: float(np.abs(predicted(known, *ab) - labels).mean()))
        return lambda items: [
            Reached(found=int(ii), least=question.span(item.values)[0], fits=1.0, reachable=np.ones(1))
            for item, ii in zip(items, predicted(items, *best), strict=True)
        ]

    return learn


MODEL = InitiationModel(QUESTION)
