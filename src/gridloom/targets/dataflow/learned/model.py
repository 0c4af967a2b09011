"""The model ``cost-model``: its data set, its training, and the figures that judge it.

After "Learned Cost Model for Placement on Reconfigurable Dataflow Hardware" (Guha et al.): a graph network predicts the
throughput of a placed and routed pipeline over the bound of its slowest stage. Their labels were measured on hardware,
ours by `gridloom.targets.dataflow.machine.measure`. Ours are trees that correct a formula; their network, and ours of
that kind, are trained for the tables (`cross_validation`). Inference needs neither torch nor scikit-learn.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Literal

import numpy as np

from gridloom.errors import OptionError
from gridloom.learn.cards import publish
from gridloom.learn.labels import array_of
from gridloom.learn.weights import TrainingScope
from gridloom.run.work import WorkFolder
from gridloom.search.settings import check_settings
from gridloom.targets.dataflow.learned import data
from gridloom.targets.dataflow.learned.inference import (
    COLUMNS,
    DOWNWARDS,
    MACHINE,
    NAME,
    PREFIX,
    LearnedCostModel,
    array_numbers,
    learned_cost,
)
from gridloom.targets.dataflow.learned.samples import by_graph, figures


@dataclass(frozen=True, kw_only=True)
class CostModelConfig:
    """Settings of data, training and evaluation.

    OptionError for numbers out of range.
    """

    read_by: ClassVar[Mapping[str, frozenset[str]]] = {
        "evaluate": frozenset({"report", "seconds", "seeds", "subjects", "array", "start", "costs"}),
    }
    #: How many decisions (placements with routes) the data set has, and that of the user's array (``--arch``).
    decisions: int = 6080
    own: int = 1824
    #: The state of the tool chain that the data comes from (`data.ERAS`).
    era: Literal["present", "lowering", "merging", "packet", "router", "array", "arbiter"] = "present"
    #: For the networks of the tables: passes over the data set.
    epochs: int = 6
    #: For the networks: values per node and per edge, and layers.
    width: int = 24
    layers: int = 2
    #: Folds of the cross-validation; a graph is in one fold.
    folds: int = 5
    #: What `evaluate` reports: errors on graphs held out, variants by cross-validation, changes of the tool chain,
    #: searches at equal time (``rivals``: by all cost models on equal terms, ``changes``: after each change of the tool
    #: chain), what cost models choose among the same finalists (``judges``), or the numbers of the rivals that fit the
    #: data set best (``rules``).
    report: Literal["accuracy", "tables", "adaptivity", "changes", "rivals", "judges", "rules"] = "accuracy"
    #: For the searches: CPU seconds per search, seeds, families with a plus between them (none: all), and for
    #: ``rivals`` and ``judges`` the array and how searches begin, for ``rivals`` the cost models (none: all).
    seconds: float = 3.0
    seeds: int = 5
    subjects: str = ""
    array: str = data.ARRAY
    start: Literal["short", "random"] = "short"
    costs: str = ""

    def __post_init__(self) -> None:
        at_least = {"decisions": 1, "own": 1, "epochs": 1, "width": 1, "layers": 1, "seeds": 1, "folds": 2}
        check_settings(self, at_least=at_least)


class DataflowCostModel:
    """What the registry holds under ``cost-model``, for ``gridloom train`` and ``gridloom eval``."""

    name = NAME
    config: type[Any] = CostModelConfig

    def make_data(self, config: CostModelConfig, work: WorkFolder) -> dict[str, Any]:
        """Make what is missing of a data set, and return its counts and the spread of its labels.

        It is that of an era, or of the user's array: with the user's graphs among those that the array takes.
        """
        era = _era(config, work)
        listed = None if work.arch is None else data.own_graphs(era, work.graphs)
        made = data.make(work, era=era, decisions=config.decisions if listed is None else config.own, listed=listed)
        samples = data.load(data.store_path(work), era)
        labels = np.concatenate([item.labels for item in samples]) if samples else np.zeros(1)
        low, high = np.percentile(labels, [10, 90])
        return {**made, "decisions": int(labels.size), "spread": round(float(high / max(low, 1e-9)), 3)}

    def train(self, config: CostModelConfig, work: WorkFolder) -> dict[str, Any]:
        """Train on all graphs and save the weights; then cross-validate by graph and save the figures with them.

        The weights are saved before the cross-validation, so a run that is stopped there has weights without figures.
        OptionError where there is no data set.
        """
        from gridloom.targets.dataflow.learned.cross_validation import cross_validate
        from gridloom.targets.dataflow.learned.tree_training import grow

        start = None if work.start is None else LearnedCostModel(work.start).trees
        samples = self._samples(config, work)
        groups = by_graph(samples)
        began = time.process_time()
        work.progress("all graphs", 0.0)
        trees, chosen = grow(groups, seed=work.seed, start=start)
        arch = groups[0].pipeline.arch
        about: dict[str, Any] = {
            "machine": MACHINE,
            "variant": "trees",
            **chosen,
            "era": _era(config, work),
            "decisions": sum(len(group.labels) for group in groups),
            "graphs": len(groups),
            "data": data.digest(samples),
            "scope": TrainingScope.of([array_numbers(arch)], downwards=DOWNWARDS).record(),
            "seed": work.seed,
        }
        path = work.weights or work.folder / f"{NAME}.npz"
        arrays = trees.forest.to_arrays(PREFIX)
        publish(path, NAME, arrays, about, features=COLUMNS)
        if not work.over():
            rivals = {name: figures([group.rivals[name] for group in groups], groups) for name in groups[0].rivals}
            about["cross_validation"] = cross_validate(groups, config, work, start=start)
            about["rivals"] = {name: part["relative_error"] for name, part in rivals.items()}
        about["cpu_seconds"] = round(time.process_time() - began, 1)
        return publish(path, NAME, arrays, about, features=COLUMNS)

    def _samples(self, config: CostModelConfig, work: WorkFolder) -> list[data.DecisionSample]:
        """The stored samples of an era, or of the user's array; OptionError where there are none."""
        path, era = data.store_path(work), _era(config, work)
        if not path.exists():
            raise OptionError(
                "there is no data set here; make it with `gridloom train cost-model --make-data`", where=str(path)
            )
        samples = data.load(path, era, decisions=config.decisions if work.arch is None else None)
        if not samples:
            raise OptionError(f"the data set has no decisions of era {era}", where=str(path))
        return samples

    def evaluate(self, config: CostModelConfig, work: WorkFolder) -> dict[str, Any]:
        """Return the figures that `CostModelConfig.report` asks for.

        Reports on searches need no data set, the others need that of the era; those with held-out graphs label them
        first, which takes longest the first time.
        """
        if config.report in ("rivals", "judges"):
            return self._searched(config, work)
        if config.report == "rules":
            from gridloom.targets.dataflow.learned import rivals

            return rivals.fit(self._samples(config, work))
        if config.report == "accuracy":
            return self._accuracy(config, work)
        if config.report == "changes":
            from gridloom.targets.dataflow.learned.changed_searches import compare_eras

            effort: dict[str, Any] = {"seconds": config.seconds, "seeds": config.seeds, "subjects": config.subjects}
            return compare_eras(self._of_eras(config, work), work, **effort)
        from gridloom.targets.dataflow.learned import cross_validation

        if config.report == "tables":
            return {"era": config.era, **cross_validation.ablations(self._samples(config, work), config, work)}
        return cross_validation.adaptivity(self._of_eras(config, work), config, work)

    def _searched(self, config: CostModelConfig, work: WorkFolder) -> dict[str, Any]:
        """What searches and judges reach; no data set is needed."""
        from gridloom.targets.dataflow.learned import search_comparison as comparison

        effort: dict[str, Any] = {"seconds": config.seconds, "seeds": config.seeds, "subjects": config.subjects,
                                  "array": config.array, "start": config.start}  # fmt: skip
        if config.report == "judges":
            return comparison.compare_judges(work, **effort)
        return comparison.compare_rivals(work, **effort, costs=config.costs)

    def _of_eras(self, config: CostModelConfig, work: WorkFolder) -> dict[data.Era, list[data.DecisionSample]]:
        """The stored samples of the present and of all other eras that have any; OptionError without the present."""
        found: dict[data.Era, list[data.DecisionSample]] = {
            "present": self._samples(replace(config, era="present"), work)
        }
        for era in data.ERAS:
            found[era] = data.load(data.store_path(work), era, decisions=config.decisions)
        return {era: samples for era, samples in found.items() if samples}

    def _accuracy(self, config: CostModelConfig, work: WorkFolder) -> dict[str, Any]:
        """Errors and ranks of the weights on graphs that they were not trained on, measured now; and their speed.

        On the user's array the held-out building blocks are those that it takes; ``shipped`` is there as well then.
        """
        model, era = LearnedCostModel(work.weights), _era(config, work)
        report: dict[str, Any] = {}
        for name, listed, decisions in (
            ("building blocks", data.held_out_graphs(), 48 * 8),
            ("large networks", data.large_graphs(), 16 * 14),
        ):
            if work.arch is not None and report:
                break
            work.progress(name, 0.1 if not report else 0.6)
            data.make(work, era=era, decisions=decisions, listed=listed)
            report[name] = judge_models(model, data.load(data.store_path(work), era, listed))
        return {
            **report["building blocks"],
            "large": report.get("large networks"),
            "cross_validation": model.about.get("cross_validation"),
            **speed(model),
        }


