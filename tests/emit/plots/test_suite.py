"""Figures of suites: lines for arrays, medians over seeds, nothing drawn from nothing."""

from __future__ import annotations

import xml.etree.ElementTree as ET

from gridloom.emit.plots.suite import FIGURES, plot

SVG = "{http://www.w3.org/2000/svg}"


def row(source: str, nodes: int, arch: str, seed: int, wirelength: int, status: str = "mapped", ii: int = 1):
    return {
        "cell": {"source": source, "arch": arch, "seed": seed},
        "status": status,
        "dfg": {"nodes": nodes},
        "mapper": "anneal",
        "ii": ii,
        "buffers": {"max": 0, "total": 0},
        "wirelength": wirelength,
        "seconds": 0.5,
    }


ROWS = [
    row("a", 10, "mesh:auto", 1, 4),
    row("a", 10, "mesh:auto", 2, 7),
    row("a", 10, "mesh:auto", 3, 5),
    row("b", 20, "mesh:auto", 1, 9),
    row("b", 20, "onehop:auto,inputs=skewed", 1, 2),
    row("c", 30, "mesh:auto", 1, 99, status="failed"),
]


def tips(text: str) -> list[str]:
    return [node.text or "" for node in ET.fromstring(text).iter(f"{SVG}title")]


def test_points_are_medians_over_seeds_of_mapped_cells():
    drawn = plot(ROWS, "wirelength", "tiny")
    assert drawn is not None
    shown = tips(drawn)
    assert {"mesh: 5", "mesh: 9", "onehop, inputs=skewed: 2"} <= set(shown)
    assert not [tip for tip in shown if "99" in tip]


def test_graphs_of_one_size_are_averaged():
    drawn = plot([row("a", 10, "mesh:auto", 1, 4), row("b", 10, "mesh:auto", 1, 9)], "wirelength", "tiny")
    assert drawn is not None
    assert "mesh: 6.5" in tips(drawn)


def test_all_leaves_out_figures_in_which_nothing_differs():
    drawn = plot(ROWS, "all", "tiny")
    assert drawn is not None
    assert "Wirelength" in drawn
    assert "Initiation interval" not in drawn
    assert "Deepest FIFO" not in drawn


def test_without_a_mapped_cell_there_is_no_figure():
    for figure in ("all", *FIGURES):
        assert plot([row("c", 30, "mesh:auto", 1, 99, status="failed")], figure, "tiny") is None
