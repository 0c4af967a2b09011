"""Kernels in the 24-bit domain of the CMA arrays, sized like the applications of the VPCMA partitioning evaluation.

Inputs are loads, outputs are stores, constants fit 17 bits. An add keeps its carry in bit 24, so that an output made
by an add shows 25 bits; every op reads the lower 24 only, except ``sel``, which is steered by the carry.

Each model computes in another way than its graph (products by definition, a matrix, Python integers) and shows the
carry where the graph does.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Final

import numpy as np

from gridloom.compiler.kernels.base import Kernel, KernelValues
from gridloom.compiler.kernels.building import connect
from gridloom.compiler.kernels.reference import feed_bytes, streams_within
from gridloom.dfg.carriers import Words
from gridloom.dfg.model import DfgBuilder

if TYPE_CHECKING:
    from gridloom.dfg.interpreter import Stimulus

MASK: Final = 0xFFFFFF


def _signed24(value: Words) -> Words:
    """The low 24 bits, sign-extended."""
    return ((value + 0x800000) & MASK) - 0x800000


def _sum24(a: Words, b: Words) -> Words:
    """What an add shows: the sum of two 24-bit words with its carry."""
    return (a & MASK) + (b & MASK)


# -- AES ------------------------------------------------------------------------------------------------------------


def _doubled(b: DfgBuilder, byte: str) -> str:
    """A byte times x in GF(2^8); the comparison's carry chooses the reduced value."""
    twice = b.add("add", byte, byte)
    reduced = connect(b, "xor", connect(b, "and", twice, 0xFF), 0x1B)
    return b.add("sel", connect(b, "gt", twice, 0xFF), reduced)


def _aes(b: DfgBuilder) -> None:
    """MixColumns by doubled sums of neighbours, and the exclusive or with the round key above each byte."""
    words = [b.input(f"w{k}") for k in range(4)]
    a = [connect(b, "and", word, 0xFF) for word in words]
    keys = [connect(b, "sr", word, 8) for word in words]
    pairs = [b.add("xor", a[k], a[(k + 1) % 4]) for k in range(4)]
    everything = b.add("xor", pairs[0], pairs[2])
    for k in range(4):
        mixed = b.add("xor", b.add("xor", a[k], everything), _doubled(b, pairs[k]))
        b.output(b.add("xor", mixed, keys[k]), f"m{k}")