def _era(config: CostModelConfig, work: WorkFolder) -> data.Era:
    """The state of the tool chain that is asked for: a name of `data.ERAS`, or the user's array.

    OptionError for an array that is no dataflow grid.
    """
    if work.arch is not None and array_of(work.arch).is_timed:
        raise OptionError(f"model {NAME!r} knows nothing of array {work.arch!r}", where="--arch")
    return work.arch or config.era


def judge_models(model: LearnedCostModel, samples: list[data.DecisionSample]) -> dict[str, Any]:
    """Return figures of the learned cost model and of all simple rivals on samples, and the number of decisions.

    ``explained_share`` is the share of labels that a prediction is within 2 % of.
    """
    from gridloom.targets.dataflow.learned import rivals

    groups = by_graph(samples)
    predicted = [model.trees.predicted(group.pooled) for group in groups]
    by_name = {name: [group.rivals[name] for group in groups] for name in groups[0].rivals} if groups else {}
    labels = [group.efficiencies for group in groups]
    if model.about.get("scope") != learned_cost().about["scope"]:
        by_name["shipped"] = [learned_cost().trees.predicted(group.pooled) for group in groups]
    return {
        "learned": figures(predicted, groups),
        "heuristic": figures([group.heuristic for group in groups], groups),
        "rivals": {name: figures(values, groups) for name, values in by_name.items()},
        "explained": {
            name: round(rivals.explained_share(values, labels), 4)
            for name, values in {**by_name, "learned": predicted}.items()
        },
        "decisions": sum(len(group.labels) for group in groups),
    }


def speed(model: LearnedCostModel, batch: int = 64) -> dict[str, float]:
    """Return CPU milliseconds per decision of a three-layer MLP of 1,024: features and trees, and routing.

    The first call is not timed, since it compiles. Time is that of this thread.
    """
    pipeline = data.graph_pipeline("mlp", (("layers", 3), ("width", 1024)), "present")
    places = _random_places(pipeline, batch)
    decisions = data.route_places(pipeline, places, "present")
    model.efficiency(pipeline, decisions)
    seconds = {}
    for name, call in (
        ("ms_per_decision", lambda: model.efficiency(pipeline, decisions)),
        ("ms_per_routing", lambda: data.route_places(pipeline, places, "present")),
    ):
        began = time.thread_time()
        for _ in range(10):
            call()
        seconds[name] = round((time.thread_time() - began) / (10 * batch) * 1e3, 4)
    return seconds


def _random_places(pipeline: Any, count: int) -> Any:
    """Random placements of a pipeline's units, [decision, unit] -> tile."""
    from gridloom.targets.dataflow.mappers.search import AnnealingChains, DataflowConfig

    return AnnealingChains(pipeline, DataflowConfig(cost="heuristic", chains=count, start="random"), 0).places


MODEL = DataflowCostModel()
