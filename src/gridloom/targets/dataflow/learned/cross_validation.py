"""Tables of the cost model: variants and ablations by cross-validation, and training for another tool chain.

Every row of a table is trained and measured in the same way, so rows differ only in what their names say. The first
rows are the simple rivals, which need no training here.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final

from gridloom.run.work import WorkFolder
from gridloom.targets.dataflow.costs.load import Floats
from gridloom.targets.dataflow.learned import data
from gridloom.targets.dataflow.learned.samples import GraphSamples, by_graph, figures, fold_of
from gridloom.targets.dataflow.learned.tree_training import grow
from gridloom.targets.dataflow.learned.trees import PooledTrees

if TYPE_CHECKING:
    from gridloom.targets.dataflow.learned.model import CostModelConfig

#: The models, and what is left out of each, as the table lists them.
_ROWS: Final = (
    ("trees", "nothing"),
    ("trees", "ranks"),
    ("trees", "formula"),
    ("sharing", "nothing"),
    ("algorithm", "nothing"),
    ("text", "nothing"),
    ("text", "edges"),
    ("text", "nodes"),
    ("sharing", "formula"),
    ("sharing", "edges"),
    ("sharing", "nodes"),
    ("sharing", "annotations"),
)
#: The models that are trained for each state of the tool chain.
_ADAPTED: Final = ("trees", "algorithm", "text")
#: The states of the tool chain, in the order of the table.
_ERAS: Final[tuple[data.Era, ...]] = tuple(data.ERAS)


def cross_validate(
    groups: list[GraphSamples],
    size: CostModelConfig,
    work: WorkFolder,
    variant: Any = "trees",
    without: Any = "nothing",
    start: PooledTrees | None = None,
) -> dict[str, Any]:
    """Return figures over all graphs, each predicted by a model that was not trained on it.

    Costs one training per fold. Folds that were cut short by a stop are still measured.
    """
    folds = fold_of(groups, size.folds)
    predicted: list[Any] = [None] * len(groups)
    for fold in range(size.folds):
        seen = [group for group, mine in zip(groups, folds) if mine != fold]
        predict = _trained(seen, size, work, variant, without, work.seed + fold, start)
        for k, group in enumerate(groups):
            if folds[k] == fold:
                predicted[k] = predict(group)
        work.progress(f"{variant} without {without}: fold {fold + 1}", (fold + 1) / (size.folds + 1))
    return figures(predicted, groups)


def _trained(
    groups: list[GraphSamples], size: CostModelConfig, work: WorkFolder, variant: Any, without: Any, seed: int,
    start: PooledTrees | None = None,
) -> Callable[[GraphSamples], Floats]:  # fmt: skip
    """What a model that was trained on graphs predicts for another one."""
    if variant == "trees":
        trees, _ = grow(groups, without=without, seed=seed, start=start)
        return lambda group: trees.predicted(group.pooled)
    from gridloom.targets.dataflow.learned import training

    model = training.train(
        groups, variant=variant, without=without, epochs=size.epochs, width=size.width, layers=size.layers, seed=seed,
        told=lambda _share: work.stopped(),
    )  # fmt: skip
    return lambda group: training.predictions(model, group)


def ablations(samples: list[data.DecisionSample], size: CostModelConfig, work: WorkFolder) -> dict[str, Any]:
    """Return cross-validated figures of every variant and ablation, beside those of the simple rivals."""
    groups = by_graph(samples)
    rows = [
        {"model": name, **figures([group.rivals[name] for group in groups], groups)}
        for name in (groups[0].rivals if groups else ())
    ]
    for variant, without in _ROWS:
        if work.over():
            break
        name = variant if without == "nothing" else f"{variant} - {without}"
        rows.append({"model": name, **cross_validate(groups, size, work, variant, without)})
    return {"decisions": sum(len(group.labels) for group in groups), "rows": rows}


def adaptivity(
    samples: dict[data.Era, list[data.DecisionSample]], size: CostModelConfig, work: WorkFolder
) -> dict[str, Any]:
    """Return figures of models before and after each change of the tool chain, on graphs that no training saw.

    The simple rivals are in the table as well: they stay as they are when the tool chain changes, and so does a model
    that is not trained again (``trained`` is ``present``). ``samples`` has the eras whose data is there.
    """
    listed = [era for era in _ERAS if era in samples]
    tests = {era: _tests(era, work) for era in listed}
    rows: list[dict[str, Any]] = []
    for era in listed:
        for name in tests[era][0].rivals:
            rules = [group.rivals[name] for group in tests[era]]
            rows.append({"model": name, "tested": era, **figures(rules, tests[era])})
    for variant in _ADAPTED:
        for era in listed:
            if work.over():
                break
            work.progress(f"{variant}: training on {era}", 0.5)
            predict = _trained(by_graph(samples[era]), size, work, variant, "nothing", work.seed)
            for other in listed if era == "present" else (era,):
                found = figures([predict(group) for group in tests[other]], tests[other])
                rows.append({"model": variant, "trained": era, "tested": other, **found})
    decisions = {era: sum(len(item.labels) for item in samples[era]) for era in listed}
    return {"decisions": decisions, "rows": rows}


def _tests(era: data.Era, work: WorkFolder) -> list[GraphSamples]:
    """The graphs that no training sees, labelled in one state of the tool chain."""
    listed = data.held_out_graphs()
    decisions = data.CHAINS * len(listed)
    data.make(work, era=era, decisions=decisions, listed=listed)
    return by_graph(data.load(data.store_path(work), era, listed, decisions))
