"""List starts: the order and the registers that they take, and the IIs at which a first mapping is built."""

from __future__ import annotations

import random
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from tests.random_cases import loop_graph

from gridloom.archs import build
from gridloom.mapping.mii import mii
from gridloom.search.budget import Budget
from gridloom.targets.modulo.mappers.config import ModuloConfig
from gridloom.targets.modulo.mappers.listed import list_parameters, list_rank, list_registers
from gridloom.targets.modulo.mappers.mapping import to_mapping
from gridloom.targets.modulo.mappers.problem import ModuloProblem, RegisterUse
from gridloom.targets.modulo.mappers.search import LARGE, ModuloSearch
from gridloom.targets.modulo.mappers.walk import Walk
from gridloom.verify import legal


class FakeSearch:
    """A search whose list starts succeed at some IIs."""

    def __init__(self, mapped: set[int], contexts: int | None) -> None:
        tile = SimpleNamespace(contexts=contexts)
        self.problem = SimpleNamespace(arch=SimpleNamespace(tiles=[tile]), nodes=range(LARGE))
        self.mapped = mapped
        self.seen: list[int] = []

    def counts_clocks(self, config: ModuloConfig) -> bool:
        return config.batches == 0

    def batch(self, ii: int, first: int, effort: None, clock: object) -> tuple[Any, Any]:
        assert (first, effort) == (0, None)
        self.seen.append(ii)
        closest = SimpleNamespace(overuse=1)
        return (SimpleNamespace(solution=SimpleNamespace(ii=ii)) if ii in self.mapped else None), closest


def construct(mapped: set[int], *, contexts: int | None = None, **settings: int) -> tuple[list[int], Walk]:
    search: Any = FakeSearch(mapped, contexts)
    bound: Any = SimpleNamespace(total=10)
    walk = Walk(search, ModuloConfig(**settings), Budget().start(), bound)
    walk._construct(walk.clock)
    return search.seen, walk


def test_first_mapping_is_built_at_twice_the_bound_and_halfway_to_it_while_that_succeeds() -> None:
    seen, walk = construct({20, 15})
    assert seen == [20, 15, 12]
    assert walk.found is not None
    assert walk.found.ii == 15
    assert walk.record() == {"constructed": [20, 15]}


def test_first_mapping_at_the_bound_is_the_last() -> None:
    assert construct({20, 15, 12, 11, 10})[0] == [20, 15, 12, 11, 10]


def test_ii_of_the_first_mapping_doubles_where_it_fails() -> None:
    assert construct({80, 45})[0] == [20, 40, 80, 45, 27]


def test_first_mapping_keeps_to_the_contexts_of_a_tile() -> None:
    seen, walk = construct(set(), contexts=25)
    assert (seen, walk.found, walk.record()) == ([20, 25], None, {})


@pytest.mark.parametrize("settings", [{"ii": 12}, {"batches": 0}])
def test_nothing_is_built_at_an_ii_that_is_asked_for_or_where_clocks_count(settings: dict[str, int]) -> None:
    assert construct({20}, **settings)[0] == []


def test_list_starts_go_against_the_schedule_and_along_it() -> None:
    loop: Any = SimpleNamespace(nodes=3, preferred=np.array([4, 6, 5]))
    orders = [list_rank(loop, number, np.random.default_rng(1)).argsort().tolist() for number in range(2)]
    assert orders == [[1, 2, 0], [0, 2, 1]]


def test_list_starts_differ_in_the_registers_that_rotate() -> None:
    problem = ModuloProblem(loop_graph(random.Random(1)), build("torus:2x2,regs=4"))
    assert [list_registers(problem, number) for number in range(4)] == [
        RegisterUse(limit=4, rotating=rotating) for rotating in (2, 2, 1, 1)
    ]


def test_prices_grow_in_every_second_list_start() -> None:
    first, second = (list_parameters(10, number, np.random.default_rng(1)) for number in range(2))
    assert first.growth > 1.0
    assert (second.growth, second.ceiling) == (1.0, second.present)
    assert first.moves == second.moves == 160


@pytest.mark.parametrize("seed", range(4))
def test_list_starts_map_random_loops_at_twice_the_bound(seed: int) -> None:
    dfg, arch = loop_graph(random.Random(seed)), build("torus:3x3,regs=4")
    winner, _ = ModuloSearch(ModuloProblem(dfg, arch)).batch(2 * mii(dfg, arch).total + 1, 0, None, Budget().start())
    assert winner is not None
    assert not legal(to_mapping(winner.solution, {}))
