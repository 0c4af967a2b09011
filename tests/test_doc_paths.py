"""Modules and paths that documents and docstrings name exist.

Checked are dotted names that begin with ``gridloom.``, and paths that begin with ``src/``, ``tests/``, ``docs/``,
``examples/``, ``benchmarks/`` or a package of gridloom. A name with a part in capitals or in angle brackets, such as
``NAME.py``, stands for many files: what is before it has to exist. The changelog may name what is gone.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from functools import cache
from importlib import import_module
from pathlib import Path

import pytest
from tests.target_pages import PACKAGE, REPOSITORY, TARGETS, file_of

DOCUMENTS = sorted(
    [*REPOSITORY.glob("*.md"), *(REPOSITORY / "docs").rglob("*.md"), *(REPOSITORY / "examples").rglob("*.md")]
)
DOCUMENTS.remove(REPOSITORY / "CHANGELOG.md")
SOURCES = sorted([*PACKAGE.rglob("*.py"), *(REPOSITORY / "benchmarks").rglob("*.py")])

UNITS = sorted(path.name for path in PACKAGE.iterdir() if (path / "__init__.py").exists())
FOLDERS = ("src", "tests", "docs", "examples", "benchmarks")
#: Packages that were, so that their paths are looked at, too.
GONE = ("mappers", "estimate", "suites")

#: Dotted names that are no modules: files of the C driver, and the entry-point group of plug-ins.
NO_MODULES = frozenset({"gridloom.h", "gridloom.c", "gridloom.plugins"})

_DOTTED = re.compile(r"(?<![\w/.-])gridloom(?:\.[A-Za-z_]\w*)+")
_PATH = re.compile(rf"(?<![\w/.{{}}:-])((?:{'|'.join((*FOLDERS, 'gridloom', *UNITS, *GONE))})/[\w./*<>{{}},-]*\w/?)")
_MODULE_LINE = re.compile(r"^``(\w+)(/?)``  ", flags=re.MULTILINE)


def dead_modules(text: str) -> list[str]:
    """Dotted names of a text that lead to no module and to no attribute of one."""
    return [name for name in _DOTTED.findall(text) if name not in NO_MODULES and not resolves(name)]


@cache
def resolves(name: str) -> bool:
    """Whether a dotted name is a module of gridloom, something that one has, or a pattern that begins so."""
    parts = name.split(".")
    for k, part in enumerate(parts):
        if not file_of(".".join(parts[: k + 1])).exists():
            return _stands_for_many(part) or _has(".".join(parts[:k]), parts[k:])
    return True


def _has(module: str, attributes: list[str]) -> bool:
    try:
        found = import_module(module)
        for attribute in attributes:
            if attribute in getattr(found, "__annotations__", {}):
                return True
            found = getattr(found, attribute)
    except AttributeError:
        return False
    # What an optional package is missing for is looked at where it is installed.
    except ImportError:
        return True
    return True


def _stands_for_many(part: str) -> bool:
    return re.search(r"[A-Z]{4}|[*<{]", part) is not None and "__" not in part and part != "README.md"


def dead_paths(text: str, beside: Path) -> list[str]:
    """Paths of a text that exist neither in the repository, nor in the package, nor beside the file that has them."""
    roots = (REPOSITORY, PACKAGE, PACKAGE.parent, beside)
    return [path for path in _PATH.findall(text) if not any(_exists(root, path) for root in roots)]


def _exists(root: Path, path: str) -> bool:
    known: list[str] = []
    for part in path.rstrip("/").split("/"):
        if _stands_for_many(part):
            break
        known.append(part)
    target = root.joinpath(*known)
    return bool(known) and (target.exists() or target.with_suffix(".py").exists())


def folder_of(path: Path) -> Path:
    """Where the paths of a Python file may begin: at its target's folder, else at its own."""
    parts = path.relative_to(REPOSITORY).parts
    inside = parts[:3] == ("src", "gridloom", "targets") and len(parts) > 4
    return REPOSITORY.joinpath(*parts[:4]) if inside else path.parent


