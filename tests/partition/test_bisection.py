"""Bisections: balanced, the same twice, counted as the parts have them; what cannot be cut."""

from __future__ import annotations

import sys

import pytest

from gridloom.compiler.source import load_source
from gridloom.dfg.model import Dfg, DfgBuilder
from gridloom.errors import DfgError, MissingExtra, OptionError
from gridloom.partition import BisectionConfig, bisect, split

CMA = ["cma_aes", "cma_radix4_fft", "cma_rgb_to_ycc", "cma_dct8", "cma_md5"]


@pytest.mark.parametrize("kernel", CMA)
def test_published_bisections_are_balanced(kernel: str) -> None:
    dfg = load_source(f"kernel:{kernel}")
    found = bisect(dfg, BisectionConfig(seeds=10))
    assert max(found.sizes) <= 0.6 * sum(found.sizes)
    assert [part.ops for part in split(dfg, found.assignment)] == list(found.sizes)


@pytest.mark.parametrize("kernel", CMA)
def test_multilevel_needs_no_more_transfers_than_the_published_way(kernel: str) -> None:
    pytest.importorskip("pymetis")
    dfg = load_source(f"kernel:{kernel}")
    published = bisect(dfg, BisectionConfig(seeds=5))
    found = bisect(dfg, BisectionConfig(method="multilevel", seeds=5))
    assert abs(found.sizes[0] - found.sizes[1]) <= max(
        0.1 * sum(found.sizes), abs(published.sizes[0] - published.sizes[1])
    )
    assert found.transfers <= published.transfers


@pytest.mark.parametrize("method", ["kl", "multilevel"])
def test_transfers_are_the_ports_that_the_parts_have_more(method: str) -> None:
    if method == "multilevel":
        pytest.importorskip("pymetis")
    dfg = load_source("kernel:cma_dct8")
    found = bisect(dfg, BisectionConfig(method=method, seeds=3))  # type: ignore[arg-type]
    parts = split(dfg, found.assignment)
    ports = sum(len(part.loads) + len(part.stores) for part in parts)
    assert ports == sum(node.op in ("input", "output") for node in dfg.nodes) + found.transfers


@pytest.mark.parametrize("method", ["kl", "multilevel"])
def test_the_same_seed_gives_the_same_bisection(method: str) -> None:
    if method == "multilevel":
        pytest.importorskip("pymetis")
    dfg = load_source("kernel:cma_md5")
    config = BisectionConfig(method=method, seeds=2, seed=3)  # type: ignore[arg-type]
    assert bisect(dfg, config) == bisect(dfg, config)


def test_loop_carried_cycles_are_kept_together() -> None:
    b = DfgBuilder("loops", "i32")
    for k in range(2):
        total = b.add("add", b.input(f"x{k}"), id=f"total{k}")
        twice = b.add("add", total, total, id=f"twice{k}")
        b.carry(twice, total, operand=1)
        b.output(twice, f"y{k}")
    found = bisect(b.build())
    assert found.sizes == (2, 2)
    assert found.assignment["total0"] == found.assignment["twice0"]


def _knot() -> Dfg:
    b = DfgBuilder("knot", "i32")
    total = b.add("add", b.input("x"), id="total")
    b.carry(total, total, operand=1)
    b.output(total, "y")
    return b.build()


def test_a_graph_of_one_cluster_cannot_be_cut() -> None:
    with pytest.raises(DfgError, match="graph 'knot': cannot be cut: it has 1 ops, all tied together"):
        bisect(_knot())


def test_without_the_extra_the_message_says_how_to_install_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pymetis", None)
    with pytest.raises(MissingExtra) as caught:
        bisect(load_source("kernel:cma_aes"), BisectionConfig(method="multilevel"))
    expected = "method 'multilevel' needs pymetis; install it with: pip install '.[partition]'"
    assert str(caught.value) == expected


def test_settings_out_of_range_are_refused() -> None:
    with pytest.raises(OptionError, match="seeds: expected at least 1, found 0"):
        BisectionConfig(seeds=0)
    with pytest.raises(OptionError, match="method: expected kl or multilevel, found 'other'"):
        BisectionConfig(method="other")  # type: ignore[arg-type]
