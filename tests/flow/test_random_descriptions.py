"""Whatever array is described: it is built, written, mapped to, checked, simulated and becomes hardware that agrees."""

from __future__ import annotations

import random
import shutil
import subprocess
from pathlib import Path

import pytest
from tests.random_arrays import description
from tests.random_cases import loop_graph, static_graph

from gridloom.archs import Arch, build, check_arch
from gridloom.archs.described.text import yaml_text
from gridloom.archs.described.writing import describe
from gridloom.emit.picture.pictures import svg
from gridloom.flow.hardware import cosimulate_mapping
from gridloom.hardware.rtl.generate import rtl_files
from gridloom.hardware.rtl.structure import Hardware
from gridloom.mapping import Failure, Mapping, json_format
from gridloom.search.budget import Budget
from gridloom.search.choice import config_type, default_mapper, function_for
from gridloom.sim import simulate
from gridloom.verify import legal

TOOLS = shutil.which("verilator") and shutil.which("iverilog")


def lint(folder: Path, arch: Arch) -> str:
    """What verilator says about the hardware of an array."""
    files = rtl_files(Hardware(arch))
    for name, text in files.items():
        (folder / name).write_text(text)
    command = ["verilator", "--lint-only", "-Wall", "--top-module", "gridloom_array", *files]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False).stderr


def mapped(arch: Arch, seed: int) -> Mapping | Failure:
    """A small random graph on the array, by the mapper that ``auto`` would take."""
    graph = (static_graph if arch.style == "static" else loop_graph)(random.Random(seed))
    function = function_for(default_mapper(arch), arch)
    return function(graph, arch, config_type(function)(), Budget(seed=seed, effort=1500))


def run(seed: int, folder: Path, hardware: bool) -> bool:
    """Take a random description all the way; True when its graph was mapped."""
    path = folder / f"array{seed}.yaml"
    path.write_text(yaml_text(description(seed)), encoding="utf-8")
    arch = build(path)
    again = folder / "again.yaml"
    again.write_text(yaml_text(describe(arch)), encoding="utf-8")
    assert build(again).fingerprint == arch.fingerprint
    assert isinstance(check_arch(arch), list)
    found = mapped(arch, seed)
    if isinstance(found, Failure):
        return False
    assert legal(found) == [], f"description {seed}"
    verdict = simulate(found, seed=seed)
    assert verdict, f"description {seed}: {verdict.explain()}"
    assert legal(json_format.loads(json_format.dumps(found))) == []
    assert svg(found).startswith("<svg"), f"description {seed}"
    if hardware:
        assert lint(folder, arch) == "", f"description {seed}"
        assert cosimulate_mapping(found, iterations=8, seed=seed).findings == (), f"description {seed}"
    return True


def test_some_random_descriptions_go_all_the_way(tmp_path: Path) -> None:
    assert sum(run(seed, tmp_path, hardware=False) for seed in range(6)) >= 4


@pytest.mark.tools
@pytest.mark.skipif(not TOOLS, reason="Verilator or Icarus Verilog is not installed")
def test_random_descriptions_become_hardware(tmp_path: Path) -> None:
    assert sum(run(seed, tmp_path, hardware=True) for seed in (9, 110)) == 2


@pytest.mark.slow
@pytest.mark.tools
@pytest.mark.skipif(not TOOLS, reason="Verilator or Icarus Verilog is not installed")
@pytest.mark.parametrize("part", range(10))
def test_many_random_descriptions_become_hardware(part: int, tmp_path: Path) -> None:
    assert sum(run(seed, tmp_path, hardware=True) for seed in range(30 * part, 30 * part + 30)) >= 15