def prose(path: Path) -> str:
    """A document without the blocks whose commands write and read files of their own."""
    text = path.read_text(encoding="utf-8")
    text = re.sub(r"^```(?:console|sh|c|cpp|yaml).*?^```", "", text, flags=re.MULTILINE | re.DOTALL)
    return re.sub(r"^    .*\bgridloom [a-z].*$", "", text, flags=re.MULTILINE)


def docstrings(tree: ast.Module) -> Iterator[str]:
    """The docstrings of a module, its classes and its functions."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            yield ast.get_docstring(node) or ""


def comments(text: str) -> str:
    """The comments of a Python file."""
    return "\n".join(re.findall(r"^\s*(#.*)$", text, flags=re.MULTILINE))


def missing_neighbours(folder: Path, text: str) -> list[str]:
    """Modules and folders that a package's docstring lists, one per line, and the package does not have."""
    return [
        name
        for name, slash in _MODULE_LINE.findall(text)
        if not (folder / name).is_dir() and (slash or not (folder / f"{name}.py").exists())
    ]


@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda path: str(path.relative_to(REPOSITORY)))
def test_a_document_names_what_exists(path: Path) -> None:
    text = prose(path)
    target = PACKAGE / "targets" / path.stem
    beside = target if path.parent.name == "targets" else path.parent
    assert (dead_modules(text), dead_paths(text, beside)) == ([], [])


def test_docstrings_and_comments_name_what_exists() -> None:
    found = {}
    for path in SOURCES:
        source = path.read_text(encoding="utf-8")
        text = "\n".join([*docstrings(ast.parse(source)), comments(source)])
        dead = dead_modules(text) + dead_paths(text, folder_of(path))
        if dead:
            found[str(path.relative_to(REPOSITORY))] = dead
    assert found == {}


def test_packages_list_modules_that_they_have() -> None:
    found = {}
    for path in PACKAGE.rglob("__init__.py"):
        text = ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))) or ""
        if missing := missing_neighbours(path.parent, text):
            found[str(path.relative_to(REPOSITORY))] = missing
    assert found == {}


def test_the_docstring_of_a_target_names_its_reading_order() -> None:
    for target in TARGETS:
        text = ast.get_docstring(ast.parse((PACKAGE / "targets" / target / "__init__.py").read_text(encoding="utf-8")))
        order = re.findall(r"^\d\. (.*)$", text or "", flags=re.MULTILINE)
        assert len(order) == 5, target
        folder = PACKAGE / "targets" / target
        named = [name for line in order for name in re.findall(r"``([\w/]+)``", line) if name != "auto"]
        missing = [name for name in named if not (folder / name).exists() and not (folder / f"{name}.py").exists()]
        assert [name for name in missing if name not in ("ppo",)] == [], target


@pytest.mark.parametrize("name", ["gridloom.mappers.grid", "gridloom.targets.grid.gone", "gridloom.dfg.model.Gone"])
def test_dead_module_is_found(name: str) -> None:
    assert dead_modules(f"see `{name}`.") == [name]


@pytest.mark.parametrize(
    "path",
    ["mappers/grid", "src/gridloom/mappers/", "archs/families/mesh.py", "sim/elastic", "compiler/tensor", "emit/vpr",
     "flow/programs.py", "tests/test_gone.py", "targets/grid/gone/NAME.py"],
)  # fmt: skip
def test_dead_path_is_found(path: str) -> None:
    assert dead_paths(f"the file `{path}` has it", REPOSITORY) == [path]


@pytest.mark.parametrize(
    "text",
    ["`gridloom.dfg.model.Dfg.nodes`", "gridloom.targets.grid.mappers.NAME", "`flow/run.py`", "`dfg/model`",
     "`targets/*/learned`", "`targets/TARGET/target.py`", "https://example.org/src/gone", "`examples/kernels`"],
)  # fmt: skip
def test_living_name_passes(text: str) -> None:
    assert (dead_modules(text), dead_paths(text, REPOSITORY)) == ([], [])


def test_missing_neighbour_is_found(tmp_path: Path) -> None:
    (tmp_path / "here.py").write_text("", encoding="utf-8")
    assert missing_neighbours(tmp_path, "Words.\n\n``here``  a file\n``gone``  none\n``here/``  no folder\n") == [
        "gone", "here",
    ]  # fmt: skip
