"""Kernels against implementations that nobody here wrote: hash digests, FFTs, AES and ADPCM."""

from __future__ import annotations

import hashlib
import math
import struct
import warnings

import numpy as np
import pytest

from gridloom.compiler.kernels.crypto import AES_COLUMN, MD5_STEP, SHA1_STEP
from gridloom.compiler.kernels.kmeans import KMEANS, centroid
from gridloom.compiler.kernels.linear_algebra import SYSTOLIC_MATMUL, systolic_matrix
from gridloom.compiler.kernels.media import BMP_HEADER, HORNER_BEZIER, IDCT8
from gridloom.compiler.kernels.speech import ADPCM
from gridloom.compiler.kernels.transforms import DCT8, IFFT_TWO_LOOP, TWIDDLE_BITS
from gridloom.dfg.interpreter import Interpreter, Stimulus, interpret

MASK = 0xFFFFFFFF


def _signed(value: int) -> int:
    return ((value + 0x80000000) & MASK) - 0x80000000


def _one(**streams: int) -> Stimulus:
    words = {name: np.array([_signed(value)], dtype=np.int64) for name, value in streams.items()}
    return Stimulus(iterations=1, streams=words)


def _padded(message: bytes, order: str) -> bytes:
    zeros = (55 - len(message)) % 64
    return message + b"\x80" + bytes(zeros) + struct.pack(f"{order}Q", 8 * len(message))


@pytest.mark.parametrize("message", [b"", b"gridloom", b"a" * 55])
def test_md5_steps_make_a_digest(message: bytes) -> None:
    words = struct.unpack("<16I", _padded(message, "<"))
    state = initial = {"a": 0x67452301, "b": 0xEFCDAB89, "c": 0x98BADCFE, "d": 0x10325476}
    order = ((1, 0), (5, 1), (3, 5), (7, 0))
    for phase, (stride, offset) in enumerate(order):
        runner = Interpreter(MD5_STEP.build(steps=16, round=phase + 1))
        streams = dict(state)
        for t in range(16):
            streams[f"m{t}"] = words[(stride * t + offset) % 16]
            streams[f"k{t}"] = int(abs(math.sin(16 * phase + t + 1)) * 2**32) & MASK
        shown = runner.run(_one(**streams)).outputs
        state = {name: int(shown[f"{name}_out"][0]) & MASK for name in "abcd"}
    digest = struct.pack("<4I", *((state[name] + initial[name]) & MASK for name in "abcd"))
    assert digest == hashlib.md5(message).digest()


@pytest.mark.parametrize("message", [b"", b"gridloom", b"a" * 55])
def test_sha1_steps_make_a_digest(message: bytes) -> None:
    words = list(struct.unpack(">16I", _padded(message, ">")))
    for t in range(16, 80):
        mixed = words[t - 3] ^ words[t - 8] ^ words[t - 14] ^ words[t - 16]
        words.append(((mixed << 1) | (mixed >> 31)) & MASK)
    initial = dict(zip("abcde", (0x67452301, 0xEFCDAB89, 0x98BADCFE, 0x10325476, 0xC3D2E1F0), strict=True))
    state = dict(initial)
    for phase in range(4):
        shown = interpret(
            SHA1_STEP.build(steps=20, round=phase + 1),
            _one(**state, **{f"w{t}": words[20 * phase + t] for t in range(20)}),
        ).outputs
        state = {name: int(shown[f"{name}_out"][0]) & MASK for name in "abcde"}
    digest = struct.pack(">5I", *((state[name] + initial[name]) & MASK for name in "abcde"))
    assert digest == hashlib.sha1(message).digest()


def test_aes_column_gives_the_standards_example() -> None:
    shown = interpret(AES_COLUMN.build(), _one(a0=0xDB, a1=0x13, a2=0x53, a3=0x45)).outputs
    assert [int(shown[f"m{k}"][0]) for k in range(4)] == [0x8E, 0x4D, 0xA1, 0xBC]


