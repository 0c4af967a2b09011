"""Every kernel of ``examples/kernels``: its graph computes what the same C computes on this machine."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from tests.frontend.c.kernel_inputs import INPUTS, shortened
from tests.frontend.c.native import native_library, run_both

from gridloom.frontend.c import COptions

pytestmark = pytest.mark.tools
KERNELS = Path(__file__).resolve().parents[3] / "examples" / "kernels"
FILES = sorted(KERNELS.glob("*.c"))


def test_every_kernel_has_inputs():
    assert sorted(INPUTS) == [file.stem for file in FILES]
    assert len(FILES) >= 30


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_graph_equals_native_code(file: Path):
    arguments = shortened(INPUTS[file.stem](np.random.default_rng(len(file.stem))), 120)
    machine = run_both(file, COptions(), arguments, native_library(*FILES))
    assert sum(machine.trips) >= 100


@pytest.mark.slow
@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_graph_equals_native_code_for_a_thousand_iterations(file: Path):
    machine = run_both(file, COptions(), INPUTS[file.stem](np.random.default_rng(1)), native_library(*FILES))
    assert sum(machine.trips) >= 1000
