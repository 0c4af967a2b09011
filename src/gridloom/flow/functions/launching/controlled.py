"""Launches that a loop controller starts: one for each iteration of the loops around, all by one start of the host.

The controller adds a fixed amount to each live-in and to the start of each array before it starts the loop again, one
amount for each level. Whether a run keeps to that is checked at every launch: a difference is an error.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from gridloom.errors import SimulationError

_WORD = 1 << 32


@dataclass
class ControlledLaunches:
    """The launches of one run of the loops around: their row, how long they take, and what each level adds."""

    row: int
    #: How often each block of the loops around had run before.
    counts: list[int]
    launches: int = 0
    cycles: int = 0
    iterations: int = 0
    simulated: int = 0
    #: Why the array cannot do one of them.
    refused: str = ""
    #: How often the header of each loop around had run at the last launch, and what that was given.
    last: tuple[list[int], Sequence[int]] | None = None
    #: Level -> what it adds to everything that a launch is given.
    steps: dict[int, tuple[int, ...]] = field(default_factory=dict)

    def begin(self, headers: list[int], given: Sequence[int], where: str) -> None:
        """Note what a launch is given. SimulationError where it is not what the controller would give it."""
        if self.last is not None:
            before, old = self.last
            level = max(k for k, (was, now) in enumerate(zip(before, headers)) if was != now)
            step = tuple((new - was) % _WORD for was, new in zip(old, given))
            if self.steps.setdefault(level, step) != step:
                raise SimulationError(f"the loops around move by another amount at launch {self.launches}", where=where)
        self.last = headers, list(given)

    def end(self, cycles: int, iterations: int, simulated: bool, refused: str) -> None:
        """Add a launch that is over."""
        self.launches += 1
        self.cycles += cycles
        self.iterations += iterations
        self.simulated += simulated
        self.refused = self.refused or refused

    def transfer(self, given_words: int) -> int:
        """Cycles for what the controller is given: what the first launch needs, and for each level its number of
        iterations and the amounts that are not 0. Each further launch costs a cycle for the additions.
        """
        amounts = sum(1 + sum(map(bool, step)) for step in self.steps.values())
        return given_words + amounts + max(self.launches - 1, 0)
