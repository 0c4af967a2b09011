"""The answers of an exploration: the Pareto front, what each step of a parameter gains and costs, the best arrays.

All answers are computed from the evaluated points alone. A figure that a point does not have (no hardware model, no
kernel mapped) keeps it out of the comparison.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from gridloom.explore.points import Evaluated
from gridloom.explore.search import Exploration, best_of
from gridloom.explore.space import OBJECTIVES, Value


@dataclass(frozen=True, slots=True)
class Step:
    """A parameter goes from one value to the next: how the figures change, over pairs of points equal in all else."""

    parameter: str
    before: Value
    after: Value
    #: How many pairs of points there are.
    pairs: int
    #: Objective -> mean change: of shares in percentage points, of everything else in per cent.
    changes: Mapping[str, float]

    def sentence(self) -> str:
        """Return the step in words: what it gains and what it costs."""
        parts = [_change(name, change) for name, change in self.changes.items() if abs(change) >= 0.05]
        words = ", ".join(parts) if parts else "no change"
        return f"{self.parameter} {_word(self.before)} -> {_word(self.after)}: {words}"

    def to_dict(self) -> dict[str, Any]:
        """Return plain data."""
        return {
            "parameter": self.parameter,
            "before": self.before,
            "after": self.after,
            "pairs": self.pairs,
            "changes": dict(self.changes),
            "sentence": self.sentence(),
        }


_SHARES = ("mapped", "occupancy")


def front(points: Sequence[Evaluated], objectives: Sequence[str]) -> list[Evaluated]:
    """Return the Pareto front: the feasible points that no other point dominates, best first.

    Points with equal figures are all on it: the choice between them is the user's. Quadratic in the points.
    """
    known = [(one, score) for one in points if one.feasible and (score := _scores(one, objectives)) is not None]
    best = [
        (score, k, one)
        for k, (one, score) in enumerate(known)
        if not any(_dominates(other, score) for _, other in known)
    ]
    return [one for _, _, one in sorted(best, key=lambda item: item[:2])]


def kernel_fronts(exploration: Exploration) -> dict[str, list[Evaluated]]:
    """Return kernel -> its own Pareto front: points with the figures of that kernel alone, over its seeds.

    ``mapped`` then is the share of seeds that map it. Constraints are judged by these figures, too.
    """
    space = exploration.space
    return {
        kernel: front([one.of_kernel(space, kernel) for one in exploration.points], space.objectives)
        for kernel in exploration.kernels
    }


def explain_empty(exploration: Exploration) -> str:
    """Return why the front of an exploration is empty, in a sentence."""
    feasible = [one for one in exploration.points if one.feasible]
    if exploration.points and all(one.broken for one in exploration.points):
        return f"No array of the space exists: {exploration.points[0].broken}."
    if not feasible:
        return "No array meets every constraint."
    unknown = [name for name in exploration.space.objectives if all(one.figures.get(name) is None for one in feasible)]
    if unknown:
        return f"No array has a figure for {' or '.join(name.replace('_', ' ') for name in unknown)}."
    return "No array has a figure for every objective."


def _scores(one: Evaluated, objectives: Sequence[str]) -> tuple[float, ...] | None:
    """The figures with signs such that less is better; None when one is missing."""
    values = [one.figures.get(name) for name in objectives]
    if any(value is None for value in values):
        return None
    return tuple(-value if OBJECTIVES[name] else value for name, value in zip(objectives, values) if value is not None)


def _dominates(a: Sequence[float], b: Sequence[float]) -> bool:
    """Whether scores (less is better) are nowhere worse than others and somewhere better.

    >>> _dominates((1, 2), (1, 3)), _dominates((1, 3), (1, 3)), _dominates((0, 4), (1, 3))
    (True, False, False)
    """
    return all(x <= y for x, y in zip(a, b)) and any(x < y for x, y in zip(a, b))


def sensitivity(exploration: Exploration, names: Sequence[str] | None = None) -> list[Step]:
    """Return every step of every parameter between neighbouring values for which points differ in it alone.

    Points are grouped by the values of all other parameters, so that a step compares like with like. On a grid every
    step has pairs; a random or optimised choice of points may have few, which ``Step.pairs`` tells. Linear in points
    times parameters.
    """
    objectives = list(dict.fromkeys([*(names or exploration.space.objectives), "mapped", "area"]))
    steps = []
    for parameter in exploration.space.parameters:
        values = exploration.space.values(parameter)
        groups: dict[str, dict[int, Evaluated]] = defaultdict(dict)
        for one in exploration.points:
            # Text tells 1 from True, which are equal as keys of a dictionary.
            rest = repr([(key, value) for key, value in one.point.values.items() if key != parameter])
            groups[rest][values.index(one.point.values[parameter])] = one
        for k in range(len(values) - 1):
            pairs = [(group[k], group[k + 1]) for group in groups.values() if k in group and k + 1 in group]
            if pairs:
                changes = dict(_changes(pairs, objectives))
                steps.append(Step(parameter, values[k], values[k + 1], len(pairs), changes))
    return steps


def _changes(pairs: Sequence[tuple[Evaluated, Evaluated]], objectives: Sequence[str]) -> Iterator[tuple[str, float]]:
    """Objective -> mean change over pairs of points: in percentage points for shares, else in per cent.

    The mean of ratios is geometric where all figures are positive; where some are 0 (FIFO cycles), sums are compared.
    """
    for name in objectives:
        known = [(a, b) for one, two in pairs
                 if (a := one.figures.get(name)) is not None and (b := two.figures.get(name)) is not None]  # fmt: skip
        if not known:
            continue
        if name in _SHARES:
            yield name, 100 * sum(b - a for a, b in known) / len(known)
        elif all(a > 0 and b > 0 for a, b in known):
            yield name, 100 * (math.exp(sum(math.log(b / a) for a, b in known) / len(known)) - 1)
        else:
            whole = sum(a for a, _ in known)
            yield name, 100 * sum(b - a for a, b in known) / whole if whole else 0.0


def best_arrays(exploration: Exploration) -> dict[str, Evaluated]:
    """Return objective -> the feasible point that is best by it; ties go to the smaller area, then to the earlier."""
    best = {}
    for name in exploration.space.objectives:
        first = best_of(exploration.points, name)
        if first is None:
            continue
        equal = [one for one in exploration.points if one.feasible and one.figures[name] == first.figures[name]]
        best[name] = min(equal, key=lambda one: one.figures.get("area") or math.inf)
    return best


def array_yaml(one: Evaluated) -> str:
    """Return the point's array as a YAML description that --arch takes."""
    from gridloom.archs.described.text import yaml_text
    from gridloom.flow.inputs import read_arch

    return yaml_text(dict(read_arch(one.point.array).spec))


