"""Suites as data: the built-in ones are sound, and a bad file is refused with the key."""

from __future__ import annotations

import pytest

from gridloom import registry
from gridloom.compiler.source import load_source
from gridloom.errors import OptionError
from gridloom.flow.bench.fitting import fill_in_size, square_side
from gridloom.flow.bench.run import cell_job
from gridloom.flow.bench.suite import SuiteCell, load_suite, read_suite

SMALL = "suite: small\nsources: [kernel:vector_add]\narchs: ['mesh:auto', 'chess:3x3']\nseeds: [1, 2]\n"


@pytest.mark.parametrize("name", registry.names("suites"))
def test_built_in_suite_says_how_many_cells_it_has(name):
    suite = load_suite(name)
    assert suite.name == name
    assert suite.expected.cells == len(list(suite.cells())) > 0


@pytest.mark.parametrize("name", registry.names("suites"))
def test_built_in_sources_that_are_kernels_can_be_built(name):
    sources = {cell.source for cell in load_suite(name).cells() if cell.source.startswith("kernel:")}
    assert all(load_source(source).nodes for source in sources)


def test_every_source_meets_every_array_under_every_seed():
    cells = list(read_suite(SMALL, "small").cells())
    assert cells[:2] == [
        SuiteCell(source="kernel:vector_add", arch="mesh:auto", seed=1),
        SuiteCell(source="kernel:vector_add", arch="mesh:auto", seed=2),
    ]
    assert len(cells) == 4


def test_sources_can_be_those_of_another_suite():
    suite = read_suite("suite: s\nsources_of: smoke\narchs: ['mesh:auto']\n", "s")
    assert [cell.source for cell in suite.cells()] == list(load_suite("smoke").groups[0].sources)


def test_groups_keep_sources_apart():
    text = (
        "sources: [kernel:fir]\narchs: ['mesh:6x6']\n"
        "groups:\n  - {sources: [kernel:gray]}\n  - {sources: [kernel:axpy], archs: ['hex:4x4']}\n"
    )
    met = [(cell.source, cell.arch) for cell in read_suite(text, "s").cells()]
    assert met == [("kernel:fir", "mesh:6x6"), ("kernel:gray", "mesh:6x6"), ("kernel:axpy", "hex:4x4")]


@pytest.mark.parametrize(("spec", "side"), [("vector_add", 2), ("axpy", 3), ("kmeans,k=4,n=4", 8)])
def test_auto_is_the_smallest_square_that_holds_the_placed_nodes(spec, side):
    graph = load_source(f"kernel:{spec}")
    assert square_side(graph) == side
    assert fill_in_size("hex:auto,fifo=4", graph) == f"hex:{side}x{side},fifo=4"


def test_key_of_a_cell_depends_on_the_graph_the_array_and_the_seed():
    suite = read_suite(SMALL, "small")
    keys = {cell_job(suite, cell).key for cell in suite.cells()}
    assert len(keys) == 4
    assert keys == {cell_job(suite, cell).key for cell in suite.cells()}


def test_suite_of_files_without_their_folder_says_how_to_name_it():
    suite = load_suite("ucsb")
    with pytest.raises(OptionError, match="name their folder with --folder or GRIDLOOM_BENCHMARKS"):
        cell_job(suite, next(suite.cells()))


def test_published_files_are_found_below_the_folder(benchmarks):
    suite = load_suite("ucsb")
    assert cell_job(suite, next(suite.cells()), benchmarks).argument["arch"] == "mesh:4x4"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[]", "s: expected keys and values, found list"),
        ("sources: [a", "s: is not YAML: expected ',' or ']', but got '<stream end>' at line 1, column 12"),
        ("source: [a]", "s: source: not a known key; known: suite, summary, mapper, "),
        ("sources_of: [a]\narchs: [b]", "s: sources_of: expected a suite's name and no sources beside it, found ['a']"),
        ("sources_of: smoke\nsources: [a]", "s: sources_of: expected a suite's name and no sources beside it"),
        ("archs: [a]", "s: sources: expected a list of words, found None"),
        ("sources: [a]\narchs: mesh", "s: archs: expected a list of words, found 'mesh'"),
        ("sources: [a]\narchs: [b]\nseeds: [x]", "s: seeds: expected a list of whole numbers, found ['x']"),
        ("sources: [a]\narchs: [b]\nbudget: {time: 3}", "s: budget.time: not a known key; known: effort, time_limit"),
        ("sources: [a]\narchs: [b]\nbudget: {effort: -3}", "s: effort: expected a whole number, found -3"),
        ("sources: [a]\narchs: [b]\nexpected: {cells: 2}", "s: expected.cells: the suite has 1 cells, not 2"),
        ("a: &a [1]\nb: *a", "s: uses YAML aliases (*name), which are not taken; write the values out"),
    ],
)
def test_bad_suite_is_one_message(text, message):
    with pytest.raises(OptionError) as caught:
        read_suite(text, "s")
    assert str(caught.value).startswith(message)
