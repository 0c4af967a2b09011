"""``gridloom map``: results, files, JSON and refusals."""

from __future__ import annotations

import json
import re

import pytest

from gridloom.flow import Request
from gridloom.flow.files import load_mapping
from gridloom.flow.request import write_command

QUICK = ("--effort", "20000")


def test_json_is_one_object_with_the_fields_of_the_contract(gridloom):
    done = gridloom("map", "kernel:distance", "--arch", "mesh:5x5", "--seed", "3", *QUICK, "--json")
    assert (done.status, done.err) == (0, "")
    record = done.record
    assert record["status"] == "mapped"
    assert record["verified"] == {"legal": True, "simulated": True, "compared_with": "graph"}
    assert (record["mapper"], record["seed"]) == ("anneal", 3)
    assert record["dfg"] == {"name": "distance", "nodes": 15, "edges": 14}
    assert record["arch"] == {"name": "mesh:5x5", "rows": 5, "cols": 5, "tiles": 25}
    assert (record["ii"], record["mii"], record["tiles_used"]) == (1, 1, 15)
    assert set(record["buffers"]) == {"max", "total"}


def test_text_says_that_it_was_checked_and_simulated(gridloom):
    done = gridloom("map", "kernel:vector_add", "--arch", "mesh:2x2", *QUICK)
    lines = done.out.splitlines()
    assert lines[0].startswith("mapped: vector_add (4 nodes, 3 edges) onto mesh:2x2 with anneal, seed 0, in ")
    assert lines[1] == "  legal, and simulated to compute what the graph computes"
    assert "  tiles 4 of 4, routing tiles 0, occupancy 100 %" in lines


def test_text_of_an_elastic_mapping_says_that_tokens_were_compared(gridloom):
    network = "model:gemm,rows=8,inner=64,columns=64"
    done = gridloom("map", network, "--arch", "rdu:8x8", "--effort", "8", "--set", "judge=none", "-o", "m.json")
    assert done.out.splitlines()[1] == "  legal, and simulated: every token of the unit graph arrives once and in order"
    assert gridloom("simulate", "m.json").out.startswith("the same tokens as the graph: gemm")


def test_written_mapping_is_the_one_that_was_found(gridloom, tmp_path):
    done = gridloom("map", "kernel:axpy", "--arch", "chess:3x3", *QUICK, "-o", "m.json", "--json")
    assert (done.status, done.err) == (0, "wrote m.json\n")
    mapping = load_mapping(tmp_path / "m.json")
    assert (mapping.dfg.name, mapping.arch.name) == ("axpy", "chess:3x3")
    assert mapping.provenance["mapper"] == "anneal"


def test_report_and_picture_are_written(gridloom, tmp_path):
    done = gridloom("map", "kernel:axpy", "--arch", "mesh:3x3", *QUICK, "--html", "r.html", "--svg", "p.svg")
    assert (done.status, done.err) == (0, "wrote p.svg\nwrote r.html\n")
    assert "<svg" in (tmp_path / "p.svg").read_text()
    report = (tmp_path / "r.html").read_text()
    assert "gridloom map kernel:axpy --arch mesh:3x3 --mapper auto --seed 0 --effort 20000" in report
    assert "wirelength" in report


def test_same_seed_and_effort_give_the_same_file_whatever_the_workers(gridloom, tmp_path):
    for name, jobs in (("a.json", 1), ("b.json", 2)):
        gridloom("map", "kernel:gray", "--arch", "mesh:4x4", *QUICK, "--seed", "5", "--jobs", jobs, "-o", name)
    assert (tmp_path / "a.json").read_bytes() == (tmp_path / "b.json").read_bytes()


def test_no_mapping_is_status_1_and_nothing_is_written(gridloom, tmp_path):
    done = gridloom("map", "kernel:distance", "--arch", "mesh:2x2", "-o", "m.json", "--svg", "m.svg")
    assert done.status == 1
    assert re.sub(r"in [0-9.]+ s", "in a moment", done.out).splitlines() == [
        "failed: distance (15 nodes, 14 edges) onto mesh:2x2 with anneal, seed 0, in a moment",
        "  tiles: needs 15 tiles, has 4 on mesh:2x2",
        "  bound by: alu + input + mul + output take 15 slots on 4 tiles",
        "  would help: 6 more columns: fits, by counting",
        "  the mapper suggests, untried: 6 rows more, 6 columns more",
    ]
    assert list(tmp_path.iterdir()) == []


def test_text_names_the_bound_and_the_best_lever_that_was_tried(gridloom):
    done = gridloom("map", "kernel:matmul", "--arch", "torus:4x4", "--ii", "2")
    assert "has II 2\n  would help: one more bus cycle per slot and bus: MII 2\n" in done.out
    done = gridloom("map", "kernel:axpy", "--arch", "ramp-2", "--effort", "20000")
    assert done.out.splitlines()[-3:] == [
        "  why: II 2 is the least there is: alu + mem + mul take 6 slots on 4 tiles.",
        "  bound by: mem ops need 3 of 2 bus cycles per slot",
        "  would help: one more column and one more bus cycle per slot and bus: MII 1",
    ]


