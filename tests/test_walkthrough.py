"""docs/walkthrough.md and README.md show what happens: every command and every Python line of them is run."""

from __future__ import annotations

import shutil

import pytest
from tests.documents import REPOSITORY, folder_with_examples, rerun, without_seconds

pytestmark = pytest.mark.tools


def needs_a_missing_simulator(command: str) -> bool:
    return "--cosim" in command and not shutil.which("iverilog")


@pytest.mark.parametrize("page", ["docs/walkthrough.md", "README.md"])
def test_the_document_shows_what_its_commands_print(page: str, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("ziglang")
    pytest.importorskip("llvmlite")
    monkeypatch.setenv("COLUMNS", "100")
    text = (REPOSITORY / page).read_text(encoding="utf-8")
    # Python that looks at the files of a co-simulation cannot run without it.
    if 'Path("hardware")' in text and needs_a_missing_simulator("--cosim"):
        pytest.skip("Icarus Verilog is not installed")
    with folder_with_examples():
        now = rerun(text, needs_a_missing_simulator)
    assert without_seconds(now) == without_seconds(text), f"python -m tests.documents {page} writes it anew"
