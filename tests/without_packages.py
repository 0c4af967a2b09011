"""Run commands, or collect tests, where packages are hidden: ``python -m tests.without_packages PACKAGES TASK ...``.

PACKAGES are names with commas between them. Tasks: ``collect FILE...`` collects tests, ``import MODULE...`` imports
modules, ``commands FILE`` runs the command lines of a JSON file and prints their outcomes as JSON.
"""

from __future__ import annotations

import contextlib
import io
import json
import sys
from collections.abc import Sequence
from importlib import import_module
from importlib.machinery import ModuleSpec, PathFinder
from pathlib import Path
from typing import Any

import pytest


class Hiding:
    """A finder that does not find the packages of a list; for all others it is the usual one."""

    def __init__(self, packages: Sequence[str]) -> None:
        self.packages = frozenset(packages)

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> ModuleSpec | None:
        return None if name.split(".")[0] in self.packages else PathFinder.find_spec(name, path, target)


def hide(packages: Sequence[str]) -> None:
    """Make packages look as if they were not installed, with the programs that they bring."""
    loaded = [name for name in sys.modules if name.split(".")[0] in packages]
    assert not loaded, loaded
    sys.meta_path[:] = [Hiding(packages) if finder is PathFinder else finder for finder in sys.meta_path]


def run_commands(path: Path) -> list[dict[str, Any]]:
    """Status and messages of each command line of a file."""
    from gridloom.cli import main

    # Programs of packages stand beside the interpreter.
    sys.executable = "/nowhere/python"
    done = []
    for words in json.loads(path.read_text(encoding="utf-8")):
        out, err = io.StringIO(), io.StringIO()
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            status = main(words)
        done.append({"words": words, "status": status, "err": err.getvalue()})
    return done


def main(packages: str, task: str, *words: str) -> int:
    hide(packages.split(","))
    if task == "collect":
        status = pytest.main(["--collect-only", "-q", "-p", "no:cacheprovider", "-p", "no:xdist", *words])
        # Files that skip themselves as a whole leave no tests.
        return 0 if status == pytest.ExitCode.NO_TESTS_COLLECTED else int(status)
    if task == "import":
        for module in words:
            import_module(module)
        return 0
    print(json.dumps(run_commands(Path(words[0]))))
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
