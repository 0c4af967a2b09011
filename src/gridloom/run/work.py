"""What a long piece of work is given: a folder, limits, and a callback for progress. Models are trained with it."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol


def _untold(_text: str, _done: float) -> None:
    """The callback of work whose progress nobody follows."""


@dataclass(frozen=True, kw_only=True)
class WorkFolder:
    """A folder for data and checkpoints, and the limits of one call.

    The clock of ``time_limit`` starts when the object is made.
    """

    #: Data sets, stores and checkpoints; ``resume`` goes on with what is here.
    folder: Path
    #: Where trained weights go; None: into the folder.
    weights: Path | None = None
    #: The user's array (an ARCH, or JSON text), and graphs that were prepared for it, by name.
    arch: str | None = None
    graphs: tuple[tuple[str, Any], ...] = ()
    #: A store of labels in place of the folder's.
    labels: Path | None = None
    #: Weights that training begins with.
    start: Path | None = None
    #: Processes for independent jobs; None: one for each core.
    jobs: int | None = None
    resume: bool = False
    seed: int = 0
    #: Seconds from now on; None: as long as it takes.
    time_limit: float | None = None
    #: Called with a line of text and the share done, 0 to 1.
    progress: Callable[[str, float], None] = field(default=_untold, compare=False)
    #: True once the user has asked to stop: the work saves what it has and returns.
    stopped: Callable[[], bool] = field(default=lambda: False, compare=False)
    began: float = field(default_factory=time.monotonic, compare=False)

    @property
    def seconds_left(self) -> float:
        """Seconds until the limit, infinite without one, never negative."""
        return float("inf") if self.time_limit is None else max(0.0, self.time_limit - (time.monotonic() - self.began))

    def over(self) -> bool:
        """Whether to come to an end: out of time, or asked to stop."""
        return self.seconds_left <= 0 or self.stopped()


class Model(Protocol):
    """What the registry's group ``models`` holds: something that learns from data it makes itself.

    Every method returns what ``--json`` prints. ``config`` is a frozen dataclass whose fields are the settings. Its
    ``read_by`` maps a method to the settings that this method alone reads.
    """

    name: str
    config: type[Any]

    def make_data(self, config: Any, work: WorkFolder) -> dict[str, Any]:
        """Make or go on making the data set."""
        ...

    def train(self, config: Any, work: WorkFolder) -> dict[str, Any]:
        """Train on the data set and save the weights."""
        ...

    def evaluate(self, config: Any, work: WorkFolder) -> dict[str, Any]:
        """Measure the shipped weights, or those of ``work.weights``."""
        ...