def test_failed_search_offers_a_lever_that_a_search_tried(gridloom):
    short = ("kernel:gray", "--arch", "torus:2x2,regs=1,rotating=false", "--effort", "300")
    done = gridloom("map", *short, "--json")
    (lever,) = done.record["why"]["levers"]
    assert (done.status, lever["tried"]) == (1, "search")
    assert f"  would help: {lever['change']}: {lever['gain']}\n" in gridloom("map", *short).out


def test_json_has_the_explanation(gridloom):
    why = gridloom("map", "kernel:vector_add", "--arch", "mesh:2x2", *QUICK, "--json").record["why"]
    assert (why["ii"], why["mapped"], why["levers"]) == (1, True, [])


def test_no_mapping_as_json_has_the_failure(gridloom):
    done = gridloom("map", "kernel:distance", "--arch", "mesh:2x2", "--json")
    assert done.status == 1
    assert done.record["status"] == "failed"
    assert done.record["failure"]["constraint"] == "tiles"
    assert done.record["failure"]["levers"] == ["6 rows more", "6 columns more"]
    assert done.record["wirelength"] is None


def test_placement_of_a_mapping_is_kept_by_place(gridloom, saved):
    done = gridloom("map", "kernel:vector_add", "--arch", "mesh:2x2", "--place", saved, "-o", "again.json")
    assert done.status == 0
    places = [{i.node: i.place for i in load_mapping(path).instances} for path in (saved, "again.json")]
    assert places[0] == places[1]


VPR = """\
Netlist_File: x.net Netlist_ID: SHA256:0
Array size: 2 x 2 logic blocks

#block name\tx\ty\tsubblk\tlayer\tblock number
x0\t0\t0\t0\t0\t#0
y0\t1\t1\t0\t0\t#1
add2\t1\t0\t0\t0\t#2
out:z0\t0\t1\t0\t0\t#3
"""


@pytest.mark.parametrize(("name", "text"), [("peer.place", VPR), ("peer.txt", "1 0\n3 2\n")])
def test_placements_that_other_tools_print_are_routed_and_judged(gridloom, tmp_path, name, text):
    (tmp_path / name).write_text(text)
    done = gridloom("map", "kernel:vector_add", "--arch", "mesh:2x2", "--place", name, "-o", "m.json")
    assert done.status == 0, done.err
    places = {i.node: i.place for i in load_mapping(tmp_path / "m.json").instances}
    assert places == {"x0": "pe_0_0", "y0": "pe_1_1", "add2": "pe_0_1", "z0": "pe_1_0"}


def test_pinned_nodes_stay(gridloom, tmp_path):
    (tmp_path / "pin.json").write_text('{"x0": "pe_2_2", "y0": [0, 1]}')
    done = gridloom("map", "kernel:vector_add", "--arch", "mesh:3x3", "--pin", "pin.json", *QUICK, "-o", "m.json")
    assert done.status == 0
    places = {i.node: i.place for i in load_mapping(tmp_path / "m.json").instances}
    assert (places["x0"], places["y0"]) == ("pe_2_2", "pe_0_1")


def test_init_takes_part_of_a_placement(gridloom, tmp_path):
    (tmp_path / "init.json").write_text('{"x0": "pe_1_1"}')
    assert gridloom("map", "kernel:vector_add", "--arch", "mesh:3x3", "--init", "init.json", *QUICK).status == 0


FIR = ["kernel:fir", "--arch", "mesh:6x6"]
SETTINGS = "error: --set: start: mapper 'anneal' has no such setting; did you mean starts? it has: "
BAD = [
    (["kernel:fri", "--arch", "mesh:2x2"], "error: no kernel is called 'fri'; did you mean fir?"),
    (["none.dot", "--arch", "mesh:2x2"], "error: none.dot: there is no such file"),
    (["kernel:fir", "--arch", "mash:2x2"], "error: array 'mash:2x2': no arch is called 'mash'; did you mean mesh?"),
    (["kernel:fir", "--arch", "mesh:0x2"], "error: array 'mesh:0x2': rows: expected 1 to 128, found 0"),
    (["kernel:fir"], "error: Missing option '--arch'; see gridloom map --help"),
    ([*FIR, "--ii", "2"], "error: --ii: array 'mesh:6x6' is static: its II is 1, found 2"),
    ([*FIR, "--mapper", "annael"], "error: no mapper is called 'annael'; did you mean anneal?"),
    ([*FIR, "--set", "start=1"], SETTINGS),
    ([*FIR, "--set", "starts=no"], "error: --set: starts: mapper 'anneal' takes a whole number here, found 'no'"),
    ([*FIR, "--set", "starts=0"], "error: starts: expected at least 1, found 0"),
    ([*FIR, "--set", "starts"], "error: --set: expected key=value, found 'starts'"),
    (["fir", "--arch", "mesh:6x6"], "error: fir: there is no such file; did you mean kernel:fir?"),
    ([*FIR, "--seed", "x"], "error: Invalid value for '--seed': "),
    ([*FIR, "--seed", "-1"], "error: --seed: expected at least 0, found -1"),
    ([*FIR, "--effort", "0"], "error: effort: expected at least 1 move, found 0"),
    ([*FIR, "--time-limit", "0"], "error: time limit: expected more than 0 seconds, found 0.0"),
    ([*FIR, "--jobs", "0"], "error: --jobs: expected at least 1, found 0"),
    ([*FIR, "--place", "p"], "error: p: there is no such file"),
    ([*FIR, "-o", "no/m.json"], "error: --output: no/m.json: there is no folder "),
    ([*FIR, "--svg", "."], "error: --svg: . is a folder; expected a file name"),
    ([*FIR, "--svg", "a", "--html", "a"], "error: --svg: a is also the file of --html; name another"),
]


