"""Names that a notebook registers work like built-in ones, and can be registered again."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from tests.plugins.jobs import importable

import gridloom as gl
from gridloom import registry

pytestmark = pytest.mark.usefixtures("forget")


def chain(length: int = 1) -> gl.Dfg:
    """A chain of additions."""
    builder = gl.DfgBuilder(f"chain,length={length}")
    value = builder.input("x")
    for _ in range(length):
        value = builder.add("add", value, value)
    builder.output(value, "y")
    return builder.build()


def test_a_mapper() -> None:
    assert gl.register_mapper(importable, kinds="grid") is importable
    assert gl.names("mappers")["importable"] == "A mapper that asks another one"
    result = gl.map("kernel:vector_add", "mesh:2x2", mapper="importable", effort=500)
    assert (result.status, result.mapper) == ("mapped", "importable")
    with pytest.raises(
        gl.GridloomError, match="mapper 'importable' takes static grids such as mesh; array 'torus:2x2'"
    ):
        gl.map("kernel:vector_add", "torus:2x2", mapper="importable")


def test_a_mapper_as_a_decorator_takes_every_kind_of_array() -> None:
    @gl.register_mapper
    def gloomy(dfg, arch, budget):
        return gl.Failure(constraint="mood", demand="a good one", bound="a bad one")

    for arch in ("mesh:2x2", "torus:2x2", "vpcma:3x4"):
        assert gl.map("kernel:vector_add", arch, mapper="gloomy").failure.constraint == "mood"


def test_a_mapper_that_searches_is_taken_where_nothing_else_does() -> None:
    gl.register_mapper(importable, kinds="grid", role="search")
    from gridloom.search.choice import default_mapper, mappers_for

    assert default_mapper(gl.arch("mesh:2x2")) == "anneal"
    assert mappers_for(gl.arch("mesh:2x2"), "search") == ["anneal", "importable"]


def test_a_family_of_arrays() -> None:
    def square(spec):
        """A mesh of equal sides."""
        return gl.arch({"family": "mesh", "rows": spec["tiles"], "cols": spec["tiles"]})

    gl.register_arch(square)
    assert gl.arch("square:3").name == "mesh:3x3"
    gl.register_arch(square, name="quadrat")
    assert gl.show("quadrat:2").svg.startswith("<svg")


def test_a_reader(tmp_path: Path) -> None:
    def lines(path):
        return chain(len(path.read_text().split()))

    gl.register_reader(lines, endings=".chain")
    (tmp_path / "a.chain").write_text("1 2 3")
    assert gl.load(tmp_path / "a.chain").name == "chain,length=3"
    (tmp_path / "a.unknown").write_text("")
    with pytest.raises(gl.GridloomError, match=r"expected .*, \*\.chain, or kernel:NAME"):
        gl.load(tmp_path / "a.unknown")
    with pytest.raises(gl.GridloomError, match=r"ending '\.json': files that end in '\.json' have a built-in reader"):
        gl.register_reader(lines, endings=".json")


class Ladder:
    """A chain whose length the constructor takes."""

    def __init__(self, length: int = 2) -> None:
        self.length = length

    def build(self) -> gl.Dfg:
        return chain(self.length)


@pytest.mark.parametrize(
    ("kernel", "source", "built"),
    [
        (chain, "kernel:mine,length=3", "chain,length=3"),
        (Ladder, "kernel:mine,length=4", "chain,length=4"),
        (Ladder(5), "kernel:mine", "chain,length=5"),
    ],
    ids=["a function", "a class", "an object"],
)
def test_a_kernel(kernel, source: str, built: str) -> None:
    gl.register_kernel(kernel, name="mine")
    assert gl.load(source).name == built


def test_a_parameter_that_a_kernel_does_not_have_is_refused() -> None:
    gl.register_kernel(chain)
    with pytest.raises(gl.GridloomError, match="kernel 'chain': got an unexpected keyword argument 'n'"):
        gl.load("kernel:chain,n=3")


def test_a_cost_model() -> None:
    asked = []

    class Even:
        """All decisions are alike."""

        name = "even"

        def efficiency(self, pipeline, decisions):
            asked.append(len(decisions))
            return np.full(len(decisions), 0.5)

    gl.register_cost_model(Even, name="even")
    result = gl.map("model:gemm,inner=64,columns=64", "rdu:4x4", effort=8, settings={"cost": "even"})
    assert result.status == "mapped" and asked


def test_a_name_is_replaced_when_it_is_registered_again() -> None:
    gl.register_kernel(lambda: chain(1), name="mine")
    gl.register_kernel(lambda: chain(2), name="mine")
    assert gl.load("kernel:mine").name == "chain,length=2"
    assert list(registry.registrations()) == [("kernels", "mine")]


@pytest.mark.parametrize(
    ("register", "message"),
    [
        (
            lambda: gl.register_kernel(chain, name="fir"),
            "kernel 'fir' is there already; only names that were registered",
        ),
        (lambda: gl.register_arch(chain, name="mesh"), "arch 'mesh' is there already"),
        (lambda: gl.register_mapper(importable, name="anneal"), "mapper 'anneal' for arrays of kind '*' is there"),
        (
            lambda: gl.register_mapper(importable, kinds="cube"),
            "kinds: there is no kind of array 'cube'; known: grid, ",
        ),
        (lambda: gl.register_kernel(lambda: chain()), "name: expected letters, digits, _ and -, found '<lambda>'"),
    ],
)
def test_a_name_that_cannot_be_registered_leaves_everything_as_it_was(register, message: str) -> None:
    gl.register_kernel(chain)
    before = {group: registry.names(group) for group in registry.GROUPS}
    with pytest.raises(gl.GridloomError) as raised:
        register()
    assert message in str(raised.value)
    assert {group: registry.names(group) for group in registry.GROUPS} == before


def test_names_of_plugins_stay(good: Path) -> None:
    with pytest.raises(gl.GridloomError, match="kernel 'twice' is there already"):
        gl.register_kernel(chain, name="twice")
    assert gl.load("kernel:twice").name == "twice"
