"""The modules of the package and what they import, read from their sources: nothing is imported.

An import counts wherever it stands, inside a function, too. A package whose ``__init__`` re-exports names lazily (a
table ``_HOME``) stands for the modules that have the names.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

PACKAGE = Path(__file__).resolve().parents[1] / "src" / "gridloom"


@dataclass(frozen=True)
class Module:
    """A source file of the package: its dotted name without `gridloom.`, and its syntax tree."""

    path: Path
    name: str
    is_package: bool
    tree: ast.Module

    @property
    def unit(self) -> str:
        """The layer's name: that of the package, or `targets` and the part of the target, as in `targets.mappers`."""
        return unit_of(self.name)

    @property
    def target(self) -> str:
        """The target that the module belongs to; empty: none."""
        return target_of(self.name)

    @property
    def parent(self) -> str:
        """The package that a relative import with one dot starts from."""
        return self.name if self.is_package else self.name.rpartition(".")[0]


def unit_of(name: str) -> str:
    """The unit of a dotted name without `gridloom.`; the package itself is `__init__`."""
    first, *rest = name.split(".")
    if first == "targets" and len(rest) > 1:
        return f"targets.{rest[1]}"
    return first or "__init__"


def target_of(name: str) -> str:
    """The target of a dotted name without `gridloom.`; empty: it belongs to none."""
    first, *rest = name.split(".")
    return rest[0] if first == "targets" and rest else ""


@dataclass(frozen=True)
class Import:
    """One imported module; `name` is dotted and without `gridloom.` if it is one of ours (empty: the package)."""

    module: Module
    line: int
    ours: bool
    name: str

    @property
    def unit(self) -> str:
        """The unit of what is imported, or the library."""
        return unit_of(self.name) if self.ours else self.name.split(".")[0]

    @property
    def target(self) -> str:
        """The target of what is imported; empty: none."""
        return target_of(self.name) if self.ours else ""

    def __str__(self) -> str:
        return f"{self.module.name or '__init__'}:{self.line} imports {'gridloom.' if self.ours else ''}{self.name}"


def modules(package: Path) -> list[Module]:
    """All modules of a package tree, sorted by path."""
    found = []
    for path in sorted(package.rglob("*.py")):
        parts = path.relative_to(package).with_suffix("").parts
        is_package = parts[-1] == "__init__"
        name = ".".join(parts[:-1] if is_package else parts)
        found.append(Module(path, name, is_package, _tree(path.read_text(encoding="utf-8"), str(path))))
    return found


@cache
def _tree(text: str, name: str) -> ast.Module:
    """The syntax tree of a file, made once for all tests."""
    return ast.parse(text, name)


