"""The pages of docs/targets: what each has to name, and the list of shared modules that ends it.

``python -m tests.target_pages`` writes the lists anew.
"""

from __future__ import annotations

import ast
import re
from functools import cache
from importlib import import_module
from pathlib import Path

from gridloom.registry import Target

REPOSITORY = Path(__file__).resolve().parents[1]
PACKAGE = REPOSITORY / "src" / "gridloom"
PAGES = REPOSITORY / "docs" / "targets"
TARGETS = sorted(path.parent.name for path in (PACKAGE / "targets").glob("*/target.py"))

_HEAD = "## Shared modules\n"
_INTRODUCTION = """
The mappers of this target import these modules from outside of its folder, directly or through each other. The list is
the union over all of them.
"""


def page(target: str) -> str:
    """The text of the page of a target."""
    return (PAGES / f"{target}.md").read_text(encoding="utf-8")


def section(text: str, head: str) -> str:
    """The part of a page below a heading of the second level; empty where there is none."""
    found = re.search(rf"^## {re.escape(head)}\n(.*?)(?=^## |\Z)", text, flags=re.MULTILINE | re.DOTALL)
    return found[1] if found else ""


def declaration(target: str) -> Target:
    """What a target declares."""
    found: Target = import_module(f"gridloom.targets.{target}.target").TARGET
    return found


def shared_modules(target: str) -> list[str]:
    """The modules outside of a target's folder that its mappers import, sorted."""
    inside = f"gridloom.targets.{target}."
    places = {str(place) for mapper in declaration(target).mappers.values() for place in mapper.takes.values()}
    found: set[str] = set()
    todo = {place.partition(":")[0] for place in places}
    while todo:
        name = todo.pop()
        found.add(name)
        todo |= imported(name) - found
    return sorted(name for name in found if not name.startswith(inside) and has_code(name))


@cache
def imported(name: str) -> frozenset[str]:
    """The modules of gridloom that a module imports, those within functions and for types included."""
    path = file_of(name)
    package = name if path.name == "__init__.py" else name.rpartition(".")[0]
    found: set[str] = set()
    for node in ast.walk(_tree(path)):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            kept = package.split(".")[: len(package.split(".")) - node.level + 1] if node.level else []
            base = ".".join([*kept, *([node.module] if node.module else [])])
            found |= {f"{base}.{alias.name}" if is_module(f"{base}.{alias.name}") else base for alias in node.names}
    return frozenset(each for each in found if is_module(each))


def has_code(name: str) -> bool:
    """Whether a module defines something; an ``__init__`` that only explains or passes on names does not."""
    path = file_of(name)
    kinds = (ast.FunctionDef, ast.ClassDef)
    return path.name != "__init__.py" or any(isinstance(node, kinds) for node in _tree(path).body)


def is_module(name: str) -> bool:
    """Whether a dotted name is a module or a package of gridloom."""
    return name.split(".")[0] == "gridloom" and file_of(name).exists()


def file_of(name: str) -> Path:
    """The file of a module, whether it exists or not."""
    path = PACKAGE.parent.joinpath(*name.split("."))
    return path / "__init__.py" if path.is_dir() else path.with_suffix(".py")


@cache
def _tree(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"))


def filled(target: str) -> str:
    """The page of a target with its list of shared modules written anew."""
    before, _, _ = page(target).partition(_HEAD)
    rows = "".join(f"- {name}\n" for name in shared_modules(target))
    return f"{before}{_HEAD}{_INTRODUCTION}\n{rows}"


def main() -> None:
    for target in TARGETS:
        (PAGES / f"{target}.md").write_text(filled(target), encoding="utf-8")


if __name__ == "__main__":
    main()
