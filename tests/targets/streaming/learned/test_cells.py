"""Outcomes in a file: a run goes on where it was stopped, and a broken line is named."""

from __future__ import annotations

from pathlib import Path

import pytest

from gridloom.errors import OptionError
from gridloom.targets.streaming.learned import evaluation
from gridloom.targets.streaming.learned.cells import OutcomeTable, cell_of
from gridloom.targets.streaming.learned.evaluation import EvaluationPlan, measure
from gridloom.targets.streaming.learned.ground import Case

CASES = [Case(source=f"kernel:distance,dims={d}", arch="streaming-engine:8,spokes=4") for d in (1, 2)]


def test_outcomes_are_read_back(tmp_path: Path) -> None:
    path = tmp_path / "cells.jsonl"
    cells = OutcomeTable(path)
    first, second = (cell_of(CASES[0], "rank", seed, 2.0, None) for seed in (1, 2))
    cells.keep(first, {"ii": 2, "cycles": 9})
    cells.keep(second, None)
    assert OutcomeTable(path).known == {first: {"ii": 2, "cycles": 9}, second: None}


def test_half_a_line_is_dropped_and_its_cell_run_again(tmp_path: Path) -> None:
    path = tmp_path / "cells.jsonl"
    cell = cell_of(CASES[0], "rank", 1, 2.0, None)
    OutcomeTable(path).keep(cell, None)
    whole = path.read_text()
    path.write_text(whole + whole[:20])
    assert OutcomeTable(path).known == {cell: None}
    assert path.read_text() == whole


def test_another_file_is_named(tmp_path: Path) -> None:
    path = tmp_path / "cells.jsonl"
    path.write_text('{"graph": "a"}\n')
    with pytest.raises(OptionError, match=r"""expected a cell of an evaluation, found '{"graph": "a"}'"""):
        OutcomeTable(path)


def test_other_weights_are_another_cell(tmp_path: Path) -> None:
    files = [tmp_path / name for name in ("a.npz", "b.npz")]
    for k, file in enumerate(files):
        file.write_bytes(bytes([k]))
    assert len({cell_of(CASES[0], "ppo", 1, 2.0, file) for file in files}) == 2


def test_a_run_goes_on_with_whole_seeds_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Stopped after three cells, the second run has the others, and the rows have both seeds of both cases."""
    ran: list[tuple[str, int]] = []

    def outcome(column: str, problem: object, ii: object, seconds: float, seed: int, weights: object) -> dict[str, int]:
        ran.append((column, seed))
        return {"ii": 1, "cycles": len(ran)}

    monkeypatch.setattr(evaluation, "run_column", outcome)
    monkeypatch.setattr(evaluation, "warm_up", lambda columns, weights: None)
    series = EvaluationPlan(cases=CASES, columns=["rank"], seconds=1.0, seeds=[1, 2])
    rows = measure(series, OutcomeTable(tmp_path / "c.jsonl"), lambda: len(ran) >= 3, lambda text, done: None)
    assert ran == [("rank", 1), ("rank", 1), ("rank", 2)]
    assert [len(row["rank"]) for row in rows] == [2, 1]
    rows = measure(series, OutcomeTable(tmp_path / "c.jsonl"), lambda: False, lambda text, done: None)
    assert len(ran) == 4
    assert [[cell["cycles"] for cell in row["rank"]] for row in rows] == [[1, 3], [2, 4]]
