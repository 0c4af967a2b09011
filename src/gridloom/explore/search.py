"""Running an exploration: which points are evaluated, their jobs on the executor, their rows in a store.

A grid or a random choice is one run of all its jobs. An optimiser proposes points in batches of a fixed size and gets
the results in the order of its proposals, so its proposals depend on the seed and on the rows alone: killed and resumed
it proposes the same points again, is answered from the stored rows, and continues from there.

``tpe`` and ``nsga2`` are Optuna's samplers: tree-structured Parzen estimators and the genetic algorithm NSGA-II. Both
see all objectives and the excess of all constraints. Mappings that an estimator thinks hopeless can be skipped; a
sample of them is run all the same, so that the report can say how often the estimator was wrong.
"""

from __future__ import annotations

import contextlib
import itertools
import random
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass, field
from html import escape
from pathlib import Path
from typing import Any, Final, NamedTuple

from gridloom import plugins
from gridloom.errors import MissingExtra, OptionError, install_hint
from gridloom.explore.buffers import Buffers, find_buffers
from gridloom.explore.merging import Merged, find_merged_array
from gridloom.explore.points import (
    ArrayCandidate,
    Evaluated,
    candidate,
    evaluate_point,
    expand_kernels,
    jobs_of,
    probability,
)
from gridloom.explore.ranking import Ranking
from gridloom.explore.sharing import VariantMapper
from gridloom.explore.space import OBJECTIVES, Point, Space
from gridloom.flow.bench.run import broken_record, run_cell
from gridloom.run import ExecutorSpec, Job, RunProgress, Store, StoreError, WorkerPool, run_stored

#: Objectives that the hardware model prices, and the figures of a price that they need.
PRICED: Final = {"area": "area", "levels": "levels", "luts": "luts", "mhz": "mhz", "ns": "mhz", "gops": "mhz"}
_MOST_PRICED: Final = 64
#: The value that an optimiser gets for a figure that a point does not have.
_WORST = 1e18


@dataclass(slots=True)
class Skipping:
    """What an estimator saved, and what that cost."""

    #: Mappings that were not tried because the estimator thought them hopeless.
    skipped: int = 0
    #: Hopeless mappings that were tried all the same, and how many of those succeeded.
    sampled: int = 0
    mapped_after_all: int = 0


class Moment(NamedTuple):
    """The progress of an exploration."""

    #: Points evaluated so far, and points planned.
    points: int
    planned: int
    jobs: RunProgress
    best: Evaluated | None = None


@dataclass(frozen=True, kw_only=True)
class Exploration:
    """The result of an exploration: every evaluated point, in the order of the search."""

    space: Space
    kernels: Sequence[str]
    points: Sequence[Evaluated]
    #: How many mappings were run or read from the store.
    jobs: int
    skipping: Skipping = field(default_factory=Skipping)
    interrupted: bool = False
    seconds: float = 0.0

    def __repr__(self) -> str:
        return f"<Exploration {self.space.explore}: {len(self.points)} arrays, {len(self.kernels)} kernels>"

    def _repr_html_(self) -> str:
        from gridloom.emit.picture.notebook import table
        from gridloom.explore.answers import front

        names = self.space.objectives
        best = front(self.points, names)
        rows = [(one.point.name, *(f"{one.figures[name]:.4g}" for name in names)) for one in best]
        return f"<div><strong>{escape(repr(self)[1:-1])}: the front</strong>{table(rows, ('array', *names))}</div>"


