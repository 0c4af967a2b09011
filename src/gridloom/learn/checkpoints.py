"""Checkpoints of training and evaluation, so that a stopped run continues: one file per network or list of predictions.

A file's name holds a hash of everything its contents depend on (data, settings, seed, what was held out), so that
results of another data set or of other settings are never used.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Final, TypeVar

import numpy as np
from numpy.typing import NDArray

from gridloom.learn import weights
from gridloom.run import canonical_json
from gridloom.text_file import read_text

T = TypeVar("T")

FOLDER: Final = "checkpoints"


@dataclass(frozen=True, kw_only=True)
class Checkpoints:
    """The finished parts of a run; without a folder nothing is kept.

    An instance stands for one point of the run; :meth:`of` goes down to a part. Whatever changes a result has to be
    among ``about``, or an old file would be taken for a new one.
    """

    folder: Path | None = None
    #: What the parts depend on.
    about: Mapping[str, Any] = field(default_factory=dict)
    #: False: compute everything again.
    resume: bool = True
    #: Returns True once a part may have been cut short: it is used then, but not kept.
    over: Callable[[], bool] = field(default=lambda: False)

    def of(self, **more: Any) -> Checkpoints:
        """Return the checkpoints of a part of the run, which depends on more.

        >>> Checkpoints(about={"data": "1f"}).of(fold=2).about
        {'data': '1f', 'fold': 2}
        """
        return replace(self, about={**self.about, **more})

    def arrays(self, name: str, make: Callable[[], dict[str, NDArray[np.float32]]]) -> dict[str, NDArray[np.float32]]:
        """Return trained parameters: those of the file where there is one, else what ``make`` returns, kept in it."""

        def write(path: Path, value: dict[str, NDArray[np.float32]]) -> None:
            weights.save(path, value, dict(self.about))

        return self._kept(name, ".npz", make, lambda path: dict(weights.load(path)[0]), write)

    def plain(self, name: str, make: Callable[[], T]) -> T:
        """Return plain data: that of the file where there is one, else what ``make`` returns, kept in it."""

        def read(path: Path) -> T:
            value: T = json.loads(read_text(path))
            return value

        def write(path: Path, value: T) -> None:
            path.write_text(json.dumps(value), encoding="utf-8")

        return self._kept(name, ".json", make, read, write)

    def _kept(
        self,
        name: str,
        suffix: str,
        make: Callable[[], T],
        read: Callable[[Path], T],
        write: Callable[[Path, T], object],
    ) -> T:
        """What the file of a part holds; where there is none, what ``make`` returns, written whole or not at all."""
        if self.folder is None:
            return make()
        digest = hashlib.sha256(canonical_json(dict(self.about)).encode()).hexdigest()[:16]
        path = self.folder / FOLDER / f"{name}-{digest}{suffix}"
        if self.resume and path.exists():
            return read(path)
        value = make()
        if not self.over():
            path.parent.mkdir(parents=True, exist_ok=True)
            # A reader, or a run that is killed meanwhile, never leaves half a file under the name that counts.
            part = path.with_name(f"part-{path.name}")
            write(part, value)
            part.replace(path)
        return value
