"""Inference of the learned cost model: features of flows, and trees over them, without torch or scikit-learn.

One core evaluates thousands of decisions per second. Trees correct the formula `queueing` (`trees`).
"""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Final, NamedTuple

import numpy as np

from gridloom.archs.model import Arch
from gridloom.archs.spec import parameters
from gridloom.learn import weights
from gridloom.learn.boosted import forest_of_arrays
from gridloom.learn.weights import TrainingScope
from gridloom.targets.dataflow.costs.load import Decisions, Floats, Ints, Pipeline
from gridloom.targets.dataflow.costs.queueing import Queueing
from gridloom.targets.dataflow.families.rdu import RduParameters
from gridloom.targets.dataflow.learned.features import POOLED
from gridloom.targets.dataflow.learned.trees import PooledTrees, Singles, pool_features

NAME: Final = "cost-model"
#: The machine that labels come from. Weights that were trained for another one are not asked.
MACHINE: Final = 2
#: What the names of the trees' arrays begin with.
PREFIX: Final = "trees."
#: Parameters of the array of which the training data has one value.
_TRAINED_WITH: Final = (
    "fifo", "packet", "switch_buffer", "channels", "memory_ports", "dram_channels", "dram_cycles", "dram_latency",
    "block_rows",
)  # fmt: skip
#: The columns of the trees, as files of weights name them.
COLUMNS: Final = tuple(f"{pool} {name}" for pool, name in POOLED)
#: The numbers of an array of which less is never outside of the training.
DOWNWARDS: Final = ("units along the longer side", "units along the shorter side")


class Inputs(NamedTuple):
    """What learned models see of decisions."""

    #: [decision, flow] -> features (`features.EDGE_FEATURES`).
    edges: Singles
    #: Decision -> the speeds that `queueing` and `bottleneck` predict.
    speeds: Singles


def inputs(pipeline: Pipeline, decisions: Decisions, formula: Queueing | None = None) -> Inputs:
    """Return the features of decisions and what the formulas say of them; ``formula`` is for callers that have one.

    The rows of a decision do not depend on other decisions.
    """
    from gridloom.targets.dataflow.learned.kernel import speed_features

    formula = formula or Queueing()
    most, share, meets = formula.details(pipeline, decisions)
    room, order = formula.fixed(pipeline)
    # A flow sends while its units work, which is longest for the busier one of them.
    busy = np.maximum(pipeline.unit_load[pipeline.source], pipeline.unit_load[pipeline.target])
    at_speed = speed_features(
        share, pipeline.links, decisions.route_start, decisions.route_links, meets, pipeline.rate,
        np.minimum(1.0, pipeline.rate / np.maximum(busy, 1e-9)), pipeline.packet, room, pipeline.tree, order,
    )  # fmt: skip
    edges = np.concatenate([full_speed(pipeline, decisions, (room, order)), at_speed], axis=2)
    return Inputs(edges, np.stack([share, most], axis=1).astype(np.float32))


def full_speed(pipeline: Pipeline, decisions: Decisions, fixed: tuple[Ints, Ints] | None = None) -> Singles:
    """Return [decision, flow] -> features of flows at full speed; see `features.FULL_SPEED`.

    ``fixed`` is that of :meth:`Queueing.fixed`, for callers that have it.
    """
    from gridloom.targets.dataflow.learned.kernel import edge_features

    room, order = fixed or Queueing().fixed(pipeline)
    result: Singles = edge_features(
        len(decisions), pipeline.links, decisions.route_start, decisions.route_links, pipeline.rate, pipeline.peak,
        pipeline.packet, room, pipeline.tree, order,
    )  # fmt: skip
    return result


class LearnedCostModel:
    """The cost model `learned`: `queueing`, corrected by boosted trees.

    It is not made for several threads at once. OptionError for a file of other weights.
    """

    name = "learned"

    def __init__(self, path: Path | None = None) -> None:
        arrays, self.about = weights.load_model(path, NAME, features=COLUMNS)
        self.trees = PooledTrees(forest=forest_of_arrays(arrays, PREFIX), dead=float(self.about["dead"]))
        self.formula = Queueing()

    @classmethod
    def of(cls, trees: PooledTrees) -> LearnedCostModel:
        """Return the cost model of trees that were just grown, on whatever machine they were grown for."""
        model = cls.__new__(cls)
        model.about, model.trees, model.formula = {"machine": MACHINE, "scope": {}}, trees, Queueing()
        return model

    def efficiency(self, pipeline: Pipeline, decisions: Decisions) -> Floats:
        """Return predicted throughput over the bound. About 0.1 ms per decision of a hundred units."""
        return self.predicted(inputs(pipeline, decisions, self.formula))

    def preference(self, pipeline: Pipeline, decisions: Decisions) -> Floats:
        """Return what a search should maximise: the prediction, plus the mean of what each flow alone would allow.

        Throughput has plateaus: it does not change until the last of the slowest flows has become faster. The mean over
        flows gives a direction on such a plateau; it is that of the formula.
        """
        mean = self.formula.bottleneck.flows(pipeline, decisions).mean(axis=1)
        return np.asarray(self.efficiency(pipeline, decisions) + mean, dtype=np.float64)

    def outside(self, pipeline: Pipeline) -> str | None:
        """Return why a pipeline lies outside what the trees were grown on; None where it does not.

        Weights say for which machine and arrays they were trained: buffers, links and speeds of the units. The shipped
        ones were trained on ``rdu:16x8`` and measured on up to 32 x 16 units.
        """
        if self.about.get("machine", 1) != MACHINE:
            return "the weights were trained for an earlier machine; `gridloom train cost-model` makes new ones"
        return TrainingScope.of_record(self.about["scope"]).outside(array_numbers(pipeline.arch)) or None

    def predicted(self, seen: Inputs) -> Floats:
        """Return the efficiency of decisions with these features, at most 1."""
        return self.trees.predicted(pool_features(*seen))


def array_numbers(arch: Arch) -> dict[str, float]:
    """Return the numbers of an array by which weights know what they were trained for."""
    p = parameters(RduParameters, arch.spec)
    sides = dict(zip(DOWNWARDS, (float(max(p.rows, p.cols)), float(min(p.rows, p.cols))), strict=True))
    return sides | {key.replace("_", " "): float(getattr(p, key)) for key in _TRAINED_WITH}


@cache
def learned_cost(path: str | None = None) -> LearnedCostModel:
    """Return the cost model with the shipped weights, or with those of a file, loaded once."""
    return LearnedCostModel(None if path is None else Path(path))
