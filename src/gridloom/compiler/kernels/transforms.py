"""Fourier and cosine transforms: butterflies on streams, IFFT loops over memory, 4- and 8-point DCT; fixed-point.

Values are integers; twiddle factors and cosines are fixed-point constants or streams, and every product is shifted
back. Models compute the transforms by their definitions, not by the factored form of the graph.
"""

from __future__ import annotations

import math
from functools import partial
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from gridloom.compiler.kernels.base import Kernel, KernelValues
from gridloom.compiler.kernels.building import arrays, connect, counter, nest, weighted_sum
from gridloom.compiler.kernels.reference import copied_memory, signed32
from gridloom.compiler.parameters import choice
from gridloom.dfg.carriers import Words
from gridloom.dfg.model import DfgBuilder

if TYPE_CHECKING:
    from gridloom.dfg.interpreter import Stimulus

#: Fraction bits of twiddle factors and of the cosines of a DCT.
TWIDDLE_BITS = 14
COSINE_BITS = 12

Complex = tuple[str, str]
Pair = tuple[Words, Words]


# -- butterflies ----------------------------------------------------------------------------------------------------


def _rotate(b: DfgBuilder, x: Complex, w: Complex) -> Complex:
    """A point times a twiddle factor: four products, two sums, two shifts."""
    real = b.add("sub", b.add("mul", x[0], w[0]), b.add("mul", x[1], w[1]))
    imaginary = b.add("add", b.add("mul", x[0], w[1]), b.add("mul", x[1], w[0]))
    return connect(b, "shr", real, TWIDDLE_BITS), connect(b, "shr", imaginary, TWIDDLE_BITS)


def _plus(b: DfgBuilder, x: Complex, y: Complex) -> Complex:
    """The sum of two complex values."""
    return b.add("add", x[0], y[0]), b.add("add", x[1], y[1])


def _minus(b: DfgBuilder, x: Complex, y: Complex) -> Complex:
    """The difference of two complex values."""
    return b.add("sub", x[0], y[0]), b.add("sub", x[1], y[1])


def _input(b: DfgBuilder, name: str) -> Complex:
    """Two input streams as one complex value."""
    return b.input(f"{name}_re"), b.input(f"{name}_im")


def _output(b: DfgBuilder, value: Complex, name: str) -> None:
    """A complex value as two output streams."""
    b.output(value[0], f"{name}_re")
    b.output(value[1], f"{name}_im")


def _radix2(b: DfgBuilder) -> None:
    """One rotation, a sum and a difference."""
    x0, turned = _input(b, "x0"), _rotate(b, _input(b, "x1"), _input(b, "w1"))
    _output(b, _plus(b, x0, turned), "y0")
    _output(b, _minus(b, x0, turned), "y1")


def _radix4(b: DfgBuilder) -> None:
    """Three rotations, then two levels of sums and differences."""
    x0 = _input(b, "x0")
    x1, x2, x3 = (_rotate(b, _input(b, f"x{k}"), _input(b, f"w{k}")) for k in (1, 2, 3))
    even, even_difference = _plus(b, x0, x2), _minus(b, x0, x2)
    odd, odd_difference = _plus(b, x1, x3), _minus(b, x1, x3)
    # The difference is turned by -j: real and imaginary part change places, one changes sign.
    (er, ei), (dr, di) = even_difference, odd_difference
    _output(b, _plus(b, even, odd), "y0")
    _output(b, (b.add("add", er, di), b.add("sub", ei, dr)), "y1")
    _output(b, _minus(b, even, odd), "y2")
    _output(b, (b.add("sub", er, di), b.add("add", ei, dr)), "y3")


def _turned(s: dict[str, Words], k: int) -> Pair:
    """Point k after its rotation, in fixed point."""
    xr, xi, wr, wi = (s[f"{stem}{k}_{part}"] for stem in "xw" for part in ("re", "im"))
    return signed32(xr * wr - xi * wi) >> TWIDDLE_BITS, signed32(xr * wi + xi * wr) >> TWIDDLE_BITS


