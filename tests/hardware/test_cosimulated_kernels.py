"""Kernels on the arrays that the mappers are for: what was mapped runs on the generated hardware."""

from __future__ import annotations

from functools import cache

import pytest
from tests.hardware.conftest import Cosimulate

import gridloom as gl
from gridloom.mapping import Mapping

pytestmark = [pytest.mark.tools, pytest.mark.slow]

STREAMS = (
    "vector_add", "mul_add", "stream_pair", "dot_product", "fir", "kmeans,k=2,n=3", "gray", "alpha_blend", "dct4",
    "moving_average", "convolution,k=2",
)  # fmt: skip
LOOPS = (
    "gemm", "syrk", "atax", "bicg", "mvt", "jacobi", "jacobi,dims=2", "isqrt", "gsm_ltp", "ifft", "ifft_two_loop",
)  # fmt: skip
WORDS = ("cma_aes", "cma_dct8", "cma_radix4_fft")
SPOKES = ("vector_add", "mul_add", "stream_pair", "fir", "gray", "dct4", "distance", "alpha_blend")


@cache
def mapped(kernel: str, arch: str, mapper: str) -> Mapping:
    result = gl.map(f"kernel:{kernel}", arch=arch, mapper=mapper, effort=400_000, time_limit=120, seed=1)
    assert result.mapping is not None, f"{kernel} on {arch}: {result.failure}"
    return result.mapping


@pytest.mark.parametrize("family", ["mesh", "onehop", "chess", "hex"])
def test_stream_kernels_run_on_static_grids(family: str, cosimulate: Cosimulate) -> None:
    for kernel in STREAMS:
        assert cosimulate(mapped(kernel, f"{family}:8x8", "anneal"), iterations=40) == (), kernel


def test_loop_kernels_run_on_the_torus(cosimulate: Cosimulate) -> None:
    for kernel in LOOPS:
        assert cosimulate(mapped(kernel, "torus:4x4,regs=4", "modulo"), iterations=20) == (), kernel


def test_24_bit_kernels_run_on_rows_of_alus(cosimulate: Cosimulate) -> None:
    for kernel in WORDS:
        assert cosimulate(mapped(kernel, "vpcma", "width"), iterations=20) == (), kernel


def test_stream_kernels_run_on_tiles_with_spokes(cosimulate: Cosimulate) -> None:
    for kernel in SPOKES:
        assert cosimulate(mapped(kernel, "streaming-engine:16,spokes=6", "anneal"), iterations=20) == (), kernel
