"""``portfolio``: several mappers at once, the best result wins.

No mapper is best on every graph (Huberman, Lukose and Hogg 1997 on portfolios of algorithms): a search finds early, a
solver proves. The idea:

1. the mappers that suit the array run on threads, each with the whole time limit (kernels and solver release the GIL);
2. the first result that is proved optimal ends the race;
3. otherwise the lowest II wins, then the fewest columns (rows of ALUs), the shallowest FIFOs, the fewest links;
4. a run limited by effort is no race: each mapper gets an equal part, ties go to the one listed first, so that the
   result does not depend on who was faster.

Cost: the time limit, on as many cores as there are mappers. Limits: mappers run with their standard settings.
"""

from __future__ import annotations

import dataclasses
import importlib
import threading
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass
from typing import Any

from gridloom.archs.model import Arch, Kind
from gridloom.dfg.model import Dfg
from gridloom.errors import GridloomError, OptionError
from gridloom.mapping.model import Failure, Mapping
from gridloom.search.budget import Budget, Progress, SearchClock
from gridloom.search.choice import call_mapper, check_suits, config_type, function_for, mappers_for
from gridloom.search.settings import changed_settings, check_settings

Outcome = Mapping | Failure | GridloomError

# How often a race looks at its budget.
_TICK = 0.05


@dataclass(frozen=True, kw_only=True)
class PortfolioConfig:
    """Settings of ``portfolio``.

    The raced mappers run with their standard settings, so there is nothing to set here but which ones take part and at
    which II. A mapper that takes no II is refused when one is asked for.
    """

    #: The II to map at; None: the lowest that a mapper finds.
    ii: int | None = None
    #: The mappers to race, such as modulo+exact; empty: those that suit the array.
    mappers: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        check_settings(self, at_least={"ii": 1})
        if "portfolio" in self.mappers:
            raise OptionError("mappers: a portfolio does not race itself")


def portfolio(dfg: Dfg, arch: Arch, config: PortfolioConfig, budget: Budget) -> Mapping | Failure:
    """The best mapping that the raced mappers find, with the finder in its provenance; or the first one's Failure.

    OptionError for an array that no mapper searches on, and for a named mapper that does not take the array.
    """
    check_suits("portfolio", dfg, arch)
    names = config.mappers or _suited(arch, budget)
    race = _Race(dfg, arch, config, budget, names)
    outcomes = race.run()
    ranked = [(_merit(outcome), k, outcome) for k, outcome in enumerate(outcomes) if isinstance(outcome, Mapping)]
    if not ranked:
        return _without_mapping(outcomes, bool(config.mappers))
    _, best, winner = min(ranked, key=lambda entry: entry[:2])
    told = {"found_by": names[best], "rivals": _rivals(names, outcomes), **_proved(winner, outcomes)}
    mine = {"mapper": "portfolio", "config": changed_settings(config), "seed": budget.seed}
    return dataclasses.replace(winner, provenance={**winner.provenance, **mine, **told})


def _suited(arch: Arch, budget: Budget) -> tuple[str, ...]:
    """What is raced where nothing is named, in the order in which ties are won."""
    names = mappers_for(arch, "search", "proof")
    # A solver without a limit may never end.
    proofs = mappers_for(arch, "proof") if budget.unlimited else []
    return tuple(name for name in names if name not in proofs)


