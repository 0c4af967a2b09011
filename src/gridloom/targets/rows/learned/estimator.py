"""The estimator ``learned``: widths by the trained model, never below the bound; it runs on numpy.

What counting or rows prove is never put to the model, so it cannot contradict a proof; widths are at least the bound
and at most the array's columns. On an array outside of the training the answer is the bound, with the reason.
"""

from __future__ import annotations

from dataclasses import replace

from gridloom.archs.model import Arch
from gridloom.dfg.model import Dfg
from gridloom.learn.reach import Reached, ReachModel
from gridloom.partition.width_estimate import WidthEstimate, bound_estimate, check_columns
from gridloom.targets.rows.learned.question import QUESTION


class LearnedEstimator:
    """Widths by a trained model."""

    name = "learned"

    def __init__(self, model: ReachModel) -> None:
        self.model = model

    def _answer(self, dfg: Dfg, arch: Arch) -> tuple[Reached | None, str]:
        """The answer of the model, or in words why there is none; with both, the pair is outside of the training."""
        seen = QUESTION.look(dfg, arch)
        if seen.refused:
            return None, seen.refused
        return self.model.answer(QUESTION, seen.values), self.model.scope.outside(QUESTION.scope(seen.values))

    def estimate(self, dfg: Dfg, arch: Arch) -> WidthEstimate:
        """Return width and probability; OptionError for an array on which widths mean nothing. Takes a few ms."""
        check_columns(arch)
        counted = bound_estimate(dfg, arch)
        answer, reason = self._answer(dfg, arch)
        if answer is None:
            return WidthEstimate(width=None, bound=counted.bound, reason=reason, probability=0.0)
        if reason:
            return replace(counted, reason=f"{counted.reason}; {reason}")
        low = f"probability {answer.fits:.3f}, below {self.model.threshold:.3f}"
        reason = low if answer.found is None else "learned"
        return WidthEstimate(width=answer.found, bound=counted.bound, reason=reason, probability=answer.fits)

    def probability(self, dfg: Dfg, arch: Arch, columns: int) -> float | None:
        """Return the probability that a graph fits the first ``columns``; None for arrays outside of the training."""
        answer, reason = self._answer(dfg, arch)
        if answer is None or columns < answer.least:
            return 0.0
        return None if reason else answer.chance(columns)