def imports(module: Module, package: Path, *, types: bool = True) -> Iterator[Import]:
    """All imports of a module, wherever in it they stand; without `types` those for the type checker are left out."""
    for node in _importing(module.tree) if types else _importing_at_work(module.tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield _imported(module, node.lineno, alias.name)
        elif isinstance(node, ast.ImportFrom):
            base = absolute(module, node)
            for alias in node.names:
                deeper = f"{base}.{alias.name}"
                yield _imported(module, node.lineno, deeper if _is_module(package, deeper) else base)
        elif isinstance(node, ast.Call) and called(node) in {"import_module", "__import__"}:
            literal = first_literal(node)
            if literal:
                yield _imported(module, node.lineno, literal)


def imported_names(module: Module) -> Iterator[tuple[int, str]]:
    """The line and the dotted name, without `gridloom.`, of everything of ours that a module imports."""
    for node in _importing(module.tree):
        names: list[str] = []
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            names = [f"{absolute(module, node)}.{alias.name}" for alias in node.names]
        elif isinstance(node, ast.Call) and called(node) in {"import_module", "__import__"}:
            names = [first_literal(node) or ""]
        for name in names:
            head, _, rest = name.partition(".")
            if head == "gridloom":
                yield node.lineno, rest


@cache
def _importing(tree: ast.Module) -> list[ast.stmt | ast.Call]:
    """The nodes of a tree that may import something."""
    return [node for node in ast.walk(tree) if isinstance(node, ast.Import | ast.ImportFrom | ast.Call)]


@cache
def _importing_at_work(tree: ast.Module) -> list[ast.stmt | ast.Call]:
    """The nodes of a tree that may import something when the program runs."""
    hidden = {
        id(inner)
        for node in ast.walk(tree)
        if isinstance(node, ast.If) and is_for_types(node)
        for statement in node.body
        for inner in ast.walk(statement)
    }
    return [node for node in _importing(tree) if id(node) not in hidden]


def is_for_types(node: ast.If) -> bool:
    """Whether a condition holds for the type checker alone."""
    return isinstance(node.test, ast.Name) and node.test.id.lstrip("_") == "TYPE_CHECKING"


def absolute(module: Module, node: ast.ImportFrom) -> str:
    """The dotted name of the module that a ``from`` import names."""
    if not node.level:
        return node.module or ""
    start = module.parent.split(".") if module.parent else []
    kept = start[: len(start) - (node.level - 1)]
    return ".".join(["gridloom", *kept, *(node.module.split(".") if node.module else [])])


def _is_module(package: Path, name: str) -> bool:
    head, *rest = name.split(".")
    return head == "gridloom" and (
        package.joinpath(*rest).is_dir() or package.joinpath(*rest).with_suffix(".py").exists()
    )


def _imported(module: Module, line: int, name: str) -> Import:
    head, _, rest = name.partition(".")
    return Import(module, line, True, rest) if head == "gridloom" else Import(module, line, False, name)


def called(node: ast.Call) -> str:
    """The last name of what is called."""
    match node.func:
        case ast.Name(id=name) | ast.Attribute(attr=name):
            return name
    return ""


def first_literal(node: ast.Call) -> str | None:
    """The first argument of a call where it is a text."""
    match node.args:
        case [ast.Constant(value=str(text)), *_]:
            return text
    return None


# -- what a module needs in the end -----------------------------------------------------------------------------------


def reached(package: Path, start: str) -> set[str]:
    """The modules, by names without `gridloom.`, that a module imports in the end, itself included.

    Imports for the type checker do not count. Packages around a module count, since importing it runs them.
    """
    known = {module.name: module for module in modules(package)}
    found, waiting = {start}, [start]
    while waiting:
        for name in _needs(known, known[waiting.pop()], package):
            for part in (name, *_packages(name)):
                if part in known and part not in found:
                    found.add(part)
                    waiting.append(part)
    return found


def _packages(name: str) -> list[str]:
    """The packages around a module, the whole package apart."""
    parts = name.split(".")
    return [".".join(parts[:k]) for k in range(1, len(parts))]


def _needs(known: dict[str, Module], module: Module, package: Path) -> set[str]:
    """The modules that a module imports itself; a name of a lazy package stands for the module that has it."""
    named = {item.name for item in imports(module, package, types=False) if item.ours}
    for node in _importing_at_work(module.tree):
        if isinstance(node, ast.ImportFrom):
            base = absolute(module, node).removeprefix("gridloom").removeprefix(".")
            homes = lazy_homes(known[base].tree) if base in known else {}
            named |= {f"{base}.{homes[alias.name]}".lstrip(".") for alias in node.names if alias.name in homes}
    return named


def lazy_homes(tree: ast.Module) -> dict[str, str]:
    """Name -> module of the names that a package imports when they are first used."""
    for node in tree.body:
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name) and node.targets[0].id == "_HOME":
            return dict(ast.literal_eval(node.value))
    return {}


def holds_code(module: Module) -> bool:
    """Whether a module is more than a package that re-exports names."""
    if not module.is_package:
        return True
    return not all(_re_exports(node) for node in module.tree.body)


def _re_exports(node: ast.stmt) -> bool:
    match node:
        case ast.Expr(value=ast.Constant()) | ast.Import() | ast.ImportFrom():
            return True
        case ast.If():
            return is_for_types(node)
        case ast.Assign(targets=[ast.Name(id="__all__" | "_HOME")]):
            return True
        case ast.FunctionDef(name="__getattr__" | "__dir__"):
            return True
    return False


def shared_modules(package: Path, place: str) -> list[str]:
    """The modules outside its target that a mapper's module imports in the end, by full names, sorted.

    Packages that only re-export names hold nothing to read and are left out.
    """
    start = place.partition(":")[0].removeprefix("gridloom.")
    target = target_of(start)
    code = {module.name for module in modules(package) if holds_code(module)}
    outside = [name for name in reached(package, start) if name != start and (not target or target_of(name) != target)]
    return sorted(f"gridloom.{name}" for name in outside if name in code)
