"""The walk under a time limit: which IIs it tries, in which order, with which patience."""

from __future__ import annotations

import random
import re
from types import SimpleNamespace
from typing import Any

import pytest
from tests.random_cases import loop_graph

from gridloom.archs import build
from gridloom.mapping import Mapping
from gridloom.search.budget import Budget, SearchClock
from gridloom.targets.modulo.mappers.mapping import Solution
from gridloom.targets.modulo.mappers.modulo import ModuloConfig, modulo
from gridloom.targets.modulo.mappers.state import Parameters
from gridloom.targets.modulo.mappers.timed import TimedWalk, takes_slices


class FakeWalk(TimedWalk):
    """A walk whose starts succeed from some II on, and whose clock is over after so many tries."""

    def __init__(
        self,
        *,
        bound: int,
        mapped_from: int,
        tries: int,
        contexts: int | None = None,
        cut: bool = True,
        large: bool = False,
        limit: float = 1000.0,
        built: int | None = None,
    ) -> None:
        tile = SimpleNamespace(contexts=contexts)
        problem = SimpleNamespace(arch=SimpleNamespace(tiles=[tile]), nodes=range(100))
        search: Any = SimpleNamespace(problem=problem, large=large)
        mii: Any = SimpleNamespace(total=bound)
        super().__init__(search, ModuloConfig(), Budget(time_limit=limit).start(), mii)
        self.mapped_from = mapped_from
        self.tries = tries
        self.cuts = cut
        self.built = built
        self.seen: list[int] = []
        self.efforts: list[Parameters] = []
        self.any_wins: list[bool] = []

    def _construct(self, clock: SearchClock) -> None:
        if self.built is not None:
            solution: Any = SimpleNamespace(ii=self.built)
            self.found = solution

    def _try(self, ii: int, effort: Parameters, clock: SearchClock, *, any_wins: bool = False) -> bool:
        # One look at an II is enough for these tests: later batches of the slice are left out.
        if self.cuts:
            clock.end()
        self.seen.append(ii)
        self.efforts.append(effort)
        self.any_wins.append(any_wins)
        self.batches[ii] = self.batches.get(ii, 0) + 1
        if len(self.seen) == self.tries:
            self.clock.end()
        if ii >= self.mapped_from:
            solution: Any = SimpleNamespace(ii=ii)
            self.found = solution
        return ii >= self.mapped_from


def seen(**case: Any) -> list[int]:
    walk = FakeWalk(**case)
    walk.best()
    return walk.seen


def test_climb_without_a_first_mapping_begins_at_four_times_the_bound_and_doubles() -> None:
    assert seen(bound=6, mapped_from=99, tries=5) == [6, 24, 48, 96, 192]


def test_climb_ends_at_the_contexts_of_a_tile() -> None:
    assert seen(bound=6, mapped_from=99, tries=3, contexts=10) == [6, 10, 10]


def test_first_ii_has_much_room_where_the_time_is_short_for_the_graph() -> None:
    assert seen(bound=6, mapped_from=10, tries=4, limit=2.5) == [24, 15, 10, 8]


def test_short_time_without_a_mapping_goes_on_at_twice_the_ii() -> None:
    assert seen(bound=6, mapped_from=96, tries=3, limit=2.5) == [24, 48, 96]


def test_batches_of_a_short_time_anneal_longer_from_one_to_the_next_and_end_with_any_mapping() -> None:
    walk = FakeWalk(bound=6, mapped_from=99, tries=4, limit=2.5, cut=False)
    walk.best()
    assert walk.seen == [24, 24, 24, 24]
    first = walk.efforts[0].annealing
    assert [effort.annealing for effort in walk.efforts] == [first, 2 * first, 4 * first, 8 * first]
    assert all(walk.any_wins)


def test_batches_of_a_long_time_wait_for_starts_of_lower_numbers() -> None:
    walk = FakeWalk(bound=6, mapped_from=9, tries=12, built=12)
    walk.best()
    assert not any(walk.any_wins)


