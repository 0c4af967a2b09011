"""From points to jobs and back: the jobs of a point for the executor, and its figures from their rows.

A point becomes one job for each kernel and seed. The job is the same function that benchmarks run (``run_cell``), and
its key holds the graph and the array by content, so that a stored row never answers for a file that has changed since.
"""

from __future__ import annotations

import glob
import json
import math
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache, cached_property
from pathlib import Path
from statistics import NormalDist
from typing import Any, Final

from gridloom._version import __version__
from gridloom.archs.model import Arch
from gridloom.compiler.loops.source_name import check_saved_sources
from gridloom.dfg.model import Dfg
from gridloom.errors import GridloomError, OptionError
from gridloom.explore.hardware import Cost, cost
from gridloom.explore.space import Point, Skip, Space
from gridloom.flow.bench.run import QUESTION, graph_hash, graph_of, plugin_versions, sized_array, source_path
from gridloom.flow.bench.suite import load_suite
from gridloom.flow.inputs import memory_of, prepare, read_arch
from gridloom.mapping.mii import mii
from gridloom.run import Job, ask, canonical_json
from gridloom.statistics import bootstrap_interval

#: A size that follows from the kernels.
_SIZED: Final = re.compile(r":(auto|fit)\b")

#: Objectives that need no mapping.
_OF_ARRAYS: Final = frozenset({"tiles", "area", "levels", "luts", "mhz"})


@dataclass(frozen=True)
class ArrayCandidate:
    """A point with its array built. The cost is computed when it is first asked for."""

    point: Point
    #: None: there is no such array, and ``broken`` says why.
    arch: Arch | None
    broken: str = ""
    width: int = 32

    @cached_property
    def cost(self) -> Cost | None:
        """Area, logic levels, LUTs and clock by the fitted models; None where there is no hardware for the array."""
        return None if self.arch is None else cost(self.arch, width=self.width)


@dataclass(frozen=True)
class Evaluated:
    """A point with the rows of its kernels and its figures.

    ``figures`` maps objectives to values, None for those that the point does not have; ``excess`` has one number per
    constraint of the space.
    """

    point: Point
    figures: Mapping[str, float | None]
    #: How far each constraint is from being met; all zero: the point may be chosen.
    excess: tuple[float, ...]
    rows: Sequence[Mapping[str, Any]] = field(repr=False)
    broken: str = ""
    skipped: int = 0
    #: Figure -> its 95 % interval over the seeds; empty with one seed.
    intervals: Mapping[str, tuple[float, float]] = field(default_factory=dict)
    arch: Arch | None = field(default=None, repr=False)

    @property
    def feasible(self) -> bool:
        """Whether the array exists and every constraint is met."""
        return not self.broken and not any(self.excess)

    def of_kernel(self, space: Space, kernel: str) -> Evaluated:
        """The point with the figures of one kernel alone."""
        rows = [row for row in self.rows if row["cell"]["source"] == kernel]
        return evaluate_point(space, ArrayCandidate(self.point, self.arch, self.broken, space.width), rows)

    def to_dict(self) -> dict[str, Any]:
        """Return plain data, without the rows."""
        return {
            "point": dict(self.point.values),
            "array": self.point.array,
            "figures": dict(self.figures),
            "intervals": {name: list(interval) for name, interval in self.intervals.items()},
            "probabilities": {kernel: chance.to_dict() for kernel, chance in mapping_chances(self.rows).items()},
            "feasible": self.feasible,
            "kernels": len(self.rows),
            "skipped": self.skipped,
            **({"broken": self.broken} if self.broken else {}),
        }


