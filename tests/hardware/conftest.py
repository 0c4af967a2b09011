"""Compiled hardware is shared: arrays of the same shape and size are compiled once a session."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from gridloom.flow.hardware import cosimulate_mapping
from gridloom.hardware.bitstream.encode import fit_parameters
from gridloom.hardware.cosimulation import Bench, available
from gridloom.hardware.parameters import HardwareParameters
from gridloom.hardware.rtl.structure import Hardware
from gridloom.mapping import Mapping
from gridloom.mapping.configuration import configure

Cosimulate = Callable[..., tuple[str, ...]]


@pytest.fixture(scope="session")
def icarus() -> None:
    if not available("icarus"):
        pytest.skip("Icarus Verilog is not installed")


@pytest.fixture(scope="session")
def bench_of(icarus: None, tmp_path_factory: pytest.TempPathFactory) -> Callable[..., Bench]:
    benches: dict[object, Bench] = {}

    def find(mapping: Mapping, width: int = 32) -> Bench:
        parameters = fit_parameters(configure(mapping), HardwareParameters(width=width))
        key = mapping.arch.fingerprint, mapping.arch.simd, parameters
        if key not in benches:
            folder = tmp_path_factory.mktemp("bench")
            benches[key] = Bench(Hardware(mapping.arch, parameters), folder=folder)
        return benches[key]

    return find


@pytest.fixture(scope="session")
def cosimulate(bench_of: Callable[..., Bench]) -> Cosimulate:
    """Findings of a co-simulation of a mapping."""

    def run(mapping: Mapping, iterations: int = 20, seed: int = 0, width: int = 32, stall: int = 0) -> tuple[str, ...]:
        bench = bench_of(mapping, width)
        return cosimulate_mapping(mapping, iterations=iterations, seed=seed, bench=bench, stall=stall).findings

    return run


def simulate_verilog(folder: Path, files: dict[str, str], top: str) -> str:
    """Compile and run a few Verilog texts; what they print."""
    for name, text in files.items():
        (folder / name).write_text(text)
    subprocess.run(["iverilog", "-g2012", "-o", "a.vvp", "-s", top, *files], cwd=folder, check=True)
    done = subprocess.run(["vvp", "-n", "a.vvp"], cwd=folder, check=True, capture_output=True, text=True)
    return done.stdout
