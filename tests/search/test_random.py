"""The random numbers of kernels: splitmix64 as published, and ranges."""

from __future__ import annotations

from gridloom.jit import kernel
from gridloom.search.random import random_below, random_state, random_unit, random_word


@kernel
def words(seed, count):
    state = random_state(seed)
    return [random_word(state) for _ in range(count)]


@kernel
def ranges(seed, count):
    state = random_state(seed)
    least, most, unit = 1000, -1, 0.0
    for _ in range(count):
        drawn = random_below(state, 7)
        least, most = min(least, drawn), max(most, drawn)
        unit = max(unit, random_unit(state))
    return least, most, unit


def test_the_first_words_are_those_of_the_published_generator():
    assert words(1234567, 3) == [6457827717110365317, 3203168211198807973, 9817491932198370423]


def test_numbers_stay_in_their_ranges_and_reach_both_ends():
    least, most, unit = ranges(1, 2000)
    assert (least, most) == (0, 6)
    assert 0.99 < unit < 1
