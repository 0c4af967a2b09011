"""Runs command lines in this process and gives back what a shell would see."""

from __future__ import annotations

import json
from dataclasses import dataclass

import pytest

from gridloom.cli import main
from gridloom.search.compiling import HEADING


@dataclass(frozen=True)
class Done:
    """Exit status and what was printed."""

    status: int
    out: str
    err: str

    @property
    def record(self):
        """Standard output as the one JSON object that it has to be."""
        return json.loads(self.out)


@pytest.fixture
def gridloom(capsys, tmp_path, monkeypatch):
    """A function that runs a command line in an empty folder."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("GRIDLOOM_DEBUG", raising=False)
    monkeypatch.delenv("GRIDLOOM_BENCHMARKS", raising=False)

    def run(*words):
        capsys.readouterr()
        status = main([str(word) for word in words])
        printed = capsys.readouterr()
        # Whether kernels are compiled depends on what this machine has run before, not on the command.
        return Done(status, printed.out, printed.err.replace(f"{HEADING} ...\n", ""))

    return run


@pytest.fixture
def saved(gridloom, tmp_path):
    """A mapping file of a small kernel."""
    path = tmp_path / "saved.json"
    done = gridloom("map", "kernel:vector_add", "--arch", "mesh:2x2", "--effort", "20000", "-o", path)
    assert done.status == 0, done.err
    return path
