"""The two interfaces of a system on Icarus Verilog, with cocotbext-axi on the other side."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from tests.hardware.system.jobs import job_of, small_system

from gridloom.hardware.system.top import SYSTEM, system_files

pytest.importorskip("cocotb")
pytest.importorskip("cocotbext.axi")
pytestmark = pytest.mark.tools
ROOT = Path(__file__).resolve().parents[3]


def _run(folder: Path, transactions: int, monkeypatch: pytest.MonkeyPatch, seed: int = 1) -> None:
    from cocotb_tools.check_results import get_results
    from cocotb_tools.runner import get_runner

    system = small_system()
    for name, text in system_files(system).items():
        (folder / name).write_text(text)
    jobs = [job_of(factor, system) for factor in (3, 11)]
    rows = [
        {"image": job.image.words(), "iterations": job.iterations, "place": job.place, "memory": job.memory,
         "expected": job.expected, "liveins": job.liveins, "liveouts": job.liveouts}
        for job in jobs
    ]  # fmt: skip
    (folder / "case.json").write_text(json.dumps({"jobs": rows}))
    runner = get_runner("icarus")
    runner.build(sources=sorted(folder.glob("*.v")), hdl_toplevel=SYSTEM, build_dir=folder / "build",
                 timescale=("1ns", "1ps"))  # fmt: skip
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(ROOT / "src"), str(ROOT)]))
    extra = {"GRIDLOOM_TRANSACTIONS": str(transactions), "GRIDLOOM_CASE": str(folder / "case.json")}
    results = runner.test(
        hdl_toplevel=SYSTEM, test_module="tests.hardware.system.bus_bench", build_dir=folder / "build",
        test_dir=folder, extra_env=extra, seed=seed,
    )  # fmt: skip
    tests, failures = get_results(results)
    assert (tests, failures) == (3, 0)


def test_random_transactions_and_an_image_loaded_while_another_runs(
    icarus: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    _run(tmp_path, 60, monkeypatch)


@pytest.mark.slow
def test_ten_thousand_random_transactions_on_each_interface(
    icarus: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    _run(tmp_path, 10_000, monkeypatch)
