"""The SIMD width of an array: which widths there are.

A tile with a SIMD unit computes with several words at a time, one per *SIMD lane*. All lanes do the same in every
cycle, each to words of its own: a lane is a whole array of its own that shares its configuration with the others.
"""

from __future__ import annotations

from typing import Final

from gridloom.errors import ArchError

#: The least and the largest SIMD width in bits: one element of a graph, and 128 of them.
WIDTHS: Final = (32, 4096)


def check_simd(simd: int | None, key: str = "simd") -> int | None:
    """Return a SIMD width that elements of 8, 16, 32 or 64 bits can share; ArchError for any other number.

    None stands for a single lane.

    >>> check_simd(512)
    512
    """
    low, high = WIDTHS
    if simd is not None and (not low <= simd <= high or simd & simd - 1):
        raise ArchError(f"{key}: expected a power of two from {low} to {high}, found {simd}")
    return simd
