"""``exact`` on modulo-scheduled arrays: what the models find or refute, II by II, and for which schedules that holds.

How long a schedule has to be looked at. Let S be the number of output registers and registers, T of tiles, L the
longest latency of a move or a load. At most one signal of one age is in a register in a slot, so that all values
together spend at most II * S cycles in registers, and at most II * T * (L - 1) on the way out of moves, apart from
memory. The producer and the readers of a value are therefore no further apart than the value's share of that, its
latency and II times the distance of its edges. Instances that such values or pairs tie together form groups; between
groups there are only lower bounds (a value may stay in memory as long as it likes; order edges), so that every group
may be moved back by periods until a bound holds it, which is at most one period, a spill and the bound's own delay
away: :func:`sufficient_spread`. A refutation within it holds for all schedules; one within less says so. (Where the
data memory may be too small for what is spilled, moving groups may matter, and only the model over slots refutes for
good.)
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from gridloom.archs.model import Arch
from gridloom.dfg.model import Dfg
from gridloom.mapping.mii import Mii, mii
from gridloom.mapping.model import Failure, Mapping
from gridloom.search.budget import Budget, SearchClock
from gridloom.search.choice import check_suits
from gridloom.search.settings import origin
from gridloom.search.solver import (
    ExactConfig,
    ModelTooLargeError,
    OutOfTimeError,
    Solved,
    check_size,
    cp_model,
    solve,
    too_large,
)
from gridloom.targets.modulo.mappers.exact.mapping import to_mapping
from gridloom.targets.modulo.mappers.exact.model import LoopModel
from gridloom.targets.modulo.mappers.exact.scope import Scope
from gridloom.targets.modulo.mappers.problem import ModuloProblem
from gridloom.targets.modulo.mappers.schedule.iterative import NONE, least_distances
from gridloom.targets.modulo.mappers.screening import screen

#: ``refuted``: for schedules of any length; ``window``: for those within a spread; ``open``: the budget ended first.
Outcome = Literal["found", "refuted", "window", "open"]

# Registers of a file in the first model.
_FEW = 2

# The part of what is left of the budget that one model of several may take.
_SHARE = 0.5


def exact_modulo(dfg: Dfg, arch: Arch, config: ExactConfig, budget: Budget) -> Mapping | Failure:
    """A loop on a torus-like array at the lowest II that is not refuted, or why there is none.

    The proof, one sentence for each II, is in the provenance of the mapping or in the failure. A failure also says when
    the first model is too large. OptionError for another kind of array; MissingExtra without OR-Tools.
    """
    check_suits("exact", dfg, arch)
    cp_model()
    clock = budget.start()
    problem = ModuloProblem(dfg, arch)
    bound = mii(dfg, arch)
    reason = problem.banks.failure or screen(problem, bound, config.ii)
    if reason is not None:
        return reason
    least_distances(1, [], 1)  # compiled before the clock starts
    try:
        check_size(least_size(problem))
        return _Walk(problem, bound, config, clock.prepared()).result()
    except ModelTooLargeError as error:
        return too_large(error.size, "modulo")


def least_size(problem: ModuloProblem) -> int:
    """Variables that every model has: each value is on the outputs, wires and registers in a cycle at least."""
    registers = sum(len(file.registers) for file in problem.arch.register_files)
    return len(problem.nodes) * (4 * len(problem.arch.tiles) + registers)


def sufficient_spread(problem: ModuloProblem, ii: int) -> int:
    """Cycles from the first to the last issue that some mapping at an II stays within, if there is any.

    The argument is in the docstring of the module. The number is safe, not tight.
    """
    arch, dfg, s = problem.arch, problem.dfg, problem.structure
    storages = len(arch.tiles) + sum(len(file.registers) for file in arch.register_files)
    passing = max([1, *s.move_latency, *s.load_latency])
    latency = max([1, *(max(tile.latency.values()) for tile in arch.tiles)])
    distance = max((edge.distance for edge in dfg.edges), default=0)
    delay = max((edge.delay for edge in dfg.edges if edge.kind in ("order", "pair")), default=0)
    in_registers = ii * storages + ii * len(arch.tiles) * (passing - 1)
    an_instance = latency + ii * distance + ii + passing + 2 + delay
    return in_registers + ii * len(arch.tiles) * an_instance + 1


@dataclass(frozen=True)
class _Decision:
    """What became of an II: the outcome, a sentence for the user, and the model and solution of a mapping."""

    outcome: Outcome
    sentence: str
    model: LoopModel | None = None
    solved: Solved | None = None


@dataclass
class _Walk:
    """IIs from the bound on, and what became of each."""

    problem: ModuloProblem
    bound: Mii
    config: ExactConfig
    clock: SearchClock
    decisions: dict[int, _Decision] = field(default_factory=dict)
    #: True when a model was left out, since building it would have taken, or took, more than the time left.
    unbuilt: bool = False

    def result(self) -> Mapping | Failure:
        """Decide II after II until one is found, or the budget ends."""
        ii = self.config.ii or self.bound.total
        last = self.config.ii or self._last()
        while ii <= last:
            self.clock.report(f"II {ii}")
            self.unbuilt = False
            decision = self.decisions[ii] = self._decide(ii)
            if decision.model is not None and decision.solved is not None:
                self.clock.report("done", f"II {ii}")
                return self._mapping(ii, decision.model, decision.solved)
            if self.unbuilt or self.clock.over():
                break
            ii += 1
        self.clock.report("done")
        return self._failure()

    def _last(self) -> int:
        """The highest II to try: the contexts of the tiles, or one at which a serial schedule has ample room."""
        contexts = [tile.contexts for tile in self.problem.arch.tiles if tile.contexts is not None]
        return min([*contexts, 4 * len(self.problem.nodes) + self.bound.total + 8])

    # -- one II -------------------------------------------------------------------------------------------------------

    def _decide(self, ii: int) -> _Decision:
        """Small models first, since they find most; then slots for a proof; then everything within the window.

        The first two models leave out rotation, spills and copies, and refute nothing. With ``prove`` the window
        doubles until the spread suffices for a proof or the budget ends.
        """
        c = self.config
        critical = self._critical(ii)
        spread = c.spread or critical + ii + 2
        for cycles, registers in ((min(critical, spread), _FEW), (spread, None)):
            plain = Scope(ii=ii, spread=cycles, rotate=False, spill=False, copies=False, registers=registers)
            found, _ = self._solve(ii, plain)
            if found:
                return found
        slots = Scope(ii=ii, spread=None, rotate=c.rotate, spill=c.spill, copies=c.copies)
        _, answer = self._solve(ii, slots)
        if answer == "infeasible":
            return _Decision("refuted", f"II {ii}: refuted for schedules of any length{self._allowed()}")
        enough = sufficient_spread(self.problem, ii)
        while not self.clock.over():
            spread = min(spread, enough)
            wide = Scope(ii=ii, spread=spread, rotate=c.rotate, spill=c.spill, copies=c.copies)
            found, answer = self._solve(ii, wide)
            if found:
                return found
            if answer != "infeasible":
                break
            if spread >= enough and not self._short_memory(wide):
                return _Decision("refuted", f"II {ii}: refuted for schedules of any length{self._allowed()}")
            if spread >= enough or not c.prove:
                return _Decision("window", f"II {ii}: refuted within a window of {spread} cycles{self._allowed()}")
            spread *= 2
        why = ", since a model could not be built in the time left" if self.unbuilt else ""
        return _Decision("open", f"II {ii}: not decided{why}")

    def _solve(self, ii: int, scope: Scope) -> tuple[_Decision | None, str]:
        """Solve the model of a scope: (the decision when it has a mapping, else None; the solver's answer).

        A model that is too large counts as unknown, except the smallest, without which nothing can be tried.
        """
        if self.clock.over():
            return None, "unknown"
        try:
            model = LoopModel(self.problem, scope, self.clock)
        except ModelTooLargeError:
            if scope.registers is not None:
                raise
            return None, "unknown"
        except OutOfTimeError:
            self.unbuilt = True
            return None, "unknown"
        solved = solve(model.model, self.clock, workers=self.config.workers, share=_SHARE)
        if solved.found and model.flat:
            return _Decision("found", f"II {ii}: found", model, solved), solved.answer
        return None, solved.answer

    def _short_memory(self, scope: Scope) -> bool:
        """True when the data memory has a limit that spills could meet."""
        limit = self.problem.arch.data_memory
        return limit is not None and scope.spill

    def _critical(self, ii: int) -> int:
        """Cycles from the first to the last issue that dependences alone ask for."""
        least = least_distances(len(self.problem.nodes), self.problem.dependences, ii)
        return int(least[least > NONE // 2].max(initial=0)) + 1

    def _allowed(self) -> str:
        """The end of a sentence that names what mappings were not allowed to do; empty where nothing was left out."""
        left_out = [
            words
            for name, words in (("rotate", "rotating registers"), ("spill", "spills"), ("copies", "recomputation"))
            if not getattr(self.config, name)
        ]
        return f", without {' and '.join(left_out)}" if left_out else ""

    # -- words --------------------------------------------------------------------------------------------------------

    def _proved_bound(self) -> int:
        """The lowest II that is not refuted for good; only proofs with everything allowed count."""
        everything = self.config.rotate and self.config.spill and self.config.copies
        ii = self.bound.total
        while everything and self.decisions.get(ii, _Decision("open", "")).outcome == "refuted":
            ii += 1
        return ii

    def _mapping(self, ii: int, model: LoopModel, solved: Solved) -> Mapping:
        """The mapping at an II, with the proofs for all lower ones."""
        bound = self._proved_bound()
        why = "; ".join(self.bound.explanations) or "no II is less than 1"
        proof = [f"II below {self.bound.total}: refuted by counting ({why})"]
        proof += [decision.sentence for _, decision in sorted(self.decisions.items())]
        record = origin("exact", self.config, self.clock, optimal=ii == bound, bound=bound, proof=proof)
        return to_mapping(model, solved, record)

    def _failure(self) -> Failure:
        """What became of each II that was tried."""
        tried = sorted(self.decisions)
        span = f"II {tried[0]}" if len(tried) == 1 else f"II {tried[0]} to {tried[-1]}"
        outcomes = {decision.outcome for decision in self.decisions.values()}
        undecided = "open" in outcomes
        levers = (f"II {tried[-1] + 1}", "more registers", "a larger array")
        return Failure(
            constraint=span,
            demand="a schedule with places and routes",
            bound="; ".join(self.decisions[ii].sentence for ii in tried),
            levers=("more time", *levers) if undecided else levers,
            cause="limit" if undecided else "proved" if outcomes == {"refuted"} else "exhausted",
        )
