"""SIMD widths: which there are, and that a description by resources keeps them."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gridloom.archs import build
from gridloom.archs.described.writing import describe
from gridloom.archs.simd import WIDTHS, check_simd
from gridloom.errors import ArchError


@given(st.integers(-10, 10_000))
def test_a_width_is_a_power_of_two_within_bounds(simd: int) -> None:
    allowed = simd in [1 << k for k in range(5, 13)]
    if allowed:
        assert check_simd(simd) == simd
        return
    with pytest.raises(ArchError) as error:
        check_simd(simd, "here")
    assert str(error.value) == f"here: expected a power of two from {WIDTHS[0]} to {WIDTHS[1]}, found {simd}"


def test_none_is_a_single_lane() -> None:
    assert check_simd(None) is None


@pytest.mark.parametrize("text", ["streaming-engine:3", "streaming-engine:3,simd=256"])
def test_a_description_by_resources_keeps_the_width(text: str) -> None:
    arch = build(text)
    again = build(describe(arch))
    assert (again.simd, again.simd_lanes()) == (arch.simd, arch.simd_lanes())


@pytest.mark.parametrize(
    ("simd", "message"),
    [
        (48, "array: graph.simd: expected a power of two from 32 to 4096, found 48"),
        (5, "array: graph.simd: expected a whole number from 32 to 4096 or null (one lane), found 5"),
    ],
)
def test_a_wrong_width_of_a_description_is_named(simd: int, message: str) -> None:
    described: dict[str, Any] = describe(build("streaming-engine:2,simd=64"))
    described["graph"]["simd"] = simd
    with pytest.raises(ArchError) as error:
        build(described)
    assert str(error.value) == message
