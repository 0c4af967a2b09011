"""Lowering: what the units do together is what the program asks for, and what does not fit is cut."""

from __future__ import annotations

from math import prod

import pytest
from tests.plain_arrays import static_grid

from gridloom import registry
from gridloom.archs import build
from gridloom.archs.model import Arch
from gridloom.dfg.model import Dfg
from gridloom.errors import SourceError
from gridloom.targets.dataflow.lowering.lower import Section, lower
from gridloom.targets.dataflow.lowering.stages import Stage, UnitFabric
from gridloom.targets.dataflow.lowering.units import SectionUnits, Stream
from gridloom.targets.dataflow.program.costs import total_flops
from gridloom.targets.dataflow.rates import edge_tokens, repetitions

LANES = 16


@pytest.fixture(scope="module")
def arch() -> Arch:
    return build("rdu:16x8")


def network(name: str, **parameters: int | bool) -> Dfg:
    graph: Dfg = registry.load("networks", name).build(**parameters)
    return graph


def compute_cycles(section: Section, op: str) -> int:
    """Cycles a block that all units of an op are busy."""
    counts = repetitions(section.dfg)
    return sum(node.work * n for node, n in zip(section.dfg.nodes, counts) if node.op == op)


def carried(section: Section, source: str, target: str) -> int:
    """Vectors a block from nodes of one op to nodes of another."""
    dfg = section.dfg
    tokens = edge_tokens(dfg, repetitions(dfg))
    return sum(
        count
        for edge, count in zip(dfg.edges, tokens)
        if dfg.node(edge.source).op == source and dfg.node(edge.target).op == target
    )


CASES = [
    ("gemm", {"rows": 32, "inner": 256, "columns": 512}),
    ("mlp", {"rows": 32, "width": 256, "layers": 3}),
    ("ffn", {"rows": 32, "width": 128}),
    ("mha", {"rows": 64, "width": 128, "heads": 4}),
    ("encoder", {"rows": 64, "width": 256, "heads": 8}),
    ("bert_large", {"rows": 128, "layers": 1}),
    ("gpt2_xl", {"rows": 128, "layers": 1}),
]


@pytest.mark.parametrize(("name", "parameters"), CASES)
def test_operations_of_the_sections_are_those_of_the_program(arch: Arch, name: str, parameters: dict[str, int]):
    program = network(name, **parameters)
    sections = lower(program, arch).sections
    assert sum(section.flops for section in sections) == total_flops(program)


