"""Statistics of comparisons: paired differences, bootstrap intervals, sign tests, geometric means, and the verdict.

A comparison takes one value per cell of two rivals. A cell is a graph, or a graph and a seed; cells of one graph are
not independent, so that the bootstrap draws graphs and takes all their cells. Standard library alone: importing costs
next to nothing.
"""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import Any, Final, Literal

Verdict = Literal["ahead", "behind", "no difference"]
Interval = tuple[float, float]

RESAMPLES: Final = 2000
CONFIDENCE: Final = 0.95
#: With fewer groups no exact two-sided test rejects at 5 %, and a bootstrap interval is too narrow.
LEAST_GROUPS: Final = 6


def geometric_mean(values: Iterable[float]) -> float | None:
    """Return the geometric mean to three digits; None of nothing. Values are above 0.

    >>> geometric_mean([1, 4])
    2.0
    """
    found = list(values)
    return round(math.exp(math.fsum(math.log(value) for value in found) / len(found)), 3) if found else None


def sign_test(wins: int, losses: int) -> float:
    """Return the two-sided p-value of the exact sign test; ties are left out.

    >>> sign_test(6, 0), sign_test(3, 3)
    (0.03125, 1.0)
    """
    n = wins + losses
    tail = sum(math.comb(n, k) for k in range(min(wins, losses) + 1))
    return min(1.0, 2 * tail / (1 << n))


def bootstrap_interval(
    groups: Sequence[Sequence[float]],
    *,
    statistic: Callable[[Sequence[float]], float] = fmean,
    confidence: float = CONFIDENCE,
    resamples: int = RESAMPLES,
    seed: int = 0,
) -> Interval:
    """Return the percentile interval of a statistic over groups that are drawn with replacement.

    Needs at least one value. The same seed gives the same interval. Costs ``resamples`` passes over the values.
    """
    chance = random.Random(seed)
    drawn = sorted(
        statistic([value for group in chance.choices(groups, k=len(groups)) for value in group])
        for _ in range(resamples)
    )
    cut = (1 - confidence) / 2
    return drawn[math.floor(cut * (resamples - 1))], drawn[math.ceil((1 - cut) * (resamples - 1))]


def judge(interval: Interval) -> Verdict:
    """Return what an interval of differences (the other minus ours, less is better) says.

    >>> judge((0.1, 2)), judge((-2, -0.1)), judge((0, 2))
    ('ahead', 'behind', 'no difference')
    """
    low, high = interval
    return "ahead" if low > 0 else "behind" if high < 0 else "no difference"


@dataclass(frozen=True, kw_only=True)
class Comparison:
    """How the first rival does beside the second over the cells that both were asked."""

    wins: int
    ties: int
    losses: int
    #: Mean of the second's value minus the first's, over cells with both values.
    difference: float | None
    #: Of the mean difference; where a value is missing, of the share of wins less that of losses.
    interval: Interval | None
    p_value: float
    #: What the bootstrap draws from.
    groups: int
    #: Whether the interval is of wins less losses, since a value is missing.
    of_signs: bool = False

    @property
    def verdict(self) -> Verdict:
        """``ahead`` and ``behind`` only where the interval excludes zero, and never from a handful of groups."""
        return "no difference" if self.interval is None or self.groups < LEAST_GROUPS else judge(self.interval)

    def sentence(self, first: str, second: str) -> str:
        """Return the verdict in words, with counts, interval and p-value."""
        words = f"No difference between {first} and {second}"
        if self.verdict != "no difference":
            words = f"{first} is {self.verdict} {'of' if self.verdict == 'ahead' else ''}".rstrip() + f" {second}"
        if self.interval is None:
            return f"{words}: no cell in common."
        low, high = self.interval
        counts = f"{self.wins} wins, {self.ties} ties, {self.losses} losses"
        of = "wins less losses" if self.of_signs else "the difference"
        few = f"; {self.groups} graphs are too few to tell" if self.groups < LEAST_GROUPS else ""
        return (
            f"{words}: {counts}, 95 % interval of {of} {low:.3g} to {high:.3g}, sign test p = {self.p_value:.2g}{few}."
        )

    def to_dict(self) -> dict[str, Any]:
        """Return the comparison as plain JSON data, with the verdict."""
        interval = None if self.interval is None else [round(value, 6) for value in self.interval]
        difference = None if self.difference is None else round(self.difference, 6)
        return {
            "wins": self.wins, "ties": self.ties, "losses": self.losses, "difference": difference,
            "interval": interval, "p_value": round(self.p_value, 6), "verdict": self.verdict,
        }  # fmt: skip


def compare_pairs(
    first: Mapping[Any, float | None],
    second: Mapping[Any, float | None],
    *,
    group: Callable[[Any], Hashable] = lambda cell: cell[0] if isinstance(cell, tuple) else cell,
    more_is_better: bool = False,
    seed: int = 0,
) -> Comparison:
    """Compare two rivals cell by cell, over the cells that both have; None is a cell that a rival did not solve.

    Less is better unless ``more_is_better``. A cell that one rival alone solved is its win; one that neither solved is
    a tie. ``group`` names what the bootstrap draws: the first part of a cell that is a tuple.
    """
    worst = math.inf
    sign = -1.0 if more_is_better else 1.0
    groups: dict[Hashable, list[float]] = {}
    for cell, own in first.items():
        if cell in second:
            other = second[cell]
            a, b = (worst if value is None else sign * value for value in (own, other))
            groups.setdefault(group(cell), []).append(0.0 if a == b else b - a)
    found = [value for values in groups.values() for value in values]
    wins, losses = sum(value > 0 for value in found), sum(value < 0 for value in found)
    finite = [value for value in found if math.isfinite(value)]
    if len(finite) < len(found):
        groups = {name: [float((v > 0) - (v < 0)) for v in values] for name, values in groups.items()}
    return Comparison(
        wins=wins,
        ties=len(found) - wins - losses,
        losses=losses,
        difference=fmean(finite) if finite else None,
        interval=bootstrap_interval(list(groups.values()), seed=seed) if found else None,
        p_value=sign_test(wins, losses),
        groups=len(groups),
        of_signs=len(finite) < len(found),
    )