def expand_kernels(texts: Iterable[str], folder: Path | None, named: Sequence[str] = ()) -> list[str]:
    """Return SOURCE texts: ``suite:NAME`` stands for a suite's sources, a pattern for the files it matches.

    OptionError for a pattern without a file, for a suite of published files without their ``folder``, and for a Python
    file that the user has not ``named``.
    """
    sources: list[str] = []
    for text in texts:
        if text.startswith("suite:"):
            sources += _of_suite(text.removeprefix("suite:"), folder, named)
        elif glob.has_magic(text) and not text.startswith("kernel:"):
            files = sorted(glob.glob(text, recursive=True))
            if not files:
                raise OptionError(f"no file matches {text!r}", where="kernels")
            sources += files
        else:
            sources.append(text)
    check_saved_sources(sources, named, "kernels")
    return list(dict.fromkeys(sources))


def _of_suite(name: str, folder: Path | None, named: Sequence[str]) -> list[str]:
    """The sources of a suite; OptionError where it reads files and no folder is given."""
    suite = load_suite(name, named)
    if suite.files and folder is None:
        raise OptionError(f"suite {name!r} reads published files; name their folder with --folder", where="kernels")
    return [source_path(suite, source, folder) for group in suite.groups for source in group.sources]


def candidate(space: Space, point: Point, sources: Sequence[str] = ()) -> ArrayCandidate:
    """Return the point with its array; a combination that describes no array is a broken candidate, not an error.

    The size ``fit`` or ``auto`` of an ARCH is the smallest square on which each of the sources fits by counting.
    """
    try:
        if isinstance(point.array, str) and _SIZED.search(point.array):
            sizes = {sized_array(point.array, source)[0] for source in sources}
            point = replace(point, array=max(sizes, key=lambda text: len(_arch(canonical_json(text)).tiles)))
        return ArrayCandidate(point, _arch(canonical_json(point.array)), width=space.width)
    # A template over several parameters may well describe impossible arrays; the rest of the space is still of
    # interest.
    except GridloomError as error:
        return ArrayCandidate(point, None, str(error), space.width)


def _job(parameters: dict[str, Any], *, keep: bool) -> Job[Any]:
    """Return the job of a cell; ``keep`` puts its mapping into the row, and into no key."""
    return ask(QUESTION, parameters, version=__version__, argument={**parameters, "keep": True} if keep else None)


def jobs_of(space: Space, one: ArrayCandidate, sources: Sequence[str], *, keep: bool = False) -> list[Job[Any]]:
    """Return the jobs of a point, keyed by everything that their results depend on; a broken point has none.

    With ``keep``, rows hold their mappings.
    """
    if one.arch is None:
        return []
    return [
        _job(
            {
                "source": source,
                "graph": graph_hash(source, memory_of(one.arch)),
                "arch": one.point.array,
                "array": one.arch.fingerprint,
                "mapper": one.point.mapper,
                **plugin_versions(one.point.mapper),
                "settings": dict(one.point.settings),
                "seed": seed,
                "effort": space.budget.effort,
                "time_limit": space.budget.time_limit,
                # Stored rows of other budgets keep their keys.
                **({} if space.budget.most_effort is None else {"most_effort": space.budget.most_effort}),
            },
            keep=keep,
        )
        for source in sources
        for seed in space.seeds
    ]


def evaluate_point(space: Space, one: ArrayCandidate, rows: Sequence[Mapping[str, Any]], skipped: int = 0) -> Evaluated:
    """Return the point with its figures; skipped jobs count as not mapped.

    ``rows`` are those of the jobs that ran, in any order.
    """
    values = figures(rows, one.cost, iterations=space.iterations, asked=len(rows) + skipped)
    if one.arch is not None:
        values["tiles"] = float(len(one.arch.tiles))
    excess = tuple(limit.excess(values.get(limit.name)) for limit in space.limits)
    intervals = _seed_intervals(
        rows, lambda part: figures(part, one.cost, iterations=space.iterations, asked=len(part))
    )
    return Evaluated(one.point, values, excess, rows, one.broken, skipped, intervals, one.arch)


