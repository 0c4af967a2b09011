"""Does a better cost model find better placements? Searches with equal CPU time, judged by the simulator.

Errors of predictions do not answer that: a search moves to where its cost model is wrong. So each cost model guides a
search, and what counts is the efficiency that the simulator measures at the end. Every cost model gets the first
temperature that suits it best, chosen on other networks (:func:`tune`), and as many moves as fit into equal CPU time.
"""

from __future__ import annotations

import time
from collections.abc import Mapping as MappingABC
from dataclasses import replace
from typing import Any, Final, Literal, NamedTuple

import numpy as np

from gridloom import registry
from gridloom.mapping.model import Failure, Mapping
from gridloom.run.work import WorkFolder
from gridloom.search.budget import Budget
from gridloom.targets.dataflow.costs.load import Floats, Pipeline
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
#: The networks that settings of the searches are chosen on: neither reported nor trained on.
TUNING: Final[tuple[Network, ...]] = (
    ("mlp", {"width": 448, "layers": 3}),
    ("mha", {"width": 448, "heads": 8, "rows": 64}),
)
#: First temperature of searches by each cost model: the best on `TUNING` (of equal ones the mapper's). The last
#: temperature is a tenth of it.
HOT: Final[MappingABC[str, float]] = {"heuristic": 0.001, "learned": 0.003, "simulated": 0.003}
COSTS: Final = ("heuristic", "learned")
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
    arch = data.array(stack.arch)
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


def compare(
    work: WorkFolder, *, seconds: float, seeds: int, start: str = "random", subjects: str = ""
) -> dict[str, Any]:
    """Return for each network the efficiencies that searches by the two cost models reach, and the best known one.

    Every search of a section begins at random and has the same CPU seconds (turned into moves by timing some of them
    first); the simulator measures its finalists and the best of them counts. The best known efficiency of a section
    comes from a search by the simulator that begins with short routes, or from any of the searches. A network's
    efficiency is the cycles that its sections need at least over those they take. ``subjects`` names families with a
    plus between them; empty: all.
    """
    chosen = [item for item in SUBJECTS if not subjects or item[0] in subjects.split("+")]
    rows: list[dict[str, Any]] = []
    for number, subject in enumerate(chosen):
        listed = parts(subject)
        results = []
        for k, part in enumerate(listed):
            if work.over():
                return {"cpu_seconds_a_search": seconds, "seeds": seeds, "start": start, "rows": rows}
            work.progress(f"{subject[0]}: section {part.section}", (number + k / len(listed)) / len(chosen))
            results.append(compare_searches(part, seconds, seeds, start))
        rows.append(_row(subject, listed, results))
    return {"cpu_seconds_a_search": seconds, "seeds": seeds, "start": start, "rows": rows}


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
    rows: list[dict[str, Any]] = []
    for number, subject in enumerate(chosen):
        listed = parts(subject, array)
        reached: dict[str, list[list[float]]] = {name: [] for name in ("start", *names)}
        moves: dict[str, list[int]] = {name: [] for name in names}
        for k, part in enumerate(listed):
            if work.over():
                break
            work.progress(f"{subject[0]}: section {part.section}", (number + k / len(listed)) / len(chosen))
            begin = [
                _reached(part.pipeline, replace(settings, cost="wirelength"), _CHAINS, seed) for seed in range(seeds)
            ]
            reached["start"].append(begin)
            for name in names:
                if min(begin) >= FULL_SPEED:
                    reached[name].append(begin)
                    continue
                count = moves_in(part.pipeline, name, seconds)
                moves[name].append(count)
                guided = replace(settings, cost=name)
                reached[name].append([_reached(part.pipeline, guided, count, seed) for seed in range(seeds)])
        rows.append(_rivals_row(subject, listed, reached, moves))
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


def _rivals_row(
    subject: Network, listed: list[NetworkSection], reached: dict[str, list[list[float]]], moves: dict[str, list[int]]
) -> dict[str, Any]:
    """The efficiencies of a network as (mean, least, largest) over seeds, for the sections that there was time for."""
    cycles = np.array([part.pipeline.bound * part.blocks for part in listed], dtype=np.float64)
    done = cycles[: len(reached["start"])]
    family, sizes = subject
    row: dict[str, Any] = {"network": ",".join([family, *(f"{key}={value}" for key, value in sizes.items())])}
    row |= of_network(done, reached)
    searched_sections = max((len(values) for values in moves.values()), default=0)
    return {
        **row,
        "sections": len(done),
        "of": len(listed),
        "at_full_speed": len(done) - searched_sections,
        "moves": {name: int(np.mean(values)) for name, values in moves.items() if values},
    }


