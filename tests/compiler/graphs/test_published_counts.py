"""Counts of every published graph against the stats.csv of its folder."""

from __future__ import annotations

import csv
from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest

from gridloom.compiler.source import read_graph
from gridloom.dfg import Dfg, recurrence_mii
from gridloom.errors import DfgError, GridloomError, SourceError

FOLDERS = {"ccf": "", "cgra_bench": "", "e2emap": "", "elastic_cgra_mapper": "", "morpher": "dfg", "satmapit": ""}

OLDER_DIALECT = "sample_xmls_fix_fft_INNERMOST_LN11_DFG.xml"


def rows(benchmarks: Path, folder: str) -> list[dict[str, str]]:
    with (benchmarks / folder / "stats.csv").open() as stream:
        return list(csv.DictReader(stream))


def counted(dfg: Dfg, *, constants: bool) -> Dfg:
    """The graph that the folders count: without order edges, and without constants and live-ins unless asked for."""
    dropped = set() if constants else {n.id for n in dfg.nodes if n.op in ("const", "livein")}
    edges = [e for e in dfg.edges if e.kind != "order" and e.source not in dropped]
    # Operands renumber themselves when constants go: every node of these graphs takes any number of operands.
    next_operand: dict[str, int] = {}
    renumbered = []
    for edge in sorted(edges, key=lambda e: e.operand):
        operand = next_operand.get(edge.target, 0)
        next_operand[edge.target] = operand + 1
        renumbered.append(replace(edge, operand=operand))
    return replace(dfg, nodes=tuple(n for n in dfg.nodes if n.id not in dropped), edges=tuple(renumbered))


def measures(dfg: Dfg) -> dict[str, int]:
    distances = [e.distance for e in dfg.edges]
    return {
        "nodes": len(dfg.nodes),
        "edges": len(dfg.edges),
        "loop_carried_edges": sum(d > 0 for d in distances),
        "max_distance": max(distances, default=0),
        "RecMII_latency1": recurrence_mii(dfg, lambda node: 1),
        "max_fanout": max((len(row) for row in dfg.out_edges), default=0),
    }


@pytest.mark.parametrize("folder", FOLDERS)
def test_counts_and_rec_mii_equal_the_folders_statistics(benchmarks: Path, folder: str) -> None:
    checked = 0
    for row in rows(benchmarks, folder):
        path = benchmarks / folder / FOLDERS[folder] / row["graph"]
        if "cyclic" in row["RecMII_latency1"] or row["graph"] == OLDER_DIALECT:
            with pytest.raises(GridloomError):
                read_graph(path)
            continue
        found = measures(counted(read_graph(path), constants=folder == "elastic_cgra_mapper"))
        assert found == {key: int(row[key]) for key in found}, row["graph"]
        checked += 1
    assert checked >= 5


def test_every_file_loads_or_is_refused_with_its_name(benchmarks: Path) -> None:
    loaded = 0
    for path in sorted(benchmarks.rglob("*")):
        if path.is_dir():
            continue
        try:
            read_graph(path)
            loaded += 1
        except GridloomError as error:
            assert str(path.parent) in str(error)
            assert "\n" not in str(error)
    assert loaded >= 250


def test_graphs_are_all_read_but_for_three_of_morpher(benchmarks: Path) -> None:
    graphs = [*benchmarks.rglob("*.dot"), *benchmarks.glob("morpher/dfg/*.xml"), *benchmarks.glob("e2emap/*.txt")]
    graphs += [*benchmarks.glob("satmapit/*/*_nodes"), *benchmarks.glob("ccf/*/loop*_node.txt")]
    refused = {}
    for path in graphs:
        try:
            read_graph(path)
        except GridloomError as error:
            refused[path.name] = error
    assert sorted(refused) == [
        "realgsm_Gsm_Long_Term_Predictor_INNERMOST_LN1_FullPred_DFG.xml",
        "realgsm_Gsm_Long_Term_Predictor_INNERMOST_LN1_PartPred_DFG.xml",
        "sample_xmls_fix_fft_INNERMOST_LN11_DFG.xml",
    ]
    cyclic = refused["realgsm_Gsm_Long_Term_Predictor_INNERMOST_LN1_PartPred_DFG.xml"]
    assert isinstance(cyclic, DfgError)
    assert cyclic.message == ("has a cycle of distance 0: 88 -> ...; a value cannot depend on itself in one iteration")
    older = refused["sample_xmls_fix_fft_INNERMOST_LN11_DFG.xml"]
    assert isinstance(older, SourceError)
    assert "has no nextiter: this is the older dialect" in older.message


# -- NeoSA ----------------------------------------------------------------------------------------------------------


def depth(dfg: Dfg) -> int:
    level = [0] * len(dfg.nodes)
    for k in dfg.topological:
        for e in dfg.out_edges[k]:
            if dfg.edges[e].distance == 0:
                target = dfg.index[dfg.edges[e].target]
                level[target] = max(level[target], level[k] + 1)
    return max(level)


def neosa_multiplier(label: str) -> bool:
    return len(label) >= 4 and label[2] in "Ll"


def test_neosa_counts_equal_its_statistics(benchmarks: Path) -> None:
    for row in rows(benchmarks, "neosa"):
        dfg = read_graph(benchmarks / "neosa" / f"{row['name']}.dot")
        sources = {e.source for e in dfg.edges}
        found = {
            "nodes": len(dfg.nodes),
            "edges": len(dfg.edges),
            "self_loops": sum(e.source == e.target for e in dfg.edges),
            "mults_named": sum(dfg.op_class(n.id) == "mul" for n in dfg.nodes),
            "mults_tool": sum(neosa_multiplier(n.label or n.id) for n in dfg.nodes),
            "inputs": sum(n.op == "input" for n in dfg.nodes),
            "outputs": sum(n.id not in sources for n in dfg.nodes),
            "depth": depth(dfg),
            "max_fanin": max(len(r) for r in dfg.in_edges),
            "max_fanout": max(Counter(e.source for e in dfg.edges if e.source != e.target).values()),
        }
        assert found == {key: int(row[key]) for key in found}, row["name"]


def test_neosa_nodes_keep_the_order_of_the_file(benchmarks: Path) -> None:
    dfg = read_graph(benchmarks / "neosa" / "K4N4.dot")
    assert [n.id for n in dfg.nodes[:6]] == ["0", "4", "5", "6", "7", "1"]


# -- GenMap ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("graph", "ops", "constants", "loads", "stores", "edges"),
    [
        ("aes", 45, 3, 4, 4, 94),
        ("dct4", 18, 4, 4, 4, 40),
        ("gray", 13, 5, 1, 1, 27),
        ("radix4_fft", 46, 6, 8, 8, 92),
        ("sepia", 12, 8, 3, 3, 27),
    ],
)
def test_genmap_counts_equal_the_readme(
    benchmarks: Path, graph: str, ops: int, constants: int, loads: int, stores: int, edges: int
) -> None:
    dfg = read_graph(benchmarks / "genmap" / "app_samples" / f"{graph}.dot")
    kinds = [node.op for node in dfg.nodes]
    assert dfg.domain == "cma24"
    assert (kinds.count("const"), kinds.count("input"), kinds.count("output")) == (constants, loads, stores)
    assert len(kinds) - constants - loads - stores == ops
    assert len(dfg.edges) == edges
