"""Ops that keep their function unit for several cycles: bounds, placements, refusals, simulation, hardware."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from gridloom.archs import Arch, build
from gridloom.dfg import Dfg, DfgBuilder
from gridloom.errors import OptionError
from gridloom.mapping.mii import mii
from gridloom.mapping.model import Failure, Mapping
from gridloom.search.budget import Budget
from gridloom.search.choice import config_type, function_for
from gridloom.sim import simulate
from gridloom.verify import legal


def quotients(count: int) -> Dfg:
    """As many divisions of loaded words, summed up and stored."""
    b = DfgBuilder("quotients")
    b.array("x", 64)
    b.array("y", 64)
    total = b.const(0)
    for k in range(count):
        word = b.add("load", b.const(k), array="x")
        total = b.add("add", total, b.add("div", word, b.const(k + 3)))
    b.add("store", b.const(0), total, array="y")
    return b.build()


def array(kept: int, dividers: Any = ((1, 1),)) -> Arch:
    """A torus of 3 x 3 with dividers on some tiles that keep an op for some cycles."""
    return build(
        {
            "extends": "torus:3x3,bus=none",
            "tiles": [
                {"ops": {"remove": "div"}},
                {
                    "where": {"tiles": [list(cell) for cell in dividers]},
                    "ops": {"add": "div"},
                    "latency": {"div": kept},
                    "occupancy": {"div": kept},
                },
            ],
        }
    )


def mapped(name: str, dfg: Dfg, arch: Arch, **settings: Any) -> Mapping | Failure:
    function = function_for(name, arch)
    return function(dfg, arch, config_type(function)(**settings), Budget(seed=1, effort=4000))


def test_the_bound_counts_the_cycles_that_units_are_kept() -> None:
    assert mii(quotients(1), array(5)).total == 5
    assert mii(quotients(2), array(5)).total == 10
    assert mii(quotients(3), array(5, ((0, 0), (2, 2)))).total == 8


@pytest.mark.parametrize("name", ["modulo", "exact"])
@pytest.mark.parametrize(("count", "kept"), [(1, 3), (2, 2)])
def test_mappers_keep_the_unit_free_while_it_is_busy(name: str, count: int, kept: int) -> None:
    arch = array(kept)
    found = mapped(name, quotients(count), arch)
    assert isinstance(found, Mapping)
    assert legal(found) == []
    assert found.ii >= count * kept
    assert simulate(found)


def test_below_the_occupancy_there_is_no_mapping() -> None:
    found = mapped("modulo", quotients(1), array(6), ii=4)
    assert isinstance(found, Failure)
    assert "div take 6 slots on 1 tiles" in str(found)


@pytest.mark.parametrize("name", ["ramp", "regimap", "memmap"])
def test_mappers_that_cannot_say_so(name: str) -> None:
    message = f"mapper '{name}' takes no arrays with trait 'blocking', which array 'array:3x3' has"
    with pytest.raises(OptionError, match=message):
        function_for(name, array(2))


def test_the_simulator_loses_what_meets_a_busy_unit() -> None:
    found = mapped("modulo", quotients(1), array(3))
    assert isinstance(found, Mapping)
    (division,) = [i for i in found.instances if i.node.startswith("div")]
    slow = build({"extends": dict(found.arch.spec), "tiles": [{"where": [1, 1], "occupancy": {"div": found.ii + 1}}]})
    verdict = simulate(replace(found, arch=slow))
    assert not verdict
    assert verdict.error is not None
    assert verdict.error.startswith(f"tile {division.place}: {division.node} issues in slot")
    assert verdict.mismatches
