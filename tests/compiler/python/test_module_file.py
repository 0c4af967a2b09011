"""Python files are executed once, and what fails there names the line."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from gridloom.compiler.python.module_file import execute
from gridloom.errors import SourceError


def test_the_names_of_a_file_are_there(tmp_path: Path):
    (tmp_path / "three.py").write_text("x = 1 + 2\n")
    assert execute(tmp_path / "three.py").x == 3


@pytest.mark.parametrize("keep", [True, False])
def test_a_module_stays_known_only_where_asked(tmp_path: Path, keep: bool):
    (tmp_path / "kept.py").write_text("x = 1\n")
    module = execute(tmp_path / "kept.py", keep=keep)
    assert (sys.modules.pop(module.__name__, None) is module) is keep


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("x = (\n", "bad.py:1: is not Python: '(' was never closed"),
        ("x = 1\n1 / 0\n", "bad.py:2: cannot be imported: ZeroDivisionError: division by zero"),
        (
            "import no_module\n",
            "bad.py:1: cannot be imported: ModuleNotFoundError: No module named 'no_module'",
        ),
    ],
)
def test_a_file_that_fails_names_its_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str, message: str):
    monkeypatch.chdir(tmp_path)
    Path("bad.py").write_text(text)
    with pytest.raises(SourceError) as refusal:
        execute(Path("bad.py"))
    assert str(refusal.value) == message


def test_a_missing_file_is_told(tmp_path: Path):
    with pytest.raises(SourceError, match="there is no such file"):
        execute(tmp_path / "missing.py")
