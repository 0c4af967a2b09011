"""The pipeline card of the report: every used unit and link is in it, text is escaped, the bottleneck is named."""

from __future__ import annotations

import xml.etree.ElementTree as ET

import pytest

from gridloom import registry
from gridloom.archs import build
from gridloom.emit import html_report
from gridloom.mapping.model import Mapping
from gridloom.search.budget import Budget
from gridloom.targets.dataflow.lowering.lower import lower
from gridloom.targets.dataflow.mappers.search import DataflowConfig
from gridloom.targets.dataflow.report.card import DataflowLoad, dataflow_card, load_picture, stage_colour
from gridloom.targets.dataflow.report.load import dataflow_load


@pytest.fixture(scope="module")
def mapping() -> Mapping:
    arch = build("rdu:16x8")
    dfg = lower(registry.load("networks", "mlp").build(width=64, layers=2), arch).sections[0].dfg
    config = DataflowConfig(cost="heuristic", judge=None)
    found = registry.load("mappers", "dataflow")(dfg, arch, config, Budget(effort=32))
    assert isinstance(found, Mapping)
    return found


@pytest.fixture(scope="module")
def load(mapping: Mapping) -> DataflowLoad:
    found = dataflow_load(mapping)
    assert found is not None
    return found


def test_picture_shows_every_used_unit_and_link(mapping: Mapping, load: DataflowLoad):
    root = ET.fromstring(load_picture(mapping.arch, load))
    titles = [title.text or "" for title in root.iter("{http://www.w3.org/2000/svg}title")]
    for instance in mapping.instances:
        assert sum(f" on {instance.place}: busy" in text for text in titles) == 1
    used = {name for route in mapping.routes for name, _ in route.hops if ">" in name}
    assert {text.rpartition(":")[0] for text in titles if ">" in text} == used


def test_stages_have_colours_of_their_own():
    assert len({stage_colour(k) for k in range(12)}) == 12


def test_shares_of_a_unit_are_whole(load: DataflowLoad):
    assert all(unit.busy + unit.starved + unit.stalled == pytest.approx(1) for unit in load.units)


def test_operations_do_what_they_have_to_in_a_period(load: DataflowLoad):
    rows = {row.operation: row for row in load.operations}
    assert rows["fc0"].flops == 2 * 64 * 64
    assert rows["fc0"].reached == pytest.approx(2 * 64 * 64 / load.period)
    assert rows["fc0"].peak == 32 * rows["fc0"].units


def test_bottleneck_is_named_and_the_card_is_part_of_the_report(mapping: Mapping, load: DataflowLoad):
    assert load.bottleneck.startswith("Bottleneck: ")
    report = html_report(mapping, stats={}, verdict={}, command="gridloom map", card=dataflow_card(mapping.arch, load))
    assert dataflow_card(mapping.arch, load) in report
    assert 'id="h-flow"' not in html_report(mapping, stats={}, verdict={}, command="gridloom map")


def test_bottleneck_is_ringed_in_the_picture(mapping: Mapping, load: DataflowLoad):
    assert load.hot
    ringed = load_picture(mapping.arch, load).count('"#d00000"')
    assert ringed == len(load.hot)
    assert '"#d00000"' not in load_picture(mapping.arch, DataflowLoad(**{**_fields(load), "hot": frozenset()}))


def test_no_operation_is_above_its_roof_nor_a_roof_above_the_peak(load: DataflowLoad):
    assert all(row.reached <= row.roof * (1 + 1e-9) and row.roof <= row.peak for row in load.operations)


def test_legend_names_what_every_stage_does(mapping: Mapping, load: DataflowLoad):
    card = dataflow_card(mapping.arch, load)
    for unit in load.units:
        assert stage_colour(unit.stage) in card.partition('class="stages"')[2]
    assert "fc0.bias_add" in card.partition('class="stages"')[2].partition("</ul>")[0]


def test_names_are_escaped(mapping: Mapping, load: DataflowLoad):
    card = dataflow_card(mapping.arch, DataflowLoad(**{**_fields(load), "bottleneck": "<b>&"}))
    assert "&lt;b&gt;&amp;" in card


def _fields(load: DataflowLoad) -> dict[str, object]:
    return {name: getattr(load, name) for name in load.__dataclass_fields__}
