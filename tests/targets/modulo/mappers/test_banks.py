"""Memory banks: arrays are placed in them, and their ports limit the II; checker and simulator prove it."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from gridloom.archs import Arch, build
from gridloom.dfg import Dfg, DfgBuilder
from gridloom.errors import OptionError
from gridloom.mapping import json_format
from gridloom.mapping.mii import mii
from gridloom.mapping.model import Failure, Mapping
from gridloom.search.budget import Budget
from gridloom.search.choice import function_for
from gridloom.sim import simulate
from gridloom.targets.modulo.mappers.banks import choose_banks
from gridloom.targets.modulo.mappers.config import ModuloConfig
from gridloom.targets.modulo.mappers.modulo import modulo
from gridloom.verify import legal


def sums(words: int = 32) -> Dfg:
    """c[i] = a[i] + b[i], with a counter for i."""
    b = DfgBuilder("sums")
    for name in "abc":
        b.array(name, words)
    index = b.add("add", b.const(1), id="i")
    b.carry(index, index, operand=1, distance=1, initial=[-1])
    total = b.add("add", b.add("load", index, array="a"), b.add("load", index, array="b"))
    b.add("store", index, total, array="c")
    return b.build()


def banked(*banks: dict[str, Any]) -> Arch:
    """A torus of 3 x 3 with these banks, in which the tiles that reach one access memory."""
    return build(
        {
            "extends": "torus:3x3",
            "tiles": [
                {"ops": {"remove": "memory"}},
                {"where": [bank.get("where", "all") for bank in banks], "ops": {"add": "memory"}},
            ],
            "memory": {"banks": [{"name": f"m{k}", **bank} for k, bank in enumerate(banks)]},
        }
    )


def mapped(dfg: Dfg, arch: Arch, **settings: Any) -> Mapping | Failure:
    return modulo(dfg, arch, ModuloConfig(**settings), Budget(seed=1, effort=4000))


@pytest.mark.parametrize(
    ("banks", "ii"),
    [
        ([{}], 3),
        ([{"ports": 2}], 2),
        ([{"ports": 3}], 1),
        ([{}, {}], 2),
        ([{}, {}, {}], 1),
        ([{"where": {"rows": [0, 1]}, "ports": 3}], 1),
        ([{"where": [1, 1], "ports": 3}], 3),
    ],
)
def test_ports_and_reach_of_the_banks_bound_the_ii(banks: list[dict[str, Any]], ii: int) -> None:
    found = mapped(sums(), banked(*banks))
    assert isinstance(found, Mapping)
    assert found.ii == ii
    assert legal(found) == []
    assert simulate(found)
    assert set(found.settings["banks"]) == {"a", "b", "c"}


def test_arrays_go_to_banks_that_pinned_accesses_reach() -> None:
    arch = banked({"where": {"row": 0}}, {"where": {"row": 1}, "ports": 2})
    loads = [node.id for node in sums().nodes if node.op == "load"]
    found = mapped(sums(), arch, pin={loads[0]: "pe_0_1"})
    assert isinstance(found, Mapping)
    assert found.settings["banks"]["a"] == "m0"
    assert legal(found) == []


def test_a_pin_onto_a_tile_that_does_not_reach_the_bank_names_the_bank() -> None:
    arch = banked({"where": {"row": 0}}, {"where": {"row": 1}})
    load = next(node.id for node in sums().nodes if node.op == "load")
    found = mapped(sums(), arch, pin={load: "pe_1_1"}, banks="a:m0")
    assert isinstance(found, Failure)
    assert found.constraint == f"node {load!r} on tile 'pe_1_1'"
    assert found.demand == "bank 'm0', where array 'a' lies"
    assert found.bound == "the tile reaches 'm1'"
    assert found.levers == ("another tile", "another bank for the array (--set banks=ARRAY:BANK)")


def test_the_simulator_shows_that_one_bank_needs_the_higher_ii() -> None:
    found = mapped(sums(), banked({}, {}, {}))
    assert isinstance(found, Mapping)
    assert found.ii == 1
    crowded = replace(found, settings={**found.settings, "banks": dict.fromkeys("abc", "m1")})
    assert [v.kind for v in legal(crowded)] == ["bank-ports"]
    verdict = simulate(crowded)
    assert not verdict
    assert verdict.error is not None
    assert verdict.error.startswith("bank m1: 3 accesses in slot 0 (")
    assert verdict.error.endswith("); it has 1 per cycle")
    assert any(mismatch.what.startswith("memory c") for mismatch in verdict.mismatches)
    # At the II that the bank needs, the same placement of arrays is right.
    slow = mapped(sums(), banked({}, {}, {}), banks="a:m1+b:m1+c:m1")
    assert isinstance(slow, Mapping)
    assert (slow.ii, slow.settings["banks"]) == (3, dict.fromkeys("abc", "m1"))
    assert simulate(slow)


def test_a_refusal_names_the_bank() -> None:
    found = mapped(sums(), banked({}, {}), ii=1, banks="a:m1+b:m1")
    assert isinstance(found, Failure)
    assert str(found) == (
        "bank 'm1': needs 2 accesses (a, b) at 1 per cycle, has II 1; would help: II 2, more ports, arrays in other "
        "banks"
    )


def test_arrays_go_where_they_fit() -> None:
    arch = banked({"bytes": 128}, {"bytes": 300})
    assert choose_banks(sums(), arch, {}).names(arch) == {"a": "m0", "b": "m1", "c": "m1"}
    found = mapped(sums(64), arch)
    assert isinstance(found, Failure)
    assert found.constraint == "sizes of the memory banks"


def test_accesses_stay_on_tiles_that_reach_the_bank() -> None:
    arch = banked({"where": {"col": 0}}, {"where": {"cols": [1, 2]}})
    found = mapped(sums(), arch, banks="a:m0+b:m1+c:m1")
    assert isinstance(found, Mapping)
    places = {i.node: i.place for i in found.instances}
    loads = [node.id for node in found.dfg.nodes if node.array == "a"]
    assert all(places[node].endswith("_0") for node in loads)


def test_the_bound_needs_no_choice_of_banks() -> None:
    assert mii(sums(), banked({}, {})).total == 2
    assert mii(sums(), banked({"ports": 2})).total == 2


def test_the_banks_are_saved_with_the_mapping() -> None:
    found = mapped(sums(), banked({}, {}))
    assert isinstance(found, Mapping)
    again = json_format.loads(json_format.dumps(found))
    assert again.settings == found.settings
    assert legal(again) == []


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a", "banks: expected ARRAY:BANK, joined by '+', found 'a'"),
        ("x:m0", "banks: the graph has no array 'x'; it has: a, b, c"),
        ("a:m7", "banks: array 'array:3x3' has no bank 'm7'; it has: m0"),
    ],
)
def test_banks_that_are_not_there_are_refused(text: str, message: str) -> None:
    with pytest.raises(OptionError) as error:
        mapped(sums(), banked({}), banks=text)
    assert str(error.value) == message


@pytest.mark.parametrize("name", ["ramp", "regimap", "memmap"])
def test_mappers_without_banks_say_so(name: str) -> None:
    with pytest.raises(OptionError, match=f"mapper '{name}' takes no arrays with trait 'banks'"):
        function_for(name, banked({}))
