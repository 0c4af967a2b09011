"""Every kernel of ``examples/kernels``: its graph computes what the same C computes on this machine."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from tests.compiler.c.kernel_inputs import INPUTS, shortened
from tests.compiler.c.native import native_library, run_both

import gridloom as gl
from gridloom.compiler.c import COptions, load
from gridloom.dfg.recurrence import recurrence_mii

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


#: Kernels that stream through a static array: no recurrence, or a sum that comes round in one cycle.
STREAMS = (
    "aes_column", "alpha_blend", "atax", "bicg", "bitcount", "conv3x3", "dct8", "dijkstra_relax", "fft_butterfly",
    "fir", "gemm", "gsm_ltp", "jacobi", "jpeg_fdct_row", "kmeans_distance", "matmul", "mvt", "prefix_sum",
    "rgb_to_ycc", "sad4x4", "saxpy", "sobel", "viterbi",
)  # fmt: skip


@pytest.mark.parametrize("name", STREAMS)
def test_streams_equal_native_code(name: str):
    arguments = shortened(INPUTS[name](np.random.default_rng(3)), 60)
    machine = run_both(KERNELS / f"{name}.c", COptions(memory="streams"), arguments, native_library(*FILES))
    assert recurrence_mii(machine.loop.dfg) <= 1
    assert not any(node.op in ("load", "store", "store_if") for node in machine.loop.dfg.nodes)


def test_a_loop_maps_onto_a_static_array_as_streams():
    result = gl.map(load(KERNELS / "alpha_blend.c", memory="streams").dfg, "mesh:6x6", seed=1, effort=300_000)
    assert (result.status, result.verified.legal, result.verified.simulated) == ("mapped", True, True)


@pytest.mark.slow
@pytest.mark.parametrize("name", STREAMS)
def test_every_loop_without_a_recurrence_maps_onto_a_static_array(name: str):
    result = gl.map(load(KERNELS / f"{name}.c", memory="streams").dfg, "onehop:9x9", seed=1, effort=200_000)
    assert (result.status, result.verified.legal, result.verified.simulated) == ("mapped", True, True)
