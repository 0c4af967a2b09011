"""The model over slots: what it refutes nobody maps, two solvers agree on it, and no value comes from nowhere."""

from __future__ import annotations

import random

import pytest
from tests.random_cases import loop_graph
from tests.targets.modulo.mappers.exact.test_search import fan

from gridloom.archs import build
from gridloom.dfg import Dfg
from gridloom.mapping import Mapping
from gridloom.search.budget import Budget
from gridloom.search.sat import solve_boolean
from gridloom.search.solver import solve
from gridloom.targets.modulo.mappers.exact.model import LoopModel
from gridloom.targets.modulo.mappers.exact.scope import Scope
from gridloom.targets.modulo.mappers.modulo import ModuloConfig, modulo
from gridloom.targets.modulo.mappers.problem import ModuloProblem

pytest.importorskip("ortools")
pytest.importorskip("pysat")

BARE = "torus:2x2,regs=0,hold=next,bus=none"
ROW = "torus:1x3,regs=0,hold=next,bus=none"


def over_slots(dfg: Dfg, text: str, ii: int) -> LoopModel:
    return LoopModel(ModuloProblem(dfg, build(text)), Scope(ii=ii, spread=None))


@pytest.mark.parametrize("seed", range(8))
def test_what_the_search_maps_is_not_refuted(seed: int):
    text = ("torus:2x2,regs=2", "torus:2x2,regs=1,bus=none", "torus:1x3,regs=2,hold=next,bus=none")[seed % 3]
    dfg = loop_graph(random.Random(seed))
    found = modulo(dfg, build(text), ModuloConfig(), Budget(effort=4000, seed=seed))
    assert isinstance(found, Mapping)
    assert solve(over_slots(dfg, text, found.ii).model, Budget().start(), workers=1).found


@pytest.mark.parametrize(
    ("width", "text", "ii", "refuted"),
    [(3, BARE, 2, True), (2, ROW, 2, True), (2, ROW, 3, False), (3, "torus:2x2,regs=1", 2, True)],
)
def test_both_solvers_say_the_same_of_a_model(width: int, text: str, ii: int, refuted: bool):
    model = over_slots(fan(width), text, ii).model
    answered = solve_boolean(model, Budget().start(), 100_000, {})
    assert answered is not None
    assert answered[0].found is solve(model, Budget().start(), workers=1).found is not refuted


def test_value_is_not_held_without_a_write():
    model = over_slots(fan(2), "torus:2x2,regs=1", 3)
    answer = solve(model.model, Budget().start(), workers=1)
    writers = {
        (net, tile)
        for table in (model.issue, model.move, model.load)
        for (net, tile, _), literal in table.items()
        if answer.value(literal)
    }
    held = [(net, storage) for (net, storage, _), literal in model.held.items() if answer.value(literal)]
    assert held
    assert all(any((net, tile) in writers for tile in model.writers(storage)) for net, storage in held)
