"""Statistics of comparisons: what holds for every set of values, and what the verdict may say."""

from __future__ import annotations

import math
import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gridloom import statistics
from gridloom.statistics import Comparison, bootstrap_interval, compare_pairs, geometric_mean, judge, sign_test

values = st.floats(-1e6, 1e6, allow_nan=False)
cells = st.dictionaries(st.tuples(st.integers(0, 9), st.integers(0, 2)), st.none() | values, min_size=1, max_size=12)


@given(st.lists(st.floats(1e-3, 1e3), min_size=1, max_size=20))
def test_the_geometric_mean_lies_between_the_extremes(found: list[float]) -> None:
    mean = geometric_mean(found)
    assert mean is not None
    assert min(found) - 1e-3 <= mean <= max(found) * 1.001 + 1e-3


def test_the_geometric_mean_of_nothing_is_none() -> None:
    assert geometric_mean([]) is None


@given(st.integers(0, 60), st.integers(0, 60))
def test_the_sign_test_is_symmetric_and_a_probability(wins: int, losses: int) -> None:
    assert sign_test(wins, losses) == sign_test(losses, wins)
    assert 0 < sign_test(wins, losses) <= 1


def test_the_sign_test_equals_the_binomial_tail() -> None:
    assert sign_test(8, 2) == pytest.approx(2 * (1 + 10 + 45) / 1024)


@given(st.lists(st.lists(values, min_size=1, max_size=3), min_size=1, max_size=8))
def test_an_interval_is_ordered_repeatable_and_within_the_values(groups: list[list[float]]) -> None:
    low, high = bootstrap_interval(groups, resamples=50)
    flat = [value for group in groups for value in group]
    slack = 1e-6 * max(1.0, *map(abs, flat))
    assert min(flat) - slack <= low <= high <= max(flat) + slack
    assert bootstrap_interval(groups, resamples=50) == (low, high)


def test_an_interval_covers_the_mean_about_as_often_as_it_says() -> None:
    import random

    chance, hits = random.Random(7), 0
    for _ in range(100):
        low, high = bootstrap_interval([[chance.gauss(1.0, 1.0)] for _ in range(40)], resamples=300)
        hits += low <= 1.0 <= high
    assert 86 <= hits <= 99


def test_seeds_of_one_graph_count_as_one_draw() -> None:
    """Twenty copies of each difference say no more than one: the interval stays as wide."""
    once = [[-1.0], [2.0], [1.5], [0.5]]
    assert bootstrap_interval([group * 20 for group in once]) == pytest.approx(bootstrap_interval(once))


@given(cells, cells)
def test_a_comparison_the_other_way_round_is_its_mirror(
    first: dict[tuple[int, int], float | None], second: dict[tuple[int, int], float | None]
) -> None:
    one, other = compare_pairs(first, second), compare_pairs(second, {k: first[k] for k in second if k in first})
    assert (one.wins, one.ties, one.losses) == (other.losses, other.ties, other.wins)
    assert one.wins + one.ties + one.losses == len(first.keys() & second.keys())


@given(cells)
def test_a_rival_beside_itself_makes_no_difference(found: dict[tuple[int, int], float | None]) -> None:
    same = compare_pairs(found, found)
    assert (same.wins, same.losses, same.verdict) == (0, 0, "no difference")


@given(st.floats(-10, 10), st.floats(0, 10))
def test_ahead_only_where_the_interval_excludes_zero(low: float, width: float) -> None:
    verdict = judge((low, low + width))
    assert (verdict == "no difference") == (low <= 0 <= low + width)
    assert verdict != "ahead" or low > 0


def test_a_verdict_from_the_mean_alone_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    """The planted fault: a judge that looks at the middle of the interval says ``ahead`` of noise."""
    monkeypatch.setattr(statistics, "judge", lambda interval: "ahead" if sum(interval) > 0 else "behind")
    with pytest.raises(AssertionError):
        test_noise_is_no_difference()


def test_noise_is_no_difference() -> None:
    first = {k: float(k % 3) for k in range(12)}
    second = {k: float((k + 1) % 3) + 0.05 for k in range(12)}
    assert compare_pairs(first, second).verdict == "no difference"


def test_a_clear_difference_is_ahead_and_behind() -> None:
    first, second = {(k, 0): 1.0 for k in range(9)}, {(k, 0): 2.0 + k / 10 for k in range(9)}
    ahead, behind = compare_pairs(first, second), compare_pairs(second, first)
    assert (ahead.verdict, behind.verdict) == ("ahead", "behind")
    assert compare_pairs(first, second, more_is_better=True).verdict == "behind"
    assert ahead.sentence("anneal", "neosa") == (
        "anneal is ahead of neosa: 9 wins, 0 ties, 0 losses, 95 % interval of the difference 1.22 to 1.57, "
        "sign test p = 0.0039."
    )
    assert behind.sentence("neosa", "anneal").startswith("neosa is behind anneal: 0 wins, 0 ties, 9 losses")


def test_a_cell_that_one_rival_alone_solves_is_its_win() -> None:
    found = compare_pairs({"a": 1.0, "b": 2.0, "c": None}, {"a": None, "b": 2.0, "c": None})
    assert (found.wins, found.ties, found.losses, found.difference) == (1, 2, 0, 0.0)
    assert found.interval is not None
    assert all(map(math.isfinite, found.interval))
    assert found.sentence("x", "y").endswith(
        "95 % interval of wins less losses 0 to 1, sign test p = 1; 3 graphs are too few to tell."
    )


def test_five_graphs_are_never_enough_and_six_may_be() -> None:
    """Five wins of five have a sign test above 5 %; seeds of one graph do not add to them."""
    first, second = {(k, s): 1.0 for k in range(5) for s in range(9)}, {(k, s): 2.0 for k in range(5) for s in range(9)}
    assert compare_pairs(first, second).verdict == "no difference"
    assert compare_pairs(dict.fromkeys(range(6), 1.0), dict.fromkeys(range(6), 2.0)).verdict == "ahead"


def test_no_cell_in_common_says_so() -> None:
    found = compare_pairs({"a": 1.0}, {"b": 1.0})
    assert found.to_dict()["verdict"] == "no difference"
    assert found.sentence("x", "y") == "No difference between x and y: no cell in common."


def test_a_comparison_as_data() -> None:
    found = Comparison(wins=1, ties=0, losses=0, difference=1 / 3, interval=(1 / 3, 1 / 3), p_value=1.0, groups=6)
    assert found.to_dict() == {
        "wins": 1, "ties": 0, "losses": 0, "difference": 0.333333, "interval": [0.333333, 0.333333],
        "p_value": 1.0, "verdict": "ahead",
    }  # fmt: skip


def test_importing_needs_neither_numpy_nor_scipy() -> None:
    code = "import sys, gridloom.statistics; print(sorted({'numpy', 'scipy'} & sys.modules.keys()))"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stdout == "[]\n"
