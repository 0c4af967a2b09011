"""Whatever a reader is fed, only errors of ours come out, soon and without much memory."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.compiler.conftest import READERS, broken

from gridloom.compiler.source import read_graph
from gridloom.dfg import Dfg
from gridloom.errors import GridloomError, SourceError

WORDS = st.sampled_from(
    [*'{}[]=;,:+"\\<>#ab0 \n\t\x00', "digraph", "strict", "subgraph", "node", "edge", "->", "--", "/*", "*/", "//",
     "-1", "1e9", "0x", "op", "type", "label", "opcode", 'format="gridloom-dfg"', '<DFG count="1">', '<Node idx="1">',
     "</Node>", "<OP>", "&e;", "TRU", '{"a":'],
)  # fmt: skip


def only_our_errors(read: Callable[[str], Dfg], text: str) -> None:
    try:
        graph = read(text)
    except GridloomError as error:
        assert str(error)
    else:
        assert graph.nodes


@pytest.mark.parametrize("name", READERS)
def test_the_sample_of_each_format_is_read(name: str) -> None:
    read, text = READERS[name]
    assert read(text).nodes


@pytest.mark.parametrize("name", READERS)
@given(data=st.data())
def test_broken_text_gives_an_error_of_ours_or_a_graph(name: str, data: st.DataObject) -> None:
    read, text = READERS[name]
    only_our_errors(read, data.draw(broken(text)))


@pytest.mark.parametrize("name", READERS)
@given(text=st.one_of(st.text(), st.lists(WORDS).map("".join), st.lists(WORDS).map(" ".join)))
def test_garbage_gives_an_error_of_ours_or_a_graph(name: str, text: str) -> None:
    only_our_errors(READERS[name][0], text)


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("dot", "big:200002: has more than 200000 nodes, the most that is taken"),
        ("ccf", "big:200001: has more than 200000 nodes, the most that is taken"),
        ("satmapit", "big_nodes:200001: has more than 200000 nodes, the most that is taken"),
        ("morpher", "big:200001: has more than 200000 nodes, the most that is taken"),
        ("e2emap", "big:200001: has more than 200000 nodes, the most that is taken"),
        ("json", "big: has 1000001 nodes; at most 200000 are taken"),
    ],
)
def test_a_million_nodes_are_refused_soon_and_without_much_memory(name: str, message: str) -> None:
    # A process of its own: peak memory is only ever that of a whole process.
    script = Path(__file__).with_name("refuse_million.py")
    run = subprocess.run([sys.executable, script, name], capture_output=True, text=True, check=True)
    found = json.loads(run.stdout)
    assert found["message"] == message
    assert found["seconds"] < 20
    assert found["megabytes"] < 600


@pytest.mark.parametrize(
    "text",
    [
        "digraph " + "{" * 1_000_000,
        "digraph {" + "a -> {" * 1_000_000,
        "digraph { a [" + "x" * 3_000_000,
        'digraph { "' + '\\"' * 2_000_000,
        "digraph { " + "/* " * 1_000_000,
        "digraph {{"
        + " ".join(f"a{k}" for k in range(2000))
        + "} -> {"
        + " ".join(f"b{k}" for k in range(2000))
        + "}}",
        "digraph { a" + " -> a" * 300_000 + " } }",
        "digraph { " + "subgraph { a } -> " * 200_000 + "b b",
        "<" * 2_000_000,
        '<DFG count="1">' + "<a " * 1_000_000,
        '<DFG count="1"><Node ' + "a" * 3_000_000,
        '<!DOCTYPE x [<!ENTITY a "&b;&b;">]><DFG count="1">&a;</DFG>',
        "[" * 2_000_000,
        '{"a":' * 1_000_000,
        "1," * 2_000_000,
        "\n" * 5_000_000,
    ],
    ids=lambda text: text[:24],
)
def test_text_made_to_explode_is_refused_soon(text: str) -> None:
    start = time.process_time()
    for name in ("neosa", "json", "ccf_edges", "morpher", "e2emap", "satmapit_nodes"):
        only_our_errors(READERS[name][0], text)
    assert time.process_time() - start < 30


def test_a_file_beyond_the_size_limit_is_not_read(tmp_path: Path) -> None:
    path = tmp_path / "huge.dot"
    with path.open("wb") as stream:
        stream.truncate(200 * 1024 * 1024)
    with pytest.raises(SourceError) as caught:
        read_graph(path)
    assert str(caught.value) == f"{path}: is larger than 64 MB, the most that is read"