@dataclass
class _Explorer:
    """One run: the store, the executor and the points evaluated so far.

    ``points`` grows with each call of ``evaluate``; ``seen`` are the keys of all jobs asked for, ``counted`` those that
    ``skipping`` counts, ``planned`` the points that the search will look at.
    """

    space: Space
    sources: Sequence[str]
    store: Store
    executor: ExecutorSpec | Executor
    progress: Callable[[Moment], None] | None
    planned: int
    #: Whether rows hold their mappings.
    keep: bool = False
    points: list[Evaluated] = field(default_factory=list)
    seen: set[str] = field(default_factory=set)
    counted: set[str] = field(default_factory=set)
    skipping: Skipping = field(default_factory=Skipping)
    interrupted: bool = False

    def evaluate(self, points: Iterable[Point]) -> list[Evaluated]:
        """Map every kernel on every point and return the points with their figures, in order.

        A point whose rows are not all there, after an interruption, is left out.
        """
        candidates = [candidate(self.space, point, self.sources) for point in points]
        asked = [self._asked(one) for one in candidates]
        jobs = list({job.key: job for wanted, _ in asked for job, _ in wanted}.values())
        self.seen.update(job.key for job in jobs)
        done = run_stored(
            plugins.carry(run_cell), jobs, self.store, executor=self.executor, resume=True, progress=self._tell
        )
        self.interrupted |= done.interrupted
        finished = []
        for one, (wanted, skipped) in zip(candidates, asked):
            rows = [row for job, hopeless in wanted if (row := self._row(job, hopeless)) is not None]
            # Figures over some of the kernels cannot be compared with those over all of them.
            if len(rows) == len(wanted):
                finished.append(evaluate_point(self.space, one, rows, skipped))
        self.points += finished
        return finished

    def _asked(self, one: ArrayCandidate) -> tuple[list[tuple[Job[Any], bool]], int]:
        """The jobs to run, each with whether an estimator thinks it hopeless, and how many are skipped for that."""
        jobs = jobs_of(self.space, one, self.sources, keep=self.keep)
        rule = self.space.skip
        if rule is None:
            return [(job, False) for job in jobs], 0
        chances = {source: probability(rule, source, one, self.space.weights) for source in self.sources}
        wanted = []
        for job in jobs:
            hopeless = chances[job.argument["source"]] < rule.below
            # The key is a hash: its first digits are as good as a random number, and the same in every run.
            if not hopeless or int(job.key[:8], 16) < rule.sample * 2**32:
                wanted.append((job, hopeless))
            else:
                self.skipping.skipped += self._is_new(job)
        return wanted, len(jobs) - len(wanted)

    def _row(self, job: Job[Any], hopeless: bool) -> Mapping[str, Any] | None:
        """Return the stored row of a job, None where there is none, and count the hopeless ones that were tried."""
        stored = self.store.get(job.key)
        if stored is None:
            return None
        row = _row(stored.value, stored.error, job)
        if hopeless and self._is_new(job):
            self.skipping.sampled += 1
            self.skipping.mapped_after_all += row["status"] == "mapped"
        return row

    def _is_new(self, job: Job[Any]) -> bool:
        """Return True for a job that was not counted yet, and mark it: an optimiser may propose a point again."""
        new = job.key not in self.counted
        self.counted.add(job.key)
        return new

    def _tell(self, jobs: RunProgress) -> None:
        """Hand the progress on, with the best point by the first objective so far."""
        if self.progress is not None:
            best = best_of(self.points, self.space.objectives[0])
            self.progress(Moment(points=len(self.points), planned=self.planned, jobs=jobs, best=best))


def explore(
    space: Space,
    *,
    folder: Path | None = None,
    named: Sequence[str] = (),
    executor: ExecutorSpec = ExecutorSpec(),
    store: Store | None = None,
    resume: bool = False,
    progress: Callable[[Moment], None] | None = None,
) -> Exploration:
    """Evaluate the points of a space and return them with their figures.

    With a ``store``, rows are written to it as they arrive; with ``resume``, rows that it has are not computed again.
    Rows in the user's store hold their mappings. Objectives and constraints that no array can have are an OptionError.
    Without ``resume`` a store with rows is refused (StoreError). Ctrl-C ends the run; points whose kernels are all done
    are returned.
    """
    check_resumable(store, resume)
    sources = expand_kernels(space.kernels, folder, named)
    check_objectives(space, sources)
    began = time.monotonic()
    with open_store(store) as rows, kept_open(executor, space) as site:
        explorer = _Explorer(space, sources, rows, site, progress, planned_points(space), store is not None)
        _METHODS[space.search.method](explorer)
    return Exploration(
        space=space,
        kernels=sources,
        points=tuple(explorer.points),
        jobs=len(explorer.seen),
        skipping=explorer.skipping,
        interrupted=explorer.interrupted,
        seconds=time.monotonic() - began,
    )


