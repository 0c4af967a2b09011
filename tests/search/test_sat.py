"""The front of the SAT solver: clauses, counts, budgets, and models of CP-SAT that are Boolean."""

from __future__ import annotations

from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gridloom.search.budget import Budget
from gridloom.search.sat import Clauses, solve_boolean
from gridloom.search.solver import cp_model

pytest.importorskip("ortools")
pytest.importorskip("pysat")

LITERALS = st.integers(1, 5).flatmap(lambda k: st.sampled_from([k, -k]))
SETS = st.lists(st.lists(LITERALS, min_size=1, max_size=4, unique_by=abs), max_size=8)


def holds(literal: int, values: tuple[bool, ...]) -> bool:
    return values[abs(literal) - 1] == (literal > 0)


@given(clauses=SETS, counts=st.lists(st.tuples(st.lists(LITERALS, min_size=1, unique_by=abs), st.integers(0, 3))))
def test_answers_are_those_of_all_assignments(clauses: list[list[int]], counts: list[tuple[list[int], int]]):
    def satisfied(values: tuple[bool, ...]) -> bool:
        return all(any(holds(k, values) for k in clause) for clause in clauses) and all(
            sum(holds(k, values) for k in literals) <= bound for literals, bound in counts
        )

    with Clauses() as model:
        variables = [model.new() for _ in range(5)]
        model.add_all(clauses)
        for literals, bound in counts:
            model.at_most(literals, bound)
        answer = model.solve(Budget().start(), 10_000)
        assert answer == any(satisfied(values) for values in product((False, True), repeat=5))
        if answer:
            assert satisfied(tuple(model.is_true(k) for k in variables))


def pigeons(birds: int, holes: int) -> Clauses:
    """More birds than holes: no solution, and many conflicts until that is known."""
    model = Clauses()
    at = [[model.new() for _ in range(holes)] for _ in range(birds)]
    for row in at:
        model.add(row)
    for column in zip(*at):
        model.add_all([-a, -b] for k, a in enumerate(column) for b in column[:k])
    return model


def test_a_solve_ends_after_its_conflicts_and_counts_them_as_effort():
    clock = Budget().start()
    with pigeons(9, 8) as model:
        assert model.solve(clock, 50) is None
    assert 50 <= clock.moves <= 60


def test_a_solve_ends_with_the_budget():
    clock = Budget(effort=20).start()
    with pigeons(9, 8) as model:
        assert model.solve(clock, 1_000_000) is None
        assert clock.over()
        assert model.solve(clock, 1_000_000) is None


def test_a_solve_ends_when_the_caller_asks_for_it():
    clock = Budget(interrupted=lambda: True).start()
    with pigeons(13, 12) as model:
        assert model.solve(clock, 1_000_000_000) is None


def test_a_boolean_model_names_the_demands_that_exclude_each_other():
    model = cp_model().CpModel()
    a, b, c, d = (model.new_bool_var("") for _ in range(4))
    model.add_exactly_one([a])
    model.add_exactly_one([b])
    model.add_exactly_one([c, d])
    model.add_at_most_one([a, b])
    answered = solve_boolean(model, Budget().start(), 100, {a.index: 7, b.index: 8, c.index: 9})
    assert answered is not None
    assert (answered[0].answer, answered[1]) == ("infeasible", [7, 8])


def test_values_of_a_boolean_model_are_read_as_from_the_other_solver():
    model = cp_model().CpModel()
    a, b, c = (model.new_bool_var("") for _ in range(3))
    model.add_bool_or([a, b.negated()])
    model.add_implication(a, c.negated())
    model.add_exactly_one([b, c])
    model.add_bool_or([b])
    answered = solve_boolean(model, Budget().start(), 100, {})
    assert answered is not None
    assert [answered[0].value(k) for k in (a, b, c)] == [1, 1, 0]


def test_a_model_with_numbers_or_an_objective_is_left_to_the_other_solver():
    model = cp_model().CpModel()
    a, b = (model.new_bool_var("") for _ in range(2))
    model.add(2 * a + b <= 2)
    assert solve_boolean(model, Budget().start(), 100, {}) is None
    other = cp_model().CpModel()
    other.minimize(other.new_bool_var(""))
    assert solve_boolean(other, Budget().start(), 100, {}) is None
