"""What a sample adds to the best of several, against the definition by enumeration."""

from itertools import combinations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from gridloom.learn.placement.slots.best_of import marginal_gains

VALUES = st.lists(st.floats(-50, 50, allow_nan=False), min_size=2, max_size=8)


def by_definition(values: list[float], best_of: int) -> np.ndarray:
    """The mean of max(0, v_i - max S) over all sets S of best_of - 1 others, scaled."""
    count = len(values)
    gains = np.array(
        [
            np.mean(
                [
                    max(0.0, values[i] - max(values[j] for j in others))
                    for others in combinations([j for j in range(count) if j != i], best_of - 1)
                ]
            )
            for i in range(count)
        ]
    )
    gains -= gains.mean()
    return gains / gains.std() if gains.std() > 1e-12 else np.zeros(count)


@given(VALUES, st.data())
def test_gains_are_those_of_all_sets_of_others(values: list[float], data: st.DataObject) -> None:
    rounded = [round(value, 1) for value in values]
    best_of = data.draw(st.integers(2, len(rounded)))
    found = marginal_gains(np.array(rounded), best_of)
    assert np.allclose(found, by_definition(rounded, best_of), atol=1e-6)


def test_only_the_best_counts_where_all_are_compared() -> None:
    gains = marginal_gains(np.array([1.0, 5.0, 2.0, 3.0]), 4)
    assert gains.argmax() == 1
    assert np.allclose(np.delete(gains, 1), gains.min())


def test_equal_values_add_nothing() -> None:
    assert not marginal_gains(np.full(6, 2.5), 3).any()


def test_a_pair_is_judged_by_the_difference_to_those_below() -> None:
    # Of sets with one other: 0, then (1 - 0) / 2, then (4 - 0 + 4 - 1) / 2; the mean is 4 / 3.
    gains = marginal_gains(np.array([0.0, 1.0, 4.0]), 2)
    expected = np.array([0.0, 0.5, 3.5]) - 4 / 3
    assert np.allclose(gains, expected / expected.std())
