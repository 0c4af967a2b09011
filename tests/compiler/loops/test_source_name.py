"""One parser takes a SOURCE apart, and every reader and every guard sees its record."""

from __future__ import annotations

from pathlib import Path

import pytest

from gridloom.compiler.loops.source_name import SourceName, check_saved_sources, split
from gridloom.compiler.loops.spec import is_loop, parse
from gridloom.compiler.source import load_source, names_module
from gridloom.errors import OptionError
from gridloom.flow.inputs import read_source


@pytest.mark.parametrize(
    ("text", "file", "rest"),
    [
        ("fir.c", "fir.c", None),
        ("fir.c:dot,unroll=2", "fir.c", "dot,unroll=2"),
        ("evil.py:k.c", "evil.py", "k.c"),
        ("a.py:b.py:c.mlir", "a.py", "b.py:c.mlir"),
        ("dir.c/x.py:f", "dir.c/x.py", "f"),
        ("graph.dot", "graph.dot", None),
        ("kernel:evil.py:k", "", "kernel:evil.py:k"),
        ("model:evil.py", "", "model:evil.py"),
        ("", "", None),
    ],
)
def test_a_text_is_taken_apart_in_one_way(text, file, rest):
    found = split(text)
    assert (found.file, found.rest) == (file, rest)
    assert found.text == text and split(found) is found


def test_a_file_with_a_colon_in_its_name_is_that_file(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("evil.py:k.c").write_text("int x;")
    assert split("evil.py:k.c").file == "evil.py:k.c" and parse("evil.py:k.c").path.suffix == ".c"
    assert not names_module("evil.py:k.c")


def test_reader_and_guard_agree_about_the_file(tmp_path):
    (tmp_path / "evil.py").write_text("import torch\n")
    text = f"{tmp_path}/evil.py:k.c"
    assert names_module(text) and split(text).is_python and is_loop(text)


@pytest.mark.parametrize("read", [read_source, load_source])
@pytest.mark.parametrize("text", ["import torch\n", "x = 1\n"])
def test_python_without_consent_is_not_executed(tmp_path, read, text):
    marker = tmp_path / "ran"
    (tmp_path / "evil.py").write_text(f"{text}from pathlib import Path\nPath({str(marker)!r}).touch()\n")
    with pytest.raises(OptionError, match="is Python: mapping it executes the file; say so first"):
        read(SourceName(file=str(tmp_path / "evil.py"), rest="k", may_run=False))
    assert not marker.exists()


def test_a_saved_name_needs_the_users_own(tmp_path):
    file = str(tmp_path / "k.py")
    check_saved_sources([f"{file}:f", "kernel:fir", "fir.c"], [file], "suite.yaml")
    with pytest.raises(OptionError, match="which is Python and would be executed; allow that with --source FILE"):
        check_saved_sources([f"{file}:f"], [], "suite.yaml")
