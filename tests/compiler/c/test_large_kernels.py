"""Every loop of ``examples/kernels/c-large``: its size, and that its graph computes what the same C computes here."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from tests.compiler.c.kernel_inputs import Arguments, Rng, bytes_, ints, one, shorts, words, zeros
from tests.compiler.c.native import native_library, run_both

from gridloom.compiler.c import COptions, load
from gridloom.flow.bench.suite import load_suite

pytestmark = pytest.mark.tools
KERNELS = Path(__file__).resolve().parents[3] / "examples" / "kernels" / "c-large"
FILES = sorted(KERNELS.glob("*.c"))
N = 48


def small(rng: Rng, shape) -> np.ndarray:
    """Words of 12 bits, whose products stay in range."""
    return ints(rng, shape, -2048, 2048)


INPUTS: dict[str, Callable[[Rng], Arguments]] = {
    "aes_rounds": lambda r: {
        "in": words(r, (N, 4)), "out": zeros((N, 4), "u4"), **{f"t{k}": words(r, 256) for k in range(4)},
        "rk": words(r, 12), "n": N,
    },
    "bilateral_5x5": lambda r: {
        "in": bytes_(r, (5, 512)), "range": bytes_(r, 256), "out": zeros(512, "u1"), "n": N + 2
    },
    "biquad_cascade": lambda r: {"x": shorts(r, N), "c": shorts(r, (8, 5)), "y": zeros(N, "i2"), "n": N},
    "blowfish_16": lambda r: {
        "in": words(r, 2 * N), "out": zeros(2 * N, "u4"), "p": words(r, 18), "s": words(r, (4, 256)), "n": N
    },
    "chacha_double": lambda r: {"state": words(r, 32), "n": N},
    "cordic_rotate": lambda r: {
        "angle": ints(r, N), "table": ints(r, 14), "sine": zeros(N), "cosine": zeros(N), "n": N
    },
    "fdct_ifast": lambda r: {"data": small(r, 16 * N), "out": zeros(16 * N), "n": N},
    "fdct_islow": lambda r: {
        "data": small(r, 8 * 1024), "recip": ints(r, 8 * 1024, 1, 32768), "out": zeros(8 * 1024), "n": N
    },
    "fft_radix4": lambda r: {"in": shorts(r, 8192), "tw": shorts(r, 6 * N), "out": zeros(8192, "i2"), "n": N},
    "floyd_steinberg": lambda r: {
        "in": bytes_(r, 4 * N), "out": zeros(4 * N, "u1"), "below": small(r, 4 * N + 4), "ink": zeros(N), "n": N
    },
    "gsm_lag": lambda r: {"wt": shorts(r, 40), "dp": shorts(r, 1200), "result": zeros(2), "n": 40 + 2 * N},
    "gsm_lattice": lambda r: {"rrp": shorts(r, 8), "wt": shorts(r, N), "sr": zeros(N, "i2"), "n": N},
    "h264_sixtap": lambda r: {"src": bytes_(r, 16 * N + 16), "dst": zeros(8 * N, "u1"), "stride": 16, "n": N},
    "harris_corner": lambda r: {"in": bytes_(r, (5, 512)), "out": zeros(512), "n": N + 2},
    "idct_col": lambda r: {
        "blk": ints(r, 8 * 1024, -2048, 2048, "i2"), "past": bytes_(r, 8 * 1024), "out": zeros(8 * 1024, "u1"), "n": N
    },
    "idct_row": lambda r: {
        "blk": ints(r, 16 * N, -2048, 2048, "i2"), "out": zeros(16 * N, "i2"), "n": N
    },
    "kalman_step": lambda r: {"z": small(r, (N, 3)), "out": zeros((N, 6)), "q": 5, "noise": 900, "n": N},
    "lms_16": lambda r: {
        "x": shorts(r, N + 16).astype("i4"), "d": shorts(r, N).astype("i4"), "w": shorts(r, 16).astype("i4"),
        "e": zeros(N), "mu": 700, "n": N,
    },
    "motion_search": lambda r: {
        "now": bytes_(r, (8, 512)), "past": bytes_(r, (8, 512)), "best": zeros(2), "n": N
    },
    "quaternion_turn": lambda r: {
        "p": shorts(r, (N, 4)).astype("i4"), "q": shorts(r, (N, 4)).astype("i4"), "m": zeros((N, 9)), "n": N
    },
    "ransac_score": lambda r: {
        "p": small(r, (2 * N, 2)), "q": small(r, (2 * N, 2)), "h": small(r, 9), "g": small(r, 9), "limit": 1 << 20,
        "score": zeros(2 * N + 2), "n": N,
    },
    "reed_solomon": lambda r: {
        "data": bytes_(r, N), "log": bytes_(r, 256), "power": bytes_(r, 512), "gen": bytes_(r, 20),
        "parity": zeros(20, "u1"), "n": N,
    },
    "sha256_rounds": lambda r: {"w": words(r, 4 * N), "k": words(r, 4 * N), "state": words(r, 8), "n": 4 * N},
    "softmax_fixed": lambda r: {"in": shorts(r, (N, 8)).astype("i4"), "out": zeros((N, 8)), "n": N},
    "susan_usan": lambda r: {
        "in": bytes_(r, (7, 512)), "bp": bytes_(r, 512), "r": zeros(512), "max": 2650, "n": N + 3
    },
    "turbo_llr": lambda r: {
        "sys": small(r, 2 * N), "par": small(r, 2 * N), "beta": small(r, (2 * N, 8)), "llr": zeros(2 * N), "n": 2 * N
    },
    "viterbi_k7": lambda r: {
        "b0": bytes_(r, 4 * N), "b1": bytes_(r, 4 * N), "sym0": one(r, 0, 256), "sym1": one(r, 0, 256),
        "old": ints(r, 4 * N + 32, 0, 1 << 20), "new": zeros(8 * N), "decisions": zeros(N, "u1"), "n": 4 * N,
    },
    "yuv420_block": lambda r: {
        "top": bytes_(r, 12 * N), "bottom": bytes_(r, 12 * N), "y0": zeros(4 * N, "u1"), "y1": zeros(4 * N, "u1"),
        "u": zeros(2 * N, "u1"), "v": zeros(2 * N, "u1"), "n": 2 * N,
    },
}  # fmt: skip


def test_the_suite_has_every_loop():
    sources = [Path(source).stem for group in load_suite("c-large").groups for source in group.sources]
    assert sorted(set(sources)) == sorted(INPUTS) == [file.stem for file in FILES]
    assert len(FILES) >= 20


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_graph_equals_native_code(file: Path):
    arguments = INPUTS[file.stem](np.random.default_rng(len(file.stem)))
    machine = run_both(file, COptions(), arguments, native_library(*FILES))
    assert sum(machine.trips) >= N - 1


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_a_loop_has_100_to_300_operations(file: Path):
    dfg = load(file).dfg
    assert 100 <= sum(dfg.op_class(node.id) not in ("const", "livein") for node in dfg.nodes) <= 300
