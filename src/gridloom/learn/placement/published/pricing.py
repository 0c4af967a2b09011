"""What complete boards of the published environment lack at level strict: links and delay registers, counted.

The environment knows neither; a board is scheduled and its links are taken in one round, without negotiation.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from gridloom.learn.placement.published.boards import BoardBatch
from gridloom.learn.placement.published.kernel import COMPLETE
from gridloom.learn.placement.slots.play_kernel import CLASH
from gridloom.mappers.spokes.mapping import realise

#: The price of a board that is not complete.
INCOMPLETE = 1e9


def prices(batch: BoardBatch) -> NDArray[np.float32]:
    """Return for each board its cycles and, weighted, what it lacks; ``INCOMPLETE`` for one that has no placement."""
    found = np.full(batch.count, INCOMPLETE, dtype=np.float32)
    boards = batch.boards
    for b in np.flatnonzero(boards.over == COMPLETE):
        placement = realise(batch.problem, batch.options.ii, boards.tile[b], boards.spoke[b], lambda: True)
        if placement is not None:
            found[b] = placement.cycles + CLASH * placement.violations
    return found
