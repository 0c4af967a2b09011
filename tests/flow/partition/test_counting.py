"""Cuts judged by counts alone cost what counting gives the graphs of their parts."""

from __future__ import annotations

import pytest

from gridloom.archs import build
from gridloom.compiler.source import load_source
from gridloom.dfg.model import Dfg, DfgBuilder
from gridloom.flow.partition.counting import CutCosts, demands
from gridloom.flow.partition.search import PartPrice
from gridloom.partition import BisectionConfig, bisections, split
from gridloom.partition.width_estimate import bound_estimate, demand
from gridloom.targets.rows.learned.random_graphs import draw

ARCH = build("vpcma")
PRICE = PartPrice(columns=ARCH.cols).of_copies
CUTS = BisectionConfig(seeds=2, method="kl")


def by_graphs(dfg: Dfg, assignment: dict[str, int]) -> float:
    """What the parts cost when their graphs are built and counted."""
    total = 0.0
    for part in split(dfg, assignment):
        guess = bound_estimate(part.dfg, ARCH)
        total += guess.bound / ARCH.cols + 1 if guess.width is None else 1 / (ARCH.cols // guess.width)
    return round(total, 9)


@pytest.mark.parametrize("family", range(0, 60, 3))
def test_counts_are_those_of_the_parts(family: int) -> None:
    dfg = draw(family, 0)
    costs = CutCosts(dfg=dfg, arch=ARCH, price=PRICE)
    for cut in bisections(dfg, CUTS):
        parts = split(dfg, cut.assignment)
        assert list(demands(dfg, cut.assignment)) == [demand(part.dfg, ARCH) for part in parts]
        assert costs.of(cut.assignment) == by_graphs(dfg, dict(cut.assignment))


def test_a_value_with_an_output_of_its_own_is_stored_once_and_an_idle_input_stays_in_the_first_part() -> None:
    b = DfgBuilder("small", "cma24")
    x, idle = b.input("x"), b.input("unused")
    first = b.add("add", x, b.const(3), id="first")
    second = b.add("xor", first, x, id="second")
    b.output(first, "a")
    b.output(second, "b")
    b.output(idle, "c")
    dfg = b.build()
    assignment = {"first": 0, "second": 1}
    assert list(demands(dfg, assignment)) == [demand(part.dfg, ARCH) for part in split(dfg, assignment)]


def test_graphs_with_values_between_iterations_are_counted_by_their_parts() -> None:
    dfg = load_source("kernel:iir")
    cut = bisections(dfg, CUTS)[0]
    assert CutCosts(dfg=dfg, arch=ARCH, price=PRICE).of(cut.assignment) == by_graphs(dfg, dict(cut.assignment))
