"""Loops that stand for several graphs: which are mapped, which one is kept, and what the remarks say."""

from __future__ import annotations

from pathlib import Path

import pytest

import gridloom as gl
from gridloom.errors import OptionError
from gridloom.flow.inputs import prepare
from gridloom.flow.loops.alternatives import Alternative, map_best, rank_alternatives
from gridloom.flow.request import Request
from gridloom.flow.run import map_graph

pytestmark = pytest.mark.tools
KERNELS = Path(__file__).resolve().parents[3] / "examples" / "kernels"


def test_the_graph_with_the_better_bound_comes_first():
    rows = prepare(str(KERNELS / "fir.c"), "torus:4x4").alternatives
    assert [(row.label, row.bound.total) for row in rows] == [("reduced", 2), ("as written", 3)]
    assert prepare(f"{KERNELS / 'fir.c'}:reduced=false", "torus:4x4").alternatives[0].label == "as written"


def test_a_filter_of_eight_taps_needs_one_load_and_two_cycles():
    result = gl.map(str(KERNELS / "fir.c"), "torus:4x4", seed=1, effort=20_000)
    assert (result.status, result.mapping.ii) == ("mapped", 2)
    assert [node.op for node in result.dfg.nodes].count("load") == 1
    assert result.remarks == (
        "the loop is mapped reduced",
        "reduced: II 2 with 22 operations",
        "not tried, because their bounds are no better: as written (MII 3, 34 operations)",
    )


def test_the_other_graph_is_mapped_where_the_first_one_has_no_mapping():
    rows = prepare(str(KERNELS / "fir.c"), "torus:4x4").alternatives
    request = Request(source="", arch="torus:4x4", seed=1, effort=20_000)
    tried = []

    def mapped(asked, dfg, arch, reference):
        tried.append(dfg)
        return map_graph(Request(source="", arch="torus:4x4", ii=1) if len(tried) == 1 else asked, dfg, arch, reference)

    arch = prepare(str(KERNELS / "fir.c"), "torus:4x4").arch
    result = map_best(request, rows, arch, mapped)
    assert [dfg is row.dfg for dfg, row in zip(tried, rows)] == [True, True]
    assert (result.mapping.ii, result.remarks[0]) == (3, "the loop is mapped as written")


def test_a_graph_that_cannot_be_mapped_hides_no_other_one():
    """The first alternative uses up all the time that it is given; the second is mapped in a short search."""
    found = prepare(str(KERNELS / "fir.c"), "torus:4x4")
    shares = []

    def mapped(asked, dfg, arch, reference):
        shares.append((dfg is found.alternatives[0].dfg, asked.time_limit))
        impossible = Request(source="", arch="torus:4x4", ii=1)
        quick = Request(source="", arch="torus:4x4", seed=1, effort=20_000)
        return map_graph(impossible if shares[-1][0] else quick, dfg, arch, reference)

    request = Request(source="", arch="torus:4x4", seed=1, time_limit=1000)
    result = map_best(request, found.alternatives, found.arch, mapped)
    assert (result.mapping.ii, result.remarks[0]) == (3, "the loop is mapped as written")
    assert [first for first, _ in shares] == [True, False, True]
    # An eighth of the time each; what is left goes to the one that may still be better.
    assert [limit for _, limit in shares[:2]] == [125, 125] and shares[2][1] > 900


def test_what_a_longer_search_finds_replaces_what_a_short_one_did():
    found = prepare(str(KERNELS / "fir.c"), "torus:4x4")
    asked_for = []

    def mapped(asked, dfg, arch, reference):
        asked_for.append(asked.time_limit)
        slow = Request(source="", arch="torus:4x4", seed=1, effort=20_000, ii=4)
        quick = Request(source="", arch="torus:4x4", seed=1, effort=20_000)
        return map_graph(quick if asked.time_limit > 500 else slow, dfg, arch, reference)

    result = map_best(Request(source="", arch="torus:4x4", time_limit=1000), found.alternatives, found.arch, mapped)
    assert (result.mapping.ii, len(asked_for)) == (2, 3)
    assert result.remarks[1:] == ("reduced: II 2 with 22 operations", "as written: II 4 with 34 operations")


def test_unroll_auto_fills_the_array_with_iterations_of_this_loop_and_of_the_one_around():
    result = gl.map(f"{KERNELS / 'matmul.c'}:unroll=auto", "torus:4x4", seed=1, effort=20_000)
    assert result.mapping.ii / result.copies < 0.5
    assert result.remarks[-1].startswith("most iterations of the loop per cycle by array size, as the bounds allow: ")


def test_a_plain_graph_has_no_remarks():
    dfg = gl.kernel("fir", taps=2)
    row = Alternative(label="", dfg=dfg)
    assert rank_alternatives([row], prepare(dfg, "mesh:4x4").arch) == (row,)
    assert gl.map(dfg, "mesh:6x6", seed=1, effort=20_000).remarks == ()


def test_streams_are_not_unrolled():
    with pytest.raises(OptionError) as caught:
        gl.map(f"{KERNELS / 'saxpy.c'}:unroll=2", "mesh:4x4")
    assert "unroll = 2: the loop's accesses are streams, since the array has no memory units" in str(caught.value)
