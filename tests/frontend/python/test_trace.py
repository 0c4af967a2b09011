"""Linear forms of a traced kernel."""

from __future__ import annotations

from gridloom.frontend.python.trace import Linear


def test_forms_wrap_around_as_integers_do():
    assert Linear(2**31 - 1).plus(Linear(1)) == Linear(-(2**31))
    assert Linear().plus(Linear(0, 65536), 65536) == Linear(0, 0)
