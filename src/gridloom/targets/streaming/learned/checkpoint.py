"""Checkpoints and learning curves of a training of placement policies."""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from dataclasses import asdict
from pathlib import Path
from typing import Any

import torch
from torch import nn

from gridloom.errors import OptionError
from gridloom.text_file import check_regular


class Checkpointed(ABC):
    """A training that can be stopped and continued; subclasses have a configuration, a module and an optimiser.

    ``folder`` keeps ``NAME.pt``, the checkpoint, and ``NAME.jsonl``, the learning curve with a line per iteration.
    """

    #: A frozen dataclass of the training's settings.
    config: Any
    seed: int
    folder: Path
    optimiser: torch.optim.Optimizer
    iteration: int
    decisions: int
    seconds: float

    @property
    @abstractmethod
    def _name(self) -> str:
        """The stem of the files."""

    @property
    @abstractmethod
    def _module(self) -> nn.Module:
        """The module that is trained."""

    @property
    def _checkpoint(self) -> Path:
        return self.folder / f"{self._name}.pt"

    @property
    def _settings(self) -> dict[str, Any]:
        return {"seed": self.seed, **asdict(self.config)}

    def restore(self) -> bool:
        """Continue from the checkpoint; returns whether there is one. OptionError where its settings are others."""
        if not self._checkpoint.exists():
            return False
        check_regular(self._checkpoint)
        kept = torch.load(self._checkpoint, weights_only=True)
        # Checkpoints of earlier versions do not name their settings.
        begun = kept.get("settings", self._settings)
        for key, value in self._settings.items():
            if begun.get(key) != value:
                raise OptionError(
                    f"{key}: the training was begun with {begun.get(key)}, found {value}; "
                    "continue with the same settings, or train without --resume",
                    where=str(self._checkpoint),
                )
        self._module.load_state_dict(kept["network"])
        self.optimiser.load_state_dict(kept["optimiser"])
        self.iteration, self.decisions = int(kept["iteration"]), int(kept["decisions"])
        self.seconds = float(kept["seconds"])
        return True

    def save(self) -> None:
        """Write the checkpoint, whole or not at all."""
        self.folder.mkdir(parents=True, exist_ok=True)
        state = {
            "settings": self._settings,
            "network": self._module.state_dict(),
            "optimiser": self.optimiser.state_dict(),
            "iteration": self.iteration,
            "decisions": self.decisions,
            "seconds": self.seconds,
        }
        partial = self._checkpoint.with_suffix(".partial")
        torch.save(state, partial)
        partial.replace(self._checkpoint)

    def note(self, row: dict[str, Any]) -> None:
        """Append a line to the learning curve; the line of the first iteration starts it anew."""
        self.folder.mkdir(parents=True, exist_ok=True)
        mode = "w" if row["iteration"] == 1 else "a"
        with open(self.folder / f"{self._name}.jsonl", mode, encoding="utf-8") as file:
            file.write(json.dumps({**row, "cpu_seconds": round(self.seconds, 2)}) + "\n")
