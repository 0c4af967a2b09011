"""Cryptographic steps: AES MixColumns, MD5 and SHA-1 compression steps.

The hash kernels take their state as streams (so that whole digests can be put together from them) or carry it from
iteration to iteration. In both, each step makes one new value; the others are that value's past, which is how the
carried form stores them: as distances.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Final

import numpy as np

from gridloom.compiler.kernels.base import Kernel, KernelValues
from gridloom.compiler.kernels.building import Past, connect
from gridloom.compiler.kernels.reference import feed_bytes, signed32
from gridloom.compiler.parameters import KernelParameter, choice, number
from gridloom.dfg.model import DfgBuilder

if TYPE_CHECKING:
    from gridloom.dfg.interpreter import Stimulus

Operand = str | Past
MASK: Final = 0xFFFFFFFF


# -- AES ------------------------------------------------------------------------------------------------------------


def _doubled(b: DfgBuilder, value: str) -> str:
    """A byte times x in GF(2^8): shift, and subtract the polynomial where a bit falls out."""
    shifted = connect(b, "shl", value, 1)
    overflow = connect(b, "mul", connect(b, "lshr", value, 7), 0x11B)
    return b.add("xor", shifted, overflow)


def _aes_column(b: DfgBuilder) -> None:
    """MixColumns by doubled sums of neighbours, which takes four doublings instead of eight products."""
    a = [b.input(f"a{k}") for k in range(4)]
    pairs = [b.add("xor", a[k], a[(k + 1) % 4]) for k in range(4)]
    everything = b.add("xor", pairs[0], pairs[2])
    for k in range(4):
        b.output(b.add("xor", b.add("xor", a[k], everything), _doubled(b, pairs[k])), f"m{k}")


def _gf_multiply(a: int, b: int) -> int:
    """The product of two bytes in GF(2^8), bit by bit."""
    product = 0
    while b:
        product ^= a if b & 1 else 0
        a = (a << 1) ^ (0x11B if a & 0x80 else 0)
        b >>= 1
    return product


def _aes_column_model(stimulus: Stimulus) -> KernelValues:
    """The product of each column with the matrix of the standard."""
    factors = (2, 3, 1, 1)
    columns = zip(*(stimulus.streams[f"a{k}"].tolist() for k in range(4)), strict=True)
    mixed = []
    for column in columns:
        row = [0, 0, 0, 0]
        for k in range(4):
            for j in range(4):
                row[k] ^= _gf_multiply(column[j], factors[(j - k) % 4])
        mixed.append(row)
    words = np.array(mixed, dtype=np.int64).reshape(-1, 4)
    return KernelValues(streams={f"m{k}": words[:, k] for k in range(4)})


AES_COLUMN = Kernel(
    "aes_column",
    "MixColumns of AES on one column of four bytes",
    _aes_column,
    _aes_column_model,
    feed=feed_bytes,
)


# -- a value's past -------------------------------------------------------------------------------------------------


class _Series:
    """The values that one step after the other makes: those of this iteration are nodes, older ones its past.

    ``before[k]`` is the value k + 1 steps before the first: a node (streamed state) or a number (carried state).
    """

    def __init__(self, stem: str, steps: int, before: list[str] | list[int]) -> None:
        self._stem, self._steps, self._before = stem, steps, before

    def name(self, step: int) -> str:
        """The id of the node that makes the value of a step of this iteration."""
        return f"{self._stem}_{step}"

    def at(self, step: int) -> Operand:
        """The value of a step, counted from the first of this iteration: a node, or its past where it is negative.

        With carried state a negative step is a node of an earlier iteration, with the standard's initial values for
        the iterations that have none before them.
        """
        if step >= 0:
            return self.name(step)
        streamed = self._before[-step - 1]
        if isinstance(streamed, str):
            return streamed
        distance = -(step // self._steps)
        # Iteration t reads what step + t * steps stands for; as long as that is negative, it is from before the loop.
        ages = [-(step + t * self._steps) - 1 for t in range(distance)]
        return Past(self.name(step % self._steps), distance, tuple(signed32(int(self._before[a])) for a in ages))


def _state_parameters(steps: int) -> dict[str, KernelParameter]:
    """The parameters of a hash kernel, with its default number of steps per iteration."""
    return {
        "steps": number(steps, 1, 20, "steps per iteration"),
        "round": choice(1, (1, 2, 3, 4), "which of the four rounds' functions"),
        "state": choice("stream", ("stream", "carried"), "state comes as streams, or is carried from the standard's"),
    }


# -- MD5 ------------------------------------------------------------------------------------------------------------

#: State before the first step, as b, c, d, a: the newest first.
MD5_INITIAL = (0xEFCDAB89, 0x98BADCFE, 0x10325476, 0x67452301)
MD5_SHIFTS = ((7, 12, 17, 22), (5, 9, 14, 20), (4, 11, 16, 23), (6, 10, 15, 21))


def _md5_mix(b: DfgBuilder, round: int, x: Operand, y: Operand, z: Operand) -> str:
    """The function of a round on three words of state, in as few ops as it takes."""
    if round == 1:
        return connect(b, "xor", connect(b, "and", connect(b, "xor", y, z), x), z)
    if round == 2:
        return connect(b, "xor", connect(b, "and", connect(b, "xor", x, y), z), y)
    if round == 3:
        return connect(b, "xor", connect(b, "xor", x, y), z)
    return connect(b, "xor", connect(b, "or", connect(b, "not", z), x), y)


def _md5(b: DfgBuilder, steps: int, round: int, state: str) -> None:
    """Each step adds a function of the state, a message word and a constant, rotates, and makes the next value."""
    before: list[str] | list[int] = list(MD5_INITIAL)
    if state == "stream":
        before = [b.input(name) for name in ("b", "c", "d", "a")]
    series = _Series("s", steps, before)
    for t in range(steps):
        x, y, z, oldest = (series.at(t - age) for age in (1, 2, 3, 4))
        words = b.add("add", b.input(f"m{t}"), b.input(f"k{t}"))
        total = b.add("add", connect(b, "add", _md5_mix(b, round, x, y, z), oldest), words)
        turned = connect(b, "rotl", total, MD5_SHIFTS[round - 1][t % 4])
        connect(b, "add", turned, x, id=series.name(t))
    _state_out(b, series, steps, ("b", "c", "d", "a"))


def _state_out(b: DfgBuilder, series: _Series, steps: int, names: tuple[str, ...]) -> None:
    """The newest values of a series as output streams, the newest first."""
    for age, name in enumerate(names):
        connect(b, "output", series.at(steps - 1 - age), id=f"{name}_out", variable=f"{name}_out")


MD5_FUNCTIONS: tuple[Callable[[int, int, int], int], ...] = (
    lambda x, y, z: (x & y) | (~x & z),
    lambda x, y, z: (x & z) | (y & ~z),
    lambda x, y, z: x ^ y ^ z,
    lambda x, y, z: y ^ (x | (~z & MASK)),
)


def _rotated(value: int, amount: int) -> int:
    """The low 32 bits of a number, rotated left."""
    value &= MASK
    return ((value << amount) | (value >> (32 - amount))) & MASK


def _md5_model(stimulus: Stimulus, steps: int, round: int, state: str) -> KernelValues:
    """The steps as the standard writes them, on Python integers."""
    streams = {name: words.tolist() for name, words in stimulus.streams.items()}
    b, c, d, a = MD5_INITIAL
    rows = []
    for i in range(stimulus.iterations):
        if state == "stream":
            a, b, c, d = (streams[name][i] & MASK for name in "abcd")
        for t in range(steps):
            total = a + MD5_FUNCTIONS[round - 1](b, c, d) + streams[f"m{t}"][i] + streams[f"k{t}"][i]
            a, b, c, d = d, (b + _rotated(total, MD5_SHIFTS[round - 1][t % 4])) & MASK, b, c
        rows.append((a, b, c, d))
    return _rows("abcd", rows)


def _rows(names: str, rows: Sequence[tuple[int, ...]]) -> KernelValues:
    """The state after each iteration as output streams."""
    words = signed32(np.array(rows, dtype=np.int64).reshape(-1, len(names)))
    return KernelValues(streams={f"{name}_out": words[:, k] for k, name in enumerate(names)})


MD5_STEP = Kernel(
    "md5_step",
    "steps of MD5's compression; message words and sine constants are streams",
    _md5,
    _md5_model,
    _state_parameters(4),
)


# -- SHA-1 ----------------------------------------------------------------------------------------------------------

#: State before the first step, a to e.
SHA1_INITIAL = (0x67452301, 0xEFCDAB89, 0x98BADCFE, 0x10325476, 0xC3D2E1F0)
SHA1_CONSTANTS = (0x5A827999, 0x6ED9EBA1, 0x8F1BBCDC, 0xCA62C1D6)


def _sha1_mix(b: DfgBuilder, round: int, x: Operand, y: Operand, z: Operand) -> str:
    """The function of a round on three words of state, in as few ops as it takes."""
    if round == 1:
        return connect(b, "xor", connect(b, "and", connect(b, "xor", y, z), x), z)
    if round == 3:
        either = connect(b, "and", connect(b, "or", y, z), x)
        return b.add("or", either, connect(b, "and", y, z))
    return connect(b, "xor", connect(b, "xor", x, y), z)


def _sha1(b: DfgBuilder, steps: int, round: int, state: str) -> None:
    """Each step makes one new value of the series ``s``; c, d and e are older values rotated by 30, the series ``r``.

    Both series are named by step, so that carried state is an edge with a distance.
    """
    if state == "stream":
        a, second, c, d, e = (b.input(name) for name in "abcde")
        fresh: _Series = _Series("s", steps, [a, second])
        # One step leaves a where it is, so that nothing reads it rotated.
        newest = connect(b, "rotl", a, 30) if steps > 1 else a
        turned = _Series("r", steps, [newest, connect(b, "rotl", second, 30), c, d, e])
    else:
        h = SHA1_INITIAL
        fresh = _Series("s", steps, list(h[:2]))
        turned = _Series("r", steps, [_rotated(h[0], 30), _rotated(h[1], 30), *h[2:]])
    for t in range(steps):
        mix = _sha1_mix(b, round, fresh.at(t - 2), turned.at(t - 3), turned.at(t - 4))
        word = connect(b, "add", b.input(f"w{t}"), signed32(SHA1_CONSTANTS[round - 1]))
        total = b.add("add", connect(b, "add", mix, turned.at(t - 5)), word)
        connect(b, "add", connect(b, "rotl", fresh.at(t - 1), 5), total, id=fresh.name(t))
        if state == "carried" or t <= steps - 3:
            connect(b, "rotl", fresh.name(t), 30, id=turned.name(t))
    for age, (name, series) in enumerate(zip("abcde", (fresh, fresh, turned, turned, turned), strict=True)):
        connect(b, "output", series.at(steps - 1 - age), id=f"{name}_out", variable=f"{name}_out")


SHA1_FUNCTIONS: tuple[Callable[[int, int, int], int], ...] = (
    lambda x, y, z: (x & y) | (~x & z),
    lambda x, y, z: x ^ y ^ z,
    lambda x, y, z: (x & y) | (x & z) | (y & z),
    lambda x, y, z: x ^ y ^ z,
)


def _sha1_model(stimulus: Stimulus, steps: int, round: int, state: str) -> KernelValues:
    """The steps as the standard writes them, on Python integers."""
    streams = {name: words.tolist() for name, words in stimulus.streams.items()}
    a, b, c, d, e = SHA1_INITIAL
    rows = []
    for i in range(stimulus.iterations):
        if state == "stream":
            a, b, c, d, e = (streams[name][i] & MASK for name in "abcde")
        for t in range(steps):
            mixed = SHA1_FUNCTIONS[round - 1](b, c, d)
            total = _rotated(a, 5) + mixed + e + SHA1_CONSTANTS[round - 1] + streams[f"w{t}"][i]
            a, b, c, d, e = total & MASK, a, _rotated(b, 30), c, d
        rows.append((a, b, c, d, e))
    return _rows("abcde", rows)


SHA1_STEP = Kernel(
    "sha1_step",
    "steps of SHA-1's compression; expanded message words are a stream",
    _sha1,
    _sha1_model,
    _state_parameters(1),
)
