"""Pixel kernels on streams of 8-bit channels.

Weights are in 256ths, so that a shift replaces the division. Models compute the same sums on whole streams.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from gridloom.compiler.kernels.base import Kernel, KernelValues
from gridloom.compiler.kernels.building import Past, connect, previous, weighted_sum
from gridloom.compiler.kernels.reference import feed_bytes, past, signed32
from gridloom.compiler.parameters import number
from gridloom.dfg.carriers import Words
from gridloom.dfg.model import DfgBuilder

if TYPE_CHECKING:
    from gridloom.dfg.interpreter import Stimulus

GRAY = (77, 150, 29)
CHROMA = {"cb": (-43, -85, 128), "cr": (128, -107, -21)}
SEPIA = {"r": (101, 197, 48), "g": (89, 176, 43), "b": (70, 137, 34)}


def _mixed(b: DfgBuilder, pixel: list[str], factors: tuple[int, ...]) -> str:
    """A weighted sum of the channels in 256ths."""
    return connect(b, "shr", weighted_sum(b, pixel, factors), 8)


def _pixel(b: DfgBuilder) -> list[str]:
    """The three input streams of an RGB pixel."""
    return [b.input(name) for name in ("red", "green", "blue")]


def _blend(stimulus: Stimulus, factors: tuple[int, ...]) -> Words:
    """What a weighted sum of the channels in 256ths should be."""
    channels = np.array([stimulus.streams[name] for name in ("red", "green", "blue")])
    total: Words = np.array(factors, dtype=np.int64) @ channels
    return signed32(total) >> 8


def _gray(b: DfgBuilder) -> None:
    """One weighted sum."""
    b.output(_mixed(b, _pixel(b), GRAY), "gray")


GRAY_KERNEL = Kernel(
    "gray",
    "luma of an RGB pixel",
    _gray,
    lambda stimulus: KernelValues(streams={"gray": _blend(stimulus, GRAY)}),
    feed=feed_bytes,
)


def _rgb_to_ycc(b: DfgBuilder) -> None:
    """Three weighted sums; chroma is shifted to the middle of a byte."""
    pixel = _pixel(b)
    b.output(_mixed(b, pixel, GRAY), "y")
    for name, factors in CHROMA.items():
        b.output(connect(b, "add", _mixed(b, pixel, factors), 128), name)


def _rgb_to_ycc_model(stimulus: Stimulus) -> KernelValues:
    """Luma and both chroma values of each pixel."""
    chroma = {name: signed32(_blend(stimulus, factors) + 128) for name, factors in CHROMA.items()}
    return KernelValues(streams={"y": _blend(stimulus, GRAY), **chroma})


RGB_TO_YCC = Kernel(
    "rgb_to_ycc", "RGB pixel to luma and two chroma values", _rgb_to_ycc, _rgb_to_ycc_model, feed=feed_bytes
)


def _sepia(b: DfgBuilder) -> None:
    """Three weighted sums, each clamped to a byte."""
    pixel = _pixel(b)
    for name, factors in SEPIA.items():
        b.output(connect(b, "min", _mixed(b, pixel, factors), 255), f"{name}_out")


def _sepia_model(stimulus: Stimulus) -> KernelValues:
    """The clamped sums of each pixel."""
    toned = {name: np.minimum(_blend(stimulus, factors), 255) for name, factors in SEPIA.items()}
    return KernelValues(streams={f"{name}_out": words for name, words in toned.items()})


SEPIA_KERNEL = Kernel("sepia", "sepia tone of an RGB pixel, clamped to a byte", _sepia, _sepia_model, feed=feed_bytes)


_CHANNELS = {"channels": number(3, 1, 8, "channels of a pixel")}


def _alpha_blend(b: DfgBuilder, channels: int) -> None:
    """Each channel is front times alpha plus back times 255 - alpha, divided by 255 without a divider."""
    alpha = b.input("alpha")
    rest = connect(b, "sub", 255, alpha)
    for k in range(channels):
        front, back = b.add("mul", b.input(f"front{k}"), alpha), b.add("mul", b.input(f"back{k}"), rest)
        rounded = connect(b, "add", b.add("add", front, back), 128)
        # (t + t/256) / 256 is t/255, rounded, for every t that two bytes can make.
        b.output(connect(b, "shr", b.add("add", rounded, connect(b, "shr", rounded, 8)), 8), f"blend{k}")


def _alpha_blend_model(stimulus: Stimulus, channels: int) -> KernelValues:
    """The exact quotient, rounded to nearest."""
    s = stimulus.streams
    streams = {}
    for k in range(channels):
        mixed = s[f"front{k}"] * s["alpha"] + s[f"back{k}"] * (255 - s["alpha"])
        streams[f"blend{k}"] = (2 * mixed + 255) // 510
    return KernelValues(streams=streams)


ALPHA_BLEND = Kernel(
    "alpha_blend",
    "front over back by an alpha of 0 to 255, rounded to nearest",
    _alpha_blend,
    _alpha_blend_model,
    _CHANNELS,
    feed=feed_bytes,
)


def _sobel(b: DfgBuilder) -> None:
    """Three rows come as streams; the two columns before are those of one and two iterations ago."""
    rows = [b.input(name) for name in ("above", "here", "below")]
    across = [connect(b, "sub", row, Past(row, 2, (0, 0))) for row in rows]
    gx = b.add("add", b.add("add", across[0], across[2]), connect(b, "shl", across[1], 1))
    down = b.add("sub", rows[2], rows[0])
    ends = connect(b, "add", down, Past(down, 2, (0, 0)))
    gy = b.add("add", ends, connect(b, "shl", previous(down), 1))
    magnitude = b.add("add", b.add("abs", gx), b.add("abs", gy))
    b.output(connect(b, "min", magnitude, 255), "edge")


def _sobel_model(stimulus: Stimulus) -> KernelValues:
    """Both gradients as products of the 3 x 3 window with Sobel's kernel and its transpose."""
    window = np.array([[past(stimulus.streams[name], age) for age in (2, 1, 0)] for name in ("above", "here", "below")])
    kernel = np.array([[-1, 0, 1], [-2, 0, 2], [-1, 0, 1]], dtype=np.int64)
    gx, gy = np.einsum("ijt,ij->t", window, kernel), np.einsum("ijt,ji->t", window, kernel)
    return KernelValues(streams={"edge": np.minimum(np.abs(gx) + np.abs(gy), 255)})


SOBEL = Kernel(
    "sobel",
    "edge strength |gx| + |gy| over three rows of pixels, clamped to a byte",
    _sobel,
    _sobel_model,
    feed=feed_bytes,
)
