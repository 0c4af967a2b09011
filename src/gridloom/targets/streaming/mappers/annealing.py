"""Batches of annealing starts on tiles with spokes, as ``anneal`` and the exact model use them.

A state is a whole placement (tile and spoke of each node) that keeps the slots and C1 to C3; its cost is the cycle of
the last result, a little for late issues, and at level strict much for each value without a link or a delay register. A
move takes a node to a tile near a neighbour's or to another spoke, or exchanges two nodes or two tiles. A move costs
one pass over the edges, about a microsecond for ten nodes.

The kernel is in :mod:`gridloom.targets.streaming.mappers.anneal_kernel`. A batch has a fixed number of starts, each
with a seed of its own, and its results are taken in the order of the starts: the number of workers does not change the
result.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from gridloom.search.arrays import Int32s
from gridloom.search.budget import SearchClock
from gridloom.targets.streaming.mappers.anneal_kernel import Cooling
from gridloom.targets.streaming.mappers.anneal_kernel import anneal as anneal_kernel
from gridloom.targets.streaming.mappers.mapping import SpokeSchedule, realise
from gridloom.targets.streaming.mappers.problem import SpokesProblem
from gridloom.targets.streaming.mappers.search import Best, first_placement, sweep

#: Starts of a batch, which run in parallel and exchange nothing.
BATCH = 2

# First and last temperature, in cycles.
_HEAT, _COLD = 3.0, 0.05


def warm_up(problem: SpokesProblem, floor: int) -> None:
    """Load or compile the kernel before any clock runs."""
    _run(problem, 1, 0, 4, np.zeros(1, dtype=np.uint8), None, floor)


def anneal_batches(
    problem: SpokesProblem,
    ii: int | None,
    clock: SearchClock,
    batches: int,
    floor: int,
    *,
    start: SpokeSchedule | None = None,
    begin: SpokesProblem | None = None,
) -> Best:
    """The best of batches of annealing; every second start of a later batch goes on from the best so far.

    ``start`` is a placement to go on from at its II. ``begin`` is the same problem with more nodes pinned: every second
    start begins from a placement of it. ``ii`` None tries IIs upwards; ``floor`` is a number of cycles that cannot be
    bettered, at which the search ends. ``batches`` limits the batches per II when the budget has no limit.
    """

    def attempt(now: int, best: Best, turn: int) -> bool:
        """One batch at an II; True when its cycles are at the floor."""
        moves = _moves(problem, turn, clock)
        legal = best.legal if best.legal is not None and best.legal.ii == now else None
        near = best.closest if best.closest is not None and best.closest.ii == now else None
        given = legal or (start if start is not None and start.ii == now else near)

        def job(k: int) -> Any:
            """The k-th start of the batch: odd ones go on from what is given, even ones begin anew."""
            seed = int(np.random.SeedSequence((clock.budget.seed, now, turn, k)).generate_state(1, np.uint32)[0])
            origin = given if k % 2 else None
            if begin is not None and origin is None:
                origin = _begun(begin, now, seed)
            return lambda: _run(problem, now, seed, moves, clock.stop, origin, floor)

        for found in clock.run([job(k) for k in range(BATCH)]):
            if found is not None:
                tile, spoke, made = found
                clock.moves += made
                best.take(problem, now, tile, spoke, lambda: clock.late)
        return best.legal is not None and best.legal.cycles <= floor

    return sweep(problem, ii, clock, attempt, batches)


def _begun(begin: SpokesProblem, ii: int, seed: int) -> SpokeSchedule | None:
    """A placement with the nodes that are given on their tiles; None where the others find no place beside them."""
    first = first_placement(begin, ii, seed)
    return None if first is None else realise(begin, ii, *first)


def _moves(problem: SpokesProblem, turn: int, clock: SearchClock) -> int:
    """Moves of a start: they double from batch to batch, up to 64 times the first, within a share of the effort."""
    moves = int(400 * max(4, problem.size) * 2 ** min(turn, 6))
    effort = clock.budget.effort
    return moves if effort is None else max(64, min(moves, effort // (4 * BATCH)))


def _run(
    problem: SpokesProblem, ii: int, seed: int, moves: int, stop: np.ndarray, origin: SpokeSchedule | None, floor: int
) -> tuple[Int32s, Int32s, int] | None:
    """One start: from a placement with half the heat, or from a new one; None: there is no placement to start from,
    or no time to find one.

    Returns (tile, spoke, moves made). The origin is copied and stays as it is.
    """
    if origin is not None:
        tile, spoke, heat = origin.tile.copy(), origin.spoke.copy(), 0.5 * _HEAT
    else:
        first = first_placement(problem, ii, seed, stop)
        if first is None:
            return None
        tile, spoke, heat = *first, _HEAT
    _, _, made = anneal_kernel(problem.tables, ii, seed, Cooling(moves, heat, _COLD, 0.0), stop, tile, spoke, floor)
    return tile, spoke, int(made)
