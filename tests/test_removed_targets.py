"""A target is deleted by deleting its folder and one line: everything else works as before.

Each test copies the sources, deletes a target and uses what is left in processes of their own.
"""

from __future__ import annotations

import ast
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from gridloom import registry

REPOSITORY = Path(__file__).resolve().parents[1]
TARGETS = [place.split(".")[2] for place in registry.BUILT_IN if place.startswith("gridloom.targets.")]

#: Target -> a kernel and an array of it.
PROBLEMS = {
    "grid": ("kernel:vector_add", "mesh:3x3"),
    "modulo": ("kernel:vector_add", "torus:3x3,regs=4"),
    "rows": ("kernel:vector_add", "vpcma:3x4"),
    "streaming": ("kernel:vector_add", "streaming-engine:8"),
    "dataflow": ("model:gemm,inner=64,columns=64", "rdu:4x4"),
}
#: Folders of a target's tests that are left out: they train, and they run no code that the others do not.
LEFT_OUT = ("learned", "commands")

IMPORT_ALL = """
import importlib, pkgutil, gridloom
from gridloom.errors import MissingExtra
for info in pkgutil.walk_packages(gridloom.__path__, "gridloom."):
    if not info.name.endswith("__main__"):
        try:
            importlib.import_module(info.name)
        except MissingExtra:
            pass
print(gridloom.__file__)
"""


def without(target: str, folder: Path) -> Path:
    """A copy of the sources without a target: its folder and its line in the registry."""
    source = folder / "src"
    shutil.copytree(REPOSITORY / "src", source, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.rmtree(source / "gridloom" / "targets" / target)
    path = source / "gridloom" / "registry.py"
    lines = path.read_text(encoding="utf-8").splitlines(keepends=True)
    kept = [line for line in lines if line.strip() != f'"gridloom.targets.{target}.target",']
    assert len(kept) == len(lines) - 1
    path.write_text("".join(kept), encoding="utf-8")
    return source


def python(source: Path, *words: str) -> subprocess.CompletedProcess[str]:
    """Run Python on a copy of the sources."""
    return subprocess.run(
        [sys.executable, *words],
        capture_output=True,
        text=True,
        check=False,
        cwd=REPOSITORY,
        env={**os.environ, "PYTHONPATH": str(source)},
    )


def declared(target: str, group: str) -> set[str]:
    """The names that the declaration of a target adds to a group."""
    return set(getattr(registry.object_at(f"gridloom.targets.{target}.target:TARGET"), group))


@pytest.mark.slow
@pytest.mark.parametrize("target", TARGETS)
def test_everything_else_works_without_a_target(tmp_path: Path, target: str) -> None:
    source = without(target, tmp_path)
    others = [name for name in TARGETS if name != target]

    done = python(source, "-c", IMPORT_ALL)
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip() == str(source / "gridloom" / "__init__.py")

    for group in ("archs", "mappers", "models", "suites"):
        done = python(source, "-m", "gridloom", "list", group)
        assert done.returncode == 0, done.stderr
        shown = {line.split()[0] for line in done.stdout.splitlines() if line.strip()}
        kept = set().union(*(declared(name, group) for name in others))
        assert kept <= shown
        assert not (declared(target, group) - kept) & shown

    kernel, array = PROBLEMS[others[0]]
    done = python(source, "-m", "gridloom", "map", kernel, "--arch", array, "--effort", "2000")
    assert done.returncode == 0, done.stderr
    refused = python(source, "-m", "gridloom", "map", PROBLEMS[target][0], "--arch", PROBLEMS[target][1])
    assert refused.returncode == 2, refused.stderr
    assert "Traceback" not in refused.stderr

    folders = [f"tests/targets/{name}" for name in others]
    ignored = [f"--ignore-glob=*/targets/*/{name}" for name in LEFT_OUT]
    words = ("-m", "pytest", "-q", "-p", "no:cacheprovider", "-m", "not slow", "-n", "2")
    done = python(source, *words, *ignored, *folders, "tests/dfg")
    assert done.returncode == 0, done.stdout[-4000:]


# A test of one target that builds an array of another would fail without it; this is found without deleting anything.


def arrays_named(folder: Path, families: set[str]) -> list[str]:
    """Texts in the Python files of a folder that are an ARCH of one of some families, with file and line."""
    pattern = re.compile(rf"(?:{'|'.join(map(re.escape, sorted(families)))})(?::\d.*|,\w+=.*)")
    return [
        f"{path.relative_to(folder)}:{node.lineno} names {node.value}"
        for path in sorted(folder.rglob("*.py"))
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and pattern.fullmatch(node.value)
    ]


@pytest.mark.parametrize("target", TARGETS)
def test_tests_of_a_target_name_no_array_of_another(target: str) -> None:
    foreign = set().union(*(declared(name, "archs") for name in TARGETS if name != target))
    assert arrays_named(REPOSITORY / "tests" / "targets" / target, foreign) == []


def test_array_of_another_target_is_found(tmp_path: Path) -> None:
    text = 'build("mesh:4x4")\nbuild("torus:2x2,regs=3")\nbuild({"links": "torus"})\n"mesh: a word"\n'
    (tmp_path / "test_rows.py").write_text(text, encoding="utf-8")
    assert arrays_named(tmp_path, {"torus", "ramp-1"}) == ["test_rows.py:2 names torus:2x2,regs=3"]


@pytest.mark.parametrize("target", TARGETS)
def test_tests_of_a_target_import_nothing_of_another(target: str) -> None:
    folder = REPOSITORY / "tests" / "targets" / target
    named = re.compile(r"\b(?:gridloom|tests)\.targets\.(\w+)")
    found = {
        f"{path.relative_to(folder)} names {name}"
        for path in sorted(folder.rglob("*.py"))
        for name in named.findall(path.read_text(encoding="utf-8"))
        if name != target
    }
    assert found == set()
