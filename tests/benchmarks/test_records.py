"""Stored results: they survive a round trip, and a value outside its tolerance is found."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from benchmarks import records
from benchmarks.__main__ import main
from benchmarks.claim import Claim, Row
from benchmarks.records import differences, hash_sources, is_stale
from benchmarks.running import ClaimError, run_claim

ROWS = [
    {"graph": "a", "ii": 2, "cpu": 1.0, "status": "mapped"},
    {"graph": "b", "ii": None, "cpu": 2.0, "status": "failed"},
]


def claim(**given: object) -> Claim:
    made = Claim(
        name="speed/unroll", measures="x", ask=lambda quick: [{"graph": "a"}], measure=lambda asked: {"ii": 2},
        depends=("statistics",), minutes=1, quick_minutes=1, tolerance={"cpu": 0.5},
    )  # fmt: skip
    return replace(made, **given)  # type: ignore[arg-type]


def changed(row: int, **values: object) -> list[Row]:
    return [{**one, **values} if k == row else one for k, one in enumerate(ROWS)]


def test_equal_rows_have_no_differences() -> None:
    assert list(differences(claim(), ROWS, ROWS)) == []


@pytest.mark.parametrize(
    ("rows", "expected"),
    [
        (changed(0, ii=3), ["row 0 (a, 2, 1.0): ii 3, stored 2"]),
        (changed(1, status="mapped"), ["row 1 (b, None, 2.0): status mapped, stored failed"]),
        (changed(0, cpu=1.9), []),
        (changed(0, cpu=2.1), ["row 0 (a, 2, 1.0): cpu 2.1, stored 1.0"]),
        (ROWS[:1], ["2 rows are stored, 1 were measured"]),
        (changed(1, ii=4), ["row 1 (b, None, 2.0): ii 4, stored None"]),
    ],
)
def test_what_left_its_tolerance_is_named(rows: list[Row], expected: list[str]) -> None:
    assert list(differences(claim(), ROWS, rows)) == expected


def test_an_infinite_tolerance_compares_nothing() -> None:
    free = claim(tolerance={"cpu": float("inf")})
    assert list(differences(free, ROWS, changed(0, cpu=1e9))) == []


def test_a_run_is_stored_beside_the_other_variant(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Claim, "file", property(lambda self: tmp_path / "one.json"))
    for quick in (True, False):
        records.write_run(claim(), records.new_run(claim(), ROWS, quick=quick, cpu_seconds=1.0), quick=quick)
    runs = records.read_runs(claim())
    assert [runs[variant]["rows"] for variant in records.VARIANTS] == [ROWS, ROWS]
    assert records.shown_run(claim()) == ("whole", runs["whole"])
    text = (tmp_path / "one.json").read_text(encoding="utf-8")
    assert json.loads(text)["claim"] == "speed/unroll"
    assert sum('"graph"' in line for line in text.splitlines()) == 4


def test_a_change_of_a_module_makes_a_result_stale(monkeypatch: pytest.MonkeyPatch) -> None:
    run = records.new_run(claim(), ROWS, quick=True, cpu_seconds=0.0)
    assert not is_stale(claim(), run)
    assert is_stale(claim(), {**run, "sources": "0"})
    assert hash_sources(("statistics",)) != hash_sources(("errors",)) != hash_sources(("gone",))


def measure_first(asked: Row) -> Row:
    return {"ii": 2}


def test_a_run_asks_every_question_and_keeps_the_order_of_columns(monkeypatch: pytest.MonkeyPatch) -> None:
    one = claim(ask=lambda quick: [{"z": 1, "a": 2}], measure=measure_first)
    monkeypatch.setattr("benchmarks.running.find_claim", lambda name: one)
    assert [list(row.items()) for row in run_claim(one, quick=True)["rows"]] == [[("z", 1), ("a", 2), ("ii", 2)]]


def test_a_row_that_breaks_down_ends_the_claim(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(asked: Row) -> Row:
        raise ValueError("planted")

    one = claim(measure=fail)
    monkeypatch.setattr("benchmarks.running.find_claim", lambda name: one)
    with pytest.raises(ClaimError, match="planted"):
        run_claim(one, quick=True)


def test_a_stored_row_is_not_measured_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[Row] = []
    one = claim(measure=lambda asked: calls.append(asked) or {"ii": 2})
    monkeypatch.setattr("benchmarks.running.find_claim", lambda name: one)
    for _ in range(2):
        run_claim(one, quick=True, store=tmp_path / "rows.sqlite")
    assert len(calls) == 1


def test_compare_fails_on_a_wrong_stored_value(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The planted fault: a stored figure that the code does not give."""
    stored = records.read_runs
    assert main(["compare", "distances", "--quick"]) == 0

    def falsified(one: Claim) -> dict[str, records.Run]:
        runs = stored(one)
        runs["quick"]["rows"][0]["to_opposite_corner"] += 1
        return runs

    monkeypatch.setattr(records, "read_runs", falsified)
    assert main(["compare", "distances", "--quick"]) == 1
    assert "1 DIFFERENT" in capsys.readouterr().out


def test_list_names_every_claim(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["list"]) == 0
    assert "speed/code-lines" in capsys.readouterr().out