@pytest.mark.parametrize(("words", "message"), BAD, ids=[" ".join(words) for words, _ in BAD])
@pytest.mark.parametrize("as_json", [False, True], ids=["text", "json"])
def test_bad_input_is_one_message_and_status_2(gridloom, tmp_path, words, message, as_json):
    done = gridloom("map", *words, *(["--json"] if as_json else []))
    assert (done.status, done.out) == (2, "")
    assert done.err.startswith(message)
    assert done.err.count("\n") == 1
    assert list(tmp_path.iterdir()) == []


def test_bad_graph_file_names_the_file_and_the_line(gridloom, tmp_path):
    (tmp_path / "g.json").write_text('{"format": "gridloom-dfg",\n "version": 1,,}')
    done = gridloom("map", "g.json", "--arch", "mesh:2x2", "-o", "m.json")
    assert done.status == 2
    assert done.err.startswith("error: g.json: ")
    assert "line 2" in done.err
    assert sorted(path.name for path in tmp_path.iterdir()) == ["g.json"]


def test_bad_placement_names_the_file_and_the_node(gridloom, tmp_path):
    (tmp_path / "p.json").write_text(json.dumps({"x0": "pe_7_7"}))
    done = gridloom("map", "kernel:vector_add", "--arch", "mesh:2x2", "--pin", "p.json")
    assert (done.status, done.err) == (
        2,
        "error: p.json: node 'x0': tile 'pe_7_7' does not exist in array 'mesh:2x2'\n",
    )


def test_mistake_of_ours_is_told_without_a_traceback(gridloom, monkeypatch):
    def broken(request):
        raise ZeroDivisionError("no")

    monkeypatch.setattr("gridloom.flow.run", broken)
    done = gridloom("map", "kernel:fir", "--arch", "mesh:6x6")
    assert done.status == 70
    assert done.err.splitlines() == [
        "internal error: ZeroDivisionError: no",
        "this is a mistake in gridloom, not yours; GRIDLOOM_DEBUG=1 shows where it happened, please report it",
    ]


def test_command_of_a_report_makes_the_same_request():
    request = Request(
        source="kernel:fir", arch="mesh:6x6,fifo=4", seed=3, effort=10, settings={"starts": "2"}, pin="my pins.json"
    )
    assert write_command(vars(request)) == (
        "gridloom map kernel:fir --arch mesh:6x6,fifo=4 --mapper auto --seed 3 --effort 10 --pin 'my pins.json' "
        "--set starts=2"
    )


def test_slots_are_told_on_modulo_arrays(gridloom):
    done = gridloom("map", "kernel:vector_add", "--arch", "torus:2x2", "--json")
    slots = done.record["slots"]
    assert slots["used"] == slots["ops"] + slots["moves"]
    assert slots["total"] == 4 * done.record["ii"]
    text = gridloom("map", "kernel:vector_add", "--arch", "torus:2x2").out
    shown = f"slots {slots['used']} of {slots['total']}: {slots['ops']} for operations, {slots['moves']} for moves"
    assert shown in text


def test_slots_are_null_on_static_arrays(gridloom):
    assert gridloom("map", "kernel:vector_add", "--arch", "mesh:2x2", *QUICK, "--json").record["slots"] is None


def test_failed_map_writes_a_report_that_shows_why_and_nothing_else(gridloom, tmp_path):
    files = ["-o", "m.json", "--svg", "m.svg", "--html", "m.html"]
    done = gridloom("map", "kernel:distance", "--arch", "mesh:2x2", *files)
    assert (done.status, done.err) == (1, "wrote m.html\n")
    assert [path.name for path in tmp_path.iterdir()] == ["m.html"]
    page = (tmp_path / "m.html").read_text(encoding="utf-8")
    for words in ("not mapped", "15 tiles", "4 on mesh:2x2", "6 more columns", "gridloom map kernel:distance"):
        assert words in page
