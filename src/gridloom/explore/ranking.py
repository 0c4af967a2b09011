"""``ranked``: arrays are mapped in the order of what estimators expect of them, and most of them not at all.

Every array of the grid gets expected figures: IIs and chances to map from the estimator of its target where there is
one, the MII elsewhere, area and clock from the fitted models. A batch is the arrays that are dominated least, by
expected and found figures together. What a batch finds corrects the expectation of arrays with similar parameters.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from gridloom import registry
from gridloom.errors import GridloomError
from gridloom.explore.points import ArrayCandidate, Evaluated, expect_point
from gridloom.explore.space import OBJECTIVES, Point, Space
from gridloom.flow.bench.run import graph_of
from gridloom.flow.inputs import memory_of, prepare
from gridloom.mapping.mii import mii

Doubles = NDArray[np.float64]

#: How far the correction of an array reaches, as a share of the range of each parameter.
_REACH: Final = 0.25
#: A figure that is worse than any other, as a logarithm.
_WORST: Final = 50.0


def expected_row(source: str, one: ArrayCandidate, weights: str | None = None) -> dict[str, Any]:
    """Return the row that a mapping of a kernel is expected to give, and with it the ``chance`` that there is one."""
    row: dict[str, Any] = dict.fromkeys(("ii", "throughput", "period", "latency", "wirelength", "occupancy", "buffers"))
    row["cell"] = {"source": source, "seed": 0}
    missing = {**row, "status": "failed", "chance": 0.0}
    if one.arch is None:
        return missing
    try:
        dfg = prepare(graph_of(source, memory_of(one.arch)), one.arch).dfg
        target = registry.hook_for("estimates", one.arch)
        if target is None:
            bound = mii(dfg, one.arch)
            fits = not bound.missing and (one.arch.style != "static" or bound.res <= 1)
            return {**row, "status": "mapped", "ii": bound.total, "chance": 1.0} if fits else missing
        estimator = target.judge("auto", dfg, one.arch, None if weights is None else Path(weights))
        found = target.record(estimator.estimate(dfg, one.arch), dfg, one.arch)
    except GridloomError as error:
        if weights is not None and error.where == weights:
            raise
        return missing
    if not found["mappable"]:
        return {**missing, "chance": found.get("probability") or 0.0}
    chances = list((found.get("reachable") or {}).values())
    # The mean II where the estimator has chances, so that arrays with the same likely II are told apart.
    ii = found["mii"] + sum(1 - chance for chance in chances) if chances else found.get("ii") or 1
    chance = found.get("probability")
    return {**row, "status": "mapped", "ii": ii, "chance": 1.0 if chance is None else chance, "ops": len(dfg.nodes)}


@dataclass
class Ranking:
    """The arrays of a space with what is expected of them, and what was found so far."""

    space: Space
    points: Sequence[Point]
    #: [point, objective] -> logarithm of the expected cost, [point, parameter] -> place in its range.
    expected: Doubles
    places: Doubles
    found: dict[int, Doubles] = field(default_factory=dict)

    @classmethod
    def of(cls, space: Space, candidates: Sequence[ArrayCandidate], sources: Sequence[str]) -> Ranking:
        """Return the ranking of candidates. Milliseconds for each array and kernel.

        OptionError for a file that holds no weights.
        """
        rows = [[expected_row(source, one, space.weights) for source in sources] for one in candidates]
        figures = [expect_point(space, one, part) for one, part in zip(candidates, rows, strict=True)]
        axes = [list(space.values(name)) for name in space.parameters]
        places = [
            [axis.index(one.point.values[name]) / max(1, len(axis) - 1) for name, axis in zip(space.parameters, axes)]
            for one in candidates
        ]
        return cls(
            space=space,
            points=[one.point for one in candidates],
            expected=np.array([_costs(space, part) for part in figures]),
            places=np.array(places, dtype=np.float64).reshape(len(candidates), -1),
        )

    def corrected(self) -> Doubles:
        """Return the costs: those found, and for other arrays what is expected, corrected by what was found nearby."""
        costs = self.expected.copy()
        if not self.found:
            return costs
        seen = np.array(sorted(self.found))
        off = np.clip(np.array([self.found[k] for k in seen.tolist()]) - self.expected[seen], -2, 2)
        far = ((self.places[:, None, :] - self.places[None, seen, :]) ** 2).sum(axis=2)
        near = np.exp(-far / (2 * _REACH**2))
        costs += (near @ off) / (near.sum(axis=1, keepdims=True) + 0.1)
        costs[seen] = [self.found[k] for k in seen.tolist()]
        return costs

    def next_batch(self, count: int) -> list[int]:
        """Return the arrays to map next: those that others dominate least, and of the front those that stand apart."""
        costs = self.corrected()
        # By how much one array is worse than another in all objectives at once.
        behind = (costs[:, None, :] - costs[None, :, :]).min(axis=2)
        np.fill_diagonal(behind, -math.inf)
        order = np.lexsort((np.arange(len(costs)), costs.sum(axis=1), behind.max(axis=1)))
        return [k for k in order.tolist() if k not in self.found][:count]

    def note(self, number: int, one: Evaluated) -> None:
        """Take in what was found of an array."""
        figures = one.figures if one.feasible else dict.fromkeys(one.figures)
        self.found[number] = _costs(self.space, figures)


def _costs(space: Space, figures: Mapping[str, float | None]) -> Doubles:
    """The objectives as logarithms of costs: less is better, differences are relative."""
    costs = []
    for name in space.objectives:
        value = figures.get(name)
        if value is None:
            costs.append(_WORST)
        else:
            costs.append((-1 if OBJECTIVES[name] else 1) * math.log(max(1e-9, value)))
    return np.array(costs)
