"""``gridloom partition`` and ``gridloom estimate``: records, pictures, refusals."""

from __future__ import annotations

import pytest

from gridloom.archs import build
from gridloom.dfg import json_format
from gridloom.dfg.model import DfgBuilder


@pytest.fixture
def lanes(tmp_path):
    """A small graph file: two lanes that are joined."""
    b = DfgBuilder("lanes", "cma24")
    heads = [b.input("x0"), b.input("x1")]
    for step in range(2):
        heads = [b.add("add", head, b.const(3 + step)) for head in heads]
    b.output(b.add("xor", *heads), "y")
    path = tmp_path / "lanes.json"
    path.write_text(json_format.dumps(b.build()), encoding="utf-8")
    return path


def test_partition_reports_and_draws_the_tree(gridloom, lanes, tmp_path):
    pytest.importorskip("pymetis")
    svg = tmp_path / "tree.svg"
    done = gridloom(
        "partition", lanes, "--arch", "vpcma:4x4", "--estimator", "bound", "--tries", "1", "--seeds", "2",
        "--iterations", "100", "--reconfiguration", "5", "--svg", svg, "--json",
    )  # fmt: skip
    assert done.status == 0, done.err
    record = done.record
    assert record["status"] == "mapped"
    assert record["whole_simulated"] is True
    copies = [part["unroll"] for part in record["parts"]]
    assert record["throughput_real"] == pytest.approx(1 / sum(1 / n for n in copies), abs=1e-4)
    assert record["execution"]["cycles"] == sum(
        -(-100 // part["unroll"]) + part["latency"] + 5 for part in record["parts"]
    )
    assert svg.read_text(encoding="utf-8").count("<circle") == record["explored"]


def test_partition_compares_with_the_flow_without_estimator(gridloom, lanes):
    pytest.importorskip("pymetis")
    done = gridloom(
        "partition", lanes, "--arch", "vpcma:4x4", "--estimator", "bound", "--tries", "1", "--seeds", "2", "--compare"
    )
    assert done.status == 0, done.err
    assert "without estimator: throughput" in done.out
    assert "parts (* chosen):" in done.out


def test_partition_refuses_other_arrays_and_estimators(gridloom, lanes):
    done = gridloom("partition", lanes, "--arch", "mesh:4x4", "--estimator", "bound")
    assert done.status == 2
    assert "no load and store ports" in done.err
    done = gridloom("partition", lanes, "--arch", "vpcma", "--estimator", "oracle")
    assert done.status == 2
    assert "learned" in done.err


def test_estimate_says_width_and_reason(gridloom, lanes):
    done = gridloom("estimate", lanes, "--arch", "vpcma", "--estimator", "bound", "--json")
    assert done.status == 0, done.err
    assert (done.record["width"], done.record["bound"], done.record["unroll"]) == (2, 2, 6)
    done = gridloom("estimate", "kernel:cma_md5", "--arch", "vpcma", "--estimator", "bound")
    assert done.status == 1
    assert "25 constants, 16 registers" in done.out
    assert gridloom("estimate", lanes, "--arch", "mesh:4x4").status == 2


def test_estimate_of_a_loop_on_a_modulo_array_says_the_ii(gridloom):
    done = gridloom("estimate", "kernel:fir", "--arch", "torus:4x4", "--estimator", "bound", "--json")
    assert done.status == 0, done.err
    assert (done.record["ii"], done.record["mii"], done.record["confidence"]) == (2, 2, None)
    done = gridloom("estimate", "kernel:fir", "--arch", "torus:4x4", "--json")
    assert done.status == 0, done.err
    assert done.record["estimator"] == "learned"
    assert done.record["ii"] >= done.record["mii"]
    assert 0 < done.record["confidence"] <= 1
    done = gridloom("estimate", "kernel:fir", "--arch", "torus:4x4,mul=none", "--estimator", "bound")
    assert done.status == 1
    assert done.out.strip() == "fir is not expected to map onto torus:4x4,mul=none: no tile for mul"
    done = gridloom("estimate", "kernel:fir", "--arch", "streaming-engine:8")
    assert done.status == 2
    assert "no array that loops share in time by registers or crossbars" in done.err


def test_estimate_with_the_shipped_model(gridloom, lanes):
    done = gridloom("estimate", lanes, "--arch", "vpcma", "--json")
    assert done.status == 0, done.err
    assert done.record["estimator"] == "learned"
    assert done.record["width"] == 2
    assert 0.5 < done.record["probability"] <= 1


def label_graphs(folder, arch="vpcma:4x4"):
    from gridloom.learn import labels
    from gridloom.run.work import WorkFolder
    from gridloom.targets.rows.learned.question import QUESTION, drawn_graphs

    jobs = [labels.ask_label(QUESTION, *pair) for pair in drawn_graphs(arch, 4, 1, main=True)]
    return labels.label_missing(QUESTION, jobs, folder / "mappability.sqlite", WorkFolder(folder=folder, jobs=1))


def test_figure_of_sizes_of_a_data_set_without_graphs_is_refused_in_words(gridloom, tmp_path, monkeypatch):
    from gridloom.learn import labels

    def stopped(_asked):
        raise KeyboardInterrupt

    monkeypatch.setattr(labels, "label", stopped)
    label_graphs(tmp_path)
    done = gridloom("mappability-figure", "--folder", tmp_path, "--svg", tmp_path / "f.svg")
    assert done.status == 2
    assert done.err == (
        f"error: {tmp_path / 'mappability.sqlite'}: holds no labelled graph of the main array; `gridloom train "
        "mappability --make-data` adds them\n"
    )


def test_figure_of_sizes_needs_a_data_set(gridloom, tmp_path):
    assert gridloom("mappability-figure", "--folder", tmp_path).status == 2
    # Labels that fail, and a signal from elsewhere, would leave a smaller data set.
    assert label_graphs(tmp_path) == {"computed": 7, "failed": 0}
    svg = tmp_path / "f.svg"
    done = gridloom("mappability-figure", "--folder", tmp_path, "--step", "40", "--svg", svg, "--json")
    assert done.status == 0, done.err
    points = done.record["points"]
    assert sum(point["graphs"] for point in points) == 4
    assert all(0 <= point["mappable"] <= 1 for point in points)
    assert all(point["utilisation"] is None or 0 < point["utilisation"] <= 1 for point in points)
    assert build("vpcma:4x4").rows == 4
    assert "utilisation" in svg.read_text(encoding="utf-8")
