"""Results are written whole or not at all."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from gridloom.emit import write_atomically
from gridloom.errors import OptionError


def test_the_text_is_there_and_nothing_else(tmp_path: Path) -> None:
    write_atomically(tmp_path / "a.svg", "ä\n")
    assert (tmp_path / "a.svg").read_bytes() == "ä\n".encode()
    assert os.listdir(tmp_path) == ["a.svg"]


def test_a_file_is_replaced_and_keeps_its_mode(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    path.write_text("old")
    path.chmod(0o640)
    write_atomically(str(path), "new")
    assert path.read_text() == "new"
    assert path.stat().st_mode & 0o777 == 0o640


def test_a_new_file_has_the_mode_that_open_gives(tmp_path: Path) -> None:
    (tmp_path / "plain").write_text("")
    write_atomically(tmp_path / "atomic", "")
    assert (tmp_path / "atomic").stat().st_mode == (tmp_path / "plain").stat().st_mode


def test_text_that_cannot_be_encoded_leaves_the_old_file(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_text("old")
    with pytest.raises(UnicodeEncodeError):
        write_atomically(path, "\ud800")
    assert path.read_text() == "old"
    assert os.listdir(tmp_path) == ["a.txt"]


def test_a_failing_rename_leaves_no_trace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "replace", refuse)
    with pytest.raises(OptionError, match="cannot be written: No space left on device"):
        write_atomically(tmp_path / "a.txt", "new")
    assert os.listdir(tmp_path) == []


@pytest.mark.parametrize("place", ["missing/a.svg", "."])
def test_a_place_that_cannot_be_written_is_an_option_error(tmp_path: Path, place: str) -> None:
    with pytest.raises(OptionError, match=r"cannot be written: .*name a file in a folder you may write to"):
        write_atomically(tmp_path / place, "x")
