"""What the mappers called ``exact`` share: their settings, and CP-SAT under a budget.

Chin and Anderson (2018) map by integer programming on the time-expanded resource graph, SAT-MapIt (Tirelli et al.
2023) by Boolean satisfiability with modulo scheduling. The idea here:

1. modulo arrays: "op at (tile, cycle)" and "value in (register, cycle)" are the only variables, everything is a clause;
   output registers, register files (rotating or not), moves, spills, recomputation, buses are all in the model;
2. II by II from the MII on: a plain model finds, the full one finds or refutes within a window of cycles;
3. a model over slots alone holds for schedules of every length: what it refutes is refuted for good;
4. static grids: placement, routes by age and issue cycles in one model, minimised for the objective;
5. graphs too large for that, and any first mapping: a SAT solver places, shortens wires, and routes between places;
6. one node is only tried on tiles that the array can tell apart.

Cost: exponential at worst; loops of 15 nodes on 4x4 in seconds, static graphs of 20 to 30 nodes in minutes and,
without a proof, of a hundred in seconds. What was proved, and within which limits, is in the mapping's provenance:
``optimal``, ``bound``, ``proof``.

A solve gives an answer in one word, and is ended by the clock, the user or a measure of work.

The solver runs on a thread of its own, and the calling thread watches the clock: CP-SAT's own limits do not hear of
Ctrl-C or of a caller's request to end. A run under a limit of effort searches in CP-SAT's deterministic interleaved
mode, so that it gives the same answer whatever the machine's load and number of cores; its moves are CP-SAT's
deterministic time in units of 1 / ``EFFORT_PER_SECOND``. The models themselves belong to the targets.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, Literal

from gridloom.errors import MissingExtra, install_hint
from gridloom.mapping.model import Failure
from gridloom.search.budget import SearchClock
from gridloom.search.settings import check_settings

#: What a solver says of a model. ``feasible``: a solution, but its objective may not be the best.
Answer = Literal["optimal", "feasible", "infeasible", "unknown"]

#: Units of effort in one deterministic second of CP-SAT.
EFFORT_PER_SECOND = 10_000

#: Variables (or literals of clauses) beyond which a model is not built: it would take memory, and find nothing in time.
MAX_SIZE = 2_000_000

#: About the variables of a model that are built in a second, with the clauses about them.
BUILT_PER_SECOND = 60_000

# Seconds in which the solver takes over a variable before it looks at its own limit for the first time.
_TAKEN_OVER = 3e-6

# Seconds, and the share of the time limit, after which a solve that was told to end and does not is left behind.
_GRACE, _GRACE_SHARE = 0.3, 0.03

# Solves that were left behind.
_left: list[threading.Thread] = []

# How often a solve looks at its budget.
_TICK = 0.02


@dataclass(frozen=True, kw_only=True)
class ExactConfig:
    """Settings of ``exact``, for both styles that it maps to.

    A comment says where a setting is read on modulo arrays or on static grids only. What a setting forbids is not in
    the model, so a proof says nothing about mappings that use it; the provenance lists the settings that were changed.
    """

    #: The II to map at; None: from the MII on, the lowest that is not refuted.
    ii: int | None = None
    #: Go on until every II below the result is refuted for schedules of any length, not only within a window.
    prove: bool = False
    #: Threads of the solver. Its search strategies differ from thread to thread: 8 are worth it on 2 cores, too.
    workers: int = 8
    #: Modulo arrays: cycles from the first to the last issue of an iteration; None: the critical path and an II more.
    spread: int | None = None
    #: Modulo arrays: what a mapping may do. Proofs hold for what is allowed.
    rotate: bool = True
    spill: bool = True
    copies: bool = True
    #: Static arrays: what is made small: the deepest FIFO, links beyond one per edge, cycles to the last result.
    objective: Literal["buffers", "wirelength", "latency"] = "buffers"
    #: Static arrays: links that a route may have; None: enough for every way that pays.
    longest: int | None = None
    #: Static arrays: end with the first mapping, whatever its figure.
    first_legal: bool = False

    def __post_init__(self) -> None:
        check_settings(
            self,
            at_least={"ii": 1, "workers": 1, "spread": 1, "longest": 1},
            one_of={"objective": ("buffers", "wirelength", "latency")},
        )


def cp_model() -> Any:
    """OR-Tools' CP-SAT module; MissingExtra where it is not installed."""
    try:
        from ortools.sat.python import cp_model as module
    except ImportError:
        raise MissingExtra(f"mapper 'exact' needs OR-Tools; install it with: {install_hint('exact')}") from None
    return module


class ModelTooLargeError(Exception):
    """A model that is not built. ``size`` is about the number of its variables."""

    def __init__(self, size: int) -> None:
        self.size = size
        super().__init__(f"about {size} variables, {MAX_SIZE} are built at most")


def check_size(size: int) -> None:
    """Raise ModelTooLargeError for a model that is better not built."""
    if size > MAX_SIZE:
        raise ModelTooLargeError(size)


