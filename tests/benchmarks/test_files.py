"""Every file of ``benchmarks`` serves a claim: a subject, or what one imports."""

from __future__ import annotations

import ast
from pathlib import Path

from benchmarks.catalogue import SUBJECTS
from benchmarks.claim import REPOSITORY

FOLDER = REPOSITORY / "benchmarks"


def reached_files(first: Path) -> set[Path]:
    """Files of ``benchmarks`` that a file imports, and what these import."""
    found, waiting = set(), [first]
    while waiting:
        path = waiting.pop()
        if path in found or not path.is_file():
            continue
        found.add(path)
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("benchmarks"):
                names = [node.module, *(f"{node.module}.{alias.name}" for alias in node.names)]
                waiting += [FOLDER.parent / f"{str(name).replace('.', '/')}.py" for name in names]
    return found


def test_every_file_serves_a_claim() -> None:
    starts = [FOLDER / "__main__.py", FOLDER / "__init__.py", *(FOLDER / f"{name}.py" for name in SUBJECTS)]
    used = set.union(*map(reached_files, starts))
    assert sorted(path.name for path in FOLDER.rglob("*.py") if path not in used) == []


def test_a_file_that_serves_no_claim_is_found(tmp_path: Path) -> None:
    lonely = tmp_path / "lonely.py"
    lonely.write_text("", encoding="utf-8")
    assert lonely not in reached_files(FOLDER / "speed.py")
