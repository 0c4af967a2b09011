"""The question that estimators answer: what is the least capacity at which a search maps a graph on an array?

Capacity is what an array gives more or less of: columns on rows of ALUs, the II on modulo-scheduled arrays. A trained
estimator has two parts. ``fits`` says whether the graph maps on all of the array, where that is in doubt; ``reach``
says at which capacity it maps if it does. Both are predictors of :mod:`gridloom.learn.predictors` over numbers of the
pair, to which each capacity adds its own. Inference needs numpy alone.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from gridloom.archs.model import Arch
from gridloom.dfg.model import Dfg
from gridloom.learn import weights
from gridloom.learn.cards import publish
from gridloom.learn.labels import Labelled
from gridloom.learn.predictors import Predictor, probabilities
from gridloom.learn.weights import TrainingScope

Doubles = NDArray[np.float64]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Seen:
    """What is known of a pair before any search: its numbers, or in words why no capacity will do."""

    values: Doubles
    refused: str = ""
    #: ``bound`` where counting refuses, ``proof`` where more than counting does.
    decided: str = ""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Reached:
    """An answer: the least capacity that is expected to do, and how probable each one is."""

    #: None: no capacity is expected to do.
    found: int | None
    least: int
    #: The probability that the graph maps at all, and that it maps at each capacity from ``least`` on if it does.
    fits: float
    reachable: Doubles

    def chance(self, capacity: int) -> float:
        """Return the probability that a capacity is enough."""
        if capacity < self.least:
            return 0.0
        return self.fits * float(self.reachable[min(capacity - self.least, len(self.reachable) - 1)])


class ReachQuestion(ABC):
    """What a target says of its question: how graphs are drawn, read, searched and seen."""

    name: ClassVar[str]
    #: Version of searches and sources. After a change of it, labels stored before no longer count.
    version: ClassVar[str]
    #: The numbers of a pair, and for :meth:`scope` those that tell whether the training has covered it.
    names: ClassVar[tuple[str, ...]]
    scoped: ClassVar[Mapping[str, str]]
    #: Those of them of which less is never outside of the training.
    downwards: ClassVar[frozenset[str]]
    #: Whether every graph maps at some capacity, so that only the capacity is in question.
    always: ClassVar[bool]
    #: The metric of a mapping that is its capacity.
    metric: ClassVar[str]

    @abstractmethod
    def read(self, source: str, arch: Arch) -> Dfg:
        """Return the graph of a source as an array takes it."""

    @abstractmethod
    def is_drawn(self, source: str) -> bool:
        """Return whether a source is drawn from numbers, so that it is read without any file."""

    @abstractmethod
    def family(self, source: str) -> str:
        """Return what is held out together."""

    @abstractmethod
    def suits(self, arch: Arch) -> bool:
        """Return whether the question means something on an array."""

    @abstractmethod
    def search(self, dfg: Dfg, arch: Arch) -> tuple[int | None, str]:
        """Return the least capacity that a fixed sequence of searches finds, and how sure that is (``DECIDED``)."""

    @abstractmethod
    def look(self, dfg: Dfg, arch: Arch) -> Seen:
        """Return the numbers of a pair."""

    @abstractmethod
    def span(self, values: Doubles) -> tuple[int, int]:
        """Return the least and the largest capacity that is asked about."""

    @abstractmethod
    def at(self, values: Doubles, capacities: NDArray[np.int64]) -> Doubles:
        """Return [capacity, feature]: what predictors see."""

    @abstractmethod
    def strata(self, item: Labelled) -> Iterable[str]:
        """Return the parts of the data that figures are given for, among which an item is."""

    def trains_on(self, item: Labelled) -> bool:
        """Return whether an item is trained on and not only measured on."""
        return True

    def scope(self, values: Doubles) -> dict[str, float]:
        """Return the numbers by which weights know what they were trained for."""
        return {word: float(values[self.names.index(name)]) for word, name in self.scoped.items()}

    def rows(self, values: Doubles) -> Doubles:
        """Return what predictors see at every capacity of the span."""
        least, most = self.span(values)
        return self.at(values, np.arange(least, most + 1))


@dataclass(frozen=True, slots=True, kw_only=True)
class ReachModel:
    """Trained predictors with calibration and scope."""

    reach: Predictor
    #: None: every graph maps at some capacity.
    fits: Predictor | None = None
    #: The probability of ``fits`` is sigmoid(scale * score + shift); from ``threshold`` on a graph is expected to map.
    scale: float = 1.0
    shift: float = 0.0
    threshold: float = 0.5
    #: The probability from which a capacity is expected to do.
    level: float = 0.5
    scope: TrainingScope = field(default_factory=lambda: TrainingScope({}))

    def answer(self, question: ReachQuestion, values: Doubles) -> Reached:
        """Return the answer for a pair. Well below a millisecond."""
        rows = _single(question.rows(values))
        least, _ = question.span(values)
        reachable = np.maximum.accumulate(probabilities(self.reach.scores(rows)))
        fits = 1.0
        if self.fits is not None:
            reachable[-1] = 1.0
            fits = float(probabilities(self.scale * self.fits.scores(rows[-1:]) + self.shift)[0])
        return self.decide(Reached(found=None, least=least, fits=fits, reachable=reachable))

    def decide(self, seen: Reached) -> Reached:
        """Return an answer with the capacity that its probabilities stand for."""
        if self.fits is not None and seen.fits < self.threshold:
            return replace(seen, found=None)
        enough = np.nonzero(seen.reachable >= self.level)[0]
        above = int(enough[0]) if enough.size else len(seen.reachable) - 1
        return replace(seen, found=seen.least + above)

    def save(self, path: Path, question: ReachQuestion, about: Mapping[str, Any]) -> dict[str, Any]:
        """Write the model with its scope, a description and a card; returns the report of the training."""
        arrays = self.reach.to_arrays("reach.") | ({} if self.fits is None else self.fits.to_arrays("fits."))
        known = {name: getattr(self, name) for name in ("scale", "shift", "threshold", "level")}
        known["scope"] = self.scope.record()
        return publish(path, question.name, arrays, {**about, **known}, features=question.names)

    @classmethod
    def load(cls, question: ReachQuestion, path: Path | None = None) -> ReachModel:
        """Return the model of a file; None: the shipped one. OptionError for a file of another model."""
        arrays, about = weights.load_model(path, question.name, features=question.names)
        known: dict[str, Any] = {name: float(about[name]) for name in ("scale", "shift", "threshold", "level")}
        reach = Predictor.of_arrays(arrays, "reach.") or Predictor(())
        scope = TrainingScope.of_record(about["scope"])
        return cls(reach=reach, fits=Predictor.of_arrays(arrays, "fits."), scope=scope, **known)


def fit_questions(
    question: ReachQuestion, items: Sequence[Labelled], beyond: int = 3
) -> tuple[Doubles, Doubles, Doubles]:
    """Return features, answers and weights of the capacities of pairs that map; each pair weighs about the same.

    Asked are the capacities from the least one to a little above the label.
    """
    rows, answers, weight = [], [], []
    for item in items:
        if item.found is not None:
            least, most = question.span(item.values)
            asked = np.arange(least, min(most, item.found + beyond) + 1)
            rows.append(question.at(item.values, asked))
            answers.append((asked >= item.found).astype(np.float64))
            weight.append(np.full(len(asked), 1.0 / np.sqrt(len(asked))))
    return _single(np.concatenate(rows)), np.concatenate(answers), np.concatenate(weight)


def whole_questions(question: ReachQuestion, items: Sequence[Labelled]) -> tuple[Doubles, Doubles, Doubles]:
    """Return features, answers and weights of the question whether each pair maps on all of its array.

    A label says it for smaller arrays as well, which together weigh as much as the whole one.
    """
    rows, answers, weight = [], [], []
    for item in items:
        least, most = question.span(item.values)
        asked = np.arange(least, most + 1)
        rows.append(question.at(item.values, asked))
        answers.append(np.full(len(asked), item.found is not None) & (asked >= (item.found or 0)))
        weight.append(np.r_[np.full(most - least, 1.0 / max(1, most - least)), 1.0])
    return _single(np.concatenate(rows)), np.concatenate(answers).astype(np.float64), np.concatenate(weight)


def _single(rows: Doubles) -> Doubles:
    """Numbers with the digits that 32 bits hold, which is what packed labels keep."""
    return rows.astype(np.float32).astype(np.float64)