class OutOfTimeError(Exception):
    """A model that is not built, or not to its end: the budget is over, or would be before the solver says anything."""


def check_time(size: int, clock: SearchClock) -> None:
    """Raise OutOfTimeError for a model that would take more than half of the time left to build.

    What passes may still be given up while it is built (:func:`check_clock`), since machines differ.
    """
    if clock.remaining is not None and size > BUILT_PER_SECOND * clock.remaining / 2:
        raise OutOfTimeError


def check_clock(clock: SearchClock) -> None:
    """Raise OutOfTimeError once the budget is used up; for loops that build a model."""
    if clock.over():
        raise OutOfTimeError


def too_large(size: int, other: str) -> Failure:
    """What a user is told of a model that was not built."""
    return Failure(
        constraint="size of the exact model",
        demand=f"about {size} variables",
        bound=f"{MAX_SIZE}",
        levers=(f"--mapper {other}", "a smaller graph or array"),
    )


@dataclass(frozen=True, slots=True)
class Solved:
    """An answer with the values behind it.

    :func:`solve` makes it. ``feasible`` and ``optimal`` come with a solution that :meth:`value` reads; ``infeasible``
    is a proof that the model has none, and ``unknown`` says that the budget ended first.
    """

    answer: Answer
    #: The lower bound on the objective that was proved; None: no objective, or nothing proved.
    bound: int | None
    #: The solver, for values; only to be asked after ``optimal`` or ``feasible``.
    solver: Any

    @property
    def found(self) -> bool:
        """True when there is a solution."""
        return self.answer in ("optimal", "feasible")

    def value(self, literal: Any) -> int:
        """The value of a variable (or of a constant) in the solution."""
        return literal if isinstance(literal, int) else int(self.solver.value(literal))


def solve(
    model: Any, clock: SearchClock, *, workers: int, share: float = 1.0, hints: Iterable[tuple[Any, int]] = ()
) -> Solved:
    """Solve a model with at most ``share`` of what is left of the budget.

    The work done is added to the clock's moves. Needs a thread of its own to be interrupted; cost: the solve.
    """
    cp = cp_model()
    taking_over = _TAKEN_OVER * len(model.proto.variables)
    if clock.remaining is not None and clock.remaining < taking_over:
        return Solved("unknown", None, None)
    for variable, value in hints:
        model.add_hint(variable, value)
    solver = cp.CpSolver()
    _configure(solver.parameters, clock, workers, share, taking_over)
    done: list[Any] = []
    thread = threading.Thread(target=lambda: done.append(solver.solve(model)), daemon=True)
    thread.start()
    watch(thread, solver.stop_search, clock)
    if not done:
        clock.moves += 1
        _left.append(thread)
        return Solved("unknown", None, None)
    status = done[0]
    clock.moves += int(solver.response_proto.deterministic_time * EFFORT_PER_SECOND) + 1
    names: dict[Any, Answer] = {cp.OPTIMAL: "optimal", cp.FEASIBLE: "feasible", cp.INFEASIBLE: "infeasible"}
    answer = names.get(status, "unknown")
    bounded = model.has_objective() and answer != "infeasible"
    return Solved(answer, round(solver.best_objective_bound) if bounded else None, solver)


def is_left_behind() -> bool:
    """True while a solve that was left behind still runs; its threads abort a process that ends in the usual way."""
    return any(thread.is_alive() for thread in _left)


def _configure(parameters: Any, clock: SearchClock, workers: int, share: float, taking_over: float) -> None:
    """Seed, threads and limits of a solve: a share of the effort that is left, and of the seconds that are left."""
    budget = clock.budget
    parameters.num_workers = workers
    parameters.random_seed = budget.seed % (1 << 31)
    if budget.effort is not None:
        left = max(1, budget.effort - clock.moves)
        parameters.interleave_search = True
        parameters.max_deterministic_time = share * left / EFFORT_PER_SECOND
    if clock.remaining is not None:
        parameters.max_time_in_seconds = max(0.01, share * clock.remaining - taking_over)


def watch(thread: threading.Thread, stop: Callable[[], object], clock: SearchClock) -> None:
    """Wait for a solve. The budget's end, the caller's wish and Ctrl-C call ``stop``, after which it answers soon.

    Before it searches, CP-SAT simplifies the model and hears of nothing meanwhile, which may take many times the limit.
    Such a solve is left behind: its thread ends by itself later, and its answer is not used.
    """
    limit = clock.budget.time_limit or 0.0
    told: float | None = None
    while thread.is_alive():
        if told is not None and time.monotonic() - told > _GRACE + _GRACE_SHARE * limit:
            return
        try:
            thread.join(_TICK)
        except KeyboardInterrupt:
            clock.stop[0] = 1
        asked = clock.budget.interrupted is not None and clock.budget.interrupted()
        if asked:
            clock.stop[0] = 1
        if (clock.stop[0] or clock.remaining == 0.0) and thread.is_alive():
            stop()
            told = time.monotonic() if told is None else told