@pytest.mark.parametrize(("name", "parameters"), CASES)
def test_products_keep_their_units_busy_for_exactly_their_operations(arch: Arch, name: str, parameters: dict[str, int]):
    program = network(name, **parameters)
    macs = 0
    for node in program.nodes:
        if node.op == "gemm":
            left = program.node(program.edges[program.operand_edges(node.id)[0]].source)
            macs += prod(node.shape) * (prod(left.shape) * node.shape[-1] // prod(node.shape))
    done = sum(compute_cycles(s, "gemm") * s.blocks for s in lower(program, arch).sections)
    assert done * LANES == macs


def test_weights_leave_memory_once_a_block_and_rows_once_a_tile(arch: Arch):
    section = lower(network("gemm", rows=32, inner=256, columns=512), arch).sections[0]
    weights = 256 * 512 // LANES
    rows = (256 // LANES) * (512 // LANES)
    assert carried(section, "buffer", "gemm") == weights + rows


def test_inputs_and_outputs_pass_dram_once(arch: Arch):
    (section,) = lower(network("mlp", rows=32, width=256, layers=2), arch).sections
    assert section.dram_in == section.dram_out == 32 * 256 // LANES
    assert carried(section, "elementwise", "output") * section.blocks == section.dram_out


def test_block_rows_use_a_weight_more_often():
    program = network("gemm", rows=32, inner=256, columns=256)
    one = lower(program, build("rdu:16x8,block_rows=1")).sections[0]
    four = lower(program, build("rdu:16x8,block_rows=4")).sections[0]
    assert (one.blocks, four.blocks) == (32, 8)
    assert compute_cycles(four, "gemm") == 4 * compute_cycles(one, "gemm")
    weights = 256 * 256 // LANES
    assert carried(four, "buffer", "gemm") - weights == 4 * (carried(one, "buffer", "gemm") - weights)


def test_stages_are_balanced_within_the_units_that_there_are(arch: Arch):
    section = lower(network("mlp", rows=32, width=256, layers=3), arch).sections[0]
    assert len({section.units[f"fc{k}"] for k in range(3)}) == 1
    assert sum(node.op in ("gemm", "elementwise") for node in section.dfg.nodes) <= 64
    assert sum(node.op == "buffer" for node in section.dfg.nodes) <= 64
    counts = repetitions(section.dfg)
    slowest = max(n.work * c for n, c in zip(section.dfg.nodes, counts) if n.op in ("gemm", "elementwise"))
    assert slowest == section.bound


def test_too_large_a_program_is_cut_and_each_cut_goes_through_dram(arch: Arch):
    sections = lower(network("bert_large", rows=128, layers=1), arch).sections
    assert len(sections) > 1
    assert sections[0].dram_in == 128 * 1024 // LANES
    assert sections[-1].dram_out == 128 * 1024 // LANES
    assert all(section.dram_in and section.dram_out for section in sections)


def test_layers_that_are_alike_give_sections_that_are_alike(arch: Arch):
    sections = lower(network("bert_large", rows=128, layers=6), arch).sections
    shapes = {tuple((node.op, node.work) for node in section.dfg.nodes) for section in sections}
    assert len(shapes) < len(sections) / 2


def test_training_adds_about_twice_the_products(arch: Arch):
    forward, both = network("mlp", rows=32, width=256), network("mlp", rows=32, width=256, training=True)
    assert 2.5 < total_flops(both) / total_flops(forward) <= 3
    sections = lower(both, arch).sections
    assert sum(section.flops for section in sections) == total_flops(both)


def test_only_rdu_arrays_run_tensor_programs():
    with pytest.raises(SourceError, match="'static-grid' is not an rdu: tensor programs run on those"):
        lower(network("gemm"), static_grid())


def test_what_does_not_fit_alone_says_what_is_missing():
    with pytest.raises(SourceError, match=r"stage '.*' does not fit array 'rdu:1x2' even alone: too few"):
        lower(network("mlp", width=2048), build("rdu:1x2"))


def test_operands_of_a_weight_gradient_meet_at_one_level(arch: Arch):
    units = SectionUnits(UnitFabric.of(arch))
    stage = Stage(id="grad", kind="weight_grad", inputs=(), ops=("grad",), vectors=64, flops=0, inner=32, columns=32)
    narrow = Stream((("narrow", 48),), 0)
    wide = Stream(tuple((f"wide{k}", 4) for k in range(12)), 0)
    for name in ("narrow", *(name for name, _ in wide.parts)):
        units.node(name, "elementwise", "before", 1, 48)
    result = units.stage(stage, 1, [narrow, wide])
    # The wide operand is gathered in memory units, a level further; the other one waits for it in one of its own.
    assert sum("delay" in name for name in units.nodes) == 1
    assert result.level == 2


def test_copies_fill_an_array_and_raise_the_samples_per_cycle():
    dfg = network("mlp", rows=32, width=64, layers=2)
    bounds = []
    for spec in ("rdu:4x4", "rdu:8x8", "rdu:16x8"):
        (section,) = lower(dfg, build(spec), copies=8).sections
        (single,) = lower(dfg, build(spec)).sections
        assert section.flops == single.flops
        assert section.dram_in == single.dram_in
        assert section.bound / section.copies <= single.bound / single.copies
        bounds.append(section.bound / section.copies)
    assert bounds[0] > bounds[1] > bounds[2]


def test_copies_are_not_made_of_programs_that_sum_over_samples(arch: Arch):
    sections = lower(network("mlp", rows=32, width=64, layers=2, training=True), arch, copies=8).sections
    assert {section.copies for section in sections} == {1}


def test_sections_say_how_many_weights_they_keep():
    dfg = network("mlp", rows=32, width=64, layers=2)
    (section,) = lower(dfg, build("rdu:16x8"), copies=8).sections
    # Two matrices of 64 x 64 in vectors of 16, whatever the number of copies.
    assert section.weights == 2 * 64 * 64 // LANES
    assert section.held == ()


def test_sections_say_which_memory_units_hold_operands():
    dfg = network("mha", rows=32, width=64, heads=4)
    (section,) = lower(dfg, build("rdu:16x8")).sections
    # Scores read the keys and contexts the values: these two have a memory unit or more each, and nothing else has.
    found = {section.dfg.node(name).label for name in section.held}
    assert found == {stage.id for stage in section.stages if stage.held} == {"scores", "context"}
    assert all(section.dfg.node(name).op == "buffer" for name in section.held)


def test_smaller_packets_go_out_more_often():
    chosen, smaller = (
        lower(network("mlp", rows=32, width=64, layers=2), build(spec)).sections[0]
        for spec in ("rdu:16x8", "rdu:16x8,packet=2")
    )
    assert chosen.bound == smaller.bound
    assert {edge.tokens for edge in chosen.dfg.edges if ".w" in edge.source} == {4}
    assert {edge.tokens for edge in smaller.dfg.edges if ".w" in edge.source} == {2}
    assert carried(chosen, "buffer", "gemm") == carried(smaller, "buffer", "gemm")


def test_product_takes_the_operation_behind_it_where_that_is_asked_for(arch: Arch):
    dfg = network("ffn", width=64, training=True)
    apart, merged = (lower(dfg, arch, merge=merge).sections for merge in ("vectors", "products"))
    assert next(stage.ops for section in merged for stage in section.stages) == ("up", "up.bias_add")
    assert sum(len(section.stages) for section in merged) < sum(len(section.stages) for section in apart)
    for sections in (merged, apart):
        assert sum(section.flops for section in sections) == total_flops(dfg)


def test_operation_that_reads_many_parts_has_one_interface_for_each(arch: Arch):
    # The products of 25 heads are cut into five; with a quarter of the interfaces for each they would need 28 of 16.
    dfg = network("gpt2_xl", layers=1, training=True)
    sections = lower(dfg, arch).sections
    assert sum(section.flops for section in sections) == total_flops(dfg)
    (found,) = [part for part in sections if [stage.id for stage in part.stages] == ["layer0.softmax.grad"]]
    assert sum(node.op in ("input", "output") for node in found.dfg.nodes) <= 16
