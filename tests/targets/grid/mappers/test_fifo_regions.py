"""FIFOs in some rows only: every spatial mapper keeps to them, or says that it found nothing."""

from __future__ import annotations

import pytest
from tests.search.conftest import proved_right, random_dag

from gridloom import registry
from gridloom.archs.spec import build
from gridloom.dfg.model import Dfg, DfgBuilder
from gridloom.mapping.model import Failure, Mapping
from gridloom.search.budget import Budget
from gridloom.targets.grid.mappers.anneal import AnnealConfig, anneal
from gridloom.targets.grid.mappers.divide import DivideConfig, divide
from gridloom.targets.grid.mappers.genetic import GeneticGridConfig, genetic_grid
from gridloom.targets.grid.mappers.neosa import NeosaConfig, neosa
from gridloom.targets.grid.mappers.trees import TreesConfig, trees

FAST = GeneticGridConfig(objective="wirelength", starts=1, population=6, offspring=6, generations=3)
MAPPERS = [
    pytest.param(anneal, AnnealConfig(objective="wirelength", starts=4), id="anneal"),
    pytest.param(divide, DivideConfig(objective="wirelength", starts=2), id="divide"),
    pytest.param(genetic_grid, FAST, id="genetic-grid"),
    pytest.param(neosa, NeosaConfig(objective="wirelength", instances=4, cooling=0.95), id="neosa"),
]
ROWS = (2, 3)


def banded(family: str, depth: int):
    limits = [{"value": 0}, {"where": {"region": {"rows": list(ROWS)}}, "value": depth}]
    return build({"family": family, "rows": 6, "cols": 6, "inputs": "skewed", "fifo": limits})


def rows_that_wait(found: Mapping) -> set[int]:
    arch = found.arch
    row = {instance.node: arch.tiles[arch.tile_index[instance.place]].row for instance in found.instances}
    return {row[found.dfg.edges[route.edge].target] for route in found.routes if route.fifo}


@pytest.mark.parametrize(("mapper", "config"), MAPPERS)
@pytest.mark.parametrize("family", ["mesh", "onehop", "hex", "chess"])
def test_values_wait_in_the_rows_that_have_fifos_and_nowhere_else(mapper, config, family):
    for seed in range(1, 4):
        found = mapper(random_dag(14, seed), banded(family, 4), config, Budget(seed=seed))
        if isinstance(found, Mapping):
            proved_right(found)
            assert rows_that_wait(found) <= set(ROWS)
        else:
            # The references do not look at FIFOs while they place.
            assert mapper is not anneal
            assert found.constraint == "FIFO depth"


def test_the_rows_that_have_fifos_are_used():
    dfg, config = random_dag(14, 2), AnnealConfig(objective="wirelength", starts=4)
    found = anneal(dfg, banded("mesh", 4), config, Budget(seed=2))
    assert isinstance(found, Mapping)
    assert rows_that_wait(found)


def test_a_tree_layout_that_needs_fifos_elsewhere_takes_longer_wires_or_fails():
    dfg = registry.load("kernels", "tree_reduce").build(nodes=31)
    found = trees(dfg, banded("mesh", 2), TreesConfig(layout="compact"), Budget())
    if isinstance(found, Mapping):
        proved_right(found)
        assert rows_that_wait(found) <= set(ROWS)
    else:
        assert found.constraint


def late(operands: str) -> Dfg:
    """z = -(-x) and x meet at a subtraction: on four tiles of a mesh x waits there for two cycles."""
    b = DfgBuilder("late", "i32")
    x = b.input("x")
    z = b.add("neg", b.add("neg", x))
    b.add("sub", *((z, x) if operands == "zx" else (x, z)))
    return b.build()


def operand_waits(found: Mapping) -> dict[tuple[str, int], int]:
    """(tile, operand) -> the cycles that a value waits there, where one does."""
    place = {instance.node: instance.place for instance in found.instances}
    edges = found.dfg.edges
    return {
        (place[edges[route.edge].target], edges[route.edge].operand): route.fifo for route in found.routes if route.fifo
    }


def test_a_value_waits_at_the_operand_that_has_a_fifo():
    found = anneal(late("zx"), build("examples/arrays/operand-fifos.yaml"), AnnealConfig(), Budget(seed=1))
    assert isinstance(found, Mapping)
    proved_right(found)
    assert operand_waits(found) == {("pe_0_0", 1): 2}


def test_a_fifo_at_the_other_operand_does_not_help():
    found = anneal(late("xz"), build("examples/arrays/operand-fifos.yaml"), AnnealConfig(), Budget(seed=1))
    assert isinstance(found, Failure)
    assert found.constraint == "FIFO depth"


@pytest.mark.parametrize(("mapper", "config"), MAPPERS)
def test_no_mapper_lets_a_value_wait_at_an_operand_without_a_fifo(mapper, config):
    tiles = [{"operands": 2, "fifo": [4, 0]}, {"where": "checkerboard", "fifo": [0, 4]}]
    arch = build({"style": "static", "rows": 6, "cols": 6, "inputs": "skewed", "tiles": tiles})
    for seed in range(1, 4):
        found = mapper(random_dag(14, seed), arch, config, Budget(seed=seed))
        if isinstance(found, Mapping):
            proved_right(found)
            for (tile, operand), cycles in operand_waits(found).items():
                depth = arch.tiles[arch.tile_index[tile]].fifo_of(operand)
                assert depth is not None and cycles <= depth
