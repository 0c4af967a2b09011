"""Rows of related nodes say what the table of least distances says."""

from __future__ import annotations

import random

import numpy as np
import pytest
from tests.random_cases import loop_graph

from gridloom.archs import build
from gridloom.mapping.mii import mii
from gridloom.targets.modulo.mappers.problem import ModuloProblem
from gridloom.targets.modulo.mappers.schedule import iterative
from gridloom.targets.modulo.mappers.schedule.iterative import NONE, Dependence, least_distances
from gridloom.targets.modulo.mappers.schedule.relations import relations


@pytest.mark.parametrize("seed", range(6))
def test_rows_hold_each_bound_of_the_table_once(seed: int) -> None:
    dfg, arch = loop_graph(random.Random(seed)), build("torus:3x3")
    problem = ModuloProblem(dfg, arch)
    least = least_distances(len(problem.nodes), problem.dependences, mii(dfg, arch).total)
    rows = relations(least)
    after, before = np.full_like(least, NONE), np.full_like(least, NONE)
    for node in range(len(least)):
        for k in range(rows.at[node], rows.at[node + 1]):
            assert rows.other[k] != node
            after[node, rows.other[k]] = rows.after[k]
            before[rows.other[k], node] = rows.before[k]
    apart = ~np.eye(len(least), dtype=bool)
    assert (after == least)[apart].all()
    assert (before == least)[apart].all()


def test_nodes_without_dependences_have_no_rows() -> None:
    rows = relations(least_distances(5, [], 1))
    assert rows.at.tolist() == [0] * 6
    assert len(rows.other) == 0


@pytest.mark.parametrize("seed", range(6))
def test_distances_row_by_row_are_those_of_the_whole_table(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    rng = random.Random(seed)
    forward = [(rng.randrange(40), rng.randrange(40), rng.randint(0, 3)) for _ in range(70)]
    found = [Dependence(source=min(a, b), target=max(a, b), delay=d, distance=0) for a, b, d in forward if a != b]
    found += [Dependence(source=b, target=a, delay=1, distance=2) for a, b, _ in forward[:10] if a < b]
    ii = 40
    whole = least_distances(40, found, ii)
    monkeypatch.setattr(iterative, "_DENSE", 0)
    assert (least_distances(40, found, ii) == whole).all()
