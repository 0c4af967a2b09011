"""What reference models share: 32-bit arithmetic on NumPy words, delayed streams, memory, random stimuli in a range."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, TypeVar

import numpy as np

from gridloom.compiler.kernels.base import KernelValues
from gridloom.dfg.carriers import Words

if TYPE_CHECKING:
    from gridloom.dfg.interpreter import Stimulus

IntegerOrWords = TypeVar("IntegerOrWords", int, Words)


def signed32(value: IntegerOrWords) -> IntegerOrWords:
    """The low 32 bits, sign-extended: of an integer, or of each element of an array."""
    return ((value + 0x80000000) & 0xFFFFFFFF) - 0x80000000


def weight(k: int) -> int:
    """The k-th of the small odd numbers that stand for coefficients where a kernel leaves them open."""
    return ((7 * k + 3) % 29 - 14) | 1


def past(stream: Words, distance: int) -> Words:
    """A stream delayed by some iterations, zeros first."""
    known = max(len(stream) - distance, 0)
    return np.concatenate([np.zeros(len(stream) - known, dtype=np.int64), stream[:known]])


def words_of(values: list[int]) -> Words:
    """A list of numbers as words; it may be empty."""
    return np.array(values, dtype=np.int64)


def sinks(streams: dict[str, Words]) -> KernelValues:
    """Expected results where each stream is a node that is a live-out itself."""
    return KernelValues(
        streams=streams, liveouts={name: int(words[-1]) for name, words in streams.items() if len(words)}
    )


def copied_memory(stimulus: Stimulus) -> dict[str, Words]:
    """The arrays of a stimulus, copied, so that a model can write its results into them."""
    return {name: words.copy() for name, words in stimulus.memory.items()}


def streams_within(low: int, high: int) -> Callable[..., None]:
    """A ``feed`` of a kernel: it draws every stream anew from ``low`` up to, but not including, ``high``."""

    def feed(stimulus: Stimulus, rng: np.random.Generator, **_: object) -> None:
        for name in stimulus.streams:
            stimulus.streams[name] = rng.integers(low, high, stimulus.iterations, dtype=np.int64)

    return feed


#: A ``feed`` for kernels whose streams are all bytes.
feed_bytes = streams_within(0, 256)
