"""What all tests share: where the published benchmarks are, and how hard property tests try."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

REPOSITORY = Path(__file__).resolve().parents[1]

# The first example of a test may compile numba kernels, so neither a deadline nor the slowness check means anything.
_COMMON = {"deadline": None, "suppress_health_check": [HealthCheck.too_slow]}
settings.register_profile("dev", max_examples=50, **_COMMON)
settings.register_profile("ci", max_examples=50, derandomize=True, print_blob=True, **_COMMON)
settings.register_profile("thorough", max_examples=1000, **_COMMON)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE") or ("ci" if os.environ.get("CI") else "dev"))


@pytest.fixture(scope="session")
def benchmarks() -> Path:
    """The folder of published graphs: `GRIDLOOM_BENCHMARKS`, or `shared/benchmarks` beside the repository."""
    named = os.environ.get("GRIDLOOM_BENCHMARKS")
    folder = Path(named) if named else REPOSITORY.parent / "shared" / "benchmarks"
    if not folder.is_dir():
        pytest.skip(f"no benchmarks in {folder}; GRIDLOOM_BENCHMARKS may name their folder")
    return folder
