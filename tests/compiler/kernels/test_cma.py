"""The 24-bit kernels: sizes of the evaluation's table, and what the array can hold."""

from __future__ import annotations

import math
from collections import Counter

import numpy as np
import pytest

from gridloom import registry
from gridloom.compiler.kernels.cma import CMA_AES, CMA_DCT8, CMA_RADIX4_FFT, CMA_RGB_TO_YCC
from gridloom.dfg.interpreter import Stimulus, interpret

#: Ops, constants, loads, stores.
TABLE = {
    "cma_aes": (45, 3, 4, 4),
    "cma_radix4_fft": (46, 6, 8, 8),
    "cma_rgb_to_ycc": (30, 15, 1, 1),
    "cma_dct8": (63, 11, 8, 8),
    "cma_md5": (176, 25, 20, 4),
}


@pytest.mark.parametrize(("name", "sizes"), TABLE.items())
def test_sizes_are_those_of_the_table(name: str, sizes: tuple[int, int, int, int]) -> None:
    dfg = registry.load("kernels", name).build()
    kinds = Counter(node.op if node.op in ("const", "input", "output") else "op" for node in dfg.nodes)
    assert (kinds["op"], kinds["const"], kinds["input"], kinds["output"]) == sizes
    assert dfg.domain == "cma24"


@pytest.mark.parametrize("name", TABLE)
def test_constants_differ_and_fit_seventeen_bits(name: str) -> None:
    dfg = registry.load("kernels", name).build()
    values = [node.value for node in dfg.nodes if node.op == "const"]
    assert len(set(values)) == len(values)
    assert all(isinstance(value, int) and -(1 << 16) <= value < 1 << 16 for value in values)


@pytest.mark.parametrize("name", TABLE)
def test_every_value_is_read(name: str) -> None:
    dfg = registry.load("kernels", name).build()
    assert all(edges or node.op == "output" for node, edges in zip(dfg.nodes, dfg.out_edges, strict=True))


def _signed(words: np.ndarray) -> np.ndarray:
    return ((words + 0x800000) & 0xFFFFFF) - 0x800000


def test_aes_gives_the_standards_column_and_adds_the_key() -> None:
    key = (0x0F, 0xAA, 0x00, 0x3C)
    column = (0xDB, 0x13, 0x53, 0x45)
    words = {f"w{k}": np.array([column[k] | key[k] << 8], dtype=np.int64) for k in range(4)}
    shown = interpret(CMA_AES.build(), Stimulus(iterations=1, streams=words)).outputs
    expected = [mixed ^ k for mixed, k in zip((0x8E, 0x4D, 0xA1, 0xBC), key, strict=True)]
    assert [int(shown[f"m{k}"][0]) for k in range(4)] == expected


def test_radix4_is_a_fourier_transform() -> None:
    stimulus = CMA_RADIX4_FFT.stimulus(40, 2)
    shown = interpret(CMA_RADIX4_FFT.build(), stimulus).outputs
    points = [_signed(stimulus.streams[f"x{k}_re"]) + 1j * _signed(stimulus.streams[f"x{k}_im"]) for k in range(4)]
    turned = np.array([points[k] * np.exp(-1j * k * np.pi / 8) for k in range(4)])
    exact = np.fft.fft(turned, axis=0) / 2
    for k in range(4):
        found = _signed(shown[f"y{k}_re"]) + 1j * _signed(shown[f"y{k}_im"])
        assert np.abs(found - exact[k]).max() < 5


def test_ycc_of_gray_has_no_chroma_and_studio_range() -> None:
    levels = np.arange(256, dtype=np.int64)
    pixels = Stimulus(iterations=256, streams={"rgb": levels * 0x010101})
    ycc = interpret(CMA_RGB_TO_YCC.build(), pixels).outputs["ycc"]
    assert ((ycc & 0xFFFF) == 0x8080).all()
    assert (int(ycc[0]) >> 16, int(ycc[255]) >> 16) == (16, 235)


def test_dct8_is_a_cosine_transform_of_shifted_pixels() -> None:
    stimulus = CMA_DCT8.stimulus(40, 2)
    shown = interpret(CMA_DCT8.build(), stimulus).outputs
    x = np.array([stimulus.streams[f"x{n}"] - 128 for n in range(8)])
    for k in range(8):
        cosines = np.cos((2 * np.arange(8) + 1) * k * math.pi / 16) * (1 if k == 0 else math.sqrt(2))
        assert np.abs(_signed(shown[f"y{k}"]) - cosines @ x / 4).max() < 1.1
