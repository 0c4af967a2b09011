"""The ``modulo`` mapper shares buses and ports of register files, and keeps nodes to tiles with their constants."""

from __future__ import annotations

import random
from typing import Any

import pytest
from tests.random_cases import loop_graph

from gridloom.archs import Arch, build
from gridloom.dfg import Dfg, DfgBuilder
from gridloom.errors import OptionError
from gridloom.mapping.model import Failure, Mapping
from gridloom.search.budget import Budget
from gridloom.search.choice import function_for
from gridloom.sim import simulate
from gridloom.targets.modulo.mappers.cells.cells import _beyond_cells
from gridloom.targets.modulo.mappers.config import ModuloConfig
from gridloom.targets.modulo.mappers.modulo import modulo
from gridloom.verify import legal


def described(rows: int, cols: int, **keys: Any) -> Arch:
    return build({"style": "modulo", "rows": rows, "cols": cols, **keys})


def mapped(dfg: Dfg, arch: Arch, **settings: Any) -> Mapping | Failure:
    return modulo(dfg, arch, ModuloConfig(**settings), Budget(seed=1, effort=4000))


def checked(dfg: Dfg, arch: Arch, **settings: Any) -> Mapping:
    """The mapping, which is legal and computes the right values."""
    found = mapped(dfg, arch, **settings)
    assert isinstance(found, Mapping)
    assert legal(found) == []
    assert simulate(found)
    return found


def fan_in(count: int, *, step: int = 0) -> Dfg:
    """So many counters, each of which is added to a running sum; with ``step`` each has a constant of its own."""
    b = DfgBuilder("fan_in")
    total = ""
    for k in range(count):
        counter = b.add("add", b.const(1 + step * k), id=f"count{k}")
        b.carry(counter, counter, operand=1, distance=1, initial=[0])
        total = b.add("add", total, counter) if total else counter
    b.add("add", total, id="sum")
    b.carry("sum", "sum", operand=1, distance=1, initial=[0])
    return b.build()


@pytest.mark.parametrize(
    "keys",
    [
        {"links": "none", "buses": ["rows", "columns"]},
        {"links": "mesh", "tiles": {"registers": {"count": 3, "reads": 1, "writes": 1}}},
        {"bypass": 2, "buses": "columns", "tiles": {"registers": {"count": 3, "reads": 2, "writes": 1}}},
        {"files": {"name": "rf", "count": 6, "reads": 2, "writes": 2}, "live_ins": "immediate"},
    ],
)
@pytest.mark.parametrize("seed", range(2))
def test_random_loops_are_mapped_over_buses_and_ports(keys: dict[str, Any], seed: int) -> None:
    keys = {"tiles": {"registers": 3}, **keys} if "files" not in keys else keys
    checked(loop_graph(random.Random(seed)), described(2, 3, **keys))


def test_one_bus_needs_a_higher_ii_than_six() -> None:
    graph = fan_in(3)
    tiles = {"registers": 4, "moves": False}
    one = checked(graph, described(1, 6, links="none", buses="rows", tiles=tiles))
    six = checked(graph, described(1, 6, links="none", buses={"along": "rows", "count": 6}, tiles=tiles))
    assert six.ii == 1
    assert one.ii > 1


def test_ops_sit_where_their_constants_are() -> None:
    found = checked(fan_in(4, step=1), described(2, 3, tiles={"registers": 4, "constants": 2}))
    kept: dict[str, set[str]] = {}
    for instance in found.instances:
        if instance.node.startswith("count"):
            kept.setdefault(instance.place, set()).add(instance.node)
    # The word 0, from which all count, and one step.
    assert all(len(nodes) == 1 for nodes in kept.values())


def test_a_pinned_op_gets_its_constants_on_its_tile() -> None:
    arch = described(2, 2, tiles={"registers": 4, "constants": 2})
    found = checked(fan_in(2, step=1), arch, pin={"count1": "pe_1_1"})
    assert {i.place for i in found.instances if i.node == "count1"} == {"pe_1_1"}


def test_an_op_with_more_words_than_any_store_is_refused() -> None:
    failure = mapped(fan_in(1), described(2, 2, tiles={"registers": 4, "constants": 1}))
    assert isinstance(failure, Failure)
    assert (failure.constraint, failure.demand, failure.bound) == (
        "constant store of the tile of 'count0'", "2 words", "1 words",
    )  # fmt: skip


def test_more_words_than_all_stores_are_refused() -> None:
    failure = mapped(fan_in(9, step=1), described(1, 2, tiles={"registers": 4, "constants": 4}))
    assert isinstance(failure, Failure)
    assert (failure.constraint, failure.demand, failure.bound) == (
        "constant stores of all tiles",
        "10 words",
        "8 words",
    )


@pytest.mark.parametrize("mapper", ["exact", "ramp", "regimap", "memmap"])
def test_mappers_that_know_no_constant_stores_name_one_that_does(mapper: str) -> None:
    arch = described(2, 2, tiles={"constants": 4})
    with pytest.raises(OptionError) as error:
        function_for(mapper, arch)
    assert str(error.value) == (
        f"mapper {mapper!r} takes no arrays with trait 'constant_stores', which array 'array:2x2' has; mappers that "
        "take it: modulo, portfolio"
    )


def test_mappers_that_know_no_ports_name_one_that_does() -> None:
    arch = described(2, 2, tiles={"registers": {"count": 2, "reads": 1}})
    with pytest.raises(OptionError) as error:
        function_for("exact", arch)
    assert str(error.value).endswith("array 'array:2x2' is none of them; mappers that take it: modulo, portfolio")


@pytest.mark.parametrize(
    ("keys", "beyond"),
    [
        ({}, False),
        ({"bypass": {"hops": 2, "ports": True}}, False),
        ({"buses": "rows"}, True),
        ({"tiles": {"registers": {"count": 2, "reads": 1}}}, True),
        ({"bypass": 2, "tiles": {"registers": {"count": 2, "writes": 1}}}, True),
        ({"tiles": {"constants": 4}}, True),
    ],
)
def test_unit_cells_leave_out_arrays_whose_rectangles_share_wires_or_stores(keys: dict[str, Any], beyond: bool) -> None:
    assert _beyond_cells(described(3, 3, **keys)) is beyond
