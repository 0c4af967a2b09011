"""Figures of loops: the processor model, means and ratios, and other tools' results beside ours."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from gridloom.dfg.model import DfgBuilder
from gridloom.errors import OptionError
from gridloom.flow.api import map as map_loop
from gridloom.flow.bench.loop_speed import loop_summary, ratio
from gridloom.flow.bench.peers import peers_of
from gridloom.flow.bench.processor import Processor
from gridloom.flow.bench.run import bench, summary
from gridloom.flow.bench.selection import select_cells
from gridloom.flow.bench.suite import declared_suite, read_suite
from gridloom.run import ExecutorSpec


def row(mapper: str, arch: str, ii: int | None, source: str = "a") -> dict[str, Any]:
    return {
        "cell": {"source": source, "arch": arch, "seed": 1},
        "mapper": mapper,
        "status": "failed" if ii is None else "mapped",
        "ii": ii,
        "mii": 2,
        "sequential": 12,
        "seconds": 0.5,
        "failure": {"constraint": "clique of (op, PE) pairs at II 2", "cause": "limit"} if ii is None else None,
    }


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
    assert found["mappers"]["ramp"]["ramp-1"] == {
        "cells": 2, "mapped": 2, "mii_over_ii": 0.707, "speedup": 4.243, "with_processor": 4.243, "unmapped": {},
    }  # fmt: skip
    assert found["mappers"]["regimap"]["ramp-1"] == {
        "cells": 2, "mapped": 1, "mii_over_ii": 0.25, "speedup": 1.5, "with_processor": 1.225, "unmapped": {"limit": 1},
    }  # fmt: skip
    # Over all cells ramp is 4, 3 and 1 times as fast: the loop that regimap does not map runs on the processor.
    compared = found["ratios"]["regimap"].pop("comparison")
    assert found["ratios"] == {
        "regimap": {"cells": 2, "speedup": 2.0, "energy": 0.5, "all_cells": 3, "with_processor": 2.289}
    }
    assert (compared["wins"], compared["ties"], compared["losses"]) == (2, 1, 0)
    nothing = ratio(rows[:1], rows[4:5])
    assert nothing.pop("comparison")["verdict"] == "no difference"
    assert nothing == {
        "cells": 0, "speedup": None, "energy": None, "all_cells": 0, "with_processor": None,
    }  # fmt: skip


@pytest.mark.parametrize("mapper", ["modulo", "ramp"])
def test_unmapped_loops_have_a_cause(mapper: str) -> None:
    b = DfgBuilder("loop")
    b.output(b.add("mul", b.input("x"), b.livein("c")), "y")
    loop = b.build()

    def cause(arch: str, **options: Any) -> str:
        return map_loop(loop, arch, mapper=mapper, **options).to_dict()["failure"]["cause"]

    assert cause("torus:2x2,mul=none") == "proved"
    assert cause("torus:2x2", interrupted=lambda: True) == "limit"


def test_summary_counts_causes_and_claims_nothing_for_old_rows() -> None:
    rows = [row("modulo", "torus:2x2", None, source=name) for name in "abc"]
    rows[1]["failure"]["cause"] = "proved"
    del rows[2]["failure"]["cause"]
    assert loop_summary(rows)["mappers"]["modulo"]["all"]["unmapped"] == {"limit": 1, "proved": 1, "exhausted": 1}


def test_summary_says_what_searches_went_through() -> None:
    rows = [row("ramp", "ramp-1", 2), row("ramp", "ramp-1", 2, source="b"), row("ramp", "ramp-1", None, source="c")]
    for k, strategies in enumerate([{"route": 3}, {"route": 1, "memory": 1}]):
        sizes = {"ops": 10 + k, "inserted": 2 * k, "pairs": 40, "placements": 7}
        rows[k]["search"] = {"strategies": strategies, "graph": sizes}
    assert loop_summary(rows)["mappers"]["ramp"]["all"]["search"] == {
        "loops": 2, "seconds": 0.5, "ops": 10.5, "inserted": 1, "pairs": 40, "placements": 7,
        "strategies": {"memory": 1, "route": 2},
    }  # fmt: skip


def test_suite_is_narrowed_to_arrays_and_seeds() -> None:
    suite = select_cells(declared_suite("loops"), archs=["ramp-7"], seeds=[1, 2, 3])
    assert {cell.arch for cell in suite.cells()} == {"ramp-7"}
    assert sum(1 for _ in suite.cells()) == 60
    assert select_cells(declared_suite("loops")) == declared_suite("loops")
    with pytest.raises(OptionError, match="--arch: suite 'loops' has no array 'ramp-13'; it has: ramp-1, ramp-2"):
        select_cells(declared_suite("loops"), archs=["ramp-13"])


def test_bench_sums_loops_up_by_mapper_and_array() -> None:
    text = "sources: [kernel:iir]\narchs: ['torus:2x2']\nmapper: ramp\nbudget: {effort: 100000}\n"
    suite = read_suite(text, "s")
    report = bench(suite, executor=ExecutorSpec(workers=1))
    blocking = bench(suite, executor=ExecutorSpec(workers=1), processor=Processor(blocking=True))
    assert blocking.rows[0]["sequential"] > report.rows[0]["sequential"]
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