def of_network(cycles: Floats, reached: dict[str, list[list[float]]]) -> dict[str, list[float]]:
    """Return the efficiency of a network as [mean, least, largest] over seeds, by cost model.

    ``cycles`` are those that each section takes at full speed, ``reached`` the efficiencies by section and seed.
    """
    figures: dict[str, list[float]] = {}
    for name, values in reached.items():
        if values:
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


def compare_searches(part: NetworkSection, seconds: float, seeds: int, start: str) -> dict[str, Any]:
    """Return the efficiencies that searches by each cost model reach on one section.

    ``best_known`` is a lower bound on what is possible, not the optimum.
    """
    pipeline = part.pipeline
    reached: dict[str, list[float]] = {}
    moves: dict[str, int] = {}
    for cost in COSTS:
        moves[cost] = moves_in(pipeline, cost, seconds)
        reached[cost] = [search(pipeline, config(cost, start), moves[cost], seed) for seed in range(seeds)]
    long = search(pipeline, config("simulated", "short"), moves_in(pipeline, "simulated", 2 * seconds), 0)
    best = max([long, *(value for values in reached.values() for value in values)])
    return {"section": part.section, "units": pipeline.units, **reached, "best_known": best, "moves": moves}


def _row(subject: Network, listed: list[NetworkSection], results: list[dict[str, Any]]) -> dict[str, Any]:
    """The sections together: the cycles that a sample needs at least over those it takes, for each seed.

    Sections run one after the other, so cycles add up and efficiencies do not. ``gap_closed`` is the share of the way
    from the hand-written rule to the best known placement.
    """
    cycles = np.array([part.pipeline.bound * part.blocks for part in listed], dtype=np.float64)

    def whole(efficiencies: Any) -> Any:
        return cycles.sum() / (cycles / np.maximum(np.asarray(efficiencies, dtype=np.float64), 1e-9)).sum(axis=-1)

    values = {cost: whole(np.array([section[cost] for section in results]).T) for cost in COSTS}
    best = float(whole([section["best_known"] for section in results]))
    rule, learned = (float(np.mean(values[cost])) for cost in COSTS)
    # Where the rule already reaches the best known placement there is no gap to close.
    gap = best - rule
    family, sizes = subject
    return {
        "network": ",".join([family, *(f"{key}={value}" for key, value in sizes.items())]),
        "heuristic": round(rule, 4),
        "learned": round(learned, 4),
        "best_known": round(best, 4),
        "gain": round(learned / rule - 1, 4),
        "gap_closed": round((learned - rule) / gap, 3) if gap > 1e-9 else None,
        "seeds": {cost: [round(float(value), 4) for value in values[cost]] for cost in COSTS},
        "sections": [_short(section) for section in results],
    }


def _short(section: dict[str, Any]) -> dict[str, Any]:
    """A section's record with means over seeds in place of the lists."""
    means = {cost: round(float(np.mean(section[cost])), 4) for cost in COSTS}
    return {**section, **means, "best_known": round(section["best_known"], 4)}


def config(cost: str, start: str, hot: float | None = None) -> DataflowConfig:
    """Return the settings of a search; from a random start the cost model alone guides it, wire has no price."""
    first = HOT[cost] if hot is None else hot
    if start == "short":
        return DataflowConfig(cost=cost, start="short", chains=_CHAINS, hot=first, cold=first / 10)
    return DataflowConfig(cost=cost, start="random", chains=_CHAINS, wire=0.0, hot=first, cold=first / 10)


def tune(work: WorkFolder, *, seconds: float, seeds: int) -> dict[str, Any]:
    """Return the efficiencies that first temperatures reach on the networks for tuning; `HOT` was chosen by them."""
    rows: list[dict[str, Any]] = []
    for family, sizes in TUNING:
        pipeline = parts((family, sizes))[0].pipeline
        for cost in COSTS:
            moves = moves_in(pipeline, cost, seconds)
            for hot in (0.001, 0.003, 0.01, 0.03):
                if work.over():
                    break
                work.progress(f"{family}: {cost}, {hot}", len(rows) / 16)
                reached = [search(pipeline, config(cost, "random", hot), moves, seed) for seed in range(seeds)]
                rows.append(
                    {"network": family, "cost": cost, "hot": hot, "efficiency": round(float(np.mean(reached)), 4)}
                )
    return {"cpu_seconds_a_search": seconds, "seeds": seeds, "rows": rows}


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