def test_ifft_stages_make_an_inverse_transform() -> None:
    n = 64
    rng = np.random.default_rng(5)
    spectrum = rng.integers(-8192, 8192, n) + 1j * rng.integers(-8192, 8192, n)
    reversed_bits = [int(f"{k:06b}"[::-1], 2) for k in range(n)]
    angle = 2 * np.pi * np.arange(n // 2) / n
    memory = {
        "re": spectrum.real[reversed_bits].astype(np.int64),
        "im": spectrum.imag[reversed_bits].astype(np.int64),
        "w_re": np.rint(np.cos(angle) * 2**TWIDDLE_BITS).astype(np.int64),
        "w_im": np.rint(np.sin(angle) * 2**TWIDDLE_BITS).astype(np.int64),
    }
    for stage in range(6):
        dfg = IFFT_TWO_LOOP.build(n=n, half=1 << stage)
        memory = interpret(dfg, Stimulus(iterations=n // 2, memory=memory)).memory
    samples = memory["re"] + 1j * memory["im"]
    # Six stages, each of which rounds down twice at most.
    assert np.abs(samples - np.fft.ifft(spectrum)).max() < 12


def test_dct8_is_a_cosine_transform() -> None:
    x = np.random.default_rng(6).integers(-128, 128, (8, 32))
    stimulus = Stimulus(iterations=32, streams={f"x{k}": x[k].astype(np.int64) for k in range(8)})
    shown = interpret(DCT8.build(), stimulus).outputs
    for k in range(8):
        angles = (2 * np.arange(8) + 1) * k * np.pi / 16
        exact = (math.sqrt(0.5) if k == 0 else 1.0) * np.cos(angles) @ x
        assert np.abs(shown[f"y{k}"] - exact).max() < 1.5


def test_idct8_gives_the_samples_of_a_cosine_transform() -> None:
    x = np.random.default_rng(8).integers(-128, 128, (8, 32)).astype(np.int64)
    coefficients = interpret(DCT8.build(), Stimulus(iterations=32, streams={f"x{k}": x[k] for k in range(8)})).outputs
    shown = interpret(IDCT8.build(), Stimulus(iterations=32, streams=dict(coefficients))).outputs
    for k in range(8):
        # Each coefficient was rounded down, and so is each sample.
        assert np.abs(shown[f"x{k}"] - x[k]).max() <= 3


@pytest.mark.parametrize("degree", [1, 3, 5])
def test_horner_bezier_is_near_the_sum_of_bernstein_polynomials(degree: int) -> None:
    stimulus = HORNER_BEZIER.stimulus(100, 4, degree=degree, dimensions=1)
    shown = interpret(HORNER_BEZIER.build(degree=degree, dimensions=1), stimulus).outputs["curve0"]
    t = stimulus.streams["t"] / 256
    terms = [math.comb(degree, k) * t**k * (1 - t) ** (degree - k) for k in range(degree + 1)]
    exact = sum(term * stimulus.streams[f"p{k}_0"] for k, term in enumerate(terms))
    # Powers of t are rounded down to 256ths, which points of up to 1,024 and binomials of up to 10 enlarge.
    assert np.abs(shown - exact).max() < 8 * degree**2


def test_bmp_header_has_the_bytes_that_struct_packs() -> None:
    streams = {"colours": [0, 256], "row_bytes": [1920, 300], "columns": [640, 299], "rows": [480, 70_000]}
    stimulus = Stimulus(iterations=2, streams={name: np.array(words) for name, words in streams.items()})
    shown = interpret(BMP_HEADER.build(), stimulus).outputs
    for k in range(2):
        offset = 54 + 4 * streams["colours"][k]
        fields = {"size": offset + streams["row_bytes"][k] * streams["rows"][k], "offset": offset}
        fields |= {"width": streams["columns"][k], "height": streams["rows"][k]}
        for name, value in fields.items():
            assert bytes(int(shown[f"{name}{byte}"][k]) for byte in range(4)) == struct.pack("<I", value)


def test_adpcm_gives_the_codes_of_the_standard_library() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        audioop = pytest.importorskip("audioop")
    stimulus = ADPCM.stimulus(200, 3)
    samples = stimulus.streams["sample"].astype("<i2").tobytes()
    packed, _ = audioop.lin2adpcm(samples, 2, None)
    codes = [half for byte in packed for half in (byte >> 4, byte & 15)]
    assert interpret(ADPCM.build(), stimulus).outputs["code"].tolist() == codes


def test_systolic_product_is_a_matrix_product() -> None:
    rows = np.array([[1, 2, 3], [0, 1, 0], [7, -5, 2]], dtype=np.int64)
    stimulus = Stimulus(iterations=3, streams={f"a{i}": rows[:, i].copy() for i in range(3)})
    dfg = SYSTOLIC_MATMUL.build(n=3)
    shown = interpret(dfg, stimulus).values
    got = np.array([shown[:, dfg.index[f"y{j}"]] for j in range(3)]).T
    bias = got[1] - systolic_matrix(3)[1]
    np.testing.assert_array_equal(got, rows @ systolic_matrix(3) + bias)


def test_kmeans_finds_the_centroids_themselves() -> None:
    points = {f"x{d}": np.array([centroid(j, d) for j in range(7)], dtype=np.int64) for d in range(3)}
    shown = interpret(KMEANS.build(k=7, n=3), Stimulus(iterations=7, streams=points)).outputs["nearest"]
    assert shown.tolist() == list(range(7))
