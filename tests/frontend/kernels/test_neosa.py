"""The 37 graphs of the NeoSA evaluation: sizes of its table, and the shapes of the published files."""

from __future__ import annotations

import csv
import re
from pathlib import Path

import pytest
import rustworkx

from gridloom import registry
from gridloom.dfg import Dfg
from gridloom.frontend.kernels import placed_nodes
from gridloom.frontend.kernels.neosa import GRAPHS

#: Name -> nodes, as the evaluation's table lists them.
TABLE = {
    "tree_n_15_t_1": 15, "tree_n_31_t_1": 31, "tree_n_63_t_1": 63, "tree_n_127_t_1": 127, "tree_n_15_t_2": 30,
    "tree_n_31_t_2": 62, "tree_n_63_t_2": 126, "tree_n_15_t_3": 45, "tree_n_31_t_3": 93, "tree_n_15_t_4": 60,
    "tree_n_31_t_4": 124, "matmul22": 8, "matmul33": 18, "matmul44": 32, "matmul55": 50, "matmul66": 72,
    "matmul22normal": 24, "convolution22": 11, "convolution33": 26, "convolution44": 47, "convolution55": 74,
    "tree_n_15_t_1_r_3": 39, "tree_n_31_t_1_r_3": 79, "tree_n_63_t_1_r_3": 159, "tree_n_15_t_2_r_3": 78,
    "tree_n_31_t_2_r_3": 158, "tree_n_15_t_3_r_3": 117, "tree_n_15_t_4_r_3": 156, "K4N4": 63, "K4N5": 86, "K4N6": 97,
    "K4N7": 112, "K4N8": 123, "K5N4": 82, "K6N4": 95, "K7N4": 111, "K8N4": 123,
}  # fmt: skip

Links = list[tuple[str, str]]


def _published(name: str) -> str:
    """The file of a graph: `Tree_*` are the reducing trees, except that of 15 nodes, where it is `tree_*`."""
    plain_tree = name.startswith("tree_") and "_r_" not in name and name != "tree_n_15_t_1"
    return name.replace("tree", "Tree") if plain_tree else name


def _links(dfg: Dfg) -> Links:
    return [(edge.source, edge.target) for edge in dfg.edges if not dfg.op(edge.source).timeless]


def _multipliers(dfg: Dfg) -> set[str]:
    return {node.id for node in dfg.nodes if dfg.op_class(node.id) == "mul"}


def _read(path: Path) -> tuple[set[str], Links, set[str]]:
    text = path.read_text()
    links = [(a, b) for a, b in re.findall(r"(\w+)\s*->\s*(\w+)", text)]
    labels = dict(re.findall(r"(\w+)\s*\[label\s*=\s*(\w+)\s*\]", text))
    nodes = set(re.findall(r"^\s*(\w+)\s*(?:\[[^]]*\])?\s*;", text, re.MULTILINE)) | {n for link in links for n in link}
    return nodes, links, {node for node, label in labels.items() if label.lower().startswith("mul")}


def _refined(graphs: list[tuple[set[str], Links, set[str]]]) -> list[dict[str, int]]:
    """Colours of all nodes of all graphs, refined by the colours of sources and targets until they settle."""
    colours = [{node: int(node in marked) for node in nodes} for nodes, _, marked in graphs]
    while True:
        palette: dict[object, int] = {}
        following = []
        for (nodes, links, _), colour in zip(graphs, colours, strict=True):
            around: dict[str, tuple[list[int], list[int]]] = {node: ([], []) for node in nodes}
            for a, b in links:
                around[b][0].append(colour[a])
                around[a][1].append(colour[b])
            keys = {node: (colour[node], tuple(sorted(i)), tuple(sorted(o))) for node, (i, o) in around.items()}
            following.append({node: palette.setdefault(key, len(palette)) for node, key in keys.items()})
        if len(palette) == len({c for colour in colours for c in colour.values()}):
            return following
        colours = following


def _graph(nodes: set[str], links: Links, colour: dict[str, int]) -> rustworkx.PyDiGraph:
    graph = rustworkx.PyDiGraph()
    position = {node: graph.add_node(colour[node]) for node in sorted(nodes, key=lambda n: (colour[n], n))}
    graph.add_edges_from([(position[a], position[b], None) for a, b in links])
    return graph


def test_the_registry_and_the_table_name_the_same_graphs() -> None:
    registered = [n.removeprefix("neosa-") for n in registry.names("kernels") if n.startswith("neosa-")]
    assert registered == list(GRAPHS) == list(TABLE)
    assert len(TABLE) == 37


@pytest.mark.parametrize(("name", "nodes"), TABLE.items())
def test_node_counts_are_those_of_the_table(name: str, nodes: int) -> None:
    kernel = registry.load("kernels", f"neosa-{name}")
    dfg = kernel.build()
    assert placed_nodes(dfg) == nodes
    assert kernel.name == dfg.name == f"neosa-{name}"


@pytest.mark.parametrize("name", TABLE)
def test_counts_are_those_of_the_published_file(name: str, benchmarks: Path) -> None:
    with (benchmarks / "neosa" / "stats.csv").open() as file:
        row = next(r for r in csv.DictReader(file) if r["name"] == _published(name))
    dfg = GRAPHS[name].build()
    found = (placed_nodes(dfg), len(_links(dfg)), len(_multipliers(dfg)))
    assert found == (int(row["nodes"]), int(row["edges"]), int(row["mults_named"]))


@pytest.mark.parametrize("name", TABLE)
def test_shape_is_that_of_the_published_file(name: str, benchmarks: Path) -> None:
    dfg = GRAPHS[name].build()
    theirs = _read(benchmarks / "neosa" / f"{_published(name)}.dot")
    ours = ({node.id for node in dfg.nodes if not dfg.op(node.id).timeless}, _links(dfg), _multipliers(dfg))
    if name.startswith("convolution"):
        # There the published multiplier is the input and a register follows; ours multiplies where the register is.
        theirs, ours = (*theirs[:2], set()), (*ours[:2], set())
    colours = _refined([ours, theirs])
    assert sorted(colours[0].values()) == sorted(colours[1].values())
    graphs = [_graph(nodes, links, colour) for (nodes, links, _), colour in zip((ours, theirs), colours, strict=True)]
    # Settled colours decide whether two forests are the same; other graphs need the search.
    if not dfg.is_forest:
        assert rustworkx.is_isomorphic(*graphs, node_matcher=lambda a, b: a == b, call_limit=200_000)
