"""Explanations of results: the reason that binds, and levers that do what they say."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import replace
from pathlib import Path

import networkx
import pytest

from gridloom.archs import build
from gridloom.archs.model import Arch
from gridloom.dfg.model import Dfg, DfgBuilder
from gridloom.flow.inputs import prepare
from gridloom.flow.request import Request
from gridloom.flow.run import run
from gridloom.flow.why.explanation import Explanation, explain
from gridloom.flow.why.levers import find_levers, rebuild
from gridloom.mapping.mii import least_latencies, mii
from gridloom.mapping.model import Failure

#: SOURCE, ARCH, the II below which nothing maps, and what says so; `test_the_binding_reason_adds_up` counts it again.
LOOPS = [
    ("adpcm", "torus:4x4", 15, "the recurrence"),
    ("aes_column", "ramp-2", 10, "alu + mem + mul take 38 slots on 4 tiles"),
    ("aes_column", "torus:4x4", 3, "alu + mem + mul take 38 slots on 16 tiles"),
    ("alpha_blend", "torus:4x4", 3, "alu + mem + mul take 33 slots on 16 tiles"),
    ("atax", "torus:4x4", 3, "the recurrence j_next"),
    ("axpy", "ramp-2", 2, "alu + mem + mul take 6 slots on 4 tiles"),
    ("bicg", "ramp-2", 6, "alu + mem + mul take 21 slots on 4 tiles"),
    ("bitcount", "torus:4x4", 2, "the recurrence bits → rest → bits takes 2 cycles"),
    ("bmp_header", "torus:4x4", 5, "mem ops need 20 of 4 bus cycles per slot"),
    ("convolution", "torus:4x4", 3, "mem ops need 9 of 4 bus cycles per slot"),
    ("crc32", "torus:4x4", 33, "takes 33 cycles and comes back after 1 iteration"),
    ("dct8", "torus:4x4", 5, "alu + mem + mul take 75 slots on 16 tiles"),
    ("distance", "torus:4x4", 2, "mem ops need 7 of 4 bus cycles per slot"),
    ("fft_radix4", "torus:4x4", 6, "mem ops need 22 of 4 bus cycles per slot"),
    ("fir", "torus:4x4", 2, "alu + mem + mul take 18 slots on 16 tiles"),
    ("fir", "ramp-2", 5, "alu + mem + mul take 18 slots on 4 tiles"),
    ("gemm", "torus:4x4", 3, "the recurrence k_next"),
    ("gray", "ramp-2", 3, "alu + mem + mul take 11 slots on 4 tiles"),
    ("horner_bezier", "ramp-2", 11, "alu + mem + mul take 43 slots on 4 tiles"),
    ("ifft", "torus:4x4", 3, "mem ops need 10 of 4 bus cycles per slot"),
    ("iir", "torus:4x4", 3, "the recurrence mul4 → add5 → y_now → mul4 takes 3 cycles"),
    ("isqrt", "torus:4x4", 4, "takes 4 cycles and comes back after 1 iteration"),
    ("kmeans", "torus:4x4", 4, "alu + mem + mul take 64 slots on 16 tiles"),
    ("matmul", "torus:4x4", 3, "mem ops need 12 of 4 bus cycles per slot"),
    ("matmul_add", "torus:4x4", 4, "mem ops need 16 of 4 bus cycles per slot"),
    ("sepia", "ramp-2", 7, "alu + mem + mul take 28 slots on 4 tiles"),
    ("sha1_step", "torus:4x4", 3, "mem ops need 11 of 4 bus cycles per slot"),
    ("sobel", "ramp-2", 5, "alu + mem take 19 slots on 4 tiles"),
    ("string_search", "torus:4x4", 3, "the recurrence j_next"),
    ("tree_expand", "torus:4x4", 3, "mem ops need 9 of 4 bus cycles per slot"),
]
#: SOURCE, ARCH, II asked for, what forbids a mapping, and a lever.
FAILURES = [
    ("kmeans,k=4,n=5", "mesh:5x5", None, "needs 86 tiles, has 25", "10 rows and 10 columns: fits, by counting"),
    ("fir", "mesh:3x3", None, "needs 17 tiles, has 9", "3 more columns: fits, by counting"),
    ("fir", "torus:4x4,memory=none", None, "no tile runs input and no tile runs output", "one more tile with input"),
    ("crc32", "torus:4x4", 8, "recurrence: needs II 33, has II 8", None),
    ("fir", "ramp-2", 3, "alu + mem + mul take 18 slots on 4 tiles", "one more column: MII 3"),
    ("matmul", "torus:4x4", 2, "mem ops need 12 of 4 bus cycles", "one more bus cycle per slot and bus: MII 2"),
    ("iir", "torus:4x4", 2, "recurrence: needs II 3, has II 2", "without 'add5', by another formulation of the source"),
    ("fir", "mesh:5x5,mul=none", None, "no tile runs mul", "8 more tiles with mul: fits, by counting"),
    ("aes_column", "ramp-7", 2, "alu + mem + mul take 38 slots on 16 tiles", "one more column: MII 2"),
    ("sobel", "streaming-engine:4", 1, "alu + mul take 12 slots on 4 tiles", "8 more tiles: MII 1"),
]


def graph_and_array(source: str, arch: str) -> tuple[Dfg, Arch]:
    prepared = prepare(f"kernel:{source}", arch)
    return prepared.dfg, prepared.arch


@pytest.mark.parametrize(("source", "arch", "ii", "reason"), LOOPS)
def test_the_binding_reason_of_a_loop(source: str, arch: str, ii: int, reason: str):
    told = explain(*graph_and_array(source, arch))
    assert told.mii == ii
    assert any(reason in one.text for one in told.binding)


@pytest.mark.parametrize(("source", "arch", "ii", "reason"), LOOPS)
def test_the_binding_reason_adds_up(source: str, arch: str, ii: int, reason: str):
    dfg, array = graph_and_array(source, arch)
    for one in explain(dfg, array).binding:
        if one.kind == "recurrence":
            latency = least_latencies(dfg, array)
            rows = [dfg.edges[e] for e in one.edges]
            cycles = sum(latency(edge.source) if edge.kind == "data" else edge.delay for edge in rows)
            assert [edge.target for edge in rows] == [*(edge.source for edge in rows[1:]), rows[0].source]
            assert -(-cycles // sum(edge.distance for edge in rows)) == ii
        elif "bus" not in one.text:
            count = Counter(dfg.op_class(node.id) for node in dfg.nodes)
            slots = sum(count[name] for name in one.classes)
            assert f"{slots} slots on {len(one.tiles)} tiles" in one.text
            assert -(-slots // len(one.tiles)) == ii


@pytest.mark.parametrize(("source", "arch", "ii", "reason", "lever"), FAILURES)
def test_the_reason_of_a_failure(source: str, arch: str, ii: int | None, reason: str, lever: str | None):
    result = run(Request(source=f"kernel:{source}", arch=arch, ii=ii, effort=2000))
    told = explain(result.dfg, result.arch, result.mapping, result.failure, ii=ii)
    assert not told.is_mapped
    assert reason in str(told)
    assert any(lever in str(one) for one in told.levers) if lever else not told.levers


@pytest.mark.parametrize(("source", "arch", "ii", "reason"), LOOPS)
def test_more_columns_do_what_the_lever_says(source: str, arch: str, ii: int, reason: str):
    dfg, array = graph_and_array(source, arch)
    for lever in find_levers(dfg, array):
        words = lever.change.split()
        if words[-1] in ("column", "columns"):
            more = 1 if words[0] == "one" else int(words[0])
            size = (array.rows, array.cols + more) if "more" in words else (more, more)
            larger = rebuild(array, rows=size[0], cols=size[1])
            assert larger is not None
            assert lever.gain == f"MII {mii(dfg, larger).total}"
            assert mii(dfg, larger).total < ii


def test_a_recurrence_names_the_lines_of_its_source(tmp_path: Path):
    file = tmp_path / "h.c"
    file.write_text(
        "int h(const int *restrict x, int n) {\n  int s = 0;\n  for (int i = 0; i < n; i++) {\n"
        "    int t = s * 3;\n    t = t + x[i];\n    s = t ^ 5;\n  }\n  return s;\n}\n",
        encoding="utf-8",
    )
    result = run(Request(source=str(file), arch="torus:4x4", effort=2000))
    (reason,) = result.why().binding
    assert reason.lines == (4, 5, 6)
    assert reason.text.endswith("takes 3 cycles and comes back after 1 iteration (lines 4, 5 and 6)")


def test_bounds_that_bind_together_are_lowered_together():
    """Two products take one multiplier two cycles, and four accesses take two memory tiles two cycles."""
    b = DfgBuilder("two", "i32")
    for k in range(2):
        b.output(b.add("mul", b.input(f"x{k}"), b.const(3 + k)), f"y{k}")
    array = build({"family": "torus", "rows": 3, "cols": 3, "mul": {"tiles": [[0, 0]]}, "bus": "dedicated",
                   "memory": {"tiles": [[0, 1], [1, 0]]}})  # fmt: skip
    told = find_levers(prepare(b.build(), array).dfg, array)
    assert str(told[0]) == "2 more tiles with mem and one more tile with mul: MII 1"


def test_what_is_above_the_bounds_is_tried_by_searches():
    request = Request(source="kernel:fir,taps=8", arch="torus:2x2,regs=0", effort=20000)
    result = run(request)
    assert result.mapping is not None
    quiet = explain(result.dfg, result.arch, result.mapping)
    told = explain(result.dfg, result.arch, result.mapping, trial=request)
    assert quiet.levers == ()
    assert quiet.verdict == (
        f"the bounds allow II {quiet.mii}, and the search ended at II {quiet.ii}: no bound forbids less, but routes "
        f"and registers were not found for it."
    )
    assert "4 registers per file" in {lever.change for lever in told.levers}
    for lever in told.levers:
        assert lever.tried == "search"
        assert int(lever.gain.removeprefix("II ")) < result.mapping.ii


def test_a_searched_lever_does_what_it_says():
    result = run(Request(source="kernel:fir", arch="mesh:5x5,inputs=aligned,fifo=0", effort=20000))
    assert result.failure is not None
    told = result.why()
    assert "FIFOs of depth 1: mapped" in map(str, told.levers)
    again = run(Request(source="kernel:fir", arch="mesh:5x5,inputs=aligned,fifo=1", effort=20000))
    assert again.status == "mapped"


def test_an_interrupted_explanation_tries_nothing_more():
    request = Request(source="kernel:fir", arch="mesh:5x5,inputs=aligned,fifo=0", effort=2000)
    result = run(request)
    told = explain(result.dfg, result.arch, failure=result.failure, trial=replace(request, interrupted=lambda: True))
    assert told.levers == ()


def test_a_failure_that_no_bound_explains_keeps_its_own_words():
    dfg, array = graph_and_array("vector_add", "torus:4x4")
    told = explain(dfg, array, failure=Failure(constraint="routes", demand="5 wires", bound="4"))
    assert told.verdict == "no mapping was found: routes: needs 5 wires, has 4."
    assert told.binding == ()


@pytest.mark.slow
def test_an_array_without_an_ii_names_its_bottleneck():
    result = run(Request(source="model:mlp", arch="rdu:16x8", effort=200))
    assert result.mapping is not None
    told = explain(result.dfg, result.arch, result.mapping)
    assert (told.ii, told.mii) == (None, None)
    assert told.binding[0].kind == "bottleneck"


def test_an_explanation_is_plain_data():
    told: Explanation = explain(*graph_and_array("fir", "torus:4x4"))
    record = json.loads(json.dumps(told.to_dict()))
    assert record["mii"] == 2
    assert [row["binding"] for row in record["reasons"]].count(True) == len(told.binding)
    assert record["levers"][0] == {"change": "one more column", "gain": "MII 1", "tried": "bound"}


def test_recurrences_are_found_by_brute_force():
    """The binding recurrence of small kernels is the worst of all simple cycles."""
    for source in ("iir", "isqrt", "bitcount", "gemm", "string_search"):
        dfg, array = graph_and_array(source, "torus:4x4")
        latency = least_latencies(dfg, array)
        graph = networkx.MultiDiGraph()
        for edge in dfg.edges:
            weight = latency(edge.source) if edge.kind == "data" else edge.delay
            graph.add_edge(edge.source, edge.target, weight=weight, distance=edge.distance)
        worst = 1
        for cycle in networkx.simple_cycles(networkx.DiGraph(graph)):
            pairs = list(zip(cycle, [*cycle[1:], cycle[0]]))
            steps = [max(graph[a][b].values(), key=lambda arc: arc["weight"] - 100 * arc["distance"]) for a, b in pairs]
            worst = max(worst, -(-sum(s["weight"] for s in steps) // sum(s["distance"] for s in steps)))
        assert worst == max([1, *(one.ii for one in explain(dfg, array).reasons if one.kind == "recurrence")])
