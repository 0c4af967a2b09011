"""SOURCE: files by their endings, kernels by name."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.compiler.conftest import E2EMAP, MORPHER, NEOSA, SATMAPIT

from gridloom import registry
from gridloom.compiler.graphs import dot_writer
from gridloom.compiler.source import load_source
from gridloom.dfg import Dfg, DfgBuilder, json_format
from gridloom.errors import GridloomError, OptionError


class FakeKernel:
    """Stands for a registered kernel: a chain of adds."""

    @staticmethod
    def build(length: int = 1) -> Dfg:
        builder = DfgBuilder("chain", "i32")
        value = builder.input("x")
        for _ in range(length):
            value = builder.add("add", value, value)
        return builder.build()


def test_every_ending_has_a_registered_reader() -> None:
    endings = {name: registry.entry("readers", name).endings for name in registry.names("readers")}
    assert all(endings.values())
    assert all(registry.reader_for(f"x{ending}") == name for name, row in endings.items() for ending in row)
    for name in registry.names("readers"):
        assert callable(registry.load("readers", name))


def test_files_are_read_by_their_ending(tmp_path: Path) -> None:
    graph = FakeKernel.build(2)
    files = {
        "a.dot": (NEOSA, "a"),
        "b.gv": (dot_writer.dumps(graph), "chain"),
        "c.json": (json_format.dumps(graph), "chain"),
        "d.xml": (MORPHER, "d"),
        "e.txt": (E2EMAP, "e"),
    }
    for name, (text, graph_name) in files.items():
        (tmp_path / name).write_text(text)
        assert load_source(str(tmp_path / name)).name == graph_name


def test_a_satmapit_drawing_names_its_loop_and_is_plain_dot_alone(tmp_path: Path) -> None:
    drawing = tmp_path / "bits_loop_graph.dot"
    drawing.write_text("digraph bits { { 0 [label=x]; 0 -> 1 } }")
    assert [n.id for n in load_source(str(drawing)).nodes] == ["0", "1"]
    for ending, text in SATMAPIT.items():
        (tmp_path / f"bits{ending}").write_text(text)
    assert [n.op for n in load_source(str(drawing)).nodes] == ["phi", "add", "const", "livein"]


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        (
            "a.csv",
            "x",
            "is of no kind that is read; expected *.c, *.mlir, *.py, *.dot, *.gv, *.json, *.xml, *.txt (*_node.txt "
            "with *_edge.txt), *_nodes with *_edges, or kernel:NAME",
        ),
        ("a.xml", '<PEArray name="x">', "describes an array, not a graph; give it to --arch"),
        ("a.json", "{", "is not JSON: Expecting property name enclosed in double quotes at line 1, column 2"),
        ("a.json", "[]", "expected a JSON object, found list"),
        ("a.json", "[" * 100_000, "is nested too deeply to be a graph"),
        ("a.json", "9" * 5000, "holds a number of more digits than any value has"),
        ("x_nodes", "", "needs x_edges beside it, which is not there"),
        ("livein_node.txt", "", "belongs to one of 0 loops in its folder; name a *_node.txt of a loop instead"),
    ],
)
def test_files_that_are_no_graph_are_refused(tmp_path: Path, name: str, text: str, message: str) -> None:
    path = tmp_path / name
    path.write_text(text)
    with pytest.raises(GridloomError) as caught:
        load_source(str(path))
    assert str(caught.value) == f"{path}: {message}"


def test_missing_directories_and_bytes_are_refused(tmp_path: Path) -> None:
    (tmp_path / "d.dot").mkdir()
    (tmp_path / "b.dot").write_bytes(b"digraph { \xff }")
    for name, message in {
        "none.dot": "there is no such file",
        "none.unknown": "there is no such file",
        "d.dot": "is a directory; expected a file",
        "b.dot": "is not UTF-8 text: byte 0xff at offset 10",
    }.items():
        with pytest.raises(GridloomError) as caught:
            load_source(str(tmp_path / name))
        assert str(caught.value) == f"{tmp_path / name}: {message}"


def test_a_path_that_no_file_can_have_is_refused() -> None:
    with pytest.raises(GridloomError, match="cannot be read: "):
        load_source("a\x00b.dot")


def test_a_kernel_is_built_with_its_parameters(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(registry, "load", lambda group, name: {("kernels", "chain"): FakeKernel}[group, name])
    assert len(load_source("kernel:chain,length=3").nodes) == 4


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("kernel:", "'kernel:' names no kernel; expected kernel:NAME,key=value,..."),
        ("kernel:fir,8", "kernel fir: found '8'; expected key=value"),
        ("kernel:fir,n=", "kernel fir: found 'n='; expected key=value"),
        ("kernel:fir,n=1,n=2", "kernel fir: n is given twice"),
    ],
)
def test_wrong_kernel_texts(text: str, message: str) -> None:
    with pytest.raises(OptionError) as caught:
        load_source(text)
    assert str(caught.value) == message


def test_an_unknown_kernel_is_an_option_error() -> None:
    with pytest.raises(OptionError, match=r"^no kernel is called 'no_such_kernel'; "):
        load_source("kernel:no_such_kernel")
