"""Mappings by unit cells: legal, simulated, the same for the same seed, and said to be what they are."""

from __future__ import annotations

import itertools
import re
from typing import Any

import pytest
from tests.targets.modulo.mappers.cells.graphs import copies, stencil

from gridloom.archs import build
from gridloom.dfg import Dfg, DfgBuilder
from gridloom.mapping import Mapping
from gridloom.mapping.json_format import dumps
from gridloom.search.budget import Budget
from gridloom.sim import simulate
from gridloom.targets.modulo.mappers.cells import cells
from gridloom.targets.modulo.mappers.cells.cells import unit_cells
from gridloom.targets.modulo.mappers.config import ModuloConfig
from gridloom.targets.modulo.mappers.modulo import modulo
from gridloom.verify import legal


@pytest.fixture(autouse=True)
def small_graphs(monkeypatch: pytest.MonkeyPatch) -> None:
    """Cells are tried on small graphs, too."""
    monkeypatch.setattr(cells, "LEAST_NODES", 20)


MEMORY_COLUMN = {
    "family": "torus", "rows": 8, "cols": 4, "memory": {"tiles": [[row, 0] for row in range(8)]}, "bus": "dedicated",
}  # fmt: skip


def mapped(dfg: Dfg, arch: str | dict[str, Any], **settings: int) -> Mapping:
    found = unit_cells(dfg, build(arch), ModuloConfig(**settings), Budget(effort=60_000, seed=1).start())
    assert found is not None
    assert legal(found.mapping) == []
    assert simulate(found.mapping, iterations=12).ok
    return found.mapping


@pytest.mark.parametrize(
    ("dfg", "arch"),
    [
        (copies(8), "torus:4x4,bus=none"),
        (copies(8), "torus:8x4"),
        (copies(16, odd=3), "torus:8x8"),
        pytest.param(stencil(12), "torus:6x6,bus=none", marks=pytest.mark.slow),
        pytest.param(copies(8), "torus:8x8,mul=columns,bus=none", marks=pytest.mark.slow),
        (copies(8), MEMORY_COLUMN),
        (copies(8), "torus:8x4,regs=2,hold=next,bus=none"),
    ],
    ids=str,
)
def test_a_mapping_by_cells_is_legal_and_computes_what_the_graph_computes(dfg: Dfg, arch: str | dict[str, Any]) -> None:
    mapped(dfg, arch)


def test_every_row_of_a_torus_with_row_buses_takes_its_part_of_the_accesses() -> None:
    # Two accesses for each of eight copies on four buses.
    assert mapped(copies(8), "torus:4x8").ii == 4


def test_the_provenance_says_how_many_cells_there_are() -> None:
    lines = mapped(copies(8), "torus:8x4").provenance["cells"]
    found = [re.fullmatch(r"(\d) of \d+ nodes in (\d) pieces? on \d x 4 tiles", line) for line in lines]
    assert sum(int(one[1]) * int(one[2]) for one in found if one) == 8


def test_an_ii_that_is_asked_for_is_kept() -> None:
    assert mapped(copies(8), "torus:8x4", ii=5).ii == 5


def test_the_same_seed_and_effort_give_the_same_mapping_with_any_number_of_workers() -> None:
    dfg, arch = copies(8), build("torus:8x4")
    found = [
        unit_cells(dfg, arch, ModuloConfig(), Budget(effort=20_000, seed=3, workers=workers).start())
        for workers in (1, 1, 2)
    ]
    texts = {dumps(one.mapping) for one in found if one is not None}
    assert len(texts) == 1


def test_order_edges_between_copies_shift_blocks_in_time() -> None:
    b = DfgBuilder("ordered")
    b.array("x", 64)
    stores = []
    for k in range(8):
        value = b.add("add", b.load("x", b.const(k)), b.const(1))
        value = b.add("mul", value, value)
        stores.append(b.store("x", b.const(k + 8), b.add("xor", value, b.const(3))))
    for first, second in itertools.pairwise(stores):
        b.order(first, second, delay=3)
    mapping = mapped(b.build(), "torus:8x4")
    cycle = {instance.node: instance.cycle for instance in mapping.instances}
    assert all(cycle[b] >= cycle[a] + 3 for a, b in itertools.pairwise(stores))


def test_graphs_with_given_places_are_left_to_the_search() -> None:
    dfg = copies(8)
    config = ModuloConfig(pin={dfg.nodes[-1].id: "pe_0_0"})
    assert unit_cells(dfg, build("torus:8x4"), config, Budget(effort=1000).start()) is None


def test_a_central_register_file_is_left_to_the_search() -> None:
    assert unit_cells(copies(8), build("ramp-5"), ModuloConfig(), Budget(effort=1000).start()) is None


def test_modulo_takes_cells_first_and_keeps_them_at_the_bound() -> None:
    found = modulo(copies(8), build("torus:4x8"), ModuloConfig(), Budget(effort=60_000, seed=1))
    assert isinstance(found, Mapping)
    assert "cells" in found.provenance
    assert found.provenance["optimal"] is True
