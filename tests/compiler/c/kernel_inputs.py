"""Random arguments of the functions in ``examples/kernels``, sized for at least a thousand iterations of the loop."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

N = 1000
Rng = np.random.Generator
Arguments = dict[str, object]


def ints(rng: Rng, shape, low: int = -(1 << 31), high: int = 1 << 31, kind: str = "i4") -> np.ndarray:
    """Random elements; of a type's full range unless bounds are given."""
    info = np.iinfo(kind)
    return rng.integers(max(low, info.min), min(high, info.max + 1), shape, dtype=np.int64).astype(kind)


def bytes_(rng: Rng, shape) -> np.ndarray:
    return ints(rng, shape, kind="u1")


def shorts(rng: Rng, shape) -> np.ndarray:
    return ints(rng, shape, kind="i2")


def words(rng: Rng, shape) -> np.ndarray:
    return ints(rng, shape, kind="u4")


def singles(rng: Rng, shape) -> np.ndarray:
    return rng.normal(0, 100, shape).astype("f4")


def zeros(shape, kind: str = "i4") -> np.ndarray:
    return np.zeros(shape, kind)


def one(rng: Rng, low: int = -(1 << 31), high: int = 1 << 31) -> int:
    return int(rng.integers(low, high))


def shortened(arguments: Arguments, n: int) -> Arguments:
    """The same data with a count of at most ``n``."""
    counts = ("n", "rows", "rounds", "steps", "end")
    return {k: min(v, n) if k in counts and isinstance(v, int) else v for k, v in arguments.items()}


