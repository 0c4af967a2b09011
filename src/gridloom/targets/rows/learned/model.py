"""The model ``mappability``: does a graph fit an array of rows, and how many columns does it need?

Importing this needs neither torch nor scikit-learn, since estimators run on numpy; DGCNN is trained with torch, trees
with scikit-learn.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import islice
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from gridloom.archs.model import Arch
from gridloom.dfg.model import Dfg
from gridloom.errors import OptionError
from gridloom.learn import labels as store
from gridloom.learn.labels import Labelled, array_of
from gridloom.learn.reach import Reached
from gridloom.learn.reach_training import Learner, Predict, ReachConfig, ReachEstimation, folds_of
from gridloom.partition.width_estimate import WidthEstimate
from gridloom.run.work import WorkFolder
from gridloom.search.settings import check_settings
from gridloom.targets.rows.learned import published
from gridloom.targets.rows.learned.estimator import LearnedEstimator
from gridloom.targets.rows.learned.features import NAMES, ArrayShape, GraphFeatures, of_graph
from gridloom.targets.rows.learned.question import QUESTION, drawn_graphs
from gridloom.targets.rows.learned.random_graphs import OVERFULL


@dataclass(frozen=True, kw_only=True)
class MappabilityConfig(ReachConfig):
    """Settings of ``gridloom train mappability`` and ``gridloom eval mappability``."""

    read_by: ClassVar[Mapping[str, frozenset[str]]] = {"evaluate": frozenset({"relabel", "trials"})}
    #: The package's data: how many families of graphs of the main array, and how many graphs of each.
    families: int = 640
    graphs: int = 8
    #: The array that DGCNN is trained on, and further arrays; spaces separate them.
    arch: str = "vpcma"
    others: str = "vpcma:4x12 vpcma:6x12 vpcma:10x12 vpcma:8x16 vpcma:7x12 vpcma:9x14"
    #: For each of those arrays: how many families; three quarters as many overfull ones come on top.
    others_families: int = 100
    #: Also train and measure DGCNN, which takes most of the time.
    dgcnn: bool = False
    #: Trials of Optuna on DGCNN's settings before its folds; 0: the published defaults.
    trials: int = 0
    #: Passes over the data when DGCNN is trained.
    dgcnn_epochs: int = 30
    trees: int = 200
    depth: int = 3
    rate: float = 0.05

    def __post_init__(self) -> None:
        super().__post_init__()
        check_settings(self, at_least={"trials": 0, "dgcnn_epochs": 1, "others_families": 1})


class MappabilityModel(ReachEstimation):
    """What the registry holds under ``mappability``: the methods of every estimator, and the published network."""

    config = MappabilityConfig

    def estimator(self, path: Path | str | None = None) -> LearnedEstimator:
        """Return the estimator with the shipped weights, or with those of a file."""
        return LearnedEstimator(self.model(path))

    def published_estimator(self) -> published.PublishedEstimator:
        """Return the published network, DGCNN, with its shipped weights."""
        return published.shipped_estimator()

    def estimate(self, dfg: Dfg, arch: Arch, path: Path | str | None = None) -> WidthEstimate:
        """Return the estimate with the shipped weights, or with those of a file."""
        return self.estimator(path).estimate(dfg, arch)

    def drawn(self, config: MappabilityConfig, arch: str | None) -> list[tuple[str, str]]:
        """Return source and array of the graphs of a data set."""
        if arch is not None:
            array = array_of(arch)
            listed = drawn_graphs(arch, 640, 8, main=False)
            # What counting or rows decide teaches nothing.
            asked = (pair for pair in listed if not QUESTION.look(QUESTION.read(pair[0], array), array).refused)
            return list(islice(asked, config.own))
        listed = drawn_graphs(config.arch, config.families, config.graphs, main=True)
        for spec in config.others.split():
            listed += drawn_graphs(spec, config.others_families, 1, main=False)
        return listed

    def train(self, config: MappabilityConfig, work: WorkFolder) -> dict[str, Any]:
        """Train the estimator, and with ``dgcnn`` the published network on the main array, saved beside it."""
        report = super().train(config, work)
        if config.dgcnn:
            from gridloom.targets.rows.learned.dgcnn_training import DgcnnSettings, train_dgcnn

            items = [item for item in self._items(work)[1] if item.arch == config.arch]
            settings = DgcnnSettings(epochs=config.dgcnn_epochs)
            network = train_dgcnn(_features(items), [item.found for item in items], settings, work.seed, work.over)
            path = Path(report["weights"]).with_name(f"{published.NAME}.npz")
            published.save(path, network, {"data": report["data"], "settings": asdict(settings), "seed": work.seed})
        return report

    def rivals(self, config: MappabilityConfig, work: WorkFolder) -> dict[str, Any]:
        """Return DGCNN as a rival, where it is asked for."""

        def learn(known: Sequence[Labelled], seed: int) -> Predict:
            from gridloom.targets.rows.learned.dgcnn_training import DgcnnSettings, train_dgcnn, tune_settings

            mine = [item for item in known if item.arch == config.arch]
            graphs, widths = _features(mine), [item.found for item in mine]
            settings = DgcnnSettings(epochs=config.dgcnn_epochs)
            if config.trials:
                fold = folds_of(QUESTION, mine, 5, seed)
                settings = tune_settings(graphs, widths, fold, config.trials, config.dgcnn_epochs, work.seed)
            network = train_dgcnn(graphs, widths, settings, seed, work.over)
            return lambda items: [_published(network, item) for item in items]

        def make(_question: Any) -> Learner:
            return learn

        return {"dgcnn": make} if config.dgcnn else {}

    def by_size(self, folder: Path | None, step: int) -> list[dict[str, Any]]:
        """Return the mappable share and the utilisation N_op / (W * H) of the data set's graphs by number of ops.

        H is the fewest rows that counting and the rule of rows leave on W columns, W the label. Without a folder the
        labels are those of the package. A row covers ``step`` numbers of ops; overfull families and the other arrays
        are left out. OptionError for a data set without such a graph: labelling was interrupted at once, or every
        label failed.
        """
        path = Path() if folder is None else folder / f"{self.name}.sqlite"
        found = store.unpack(QUESTION) if folder is None else store.read_store(QUESTION, path)
        main = max({item.arch for item in found}, key=lambda arch: sum(item.arch == arch for item in found), default="")
        groups: dict[int, list[Labelled]] = {}
        for item in found:
            usual = not QUESTION.is_drawn(item.source) or int(item.source.split(":")[1]) < OVERFULL
            if item.arch == main and usual:
                groups.setdefault((_number(item, "ops") - 1) // step, []).append(item)
        if not groups:
            raise OptionError(
                "holds no labelled graph of the main array; `gridloom train mappability --make-data` adds them",
                where=str(path),
            )
        return [_point(k * step + 1, (k + 1) * step, groups[k]) for k in sorted(groups)]


def _number(item: Labelled, name: str) -> int:
    return int(item.values[NAMES.index(name)])


def _features(items: Sequence[Labelled]) -> list[GraphFeatures]:
    """The graphs of drawn items as DGCNN sees them: they are drawn again."""
    arrays = [array_of(item.arch) for item in items]
    return [of_graph(QUESTION.read(i.source, a), ArrayShape.of(a)) for i, a in zip(items, arrays, strict=True)]


def _published(network: published.PublishedNetwork, item: Labelled) -> Reached:
    """What DGCNN and the bound say of an item; the bound alone on other arrays."""
    least, most = QUESTION.span(item.values)
    if (_number(item, "rows"), _number(item, "columns")) != (network.rows, network.cols):
        return Reached(found=least, least=least, fits=1.0, reachable=np.ones(1))
    label = int(np.argmax(network.scores(_features([item])[0])))
    found = min(max(label, least), most) if label else None
    return Reached(found=found, least=least, fits=float(label > 0), reachable=np.ones(1))


def _point(first: int, last: int, items: Sequence[Labelled]) -> dict[str, Any]:
    """Mappable share and utilisation of the graphs of one range of sizes."""
    used = []
    for item in items:
        if item.found is not None:
            ops = _number(item, "ops")
            used.append(ops / (item.found * max(-(-ops // item.found), _number(item, "least_rows"))))
    return {
        "from": first,
        "to": last,
        "ops": round(sum(_number(item, "ops") for item in items) / len(items), 2),
        "graphs": len(items),
        "mappable": round(len(used) / len(items), 4),
        "utilisation": round(sum(used) / len(used), 4) if used else None,
    }


MODEL = MappabilityModel(QUESTION)