def _aes_model(stimulus: Stimulus) -> KernelValues:
    """Products with 2 and 3 by the definition, then the round key."""
    words = [stimulus.streams[f"w{k}"] for k in range(4)]
    a = [word % 256 for word in words]
    tripled = [np.array([_gf_times(3, int(byte)) for byte in column], dtype=np.int64) for column in a]
    doubled = [np.array([_gf_times(2, int(byte)) for byte in column], dtype=np.int64) for column in a]
    streams = {}
    for k in range(4):
        mixed = doubled[k] ^ tripled[(k + 1) % 4] ^ a[(k + 2) % 4] ^ a[(k + 3) % 4]
        streams[f"m{k}"] = mixed ^ (words[k] // 256)
    return KernelValues(streams=streams)


def _gf_times(factor: int, byte: int) -> int:
    """A byte times 2 or 3 modulo the polynomial of AES."""
    twice = byte * 2
    if twice > 255:
        twice ^= 0x11B
    return twice ^ byte if factor == 3 else twice


CMA_AES = Kernel(
    "cma_aes",
    "AES MixColumns and AddRoundKey of a column; a word holds a state byte and above it a key byte",
    _aes,
    _aes_model,
    domain="cma24",
    feed=streams_within(0, 1 << 16),
)


# -- radix-4 FFT ----------------------------------------------------------------------------------------------------

FRACTION = 10
COS_8TH, SIN_8TH = (round((1 << FRACTION) * f(math.pi / 8)) for f in (math.cos, math.sin))
COS_4TH = round((1 << FRACTION) * math.cos(math.pi / 4))


def _halved(b: DfgBuilder, real: str, imaginary: str) -> tuple[str, str]:
    """Fixed-point parts as integers, halved and rounded."""
    parts = [connect(b, "sra", connect(b, "add", part, 1 << FRACTION), FRACTION + 1) for part in (real, imaginary)]
    return parts[0], parts[1]


def _turned(b: DfgBuilder, x: tuple[str, str], c: int, s: int) -> tuple[str, str]:
    """x times c - js, halved; where c = s the two products of each part are enough."""
    if c == s:
        p, q = connect(b, "mult", x[0], c), connect(b, "mult", x[1], c)
        return _halved(b, b.add("add", p, q), b.add("sub", q, p))
    real = b.add("add", connect(b, "mult", x[0], c), connect(b, "mult", x[1], s))
    imaginary = b.add("sub", connect(b, "mult", x[1], c), connect(b, "mult", x[0], s))
    return _halved(b, real, imaginary)


def _radix4(b: DfgBuilder) -> None:
    """Three rotations by constants, then two levels of sums and differences of real and imaginary parts."""
    x = [(b.input(f"x{k}_re"), b.input(f"x{k}_im")) for k in range(4)]
    x0 = (connect(b, "sra", x[0][0], 1), connect(b, "sra", x[0][1], 1))
    x1, x2, x3 = (
        _turned(b, x[k], c, s) for k, c, s in ((1, COS_8TH, SIN_8TH), (2, COS_4TH, COS_4TH), (3, SIN_8TH, COS_8TH))
    )
    even = [b.add("add", x0[part], x2[part]) for part in (0, 1)]
    even_difference = [b.add("sub", x0[part], x2[part]) for part in (0, 1)]
    odd = [b.add("add", x1[part], x3[part]) for part in (0, 1)]
    odd_difference = [b.add("sub", x1[part], x3[part]) for part in (0, 1)]
    for part, name in enumerate(("re", "im")):
        plus, minus = ("add", "sub") if part == 0 else ("sub", "add")
        b.output(b.add("add", even[part], odd[part]), f"y0_{name}")
        b.output(b.add(plus, even_difference[part], odd_difference[1 - part]), f"y1_{name}")
        b.output(b.add("sub", even[part], odd[part]), f"y2_{name}")
        b.output(b.add(minus, even_difference[part], odd_difference[1 - part]), f"y3_{name}")


def _radix4_model(stimulus: Stimulus) -> KernelValues:
    """The butterfly on exact products, rounded where the graph rounds."""
    points = [[_signed24(stimulus.streams[f"x{k}_{part}"]) for part in ("re", "im")] for k in range(4)]
    turned = [[points[0][0] >> 1, points[0][1] >> 1]]
    for k in (1, 2, 3):
        c = round((1 << FRACTION) * math.cos(k * math.pi / 8))
        s = round((1 << FRACTION) * math.sin(k * math.pi / 8))
        re, im = points[k]
        exact = (re * c + im * s, im * c - re * s)
        turned.append([_signed24(part + (1 << FRACTION)) >> (FRACTION + 1) for part in exact])
    (ar, ai), (br, bi), (cr, ci), (dr, di) = turned
    # Outputs made by an add show its carry, those made by a sub do not.
    return KernelValues(
        streams={
            "y0_re": _sum24(ar + cr, br + dr),
            "y0_im": _sum24(ai + ci, bi + di),
            "y1_re": _sum24(ar - cr, bi - di),
            "y1_im": (ai - ci - br + dr) & MASK,
            "y2_re": (ar - br + cr - dr) & MASK,
            "y2_im": (ai - bi + ci - di) & MASK,
            "y3_re": (ar - cr - bi + di) & MASK,
            "y3_im": _sum24(ai - ci, br - dr),
        }
    )


def _feed_radix4(stimulus: Stimulus, rng: np.random.Generator) -> None:
    """Points of 12 bits."""
    for name in stimulus.streams:
        stimulus.streams[name] = rng.integers(-2048, 2048, stimulus.iterations, dtype=np.int64) & MASK


CMA_RADIX4_FFT = Kernel(
    "cma_radix4_fft",
    "radix-4 FFT butterfly with the twiddle factors of a 16-point transform, scaled by a half",
    _radix4,
    _radix4_model,
    domain="cma24",
    feed=_feed_radix4,
)


# -- RGB to YCC -----------------------------------------------------------------------------------------------------

#: Studio-range luma in 256ths, chroma in 128ths.
LUMA = (66, 129, 25)
CHROMA_OFFSET = (128 << 7) + 64


def _rgb_to_ycc(b: DfgBuilder) -> None:
    """Unpacks three bytes, makes three weighted sums, and packs them again."""
    pixel = b.input("rgb")
    red = connect(b, "sr", pixel, 16)
    green = connect(b, "sr", connect(b, "and", pixel, 0xFF00), 8)
    blue = connect(b, "and", pixel, 0xFF)
    luma = b.add("add", connect(b, "mult", red, LUMA[0]), connect(b, "mult", green, LUMA[1]))
    luma = b.add("add", luma, connect(b, "mult", blue, LUMA[2]))
    y = connect(b, "add", connect(b, "sr", connect(b, "add", luma, 128), 8), 16)
    cb = _chroma(b, (blue, 56), (red, 19), (green, 37))
    cr = _chroma(b, (red, 56), (green, 47), (blue, 9))
    upper = b.add("or", connect(b, "sl", y, 16), connect(b, "sl", cb, 8))
    b.output(b.add("or", upper, cr), "ycc")


def _chroma(b: DfgBuilder, plus: tuple[str, int], *minus: tuple[str, int]) -> str:
    """One channel's product less those of the others, shifted to the middle of a byte."""
    total = connect(b, "mult", *plus)
    for channel, factor in minus:
        total = b.add("sub", total, connect(b, "mult", channel, factor))
    return connect(b, "sr", connect(b, "add", total, CHROMA_OFFSET), 7)


def _rgb_to_ycc_model(stimulus: Stimulus) -> KernelValues:
    """The three sums as one product with a matrix."""
    pixel = stimulus.streams["rgb"]
    channels = np.array([pixel // 65536, pixel // 256 % 256, pixel % 256])
    rows: Words = np.array([[2 * 33, 129, 25], [-19, -37, 56], [56, -47, -9]], dtype=np.int64) @ channels
    y, cb, cr = (rows[0] + 128) // 256 + 16, (rows[1] + 64) // 128 + 128, (rows[2] + 64) // 128 + 128
    return KernelValues(streams={"ycc": y * 65536 + cb * 256 + cr})


CMA_RGB_TO_YCC = Kernel(
    "cma_rgb_to_ycc",
    "packed RGB pixel to packed studio-range luma and chroma",
    _rgb_to_ycc,
    _rgb_to_ycc_model,
    domain="cma24",
)


# -- DCT ------------------------------------------------------------------------------------------------------------

DCT_FRACTION, DCT_SCALE = 11, 2


def _root2(k: int) -> float:
    """The k-th cosine of the transform, times the square root of 2."""
    return math.sqrt(2) * math.cos(k * math.pi / 16)


def _fixed(value: float) -> int:
    """A factor in fixed point."""
    return round(value * (1 << DCT_FRACTION))


#: Factors of the odd outputs (k = 1, 3, 5, 7), and of the rotation that makes outputs 2 and 6.
ODD = tuple(_fixed(_root2(k)) for k in (1, 3, 5, 7))
COMMON, FIRST, SECOND = _fixed(_root2(6)), _fixed(_root2(2) - _root2(6)), _fixed(_root2(2) + _root2(6))


def _descaled(b: DfgBuilder, value: str) -> str:
    """Fixed point to integer, rounded and scaled."""
    half = 1 << (DCT_FRACTION + DCT_SCALE - 1)
    return connect(b, "sra", connect(b, "add", value, half), DCT_FRACTION + DCT_SCALE)


def _dct8(b: DfgBuilder) -> None:
    """The even-odd decomposition of an 8-point DCT.

    Outputs 2 and 6 share a product, each odd output takes four. The input is pixels; their level shift takes one
    subtraction: 8 * 128 from the sum.
    """
    x = [b.input(f"x{k}") for k in range(8)]
    s = [b.add("add", x[k], x[7 - k]) for k in range(4)]
    d = [b.add("sub", x[k], x[7 - k]) for k in range(4)]
    e = [b.add("add", s[k], s[3 - k]) for k in range(2)]
    f = [b.add("sub", s[k], s[3 - k]) for k in range(2)]
    total = connect(b, "sub", b.add("add", e[0], e[1]), 8 * 128)
    b.output(connect(b, "sra", total, DCT_SCALE), "y0")
    b.output(connect(b, "sra", b.add("sub", e[0], e[1]), DCT_SCALE), "y4")
    common = connect(b, "mult", b.add("add", f[0], f[1]), COMMON)
    b.output(_descaled(b, b.add("add", common, connect(b, "mult", f[0], FIRST))), "y2")
    b.output(_descaled(b, b.add("sub", common, connect(b, "mult", f[1], SECOND))), "y6")
    c1, c3, c5, c7 = ODD
    rows = {1: (c1, c3, c5, c7), 3: (c3, -c7, -c1, -c5), 5: (c5, -c1, c7, c3), 7: (c7, -c5, c3, -c1)}
    for k, factors in rows.items():
        products = [connect(b, "mult", d[n], abs(factor)) for n, factor in enumerate(factors)]
        value = products[0]
        for product, factor in zip(products[1:], factors[1:], strict=True):
            value = b.add("add" if factor > 0 else "sub", value, product)
        b.output(_descaled(b, value), f"y{k}")


def _dct8_model(stimulus: Stimulus) -> KernelValues:
    """Each output as the sum of all samples times fixed-point weights."""
    x = np.array([_signed24(stimulus.streams[f"x{n}"]) for n in range(8)])
    streams = {}
    for k in range(8):
        if k % 4 == 0:
            signs = np.array([round(_root2(0) * math.cos((2 * n + 1) * k * math.pi / 16)) for n in range(8)])
            level = 1024 if k == 0 else 0
            streams[f"y{k}"] = (_signed24(signs @ x - level) >> DCT_SCALE) & MASK
            continue
        exact: Words = np.array([_factor(k, n) for n in range(8)], dtype=np.int64) @ x
        rounded = _signed24(exact + (1 << (DCT_FRACTION + DCT_SCALE - 1)))
        streams[f"y{k}"] = (rounded >> (DCT_FRACTION + DCT_SCALE)) & MASK
    return KernelValues(streams=streams)


def _factor(k: int, n: int) -> int:
    """The weight of sample n in output k: a fixed-point cosine; for k = 2 and 6 what the shared product makes of it."""
    if k % 2:
        return _fixed(math.sqrt(2) * math.cos((2 * n + 1) * k * math.pi / 16))
    outer, inner = (COMMON + FIRST, COMMON) if k == 2 else (COMMON, COMMON - SECOND)
    return (outer, inner, -inner, -outer)[min(n, 7 - n)]


CMA_DCT8 = Kernel(
    "cma_dct8",
    "8-point DCT of a row of pixels with level shift and rounding, scaled by sqrt(8) / 4",
    _dct8,
    _dct8_model,
    domain="cma24",
    feed=feed_bytes,
)


# -- MD5 ------------------------------------------------------------------------------------------------------------

#: Three quarters of MD5's amounts, rounded up: the words have 24 bits, not 32.
ROTATIONS = (5, 9, 13, 17)


def _sine(step: int) -> int:
    """The upper 16 bits of MD5's constant."""
    return int(abs(math.sin(step + 1)) * 65536)


def _md5(b: DfgBuilder) -> None:
    """The first round, with amounts and constants scaled to 24 bits; all 16 message words are inputs.

    A rotation is two shifts and an ``or``, since the ALU has none. The result is no MD5, but has its dependences.
    """
    state = {name: b.input(name) for name in ("a", "b", "c", "d")}
    for t in range(16):
        message = b.input(f"m{t}")
        chosen = b.add("and", state["b"], state["c"])
        other = b.add("and", connect(b, "xor", state["b"], -1), state["d"])
        total = b.add("add", b.add("add", state["a"], b.add("or", chosen, other)), message)
        total = connect(b, "add", total, _sine(t))
        amount = ROTATIONS[t % 4]
        turned = b.add("or", connect(b, "sl", total, amount), connect(b, "sr", total, 24 - amount))
        new = b.add("add", turned, state["b"])
        state = {"a": state["d"], "b": new, "c": state["b"], "d": state["c"]}
    for name, node in state.items():
        b.output(node, f"{name}_out")


def _md5_model(stimulus: Stimulus) -> KernelValues:
    """The round with its rotations as products, on NumPy words."""
    s = stimulus.streams
    a, b, c, d = (s[name] for name in ("a", "b", "c", "d"))
    shown: list[Words] = []
    for t in range(16):
        mixed = d ^ (b & (c ^ d))
        total = (a + mixed + s[f"m{t}"] + int(65536 * abs(math.sin(t + 1)))) & MASK
        # A rotation is a product whose upper half comes back in below.
        moved = total * 2 ** (5, 9, 13, 17)[t % 4]
        shown.append(_sum24(moved % 2**24 + moved // 2**24, b))
        a, b, c, d = d, shown[-1] & MASK, b, c
    return KernelValues(streams={f"{name}_out": shown[-age] for age, name in ((4, "a"), (3, "d"), (2, "c"), (1, "b"))})


CMA_MD5 = Kernel("cma_md5", "the 16 steps of MD5's first round on 24-bit words", _md5, _md5_model, domain="cma24")
