"""docs/targets: every file, every declared name and every function that a page names is there, and none is left out."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest
from tests.target_pages import PACKAGE, PAGES, TARGETS, declaration, filled, page, section

from gridloom.registry import GROUPS

_PATH = re.compile(r"`([\w.-]+(?:/[\w.-]+)*/?)`")
_FUNCTION = re.compile(r"`([A-Za-z_]\w*(?:\.\w+)?)`\s+\(`([\w/]+\.py)`\)")


def unlisted(folder: Path, text: str) -> list[str]:
    """Files of a folder that a text does not name; a folder stands for what is in it and is not Python."""
    named = set(_PATH.findall(text))
    missing = []
    for path in sorted(folder.rglob("*")):
        name = path.relative_to(folder).as_posix()
        if "__pycache__" in name or path.is_dir() or _explains_only(path):
            continue
        if name not in named and (path.suffix == ".py" or f"{path.relative_to(folder).parent}/" not in named):
            missing.append(name)
    return missing


def unknown(folder: Path, text: str) -> list[str]:
    """Paths that a text names and a folder does not have."""
    return [name for name in _PATH.findall(text) if "/" in name and not (folder / name).exists()]


def _explains_only(path: Path) -> bool:
    if path.name != "__init__.py":
        return False
    return all(isinstance(node, ast.Expr) for node in ast.parse(path.read_text(encoding="utf-8")).body)


def undefined(folder: Path, text: str) -> list[str]:
    """Functions, classes and methods that a text names with a file in which they are not defined."""
    return [
        f"{name} in {path}"
        for name, path in _FUNCTION.findall(text)
        if not any(name in _definitions(root / path) for root in (folder, PACKAGE) if (root / path).exists())
    ]


def _definitions(path: Path) -> set[str]:
    found: set[str] = set()
    for node in ast.parse(path.read_text(encoding="utf-8")).body:
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            found.add(node.name)
        if isinstance(node, ast.ClassDef):
            found |= {f"{node.name}.{item.name}" for item in node.body if isinstance(item, ast.FunctionDef)}
    return found


def names(text: str) -> set[str]:
    """The code spans of a text; `a-1` to `a-9` is a range."""
    ranges = re.findall(r"`([a-z-]+-)(\d+)` to `\1(\d+)`", text)
    numbered = {f"{stem}{k}" for stem, first, last in ranges for k in range(int(first), int(last) + 1)}
    return set(re.findall(r"`([^`\n]+)`", text)) | numbered


def declared(target: str) -> set[str]:
    """All names that a target declares."""
    record = declaration(target)
    fields = [*GROUPS, "kinds", "commands", "hooks"]
    return {name for each in fields for name in getattr(record, each)}


def test_there_is_a_page_for_each_target() -> None:
    assert sorted(path.stem for path in PAGES.glob("*.md")) == TARGETS


@pytest.mark.parametrize("target", TARGETS)
def test_a_page_lists_every_file_of_its_folder(target: str) -> None:
    text = section(page(target), "Files in reading order")
    folder = PACKAGE / "targets" / target
    assert (unlisted(folder, text), unknown(folder, text)) == ([], [])


@pytest.mark.parametrize("target", TARGETS)
def test_a_page_names_what_its_target_declares_and_nothing_else(target: str) -> None:
    table = "\n".join(re.findall(r"^\| .*$", section(page(target), "What it declares"), flags=re.MULTILINE))
    assert names(table) == declared(target)


@pytest.mark.parametrize("target", TARGETS)
def test_functions_on_the_way_of_a_mapping_exist(target: str) -> None:
    text = section(page(target), "How a mapping travels")
    assert len(_FUNCTION.findall(text)) > 6
    assert undefined(PACKAGE / "targets" / target, text) == []


@pytest.mark.parametrize("target", TARGETS)
def test_the_list_of_shared_modules_is_that_of_the_code(target: str) -> None:
    assert page(target) == filled(target), "python -m tests.target_pages writes it anew"


def test_faults_of_a_page_are_found(tmp_path: Path) -> None:
    for name, text in {
        "target.py": "", "old/__init__.py": '"""Nothing."""', "old/new.py": "class A:\n    def b(self): ...",
        "suites/a.yaml": "", "suites/b.py": "",
    }.items():  # fmt: skip
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text, encoding="utf-8")
    text = "`target.py`, `suites/`, `old/gone.py`: `A.b` (`old/new.py`), `A.c` (`old/new.py`), `a` (`old/gone.py`)"
    assert unlisted(tmp_path, text.replace("(`old/new.py`)", "")) == ["old/new.py", "suites/b.py"]
    assert unknown(tmp_path, text) == ["old/gone.py", "old/gone.py"]
    assert undefined(tmp_path, text) == ["A.c in old/new.py", "a in old/gone.py"]