@dataclass(frozen=True, slots=True)
class MappingChance:
    """How often searches with different seeds map a kernel, with a 95 % interval (Wilson's)."""

    mapped: int
    tried: int

    @property
    def interval(self) -> tuple[float, float]:
        """The interval of the probability."""
        z, n, share = NormalDist().inv_cdf(0.975), self.tried, self.mapped / self.tried
        middle, spread = share + z * z / (2 * n), z * math.sqrt(share * (1 - share) / n + z * z / (4 * n * n))
        low, high = ((middle + sign * spread) / (1 + z * z / n) for sign in (-1, 1))
        return round(max(0.0, low), 4), round(min(1.0, high), 4)

    def to_dict(self) -> dict[str, Any]:
        """Return plain data."""
        return {"mapped": self.mapped, "tried": self.tried, "interval": list(self.interval)}

    def __str__(self) -> str:
        low, high = self.interval
        return f"{self.mapped} of {self.tried} seeds ({low:.2f} to {high:.2f})"


def mapping_chances(rows: Iterable[Mapping[str, Any]]) -> dict[str, MappingChance]:
    """Return kernel -> how often it maps, over the seeds of the rows."""
    counts: dict[str, list[bool]] = {}
    for row in rows:
        counts.setdefault(str(row["cell"]["source"]), []).append(row["status"] == "mapped")
    return {kernel: MappingChance(sum(found), len(found)) for kernel, found in counts.items()}


def _seed_intervals(
    rows: Sequence[Mapping[str, Any]], measure: Callable[[Sequence[Mapping[str, Any]]], Mapping[str, float | None]]
) -> dict[str, tuple[float, float]]:
    """Return figure -> the bootstrap interval of its mean over seeds; seeds are the groups that are drawn."""
    seeds: dict[int, list[Mapping[str, Any]]] = {}
    for row in rows:
        seeds.setdefault(int(row["cell"]["seed"]), []).append(row)
    if len(seeds) < 2:
        return {}
    measured = [measure(part) for part in seeds.values()]
    found: dict[str, tuple[float, float]] = {}
    for name in measured[0]:
        values = [value for one in measured if (value := one[name]) is not None]
        if len(values) == len(measured) and len(set(values)) > 1:
            low, high = bootstrap_interval([[value] for value in values])
            found[name] = (low, high)
    return found


def expect_point(space: Space, one: ArrayCandidate, rows: Sequence[Mapping[str, Any]]) -> Mapping[str, float | None]:
    """Return the figures that rows of estimators stand for; ``mapped`` is the mean of their chances."""
    found = evaluate_point(space, one, rows)
    known = [limit for limit in space.limits if limit.name in _OF_ARRAYS]
    if one.arch is None or any(limit.excess(found.figures[limit.name]) for limit in known):
        return dict.fromkeys(found.figures)
    return {**found.figures, "mapped": _mean([row["chance"] for row in rows])}


def figures(
    rows: Sequence[Mapping[str, Any]], price: Cost | None, *, iterations: int, asked: int
) -> dict[str, float | None]:
    """Return the values of all objectives. Ratios of kernels are averaged geometrically, counts arithmetically.

    Everything but ``mapped`` is over the kernels that map: compare it between points that map the same kernels.
    """
    mapped = [row for row in rows if row["status"] == "mapped"]
    cycles = _geometric([_cycles(row, iterations) for row in mapped])
    return {
        "mapped": len(mapped) / asked if asked else 0.0,
        "ii": _geometric([row["ii"] for row in mapped if row["ii"]]),
        "throughput": _geometric([row["throughput"] or 1 / row["ii"] for row in mapped if row["ii"] or row["period"]]),
        "latency": _geometric([row["latency"] for row in mapped if row["latency"]]),
        "fifo_max": max((float(_buffers(row, "max")) for row in mapped), default=None),
        "fifo_total": _mean([_buffers(row, "total") for row in mapped]),
        "wirelength": _mean([row["wirelength"] for row in mapped if row["wirelength"] is not None]),
        "occupancy": _mean([row["occupancy"] for row in mapped if row["occupancy"] is not None]),
        "cycles": cycles,
        "area": None if price is None else price.area,
        "levels": None if price is None else price.levels,
        "energy": _energy(mapped, iterations),
        **_timed(mapped, price, cycles),
    }