def test_mapping_at_the_bound_ends_the_walk() -> None:
    assert seen(bound=4, mapped_from=4, tries=50) == [4]


def test_first_mapping_of_a_large_loop_at_the_bound_ends_the_walk() -> None:
    assert seen(bound=4, mapped_from=4, tries=50, large=True, built=4) == []


def test_iis_between_the_bound_and_the_best_are_halved() -> None:
    assert seen(bound=6, mapped_from=10, tries=4, built=13) == [6, 9, 11, 10]


def test_iis_near_the_bound_are_tried_downwards_with_growing_patience() -> None:
    walk = FakeWalk(bound=6, mapped_from=9, tries=10, built=9)
    walk.best()
    assert walk.seen == [6, 7, 8, 8, 7, 6, 8, 7, 6, 8]
    assert [effort.patience for effort in walk.efforts[3:]] == [30, 30, 30, 60, 60, 60, 120]


def test_large_loops_stay_at_the_ii_below_the_best_and_anneal_longer_and_shorter_in_turns() -> None:
    walk = FakeWalk(bound=6, mapped_from=9, tries=11, large=True, built=9)
    walk.best()
    assert walk.seen == [6, 7, 8, 8, 8, 8, 8, 7, 6, 8, 8]
    rounds = walk.efforts[3:]
    assert [effort.annealing for effort in rounds] == [2000, 4000, 4000, 8000, 8000, 8000, 4000, 8000]
    assert [effort.patience for effort in rounds] == [15, 15, 15, 15, 15, 15, 30, 30]


def test_best_of_the_walk_is_the_lowest_ii_found() -> None:
    best: Solution | None = FakeWalk(bound=6, mapped_from=10, tries=20, built=12).best()
    assert best is not None
    assert best.ii == 10


def test_failure_names_each_ii_that_was_tried() -> None:
    walk = FakeWalk(bound=6, mapped_from=99, tries=3)
    assert walk.best() is None
    assert walk.failure().constraint == "search at II 6, 24, 48"


@pytest.mark.parametrize(
    ("config", "budget", "slices"),
    [
        (ModuloConfig(), Budget(time_limit=2.0), True),
        (ModuloConfig(), Budget(time_limit=1.0), False),
        (ModuloConfig(ii=4), Budget(time_limit=9.0), False),
        (ModuloConfig(), Budget(time_limit=9.0, effort=1000), False),
        (ModuloConfig(), Budget(), False),
    ],
)
def test_only_runs_that_time_alone_ends_take_slices(config: ModuloConfig, budget: Budget, slices: bool) -> None:
    assert takes_slices(config, budget) == slices


def test_provenance_says_what_was_tried_under_a_time_limit_only() -> None:
    dfg, arch = loop_graph(random.Random(3)), build("torus:2x2")
    by_time = modulo(dfg, arch, ModuloConfig(), Budget(time_limit=60.0))
    by_effort = modulo(dfg, arch, ModuloConfig(), Budget(effort=2000))
    assert isinstance(by_time, Mapping)
    assert isinstance(by_effort, Mapping)
    tried = [text.partition(":")[0] for text in by_time.provenance["tried"]]
    assert f"II {by_time.ii}" in tried
    assert all(re.fullmatch(r"II \d+: \d+ batch(es)? of starts, [\d.]+ s", t) for t in by_time.provenance["tried"])
    assert "tried" not in by_effort.provenance


def test_walk_without_a_mapping_ends_before_its_time_when_no_start_was_cut() -> None:
    walk = FakeWalk(bound=2, mapped_from=99, tries=10_000, contexts=3, cut=False)
    walk.config = ModuloConfig(passes=0)
    assert walk.best() is None
    assert not walk.clock.over()
    assert set(walk.seen) == {2, 3}


def test_run_that_is_interrupted_at_once_is_a_failure_at_the_bound() -> None:
    walk = FakeWalk(bound=5, mapped_from=99, tries=10_000)
    walk.clock.end()
    assert walk.best() is None
    assert walk.failure().constraint == "search at II 5"
