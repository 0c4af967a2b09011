"""``gridloom map`` on arrays with SIMD lanes: what it says of them, and one loop split over them."""

from __future__ import annotations

import importlib.util

import pytest

QUICK = ("--effort", "2000", "--seed", "1")
WIDE = "streaming-engine:8,simd=512"


def test_json_has_lanes_their_rate_and_the_bytes_of_a_tile(gridloom):
    done = gridloom("map", "kernel:dot_product", "--arch", WIDE, *QUICK, "--json")
    assert done.record["simd"] == {
        "bits": 512,
        "lanes": 16,
        "elements_per_cycle": 16 / done.record["ii"],
        "tile_memory_bytes": 65_536,
        "split": False,
        "split_refused": "'sum' is carried over 1 iteration to 'sum', which is no multiple of 16 lanes",
    }


def test_text_says_the_same_in_words(gridloom):
    lines = gridloom("map", "kernel:distance", "--arch", WIDE, "--ii", "2", *QUICK).out.splitlines()
    assert lines[1] == "  legal, and simulated to compute what the graph computes in every SIMD lane"
    start = next(k for k, line in enumerate(lines) if line.startswith("  SIMD width"))
    assert lines[start : start + 2] == [
        "  SIMD width 512: 16 lanes, 8 elements per cycle, 65536 bytes of memory per tile",
        "  each lane runs a loop of its own; one loop can be split over them with --split-lanes",
    ]


def test_arrays_without_a_width_say_nothing_of_lanes(gridloom):
    arguments = ("map", "kernel:distance", "--arch", "streaming-engine:8", *QUICK)
    assert "simd" not in gridloom(*arguments, "--json").record
    assert "SIMD" not in gridloom(*arguments).out


def test_the_report_lists_lanes(gridloom, tmp_path):
    gridloom("map", "kernel:distance", "--arch", WIDE, *QUICK, "--split-lanes", "--html", "r.html")
    report = (tmp_path / "r.html").read_text()
    assert "SIMD lanes" in report
    assert "elements per cycle in all lanes" in report
    assert "--split-lanes" in report


def test_a_loop_is_split_over_the_lanes(gridloom):
    done = gridloom("map", "kernel:distance", "--arch", WIDE, *QUICK, "--split-lanes")
    assert done.out.splitlines()[-1] == "  one loop is split over the lanes: lane k runs iterations k, k + 16, ..."


@pytest.mark.parametrize(
    ("source", "arch", "message"),
    [
        (
            "kernel:dot_product",
            WIDE,
            "error: graph 'dot_product': cannot be split over 16 SIMD lanes: 'sum' is carried over 1 iteration to "
            "'sum', which is no multiple of 16 lanes\n",
        ),
        (
            "kernel:distance",
            "mesh:5x5",
            "error: --split-lanes: array 'mesh:5x5' has one SIMD lane; give it a width (simd=512)\n",
        ),
    ],
)
def test_a_loop_that_cannot_be_split_is_refused_with_the_reason(gridloom, source, arch, message):
    done = gridloom("map", source, "--arch", arch, *QUICK, "--split-lanes")
    assert (done.status, done.out, done.err) == (2, "", message)


def test_check_measures_lanes_of_a_saved_mapping(gridloom):
    gridloom("map", "kernel:distance", "--arch", WIDE, *QUICK, "-o", "m.json")
    measured = gridloom("check", "m.json", "--json").record["metrics"]["simd"]
    assert (measured["lanes"], measured["tile_memory_bytes"], measured["split_refused"]) == (16, 65_536, None)


def test_simulate_says_in_how_many_lanes_values_are_the_same(gridloom):
    gridloom("map", "kernel:distance", "--arch", WIDE, *QUICK, "-o", "m.json")
    done = gridloom("simulate", "m.json", "--iterations", "10")
    assert done.out.startswith(
        f"the same values as the graph: distance on {WIDE}, 10 iterations in each of 16 SIMD lanes, "
    )
    assert gridloom("simulate", "m.json", "--json").record["lanes"] == 16


@pytest.mark.tools
@pytest.mark.skipif(importlib.util.find_spec("ziglang") is None, reason="the extra c is not installed")
def test_a_c_loop_whose_accesses_are_streams_is_split(gridloom, tmp_path):
    (tmp_path / "scale.c").write_text(
        "void scale(int n, int *restrict x, int *restrict y) { for (int i = 0; i < n; i++) y[i] = 3 * x[i]; }\n"
    )
    arguments = ("--arch", WIDE, *QUICK, "--split-lanes")
    assert gridloom("map", "scale.c:scale,memory=streams", *arguments, "--json").record["simd"]["split"] is True
    refused = gridloom("map", "scale.c:scale", *arguments)
    assert refused.status == 2
    assert "is carried over 1 iteration to" in refused.err
