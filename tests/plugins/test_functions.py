"""``gl.map`` and ``gl.bench`` with functions in the place of names."""

from __future__ import annotations

import dataclasses
import functools
from dataclasses import dataclass
from pathlib import Path

import pytest
from tests.plugins.jobs import importable
from tests.plugins.packages import run_python

import gridloom as gl
from gridloom._version import __version__


@dataclass(frozen=True, kw_only=True)
class Config:
    """Settings."""

    #: How often.
    times: int = 1


def configured(dfg, arch, config: Config, budget):
    mapping = importable(dfg, arch, budget)
    return dataclasses.replace(mapping, provenance={"times": config.times})


def loose(dfg, arch, config, budget):
    return importable(dfg, arch, budget)


class Callable:
    def __call__(self, dfg, arch, config: Config, budget):
        return configured(dfg, arch, config, budget)


@pytest.mark.parametrize(
    ("mapper", "name"),
    [
        (importable, "importable"),
        (configured, "configured"),
        (loose, "loose"),
        (Callable(), "Callable"),
        (functools.partial(importable), "importable"),
        (lambda dfg, arch, budget: importable(dfg, arch, budget), "<lambda>"),
    ],
    ids=["without config", "with config", "config of no type", "object", "partial", "lambda"],
)
def test_a_function_maps_and_is_named(mapper, name: str) -> None:
    result = gl.map("kernel:vector_add", "mesh:2x2", mapper=mapper, effort=500, seed=3)
    assert (result.status, result.mapper, result.verified.simulated) == ("mapped", name, True)
    told = result.mapping.provenance
    assert (told["mapper"], told["seed"], told["version"]) == (name, 3, __version__)


def test_settings_are_fields_of_the_annotated_class() -> None:
    result = gl.map("kernel:vector_add", "mesh:2x2", mapper=configured, effort=500, settings={"times": "4"})
    assert result.mapping.provenance["times"] == 4 and result.mapping.provenance["config"] == {"times": 4}
    with pytest.raises(gl.GridloomError, match="mapper 'configured' has no such setting; did you mean times"):
        gl.map("kernel:vector_add", "mesh:2x2", mapper=configured, settings={"tmes": 4})
    with pytest.raises(gl.GridloomError, match="mapper 'importable' has no such setting; it has: none"):
        gl.map("kernel:vector_add", "mesh:2x2", mapper=importable, settings={"times": 4})
    with pytest.raises(gl.GridloomError, match="mapper 'importable' does not take it"):
        gl.map("kernel:vector_add", "torus:2x2", mapper=importable, ii=2)


def elsewhere(dfg, arch, budget):
    return importable(gl.load("kernel:vector_add"), arch, budget)


def smaller(dfg, arch, budget):
    return importable(dfg, gl.arch("mesh:3x3"), budget)


def badly_typed(dfg, arch, config: int, budget):
    return None


@pytest.mark.parametrize(
    ("mapper", "message"),
    [
        (3, "mapper: expected a name or a function, found a int"),
        (lambda dfg: dfg, "has the parameters (dfg); expected (dfg, arch, config, budget) or (dfg, arch, budget)"),
        (lambda dfg, arch, budget: 3, "mapper '<lambda>' returned a int; expected a Mapping or a Failure"),
        (elsewhere, "mapper 'elsewhere' returned a mapping of another graph, 'vector_add'"),
        (smaller, "mapper 'smaller' returned a mapping onto another array, 'mesh:3x3'"),
        (badly_typed, "mapper 'badly_typed': its config is a <class 'int'>; expected a dataclass"),
    ],
    ids=["no function", "another shape", "another result", "another graph", "another array", "another config"],
)
def test_what_is_no_mapper_is_refused(mapper, message: str) -> None:
    with pytest.raises(gl.GridloomError) as raised:
        gl.map("kernel:axpy", "mesh:4x4", mapper=mapper, effort=500)
    assert message in str(raised.value)


def test_an_illegal_mapping_of_a_function_is_refused_in_its_name() -> None:
    def crowded(dfg, arch, budget):
        mapping = importable(dfg, arch, budget)
        return dataclasses.replace(mapping, instances=mapping.instances[:1] * len(mapping.instances))

    result = gl.map("kernel:vector_add", "mesh:2x2", mapper=crowded, effort=500)
    assert result.failure.constraint == "legality of what mapper 'crowded' returned"


def test_what_a_function_raises_reaches_its_author() -> None:
    def broken(dfg, arch, budget):
        raise ZeroDivisionError("mine")

    with pytest.raises(ZeroDivisionError, match="mine"):
        gl.map("kernel:vector_add", "mesh:2x2", mapper=broken)


# -- several mappers on a suite ---------------------------------------------------------------------------------------


@pytest.fixture
def suite(tmp_path: Path) -> str:
    path = tmp_path / "s.yaml"
    path.write_text(
        "suite: mine\nbudget: {effort: 300}\nseeds: [1]\nsources: ['kernel:vector_add', 'kernel:axpy']\n"
        "archs: ['mesh:3x3', 'hex:3x3']\n"
    )
    return str(path)


def test_a_suite_compares_names_and_functions(suite: str) -> None:
    def gloomy(dfg, arch, budget):
        return gl.Failure(constraint="mood", demand="a good one", bound="a bad one")

    report = gl.bench(suite, mapper=["anneal", gloomy], jobs=2)
    assert [row["mapper"] for row in report.rows] == ["anneal"] * 4 + ["gloomy"] * 4
    assert [row["status"] for row in report.rows] == ["mapped"] * 4 + ["failed"] * 4
    assert report.mapped == 4


def test_a_suite_runs_on_other_arrays_and_seeds(suite: str) -> None:
    report = gl.bench(suite, arch="hex:3x3", seeds=[1, 2], jobs=1)
    assert [(row["cell"]["arch"], row["cell"]["seed"]) for row in report.rows] == [("hex:3x3", 1), ("hex:3x3", 2)] * 2
    report = gl.bench(suite, arch=["mesh:4x4"], mapper=importable, jobs=1)
    assert [row["arch"]["name"] for row in report.rows] == ["mesh:4x4", "mesh:4x4"]


def test_functions_that_can_be_imported_run_on_processes(suite: str) -> None:
    assert gl.bench(suite, mapper=importable, arch="mesh:3x3", jobs=2).mapped == 2


def test_functions_of_a_script_run_too(suite: str, tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text(
        "import gridloom as gl\n"
        "from tests.plugins.jobs import importable\n"
        "def mine(dfg, arch, budget):\n    return importable(dfg, arch, budget)\n"
        "gl.register_mapper(mine, name='named', kinds='grid')\n"
        f"report = gl.bench({suite!r}, mapper=[mine, 'named'], arch='mesh:3x3', jobs=2)\n"
        "print(report.mapped, [row['mapper'] for row in report.rows])\n"
    )
    done = run_python(Path(__file__).resolve().parents[2], str(script))
    assert done.stdout == "4 ['mine', 'mine', 'named', 'named']\n", done.stderr


def test_a_comparison_that_cannot_be_told_apart_or_kept_is_refused(suite: str, tmp_path: Path) -> None:
    with pytest.raises(gl.GridloomError, match="mapper: two mappers are called 'anneal'"):
        gl.bench(suite, mapper=["anneal", "anneal"])
    with pytest.raises(gl.GridloomError, match="store: mapper 'importable' may change under its name"):
        gl.bench(suite, mapper=importable, store=tmp_path / "rows.sqlite")
    with pytest.raises(gl.GridloomError, match="no mapper is called 'aneal'; did you mean anneal"):
        gl.bench(suite, mapper="aneal")
