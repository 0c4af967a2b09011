"""Dependence: what is said to be apart never meets when the loops are executed, and orders cover every meeting."""

from __future__ import annotations

from collections.abc import Mapping

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from gridloom.compiler.analysis import dependence
from gridloom.compiler.analysis.dependence import ANYWHERE, Axis, DistanceSolver, Meeting, Motion, divide, may_cross
from gridloom.compiler.analysis.evolution import Form
from gridloom.compiler.ir.ir import Constant, IrParameter, Value

L, N = IrParameter("l", "i32"), IrParameter("n", "i32")
SYMBOLS = (L, N)
ITERATIONS = 12


def value(form: Form, known: Mapping[Value, int]) -> int:
    return form.constant + sum(c * known[s] for s, c in form.terms.items())


def met(first: Motion, second: Motion, known: Mapping[Value, int], trips: int) -> set[int]:
    """How many iterations later the second touches what the first touched, by execution; negative if it leads."""
    places = [[value(m.start, known) + k * value(m.step, known) for k in range(trips)] for m in (first, second)]
    return {e - d for d, a in enumerate(places[0]) for e, b in enumerate(places[1]) if a == b}


def ordered(meetings: tuple[Meeting, ...]) -> tuple[int | None, int | None]:
    """The least distance from which on the first is known to come before the second, and the other way round."""
    forward = min((m.distance for m in meetings if m.forward), default=None)
    backward = min((m.distance for m in meetings if not m.forward), default=None)
    return forward, backward


def covers(meetings: tuple[Meeting, ...], distance: int) -> bool:
    """Whether orders between the accesses keep a meeting; an order to an iteration is one to all later ones."""
    forward, backward = ordered(meetings)
    if distance >= 0 and forward is not None and forward <= distance:
        return True
    return distance < 0 and backward is not None and backward <= -distance


forms = st.builds(
    lambda constant, terms: Form(4 * constant, {s: 4 * c for s, c in zip(SYMBOLS, terms) if c}),
    st.integers(-6, 6), st.tuples(st.integers(-3, 3), st.integers(-1, 1)),
)  # fmt: skip
steps = forms | st.builds(lambda c: Form(4 * c), st.integers(-3, 3))


@given(forms, forms, steps, st.integers(1, 6), st.integers(0, 5), st.integers(1, ITERATIONS))
def test_every_meeting_of_an_execution_is_kept_in_order(
    start: Form, other: Form, step: Form, length: int, bound: int, trips: int
) -> None:
    known = {L: length, N: bound}
    first, second = Motion(start, step), Motion(other, step)
    distances = DistanceSolver(trips=Form(trips), moves=[Form(0, {L: 8})])
    found = distances.meetings(first, second)
    # A step that a loop ends by is not 0.
    assume(not distances.relied_on or value(step, known) != 0)
    assert all(covers(found, distance) for distance in met(first, second, known, trips))


@given(forms, forms, st.integers(1, 3), st.integers(1, 9))
def test_a_loop_of_as_many_iterations_as_the_gap_is_long_keeps_its_iterations_apart(
    start: Form, other: Form, step: int, length: int
) -> None:
    known = {L: length, N: 3}
    first, second = Motion(start, Form(4 * step)), Motion(other, Form(4 * step))
    found = DistanceSolver(trips=Form(0, {L: 1})).meetings(first, second)
    assert all(covers(found, distance) for distance in met(first, second, known, length))


@given(forms, forms, steps, steps, st.integers(1, 4), st.integers(1, 5), st.integers(1, 5), st.integers(0, 3))
def test_accesses_that_do_not_cross_keep_their_order_when_loops_are_exchanged(
    first: Form, second: Form, outer: Form, inner: Form, width: int, rows: int, columns: int, reach: int
) -> None:
    known = {L: width, N: columns}
    gap = second.minus(first)
    axes = Axis(outer, rows), Axis(inner, None, Constant("i32", 0), N)
    if may_cross(gap, reach, *axes):
        return
    places = [
        {(d, e): value(form, known) + d * value(outer, known) + e * value(inner, known)
         for d in range(rows) for e in range(columns)} for form in (first, second)
    ]  # fmt: skip
    for (d, e), a in places[0].items():
        for (f, g), b in places[1].items():
            assert abs(a - b) > reach or (f - d) * (g - e) >= 0


def test_butterflies_of_a_symbolic_width_never_meet() -> None:
    step = Form(0, {L: 8})
    distances = DistanceSolver(moves=[step])
    assert distances.meetings(Motion(Form(), step), Motion(Form(0, {L: 4}), step)) == ()
    assert distances.relied_on == {dependence.ENDS}
    assert DistanceSolver().meetings(Motion(Form(), step), Motion(Form(0, {L: 4}), step)) == ANYWHERE


def test_a_place_that_comes_again_after_two_iterations_is_ordered_at_two() -> None:
    step = Form(0, {L: 4})
    distances = DistanceSolver(moves=[step])
    assert distances.meetings(Motion(Form(), step), Motion(Form(0, {L: 8}), step)) == (Meeting(False, 2),)
    assert distances.meetings(Motion(Form(0, {L: 8}), step), Motion(Form(), step)) == (Meeting(True, 2),)


def test_forms_divide_only_where_all_symbols_do() -> None:
    assert divide(Form(0, {L: 4}), Form(0, {L: 8})) == (1, 2)
    assert divide(Form(4, {L: 4}), Form(0, {L: 8})) is None
    assert divide(Form(0, {L: 4, N: 4}), Form(0, {L: 8})) is None
    assert divide(Form(0, {L: -12}), Form(0, {L: -4})) == (3, 1)


@pytest.mark.parametrize("fault", ["sign", "beyond", "rest"])
def test_faults_in_the_analysis_are_found(fault: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each fault drops an order that an execution needs."""
    step = Form(8)
    if fault == "sign":
        divided = dependence.divide
        monkeypatch.setattr(dependence, "divide", lambda a, b: (lambda q: q and (-q[0], q[1]))(divided(a, b)))
    elif fault == "beyond":
        monkeypatch.setattr(DistanceSolver, "_is_beyond", lambda self, gap, step: True)
    else:
        monkeypatch.setattr(dependence, "divide", lambda a, b: (1, 2))
    first, second = Motion(Form(), step), Motion(Form(16), step)
    found = DistanceSolver(trips=Form(8)).meetings(first, second)
    assert not all(covers(found, distance) for distance in met(first, second, {}, 8))
