"""Does a better cost model find better placements? Searches with equal CPU time, judged by the simulator.

Errors of predictions do not answer that: a search moves to where its cost model is wrong. So each cost model guides a
search, and what counts is the efficiency that the simulator measures at the end. Every cost model has as many moves as
fit into equal CPU time.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import Any, Final, Literal, NamedTuple

import numpy as np

from gridloom import registry
from gridloom.learn.labels import array_of
from gridloom.mapping.model import Failure, Mapping
from gridloom.run.work import WorkFolder
from gridloom.search.budget import Budget
from gridloom.targets.dataflow.costs.load import Pipeline
from gridloom.targets.dataflow.costs.load import pipeline as build_pipeline
from gridloom.targets.dataflow.learned import data
from gridloom.targets.dataflow.lowering.lower import alike, lower
from gridloom.targets.dataflow.mappers.search import AnnealingChains, DataflowConfig

Network = tuple[str, dict[str, int]]
Start = Literal["short", "random"]

#: The networks that are searched, all sections that differ. None of them is in the training set, and no network of the
#: last two families is.
SUBJECTS: Final[tuple[Network, ...]] = (
    ("mlp", {"width": 512, "layers": 3}),
    ("mha", {"width": 512, "heads": 8, "rows": 64}),
    ("bert_large", {"layers": 1}),
    ("gpt2_xl", {"layers": 1}),
)
#: What is compared on equal terms, in the order of the table.
RIVALS: Final = ("wirelength", "tuned", "bottleneck", "queueing", "learned", "simulated")
#: Cost models that choose among finalists in place of the simulator.
JUDGES: Final = ("wirelength", "tuned", "bottleneck", "queueing", "learned")
_CHAINS: Final = 4
_FINALISTS: Final = 8
#: From this efficiency on there is nothing to be gained.
FULL_SPEED: Final = 0.999


class NetworkSection(NamedTuple):
    """A section of a network."""

    pipeline: Pipeline
    #: How many blocks of a sample pass it, in all sections that are equal to it.
    blocks: int
    section: int


def parts(subject: Network, array: str = data.ARRAY, stack: data.Stack | None = None) -> list[NetworkSection]:
    """Return the sections of a network's training step that differ, with the blocks that pass all equal to each.

    They are those of the present tool chain on an array, or of another state with its own array (``stack``).
    """
    family, sizes = subject
    stack = stack or data.Stack(arch=array)
    arch = array_of(stack.arch)
    network = registry.load("networks", family).build(**sizes, training=True)
    lowered = lower(network, arch, fill=stack.fill, merge=stack.merge)
    return [
        NetworkSection(
            pipeline=build_pipeline(group[0].dfg, arch),
            blocks=group[0].blocks * len(group),
            section=lowered.sections.index(group[0]),
        )
        for group in alike(lowered.sections)
    ]


def compare_rivals(
    work: WorkFolder,
    *,
    seconds: float,
    seeds: int,
    subjects: str = "",
    array: str = data.ARRAY,
    start: Start = "short",
    costs: str = "",
) -> dict[str, Any]:
    """Return for each network what searches by every cost model reach on equal terms, and what no search reaches.

    All begin with short wires (or at random, where ``start`` says so), have the price of wire and the temperatures of
    the mapper, and the same CPU seconds per section. On the array of the data set the simulator chooses among the
    finalists of each; on another array it takes too long for that, each cost model chooses for itself, and the
    simulator measures what it chose. ``start`` is the beginning without any further move; a section that runs at full
    speed then is not searched (``at_full_speed``). Values are means over seeds of the network's efficiency, with the
    least and the largest. ``costs`` names cost models with a plus between them; empty: all of `RIVALS`.
    """
    names = tuple(costs.split("+")) if costs else RIVALS
    chosen = [item for item in SUBJECTS if not subjects or item[0] in subjects.split("+")]
    judge = "simulated" if array == data.ARRAY else None
    settings = DataflowConfig(chains=_CHAINS, judge=judge, start=start)

    def reach(pipeline: Pipeline, cost: str, moves: int, seed: int) -> float:
        return _reached(pipeline, replace(settings, cost=cost), moves, seed)

    rows: list[dict[str, Any]] = []
    for number, subject in enumerate(chosen):
        work.progress(subject[0], number / len(chosen))
        listed = parts(subject, array)
        raced = race(work, listed, names, seeds, reach, lambda pipeline, cost: moves_in(pipeline, cost, seconds))
        family, sizes = subject
        rows.append({
            "network": ",".join([family, *(f"{key}={value}" for key, value in sizes.items())]),
            **of_network(listed, raced.reached), "sections": raced.sections, "of": len(listed),
            "at_full_speed": raced.sections - raced.searched,
            "moves": {name: int(np.mean(values)) for name, values in raced.moves.items() if values},
        })  # fmt: skip
    return {
        "array": array,
        "start": start,
        "cpu_seconds_a_search": seconds,
        "seeds": seeds,
        "judge": judge,
        "rows": rows,
    }


def compare_judges(
    work: WorkFolder, *, seconds: float, seeds: int, subjects: str = "", array: str = data.ARRAY, start: Start = "short"
) -> dict[str, Any]:
    """Return for each section what the finalists that each cost model would choose run at, measured by the simulator.

    All choose among the same finalists, those of searches by `bottleneck` of so many CPU seconds. ``any`` is the mean
    over the finalists, ``best`` the best of them: what the simulator as the judge chooses. Values are means over seeds.
    """
    chosen = [item for item in SUBJECTS if not subjects or item[0] in subjects.split("+")]
    settings = DataflowConfig(chains=_FINALISTS, judge=None, start=start)
    rows: list[dict[str, Any]] = []
    for subject in chosen:
        for part in parts(subject, array):
            if work.over():
                break
            work.progress(f"{subject[0]}: section {part.section}", len(rows) / (2 * len(chosen)))
            moves = moves_in(part.pipeline, "bottleneck", seconds)
            found = [_judged(part.pipeline, settings, moves, seed) for seed in range(seeds)]
            means = {name: round(float(np.mean([item[name] for item in found])), 4) for name in found[0]}
            rows.append({"network": subject[0], "section": part.section, "moves": moves, **means})
    return {"array": array, "start": start, "cpu_seconds_a_search": seconds, "seeds": seeds, "rows": rows}


def _judged(pipeline: Pipeline, settings: DataflowConfig, moves: int, seed: int) -> dict[str, float]:
    """The measured efficiency of the finalist that each judge takes for the best."""
    search = AnnealingChains(pipeline, settings, seed)
    search.run(Budget(effort=moves, seed=seed).start())
    decisions = data.route_places(pipeline, search.finalists()[0], "present")
    measured = registry.load("costs", "simulated")().efficiency(pipeline, decisions)
    said = {name: registry.load("costs", name)().efficiency(pipeline, decisions) for name in JUDGES}
    judged = {name: float(measured[np.argmax(values)]) for name, values in said.items()}
    return {"any": float(measured.mean()), **judged, "best": float(measured.max())}


class ModelRace(NamedTuple):
    """What searches reached on the sections of a network that there was time for."""

    #: Cost model -> section, seed -> efficiency; ``start`` is what searches begin with.
    reached: dict[str, list[list[float]]]
    #: Cost model -> the moves of each section that was searched.
    moves: dict[str, list[int]]

    @property
    def sections(self) -> int:
        """Sections that there was time for."""
        return len(self.reached["start"])

    @property
    def searched(self) -> int:
        """Sections that do not run at full speed from the start."""
        return max((len(values) for values in self.moves.values()), default=0)


def race(
    work: WorkFolder,
    listed: Sequence[NetworkSection],
    names: Iterable[str],
    seeds: int,
    reach: Callable[[Pipeline, str, int, int], float],
    moves_of: Callable[[Pipeline, str], int],
) -> ModelRace:
    """Search each section by every cost model, unless the beginning runs at full speed already.

    ``reach`` gives the efficiency that a search by a cost model reaches in so many moves with a seed, ``moves_of`` the
    moves that it has time for.
    """
    raced = ModelRace({name: [] for name in ("start", *names)}, {name: [] for name in names})
    for part in listed:
        if work.over():
            break
        begin = [reach(part.pipeline, "wirelength", _CHAINS, seed) for seed in range(seeds)]
        raced.reached["start"].append(begin)
        for name, moves in raced.moves.items():
            if min(begin) >= FULL_SPEED:
                raced.reached[name].append(begin)
                continue
            moves.append(moves_of(part.pipeline, name))
            raced.reached[name].append([reach(part.pipeline, name, moves[-1], seed) for seed in range(seeds)])
    return raced


def of_network(listed: Sequence[NetworkSection], reached: dict[str, list[list[float]]]) -> dict[str, list[float]]:
    """Return the efficiency of a network as [mean, least, largest] over seeds, by cost model.

    Sections run one after the other: the cycles that each takes at full speed are compared with those that it takes.
    """
    figures: dict[str, list[float]] = {}
    for name, values in reached.items():
        if values:
            cycles = np.array([part.pipeline.bound * part.blocks for part in listed[: len(values)]], dtype=np.float64)
            each = cycles.sum() / (cycles[:, None] / np.maximum(np.array(values), 1e-9)).sum(axis=0)
            figures[name] = [round(float(value), 4) for value in (each.mean(), each.min(), each.max())]
    return figures


def _reached(pipeline: Pipeline, settings: DataflowConfig, moves: int, seed: int) -> float:
    """The measured efficiency of what a search chooses, by its judge or without one by its own cost model."""
    if settings.judge is not None:
        return search(pipeline, settings, moves, seed)
    found = AnnealingChains(pipeline, settings, seed)
    found.run(Budget(effort=moves, seed=seed).start())
    decisions = data.route_places(pipeline, found.finalists()[0][:1], "present")
    return float(registry.load("costs", "simulated")().efficiency(pipeline, decisions)[0])


def search(pipeline: Pipeline, settings: DataflowConfig, moves: int, seed: int) -> float:
    """Return the measured efficiency that a search of so many moves reaches; 0 where it finds no placement."""
    mapping = _dataflow(pipeline, settings, Budget(effort=moves, seed=seed))
    value: float = 0.0 if isinstance(mapping, Failure) else mapping.provenance["efficiency"]
    return value


def _dataflow(pipeline: Pipeline, settings: DataflowConfig, budget: Budget) -> Mapping | Failure:
    """The result of the mapper ``dataflow``, found by its name in the registry."""
    result: Mapping | Failure = registry.load("mappers", "dataflow")(pipeline.dfg, pipeline.arch, settings, budget)
    return result


def moves_in(pipeline: Pipeline, cost: str, seconds: float) -> int:
    """Return how many moves a search makes in so many CPU seconds. Runs a short search to measure it."""
    steps = 2 if cost == "simulated" else 60
    settings = DataflowConfig(cost=cost, judge=None, start="random", chains=_CHAINS, wire=0.0)
    # The first search compiles and loads what the second is timed for.
    _dataflow(pipeline, settings, Budget(effort=_CHAINS, seed=0))
    began = time.process_time()
    _dataflow(pipeline, settings, Budget(effort=steps * _CHAINS, seed=0))
    each = (time.process_time() - began) / ((steps + 1) * _CHAINS)
    return max(_CHAINS, int(seconds / each))
