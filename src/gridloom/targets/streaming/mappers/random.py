"""``spokes-random``: uniformly random legal placements on tiles with spokes, the best kept. A reference.

Nodes are placed in topological order, each on a (tile, spoke) drawn from all that the rules leave; a node that has no
slot left starts over. At level strict only placements whose values all find links and delay registers count. A sample
costs O(nodes * tiles * spokes).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from gridloom.archs.model import Arch
from gridloom.dfg.model import Dfg
from gridloom.mapping.model import Failure, Mapping
from gridloom.search.budget import Budget
from gridloom.search.choice import check_suits
from gridloom.search.settings import check_settings, origin
from gridloom.targets.streaming.mappers.kernel import sample
from gridloom.targets.streaming.mappers.mapping import to_mapping
from gridloom.targets.streaming.mappers.problem import SpokesProblem, build_problem
from gridloom.targets.streaming.mappers.screening import screen
from gridloom.targets.streaming.mappers.search import ENDLESS, Best, longest_path, sweep


@dataclass(frozen=True, kw_only=True)
class SpokesRandomConfig:
    """Settings of ``spokes-random``."""

    #: The II to map at; None: the lowest at which a placement is found.
    ii: int | None = None
    #: Samples per batch.
    samples: int = 1000
    #: Batches when the budget has no limit.
    batches: int = 16

    def __post_init__(self) -> None:
        check_settings(self, at_least={"ii": 1, "samples": 1, "batches": 1})


def spokes_random(dfg: Dfg, arch: Arch, config: SpokesRandomConfig, budget: Budget) -> Mapping | Failure:
    """The best of many random placements on a streaming engine, or why there is none.

    Runs until the budget is used up, the cycles are at a bound, or (budget without limit) ``config.batches`` batches
    are drawn at the II that is kept. A sample counts as a move. OptionError for another kind of array.
    """
    check_suits("spokes-random", dfg, arch)
    clock = budget.start()
    problem = build_problem(dfg, arch)
    reason = screen(problem, config.ii)
    if reason is not None:
        return reason
    floor = longest_path(problem)
    _draw(problem, 1, 0, 1, np.zeros(1, dtype=np.uint8), ENDLESS)
    clock.prepared()
    tight = problem.strict or problem.tables.device.delays >= 0

    def attempt(ii: int, best: Best, turn: int) -> bool:
        """Draw one batch at an II; True when the best placement is at the bound on the cycles."""
        # Where wires count, the sample with the fewest cycles may be the one without links: look at smaller batches.
        pieces = 20 if tight else 1
        for k in range(pieces):
            seed = int(np.random.SeedSequence((budget.seed, ii, turn, k)).generate_state(1, np.uint32)[0])
            record = best.legal.cycles if best.legal is not None and best.legal.ii == ii else ENDLESS
            tile, spoke, whole = _draw(problem, ii, seed, max(1, config.samples // pieces), clock.stop, record)
            if whole:
                best.take(problem, ii, tile, spoke, lambda: clock.late)
            clock.moves += max(1, config.samples // pieces)
            if clock.over():
                break
        return best.legal is not None and best.legal.cycles <= floor

    best = sweep(problem, config.ii, clock, attempt, config.batches)
    clock.report("done", best.words)
    if best.legal is None:
        return best.failure()
    record = origin("spokes-random", config, clock, optimal=best.legal.cycles <= floor, bound=floor)
    return to_mapping(problem, best.legal, record)


def _draw(
    problem: SpokesProblem, ii: int, seed: int, rounds: int, stop: np.ndarray, record: int
) -> tuple[np.ndarray, np.ndarray, bool]:
    """The best of some samples, and whether it has fewer cycles than ``record``; if not, the arrays are all zeros."""
    tile = np.zeros(problem.size, dtype=np.int32)
    spoke = np.zeros(problem.size, dtype=np.int32)
    cycles, _, _ = sample(problem.tables, ii, seed, rounds, 1, stop, tile, spoke, record)
    return tile, spoke, cycles < record
