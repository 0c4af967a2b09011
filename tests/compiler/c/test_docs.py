"""docs/c-frontend.md is run: its Python examples, its commands, and every limit that it lists."""

from __future__ import annotations

import doctest
import re
import shlex
import shutil
from pathlib import Path

import pytest
from tests.compiler.c.limits import LIMITS, STREAM_LIMITS

from gridloom.cli import main
from gridloom.compiler.c import load
from gridloom.errors import SourceError

pytestmark = pytest.mark.tools
REPOSITORY = Path(__file__).resolve().parents[3]
PAGE = REPOSITORY / "docs" / "c-frontend.md"
TEXT = PAGE.read_text(encoding="utf-8")


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    shutil.copytree(REPOSITORY / "examples", tmp_path / "examples")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_the_examples_of_the_document_hold(folder: Path):
    result = doctest.testfile(str(PAGE), module_relative=False)
    assert result.attempted > 8
    assert result.failed == 0


def commands() -> list[tuple[str, str]]:
    blocks = re.findall(r"^```console\n(.*?)^```", TEXT, flags=re.MULTILINE | re.DOTALL)
    parts = [part for block in blocks for part in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]]
    return [(part.partition("\n")[0], part.partition("\n")[2]) for part in parts]


def shape(text: str) -> str:
    """Text without the numbers that a search decides."""
    return re.sub(r"\d+(\.\d+)?", "N", text).strip()


@pytest.mark.parametrize(("command", "shown"), commands(), ids=lambda text: text[:40])
def test_commands_print_what_the_document_shows(folder: Path, capsys: pytest.CaptureFixture, command: str, shown: str):
    program, *words = shlex.split(command)
    assert program == "gridloom"
    assert main(words) == (1 if shown.startswith("failed") else 0)
    assert shape(capsys.readouterr().out) == shape(shown)


@pytest.mark.parametrize("name", [*LIMITS, *STREAM_LIMITS])
def test_every_limit_is_listed_with_its_message(folder: Path, name: str):
    Path("f.c").write_text({**LIMITS, **STREAM_LIMITS}[name].lstrip("\n"))
    with pytest.raises(SourceError) as caught:
        load(Path("f.c"), memory="streams" if name in STREAM_LIMITS else "arrays")
    assert f"| {name} | `{caught.value}` |" in TEXT
