"""How much is trained: the part of the settings that needs no torch."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Kind = Literal["slots", "attention", "mlp", "state", "gga"]


@dataclass(frozen=True, kw_only=True)
class TrainingAmount:
    """Which policy is trained, and on how much."""

    #: ``slots``, the mapper's; ``gga``, the published actor; ``state``, MLPs over the published state; ``attention``
    #: and ``mlp`` over a shortlist of slots.
    policy: Kind = "slots"
    #: Level of the arrays that ``gga``, ``state``, ``attention`` and ``mlp`` are trained on; ``slots`` has both.
    level: Literal["paper", "strict"] = "paper"
    iterations: int = 900
    #: Graphs per iteration, and boards played for each; a large graph has half as many boards.
    graphs: int = 8
    boards: int = 16
