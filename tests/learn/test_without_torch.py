"""Inference and the models' settings need no torch: only training does."""

from __future__ import annotations

import subprocess
import sys

import pytest

MODULES = (
    "gridloom.targets.dataflow.learned.inference",
    "gridloom.targets.dataflow.learned.model",
    "gridloom.learn.reach_training",
    "gridloom.targets.rows.learned.estimator",
    "gridloom.targets.modulo.learned.model",
    "gridloom.targets.rows.learned.model",
    "gridloom.targets.streaming.learned.evaluation",
    "gridloom.targets.streaming.learned.guided",
    "gridloom.targets.streaming.learned.mapper",
    "gridloom.targets.streaming.learned.model",
    "gridloom.targets.dataflow.learned.changed_searches",
    "gridloom.targets.dataflow.learned.cross_validation",
    "gridloom.targets.streaming.learned.published.boards",
    "gridloom.targets.streaming.learned.slots.policy",
)


@pytest.mark.parametrize("module", MODULES)
def test_a_module_without_training_is_imported_without_torch(module: str) -> None:
    code = f"import sys, {module}; print(*sorted({{'gymnasium', 'sklearn', 'torch'}} & sys.modules.keys()))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == ""
