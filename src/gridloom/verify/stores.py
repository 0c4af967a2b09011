"""Constant stores: the words that the ops of a tile keep fit into the store of the tile."""

from __future__ import annotations

from collections.abc import Iterator

from gridloom.mapping.stores import Run, longest_runs, runs_of
from gridloom.verify.subject import Subject
from gridloom.verify.violation import Violation


def check_stores(subject: Subject) -> Iterator[Violation]:
    """Constants, live-ins that need no register, and initial values fit the stores of the tiles that read them."""
    kept: dict[int, set[Run]] = {}
    for placed in subject.on_tiles():
        if not placed.timeless and subject.arch.tiles[placed.tile].constants is not None:
            position = subject.dfg.index[placed.instance.node]
            kept.setdefault(placed.tile, set()).update(runs_of(subject.dfg, subject.arch, position))
    for tile, runs in sorted(kept.items()):
        record = subject.arch.tiles[tile]
        words = [str(word) for run in longest_runs(runs) for _, word in run]
        if record.constants is not None and len(words) > record.constants:
            found = f"{len(words)} words ({', '.join(words)})"
            yield Violation("constants", f"constant store of {record.name}", found, f"{record.constants}")
