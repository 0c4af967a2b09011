"""Broken files: every reader reads them or refuses them in words, within 2 GB and 30 s of processor time.

Each case is a child process that reads many files one after the other under a limit on its memory.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from tests.fuzz.readers import MAX_BYTES, MAX_SECONDS, READERS

#: Files for which a reader did something else once: READER -> numbers of the broken files.
FOUND = {
    "golden": (0, 3, 9, 18, 26, 28),
    "weights": (14,),
    "store": (10, 18, 25),
    "dot-genmap": (112,),
    "onnx": (926, 1986),
    "mlir": (605,),
}


def read_broken(name: str, first: int, count: int, folder: Path) -> None:
    """Run the child process and look at what it reports."""
    command = [sys.executable, "-m", "tests.fuzz.readers", name, str(first), str(count), str(folder)]
    root = Path(__file__).parents[2]
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=root)
    rows = [json.loads(line) for line in done.stdout.splitlines()]
    assert done.returncode == 0, f"the reader of {name} ended the process: {done.stderr[-500:]}, after {rows[-1:]}"
    assert [row for row in rows if "wrong" in row] == []
    assert rows[-1]["done"] == count
    assert rows[-1]["slowest"] <= MAX_SECONDS
    assert rows[-1]["megabytes"] <= MAX_BYTES / (1 << 20)


@pytest.mark.parametrize("name", sorted(name for name, reader in READERS.items() if name in FOUND and not reader.slow))
def test_files_that_were_taken_wrongly_once_are_refused(name: str, tmp_path: Path) -> None:
    if name == "onnx":
        pytest.importorskip("onnx")
    for number in FOUND[name][:2]:
        read_broken(name, number, 1, tmp_path)


@pytest.mark.parametrize("name", ["golden", "store", "mapping", "array-yaml"])
def test_a_few_broken_files_are_read_or_refused(name: str, tmp_path: Path) -> None:
    read_broken(name, 0, 12, tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize("name", READERS)
def test_two_thousand_broken_files_of_each_reader_are_read_or_refused(name: str, tmp_path: Path) -> None:
    if name == "onnx":
        pytest.importorskip("onnx")
    read_broken(name, 0, 2000, tmp_path)
