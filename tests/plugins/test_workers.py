"""Worker processes find the plug-ins and the registrations of the process that started them, and keep to its switch."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from tests.plugins.jobs import importable, look
from tests.plugins.packages import GOOD, install, run_python

import gridloom as gl
from gridloom import plugins
from gridloom.flow.bench.run import cell_job
from gridloom.flow.bench.suite import Suite, SuiteCell
from gridloom.run import ExecutorSpec, Job, run_jobs

PROCESSES = ExecutorSpec(backend="processes", workers=1)


def ask_worker(group: str, name: str) -> object:
    (outcome,) = run_jobs(plugins.carry(look), [Job("k", (group, name))], executor=PROCESSES).outcomes
    assert outcome.error is None, outcome.error
    return outcome.value


def test_a_worker_finds_the_plugins(good: Path) -> None:
    assert ask_worker("kernels", "twice") == {"enabled": True, "known": True}


def test_a_worker_keeps_to_the_switch(good: Path) -> None:
    plugins.switch(False)
    assert ask_worker("kernels", "twice") == {"enabled": False, "known": False}


@pytest.mark.usefixtures("forget")
def test_a_worker_knows_what_was_registered() -> None:
    gl.register_mapper(importable, kinds="grid")
    assert plugins.is_portable()
    assert ask_worker("mappers", "importable") == {"enabled": True, "known": True}


@pytest.mark.parametrize("words", [["--jobs", "2"], ["--jobs", "1"]], ids=" ".join)
def test_a_suite_runs_with_a_mapper_of_a_plugin(tmp_path: Path, words: list[str]) -> None:
    install(tmp_path, "good-package", {"good": "good_plugin:TARGET"}, good_plugin=GOOD)
    (tmp_path / "s.yaml").write_text(
        "suite: mine\nmapper: delegate\nbudget: {effort: 300}\nsources: ['kernel:twice', 'kernel:vector_add']\n"
        "archs: ['square:2']\n"
    )
    (tmp_path / "x.yaml").write_text(
        "explore: mine\nkernels: ['kernel:twice']\narray: 'square:{side}'\nparameters: {side: [2, 3]}\n"
        "mapper: delegate\nbudget: {effort: 300}\nobjectives: [mapped]\n"
    )
    ran = run_python(tmp_path, "-m", "gridloom", "bench", str(tmp_path / "s.yaml"), *words)
    assert "mine: 2 of 2 cells mapped" in ran.stdout, ran.stderr
    explored = run_python(tmp_path, "-m", "gridloom", "explore", str(tmp_path / "x.yaml"), *words)
    assert explored.returncode == 0, explored.stderr
    off = run_python(tmp_path, "-m", "gridloom", "--no-plugins", "bench", str(tmp_path / "s.yaml"), *words)
    assert off.returncode == 2 and "error: no kernel is called 'twice'" in off.stderr


def test_a_refusal_is_reported_once_however_many_processes_work(tmp_path: Path) -> None:
    install(tmp_path, "bad-package", {"bad": "bad_plugin:TARGET"}, bad_plugin="TARGET = 1")
    (tmp_path / "s.yaml").write_text(
        "suite: mine\nbudget: {effort: 300}\nsources: ['kernel:axpy', 'kernel:vector_add']\narchs: ['mesh:3x3']\n"
    )
    ran = run_python(tmp_path, "-m", "gridloom", "bench", str(tmp_path / "s.yaml"), "--jobs", "2")
    assert "mine: 2 of 2 cells mapped" in ran.stdout
    reason = "bad_plugin:TARGET is a int; expected a gridloom.registry.Target"
    assert ran.stderr == f"plug-in 'bad' of bad-package 1.0 is not used: {reason}\n"


def test_a_stored_row_belongs_to_a_version_of_the_plugin(site: Path) -> None:
    keys = []
    for version in ("1.0", "2.0", "2.0"):
        for folder in site.glob("*.dist-info"):
            shutil.rmtree(folder)
        install(site, "good-package", {"good": "good_plugin:TARGET"}, version, good_plugin=GOOD)
        plugins.switch(False)
        plugins.switch(True)
        cell = SuiteCell(source="kernel:vector_add", arch="mesh:2x2", seed=1)
        keys.append([cell_job(Suite(name="mine", mapper=mapper), cell).key for mapper in ("delegate", "auto")])
    assert keys[0] != keys[1] == keys[2]
    assert keys[0][1] != keys[1][1]


def test_without_plugins_the_keys_are_those_of_before(site: Path) -> None:
    cell = SuiteCell(source="kernel:vector_add", arch="mesh:2x2", seed=1)
    assert "plugins" not in cell_job(Suite(name="mine", mapper="anneal"), cell).argument
