"""JSON documents: rows on lines of their own, and errors that say where a text is not one."""

from __future__ import annotations

import json

import pytest

from gridloom.dfg.json_text import read_document, write_document
from gridloom.errors import DfgError


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
