"""Inference and the models' settings need no torch: only training does."""

from __future__ import annotations

import subprocess
import sys

import pytest

MODULES = (
    "gridloom.learn.cost_model.inference", "gridloom.learn.cost_model.model", "gridloom.learn.mappability.inference",
    "gridloom.learn.initiation.inference", "gridloom.learn.initiation.model", "gridloom.learn.mappability.model",
    "gridloom.learn.placement.evaluation", "gridloom.learn.placement.guided", "gridloom.learn.placement.mapper",
    "gridloom.learn.placement.model", "gridloom.learn.cost_model.changed_searches",
    "gridloom.learn.cost_model.cross_validation", "gridloom.learn.placement.published.boards",
    "gridloom.learn.placement.slots.policy",
)  # fmt: skip


@pytest.mark.parametrize("module", MODULES)
def test_a_module_without_training_is_imported_without_torch(module: str) -> None:
    code = f"import sys, {module}; print(*sorted({{'gymnasium', 'sklearn', 'torch'}} & sys.modules.keys()))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == ""
