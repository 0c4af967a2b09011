"""Every reader of graphs keeps what readers promise, on a small file of its format."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.compiler.conftest import CCF_EDGES, CCF_NODES, E2EMAP, MORPHER, SATMAPIT

from gridloom.compiler.source import load_source
from gridloom.dfg import json_format
from gridloom.testing import check_reader

DOT = "digraph g {\n  a [opcode=input];\n  b [opcode=add];\n  a -> b [operand=0];\n  a -> b [operand=1];\n}\n"

#: Format -> files; the first one is read.
FILES: dict[str, dict[str, str]] = {
    "json": {"fir.json": json_format.dumps(load_source("kernel:fir"))},
    "dot": {"g.dot": DOT},
    "ccf": {"loop7_node.txt": CCF_NODES, "loop7_edge.txt": CCF_EDGES},
    "satmapit": {f"loop{ending}": text for ending, text in SATMAPIT.items()},
    "morpher": {"loop.xml": MORPHER},
    "e2emap": {"loop.txt": E2EMAP},
}


@pytest.mark.parametrize("name", FILES)
def test_reader_keeps_its_promises(tmp_path: Path, name: str) -> None:
    for file, text in FILES[name].items():
        (tmp_path / file).write_text(text, encoding="utf-8")
    check_reader(tmp_path / next(iter(FILES[name])))


@pytest.mark.parametrize(("count", "message"), [({"nodes": 3}, "with 2 nodes; expected 3"), ({"edges": 1}, "2 edges")])
def test_count_that_differs_from_the_callers_is_reported(tmp_path: Path, count: dict[str, int], message: str) -> None:
    (tmp_path / "g.dot").write_text(DOT, encoding="utf-8")
    with pytest.raises(AssertionError, match=message):
        check_reader(tmp_path / "g.dot", **count)
