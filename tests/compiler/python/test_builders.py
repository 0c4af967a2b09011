"""``FILE.py:OBJECT``: objects whose method ``build`` returns a graph, as a SOURCE."""

from __future__ import annotations

from pathlib import Path

import pytest

from gridloom.cli import main
from gridloom.compiler.loops.source_name import SourceName
from gridloom.errors import GridloomError, OptionError
from gridloom.flow.inputs import read_source

TEXT = """
import gridloom as gl
from gridloom import DfgBuilder, archs


class Chain:
    def __init__(self, length=2):
        self.length = length

    def build(self):
        builder = DfgBuilder(f"chain{self.length}")
        value = builder.input("x")
        for _ in range(self.length):
            value = builder.add("add", value, value)
        builder.output(value, "y")
        return builder.build()


def long():
    return Chain(5)


def graph():
    return Chain(6).build()


short = Chain(1)
ready = Chain(3).build()
builder = DfgBuilder("one")
builder.output(builder.input("x"), "y")


class Wrong:
    def build(self):
        return 3


class Failing:
    def build(self):
        raise ValueError("no graph today")


def plain(x):
    return x


def nothing():
    return None
"""


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "objects.py"
    path.write_text(TEXT)
    return path


@pytest.mark.parametrize(
    ("name", "graph"),
    [("Chain", "chain2"), ("long", "chain5"), ("graph", "chain6"), ("short", "chain1"), ("ready", "chain3"),
     ("builder", "one")],
)  # fmt: skip
def test_whatever_builds_a_graph_is_a_source(file: Path, name: str, graph: str) -> None:
    assert read_source(f"{file}:{name}").name == graph


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("Wrong", "objects.py: Wrong.build() returned a int; expected a Dfg"),
        ("Failing", "objects.py:40: Failing cannot be built: ValueError: no graph today"),
        (
            "plain",
            "functions decorated with @gridloom.kernel: none; objects with build(): Chain, ",
        ),
        ("nothing", "has no kernel 'nothing'"),
        ("absent", "has no kernel 'absent'"),
        ("Chain,unroll=2", "objects.py:Chain builds its graph itself and takes no options of loops"),
    ],
)
def test_what_builds_none_is_refused(file: Path, name: str, message: str) -> None:
    with pytest.raises(GridloomError) as raised:
        read_source(f"{file}:{name}")
    assert message in str(raised.value)


def test_the_only_object_of_a_file_needs_no_name(tmp_path: Path) -> None:
    path = tmp_path / "one.py"
    path.write_text(TEXT.partition("def long")[0])
    assert read_source(str(path)).name == "chain2"


def test_consent_is_needed_as_for_every_python_source(file: Path) -> None:
    with pytest.raises(OptionError, match="is Python: mapping it executes the file"):
        read_source(SourceName(file=str(file), rest="Chain", may_run=False))


def test_objects_are_mapped_and_listed(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["map", f"{file}:short", "--arch", "mesh:2x2", "--effort", "500"]) == 0
    assert capsys.readouterr().out.startswith("mapped: chain1 ")
    assert main(["show", str(file)]) == 0
    listed = capsys.readouterr().out
    assert f"{file}:Chain  (object with build())" in listed and "archs" not in listed
    assert "cannot be mapped: " in listed and "no graph today" in listed
