"""A SAT solver under a budget: MiniCard of python-sat, for models that are clauses and "at most k" and nothing else.

On Boolean models without an objective it answers many times sooner than CP-SAT, which simplifies a model for longer
than MiniCard takes to solve it. "At most k of these" is a constraint of its own there, without further clauses. A
solve is ended by a number of conflicts, so that a run under a limit of effort is the same on every machine, or by the
clock; one conflict counts as one unit of effort.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from gridloom.errors import MissingExtra, install_hint
from gridloom.search.budget import SearchClock
from gridloom.search.solver import Answer, Solved, watch

#: The kinds of constraints of CP-SAT that are clauses or "at most one".
_BOOLEAN = ("bool_or", "bool_and", "at_most_one", "exactly_one")

# Conflicts in which one of several demands has to turn out not to matter.
_FEW_CONFLICTS = 500


def sat_solvers() -> Any:
    """python-sat's module of solvers; MissingExtra where it is not installed."""
    try:
        from pysat import solvers
    except ImportError:
        raise MissingExtra(f"mapper 'exact' needs python-sat; install it with: {install_hint('exact')}") from None
    return solvers


class Clauses:
    """A model of clauses that can be solved again after more of them were added.

    Literals are whole numbers: a variable or, negated, minus the variable. :meth:`close` frees the solver's memory; a
    ``with`` block does so at its end.
    """

    def __init__(self) -> None:
        self._solver = sat_solvers().Solver(name="minicard")
        self._count = 0
        self._true: frozenset[int] = frozenset()

    def __enter__(self) -> Clauses:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Free the solver. Values that were read stay readable."""
        self._solver.delete()

    def new(self) -> int:
        """A new variable."""
        self._count += 1
        return self._count

    def add(self, literals: Sequence[int]) -> None:
        """At least one of the literals is true."""
        self._solver.add_clause(literals)

    def add_all(self, clauses: Iterable[Sequence[int]]) -> None:
        """Many clauses."""
        self._solver.append_formula(clauses)

    def at_most(self, literals: Sequence[int], bound: int) -> None:
        """At most ``bound`` of the literals are true."""
        if bound < len(literals):
            self._solver.add_atmost(literals, bound)

    def exactly_one(self, literals: Sequence[int]) -> None:
        """One of the literals is true, and no other."""
        self.add(literals)
        self.at_most(literals, 1)

    def prefer(self, literals: Sequence[int]) -> None:
        """Values that the solver tries first."""
        self._solver.set_phases(literals)

    def solve(self, clock: SearchClock, conflicts: int, assumed: Sequence[int] = ()) -> bool | None:
        """True with a solution, False where there is none, None when the conflicts or the budget ended first.

        ``assumed`` literals hold for this solve only; :meth:`conflict` says which of them exclude each other.
        """
        if clock.over():
            return None
        if clock.budget.effort is not None:
            conflicts = max(1, min(conflicts, clock.budget.effort - clock.moves))
        before = self._conflicts()
        self._solver.conf_budget(conflicts)
        done: list[bool | None] = []

        def ask() -> None:
            done.append(self._solver.solve_limited(assumptions=list(assumed), expect_interrupt=True))

        thread = threading.Thread(target=ask, daemon=True)
        thread.start()
        watch(thread, self._solver.interrupt, clock)
        thread.join()
        self._solver.clear_interrupt()
        clock.moves += self._conflicts() - before + 1
        answer = done[0] if done else None
        if answer:
            self._true = frozenset(literal for literal in self._solver.get_model() if literal > 0)
        return answer

    def conflict(self) -> list[int]:
        """After a solve without a solution: some of the assumed literals that cannot hold together."""
        return list(self._solver.get_core() or ())

    def _conflicts(self) -> int:
        """Conflicts over all solves."""
        return int(self._solver.accum_stats()["conflicts"])

    def is_true(self, variable: int) -> bool:
        """The value of a variable in the last solution."""
        return variable in self._true


class _Values:
    """The values of a model of CP-SAT in a solution of its clauses, read as from CP-SAT's own solver."""

    def __init__(self, clauses: Clauses) -> None:
        self._clauses = clauses

    def value(self, variable: Any) -> int:
        return int(self._clauses.is_true(variable.index + 1))


def solve_boolean(
    model: Any, clock: SearchClock, conflicts: int, demands: Mapping[int, int]
) -> tuple[Solved, list[int]] | None:
    """Solve a model of CP-SAT that has Booleans only, by its clauses; None for a model with anything else.

    ``demands`` gives a number to some of the model's "exactly one", each by the index of its first variable. Where
    there is no solution, the second result lists demands that cannot be met together; as a rule, without any one of
    them the others can.
    Cost: the literals of the model are read once, then ``conflicts`` at most.
    """
    with Clauses() as clauses:
        assumed = None if model.has_objective() else _transfer(model.proto, clauses, demands)
        if assumed is None:
            return None
        answer = clauses.solve(clock, conflicts, list(assumed))
        blamed = [assumed[literal] for literal in _fewest(clauses, clock)] if answer is False else []
    answers: dict[bool | None, Answer] = {True: "feasible", False: "infeasible", None: "unknown"}
    return Solved(answers[answer], None, _Values(clauses)), sorted(blamed)


def _fewest(clauses: Clauses, clock: SearchClock) -> list[int]:
    """Assumed literals that exclude each other: those of the last answer, less each that is found not to matter."""
    needed = clauses.conflict()
    for literal in list(needed):
        others = [other for other in needed if other != literal]
        if literal in needed and clauses.solve(clock, _FEW_CONFLICTS, others) is False:
            needed = clauses.conflict()
    return needed


def _transfer(proto: Any, clauses: Clauses, demands: Mapping[int, int]) -> dict[int, int] | None:
    """Write the constraints of a model down as clauses: the literal that switches on each demand, with its number.

    None where a constraint is neither a clause nor "at most one".
    """
    for _ in proto.variables:
        clauses.new()
    switches: dict[int, int] = {}
    for constraint in proto.constraints:
        kind = next((name for name in _BOOLEAN if getattr(constraint, f"has_{name}")()), None)
        if kind is None:
            return None
        references = list(getattr(constraint, kind).literals)
        literals = [_literal(k) for k in references]
        unless = [-_literal(k) for k in constraint.enforcement_literal]
        if kind == "bool_or":
            clauses.add([*unless, *literals])
        elif kind == "bool_and":
            clauses.add_all([*unless, literal] for literal in literals)
        elif kind == "exactly_one" and references[0] in demands:
            switch = clauses.new()
            switches[switch] = demands[references[0]]
            clauses.add([-switch, *literals])
            clauses.at_most(literals, 1)
        elif kind == "exactly_one":
            clauses.exactly_one(literals)
        else:
            clauses.at_most(literals, 1)
    return switches


def _literal(reference: int) -> int:
    """CP-SAT numbers variables from 0 on, and writes the negation of variable v as -v - 1."""
    return reference + 1 if reference >= 0 else reference
