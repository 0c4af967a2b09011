"""Checkpoints and learning curves of a training of placement policies."""

from __future__ import annotations

import json
import time
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Any

import torch
from torch import nn

from gridloom.errors import OptionError
from gridloom.text_file import check_regular

#: Iterations between two measurements.
_EVERY = 10


class Checkpointed(ABC):
    """A training that can be stopped and continued: iterations with a learning curve, measurements and checkpoints.

    ``folder`` keeps ``NAME.pt``, the checkpoint, and ``NAME.jsonl``, the learning curve with a line per iteration.
    """

    #: What is trained, and by what; subclasses set both.
    module: nn.Module
    optimiser: torch.optim.Optimizer

    def __init__(self, name: str, config: Any, seed: int, folder: Path) -> None:
        # Layers this small are slower on several threads.
        torch.set_num_threads(1)
        self.name, self.config, self.seed, self.folder = name, config, seed, folder
        self.iteration = self.decisions = 0
        self.seconds = 0.0

    @abstractmethod
    def step(self) -> dict[str, Any]:
        """Run one iteration and return its figures, with ``excess`` among them."""

    @abstractmethod
    def figures(self) -> dict[str, float]:
        """Return the figures of greedy play on fixed graphs that are not trained on, ``greedy`` first."""

    @abstractmethod
    def arrays(self) -> dict[str, Any]:
        """Return what a file of weights keeps."""

    def run(self, over: Callable[[], bool], progress: Callable[[str, float], None]) -> None:
        """Iterate until the configured number is reached or the work is over."""
        total = self.config.iterations
        while self.iteration < total and not over():
            began = time.process_time()
            row = self.step()
            self.seconds += time.process_time() - began
            if self.iteration % _EVERY == 0 or self.iteration == total:
                row |= self.figures()
                self.save()
            self.note(row)
            progress(f"iteration {self.iteration}: {row['excess']:.3f} above the bound", self.iteration / total)
        self.save()

    def cool(self, rate: float) -> None:
        """Set the learning rate, which falls linearly to a twentieth of the first."""
        for group in self.optimiser.param_groups:
            group["lr"] = rate * max(0.05, 1 - self.iteration / self.config.iterations)

    @property
    def _checkpoint(self) -> Path:
        return self.folder / f"{self.name}.pt"

    @property
    def settings(self) -> dict[str, Any]:
        """All that decides what is learned."""
        return {"seed": self.seed, **asdict(self.config)}

    def restore(self) -> bool:
        """Continue from the checkpoint; returns whether there is one. OptionError where its settings are others."""
        if not self._checkpoint.exists():
            return False
        check_regular(self._checkpoint)
        kept = torch.load(self._checkpoint, weights_only=True)
        # Checkpoints of earlier versions do not name their settings.
        begun = kept.get("settings", self.settings)
        for key, value in self.settings.items():
            if begun.get(key) != value:
                raise OptionError(
                    f"{key}: the training was begun with {begun.get(key)}, found {value}; "
                    "continue with the same settings, or train without --resume",
                    where=str(self._checkpoint),
                )
        self.module.load_state_dict(kept["network"])
        self.optimiser.load_state_dict(kept["optimiser"])
        self.iteration, self.decisions = int(kept["iteration"]), int(kept["decisions"])
        self.seconds = float(kept["seconds"])
        return True

    def save(self) -> None:
        """Write the checkpoint, whole or not at all."""
        self.folder.mkdir(parents=True, exist_ok=True)
        state = {
            "settings": self.settings,
            "network": self.module.state_dict(),
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
        with open(self.folder / f"{self.name}.jsonl", mode, encoding="utf-8") as file:
            file.write(json.dumps({**row, "cpu_seconds": round(self.seconds, 2)}) + "\n")
