"""The visit that ends a loop, against counting."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gridloom.compiler.analysis.trips import LoopCounter, last_visit, read_signed
from gridloom.compiler.analysis.trips import Test as Comparison
from gridloom.compiler.ir.ir import Constant, Instruction

_PREDICATES = ("eq", "ne", "slt", "sle", "sgt", "sge", "ult", "ule", "ugt", "uge")
_HOLDS = {
    "eq": lambda a, b: a == b, "ne": lambda a, b: a != b, "lt": lambda a, b: a < b, "le": lambda a, b: a <= b,
    "gt": lambda a, b: a > b, "ge": lambda a, b: a >= b,
}  # fmt: skip


def _counted(predicate: str, swapped: bool, stops: bool, start: int, step: int, bound: int, bits: int) -> int | None:
    """The visit by counting, for at most 5000 visits."""
    mask = (1 << bits) - 1
    for visit in range(5000):
        a, b = read_signed(start + visit * step, bits), bound
        if predicate[0] == "u":
            a, b = a & mask, b & mask
        if _HOLDS[predicate[-2:]](*((b, a) if swapped else (a, b))) == stops:
            return visit
    return None


def _counter(kind: str, start: int, step: int) -> LoopCounter:
    """A counter that is tested itself."""
    phi = Instruction("i", kind, "phi", "", "body")
    following = Instruction("next", kind, "add", "", "body", operands=[phi, Constant(kind, step)])
    return LoopCounter(phi, Constant(kind, start), following, phi, step)


@given(
    st.sampled_from(_PREDICATES), st.booleans(), st.booleans(), st.integers(-2000, 2000),
    st.integers(-9, 9).filter(bool), st.integers(-2000, 2000), st.sampled_from((32, 64)),
    st.sampled_from((0, 1 << 31, -(1 << 31))),
)  # fmt: skip
def test_wide_counters_are_solved_as_they_count(
    predicate: str, swapped: bool, stops: bool, start: int, step: int, bound: int, bits: int, shift: int
) -> None:
    start, bound = read_signed(start + shift, bits), read_signed(bound + shift, bits)
    kind = f"i{bits}"
    found = last_visit(Comparison(predicate, swapped, stops), _counter(kind, start, step), Constant(kind, bound))
    expected = _counted(predicate, swapped, stops, start, step, bound, bits)
    if found is not None and expected is None:
        assert found >= 5000
    elif found is not None:
        assert found == expected
    else:
        assert expected is None


@pytest.mark.parametrize(("step", "bound", "expected"), [(1, -100, 156), (-1, 100, 156), (2, 3, None), (3, 1, 171)])
def test_narrow_counters_wrap_around(step: int, bound: int, expected: int | None) -> None:
    test = Comparison("ne", swapped=False, stops=False)
    assert last_visit(test, _counter("i8", 0, step), Constant("i8", bound)) == expected
