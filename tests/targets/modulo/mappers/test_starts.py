"""Batches of starts: who wins, which starts are left out, and what nodes of one kind share."""

from __future__ import annotations

import random
import threading
from typing import Any

import numpy as np
import pytest
from tests.random_cases import loop_graph

from gridloom.archs import build
from gridloom.dfg import DfgBuilder
from gridloom.mapping.mii import mii
from gridloom.search.budget import Budget
from gridloom.targets.modulo.mappers.mapping import Solution, to_mapping
from gridloom.targets.modulo.mappers.problem import ModuloProblem
from gridloom.targets.modulo.mappers.search import BATCH, ModuloAttempt, ModuloSearch
from gridloom.targets.modulo.mappers.state import Parameters
from gridloom.verify import legal

EFFORT = Parameters(
    moves=24, patience=15, present=0.6, growth=1.06, ceiling=12.0, history=0.3, noise=0.05, extra=3, pull=0.3,
    removal=0.65, annealing=0,
)  # fmt: skip


class FakeStarts(ModuloSearch):
    """Starts of which some find a mapping; start 0 can be made to wait until another one has."""

    def __init__(self, winners: set[int], *, waits: bool = False) -> None:
        super().__init__(ModuloProblem(loop_graph(random.Random(0)), build("torus:3x3,regs=4")))
        self.winners = winners
        self.waits = waits
        self.began: list[int] = []
        self.other = threading.Event()

    def _start(self, loop: Any, ii: int, number: int, effort: Any, clock: Any, won: Any, **words: bool) -> Any:
        if won[0] < number:
            return None
        self.began.append(number)
        if self.waits and number == 0:
            assert self.other.wait(10)
            if won[0] < number:
                return ModuloAttempt(False, Any, 1, 5)
        found = number in self.winners
        if found:
            won[0] = -1 if words["any_wins"] else min(int(won[0]), number)
            self.other.set()
        return ModuloAttempt(found, Any, 1, 5)  # type: ignore[arg-type]


def test_starts_after_a_winner_do_not_begin() -> None:
    starts = FakeStarts({1})
    winner, _ = starts.batch(8, 0, EFFORT, Budget().start())
    assert winner is not None
    assert starts.began == [0, 1]


def test_start_of_a_lower_number_is_waited_for() -> None:
    starts = FakeStarts({0, 1}, waits=True)
    clock = Budget(workers=2).start()
    winner, _ = starts.batch(8, 0, EFFORT, clock)
    assert winner is not None
    assert clock.moves == 1


def test_any_winner_ends_the_batch_where_the_time_is_short() -> None:
    starts = FakeStarts({0, 1}, waits=True)
    clock = Budget(workers=2).start()
    winner, _ = starts.batch(8, 0, EFFORT, clock, any_wins=True)
    assert winner is not None
    # The winner is start 1: the moves of both are counted.
    assert clock.moves == 2


def test_all_starts_of_a_batch_run_where_none_wins() -> None:
    starts = FakeStarts(set())
    winner, closest = starts.batch(8, 0, EFFORT, Budget().start())
    assert winner is None
    assert closest.overuse == 5
    assert starts.began == list(range(BATCH))


@pytest.mark.parametrize("any_wins", [False, True])
def test_winner_is_legal(any_wins: bool) -> None:
    dfg, arch = loop_graph(random.Random(3)), build("torus:3x3,regs=4")
    search = ModuloSearch(ModuloProblem(dfg, arch))
    won, _ = search.batch(mii(dfg, arch).total + 2, 0, EFFORT, Budget(workers=2).start(), any_wins=any_wins)
    assert won is not None
    assert isinstance(won.solution, Solution)
    assert legal(to_mapping(won.solution, {})) == []


@pytest.mark.parametrize("seed", range(6))
def test_nodes_of_a_kind_sit_where_each_of_them_may(seed: int) -> None:
    dfg = loop_graph(random.Random(seed))
    arch = build(("torus:3x3", "ramp-6", "torus:2x4,regs=2,bus=none")[seed % 3])
    pinned = {next(k for k, op in enumerate(dfg.ops) if not op.timeless): 1}
    problem = ModuloProblem(dfg, arch, pinned=pinned)
    loop = problem.loop(64)
    assert len(loop.allowed) == len(set(loop.kind.tolist()))
    for n, k in enumerate(problem.nodes):
        needed = dfg.required_classes(dfg.nodes[k].id)
        able = [needed <= tile.classes and (k not in pinned or t == pinned[k]) for t, tile in enumerate(arch.tiles)]
        assert loop.allowed[loop.kind[n]].astype(bool).tolist() == able
        name = problem.op_class(problem.class_of(k))
        assert loop.latency[loop.kind[n]].tolist() == [tile.latency_of(name) for tile in arch.tiles]


def test_live_ins_that_nobody_reads_get_idle_registers_that_stay_in_place() -> None:
    b = DfgBuilder("unread")
    b.livein("x")
    b.add("neg", b.add("neg", b.livein("y")))
    dfg, arch = b.build(), build("torus:2x2,regs=4,memory=none")
    search = ModuloSearch(ModuloProblem(dfg, arch))
    won, _ = search.batch(2, 0, EFFORT, Budget().start())
    assert won is not None
    mapping = to_mapping(won.solution, {})
    assert legal(mapping) == []
    assert len({instance.place for instance in mapping.instances if instance.node in ("x", "y")}) == 2


def test_box_of_a_large_array_does_not_list_all_tiles() -> None:
    from gridloom.targets.modulo.mappers.reach.distances import Distances

    reach = Distances(ModuloProblem(loop_graph(random.Random(0)), build("torus:12x12"))).reach
    sizes = np.diff(reach.ball_at)
    # Three hops on a torus: 1 + 4 + 8 + 12 tiles around and at each.
    assert set(sizes.tolist()) == {25}
    assert (reach.hops[0, reach.ball[: sizes[0]]] <= 3).all()
