"""Linear forms of a traced kernel."""

from __future__ import annotations

from gridloom.compiler.python.trace import TracedLinear


def test_forms_wrap_around_as_integers_do():
    assert TracedLinear(2**31 - 1).plus(TracedLinear(1)) == TracedLinear(-(2**31))
    assert TracedLinear().plus(TracedLinear(0, 65536), 65536) == TracedLinear(0, 0)
