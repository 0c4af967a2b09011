"""``gridloom check``, ``simulate`` and ``show`` on saved mappings, arrays and graphs."""

from __future__ import annotations

import json

import pytest

from gridloom.archs import build


def damaged(path, change):
    data = json.loads(path.read_text())
    change(data)
    copy = path.with_name("damaged.json")
    copy.write_text(json.dumps(data))
    return copy


def delay_the_last_node(data):
    data["instances"][-1]["cycle"] += 1


def swap_two_routes(data):
    first, second = data["routes"][0], data["routes"][1]
    first["hops"], second["hops"] = second["hops"], first["hops"]


def test_legal_mapping(gridloom, saved):
    done = gridloom("check", saved)
    assert (done.status, done.out) == (0, "legal: vector_add on mesh:2x2 at II 1\n")


def test_legal_mapping_as_json_has_its_metrics(gridloom, saved):
    record = gridloom("check", saved, "--json").record
    assert (record["legal"], record["violations"]) == (True, [])
    assert record["metrics"]["tiles_used"] == 4


def test_violations_are_listed_with_status_1(gridloom, saved):
    done = gridloom("check", damaged(saved, delay_the_last_node))
    lines = done.out.splitlines()
    assert done.status == 1
    assert lines[0] == "not legal: vector_add on mesh:2x2 at II 1: 1 violation"
    assert lines[1].startswith("  timing at ")


def test_violations_as_json(gridloom, saved):
    done = gridloom("check", damaged(saved, swap_two_routes), "--json")
    assert done.status == 1
    assert not done.record["legal"]
    assert len(done.record["violations"]) >= 2
    assert done.record["metrics"] is None


def test_same_values(gridloom, saved):
    done = gridloom("simulate", saved, "--iterations", "100", "--seed", "4")
    assert done.status == 0
    assert done.out.startswith("the same values as the graph: vector_add on mesh:2x2, 100 iterations, ")


def test_simulation_as_json(gridloom, saved):
    record = gridloom("simulate", saved, "--json").record
    assert (record["simulated"], record["iterations"], record["mismatches"]) == (True, 64, [])


def test_different_values_are_listed_with_status_1(gridloom, saved):
    done = gridloom("simulate", damaged(saved, delay_the_last_node))
    assert done.status == 1
    assert done.out.startswith("different values than the graph: vector_add on mesh:2x2, ")
    assert "output z0 in iteration 0" in done.out


@pytest.mark.parametrize("command", ["check", "simulate"])
@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{", "error: m.json: is not JSON: "),
        ("[]", "error: m.json: expected a JSON object, found list"),
        ("{}", 'error: m.json: expected "format": "gridloom-mapping", found None'),
        ('{"format": "gridloom-mapping", "version": 99}', "error: m.json: version 99 is not known"),
    ],
)
def test_what_is_no_mapping_is_refused(gridloom, tmp_path, command, text, message):
    (tmp_path / "m.json").write_text(text)
    done = gridloom(command, "m.json")
    assert (done.status, done.out) == (2, "")
    assert done.err.startswith(message)
    assert done.err.count("\n") == 1


@pytest.mark.parametrize("command", ["check", "simulate", "show"])
def test_missing_file(gridloom, command):
    done = gridloom(command, "no.json")
    assert (done.status, done.err) == (2, "error: no.json: there is no such file\n")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--iterations", "0"], "error: --iterations: expected at least 1, found 0\n"),
        (["--seed", "-3"], "error: --seed: expected at least 0, found -3\n"),
    ],
)
def test_bad_simulation_options(gridloom, saved, options, message):
    done = gridloom("simulate", saved, *options)
    assert (done.status, done.err) == (2, message)


@pytest.mark.parametrize("what", ["mesh:3x3", "ramp-1", "vpcma", "rdu:4x4", "kernel:fir", "kernel:gemm"])
def test_arrays_and_graphs_are_shown_in_text_and_as_a_picture(gridloom, tmp_path, what):
    assert len(gridloom("show", what).out.splitlines()) > 2
    done = gridloom("show", what, "--svg", "x.svg")
    assert (done.status, done.out, done.err) == (0, "", "wrote x.svg\n")
    assert (tmp_path / "x.svg").read_text().lstrip().startswith("<svg")


def test_mapping_is_shown_in_text_and_as_a_picture(gridloom, saved, tmp_path):
    assert "add" in gridloom("show", saved).out
    assert gridloom("show", saved, "--svg", "x.svg").status == 0
    assert "<svg" in (tmp_path / "x.svg").read_text()


def test_what_is_nothing_is_refused_with_what_could_be(gridloom, tmp_path):
    done = gridloom("show", "something", "--svg", "x.svg")
    assert done.status == 2
    assert done.err.startswith("error: 'something' is no file, no array family (mesh, onehop, ")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("command", ["check", "simulate", "show"])
def test_nothing_is_run_for_a_mapping(gridloom, saved, command, monkeypatch):
    import subprocess

    from gridloom.compiler.python import module_file

    def refuse(*_, **__):
        raise AssertionError("something is run")

    monkeypatch.setattr(subprocess, "Popen", refuse)
    monkeypatch.setattr(module_file, "execute", refuse)
    assert gridloom(command, saved).status == 0


def test_an_array_is_printed_as_a_description(gridloom, tmp_path):
    printed = gridloom("show", "torus:3x3,regs=2", "--yaml")
    assert printed.status == 0
    path = tmp_path / "array.yaml"
    path.write_text(printed.out, encoding="utf-8")
    assert build(path).fingerprint == build("torus:3x3,regs=2").fingerprint


def test_the_array_of_a_mapping_is_printed_as_a_description(gridloom, saved):
    assert gridloom("show", saved, "--yaml").out.startswith('name: "mesh:2x2"\n')


def test_a_graph_is_not_printed_as_an_array(gridloom):
    done = gridloom("show", "kernel:fir", "--yaml")
    assert done.status == 2
    assert "--yaml: a graph has no description as an array; give an array or a mapping" in done.err