def _dft(stimulus: Stimulus, radix: int) -> KernelValues:
    """The transform by its definition: each output is the sum of all rotated points times powers of -j.

    ``radix`` is 2 or 4, so that all factors are powers of -j and the sums are exact.
    """
    s = stimulus.streams
    points: list[Pair] = [(s["x0_re"], s["x0_im"]), *(_turned(s, k) for k in range(1, radix))]
    # Powers of -j: (a + jb) -> (b - ja) and so on; a radix-2 transform uses every second one.
    streams: dict[str, Words] = {}
    for q in range(radix):
        real, imaginary = np.zeros_like(s["x0_re"]), np.zeros_like(s["x0_re"])
        for k, (a, c) in enumerate(points):
            quarter = (q * k * (4 // radix)) % 4
            turned = ((a, c), (c, -a), (-a, -c), (-c, a))[quarter]
            real, imaginary = real + turned[0], imaginary + turned[1]
        streams[f"y{q}_re"], streams[f"y{q}_im"] = signed32(real), signed32(imaginary)
    return KernelValues(streams=streams)


def _twiddle_factors(angles: NDArray[np.float64]) -> Pair:
    """Cosines and sines in fixed point."""
    real, imaginary = (np.rint((1 << TWIDDLE_BITS) * part(angles)).astype(np.int64) for part in (np.cos, np.sin))
    return real, imaginary


def _feed_butterfly(stimulus: Stimulus, rng: np.random.Generator) -> None:
    """Points of 16 bits and twiddle factors at random angles."""
    n = stimulus.iterations
    for name in stimulus.streams:
        if name.startswith("x"):
            stimulus.streams[name] = rng.integers(-(1 << 15), 1 << 15, n, dtype=np.int64)
    for k in range(1, 4):
        if f"w{k}_re" in stimulus.streams:
            real, imaginary = _twiddle_factors(rng.uniform(0, 2 * math.pi, n))
            stimulus.streams[f"w{k}_re"], stimulus.streams[f"w{k}_im"] = real, imaginary


FFT_RADIX2 = Kernel(
    "fft_radix2",
    "radix-2 FFT butterfly with its twiddle factor as a stream",
    _radix2,
    partial(_dft, radix=2),
    feed=_feed_butterfly,
)

FFT_RADIX4 = Kernel(
    "fft_radix4",
    "radix-4 FFT butterfly with three twiddle factors as streams",
    _radix4,
    partial(_dft, radix=4),
    feed=_feed_butterfly,
)


# -- IFFT loops over memory -----------------------------------------------------------------------------------------


def _ifft_arrays(b: DfgBuilder, n: int) -> None:
    """The arrays of points and of twiddle factors."""
    arrays(b, re=n, im=n, w_re=n // 2, w_im=n // 2)


def _ifft_body(b: DfgBuilder, upper: str, lower: str, twiddle: str) -> None:
    """One butterfly in place, halved: two complex points are loaded, combined and stored where they were.

    No two iterations of a stage touch the same word, so no order edges are needed.
    """
    x0 = (b.load("re", upper), b.load("im", upper))
    x1 = (b.load("re", lower), b.load("im", lower))
    turned = _rotate(b, x1, (b.load("w_re", twiddle), b.load("w_im", twiddle)))
    for index, (real, imaginary) in ((upper, _plus(b, x0, turned)), (lower, _minus(b, x0, turned))):
        b.store("re", index, connect(b, "shr", real, 1))
        b.store("im", index, connect(b, "shr", imaginary, 1))


def _ifft(b: DfgBuilder, n: int, half: int) -> None:
    """The butterflies of the first group of a stage."""
    _ifft_arrays(b, n)
    j = counter(b, id="j")
    _ifft_body(b, j, connect(b, "add", j, half), connect(b, "mul", j, n // (2 * half)))


def _ifft_two_loop(b: DfgBuilder, n: int, half: int) -> None:
    """The butterflies of all groups of a stage, as one loop."""
    _ifft_arrays(b, n)
    group, j = nest(b, {"group": n // (2 * half), "j": half})
    upper = b.add("add", connect(b, "mul", group, 2 * half), j)
    _ifft_body(b, upper, connect(b, "add", upper, half), connect(b, "mul", j, n // (2 * half)))


def _stage_model(stimulus: Stimulus, n: int, half: int) -> KernelValues:
    """The butterflies of a stage one after the other, on Python integers."""
    memory = copied_memory(stimulus)
    re, im = memory["re"], memory["im"]
    for t in range(stimulus.iterations):
        group, j = divmod(t, half)
        u, w = group * 2 * half + j, j * (n // (2 * half))
        v = u + half
        wr, wi = memory["w_re"][w], memory["w_im"][w]
        tr = signed32(int(re[v] * wr - im[v] * wi)) >> TWIDDLE_BITS
        ti = signed32(int(re[v] * wi + im[v] * wr)) >> TWIDDLE_BITS
        ur, ui = int(re[u]), int(im[u])
        re[u], im[u] = signed32(ur + tr) >> 1, signed32(ui + ti) >> 1
        re[v], im[v] = signed32(ur - tr) >> 1, signed32(ui - ti) >> 1
    return KernelValues(memory=memory)


def _feed_ifft(stimulus: Stimulus, rng: np.random.Generator, n: int, half: int) -> None:
    """Points of 16 bits, and the twiddle factors of the transform."""
    for name in ("re", "im"):
        stimulus.memory[name] = rng.integers(-(1 << 15), 1 << 15, n, dtype=np.int64)
    stimulus.memory["w_re"], stimulus.memory["w_im"] = _twiddle_factors(2 * math.pi * np.arange(n // 2) / n)


def _ifft_rule(n: int, half: int) -> str | None:
    """What is wrong with the size and the stage, or None."""
    return f"half = {half} needs n >= {2 * half}, found n = {n}" if 2 * half > n else None


_IFFT_PARAMETERS = {
    "n": choice(256, [2**k for k in range(3, 13)], "points of the transform"),
    "half": choice(128, [2**k for k in range(12)], "distance of a butterfly's two points: the stage"),
}

IFFT = Kernel(
    "ifft",
    "inner loop of a radix-2 IFFT: the butterflies of a stage's first group, in place",
    _ifft,
    _stage_model,
    _IFFT_PARAMETERS,
    feed=_feed_ifft,
    limit=lambda n, half: half,
    rule=_ifft_rule,
)

IFFT_TWO_LOOP = Kernel(
    "ifft_two_loop",
    "the two inner loops of a radix-2 IFFT as one: all butterflies of a stage, in place",
    _ifft_two_loop,
    _stage_model,
    _IFFT_PARAMETERS,
    feed=_feed_ifft,
    limit=lambda n, half: n // 2,
    rule=_ifft_rule,
)


# -- DCT ------------------------------------------------------------------------------------------------------------


def _cosine(k: int, points: int) -> int:
    """cos(k pi / (2 points)) in fixed point."""
    return round((1 << COSINE_BITS) * math.cos(k * math.pi / (2 * points)))


def _dct4(b: DfgBuilder) -> None:
    """One level of sums and differences, then one product for each even output and two for each odd one."""
    x = [b.input(f"x{k}") for k in range(4)]
    s0, s1 = b.add("add", x[0], x[3]), b.add("add", x[1], x[2])
    d = [b.add("sub", x[0], x[3]), b.add("sub", x[1], x[2])]
    c1, c2, c3 = (_cosine(k, 4) for k in (1, 2, 3))
    sums = [
        connect(b, "mul", b.add("add", s0, s1), c2),
        weighted_sum(b, d, [c1, c3]),
        connect(b, "mul", b.add("sub", s0, s1), c2),
        weighted_sum(b, d, [c3, -c1]),
    ]
    for k, total in enumerate(sums):
        b.output(connect(b, "shr", total, COSINE_BITS), f"y{k}")


def _dct8(b: DfgBuilder) -> None:
    """Even-odd decomposition: 8 sums and differences, then a 4-point transform and a 4 x 4 product.

    Sums of mirrored samples make the even outputs, differences the odd ones, which halves the products of the
    definition.
    """
    x = [b.input(f"x{k}") for k in range(8)]
    s = [b.add("add", x[k], x[7 - k]) for k in range(4)]
    d = [b.add("sub", x[k], x[7 - k]) for k in range(4)]
    e0, e1 = b.add("add", s[0], s[3]), b.add("add", s[1], s[2])
    f = [b.add("sub", s[0], s[3]), b.add("sub", s[1], s[2])]
    c = [_cosine(k, 8) for k in range(8)]
    sums = {
        0: connect(b, "mul", b.add("add", e0, e1), c[4]),
        2: weighted_sum(b, f, [c[2], c[6]]),
        4: connect(b, "mul", b.add("sub", e0, e1), c[4]),
        6: weighted_sum(b, f, [c[6], -c[2]]),
        1: weighted_sum(b, d, [c[1], c[3], c[5], c[7]]),
        3: weighted_sum(b, d, [c[3], -c[7], -c[1], -c[5]]),
        5: weighted_sum(b, d, [c[5], -c[1], c[7], c[3]]),
        7: weighted_sum(b, d, [c[7], -c[5], c[3], -c[1]]),
    }
    for k in range(8):
        b.output(connect(b, "shr", sums[k], COSINE_BITS), f"y{k}")


def dct_matrix(points: int) -> Words:
    """The DCT-II as a matrix of fixed-point cosines; row 0 is scaled by cos(pi/4) as usual.

    >>> dct_matrix(4)[0].tolist()
    [2896, 2896, 2896, 2896]
    """
    rows = []
    for k in range(points):
        angles = [(2 * n + 1) * k if k else points // 2 for n in range(points)]
        rows.append([round((1 << COSINE_BITS) * math.cos(a * math.pi / (2 * points))) for a in angles])
    return np.array(rows, dtype=np.int64)


def _dct_model(stimulus: Stimulus, points: int) -> KernelValues:
    """The product with the whole matrix, in fixed point."""
    x = np.array([stimulus.streams[f"x{k}"] for k in range(points)])
    y = signed32(dct_matrix(points) @ x) >> COSINE_BITS
    return KernelValues(streams={f"y{k}": y[k] for k in range(points)})


DCT4 = Kernel("dct4", "4-point DCT of a row", _dct4, partial(_dct_model, points=4))

DCT8 = Kernel("dct8", "8-point DCT of a row by even-odd decomposition", _dct8, partial(_dct_model, points=8))