def to_dict(exploration: Exploration) -> dict[str, Any]:
    """Return the exploration and its answers as plain JSON data."""
    return {
        "space": exploration.space.explore,
        "kernels": list(exploration.kernels),
        "objectives": list(exploration.space.objectives),
        "constraints": list(exploration.space.constraints),
        "jobs": exploration.jobs,
        "seconds": round(exploration.seconds, 3),
        "interrupted": exploration.interrupted,
        "skipping": {
            "skipped": exploration.skipping.skipped,
            "sampled": exploration.skipping.sampled,
            "mapped_after_all": exploration.skipping.mapped_after_all,
        },
        "points": [one.to_dict() for one in exploration.points],
        "front": [one.to_dict() for one in front(exploration.points, exploration.space.objectives)],
        "kernel_fronts": {
            kernel: [{"point": dict(one.point.values), "figures": dict(one.figures)} for one in best]
            for kernel, best in (kernel_fronts(exploration).items() if len(exploration.kernels) > 1 else ())
        },
        "sensitivity": [step.to_dict() for step in sensitivity(exploration)],
        "best": {name: one.to_dict() for name, one in best_arrays(exploration).items()},
    }


def _change(name: str, change: float) -> str:
    """One change in words."""
    if name == "mapped":
        return f"{abs(change):.3g} % {'more' if change > 0 else 'fewer'} kernels mapped"
    unit = "points" if name in _SHARES else "%"
    return f"{name.replace('_', ' ')} {change:+.3g} {unit}"


def _word(value: Value) -> str:
    """Return a parameter's value in words."""
    return "none" if value is None else str(value)