INPUTS: dict[str, Callable[[Rng], Arguments]] = {
    "adpcm_decode": lambda r: {"code": bytes_(r, N), "sample": zeros(N, "i2"), "n": N},
    "adpcm_encode": lambda r: {"sample": shorts(r, N), "code": zeros(N, "u1"), "n": N},
    "aes_column": lambda r: {"in": bytes_(r, (N, 4)), "out": zeros((N, 4), "u1"), "n": N},
    "alpha_blend": lambda r: {
        "front": bytes_(r, N), "back": bytes_(r, N), "alpha": bytes_(r, N), "out": zeros(N, "u1"), "n": N
    },
    "atax": lambda r: {"a": ints(r, (32, 32)), "x": ints(r, 32), "y": ints(r, 32), "rows": 32},
    "bicg": lambda r: {
        "a": ints(r, (32, 32)), "s": ints(r, 32), "q": zeros(32), "p": ints(r, 32), "r": ints(r, 32), "rows": 32
    },
    "bitcount": lambda r: {"words": words(r, N), "counts": zeros(N, "u1"), "n": N},
    "blowfish_round": lambda r: {
        "key": words(r, N), "box": words(r, (4, 256)), "block": words(r, 2), "rounds": N
    },
    "conv3x3": lambda r: {"in": bytes_(r, N + 130), "out": zeros(N, "i2"), "n": N},
    "crc32": lambda r: {"data": bytes_(r, N), "n": N},
    "dct8": lambda r: {"in": ints(r, (N, 8)), "out": zeros((N, 4)), "rows": N},
    "dijkstra_relax": lambda r: {
        "weight": ints(r, N, -5, 100), "distance": ints(r, N, 0, 300), "before": zeros(N), "node": 7,
        "here": one(r, 0, 200), "n": N,
    },
    "fft_butterfly": lambda r: {
        "a": ints(r, (N, 2)), "b": ints(r, (N, 2)), "w": ints(r, (N, 2)), "up": zeros((N, 2)), "down": zeros((N, 2)),
        "n": N,
    },
    "fir": lambda r: {"x": shorts(r, N + 7), "c": shorts(r, 8), "y": zeros(N, "i2"), "n": N},
    "gemm": lambda r: {
        "alpha": float(np.float32(r.normal())), "beta": float(np.float32(r.normal())), "a": singles(r, (16, 16)),
        "b": singles(r, (16, 16)), "c": singles(r, (16, 16)),
    },
    "gsm_ltp": lambda r: {
        "residual": shorts(r, N), "past": shorts(r, N), "signal": zeros(N, "i2"), "gain": one(r, -32768, 32768), "n": N
    },
    "histogram": lambda r: {"data": bytes_(r, N), "count": zeros(256), "n": N},
    "ifft": lambda r: {
        "re": ints(r, N + 128), "im": ints(r, N + 128), "cosine": ints(r, N), "sine": ints(r, N), "n": N
    },
    "iir": lambda r: {
        "x": shorts(r, N), "y": zeros(N), "b0": one(r), "b1": one(r), "b2": one(r), "a1": one(r), "a2": one(r), "n": N
    },
    "isqrt": lambda r: {"x": words(r, 64), "root": zeros(64, "u4"), "n": 64},
    "jacobi": lambda r: {"in": singles(r, N + 129), "out": zeros(N, "f4"), "n": N},
    "jpeg_fdct_row": lambda r: {"block": shorts(r, (N, 8)), "rows": N},
    "kmeans_distance": lambda r: {
        "p": shorts(r, (N, 2)), "nearest": zeros(N, "u1"), "ax": one(r), "ay": one(r, 0, 99), "bx": one(r, 0, 99),
        "by": one(r), "n": N,
    },
    "matmul": lambda r: {"a": ints(r, (16, 16)), "b": ints(r, (16, 16)), "c": zeros((16, 16))},
    "md5_step": lambda r: {
        "message": words(r, N), "sine": words(r, N), "turns": ints(r, N, 1, 32, "u1"), "state": words(r, 4), "steps": N
    },
    "mvt": lambda r: {
        "a": ints(r, (32, 32)), "x1": ints(r, 32), "x2": ints(r, 32), "y1": ints(r, 32), "y2": ints(r, 32)
    },
    "needleman_wunsch": lambda r: {
        "sequence": ints(r, N, 65, 69, "i1"), "above": ints(r, N, -50, 50), "row": zeros(N), "letter": 66,
        "left": one(r, -9, 9), "corner": one(r, -9, 9), "n": N,
    },
    "prefix_sum": lambda r: {"x": ints(r, N), "sums": zeros(N), "start": one(r), "n": N},
    "rgb_to_ycc": lambda r: {
        "rgb": bytes_(r, (N, 3)), "y": zeros(N, "u1"), "cb": zeros(N, "u1"), "cr": zeros(N, "u1"), "n": N
    },
    "sad4x4": lambda r: {"block": bytes_(r, (N, 4)), "candidate": bytes_(r, (N, 4)), "rows": N},
    "saxpy": lambda r: {"a": float(np.float32(r.normal())), "x": singles(r, N), "y": singles(r, N), "n": N},
    "seidel": lambda r: {"line": ints(r, N + 2), "n": N},
    "sha1_round": lambda r: {"w": words(r, N), "state": words(r, 5), "rounds": N},
    "sobel": lambda r: {
        "above": bytes_(r, N + 2), "row": bytes_(r, N + 2), "below": bytes_(r, N + 2), "edge": zeros(N, "u1"), "n": N
    },
    "spmv_row": lambda r: {
        "value": singles(r, N + 9), "column": ints(r, N + 9, 0, 300), "x": singles(r, 300), "begin": 5, "end": N + 5
    },
    "string_search": lambda r: {
        "text": ints(r, N + 3, 97, 99, "i1"), "pattern": ints(r, 4, 97, 99, "i1"), "count": zeros(1), "n": N
    },
    "susan_smooth": lambda r: {
        "pixel": bytes_(r, N), "mask": bytes_(r, N), "weight": bytes_(r, 511), "result": zeros(1),
        "centre": one(r, 0, 256), "n": N,
    },
    "viterbi": lambda r: {
        "metric": ints(r, 2 * N), "branch": ints(r, N), "next": zeros(N + 1024), "decision": zeros(N, "u1"), "n": N
    },
}  # fmt: skip
