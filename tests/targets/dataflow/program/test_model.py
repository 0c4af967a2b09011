"""Graphs of domain ``tensor``: their rules with exact texts, how they are saved, and what is no graph of units."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from tests.json_schema import problems

from gridloom.archs import build
from gridloom.dfg import Dfg, DfgBuilder, Edge, json_format
from gridloom.errors import DfgError
from gridloom.mapping import Mapping
from gridloom.mapping.configuration import configure
from gridloom.search.budget import Budget
from gridloom.targets.dataflow.machine.run import simulate_elastic
from gridloom.targets.dataflow.mappers.dataflow import dataflow
from gridloom.targets.dataflow.mappers.search import DataflowConfig
from gridloom.targets.dataflow.program.model import (
    TensorOperation,
    TensorProgram,
    TokenEdge,
    UnitGraph,
    UnitNode,
    unit_graph,
)
from gridloom.verify import legal

#: A saved graph of units and a saved program, as every version wrote them: the fields stand beside the others.
UNITS = """{
  "format": "gridloom-dfg",
  "version": 1,
  "name": "g",
  "domain": "tensor",
  "nodes": [
    {"id": "a", "op": "input", "work": 3},
    {"id": "b", "op": "output"}
  ],
  "edges": [
    {"source": "a", "target": "b", "tokens": 4, "takes": 8, "puts_every": 2, "takes_every": 3, "room": 16, "part": 1}
  ]
}
"""
PROGRAM = """{
  "format": "gridloom-dfg",
  "version": 1,
  "name": "p",
  "domain": "tensor",
  "nodes": [
    {"id": "x", "op": "input", "shape": [2, 3]},
    {"id": "y", "op": "transpose", "label": "permute", "shape": [3, 2], "how": "axes=1,0"}
  ],
  "edges": [
    {"source": "x", "target": "y"}
  ]
}
"""


def units(work: int = 1, **fields: Any) -> UnitGraph:
    nodes = (UnitNode(id="a", op="input", work=work), UnitNode(id="b", op="output"))
    return UnitGraph(name="g", nodes=nodes, edges=(TokenEdge(source="a", target="b", **fields),))


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"work": 0}, "node 'a': has work 0; expected at least 1 cycle"),
        ({"tokens": 0}, "edge 0 (a -> b): has tokens 0, takes None; expected at least 1"),
        ({"takes": 0}, "edge 0 (a -> b): has tokens 1, takes 0; expected at least 1"),
        (
            {"puts_every": 0},
            "edge 0 (a -> b): has puts_every 0, takes_every 1, room None; expected at least 1",
        ),
        ({"part": -1}, "edge 0 (a -> b): has part -1; expected 0 to 1048575"),
    ],
)
def test_fields_of_units_have_their_ranges(fields: dict[str, int], message: str) -> None:
    with pytest.raises(DfgError) as caught:
        units(**fields)
    assert str(caught.value) == f"graph 'g': {message}"


def test_saved_graphs_are_read_as_what_they_are() -> None:
    found, program = json_format.loads(UNITS), json_format.loads(PROGRAM)
    assert found == units(3, tokens=4, takes=8, puts_every=2, takes_every=3, room=16, part=1)
    assert isinstance(program, TensorProgram)
    assert [node.shape for node in program.nodes] == [(2, 3), (3, 2)]
    assert program.operands(program.node("y")) == [program.node("x")]
    assert (json_format.dumps(found), json_format.dumps(program)) == (UNITS, PROGRAM)
    for dfg in (found, program):
        assert problems(json_format.to_dict(dfg), json_format.schema()) == []


def test_fields_of_programs_and_units_do_not_mix() -> None:
    with pytest.raises(DfgError, match=r"nodes\.0\.shape: Unexpected keyword argument, found \[2\]"):
        json_format.loads(UNITS.replace('"work": 3', '"work": 3, "shape": [2]'))
    with pytest.raises(DfgError, match=r"nodes\.0\.work: Unexpected keyword argument, found 3"):
        json_format.loads(UNITS.replace('"tensor"', '"opaque"'))


def test_further_fields_are_attributes_of_a_networkx_graph() -> None:
    pytest.importorskip("networkx")
    found = units(3, tokens=4).to_networkx()
    assert found.nodes["a"]["work"] == 3
    assert found.edges["a", "b", 0]["tokens"] == 4


def test_a_builder_makes_the_records_of_its_domain() -> None:
    b = DfgBuilder("g", "tensor")
    b.add("output", b.add("input", id="a", work=3), id="b")
    assert b.build() == units(3)


def test_only_graphs_of_units_are_mapped_and_simulated() -> None:
    arch = build("rdu:2x2")
    program = TensorProgram(
        name="p",
        nodes=(TensorOperation(id="x", op="input", shape=(2, 3)), TensorOperation(id="y", op="output", shape=(2, 3))),
        edges=(Edge(source="x", target="y"),),
    )
    with pytest.raises(DfgError, match="graph 'p': is no graph of units but a TensorProgram"):
        dataflow(program, arch, DataflowConfig(), Budget(effort=1))
    mapping = Mapping(dfg=program, arch=arch, ii=1, instances=(), routes=())
    assert "graph at p: found a TensorProgram; allowed: a graph of units" in [str(v) for v in legal(mapping)]
    with pytest.raises(DfgError, match="graph 'p': is no graph of units but a TensorProgram"):
        simulate_elastic(configure(mapping))
    # The judge finds the same of a graph that merely says that it is of this domain.
    plain = Dfg(name="p", domain="tensor", nodes=tuple(program.nodes), edges=program.edges)
    assert "graph at p: found a Dfg; allowed: a graph of units" in [str(v) for v in legal(replace(mapping, dfg=plain))]
    assert unit_graph(units()) == units()
