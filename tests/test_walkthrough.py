"""The walkthrough, the README and the tutorials show what happens: their commands and Python lines are run."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from tests.documents import REPOSITORY, folder_with_examples, missing_of, rerun, without_seconds

pytestmark = pytest.mark.tools

TUTORIALS = [path.relative_to(REPOSITORY).as_posix() for path in (REPOSITORY / "docs" / "tutorials").glob("*.md")]
PAGES = ["docs/walkthrough.md", "README.md", *sorted(TUTORIALS)]


def needs_a_missing_simulator(command: str) -> bool:
    return "--cosim" in command and not shutil.which("iverilog")


def is_left_out(command: str) -> bool:
    """Commands that a quick test does not run: building the simulator of a system takes over a minute."""
    return needs_a_missing_simulator(command) or command.startswith("gridloom system")


@pytest.mark.parametrize("page", PAGES)
def test_the_document_shows_what_its_commands_print(page: str, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("ziglang")
    pytest.importorskip("llvmlite")
    monkeypatch.setenv("COLUMNS", "100")
    text = (REPOSITORY / page).read_text(encoding="utf-8")
    if missing := missing_of(text):
        pytest.skip(f"{', '.join(missing)} not installed")
    # Python that looks at the files of a co-simulation cannot run without it.
    if 'Path("hardware")' in text and needs_a_missing_simulator("--cosim"):
        pytest.skip("Icarus Verilog is not installed")
    with folder_with_examples():
        now = rerun(text, is_left_out)
    assert without_seconds(now) == without_seconds(text), f"python -m tests.documents {page} writes it anew"


@pytest.mark.slow
@pytest.mark.skipif(
    not (shutil.which("verilator") and shutil.which("riscv64-unknown-elf-gcc")), reason="needs Verilator and RISC-V GCC"
)
def test_the_tutorial_on_core_and_array_runs_its_system() -> None:
    pytest.importorskip("pythondata_cpu_vexriscv")
    text = (REPOSITORY / "docs/tutorials/core-and-array.md").read_text(encoding="utf-8")
    with folder_with_examples():
        assert without_seconds(rerun(text)) == without_seconds(text)


def test_a_block_is_written_into_its_file_and_a_changed_output_is_found(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    page = "<!-- file: a.txt -->\n```c\nint a;\n```\n\n```console\n$ cat a.txt\nint b;\n```\n"
    assert rerun(page) == page.replace("int b;", "int a;")
    assert missing_of("<!-- needs: no_such_program numpy -->") == ["no_such_program"]
