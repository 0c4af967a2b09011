"""Graphs as JSON: there and back, the written schema, exact texts for what is not a graph."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from tests.dfg.graphs import dfgs
from tests.json_schema import problems

from gridloom.dfg import Dfg
from gridloom.dfg.json_format import dumps, from_dict, loads, read_document, schema, to_dict, write_document
from gridloom.errors import DfgError

SMALL: dict[str, Any] = {
    "format": "gridloom-dfg",
    "version": 1,
    "name": "g",
    "domain": "i32",
    "nodes": [{"id": "a", "op": "input"}, {"id": "b", "op": "neg"}],
    "edges": [{"source": "a", "target": "b"}],
}


@given(dfgs())
def test_graph_survives_json(dfg: Dfg) -> None:
    assert loads(dumps(dfg)) == dfg


@given(dfgs())
def test_schema_describes_what_is_written(dfg: Dfg) -> None:
    assert problems(json.loads(dumps(dfg)), schema()) == []


def test_schema_is_one_that_a_validator_takes() -> None:
    validator = pytest.importorskip("jsonschema").Draft202012Validator
    validator.check_schema(schema())
    assert list(validator(schema()).iter_errors(SMALL)) == []


@pytest.mark.parametrize(
    "damage",
    [
        {"format": "dot"}, {"version": 2}, {"extra": 1}, {"nodes": [{"id": 1, "op": "input"}]}, {"name": None},
        {"edges": [{"source": "a"}]}, {"edges": [{"source": "a", "target": "b", "kind": "loose"}]},
    ],
)  # fmt: skip
def test_schema_and_reader_refuse_the_same(damage: dict[str, Any]) -> None:
    assert problems(SMALL, schema()) == []
    assert problems(SMALL | damage, schema()) != []
    with pytest.raises(DfgError):
        from_dict(SMALL | damage)


def test_defaults_are_left_out_and_each_record_has_a_line() -> None:
    dfg = from_dict(SMALL)
    assert to_dict(dfg) == SMALL
    assert dumps(dfg) == (
        "{\n"
        '  "format": "gridloom-dfg",\n'
        '  "version": 1,\n'
        '  "name": "g",\n'
        '  "domain": "i32",\n'
        '  "nodes": [\n'
        '    {"id": "a", "op": "input"},\n'
        '    {"id": "b", "op": "neg"}\n'
        "  ],\n"
        '  "edges": [\n'
        '    {"source": "a", "target": "b"}\n'
        "  ]\n"
        "}\n"
    )


BAD_TEXTS = {
    "": "f.json: is not JSON: Expecting value at line 1, column 1",
    '{"format": }': "f.json: is not JSON: Expecting value at line 1, column 12",
    "[" * 100_000: "f.json: is nested too deeply to be a graph",
    "[]": "f.json: expected a JSON object, found list",
    "{}": 'f.json: expected "format": "gridloom-dfg", found None',
    '{"format": "gridloom-dfg"}': "f.json: version None is not known; this gridloom reads 1",
    '{"format": "gridloom-dfg", "version": 1}': "f.json: name: Field required, found {}",
    '{"x": ' + "9" * 5000 + "}": "f.json: holds a number of more digits than any value has",
}


@pytest.mark.parametrize("text", BAD_TEXTS, ids=range(len(BAD_TEXTS)))
def test_text_that_is_no_graph_is_refused_with_the_reason(text: str) -> None:
    with pytest.raises(DfgError) as error:
        loads(text, "f.json")
    assert str(error.value) == BAD_TEXTS[text]


BAD_FIELDS: list[tuple[dict[str, Any], str]] = [
    ({"format": "dot"}, 'expected "format": "gridloom-dfg", found \'dot\''),
    ({"version": [1]}, "version [1] is not known; this gridloom reads 1"),
    ({"color": "red"}, 'color: Extra inputs are not permitted, found "red"'),
    ({"nodes": {}}, "nodes: Input should be a valid list, found {}"),
    ({"nodes": [{"id": "a"}]}, 'nodes.0.op: Field required, found {"id": "a"}'),
    ({"nodes": [{"id": 7, "op": "input"}]}, "nodes.0.id: Input should be a valid string, found 7"),
    (
        {"edges": [{"source": "a", "target": "b", "operand": "first"}]},
        'edges.0.operand: Input should be a valid integer, unable to parse string as an integer, found "first"',
    ),
    (
        {"edges": [{"source": "a", "target": "b", "kind": "loose"}]},
        "edges.0.kind: Input should be 'data', 'order', 'pair' or 'async', found \"loose\"",
    ),
    (
        {"nodes": [{"id": "a", "op": "input", "size": "x" * 200}]},
        f'nodes.0.size: Unexpected keyword argument, found "{"x" * 76}...',
    ),
    ({"edges": []}, "graph 'g': node 'b': op 'neg' takes operands 0; found none"),
]


@pytest.mark.parametrize(("damage", "message"), BAD_FIELDS)
def test_wrong_field_is_named_with_what_was_found(damage: dict[str, Any], message: str) -> None:
    with pytest.raises(DfgError) as error:
        from_dict(SMALL | damage, "f.json")
    assert str(error.value) == f"f.json: {message}"


def test_too_many_nodes_are_refused_before_they_are_looked_at(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("gridloom.dfg.json_format.MAX_NODES", 1)
    with pytest.raises(DfgError, match=r"^graph: has 2 nodes; at most 1 are taken$"):
        from_dict(SMALL | {"nodes": ["not", "nodes"]})


def test_each_row_of_a_list_has_a_line_and_the_text_is_json():
    text = write_document({"name": "g", "nodes": [{"id": "a"}, {"id": "b"}], "edges": []})
    assert text == '{\n  "name": "g",\n  "nodes": [\n    {"id": "a"},\n    {"id": "b"}\n  ],\n  "edges": [\n\n  ]\n}\n'
    assert json.loads(text) == {"name": "g", "nodes": [{"id": "a"}, {"id": "b"}], "edges": []}


def test_a_value_that_is_text_already_is_kept_as_it_is():
    assert write_document({"dfg": {}}, {"dfg": '{ "x": 1 }'}) == '{\n  "dfg": { "x": 1 }\n}\n'


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{", "g.json: is not JSON: Expecting property name enclosed in double quotes at line 1, column 2"),
        ("[" * 100_000, "g.json: is nested too deeply to be a graph"),
        ("9" * 5000, "g.json: holds a number of more digits than any value has"),
    ],
)
def test_a_text_that_is_no_document_is_refused(text: str, message: str):
    with pytest.raises(DfgError) as refusal:
        read_document(text, "g.json", "a graph", DfgError)
    assert str(refusal.value) == message