def check_objectives(space: Space, sources: Sequence[str]) -> None:
    """Raise OptionError for an objective or a constraint that no array of a space has a figure for.

    Looks at arrays until each figure is found, and at no more than ``_MOST_PRICED`` of them. Maps nothing.
    """
    wanted = [*space.objectives, *(limit.name for limit in space.limits)]
    missing = [name for name in dict.fromkeys(wanted) if name in PRICED]
    looked = 0
    for point in itertools.islice(space.grid(), _MOST_PRICED):
        if not missing:
            return
        one = candidate(space, point, sources)
        if one.arch is None:
            continue
        looked += 1
        price = one.cost
        missing = [name for name in missing if price is None or getattr(price, PRICED[name]) is None]
    if missing and looked:
        known = ", ".join(name for name in OBJECTIVES if name not in missing)
        where = "objectives" if set(missing) & set(space.objectives) else "constraints"
        raise OptionError(
            f"{where}: no array of the space has a figure for {' and '.join(missing)}: it is unlike those that the "
            f"hardware model was fitted to; others: {known}"
        )


def check_resumable(store: Store | None, resume: bool) -> None:
    """Raise StoreError for a store that has rows when ``resume`` is not set."""
    if store is not None and not resume and len(store):
        raise StoreError(
            f"holds {len(store)} results already; resume (--resume), or name a new file", where=str(store.path)
        )


def planned_points(space: Space) -> int:
    """Return how many points the search will evaluate at most."""
    return space.size if space.search.points is None else min(space.size, space.search.points)


def best_of(points: Sequence[Evaluated], objective: str) -> Evaluated | None:
    """Return the feasible point that is best by one objective, the first of equal ones; None: no point is feasible."""
    sign = -1.0 if OBJECTIVES[objective] else 1.0
    known = [
        (sign * value, k) for k, p in enumerate(points) if p.feasible and (value := p.figures[objective]) is not None
    ]
    return points[min(known)[1]] if known else None


# -- which points -----------------------------------------------------------------------------------------------------


def _grid(explorer: _Explorer) -> None:
    """Evaluate the points of the grid, or the first so many of them."""
    points = list(explorer.space.grid())
    explorer.evaluate(points if explorer.space.search.points is None else points[: explorer.space.search.points])


def _random(explorer: _Explorer) -> None:
    """Evaluate points that are drawn without repetition from the grid."""
    space = explorer.space
    chosen = random.Random(space.search.seed).sample(range(space.size), planned_points(space))
    explorer.evaluate([space.at(index) for index in chosen])


def _ranked(explorer: _Explorer) -> None:
    """Evaluate the points that an estimator expects most of, batch by batch; each batch corrects the next."""
    space = explorer.space
    ranking = Ranking.of(space, [candidate(space, point) for point in space.grid()], explorer.sources)
    left = planned_points(space)
    while left > 0 and not explorer.interrupted and (chosen := ranking.next_batch(min(left, space.search.batch))):
        finished = explorer.evaluate([ranking.points[k] for k in chosen])
        left -= len(chosen)
        if len(finished) == len(chosen):
            for k, one in zip(chosen, finished):
                ranking.note(k, one)


def _optimised(explorer: _Explorer) -> None:
    """Evaluate the points that an optimiser proposes, batch by batch.

    An incomplete batch ends the search: telling the optimiser a part of it would make a resumed run propose other
    points.
    """
    space = explorer.space
    study, distributions = _study(space)
    left = space.search.points or 0
    while left and not explorer.interrupted:
        trials = [study.ask(distributions) for _ in range(min(left, space.search.batch))]
        left -= len(trials)
        points = [space.point({name: space.values(name)[trial.params[name]] for name in space.parameters})
                  for trial in trials]  # fmt: skip
        finished = explorer.evaluate(points)
        if len(finished) < len(trials):
            return
        for trial, one in zip(trials, finished):
            # A figure that is missing is infinitely far from its limit; the sampler gets a finite number in its place.
            trial.set_user_attr("excess", [min(value, _WORST) for value in one.excess])
            study.tell(trial, [_told(name, one) for name in space.objectives])
    explorer.points = _first_of_each(explorer.points)


