"""Names: a function is a verb, a record is a noun, one name stands for one thing, and few files are very small."""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

PACKAGE = Path(__file__).resolve().parents[1] / "src" / "gridloom"

#: Words that end like a participle and are none, or that stand after a verb.
NOT_PARTICIPLES = {"speed", "seed", "signed", "unsigned", "misplaced", "enabled", "added", "stored"}
#: Private classes of one file each, which no other file can mean: what reads or writes one format, or one step of one
#: algorithm.
LOCAL_CLASSES = {"_Build", "_Call", "_Evolution", "_Individual", "_Reader", "_Scan", "_Writer"}
#: A module of fewer lines is small; so many may be.
SMALL = 60
MOST_SMALL = 60


def trees(package: Path) -> Iterator[tuple[str, ast.Module]]:
    """The files of a package with their syntax trees."""
    for path in sorted(package.rglob("*.py")):
        yield path.relative_to(package).as_posix(), ast.parse(path.read_text(encoding="utf-8"))


def participles(package: Path) -> list[str]:
    """Public functions of modules that end in ``ed``."""
    return [
        f"{name}: {node.name}"
        for name, tree in trees(package)
        for node in tree.body
        if isinstance(node, ast.FunctionDef) and node.name.endswith("ed") and not node.name.startswith("_")
        if node.name.rpartition("_")[2] not in NOT_PARTICIPLES
    ]


def repeated_classes(package: Path) -> dict[str, list[str]]:
    """Class names that several files define."""
    found: dict[str, list[str]] = defaultdict(list)
    for name, tree in trees(package):
        for node in ast.walk(tree):
            if isinstance(node, ast.ClassDef):
                found[node.name].append(name)
    return {name: files for name, files in found.items() if len(files) > 1}


def small_files(package: Path) -> list[str]:
    """Modules of fewer lines than ``SMALL``; `__init__.py` apart."""
    return [
        path.relative_to(package).as_posix()
        for path in sorted(package.rglob("*.py"))
        if path.name != "__init__.py" and len(path.read_text(encoding="utf-8").splitlines()) < SMALL
    ]


def test_public_functions_are_no_participles():
    assert participles(PACKAGE) == []


def test_a_class_name_is_defined_once():
    assert repeated_classes(PACKAGE).keys() - LOCAL_CLASSES == set()


def test_every_exception_is_one():
    assert repeated_classes(PACKAGE).keys() >= LOCAL_CLASSES


def test_participles_and_repeated_classes_are_found(tmp_path: Path):
    (tmp_path / "a.py").write_text("class Graph: ...\ndef fitted(): ...\ndef full_speed(): ...\ndef _told(): ...\n")
    (tmp_path / "b.py").write_text("class Graph: ...\nclass Layout: ...\n")
    assert participles(tmp_path) == ["a.py: fitted"]
    assert repeated_classes(tmp_path) == {"Graph": ["a.py", "b.py"]}


def test_few_files_are_small():
    assert len(small_files(PACKAGE)) <= MOST_SMALL


def test_small_files_are_found(tmp_path: Path):
    (tmp_path / "__init__.py").write_text("\n")
    (tmp_path / "small.py").write_text("pass\n" * (SMALL - 1))
    (tmp_path / "large.py").write_text("pass\n" * SMALL)
    assert small_files(tmp_path) == ["small.py"]
