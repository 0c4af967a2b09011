"""The random numbers of the kernels: splitmix64 (Steele, Lea and Flood, OOPSLA 2014), one state for each run.

The state is an array of one word that the run owns, so that a run draws the same numbers whatever thread it is on and
whatever runs beside it. NumPy's generators cannot be used without the interpreter's lock; numba's own generator has
one state for each thread.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from gridloom.jit import borrowing, internal
from gridloom.search.arrays import Uint64s

RandomState = Uint64s


@internal
def random_state(seed: int) -> RandomState:
    """The state that a seed stands for."""
    state = np.zeros(1, dtype=np.uint64)
    state[0] = np.uint64(seed)
    return state


@borrowing
def random_word(state: RandomState) -> Any:
    """The next 64 random bits.

    The state is advanced by a constant, and the result is a mix of the state: any state, 0 included, is a good one.
    """
    state[0] += np.uint64(0x9E3779B97F4A7C15)
    z = state[0]
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return z ^ (z >> np.uint64(31))


@borrowing
def random_below(state: RandomState, bound: int) -> int:
    """A whole number from 0 to bound - 1, by multiplication; its bias is below 2**-20 for any array."""
    drawn: Any = np.int64(((random_word(state) >> np.uint64(32)) * np.uint64(bound)) >> np.uint64(32))
    return drawn  # type: ignore[no-any-return]


@borrowing
def random_unit(state: RandomState) -> float:
    """A number from 0 to 1, 1 excluded."""
    drawn: float = np.float64(random_word(state) >> np.uint64(11)) * (1.0 / 9007199254740992.0)
    return drawn
