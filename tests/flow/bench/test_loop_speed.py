"""Figures of loops: the processor model, means and ratios, and other tools' results beside ours."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from gridloom.dfg import DfgBuilder
from gridloom.flow.bench.loop_speed import geometric_mean, loop_summary, ratio, sequential_cycles
from gridloom.flow.bench.peers import peers_of
from gridloom.flow.bench.run import bench, summary
from gridloom.flow.bench.suite import read_suite
from gridloom.run import ExecutorSpec


def row(mapper: str, arch: str, ii: int | None, source: str = "a") -> dict[str, Any]:
    return {
        "cell": {"source": source, "arch": arch, "seed": 1},
        "mapper": mapper,
        "status": "failed" if ii is None else "mapped",
        "ii": ii,
        "mii": 2,
        "sequential": 12,
    }


def test_processor_counts_instructions_by_class() -> None:
    b = DfgBuilder("loop")
    b.array("A", 8)
    x = b.load("A", b.add("add", b.livein("i"), b.const(1)))
    b.store("A", b.const(0), b.add("mul", x, b.const(3)))
    # add 1, load 3, mul 3, store 1, comparison and branch 2
    assert sequential_cycles(b.build()) == 10


def test_means_are_over_loops_that_map_and_ratios_over_those_that_both_map() -> None:
    rows = [
        row("ramp", "ramp-1", 2),
        row("ramp", "ramp-1", 4, source="b"),
        row("ramp", "ramp-2", 2),
        row("regimap", "ramp-1", 8),
        row("regimap", "ramp-1", None, source="b"),
        row("regimap", "ramp-2", 2),
    ]
    found = loop_summary(rows)
    assert found["mappers"]["ramp"]["ramp-1"] == {"cells": 2, "mapped": 2, "mii_over_ii": 0.707, "speedup": 4.243}
    assert found["mappers"]["regimap"]["ramp-1"] == {"cells": 2, "mapped": 1, "mii_over_ii": 0.25, "speedup": 1.5}
    assert found["ratios"] == {"regimap": {"cells": 2, "speedup": 2.0}}
    assert ratio(rows[:1], rows[4:5]) == {"cells": 0, "speedup": None}
    assert geometric_mean([]) is None


def test_bench_sums_loops_up_by_mapper_and_array() -> None:
    text = "sources: [kernel:iir]\narchs: ['torus:2x2']\nmapper: ramp\nbudget: {effort: 100000}\n"
    report = bench(read_suite(text, "s"), executor=ExecutorSpec(workers=1))
    part = summary(report.rows)["loops"]["mappers"]["ramp"]["torus:2x2"]
    assert part["mapped"] == 1
    assert part["speedup"] == pytest.approx(report.rows[0]["sequential"] / report.rows[0]["ii"], abs=1e-3)


def test_peers_are_read_from_the_table_next_to_the_graphs(tmp_path: Path) -> None:
    (tmp_path / "satmapit").mkdir()
    table = tmp_path / "satmapit" / "peer_results.csv"
    table.write_text("loop,mapper,array,II,status\ngsm1,CRIMSON,4x4,3,ok\ngsm1,RAMP,4x4,,aborted\ngsm1,RAMP,2x2,5,ok\n")
    found = peers_of("satmapit/GSM/gsm1_nodes", "4x4", tmp_path)
    assert found == {"CRIMSON": 3, "RAMP": "aborted"}
    assert peers_of("satmapit/GSM/gsm11_nodes", "4x4", tmp_path) == {}
    assert peers_of("satmapit/GSM/large_gsm1_nodes", "4x4", tmp_path) == {}
    assert peers_of("elsewhere/gsm1_nodes", "4x4", tmp_path) == {}


def test_published_tables_are_found_beside_our_cells(benchmarks: Path) -> None:
    assert peers_of("ccf/rijndael_loop6/loop91_node.txt", "4x4", benchmarks)["CRIMSON"] == 15
    assert peers_of("morpher/dfg/polybench_2mm.xml", "4x4", benchmarks) == {"PathFinder": 5}
    assert peers_of("satmapit/GSM/gsm1_nodes", "2x2", benchmarks)["CCF RAMP"] == 5
    assert peers_of("neosa/Tree_n_15_t_1.dot", "4x4", benchmarks) == {}
