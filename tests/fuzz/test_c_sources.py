"""The fuzzers of C sources go on where they ended, and a sample of each kind equals native code."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.flow.functions import narrow_functions
from tests.flow.functions.differential import check
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


def test_some_functions_with_narrow_values_equal_gcc_by_compile_and_by_map() -> None:
    tally = check(300_000, 6, data_sets=1, effort=300, writes=narrow_functions.file_of, maps=True)
    assert tally.different == {} and tally.refused == {}
    assert tally.equal == 6 and tally.by_map > 3 and tally.with_source > 3


@pytest.mark.parametrize(
    "word",
    ["switch (", "case -", "int8_t j", "uint16_t j", "!= ", "do {", "while (", "half_view *", "record *", "].y"],
)
def test_the_generator_writes_every_narrow_form(word: str) -> None:
    texts = [narrow_functions.NarrowWriter(seed, "f").text() for seed in range(200)]
    assert sum(word in text for text in texts) >= 5


@pytest.mark.slow
@pytest.mark.parametrize("first", range(400_000, 402_000, 50))
def test_two_thousand_functions_with_narrow_values_equal_gcc(first: int) -> None:
    tally = check(first, 50, effort=500, writes=narrow_functions.file_of, maps=True)
    assert tally.different == {} and tally.refused == {}


@pytest.mark.slow
@pytest.mark.parametrize("start", range(100_000, 104_000, 500))
def test_four_thousand_loops_equal_native_code(tmp_path: Path, start: int) -> None:
    assert c_loops.run(start, 500, tmp_path / "found.jsonl") >= 250
