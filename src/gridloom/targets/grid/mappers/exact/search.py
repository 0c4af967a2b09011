"""``exact`` on static grids: the best wirelength, deepest FIFO or latency, and what is proved of it.

How long routes have to be looked at. An edge of d + 1 links adds d to the wirelength, so that a mapping of wirelength V
has no route of more than V + 1 links: refuting V with such routes refutes it. The same goes for the latency. For FIFOs
longer wires may always help; but a link carries one signal, and every net needs a link of its own into the tile of each
of its targets, so that no route has more links than there are less those of all other (net, target) pairs:
:func:`sufficient_length`. A refutation with shorter routes says so. All of it is said of mappings with one instance of
each node.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from gridloom.archs.model import Arch
from gridloom.dfg.model import Dfg
from gridloom.mapping.model import Failure, Mapping
from gridloom.search.arrays import Int32s
from gridloom.search.budget import Budget, SearchClock
from gridloom.search.choice import check_suits
from gridloom.search.sat import solve_boolean
from gridloom.search.settings import origin
from gridloom.search.solver import ExactConfig, ModelTooLargeError, OutOfTimeError, Solved, cp_model, solve, too_large
from gridloom.targets.grid.bounds import GridBound, fifo_bound, latency_bound, wirelength_bound
from gridloom.targets.grid.mappers.balance.exact import Balance, IssueTiming, balance
from gridloom.targets.grid.mappers.exact.first import first_mapping
from gridloom.targets.grid.mappers.exact.model import StaticModel, StaticScope
from gridloom.targets.grid.mappers.mapping import PlacementCandidate, to_mapping
from gridloom.targets.grid.mappers.problem import StaticProblem, build_problem
from gridloom.targets.grid.mappers.screening import screen

# The part of what is left of the budget that a proof may take before anything has been found.
_SHARE = 0.5

# Links of a route in the first models: longer ones are rare in good mappings.
_SHORT = 4

# Nodes x tiles from which on places and routes are first solved one after the other, the part of the budget for it
# (where any mapping will do, and otherwise), and the conflicts after which routes between settled places are given up.
_LARGE = 900
_ONLY_PART, _FIRST_PART = 0.8, 0.4
_ROUTE_CONFLICTS = 20_000

# Links that a route between settled places may have beyond the shortest way: with more, that edges are in each other's
# way is found out much later.
_DETOUR = 2


def exact_static(dfg: Dfg, arch: Arch, config: ExactConfig, budget: Budget) -> Mapping | Failure:
    """A graph on a static grid, best by the objective as far as the budget allows, or why there is none.

    The provenance says whether the result is ``optimal``, which ``bound`` is proved, and lists the steps of the proof.
    Raises OptionError for another kind of array or domain, MissingExtra without OR-Tools. A model that is too large to
    be built is a Failure.
    """
    check_suits("exact", dfg, arch)
    cp_model()
    clock = budget.start()
    problem = build_problem(dfg, arch)
    reason = screen(problem)
    if reason is not None:
        return reason
    timing = IssueTiming(problem)
    even = np.ones(len(problem.edges), dtype=np.int32)
    apart = balance(timing, np.zeros(problem.size, dtype=np.int32), even)  # also compiles before the clock starts
    search = _Search(problem, timing, config, clock.prepared(), apart)
    try:
        return search.result()
    except ModelTooLargeError as error:
        return too_large(error.size, "anneal")


def sufficient_length(problem: StaticProblem) -> int:
    """Links that no route has more than, whatever the mapping.

    Every (net, target) pair needs a link of its own into the tile of the target, so that what the pairs of other edges
    need is not there for the longest route.
    """
    crossing = problem.source != problem.target
    pairs = len(set(zip(problem.source[crossing].tolist(), problem.target[crossing].tolist())))
    return max(1, problem.links.count - pairs + 1)


def _parted(clock: SearchClock, part: float) -> Callable[[], bool]:
    """A question that is answered with True once a part of what is left of the budget now is used up."""
    budget, moves = clock.budget, clock.moves
    most = None if budget.effort is None else moves + part * (budget.effort - moves)
    end = None if clock.remaining is None else clock.seconds + part * clock.remaining

    def enough() -> bool:
        used = (most is not None and clock.moves >= most) or (end is not None and clock.seconds >= end)
        return used or clock.over()

    return enough


@dataclass
class _Search:
    """The search for one problem: the best candidate so far, and what is proved.

    ``bound`` is a proved lower bound on the objective, and ``proof`` is the list of sentences that led there. First the
    bound is asked for and raised by one for each refutation (:meth:`_walk`); where that ends without an answer, the
    objective is minimised directly (:meth:`_minimise`). A candidate of the value ``bound`` is optimal.
    """

    problem: StaticProblem
    timing: IssueTiming
    config: ExactConfig
    clock: SearchClock
    #: The graph's own balance, if every edge had one link.
    ideal: Balance | None
    best: PlacementCandidate | None = None
    proof: list[str] = field(default_factory=list)
    bound: int = 0
    #: True when a model was left out, since building it would have taken, or took, more than the time left.
    unbuilt: bool = False
    #: True when it is proved that there is no mapping at all.
    none: bool = False

    def result(self) -> Mapping | Failure:
        """Search for the objective, then write down the best."""
        first = self._counted()
        self.bound = first.value
        self.proof.append(f"{self._words(first.value)} or more by counting: {first.reason}")
        if self.config.first_legal or self.problem.size * self.problem.tiles >= _LARGE:
            self._settle()
        self._walk()
        if self._open():
            self._minimise()
        self.clock.report("done", "" if self.best is None else self._words(self._value(self.best)))
        if self.best is None:
            return self._failure()
        value = self._value(self.best)
        self.proof.append(f"{self._words(value)}: found")
        proved = {"optimal": value <= self.bound, "bound": self.bound, "proof": self.proof}
        return to_mapping(self.problem, self.best, origin("exact", self.config, self.clock, **proved))

    def _counted(self) -> GridBound:
        """The bound that counting alone gives, before any model is built."""
        dfg, arch = self.problem.dfg, self.problem.arch
        counted = {"wirelength": wirelength_bound, "buffers": fifo_bound, "latency": latency_bound}
        return counted[self.config.objective](dfg, arch)

    def _words(self, value: int) -> str:
        """The objective with a value, as the lines of a proof have it."""
        return f"{'deepest FIFO' if self.config.objective == 'buffers' else self.config.objective} {value}"

    def _value(self, candidate: PlacementCandidate) -> int:
        """The objective's value of a candidate, counted on its routes and its balance."""
        if candidate.balance is None:
            raise ValueError("a candidate without issue cycles is no mapping")
        if self.config.objective == "wirelength":
            return int(np.maximum(candidate.routes.length - 1, 0).sum())
        return candidate.balance.maximum if self.config.objective == "buffers" else candidate.balance.latency

    def _open(self) -> bool:
        """True while a better mapping than the best may exist, and is asked for."""
        if self.best is None:
            return True
        return self._value(self.best) > self.bound and not self.config.first_legal

    # -- a first mapping ----------------------------------------------------------------------------------------------

    def _settle(self) -> None:
        """A mapping by places with short wires, then routes between these places. Nothing is proved by it."""
        self.clock.report("places, then routes")
        part = _FIRST_PART if self._open() and not self.config.first_legal else _ONLY_PART
        enough = _parted(self.clock, part)
        first_mapping(self.problem, self.clock, enough, self._routed)

    def _routed(self, places: Int32s) -> list[int] | None:
        """Keep the mapping with these places if there is one with routes a little longer than the shortest ones: None.

        Otherwise edges that cannot all be routed, or no edge where it is not known which.
        """
        p = self.problem
        far = int(p.hops[places[p.source], places[p.target]].max(initial=1))
        scope = StaticScope(longest=far + _DETOUR, places=tuple(places.tolist()), detour=_DETOUR)
        try:
            model = StaticModel(p, scope, self.clock)
        except (OutOfTimeError, ModelTooLargeError):
            return []
        edge_of = {model.age[e, 0].index: e for e in model.crossing}
        answered = solve_boolean(model.model, self.clock, _ROUTE_CONFLICTS, edge_of)
        # With issue cycles in the way the model is not Boolean.
        solved, blamed = answered or (solve(model.model, self.clock, workers=self.config.workers, share=_SHARE), [])
        if not solved.found:
            return blamed
        self._keep(model, solved)
        return None

    # -- proofs from below --------------------------------------------------------------------------------------------

    def _walk(self) -> None:
        """Ask for the bound; where it is refuted, for one more. Each refutation is a proof."""
        while self._open() and not self.none and not self.clock.over():
            value = self.bound
            answer = self._ask(value)
            if answer != "refuted":
                return
            self.bound = value + 1

    def _ask(self, value: int) -> str:
        """Is there a mapping of this value? ``found``, ``refuted`` for good, or anything else.

        For the wirelength, places alone are tried first: that model is small and refutes most. For FIFOs the routes may
        be longer than those in the model, so that a refutation holds for good only with :func:`sufficient_length`; with
        ``prove`` the length is doubled until then. The latency is only minimised, never asked for.
        """
        self.clock.report(self._words(value))
        if self.config.objective == "latency":
            return "open"
        if self.config.objective == "wirelength":
            longest = min(value + 1, self.config.longest or value + 1)
            places = StaticScope(longest=longest, wirelength=value, links=False)
            answer = self._solve(places)
            if answer == "infeasible":
                self.proof.append(f"{self._words(value)}: refuted by places alone")
                return "refuted" if longest > value else "open"
            if answer == "found" or value == 0:
                return answer
            answer = self._solve(StaticScope(longest=longest, wirelength=value))
            return self._judged(value, answer, longest > value, longest)
        longest = self.config.longest or self._enough_for(value)
        while True:
            answer = self._solve(StaticScope(longest=longest, fifo=value))
            complete = longest >= sufficient_length(self.problem)
            judged = self._judged(value, answer, complete, longest)
            if judged != "short" or not self.config.prove or self.clock.over():
                return judged
            longest = min(2 * longest, sufficient_length(self.problem))

    def _judged(self, value: int, answer: str, complete: bool, longest: int) -> str:
        """Write a refutation down; ``short`` where longer routes than those of the model might still help."""
        if answer != "infeasible":
            return answer
        limit = "" if complete else f" with routes of at most {longest} links"
        self.proof.append(f"{self._words(value)}: refuted{limit}")
        return "refuted" if complete else "short"

    def _enough_for(self, fifo: int) -> int:
        """Links with which the graph's own imbalance can be made up for, and a few more."""
        uneven = self.ideal.maximum if self.ideal is not None else 0
        return min(_SHORT + max(0, uneven - fifo), sufficient_length(self.problem))

    # -- mappings from above ------------------------------------------------------------------------------------------

    def _minimise(self) -> None:
        """Make the objective small directly; longer routes where short ones do not suffice."""
        longest = self.config.longest or max(_SHORT, self._enough_for(self.bound))
        while not self.clock.over():
            scope = StaticScope(longest=longest, aim="any" if self.config.first_legal else self.config.objective)
            answer = self._solve(scope, share=1.0)
            most = self.config.longest or sufficient_length(self.problem)
            if answer == "infeasible" and longest >= most:
                self.none = self.config.longest is None
                self.proof.append(f"no mapping with routes of at most {longest} links")
            if answer != "infeasible" or longest >= most:
                return
            longest = min(2 * longest, most)

    def _solve(self, scope: StaticScope, share: float = _SHARE) -> str:
        """Build and solve a model, and keep a better candidate: ``found``, or the solver's own answer.

        Without links and with longer routes than one link a solution is not a mapping, and only a refutation counts.
        """
        if self.clock.over():
            return "unknown"
        try:
            model = StaticModel(self.problem, scope, self.clock)
        except OutOfTimeError:
            self.unbuilt = True
            return "unknown"
        except ModelTooLargeError:
            # Without a mapping there is no smaller model to fall back on.
            if self.best is None and scope.aim != "any":
                raise
            return "unknown"
        solved = solve(model.model, self.clock, workers=self.config.workers, share=share)
        if scope.aim != "any" and solved.bound is not None:
            self._learn(scope, solved)
        if not solved.found or not model.routable:
            return solved.answer
        self._keep(model, solved)
        return "found"

    def _keep(self, model: StaticModel, solved: Solved) -> None:
        """Keep the candidate of a solution if it is better than the best one."""
        candidate = self._candidate(model, solved)
        if self.best is None or self._value(candidate) < self._value(self.best):
            self.best = candidate

    def _learn(self, scope: StaticScope, solved: Solved) -> None:
        """What a solver's own bound says of mappings with longer routes, too."""
        value = solved.bound or 0
        if scope.aim == "buffers" and scope.longest < sufficient_length(self.problem):
            if value > self.bound:
                limit = f"with routes of at most {scope.longest} links"
                self.proof.append(f"{self._words(value - 1)}: refuted {limit}")
            return
        # A route of more links alone makes for a larger wirelength, or a later result.
        value = min(value, scope.longest) if scope.aim != "buffers" else value
        if value > self.bound:
            self.bound = value
            self.proof.append(f"{self._words(value - 1)}: refuted")

    def _candidate(self, model: StaticModel, solved: Solved) -> PlacementCandidate:
        """The candidate of a solution. Issue cycles are found anew, exactly, for the solution's routes."""
        position, routes = model.position(solved), model.routes(solved)
        fastest = self.config.objective == "latency"
        cycles = balance(self.timing, position, routes.length, fastest=fastest)
        return PlacementCandidate((0,), position, routes, cycles, 0)

    def _failure(self) -> Failure:
        """Why there is no mapping: refuted, or not found within the budget, with the proof so far."""
        if self.none:
            bound, levers = "none: refuted", ("a larger array", "a topology with more links (onehop)")
        else:
            why = ": a model could not be built in the time left" if self.unbuilt else ""
            bound, levers = f"none found within the budget{why}", ("more time", "a larger array")
        return Failure(
            constraint="places, routes and FIFOs together",
            demand=f"a mapping of {self.problem.size} nodes",
            bound=f"{bound}; {'; '.join(self.proof)}",
            levers=levers,
            cause="proved" if self.none else "limit",
        )


def relaxed_wirelength(
    dfg: Dfg, arch: Arch, config: ExactConfig, budget: Budget, *, longest: int = _SHORT
) -> tuple[int, int | None]:
    """The wirelength if links were free, as (proved bound, best found): the bound is one on that of every mapping.

    Edges of more than ``longest`` links count as of that many. Cost: the budget, for graphs that are not tiny.
    """
    clock = budget.start()
    scope = StaticScope(longest=longest, aim="wirelength", links=False)
    try:
        model = StaticModel(build_problem(dfg, arch), scope, clock)
    except OutOfTimeError:
        return 0, None
    solved = solve(model.model, clock, workers=config.workers)
    return max(0, solved.bound or 0), round(solved.solver.objective_value) if solved.found else None
