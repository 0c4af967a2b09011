"""What programs cost: clocks as the interpreter counts them, and mappings that are chosen for them."""

from __future__ import annotations

import math

import pytest
from tests.targets.modulo.export.openedge.test_programs import long_mapping, mapping_of

import gridloom as gl
from gridloom.targets.modulo.export.openedge import objective
from gridloom.targets.modulo.export.openedge.assembly import assemble
from gridloom.targets.modulo.export.openedge.trial import try_program


def map_first(source: str):
    """The first mapping of the lowest II."""
    mapping = gl.map(source, "openedge-cgra", effort=20_000, seed=0, settings={"batches": 0}).mapping
    assert mapping is not None
    return mapping


@pytest.mark.parametrize("source", ["kernel:dot_product", "kernel:sepia", "kernel:fir", "kernel:dct4"])
def test_the_cost_is_the_clocks_that_the_interpreter_counts(source: str):
    mapping = map_first(source)
    trial = try_program(assemble(mapping), mapping.dfg, trips=(objective.TRIPS,))[0]
    assert objective.cost(mapping) == trial.clocks


@pytest.mark.parametrize("source", ["kernel:dct4", "kernel:sepia", "kernel:aes_column"])
def test_the_mapper_finds_fewer_clocks_than_those_of_the_first_mapping(source: str):
    assert objective.cost(mapping_of(source)) < objective.cost(map_first(source))


def test_a_mapping_without_a_program_gives_way_to_one_with_a_program():
    assert objective.cost(map_first("kernel:adpcm")) == math.inf
    assert objective.cost(mapping_of("kernel:adpcm")) < math.inf


def test_no_more_is_tried_at_an_ii_that_leaves_no_line_for_the_end():
    assert long_mapping().ii == 36 > objective.MOST_II


def test_the_mapping_of_least_clocks_is_the_same_for_any_number_of_workers():
    one, two = (gl.map("kernel:dct4", "openedge-cgra", effort=2_000, seed=3, jobs=jobs) for jobs in (1, 2))
    assert one.mapping is not None
    assert two.mapping is not None
    assert (one.mapping.instances, one.mapping.routes) == (two.mapping.instances, two.mapping.routes)


def test_an_ii_that_is_asked_for_is_kept():
    result = gl.map("kernel:dct4", "openedge-cgra", effort=5_000, seed=0, ii=6)
    assert result.mapping is not None
    assert result.mapping.ii == 6
