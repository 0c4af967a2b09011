"""Training and evaluation of the estimators of :mod:`gridloom.learn.reach`, with folds by family.

Linear models and boosted trees are fitted on the same folds, beside a constant, the bound, and what the target names.
The linear model ships unless the trees are better by an interval that excludes zero. No family is both trained on and
measured on, and calibration uses scores of held-out families alone.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import lru_cache
from pathlib import Path
from typing import Any, ClassVar, Final, Literal

import numpy as np
from numpy.typing import NDArray

from gridloom.archs.model import Arch
from gridloom.dfg.model import Dfg
from gridloom.errors import MissingExtra, OptionError
from gridloom.learn import labels as store
from gridloom.learn import weights
from gridloom.learn.boosted import ForestSettings
from gridloom.learn.calibration import calibrate, calibration_error, threshold
from gridloom.learn.labels import Labelled
from gridloom.learn.predictors import Kind, Predictor, fit_linear, fit_trees, probabilities
from gridloom.learn.reach import Reached, ReachModel, ReachQuestion, fit_questions, whole_questions
from gridloom.learn.weights import TrainingScope
from gridloom.run import Store
from gridloom.run.work import WorkFolder
from gridloom.search.settings import check_settings
from gridloom.statistics import bootstrap_interval, compare_pairs

#: Items -> an answer for each.
Predict = Callable[[Sequence[Labelled]], list[Reached]]
#: Fits on items, with a seed.
Learner = Callable[[Sequence[Labelled], int], Predict]

KINDS: Final[tuple[Kind, ...]] = ("linear", "trees")
#: The fewest open graphs that training takes.
FEWEST: Final = 40


@dataclass(frozen=True, kw_only=True)
class ReachConfig:
    """Settings of training and evaluation that all estimators share."""

    read_by: ClassVar[Mapping[str, frozenset[str]]] = {"evaluate": frozenset({"relabel"})}
    #: How many families of drawn graphs the package's data set has, and how many graphs of each.
    families: int = 200
    graphs: int = 1
    #: How many drawn graphs are labelled for the user's array (``--arch``).
    own: int = 350
    #: What is trained: ``linear``, ``trees``, or ``auto``: the linear model unless the trees are better.
    learner: Literal["auto", "linear", "trees"] = "auto"
    #: Folds of the cross-validation; a family is in one fold. 0: evaluation measures the given weights alone.
    folds: int = 5
    #: Boosted trees, their depth and the rate at which they are added.
    trees: int = 300
    depth: int = 4
    rate: float = 0.1
    #: The probability from which on a capacity counts as reachable.
    level: float = 0.5
    #: The highest false-positive rate (share of the graphs that do not map) at which the threshold is chosen.
    most_false: float = 0.03
    #: Evaluation: label so many graphs again, chosen at random, and only report how many labels differ.
    relabel: int = 0

    def __post_init__(self) -> None:
        least = {"families": 1, "graphs": 1, "own": 0, "folds": 0, "trees": 1, "depth": 1, "relabel": 0}
        check_settings(self, at_least=least, positive=("rate",), shares=("level", "most_false"),
                       one_of={"learner": ("auto", *KINDS)})  # fmt: skip
        if self.folds == 1:
            raise OptionError("folds: expected 0 (the weights alone) or at least 2, found 1")


def folds_of(question: ReachQuestion, items: Sequence[Labelled], count: int, seed: int) -> NDArray[np.int64]:
    """Return the fold of each item; folds are of about the same size, and a family is in one of them."""
    families: dict[str, list[int]] = {}
    for k, item in enumerate(items):
        families.setdefault(question.family(item.source), []).append(k)
    names = sorted(families)
    np.random.default_rng(seed).shuffle(names)
    fold, sizes = np.zeros(len(items), dtype=np.int64), np.zeros(count)
    for name in names:
        least = int(sizes.argmin())
        fold[families[name]], sizes[least] = least, sizes[least] + len(families[name])
    return fold


def fit_model(
    question: ReachQuestion, items: Sequence[Labelled], kind: Kind, config: ReachConfig, seed: int,
    start: ReachModel | None = None,
) -> ReachModel:  # fmt: skip
    """Return a model of one kind without calibration; ``start`` is a model that it corrects, by a linear one."""
    items = [item for item in items if question.trains_on(item)]

    def fit(rows: Any, answers: Any, weight: Any, base: Predictor | None) -> Predictor:
        if kind == "linear" or base is not None:
            return fit_linear(rows, answers, weight, start=base)
        settings = ForestSettings(trees=config.trees, depth=config.depth, rate=config.rate)
        return fit_trees(rows, answers, weight, settings, seed)

    return ReachModel(
        reach=fit(*fit_questions(question, items), None if start is None else start.reach),
        fits=None if question.always else fit(*whole_questions(question, items), None if start is None else start.fits),
        level=config.level,
        scope=TrainingScope.of((question.scope(item.values) for item in items), downwards=question.downwards),
    )


@dataclass(frozen=True, kw_only=True, eq=False)
class HeldOutAnswers:
    """What models of a kind say of items that they were not fitted on."""

    answers: list[Reached]
    #: The scores of ``fits`` before calibration; empty where there is none.
    scores: NDArray[np.float64] = field(default_factory=lambda: np.zeros(0))


def hold_out(
    question: ReachQuestion, items: Sequence[Labelled], fold: NDArray[np.int64], kind: Kind, config: ReachConfig,
    work: WorkFolder, start: ReachModel | None = None,
) -> HeldOutAnswers:  # fmt: skip
    """Return what a kind of model says of each item when the item's fold is held out.

    The probabilities of a fold are calibrated on the scores of the other folds.
    """
    models = {}
    for k in sorted(set(fold.tolist())):
        known = [item for item, own in zip(items, fold, strict=True) if own != k]
        models[k] = fit_model(question, known, kind, config, work.seed + k, start)
        work.progress(f"{kind}: fold {k + 1}", (k + 1) / (1 + int(fold.max())))
    answers = [models[k].answer(question, item.values) for item, k in zip(items, fold.tolist(), strict=True)]
    if question.always:
        return HeldOutAnswers(answers=answers)
    p = np.clip([answer.fits for answer in answers], 1e-12, 1 - 1e-12)
    scores = np.log(p / (1 - p))
    for k, model in models.items():
        sure = calibrate_model(question, model, items, scores, fold != k, config)
        for j in np.flatnonzero(fold == k):
            chance = float(probabilities(np.array([sure.scale * scores[j] + sure.shift]))[0])
            answers[j] = sure.decide(replace(answers[j], fits=chance))
    return HeldOutAnswers(answers=answers, scores=scores)


def calibrate_model(
    question: ReachQuestion, model: ReachModel, items: Sequence[Labelled], scores: NDArray[np.float64],
    among: NDArray[np.bool_], config: ReachConfig,
) -> ReachModel:  # fmt: skip
    """Return a model with calibration and threshold from scores of held-out items."""
    truths = np.array([item.found is not None for item in items], dtype=np.float64)[among]
    scale, shift = calibrate(scores[among], truths)
    cut = threshold(probabilities(scale * scores[among] + shift), truths, config.most_false)
    return replace(model, scale=scale, shift=shift, threshold=cut)


# -- figures ----------------------------------------------------------------------------------------------------------


def loss(question: ReachQuestion, item: Labelled, answer: Reached) -> float:
    """Return how far an answer is from the label: cycles, or 0 and 1 for whether it maps."""
    if question.always:
        return float(abs((answer.found or 0) - (item.found or 0)))
    return float((answer.found is None) != (item.found is None))


def figures(question: ReachQuestion, items: Sequence[Labelled], answers: Sequence[Reached]) -> dict[str, Any]:
    """Return the figures of some answers, with the interval of the first one by family.

    Errors of capacities are over the graphs that map and are expected to.
    """
    pairs = list(zip(items, answers, strict=True))
    groups: dict[str, list[float]] = {}
    for item, answer in pairs:
        groups.setdefault(question.family(item.source), []).append(loss(question, item, answer))
    low, high = bootstrap_interval(list(groups.values()), resamples=400)
    hits = [(item.found, answer.found) for item, answer in pairs if item.found and answer.found]
    errors = np.array([abs(found - said) for found, said in hits], dtype=np.float64)
    wide = {
        "error": _mean(errors),
        "relative_error": _mean(errors / np.array([found for found, _ in hits], dtype=np.float64)),
        "exact": _mean(errors == 0),
    }
    if question.always:
        return {"pairs": len(pairs), "error_interval": [round(low, 4), round(high, 4)], **wide}
    yes = [answer.found is not None for item, answer in pairs if item.found is not None]
    no = [answer.found is not None for item, answer in pairs if item.found is None]
    return {
        "graphs": len(pairs),
        "mappable_share": _mean([item.found is not None for item in items]),
        "accuracy": _mean([(item.found is None) == (answer.found is None) for item, answer in pairs]),
        "accuracy_interval": [round(1 - high, 4), round(1 - low, 4)],
        "recall": _mean(yes),
        "false_positive_rate": _mean(no),
        "exact_width": wide["exact"],
        "width_error": wide["relative_error"],
    }


def _mean(values: Any) -> float | None:
    return round(float(np.mean(values)), 4) if len(values) else None


def _bound(question: ReachQuestion) -> Learner:
    """The least capacity, always."""

    def learn(_known: Sequence[Labelled], _seed: int) -> Predict:
        return lambda items: [_plain(question, item, 0) for item in items]

    return learn


def _constant(question: ReachQuestion) -> Learner:
    """The more frequent answer, and the median distance from the least capacity among those above it."""

    def learn(known: Sequence[Labelled], _seed: int) -> Predict:
        fits = np.mean([item.found is not None for item in known]) >= 0.5
        above = [item.found - question.span(item.values)[0] for item in known if item.found is not None]
        beyond = [a for a in above if a > 0]
        middle = int(np.median(beyond)) if beyond and question.always else int(np.median(above or [0]))
        return lambda items: [_plain(question, item, middle if fits else None) for item in items]

    return learn


def _plain(question: ReachQuestion, item: Labelled, above: int | None) -> Reached:
    """An answer without probabilities."""
    least, most = question.span(item.values)
    found = None if above is None else min(most, least + above)
    return Reached(found=found, least=least, fits=float(above is not None), reachable=np.ones(1))


def judge_all(
    question: ReachQuestion, items: Sequence[Labelled], config: ReachConfig, work: WorkFolder,
    start: ReachModel | None = None, *, kinds: Sequence[Kind] = KINDS, rivals: Mapping[str, Any] | None = None,
) -> dict[str, HeldOutAnswers]:  # fmt: skip
    """Return what each learner says of items of held-out families, the trained ones first.

    ``rivals`` are learners beside the bound and a constant; None: trained ones alone.
    """
    fold = folds_of(question, items, config.folds or 5, work.seed)
    judged: dict[str, HeldOutAnswers] = {}
    for kind in kinds:
        try:
            judged[kind] = hold_out(question, items, fold, kind, config, work)
        except MissingExtra:
            continue
    if start is not None:
        judged["corrected"] = hold_out(question, items, fold, "linear", config, work, start)
    others = {} if rivals is None else {"bound": _bound, "constant": _constant, **rivals}
    for name, make in others.items():
        if work.over():
            break
        learn: Learner = make(question)
        answers: list[Reached | None] = [None] * len(items)
        for k in sorted(set(fold.tolist())):
            predict = learn([item for item, own in zip(items, fold, strict=True) if own != k], work.seed + k)
            held = np.flatnonzero(fold == k).tolist()
            for j, answer in zip(held, predict([items[j] for j in held]), strict=True):
                answers[j] = answer
        judged[name] = HeldOutAnswers(answers=[answer for answer in answers if answer is not None])
    return judged


def table(question: ReachQuestion, items: Sequence[Labelled], judged: Mapping[str, HeldOutAnswers]) -> dict[str, Any]:
    """Return the figures of each learner on all items and on each stratum."""
    strata: dict[str, list[int]] = {}
    for k, item in enumerate(items):
        for name in question.strata(item):
            strata.setdefault(name, []).append(k)
    report: dict[str, Any] = {}
    for name, held in judged.items():
        report[name] = {"all": figures(question, items, held.answers)}
        for stratum in sorted(strata):
            chosen = strata[stratum]
            some = [items[k] for k in chosen], [held.answers[k] for k in chosen]
            report[name].setdefault("strata", {})[stratum] = figures(question, *some)
    return report


def choose(question: ReachQuestion, items: Sequence[Labelled], judged: Mapping[str, HeldOutAnswers]) -> str:
    """Return the learner that ships: the linear one, unless another is better by an interval that excludes zero.

    Learners are compared by the logarithm of the probability of the label, family by family.
    """

    def losses(name: str) -> dict[tuple[str, int], float]:
        return {
            (question.family(item.source), k): _surprise(question, item, answer)
            for k, (item, answer) in enumerate(zip(items, judged[name].answers, strict=True))
        }

    best = next(iter(judged))
    for name in judged:
        if name != best and compare_pairs(losses(name), losses(best)).verdict == "ahead":
            best = name
    return best


def _surprise(question: ReachQuestion, item: Labelled, answer: Reached) -> float:
    """Minus the logarithm of the probability that an answer gives the label."""
    if item.found is None:
        return -float(np.log(max(1e-6, 1 - answer.fits)))
    below = answer.chance(item.found - 1)
    return -float(np.log(max(1e-6, answer.chance(item.found) - below)))


# -- the model of the registry ----------------------------------------------------------------------------------------


class ReachEstimation:
    """What the registry holds for an estimator: data, training and evaluation of one question.

    A target adds what it makes of an answer (``estimate``).
    """

    config: type[Any] = ReachConfig

    def __init__(self, question: ReachQuestion) -> None:
        self.question, self.name = question, question.name
        self.loaded = lru_cache(maxsize=8)(lambda path: ReachModel.load(question, path))

    @property
    def trained(self) -> bool:
        """Whether the package has weights."""
        return weights.weights_path(self.name).exists()

    def model(self, path: Path | str | None = None) -> ReachModel:
        """Return the shipped model, or that of a file; a file is read once."""
        loaded: ReachModel = self.loaded(None if path is None else Path(path))
        return loaded

    def drawn(self, config: Any, arch: str | None) -> list[tuple[str, str]]:
        """Return source and array of the graphs that a data set draws, for one array where it is given."""
        raise NotImplementedError

    def capacity_of(self, record: Mapping[str, Any], arch: Arch) -> int | None:
        """Return the capacity in the metrics of a mapping; None: there is none, or the array is of another kind."""
        found = record.get(self.question.metric) if self.question.suits(arch) else None
        return found if isinstance(found, int) and record.get("status", "mapped") == "mapped" else None

    def observe(self, rows: Store, dfg: Dfg, arch: Arch, found: int | None) -> None:
        """Add what an ordinary run found to a store; nothing where the question means nothing."""
        if self.question.suits(arch) and (found is not None or not self.question.always):
            store.observe(self.question, rows, dfg, arch, found)

    def _store(self, work: WorkFolder) -> Path:
        return work.labels or work.folder / f"{self.name}.sqlite"

    def make_data(self, config: Any, work: WorkFolder) -> dict[str, Any]:
        """Label what is missing of a data set and return its counts; a stopped run continues where it was.

        Labelled are the user's graphs where they are given, and drawn ones on the user's array (``own`` of them). A new
        store of the package's own data set begins with the labels of the package.
        """
        question, path = self.question, self._store(work)
        if work.arch is not None and not question.suits(store.array_of(work.arch)):
            raise OptionError(f"model {self.name!r} knows nothing of array {work.arch!r}", where="--arch")
        jobs = [store.ask_label(question, name, work.arch or "", dfg) for name, dfg in work.graphs]
        jobs += [store.ask_label(question, *pair) for pair in self.drawn(config, work.arch)]
        known: list[Labelled] = []
        if work.arch is None and not work.graphs and weights.weights_path(f"{self.name}-labels").exists():
            asked = {job.key for job in jobs}
            packed = store.unpack(question)
            known = [item for item in packed if store.ask_label(question, item.source, item.arch).key in asked]
        done = store.label_missing(question, jobs, path, work, known)
        labels = store.read_store(question, path)
        store.pack(question, path.with_name(f"{path.stem}-labels.npz"), labels)
        return {**done, "store": str(path), **store.summary(question, labels)}

    def _items(self, work: WorkFolder) -> tuple[list[Labelled], list[Labelled]]:
        """All labels, and those that only a search decides; OptionError where these are too few."""
        path = self._store(work)
        if work.labels is not None and not path.exists():
            raise OptionError("there are no labels; make some with `gridloom train --make-data`", where=str(path))
        labels = store.read_labels(self.question, path)
        if work.arch is not None:
            arch = store.array_of(work.arch).fingerprint
            labels = [item for item in labels if store.array_of(item.arch).fingerprint == arch]
        some = [item for item in labels if item.is_open]
        if len(some) < FEWEST:
            raise OptionError(
                f"the data set has {len(some)} graphs that only a search decides, expected at least {FEWEST}; make "
                f"more: `gridloom train {self.name} --make-data`",
                where=str(path if path.exists() else work.folder),
            )
        return labels, some

    def rivals(self, config: Any, work: WorkFolder) -> Mapping[str, Any]:
        """Return further learners that an evaluation measures: question -> learner, by name."""
        return {}

    def train(self, config: Any, work: WorkFolder) -> dict[str, Any]:
        """Train the learner that does best on held-out families, save it with its card and return its figures.

        OptionError where the data set has too few graphs. Takes some seconds for a linear model, and about a minute
        more for trees.
        """
        labels, items = self._items(work)
        began = time.process_time()
        start = None if work.start is None else self.model(work.start)
        kinds: tuple[Kind, ...] = KINDS if config.learner == "auto" else (config.learner,)
        judged = judge_all(self.question, items, config, work, start, kinds=kinds)
        chosen = choose(self.question, items, judged)
        kind: Kind = "trees" if chosen == "trees" else "linear"
        base = start if chosen == "corrected" else None
        model = fit_model(self.question, items, kind, config, work.seed, base)
        if not self.question.always:
            every = np.ones(len(items), dtype=np.bool_)
            model = calibrate_model(self.question, model, items, judged[chosen].scores, every, config)
        path = work.weights or work.folder / f"{self.name}.npz"
        report = table(self.question, items, judged)
        about = {
            "learner": chosen,
            "data": store.summary(self.question, labels),
            "figures": {name: part["all"] for name, part in report.items()},
            "settings": asdict(config),
            "seed": work.seed,
            "cpu_seconds": round(time.process_time() - began, 1),
        }
        return model.save(path, self.question, about)

    def evaluate(self, config: Any, work: WorkFolder) -> dict[str, Any]:
        """Return the figures of all learners on held-out families, and of the shipped or the given weights beside them.

        The weights were trained on the labels of the package, or on what their card names; ``folds=0`` measures them
        alone. ``relabel`` checks the labels instead.
        """
        labels, items = self._items(work)
        if config.relabel:
            return store.check_labels(self.question, labels, config.relabel, work.seed)
        rivals = self.rivals(config, work)
        judged = {} if config.folds == 0 else judge_all(self.question, items, config, work, rivals=rivals)
        given = {"shipped": None, **({} if work.weights is None else {"weights": work.weights})}
        for name, path in given.items():
            if path is not None or self.trained:
                model = self.model(path)
                judged[name] = HeldOutAnswers(answers=[model.answer(self.question, item.values) for item in items])
        report: dict[str, Any] = {"data": store.summary(self.question, labels), "folds": config.folds}
        if config.folds:
            trained: dict[str, HeldOutAnswers] = {name: judged[name] for name in KINDS if name in judged}
            report["best"] = choose(self.question, items, trained)
            if not self.question.always:
                answers = judged[report["best"]].answers
                truths = np.array([item.found is not None for item in items], dtype=np.float64)
                report["calibration_error"] = calibration_error(np.array([a.fits for a in answers]), truths)
        return {**report, **table(self.question, items, judged), "ms_per_graph": self._milliseconds(items, work)}

    def _milliseconds(self, items: Sequence[Labelled], work: WorkFolder) -> float | None:
        """CPU milliseconds of an answer, features included; None: there are no weights."""
        if work.weights is None and not self.trained:
            return None
        model, question = self.model(work.weights), self.question
        drawn = [item for item in items if question.is_drawn(item.source)][:100]
        asked = [(question.read(item.source, store.array_of(item.arch)), store.array_of(item.arch)) for item in drawn]
        for _ in range(2):  # the first round computes what is kept for each array
            began = time.process_time()
            for dfg, arch in asked:
                model.answer(question, question.look(dfg, arch).values)
        return round(1000 * (time.process_time() - began) / max(1, len(asked)), 3)