def _study(space: Space) -> tuple[Any, dict[str, Any]]:
    """An Optuna study of the objectives, and the distributions of the parameters."""
    try:
        import optuna
    except ImportError:
        raise MissingExtra(
            f"search method {space.search.method!r} needs optuna, which is not installed: "
            f"{install_hint('explore')}, or use method grid or random"
        ) from None
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    # The optimiser sees the index of a parameter's value: numbers are ordered, other choices are not.
    distributions: dict[str, Any] = {}
    for name in space.parameters:
        count = len(space.values(name))
        numeric = all(isinstance(value, int | float) and not isinstance(value, bool) for value in space.values(name))
        distributions[name] = (
            optuna.distributions.IntDistribution(0, count - 1)
            if numeric
            else optuna.distributions.CategoricalDistribution(tuple(range(count)))
        )

    def excess(trial: Any) -> Sequence[float]:
        return list(trial.user_attrs["excess"])

    options = {"seed": space.search.seed, "constraints_func": excess if space.constraints else None}
    samplers = optuna.samplers
    sampler = samplers.TPESampler(**options) if space.search.method == "tpe" else samplers.NSGAIISampler(**options)
    directions = ["maximize" if OBJECTIVES[name] else "minimize" for name in space.objectives]
    return optuna.create_study(directions=directions, sampler=sampler), distributions


def _told(name: str, one: Evaluated) -> float:
    """Return a figure as the optimiser is told it: the worst possible where the point has none."""
    value = one.figures.get(name)
    return value if value is not None else (-_WORST if OBJECTIVES[name] else _WORST)


def _first_of_each(points: Sequence[Evaluated]) -> list[Evaluated]:
    """The points in the order of their first proposals: an optimiser may propose a point again."""
    first: dict[str, Evaluated] = {}
    for one in points:
        first.setdefault(str(sorted(one.point.values.items())), one)
    return list(first.values())


_METHODS: dict[str, Callable[[_Explorer], None]] = {
    "grid": _grid,
    "random": _random,
    "tpe": _optimised,
    "nsga2": _optimised,
    "ranked": _ranked,
}


# -- where it runs ----------------------------------------------------------------------------------------------------


@contextlib.contextmanager
def open_store(store: Store | None) -> Iterator[Store]:
    """Yield the user's store, or a temporary one for this run."""
    if store is not None:
        yield store
        return
    with tempfile.TemporaryDirectory(prefix="gridloom-explore-") as place, Store(Path(place) / "rows.sqlite") as own:
        yield own


@contextlib.contextmanager
def kept_open(spec: ExecutorSpec, space: Space) -> Iterator[ExecutorSpec | Executor]:
    """Yield an executor that lives for all batches: starting workers costs seconds, since each imports the mappers."""
    one_run = space.find == "points" and space.search.method in ("grid", "random")
    if spec.backend != "processes" or one_run:
        yield spec
        return
    pool = WorkerPool(spec.workers, retries=spec.retries)
    try:
        yield pool
    # Workers that are in the middle of a search would keep an interrupted run from ending.
    except BaseException:
        pool.kill()
        raise
    pool.shutdown()


def _row(value: Any, error: Any, job: Job[Any]) -> Mapping[str, Any]:
    """Return a row with its cell; the record of a failure where the job broke down."""
    named = {"cell": {"source": job.argument["source"], "arch": job.argument["arch"], "seed": job.argument["seed"]}}
    return {**named, **(value if value is not None else broken_record(error, job.argument["seed"]))}


def find_array(
    space: Space,
    *,
    folder: Path | None = None,
    named: Sequence[str] = (),
    executor: ExecutorSpec = ExecutorSpec(),
    store: Store | None = None,
    resume: bool = False,
    tell: Callable[[str], None] = lambda _text: None,
) -> Buffers | Merged:
    """Search for what ``space.find`` names and return it.

    With a store, a search that was killed and is resumed repeats the same steps from the stored rows and continues.
    """
    check_resumable(store, resume)
    sources = expand_kernels(space.kernels, folder, named)
    with open_store(store) as rows, kept_open(executor, space) as site:
        mapper = VariantMapper(space, sources, rows, site, tell)
        return find_buffers(space, mapper) if space.find == "buffers" else find_merged_array(space, mapper)
