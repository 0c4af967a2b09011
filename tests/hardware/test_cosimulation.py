"""The hardware computes, cycle by cycle, what the simulator computes."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from tests import hand_mappings
from tests.constructive import construct
from tests.hardware.conftest import Cosimulate
from tests.random_cases import legal_mappings, loop_graph, static_graph

from gridloom.archs.spec import build, build_spec
from gridloom.dfg.model import DfgBuilder
from gridloom.errors import MissingExtra, SimulationError
from gridloom.flow.hardware import compare, cosimulate_mapping
from gridloom.hardware import cosimulation as cosim
from gridloom.hardware.cosimulation import Bench
from gridloom.mapping import Mapping
from gridloom.mapping.configuration import configure
from gridloom.search.budget import Budget
from gridloom.sim import stimulus_for
from gridloom.targets.modulo.mappers.config import ModuloConfig
from gridloom.targets.modulo.mappers.modulo import modulo
from gridloom.targets.streaming.fuse import fuse
from gridloom.targets.streaming.mappers.anneal import SpokesAnnealConfig, anneal_spokes

pytestmark = pytest.mark.tools

HAND = [name for name in hand_mappings.LEGAL if not name.startswith(("rdu", "vpcma"))]


@pytest.mark.parametrize("name", HAND)
def test_mappings_made_by_hand_run_on_their_hardware(name: str, cosimulate: Cosimulate) -> None:
    assert cosimulate(hand_mappings.LEGAL[name]()) == ()


@pytest.mark.slow
def test_the_published_vpcma_runs_its_hand_mapping(cosimulate: Cosimulate) -> None:
    assert cosimulate(hand_mappings.vpcma_three_rows()) == ()


def strict(style: str, count: int) -> list[Mapping]:
    """Random mappings whose arrays have wires: level ``paper`` of the streaming engine has no limit on its links."""
    found = [m for m in legal_mappings(style, 2 * count) if m.arch.spec.get("level") != "paper"]
    return found[:count]


@pytest.mark.parametrize(("style", "count"), [("static", 4), ("modulo", 4), ("engine", 1), ("vpcma", 1)])
def test_random_mappings_run_on_their_hardware(style: str, count: int, cosimulate: Cosimulate) -> None:
    for number, mapping in enumerate(strict(style, count)):
        assert cosimulate(mapping, seed=number) == (), f"{style} mapping {number} on {mapping.arch.name}"


@pytest.mark.parametrize("array", ["mesh:3x3,link=1", "onehop:3x3,fifo=3,link=1"])
def test_registers_at_the_ends_of_links_run_as_the_simulator_says(array: str, cosimulate: Cosimulate) -> None:
    arch = build(array)
    found: list[Mapping] = []
    for seed in range(40):
        mapping = construct(static_graph(random.Random(f"links {seed}")), arch, seed, ii=1, settings={})
        if mapping is not None and len(found) < 3:
            assert cosimulate(mapping, seed=seed, stall=seed + 1) == (), f"mapping {seed} on {array}"
            found.append(mapping)
    assert len(found) == 3
    passed = [hop for m in found for route in m.routes for hop in route.hops if ">" in hop[0]]
    assert passed


@pytest.mark.slow
@pytest.mark.parametrize(("style", "count"), [("static", 90), ("modulo", 90), ("engine", 20), ("vpcma", 20)])
def test_many_random_mappings_run_on_their_hardware(style: str, count: int, cosimulate: Cosimulate) -> None:
    for number, mapping in enumerate(strict(style, count)):
        assert cosimulate(mapping, iterations=30, seed=number) == (), f"mapping {number} on {mapping.arch.name}"


@pytest.mark.parametrize("array", ["hycube:3x3", "hycube:2x3,regs=3,hops=3"])
def test_values_that_cross_several_links_in_a_cycle_run_on_their_hardware(array: str, cosimulate: Cosimulate) -> None:
    found = modulo(loop_graph(random.Random(3)), build(array), ModuloConfig(), Budget(seed=3, effort=1500))
    assert isinstance(found, Mapping)
    assert cosimulate(found) == ()


LATENCIES: tuple[tuple[dict[str, object], int], ...] = (
    ({"family": "mesh", "rows": 4, "cols": 4, "latency": {"*": 1, "mul": 2}}, 1),
    ({"family": "onehop", "rows": 4, "cols": 4, "latency": {"*": 1, "mul": 4}}, 1),
    ({"family": "mesh", "rows": 4, "cols": 4, "fifo": 7, "latency": {"*": 2}}, 1),
    ({"family": "chess", "rows": 4, "cols": 4, "latency": {"*": 2, "mul": 3, "div": 9}}, 1),
    ({"family": "torus", "rows": 3, "cols": 3, "regs": 4, "latency": {"*": 2, "mul": 4, "mem": 3}}, 4),
    ({"family": "torus", "rows": 3, "cols": 3, "regs": 4, "latency": {"*": 1, "mem": 2, "div": 7}}, 4),
    ({"family": "torus", "rows": 3, "cols": 3, "regs": 4, "latency": {"*": 1, "mul": 2, "mem": 3}}, 4),
    ({"family": "torus", "rows": 3, "cols": 3, "regs": 8, "file": "central", "latency": {"*": 1, "mul": 3}}, 4),
)


@pytest.mark.slow
@pytest.mark.parametrize("number", range(len(LATENCIES)))
def test_ops_of_several_cycles_run_on_their_hardware(number: int, cosimulate: Cosimulate) -> None:
    spec, ii = LATENCIES[number]
    arch = build_spec(spec, "array")
    found = 0
    for seed in range(40):
        rng = random.Random(seed)
        halves = {file.name: len(file.registers) // 2 for file in arch.register_files}
        graph = static_graph(rng) if ii == 1 else loop_graph(rng)
        mapping = construct(graph, arch, seed, ii=ii, settings={"rotating": halves} if ii > 1 else {})
        if mapping is not None:
            found += 1
            assert cosimulate(mapping) == (), f"seed {seed}"
        if found == 5:
            break
    assert found


@pytest.mark.slow
@pytest.mark.parametrize("name", ["mesh_fifo_2", "torus_spill"])
def test_a_second_simulator_agrees(name: str) -> None:
    if not cosim.available("verilator"):
        pytest.skip("Verilator is not installed")
    assert cosimulate_mapping(hand_mappings.LEGAL[name](), simulator="verilator").findings == ()


def test_a_mapping_that_is_not_balanced_shows_wrong_values(bench_of: Callable[[Mapping], Bench]) -> None:
    mapping = hand_mappings.mesh_unbalanced()
    configuration = configure(mapping)
    right = hand_mappings.mesh_fifo_2()
    stimulus = stimulus_for(mapping.dfg, 8)
    shown = bench_of(right).run(configuration, stimulus)
    assert compare(configure(right), stimulus, shown)


def test_one_wrong_field_is_found(bench_of: Callable[[Mapping], Bench], monkeypatch: pytest.MonkeyPatch) -> None:
    mapping = hand_mappings.mesh_fifo_2()
    plain = cosim.encode

    def damaged(*arguments: object) -> object:
        fields = plain(*arguments)  # type: ignore[arg-type]
        fields.units["pe_1_1"].contexts[0]["in0.tap"] = 1
        return fields

    monkeypatch.setattr(cosim, "encode", damaged)
    found = cosimulate_mapping(mapping, iterations=8, bench=bench_of(mapping)).findings
    assert any(line.startswith("node d in iteration") for line in found)


def test_a_slot_that_starts_late_is_a_problem(bench_of: Callable[[Mapping], Bench]) -> None:
    mapping = hand_mappings.mesh_local()
    configuration = configure(mapping)
    late = tuple(
        replace(s, start=s.start + 1) if s.node == configuration.dfg.index["d"] else s for s in configuration.slots
    )
    stimulus = stimulus_for(mapping.dfg, 4)
    bench = bench_of(mapping)
    shown = bench.run(replace(configuration, slots=late), stimulus)
    assert compare(configuration, stimulus, shown)
    assert shown.problems == ()


def test_a_bench_runs_more_than_one_configuration(bench_of: Callable[[Mapping], Bench]) -> None:
    first, second = hand_mappings.mesh_fifo_2(), hand_mappings.mesh_fifo_split()
    assert bench_of(first) is bench_of(second)


def test_fused_instructions_run_on_tiles_with_spokes(cosimulate: Cosimulate) -> None:
    b = DfgBuilder("fused")
    x, y, z = b.input("x"), b.input("y"), b.input("z")
    folded = b.add("xor", x, b.add("lshr", y, b.const(7)))
    masked = b.add("and", b.add("mul", folded, z), y)
    b.output(b.add("sub", b.add("shl", masked, b.const(3)), folded), "v")
    b.output(b.add("or", b.add("shr", z, x), y), "w")
    graph = fuse(b.build())
    assert {node.op for node in graph.nodes} >= {"lshr_xor", "mul_and", "shl_rsub", "shr_or"}
    arch = build("streaming-engine:8,spokes=2")
    mapping = anneal_spokes(graph, arch, SpokesAnnealConfig(), Budget(effort=20_000, seed=1))
    assert isinstance(mapping, Mapping)
    assert cosimulate(mapping) == ()


def test_a_missing_simulator_names_its_package(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(MissingExtra, match=r"iverilog is not installed; install the package 'iverilog', for instance"):
        cosimulate_mapping(hand_mappings.mesh_local())


def test_more_stream_words_than_the_testbench_holds_are_refused(bench_of: Callable[..., Bench]) -> None:
    mapping = hand_mappings.mesh_fifo_2()
    with pytest.raises(SimulationError) as error:
        bench_of(mapping).run(configure(mapping), stimulus_for(mapping.dfg, iterations=70_000))
    assert str(error.value) == "the run has 70000 words of streams; the testbench holds 65536: take fewer iterations"


@pytest.mark.parametrize("name", ["mesh_fifo_2", "torus_spill"])
def test_an_array_that_has_to_wait_computes_the_same(name: str, cosimulate: Cosimulate) -> None:
    assert cosimulate(hand_mappings.LEGAL[name](), stall=11) == ()


@pytest.mark.slow
@pytest.mark.parametrize(("style", "count"), [("static", 22), ("modulo", 22), ("engine", 3), ("vpcma", 3)])
def test_many_random_mappings_wait_for_their_streams(style: str, count: int, cosimulate: Cosimulate) -> None:
    for number, mapping in enumerate(strict(style, count)):
        assert cosimulate(mapping, iterations=24, seed=number, stall=number + 1) == (), f"{style} {number}"
