"""Charts: what is drawn stands where its value is, in sound XML."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from itertools import pairwise

import pytest

from gridloom.emit.plots.chart import Band, Bar, ChartSeries, bar_chart, line_chart, picture, ticks

SVG = "{http://www.w3.org/2000/svg}"


def circles(text: str) -> list[tuple[float, float]]:
    return [(float(c.get("cx", "0")), float(c.get("cy", "0"))) for c in ET.fromstring(text).iter(f"{SVG}circle")]


def words(text: str) -> list[str]:
    return [t.text or "" for t in ET.fromstring(text).iter(f"{SVG}text")]


@pytest.mark.parametrize(("low", "high"), [(0, 1), (1, 1.13), (0, 25.7), (-3, 4), (5, 5), (0, 4_000_000)])
def test_ticks_enclose_their_range(low: float, high: float) -> None:
    marks = ticks(low, high)
    assert marks[0] <= low
    assert high <= marks[-1]
    assert 2 <= len(marks) <= 9
    assert marks == sorted(set(marks))


def test_points_stand_at_their_values() -> None:
    lines = [ChartSeries("a", ((0, 1), (1, 2), (2, 3))), ChartSeries("b", ((0, 3), (2, 3)), 1, dashed=True, mark=False)]
    text = picture([line_chart("t", lines, x_title="x", y_title="y", y_from=1.0)], "t")
    (x0, y0), (x1, y1), (x2, y2) = circles(text)
    assert x1 - x0 == pytest.approx(x2 - x1, abs=0.2)
    assert y0 - y1 == pytest.approx(y1 - y2, abs=0.2)
    assert y0 > y1
    assert {"a", "b", "x", "y", "t"} <= set(words(text))
    assert text.count("stroke-dasharray") == 1


def test_names_of_lines_that_end_together_do_not_overlap() -> None:
    lines = [ChartSeries(f"line {k}", ((0, 1), (1, 2 + k / 1000)), k) for k in range(5)]
    root = ET.fromstring(picture([line_chart("t", lines, x_title="x", y_title="y")], "t"))
    heights = sorted(float(t.get("y", "0")) for t in root.iter(f"{SVG}text") if (t.text or "").startswith("line"))
    assert min(b - a for a, b in pairwise(heights)) >= 14


def test_bands_and_single_points_carry_their_names() -> None:
    chart = line_chart(
        "t", [ChartSeries("spot", ((1, 1.5),)), ChartSeries("l", ((0, 1), (2, 2)))], x_title="x", y_title="y",
        bands=[Band("published", 1.2, 1.3), Band("one number", 1.7, 1.7)],
    )  # fmt: skip
    shown = words(picture([chart], "t"))
    assert {"spot", "published", "one number"} <= set(shown)


def test_stacked_bars_have_the_heights_of_their_parts() -> None:
    bars = [Bar("one", (("low", 1.0), ("high", 3.0)), "25%"), Bar("<two>", (("low", 2.0), ("high", 0.0)))]
    root = ET.fromstring(picture([bar_chart("t", bars, y_title="y")], "t"))
    boxes = [r for r in root.iter(f"{SVG}rect") if r.find(f"{SVG}title") is not None]
    heights = [float(r.get("height", "0")) for r in boxes]
    assert heights[1] == pytest.approx(3 * heights[0], abs=0.3)
    assert heights[2] == pytest.approx(2 * heights[0], abs=0.3)
    assert {"25%", "<two>", "low", "high"} <= {t.text for t in root.iter(f"{SVG}text")}


def test_panels_stand_below_each_other() -> None:
    panel = bar_chart("t", [Bar("a", (("n", 1.0),))], y_title="y")
    root = ET.fromstring(picture([panel, panel], "two"))
    assert float(root.get("height", "0")) == pytest.approx(2 * panel.height, abs=0.2)
    assert root.get("aria-label") == "two"
