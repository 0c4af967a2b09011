"""The page of a search that found nothing: the reasons, the congested places, and names that stay text."""

from __future__ import annotations

from typing import Any

import pytest
from tests.emit.report.test_page import Page

from gridloom.archs import build
from gridloom.dfg.model import DfgBuilder
from gridloom.emit import failure_report
from gridloom.emit.report.congestion import congestion_picture
from gridloom.mapping.model import Failure


def failed(arch: str = "mesh:3x3", congested: tuple[str, ...] = (), name: str = "pair", why: Any = None) -> str:
    """The page of a graph of two nodes on an array."""
    b = DfgBuilder(name, "i32")
    b.output(b.input("x"), "y")
    failure = Failure(
        constraint="links",
        demand="30 link uses",
        bound="24 links of one signal each",
        levers=("a larger array", "more time"),
        congested=congested,
        conflicts=6,
    )
    stats = {"mapper": "anneal", "seed": 3, "mii": 1, "ii": None}
    return failure_report(b.build(), build(arch), failure, stats=stats, command="gridloom map a --seed 3", why=why)


def words_of(text: str) -> str:
    return " ".join(Page(text).words)


def test_page_names_the_constraint_what_it_needs_what_there_is_and_what_would_help():
    words = words_of(failed())
    for expected in (
        "not mapped",
        "links",
        "30 link uses",
        "24 links of one signal each",
        "a larger array",
        "more time",
    ):
        assert expected in words
    assert "conflicts left by the best try 6" in words
    assert "gridloom map a --seed 3" in words


def test_levers_that_were_tried_stand_before_suggestions():
    why = {
        "verdict": "no mapping was found.",
        "reasons": [{"text": "alu take 9 slots on 4 tiles", "binding": True}, {"text": "slack", "binding": False}],
        "levers": [{"change": "one more <column>", "gain": "mapped", "tried": "search"}],
    }
    words = words_of(failed())
    assert "What the mapper suggests, untried a larger array" in words
    words = words_of(failed(why=why))
    assert "What forbids it alu take 9 slots on 4 tiles What would help, tried one more <column>: mapped" in words
    assert "What the mapper suggests, untried a larger array" in words and "slack" not in words


def test_congested_places_are_numbered_from_the_worst():
    words = words_of(failed(congested=("pe_0_0>pe_0_1", "pe_1_1.out")))
    assert "1 is the worst" in words
    assert "1\xa0pe_0_0>pe_0_1, 2\xa0pe_1_1.out" in words


def test_page_without_congestion_says_so():
    assert "no resource is marked" in words_of(failed())


@pytest.mark.parametrize(
    ("arch", "names"),
    [
        ("mesh:3x3", ("pe_0_0>pe_0_1", "pe_1_1.fu")),
        ("torus:3x3,regs=2", ("pe_0_0.out", "pe_0_2>pe_0_0", "pe_1_1.r0")),
        ("hex:3x3", ("pe_1_1.fu",)),
        ("streaming-engine:4,spokes=4", ("t_0.fu",)),
        ("vpcma:4x3", ("pe_0_0.fu",)),
        ("rdu:2x2", ()),
    ],
)
def test_every_family_can_be_drawn_with_its_congested_places(arch, names):
    array = build(arch)
    known = tuple(name for name in names if name in array.resource_index)
    assert known == names
    assert congestion_picture(array, names).count('class="congested"') == len(
        {name.partition(".")[0] for name in names}
    )


def test_names_that_the_array_does_not_have_are_passed_over():
    assert "congested" not in congestion_picture(build("mesh:2x2"), ("nowhere", "pe_9_9.fu")).split(">", 1)[1]


def test_hostile_names_stay_text_and_no_script_runs():
    text = failed(name="<script>alert(1)</script>")
    assert "<script" not in text
    assert "script-src &#39;none&#39;" in text
