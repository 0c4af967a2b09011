"""The figures of the area benchmark show the rows of a report."""

from __future__ import annotations

import xml.etree.ElementTree as ET

import pytest

from gridloom.flow.bench.area import AreaReport, AreaRow
from gridloom.flow.bench.area_plots import figures, plot
from gridloom.hardware.synthesis.area import AreaModel, Target

SVG = "{http://www.w3.org/2000/svg}"


def row(family: str, side: int, *, routing: bool, fifo: int = 0, soft: bool = False, ratio: float = 1.0) -> AreaRow:
    return AreaRow(
        array=family, family=family, rows=side, tiles=side * side, width=16, fifo=fifo, mul="all", routing=routing,
        soft=soft, area=side * side * 1000 * ratio, ratio=ratio, register_share=0.25, flip_flops=9, blocks=0,
    )  # fmt: skip


def report_of(target: Target) -> AreaReport:
    rows = []
    for side in (9, 18, 36):
        for family, ratio in (("mesh", 1.0), ("chess", 1.25), ("onehop", 1.45)):
            rows += [row(family, side, routing=False, soft=soft, ratio=ratio) for soft in (False, target != "gates")]
            rows.append(row(family, side, routing=True, ratio=ratio + 0.2))
        rows += [row("mesh", side, routing=True, fifo=depth, ratio=1.2 + depth / 10) for depth in (1, 2, 3, 4)]
        rows.append(row("hex", side, routing=True, ratio=1.3))
    rows = list(dict.fromkeys(rows))
    for mul, blocks in (("none", 0), ("checkerboard", 1518), ("all", 3036)):
        rows.append(
            AreaRow(
                array="mesh", family="mesh", rows=46, tiles=3036, width=4, fifo=0, mul=mul, routing=True, soft=False,
                area=300_000.0, ratio=0.0, register_share=0.5, flip_flops=9, blocks=blocks if target != "gates" else 0,
            )
        )  # fmt: skip
    model = AreaModel(target=target, weights=(1.0,), error=0.01, units=3)
    return AreaReport(target=target, rows=tuple(rows), flat_ratio=1.0, growth=4.0, model=model, published={})


def words(text: str) -> set[str]:
    return {t.text or "" for t in ET.fromstring(text).iter(f"{SVG}text")}


@pytest.mark.parametrize("target", ["gates", "intel", "xilinx"])
def test_every_figure_is_drawn(target: Target) -> None:
    report = report_of(target)
    whole = words(plot(report, "all"))
    for name in figures(target):
        shown = words(plot(report, name))
        assert shown <= whole
        assert len(plot(report, name)) < 60_000


def test_overheads_stand_next_to_the_published_ones() -> None:
    shown = words(plot(report_of("intel"), "overhead"))
    assert {"chess", "chess, multipliers in LUTs", "chess, published 1.2-1.3", "81", "324", "1,296"} <= shown
    gates = words(plot(report_of("gates"), "overhead"))
    assert {"chess, published 1.05", "onehop, published 1.08"} <= gates
    assert "chess, multipliers in LUTs" not in gates


def test_overheads_are_those_of_the_rows() -> None:
    root = ET.fromstring(plot(report_of("intel"), "overhead"))
    tips = [t.text for c in root.iter(f"{SVG}circle") for t in c.iter(f"{SVG}title")]
    assert tips.count("onehop: 1.45") == 3
    assert tips.count("chess: 1.25") == 3


def test_shares_of_registers_are_shown_for_gates_only() -> None:
    assert "registers" not in figures("intel")
    shown = words(plot(report_of("gates"), "registers"))
    assert {"25%", "mesh 9x9", "onehop 18x18, routing", "mesh 18x18, FIFO 4"} <= shown


def test_the_four_bit_array_shows_its_multiplier_blocks() -> None:
    shown = words(plot(report_of("intel"), "four-bit"))
    assert {"half multiply", "300,000, 1,518 multiplier blocks", "none multiply"} <= shown


def test_growth_starts_at_the_smallest_array() -> None:
    root = ET.fromstring(plot(report_of("gates"), "growth"))
    tips = [t.text for c in root.iter(f"{SVG}circle") for t in c.iter(f"{SVG}title")]
    assert {"mesh: 1", "mesh: 4", "mesh: 16", "18x18 published: 3.8: 3.8"} <= set(tips)
