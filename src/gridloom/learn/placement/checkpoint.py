"""Checkpoints of a training of placement policies: a file that is written whole or not at all."""

from __future__ import annotations

from abc import ABC, abstractmethod
from pathlib import Path

import torch
from torch import nn

from gridloom.text_file import check_regular


class Checkpointed(ABC):
    """A training that can be stopped and continued; subclasses have a module, an optimiser and a file.

    A checkpoint does not record the settings of its training: continue with those that it was begun with.
    """

    optimiser: torch.optim.Optimizer
    iteration: int
    decisions: int
    seconds: float

    @property
    @abstractmethod
    def _module(self) -> nn.Module:
        """The module that is trained."""

    @property
    @abstractmethod
    def _checkpoint(self) -> Path:
        """The file of the checkpoint."""

    def restore(self) -> bool:
        """Continue from the checkpoint, begun with the same settings; returns whether there is one."""
        if not self._checkpoint.exists():
            return False
        check_regular(self._checkpoint)
        kept = torch.load(self._checkpoint, weights_only=True)
        self._module.load_state_dict(kept["network"])
        self.optimiser.load_state_dict(kept["optimiser"])
        self.iteration, self.decisions = int(kept["iteration"]), int(kept["decisions"])
        self.seconds = float(kept["seconds"])
        return True

    def save(self) -> None:
        """Write the checkpoint, whole or not at all."""
        self._checkpoint.parent.mkdir(parents=True, exist_ok=True)
        state = {
            "network": self._module.state_dict(),
            "optimiser": self.optimiser.state_dict(),
            "iteration": self.iteration,
            "decisions": self.decisions,
            "seconds": self.seconds,
        }
        partial = self._checkpoint.with_suffix(".partial")
        torch.save(state, partial)
        partial.replace(self._checkpoint)
