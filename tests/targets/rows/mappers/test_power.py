"""Power and slack by the published model: what registers, ops and distance do to them."""

from __future__ import annotations

import pytest

from gridloom.archs import build
from gridloom.dfg.model import Dfg, DfgBuilder
from gridloom.mapping.model import Mapping
from gridloom.search.budget import Budget
from gridloom.targets.rows.mappers.genetic import GeneticConfig, genetic
from gridloom.targets.rows.mappers.power import OperatingPoint, operation
from gridloom.targets.rows.mappers.problem import flatten
from gridloom.targets.rows.mappers.search import TURNS, Starts


def chain(op: str, count: int) -> Dfg:
    b = DfgBuilder("chain", "cma24")
    value = b.input("x")
    for _ in range(count):
        value = b.add(op, value, b.const(3))
    b.output(value, "y")
    return b.build()


def judged(op: str, count: int, bits: tuple[int, ...] = (0, 0, 0), period: float = 100.0) -> OperatingPoint:
    """Power and slack of a chain on two columns of four rows, placed and routed by one start."""
    import numpy as np

    arch = build("vpcma:4x2")
    graph = flatten(chain(op, count), arch)
    go = np.zeros(1, dtype=np.uint8)
    layout = Starts(graph, arch).start(2, 1, 400, None, go, go, TURNS[0])
    assert layout is not None
    assert layout.legal
    return operation(graph, layout.array, layout.place, layout.route, layout.length, bits, period)


def test_a_longer_chain_takes_more_power_and_leaves_less_slack() -> None:
    short, long = judged("add", 1), judged("add", 3)
    assert long.power > short.power
    assert long.slack < short.slack < 100


def test_a_product_takes_more_than_a_mask() -> None:
    assert judged("mult", 2).power > judged("and", 2).power
    assert judged("mult", 2).slack < judged("and", 2).slack


def test_registers_cut_paths() -> None:
    assert judged("add", 4, (1, 1, 1)).slack >= judged("add", 4).slack


def test_a_longer_period_takes_less_power() -> None:
    assert judged("add", 2, period=200.0).power < judged("add", 2, period=100.0).power


def test_the_genetic_mapper_takes_the_published_objectives() -> None:
    pytest.importorskip("deap")
    config = GeneticConfig(population=20, offspring=10, survivors=8, generations=2, objectives="published")
    found = genetic(chain("add", 3), build("vpcma:4x2"), config, Budget(effort=60))
    assert isinstance(found, Mapping)
