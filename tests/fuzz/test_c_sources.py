"""The fuzzers of C sources go on where they ended, and a sample of each kind equals native code."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.fuzz import c_functions, c_loops

pytestmark = pytest.mark.tools


def test_a_run_that_was_stopped_goes_on_where_it_ended(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[int] = []
    kind = lambda folder, seeds: made.append(seeds.start) or len(seeds)  # noqa: E731
    monkeypatch.setattr(c_loops, "KINDS", (kind,))
    store = tmp_path / "found.jsonl"
    assert c_loops.run(0, 100, store) == 100
    with store.open("a") as file:
        file.write('{"first": 100, "eq')
    assert sorted(c_functions.stored(store)) == [0, 50]
    assert c_loops.run(0, 150, store) == 150
    assert made == [0, 50, 100]


def test_a_store_of_functions_is_read_again(tmp_path: Path) -> None:
    store = tmp_path / "found.jsonl"
    row = {"first": 0, "equal": 50, "different": {}, "refused": {}, "mapped": 7, "on_host": {}, "simulated": 9}
    store.write_text(json.dumps(row) + "\n")
    assert c_functions.run(0, 50, store, "torus:4x4", 100) == [row]


@pytest.mark.slow
@pytest.mark.parametrize("start", range(100_000, 104_000, 500))
def test_four_thousand_loops_equal_native_code(tmp_path: Path, start: int) -> None:
    assert c_loops.run(start, 500, tmp_path / "found.jsonl") >= 250
