"""Ctrl-C, kills and a full disk at random moments: nothing is lost, nothing is left behind."""

from __future__ import annotations

import json
import random
import signal
import sqlite3
from pathlib import Path
from typing import Any

import pytest
from tests.fuzz.interruptions import MAP, OUTPUTS, Ended, disturbed, left_behind

import gridloom as gl

BENCH = ("bench", "cells.yaml", "--store", "cells.sqlite", "--resume", "--jobs", "2", "--effort", "20000")

#: Two graphs on two arrays, three seeds each: twelve cells of about 0.1 s.
CELLS = """
suite: cells
summary: twelve small cells
mapper: anneal
seeds: [1, 2, 3]
sources: ["kernel:tree_reduce,nodes=15", "kernel:kmeans,k=2,n=2"]
archs: ["mesh:5x5", "chess:5x5"]
"""

STORE = ("cells.yaml", "cells.sqlite", "cells.sqlite-wal", "cells.sqlite-shm")


def check_interrupted(seed: int, folder: Path) -> None:
    """A mapping that is interrupted: its outputs are whole, or not there; the process says so and is gone."""
    folder.mkdir()
    ended = disturbed(MAP, folder, after=random.Random(seed).uniform(0.05, 6.0))
    check_outputs(folder, ended)
    assert ended.status in (0, 1, 130, -signal.SIGINT), ended.said


def check_outputs(folder: Path, ended: Ended) -> None:
    """What is written is whole, nothing else is there, and there is no traceback."""
    assert "Traceback" not in ended.said
    assert left_behind(folder, OUTPUTS) == []
    if (folder / OUTPUTS[0]).exists():
        assert gl.check(gl.load_mapping(folder / OUTPUTS[0])) == []
    if (folder / OUTPUTS[1]).exists():
        assert (folder / OUTPUTS[1]).read_text().rstrip().endswith("</html>")
    if (folder / OUTPUTS[2]).exists():
        assert (folder / OUTPUTS[2]).read_text().rstrip().endswith("</svg>")


def check_full_disk(seed: int, folder: Path) -> None:
    """A mapping whose files may not grow: what cannot be written is named, and no part of it stays."""
    folder.mkdir()
    size = int(random.Random(seed).uniform(0, 60_000))
    ended = disturbed((*MAP, "--time-limit", "0.5"), folder, file_size=size)
    check_outputs(folder, ended)
    assert ended.status == 0 or "File too large" in ended.said, ended.said


def rows_of(path: Path) -> list[tuple[str, Any]]:
    """What a store holds for each cell, without the times."""
    with sqlite3.connect(path) as database:
        rows = database.execute("select key, value from results where status = 'done' order by key").fetchall()
    return [(key, without_times(json.loads(value))) for key, value in rows]


def without_times(value: Any) -> Any:
    """The value without what a clock has measured."""
    if isinstance(value, dict):
        return {key: without_times(part) for key, part in value.items() if "seconds" not in key and key != "time"}
    return [without_times(part) for part in value] if isinstance(value, list) else value


def run_to_end(folder: Path) -> list[tuple[str, Any]]:
    """Finish the run in a folder; the rows of its store."""
    ended = disturbed(BENCH, folder)
    assert ended.status == 0, ended.said
    return rows_of(folder / "cells.sqlite")


def check_kills(kills: int, folder: Path, with_signal: signal.Signals = signal.SIGKILL) -> None:
    """A series of cells that is killed again and again ends with the rows of an undisturbed one."""
    moments = random.Random(kills)
    for name in ("disturbed", "undisturbed"):
        (folder / name).mkdir()
        (folder / name / "cells.yaml").write_text(CELLS)
    for _ in range(kills):
        disturbed(BENCH, folder / "disturbed", after=moments.uniform(0.3, 2.5), with_signal=with_signal)
    rows = run_to_end(folder / "disturbed")
    assert len(rows) == 12
    assert rows == run_to_end(folder / "undisturbed")
    assert left_behind(folder / "disturbed", STORE) == []


def test_interrupted_mapping_leaves_whole_outputs_or_none(tmp_path: Path) -> None:
    check_interrupted(0, tmp_path / "run")


def test_outputs_that_do_not_fit_on_the_disk_are_named_and_removed(tmp_path: Path) -> None:
    check_full_disk(0, tmp_path / "run")


@pytest.mark.slow
def test_fifty_interrupted_mappings_leave_whole_outputs_or_none(tmp_path: Path) -> None:
    for seed in range(50):
        check_interrupted(seed, tmp_path / str(seed))


@pytest.mark.slow
def test_fifty_full_disks_are_named(tmp_path: Path) -> None:
    for seed in range(50):
        check_full_disk(seed, tmp_path / str(seed))


@pytest.mark.slow
@pytest.mark.parametrize("with_signal", [signal.SIGKILL, signal.SIGINT])
def test_series_of_cells_killed_fifty_times_ends_with_the_same_rows(
    tmp_path: Path, with_signal: signal.Signals
) -> None:
    check_kills(50, tmp_path, with_signal)
