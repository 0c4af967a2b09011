"""Outcomes of an evaluation in a file, a line for each cell as it arrives: a run that was stopped goes on from there.

A cell is a case, a column, a seed and the seconds that the column had; columns with weights also name these. The file
does not know the version of the code: after a change of a search, begin a new file.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from gridloom.errors import OptionError
from gridloom.targets.streaming.learned.ground import Case
from gridloom.text_file import check_regular


@dataclass(frozen=True, kw_only=True)
class OutcomeKey:
    """What an outcome belongs to."""

    graph: str
    arch: str
    #: The II that was asked for; None: the lowest.
    ii: int | None
    column: str
    seed: int
    seconds: float
    #: A hash of the column's weights; empty where it has none.
    weights: str = ""


def cell_of(case: Case, column: str, seed: int, seconds: float, weights: Path | None) -> OutcomeKey:
    """Return the cell of a case and a column; ``weights`` is the file of the column's weights."""
    digest = "" if weights is None else hashlib.blake2b(weights.read_bytes(), digest_size=8).hexdigest()
    return OutcomeKey(
        graph=case.source, arch=case.arch, ii=case.ii, column=column, seed=seed, seconds=seconds, weights=digest
    )


@dataclass
class OutcomeTable:
    """The outcomes so far; ``path`` None: they are kept in memory only."""

    path: Path | None = None
    known: dict[OutcomeKey, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.path is None or not self.path.exists():
            return
        check_regular(self.path)
        lines = self.path.read_text(encoding="utf-8").splitlines(keepends=True)
        # A run that was killed while it wrote leaves half a line at the end; its cell is run again.
        whole = [line for line in lines if line.endswith("\n")]
        for number, line in enumerate(whole, start=1):
            self._read(line, number)
        if len(whole) < len(lines):
            self.path.write_text("".join(whole), encoding="utf-8")

    def _read(self, line: str, number: int) -> None:
        """Take in a line of the file; OptionError where it is none that ``keep`` wrote."""
        try:
            row = json.loads(line)
            outcome = row.pop("outcome")
            self.known[OutcomeKey(**row)] = outcome
        except (ValueError, KeyError, TypeError, AttributeError):
            raise OptionError(
                f"{self.path}:{number}: expected a cell of an evaluation, found {line.strip()[:60]!r}"
            ) from None

    def keep(self, cell: OutcomeKey, outcome: Any) -> None:
        """Remember an outcome, and append it to the file."""
        self.known[cell] = outcome
        if self.path is not None:
            with open(self.path, "a", encoding="utf-8") as file:
                file.write(json.dumps({**asdict(cell), "outcome": outcome}) + "\n")
