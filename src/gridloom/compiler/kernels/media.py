"""Kernels of media applications that benchmark suites of data-flow graphs take parts of: IDCT, Bezier curves, headers.

The UCSB ExPRESS suite has such graphs of MediaBench (``idctcol``, ``horner_bezier_surf``, ``write_bmp_header``). These
kernels are written from the algorithms, not from the suite's files: sizes and shapes are near to theirs, not the same.
"""

from __future__ import annotations

from math import comb
from typing import TYPE_CHECKING

import numpy as np

from gridloom.compiler.kernels.base import Kernel, KernelValues
from gridloom.compiler.kernels.building import connect, weighted_sum
from gridloom.compiler.kernels.reference import signed32
from gridloom.compiler.kernels.transforms import COSINE_BITS, dct_matrix
from gridloom.compiler.parameters import number
from gridloom.dfg.carriers import Words
from gridloom.dfg.model import DfgBuilder

if TYPE_CHECKING:
    from gridloom.dfg.interpreter import Stimulus

#: Bits after the point of a curve's parameter t, which lies in 0 to 1.
PARAMETER_BITS = 8

#: Bytes of a BMP file's header, of its information header, and of an entry of its colour map.
_FILE_HEADER, _INFORMATION, _COLOUR = 14, 40, 4


def _idct8(b: DfgBuilder) -> None:
    """Even-odd decomposition: both halves of the outputs are sums and differences of the same two 4-point products."""
    y = [b.input(f"y{k}") for k in range(8)]
    rows = dct_matrix(8)
    even = [weighted_sum(b, y[0::2], [int(rows[k, n]) for k in (0, 2, 4, 6)]) for n in range(4)]
    odd = [weighted_sum(b, y[1::2], [int(rows[k, n]) for k in (1, 3, 5, 7)]) for n in range(4)]
    for n in range(4):
        b.output(connect(b, "shr", b.add("add", even[n], odd[n]), COSINE_BITS + 2), f"x{n}")
        b.output(connect(b, "shr", b.add("sub", even[n], odd[n]), COSINE_BITS + 2), f"x{7 - n}")


def _idct8_model(stimulus: Stimulus) -> KernelValues:
    """The product with the transposed matrix of the DCT, in fixed point."""
    y = np.array([stimulus.streams[f"y{k}"] for k in range(8)])
    x = signed32(dct_matrix(8).T @ y) >> (COSINE_BITS + 2)
    return KernelValues(streams={f"x{n}": x[n] for n in range(8)})


def _feed_coefficients(stimulus: Stimulus, generator: np.random.Generator) -> None:
    """Coefficients as those of 8-bit samples."""
    for name in stimulus.streams:
        stimulus.streams[name] = generator.integers(-1024, 1024, stimulus.iterations)


IDCT8 = Kernel(
    "idct8", "8-point inverse DCT of a column by even-odd decomposition", _idct8, _idct8_model, feed=_feed_coefficients
)


def _bezier(b: DfgBuilder, degree: int, dimensions: int) -> None:
    """Horner's scheme in the Bernstein basis: each step multiplies by s = 1 - t and adds the next power of t.

    The powers of t and the weights are shared by all dimensions.
    """
    t = b.input("t")
    s = connect(b, "sub", b.const(1 << PARAMETER_BITS), t)
    weights = []
    power = t
    for k in range(1, degree + 1):
        if k > 1:
            power = connect(b, "shr", b.add("mul", power, t), PARAMETER_BITS)
        weights.append(power if k == degree else connect(b, "mul", power, comb(degree, k)))
    for d in range(dimensions):
        points = [b.input(f"p{k}_{d}") for k in range(degree + 1)]
        value = b.add("mul", points[0], s)
        for k, weight in enumerate(weights, start=1):
            value = b.add("add", value, b.add("mul", points[k], weight))
            if k < degree:
                value = b.add("mul", connect(b, "shr", value, PARAMETER_BITS), s)
        b.output(connect(b, "shr", value, PARAMETER_BITS), f"curve{d}")


def _bezier_model(stimulus: Stimulus, degree: int, dimensions: int) -> KernelValues:
    """The same scheme on whole streams, rounding down where the graph does."""
    t = stimulus.streams["t"]
    powers = [t]
    for _ in range(degree - 1):
        powers.append(signed32(powers[-1] * t) >> PARAMETER_BITS)
    streams: dict[str, Words] = {}
    for d in range(dimensions):
        points = [stimulus.streams[f"p{k}_{d}"] for k in range(degree + 1)]
        value = points[0]
        for k in range(1, degree + 1):
            value = signed32(value * ((1 << PARAMETER_BITS) - t) + points[k] * powers[k - 1] * comb(degree, k))
            value = value >> PARAMETER_BITS
        streams[f"curve{d}"] = value
    return KernelValues(streams=streams)


def _feed_curve(stimulus: Stimulus, generator: np.random.Generator, degree: int, dimensions: int) -> None:
    """A parameter between 0 and 1, and points of screen coordinates."""
    for name in stimulus.streams:
        least, most = (0, (1 << PARAMETER_BITS) + 1) if name == "t" else (-1024, 1024)
        stimulus.streams[name] = generator.integers(least, most, stimulus.iterations)


HORNER_BEZIER = Kernel(
    "horner_bezier",
    "point of a Bezier curve by Horner's scheme",
    _bezier,
    _bezier_model,
    {"degree": number(3, 1, 8, "degree of the curve"), "dimensions": number(2, 1, 4, "coordinates of a point")},
    feed=_feed_curve,
)


def _header_words(colours: Words, row_bytes: Words, width: Words, height: Words) -> dict[str, Words]:
    """The fields of more than a byte that depend on the picture."""
    offset = _FILE_HEADER + _INFORMATION + _COLOUR * colours
    return {"size": offset + row_bytes * height, "offset": offset, "width": width, "height": height}


def _bmp_header(b: DfgBuilder) -> None:
    """Sizes and offsets of a BMP file, each split into its four bytes."""
    colours, row_bytes, width, height = (b.input(name) for name in ("colours", "row_bytes", "columns", "rows"))
    offset = connect(b, "add", connect(b, "mul", colours, _COLOUR), _FILE_HEADER + _INFORMATION)
    size = b.add("add", offset, b.add("mul", row_bytes, height))
    for name, word in {"size": size, "offset": offset, "width": width, "height": height}.items():
        for k in range(4):
            shifted = connect(b, "lshr", word, 8 * k) if k else word
            b.output(connect(b, "and", shifted, 255), f"{name}{k}")


def _bmp_header_model(stimulus: Stimulus) -> KernelValues:
    """The bytes of the fields, low byte first."""
    words = _header_words(*(stimulus.streams[name] for name in ("colours", "row_bytes", "columns", "rows")))
    return KernelValues(
        streams={f"{name}{k}": (signed32(word) >> (8 * k)) & 255 for name, word in words.items() for k in range(4)}
    )


BMP_HEADER = Kernel("bmp_header", "bytes of the header of a BMP file", _bmp_header, _bmp_header_model)
