"""The figures of loops: what each shows of the rows, as SVG that is well formed."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from typing import Any

import pytest

from gridloom.emit.plots.loops import FIGURES, plot


def row(mapper: str, arch: str, source: str, ii: int | None) -> dict[str, Any]:
    search = {"search": {"strategies": {"route": 2}, "graph": {}}} if ii and mapper == "ramp" else {}
    return {
        "cell": {"source": source, "arch": arch, "seed": 1},
        "mapper": mapper,
        "status": "failed" if ii is None else "mapped",
        "ii": ii,
        "sequential": 12,
        **search,
    }


ROWS = [
    row(mapper, arch, source, ii)
    for mapper, iis in (("ramp", (2, 3, 4, 3)), ("regimap", (4, None, None, 6)))
    for (arch, source), ii in zip(
        [("ramp-1", "kernel:iir"), ("ramp-1", "kernel:fir"), ("ramp-2", "kernel:iir"), ("ramp-2", "kernel:fir")],
        iis,
        strict=True,
    )
]


@pytest.mark.parametrize("figure", FIGURES)
def test_figures_are_well_formed(figure: str) -> None:
    text = plot(ROWS, figure, "loops")
    assert text is not None
    ET.fromstring(text)
    assert "ramp" in text


def test_loops_have_a_bar_each_and_unmapped_ones_run_on_the_processor() -> None:
    text = plot(ROWS, "by-loop", "loops") or ""
    # regimap: fir is unmapped on ramp-1 and twice as fast on ramp-2, the mean of 1 and 2 is 1.4.
    assert "iir: regimap 1.732" in text
    assert "fir: regimap 1.414" in text


def test_strategies_are_those_of_mappers_that_say_so() -> None:
    text = plot(ROWS, "strategies", "loops") or ""
    assert "route: loops 4" in text
    assert "regimap" not in text


def test_rows_without_a_processor_give_no_figure() -> None:
    assert plot([{**ROWS[0], "sequential": None}], "mapped", "loops") is None
