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


def _run(folder: Path, transactions: int, monkeypatch: pytest.MonkeyPatch, only: str | None = None) -> None:
    """Run all tests of ``bus_bench``, or only one of them."""
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
        test_dir=folder, extra_env=extra, seed=1, test_filter=only,
    )  # fmt: skip
    tests, failures = get_results(results)
    assert (tests, failures) == (3 if only is None else 1, 0)


def test_random_transactions_and_an_image_loaded_while_another_runs(
    icarus: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    _run(tmp_path, 60, monkeypatch)


@pytest.mark.slow
@pytest.mark.parametrize(
    "only", ["registers_keep_what_is_written", "transfers_move_what_they_say", "an_image_is_loaded_while_another_runs"]
)
def test_ten_thousand_random_transactions_on_each_interface(
    icarus: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, only: str
):
    """The last one loads and launches 100 images."""
    _run(tmp_path, int(os.environ.get("GRIDLOOM_TRANSACTIONS", "10000")), monkeypatch, only)
