"""Ops that keep their function unit for several cycles have no place on a static array."""

from __future__ import annotations

from gridloom.archs import build
from gridloom.dfg import DfgBuilder
from gridloom.mapping.model import Failure
from gridloom.search.budget import Budget
from gridloom.targets.grid.mappers.anneal import AnnealConfig, anneal


def test_a_static_array_does_not_take_an_op_that_keeps_its_unit() -> None:
    arch = build({"extends": "mesh:3x3", "tiles": [{"occupancy": {"div": 2}}]})
    b = DfgBuilder("quotient")
    b.output(b.add("div", b.input("x"), b.const(3)), "y")
    found = anneal(b.build(), arch, AnnealConfig(), Budget(seed=1, effort=4000))
    assert isinstance(found, Failure)
    assert found.constraint == "op class div on units that take an op in each cycle"
