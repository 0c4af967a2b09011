"""Policies side by side: the same search for each column, the grounds, and the figures of a summary."""

from __future__ import annotations

from typing import Any

import pytest

from gridloom.errors import OptionError
from gridloom.targets.streaming.learned.evaluation import check_columns, run_column, summary
from gridloom.targets.streaming.learned.ground import Case, cases
from gridloom.targets.streaming.learned.training_graphs import TRAINED_TILES


def test_strict_ground_is_the_suite() -> None:
    found = cases("strict")
    assert len(found) == 44
    assert all("level=strict" in case.arch and case.ii is None for case in found)
    assert sum("random" not in case.source for case in found) >= 30


def test_zero_shot_arrays_were_not_trained_on() -> None:
    for case in cases("zero-shot"):
        problem = case.problem()
        assert problem.tiles not in TRAINED_TILES
        assert 60 <= problem.size <= 120
        assert not problem.strict


@pytest.mark.parametrize("column", ["random", "rank", "untrained", "ppo", "anneal"])
def test_every_column_places_a_small_graph(column: str) -> None:
    problem = Case(source="kernel:distance", arch="streaming-engine:8,spokes=4").problem()
    found = run_column(column, problem, None, 0.3, 1)
    assert found is not None
    assert (found["ii"], found["cycles"]) >= (1, 13)


def test_unknown_column_is_named() -> None:
    with pytest.raises(OptionError, match=r"columns: expected some of random.*, found 'best'"):
        check_columns("ppo+best")


def test_summary_counts_what_was_not_found_and_compares_cell_by_cell() -> None:
    def cell(ii: int, cycles: int) -> dict[str, int]:
        return {"ii": ii, "cycles": cycles}

    rows: list[dict[str, Any]] = [
        {"graph": "a", "ppo": [cell(2, 20), cell(2, 22)], "anneal": [cell(3, 20), None], "exact": cell(2, 20)},
        {"graph": "b", "ppo": [cell(4, 30), cell(4, 30)], "anneal": [cell(3, 33), cell(4, 33)], "exact": None},
    ]
    found = summary(rows)
    assert found["ppo"]["cells"] == 4
    assert found["ppo"]["not_worse"] == 0.75
    assert found["ppo"]["lower_ii"] == 2
    assert found["ppo"]["fewer_cycles"] == 0.1
    assert found["ppo"]["cycles_excess"] == 0.05
    assert found["anneal"]["without"] == 1
    assert found["ppo"]["comparison"].items() >= {"wins": 2, "ties": 1, "losses": 1, "verdict": "no difference"}.items()
    assert "exact" not in found
