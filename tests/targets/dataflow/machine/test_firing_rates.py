"""The judges' own rates are those of the mappers: two derivations of each fact, made apart."""

from __future__ import annotations

import pytest

from gridloom import registry
from gridloom.archs import build
from gridloom.errors import SimulationError
from gridloom.targets.dataflow import rates
from gridloom.targets.dataflow.lowering.lower import lower
from gridloom.targets.dataflow.machine import firing_rates
from gridloom.targets.dataflow.program.model import TokenEdge, UnitGraph, UnitNode


def test_rates_of_a_network_are_read_alike() -> None:
    dfg = lower(registry.load("networks", "gemm").build(inner=64, columns=64), build("rdu:4x4")).sections[0].dfg
    counts = rates.repetitions(dfg)
    assert firing_rates.firings(dfg, range(len(dfg.edges))) == counts
    assert firing_rates.count_tokens(dfg, counts) == rates.edge_tokens(dfg, counts)
    assert [firing_rates.tokens_taken(edge) for edge in dfg.edges] == [rates.taken(edge) for edge in dfg.edges]


def test_rates_that_contradict_each_other_are_named() -> None:
    nodes = (UnitNode(id="a", op="input"), UnitNode(id="b", op="gemm"))
    edges = (
        TokenEdge(source="a", target="b", tokens=2),
        TokenEdge(source="a", target="b", operand=1, tokens=3, takes=1),
    )
    dfg = UnitGraph(name="g", nodes=nodes, edges=edges)
    with pytest.raises(SimulationError, match=r"edge 1 \(a -> b\) puts 3 tokens and takes 1, which does not agree"):
        firing_rates.firings(dfg, [0, 1])
