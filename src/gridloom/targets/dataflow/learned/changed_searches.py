"""What searches reach after a change of the tool chain, by cost models that were and were not trained again.

The published table of adaptivity has the throughput that searches gain by the learned model at two states of a
compiler. Here every state of `data.ERAS` is searched: all searches of a section begin with short wires, have the same
CPU seconds, and each cost model chooses among its own finalists; the simulator of that state measures what it chose.
"""

from __future__ import annotations

import time
from typing import Any, Final

from gridloom import registry
from gridloom.run.work import WorkFolder
from gridloom.search.budget import Budget
from gridloom.targets.dataflow.costs.load import CostModel, Pipeline
from gridloom.targets.dataflow.learned import data
from gridloom.targets.dataflow.learned.inference import LearnedCostModel
from gridloom.targets.dataflow.learned.samples import by_graph
from gridloom.targets.dataflow.learned.search_comparison import SUBJECTS, Network, of_network, parts, race
from gridloom.targets.dataflow.learned.tree_training import grow
from gridloom.targets.dataflow.mappers.search import AnnealingChains, DataflowConfig

#: The cost models that stay as they are, in the order of the table.
RULES: Final = ("wirelength", "tuned", "bottleneck", "queueing")
_CHAINS: Final = 4


def compare_eras(
    samples: dict[data.Era, list[data.DecisionSample]],
    work: WorkFolder,
    *,
    seconds: float,
    seeds: int,
    subjects: str = "",
) -> dict[str, Any]:
    """Return for each state of the tool chain and each network what searches by every cost model reach.

    ``start`` is the beginning without any further move. ``learned`` has trees that were grown on the decisions of the
    present, ``again`` on those of the state itself; both see what the rules see. Values are means over seeds of the
    network's efficiency, with the least and the largest. ``samples`` has the states whose data is there.
    """
    chosen = [item for item in SUBJECTS if not subjects or item[0] in subjects.split("+")]
    present = _grown(samples["present"], work.seed)
    rows: list[dict[str, Any]] = []
    for number, era in enumerate(samples):
        models: dict[str, CostModel] = {name: registry.load("costs", name)() for name in RULES}
        models["learned"] = present
        if era != "present":
            models["again"] = _grown(samples[era], work.seed)
        for subject in chosen:
            if work.over():
                break
            work.progress(f"{era}: {subject[0]}", number / len(samples))
            rows.append({"era": era, **_row(subject, era, models, seconds, seeds, work)})
    return {"cpu_seconds_a_search": seconds, "seeds": seeds, "rows": rows}


def _grown(samples: list[data.DecisionSample], seed: int) -> LearnedCostModel:
    """The cost model of trees that are grown on decisions."""
    return LearnedCostModel.of(grow(by_graph(samples), seed=seed)[0])


def _row(
    subject: Network, era: data.Era, models: dict[str, CostModel], seconds: float, seeds: int, work: WorkFolder
) -> dict[str, Any]:
    """A network in one state: (mean, least, largest) over seeds for each cost model, over the sections in time."""
    listed = parts(subject, stack=data.ERAS[era])
    raced = race(
        work, listed, models, seeds,
        lambda pipeline, name, moves, seed: _reached(pipeline, era, models[name], moves, seed),
        lambda pipeline, name: _moves_in(pipeline, era, models[name], seconds),
    )  # fmt: skip
    # In the present both learned models are one.
    reached = {**raced.reached, "again": raced.reached.get("again", raced.reached["learned"])}
    counts = {"sections": raced.sections, "of": len(listed), "searched": raced.searched}
    return {"network": subject[0], **counts, **of_network(listed, reached)}


def _reached(pipeline: Pipeline, era: data.Era, model: CostModel, moves: int, seed: int) -> float:
    """The measured efficiency of the placement that a cost model finds and chooses in so many moves."""
    places = _searched(pipeline, era, model, moves, seed).finalists()[0][:1]
    return float(data.measure_decisions(pipeline, data.route_places(pipeline, places, era), era)[0])


def _searched(pipeline: Pipeline, era: data.Era, model: CostModel, moves: int, seed: int) -> AnnealingChains:
    """A search that has ended, guided by a model that need not be one of the registry."""
    settings = DataflowConfig(chains=_CHAINS, judge=None, aware=data.ERAS[era].aware)
    search = AnnealingChains(pipeline, settings, seed)
    search.model = model
    search.run(Budget(effort=moves, seed=seed).start())
    return search


def _moves_in(pipeline: Pipeline, era: data.Era, model: CostModel, seconds: float) -> int:
    """How many moves a search makes in so many CPU seconds, besides its beginning."""
    _searched(pipeline, era, model, _CHAINS, 0)
    spent = []
    for steps in (1, 61):
        began = time.process_time()
        _searched(pipeline, era, model, steps * _CHAINS, 0)
        spent.append(time.process_time() - began)
    return max(_CHAINS, int(seconds / max(1e-6, (spent[1] - spent[0]) / (60 * _CHAINS))))
