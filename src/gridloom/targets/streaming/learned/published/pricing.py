"""What complete boards of the published environment lack at level strict: links and delay registers, counted.

The environment knows neither; a board is scheduled and its links are taken in one round, without negotiation. Nor does
it know of instruction RAMs: a board with more ops on a tile than fit there has no price, since annealing keeps that
rule and does not mend it.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from gridloom.search.arrays import Int32s
from gridloom.targets.streaming.learned.published.boards import BoardBatch
from gridloom.targets.streaming.learned.published.kernel import COMPLETE
from gridloom.targets.streaming.learned.slots.play_kernel import CLASH
from gridloom.targets.streaming.mappers.mapping import realise
from gridloom.targets.streaming.mappers.problem import SpokesProblem

#: The price of a board that is not complete.
INCOMPLETE = 1e9


def prices(batch: BoardBatch) -> NDArray[np.float32]:
    """Return for each board its cycles and, weighted, what it lacks; ``INCOMPLETE`` for one that is no placement."""
    found = np.full(batch.count, INCOMPLETE, dtype=np.float32)
    boards = batch.boards
    for b in np.flatnonzero(boards.over == COMPLETE):
        if not _instructions_fit(batch.problem, boards.tile[b]):
            continue
        placement = realise(batch.problem, batch.options.ii, boards.tile[b], boards.spoke[b], lambda: True)
        if placement is not None:
            found[b] = placement.cycles + CLASH * placement.violations
    return found


def _instructions_fit(problem: SpokesProblem, tile: Int32s) -> bool:
    """True when no tile has more different ops than entries of its instruction RAM."""
    limit = problem.tables.device.instructions
    if limit < 0:
        return True
    pairs = np.unique(np.stack([tile, problem.tables.opcode]), axis=1)
    return int(np.bincount(pairs[0]).max(initial=0)) <= limit