class _Race:
    """The mappers at work on one graph and array, each on a thread of its own.

    ``configs[k]`` is the configuration of mapper ``names[k]``; outcomes have the same order. All
    mappers share the event ``decided``: setting it makes each of them end with the best that it has.
    """

    def __init__(self, dfg: Dfg, arch: Arch, config: PortfolioConfig, budget: Budget, names: tuple[str, ...]) -> None:
        self.dfg = dfg
        self.arch = arch
        self.budget = budget
        self.names = names
        self.configs = [_config(name, arch, config) for name in names]
        self.decided = threading.Event()
        #: The last report of each mapper; None: it has made none yet.
        self.told: list[Progress | None] = [None] * len(names)

    def run(self) -> list[Outcome]:
        """What became of each mapper, in the order of their names."""
        # Two threads that import numba for the first time at once break its modules, so it is imported before.
        importlib.import_module("gridloom.jit")
        clock = self.budget.start()
        racing = self.budget.effort is None
        size = len(self.configs) if racing else min(self.budget.workers, len(self.configs))
        with ThreadPoolExecutor(max_workers=size) as pool:
            futures = [pool.submit(self._enter, k) for k in range(len(self.configs))]
            try:
                self._watch(futures, clock, racing)
            except KeyboardInterrupt:
                self.decided.set()
            return [future.result() for future in futures]

    def _enter(self, k: int) -> Outcome:
        """Run one mapper with its part of the budget.

        An error of ours is an outcome like any other, so that it does not end the other mappers.
        """
        config = self.configs[k]
        parts = len(self.configs)

        def listen(progress: Progress) -> None:
            self.told[k] = progress

        budget = dataclasses.replace(
            self.budget,
            effort=None if self.budget.effort is None else max(1, self.budget.effort // parts),
            workers=max(1, self.budget.workers // parts),
            progress=listen,
            interrupted=self._over,
        )
        try:
            outcome: Outcome = call_mapper(self.names[k], self.dfg, self.arch, config, budget)
        except GridloomError as error:
            return error
        except BaseException:
            # A mistake of ours ends the race: nobody waits for the others to use up their time first.
            self.decided.set()
            raise
        return outcome

    def _over(self) -> bool:
        """What each mapper asks about 50 times per second: is the race decided, or does the user want it to end?"""
        asked = self.budget.interrupted is not None and self.budget.interrupted()
        return self.decided.is_set() or asked

    def _watch(self, futures: list[Future[Outcome]], clock: SearchClock, racing: bool) -> None:
        """Wait for the mappers; in a race the first result that is proved optimal ends those that are still running."""
        waiting = set(futures)
        while waiting:
            done, waiting = wait(waiting, timeout=_TICK, return_when=FIRST_COMPLETED)
            if racing and any(_is_proved(future.result()) for future in done):
                self.decided.set()
            # Mappers begin to count once their tables are built; together these take longer than those of one.
            if racing and clock.late:
                self.decided.set()
            self._report(clock, len(futures) - len(waiting))

    def _report(self, clock: SearchClock, done: int) -> None:
        """Tell the user of all mappers in one line: the longest search time, the sum of moves, the best of each."""
        if self.budget.progress is None:
            return
        told = [(name, p) for name, p in zip(self.names, self.told) if p is not None]
        words = ", ".join(f"{name}: {p.best}" for name, p in told if p.best)
        # Mappers leave compilation out of their seconds, so theirs are the ones that count.
        seconds = max((p.seconds for _, p in told), default=clock.seconds)
        moves = sum(p.moves for _, p in told)
        phase = f"{done} of {len(self.names)} mappers done"
        self.budget.progress(Progress(seconds=seconds, moves=moves, phase=phase, best=words))


def _config(name: str, arch: Arch, config: PortfolioConfig) -> Any:
    """The standard configuration of a mapper for the array, with the II that is asked for."""
    kind = config_type(function_for(name, arch))
    if config.ii is None:
        return kind()
    if "ii" not in {field.name for field in dataclasses.fields(kind)}:
        raise OptionError(f"mapper {name!r} does not take an II", where="--ii")
    return kind(ii=config.ii)


# -- who wins ---------------------------------------------------------------------------------------------------------


def _merit(mapping: Mapping) -> tuple[int, ...]:
    """Less is better: II, columns where rows of ALUs are shared by width, FIFOs, links.

    These figures are counted in the mapping itself, so that mappers with different objectives are judged alike.
    """
    arch = mapping.arch
    fifos = [route.fifo for route in mapping.routes]
    kinds = {name: int(kind) for name, kind in zip(arch.resource_names, arch.kind.tolist())}
    links = sum(1 for route in mapping.routes for name, _ in route.hops if kinds.get(name) == Kind.LINK)
    ports = arch.has("rows")
    used = [arch.tiles[arch.tile_index[i.place]].col for i in mapping.instances if i.place in arch.tile_index]
    columns = max(used, default=0) + 1 if ports else 0
    return (mapping.ii, columns, max(fifos, default=0), sum(fifos), links)


def _is_proved(outcome: Outcome) -> bool:
    return isinstance(outcome, Mapping) and bool(outcome.provenance.get("optimal"))


def _rivals(names: tuple[str, ...], outcomes: list[Outcome]) -> list[str]:
    """One sentence about each mapper that took part."""
    words = []
    for name, outcome in zip(names, outcomes):
        result = f"II {outcome.ii}" if isinstance(outcome, Mapping) else f"no mapping ({outcome})"
        words.append(f"{name}: {result}")
    return words


def _proved(winner: Mapping, outcomes: list[Outcome]) -> dict[str, Any]:
    """What other mappers proved of the winner: a bound on the II that it reaches makes it optimal."""
    if winner.arch.style != "modulo" or winner.provenance.get("optimal"):
        return {}
    for other in outcomes:
        if isinstance(other, Mapping) and other.provenance.get("bound") == winner.ii:
            return {name: other.provenance[name] for name in ("bound", "proof") if name in other.provenance} | {
                "optimal": True
            }
    return {}


def _without_mapping(outcomes: list[Outcome], named: bool) -> Failure:
    """The first Failure; a mistake in what the user named is raised, as is one that leaves no mapper at all."""
    errors = [outcome for outcome in outcomes if isinstance(outcome, GridloomError)]
    failures = [outcome for outcome in outcomes if isinstance(outcome, Failure)]
    if errors and (named or not failures):
        raise errors[0]
    return failures[0]
