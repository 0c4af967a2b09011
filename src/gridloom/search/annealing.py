"""What the annealers share: how temperatures fall, which moves are accepted, how far a move may reach.

Two schedules are in use. The plain annealer of the static grids follows VPR (Betz and Rose, FPL 1997), which sets the
next temperature and the reach of moves by the share of moves that were accepted. The others cool by a constant factor
from a first to a last temperature. Everything here is inlined into the loop that calls it, so that sharing costs no
speed.
"""

from __future__ import annotations

from functools import cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from gridloom.jit import borrowing
from gridloom.search.random import RandomState, random_unit, random_word

#: Moves between two temperatures of a schedule with a constant factor.
STEP = 256


@borrowing
def accepts(rise: int, temperature: float, state: RandomState) -> bool:
    """Whether a move that raises the cost by ``rise`` is accepted (Metropolis); draws only for a rise above 0.

    A rise is accepted with probability exp(-rise / temperature).
    """
    return rise <= 0 or random_unit(state) < np.exp(-rise / temperature)


class Logarithms(NamedTuple):
    """Tables for :func:`accepts_by_table`: -ln of the powers of 1/2, and of the numbers from 1/2 to 1 in steps."""

    halving: NDArray[np.float64]
    part: NDArray[np.float64]


#: Bits of a random number behind its first 1 that choose an entry of ``Logarithms.part``.
_BITS = 15


@cache
def logarithms() -> Logarithms:
    """The two tables, made once: 33,000 numbers."""
    steps = 1 << _BITS
    middle = (steps + np.arange(steps) + 0.5) / (2 * steps)
    return Logarithms(np.arange(65) * np.log(2.0), -np.log(middle))


@borrowing
def accepts_by_table(rise: int, temperature: float, table: Logarithms, state: RandomState) -> bool:
    """Whether a move that raises the cost by ``rise`` is accepted (Metropolis), the same on every device.

    ``exp`` differs in its last bit from one device to the next, which a long run would turn into another placement.
    Here a random number's logarithm is looked up in tables that the host has made; what is left, one addition and one
    multiplication, is rounded alike everywhere. The chance is exp(-rise / temperature) to within 2**-16 of itself.
    """
    if rise <= 0:
        return True
    word = random_word(state)
    halvings = 0
    while halvings < 48 and (word >> np.uint64(63)) == np.uint64(0):
        word = word << np.uint64(1)
        halvings += 1
    part = np.int64((word >> np.uint64(48)) & np.uint64(0x7FFF))
    accepted: bool = rise <= temperature * (table.halving[halvings] + table.part[part])
    return accepted


@borrowing
def draw_largest_rise(temperature: float, state: RandomState) -> float:
    """The largest rise of the cost that the next move may have: Metropolis, drawn before the rise is known.

    A move whose rise is at most this number is accepted, with the same probability as by :func:`accepts`. Where a lower
    bound on the rise is cheap, a move beyond the threshold is refused without counting its exact cost.
    """
    threshold: float = -temperature * np.log(max(random_unit(state), 1e-300))
    return threshold


@borrowing
def constant_factor(hot: float, cold: float, moves: int) -> float:
    """What the temperature is multiplied by after each STEP moves, so that it falls from ``hot`` to ``cold``."""
    factor: float = (cold / hot) ** (256.0 / max(256, moves))
    return factor


@borrowing
def vpr_factor(share: float, reach: float) -> float:
    """What the temperature is multiplied by when this share of moves was accepted: slowly where most is decided.

    The thresholds are VPR's. Above 96 % the search is still a random walk, below 15 % it is nearly frozen, and in
    between it cools by 5 % at a time.
    """
    if share > 0.96:
        return 0.5
    if share > 0.8:
        return 0.9
    if share > 0.15 or reach > 1.0:
        return 0.95
    return 0.8


@borrowing
def vpr_reach(reach: float, share: float, widest: int) -> float:
    """How far moves reach next: so far that about 44 % of them are accepted."""
    return min(max(reach * (0.56 + share), 1.0), np.float64(widest))
