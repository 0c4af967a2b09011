"""The 37 graphs of the NeoSA evaluation: sizes of its table, and the shapes of the published files."""

from __future__ import annotations

import csv
import re
from collections import Counter
from pathlib import Path

import pytest

from gridloom import registry
from gridloom.compiler.kernels import placed_nodes
from gridloom.compiler.kernels.neosa import GRAPHS
from gridloom.dfg import Dfg

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
#: Nodes, links, and the nodes that are marked.
Shape = tuple[set[str], Links, set[str]]


def _published(name: str) -> str:
    """The file of a graph: `Tree_*` are the reducing trees, except that of 15 nodes, where it is `tree_*`."""
    plain_tree = name.startswith("tree_") and "_r_" not in name and name != "tree_n_15_t_1"
    return name.replace("tree", "Tree") if plain_tree else name


def _links(dfg: Dfg) -> Links:
    return [(edge.source, edge.target) for edge in dfg.edges if not dfg.op(edge.source).timeless]


def _multipliers(dfg: Dfg) -> set[str]:
    return {node.id for node in dfg.nodes if dfg.op_class(node.id) == "mul"}


def _read(path: Path) -> Shape:
    text = path.read_text()
    links = [(a, b) for a, b in re.findall(r"(\w+)\s*->\s*(\w+)", text)]
    labels = dict(re.findall(r"(\w+)\s*\[label\s*=\s*(\w+)\s*\]", text))
    nodes = set(re.findall(r"^\s*(\w+)\s*(?:\[[^]]*\])?\s*;", text, re.MULTILINE)) | {n for link in links for n in link}
    return nodes, links, {node for node, label in labels.items() if label.lower().startswith("mul")}


def _refined(graphs: list[Shape], colours: list[dict[str, int]]) -> list[dict[str, int]]:
    """The given colours of all nodes of all graphs, refined by those of sources and targets until they settle."""
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


def _same_shape(ours: Shape, theirs: Shape, colours: list[dict[str, int]] | None = None) -> bool:
    """Whether the graphs are isomorphic: refine colours, set one node of a shared colour apart, try its partners."""
    graphs = [ours, theirs]
    first, second = _refined(graphs, colours or [{n: int(n in marked) for n in nodes} for nodes, _, marked in graphs])
    if sorted(first.values()) != sorted(second.values()):
        return False
    sizes = Counter(first.values())
    shared = [(count, colour) for colour, count in sizes.items() if count > 1]
    if not shared:
        return sorted((first[a], first[b]) for a, b in ours[1]) == sorted((second[a], second[b]) for a, b in theirs[1])
    _, colour = min(shared)
    chosen = min(node for node in first if first[node] == colour)
    partners = sorted(node for node in second if second[node] == colour)
    return any(_same_shape(ours, theirs, [first | {chosen: -1}, second | {partner: -1}]) for partner in partners)


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
    assert _same_shape(ours, theirs)


def test_shapes_that_settled_colours_do_not_tell_apart() -> None:
    def rings(*lengths: int) -> Shape:
        links = [(f"{k}.{i}", f"{k}.{(i + 1) % length}") for k, length in enumerate(lengths) for i in range(length)]
        return {node for node, _ in links}, links, set()

    assert _same_shape(rings(2, 4), rings(4, 2))
    assert not _same_shape(rings(3, 3), rings(6))