def _timed(mapped: Sequence[Mapping[str, Any]], price: Cost | None, cycles: float | None) -> dict[str, float | None]:
    """LUTs, clock, nanoseconds of all iterations and Gops = ops x clock / II; None where the clock is not known."""
    if price is None or price.mhz is None:
        return dict.fromkeys(("luts", "mhz", "ns", "gops"))
    rates = [row["ops"] / row["ii"] for row in mapped if row.get("ops") and row["ii"]]
    rate = _geometric(rates) if len(rates) == len(mapped) else None
    return {
        "luts": price.luts,
        "mhz": price.mhz,
        "ns": None if cycles is None else cycles * 1000 / price.mhz,
        "gops": None if rate is None else rate * price.mhz / 1000,
    }


def _energy(mapped: Sequence[Mapping[str, Any]], iterations: int) -> float | None:
    """The energy of so many iterations in pJ; None where a kernel has none."""
    energies = [row.get("energy") for row in mapped]
    known = [float(value) * iterations for value in energies if value is not None]
    return _geometric(known) if len(known) == len(mapped) else None


def probability(rule: Skip, source: str, one: ArrayCandidate, weights: str | None = None) -> float:
    """Return an estimator's probability that a kernel maps as a rule asks; 1 where it cannot tell.

    Counting comes first: it is 0 where an op class is missing or a static array has too few tiles. ``bounds`` stops
    there; ``mappability`` asks the learned model on arrays of rows, the only ones that it knows; ``ii`` asks on
    modulo-scheduled arrays how probable an II of at most ``rule.most`` is; both with ``weights`` where they are given.
    """
    if one.arch is None:
        return 0.0
    dfg = prepare(graph_of(source, memory_of(one.arch)), one.arch).dfg
    bound = mii(dfg, one.arch)
    # A static array has one slot per tile, so that a resource bound above 1 excludes a mapping.
    if bound.missing or (one.arch.style == "static" and bound.res > 1):
        return 0.0
    if rule.by == "ii" and (one.arch.has("registers") or one.arch.has("crossbars")):
        return _reaches(dfg, one.arch, rule.most or 1, weights)
    if rule.by != "mappability" or not one.arch.has("rows"):
        return 1.0
    return _mappability(dfg, one.arch, weights)


def _reaches(dfg: Dfg, arch: Arch, most: int, weights: str | None) -> float:
    """The probability by the learned estimator that a loop reaches an II."""
    from gridloom import registry

    chance = registry.load("models", "initiation").estimate(dfg, arch, weights).chance(most)
    return 1.0 if chance is None else float(chance)


def _mappability(dfg: Dfg, arch: Arch, weights: str | None) -> float:
    """The probability by the learned estimator that a graph maps."""
    from gridloom import registry

    estimate = registry.load("models", "mappability").estimate(dfg, arch, weights)
    return float(estimate.mappable) if estimate.probability is None else float(estimate.probability)


def _cycles(row: Mapping[str, Any], iterations: int) -> float:
    """Return the cycles of a loop of so many iterations: the latency of one and an II for each further one."""
    if row["period"]:
        return float(row["period"]) * iterations
    return float((row["latency"] or 0) + row["ii"] * (iterations - 1))


def _buffers(row: Mapping[str, Any], key: str) -> int:
    """Return a figure of a row's FIFOs; 0 where the array has none."""
    return (row["buffers"] or {}).get(key) or 0


def _geometric(values: Sequence[float]) -> float | None:
    """Return the geometric mean; None of nothing."""
    return math.exp(sum(map(math.log, values)) / len(values)) if values else None


def _mean(values: Sequence[float]) -> float | None:
    """Return the arithmetic mean; None of nothing."""
    return sum(values) / len(values) if values else None


@cache
def _arch(array: str) -> Arch:
    """Return the array of a description in JSON. Each is built once per process."""
    return read_arch(json.loads(array))
