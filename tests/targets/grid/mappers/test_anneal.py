"""``anneal``: every mapping legal and right, deterministic, with what the user fixed kept."""

from __future__ import annotations

import math
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.plain_arrays import shared_in_time
from tests.search.conftest import proved_right, random_dag

from gridloom import registry
from gridloom.archs.spec import build
from gridloom.dfg.model import Dfg, DfgBuilder
from gridloom.errors import OptionError
from gridloom.mapping import json_format
from gridloom.mapping.model import Failure, Mapping
from gridloom.search.budget import Budget
from gridloom.targets.grid.mappers.anneal import AnnealConfig, anneal
from gridloom.verify.stats import stats

FAMILIES = ("mesh", "onehop", "hex", "chess")
SHORT = Budget(effort=400_000, seed=1)


def side(dfg: Dfg, more: int = 0) -> int:
    placed = sum(dfg.op_class(node.id) not in ("const", "livein") for node in dfg.nodes)
    return math.ceil(math.sqrt(placed)) + more


def mapped(dfg: Dfg, arch: str, config: AnnealConfig | None = None, budget: Budget = SHORT) -> Mapping:
    found = anneal(dfg, build(arch), config or AnnealConfig(), budget)
    assert isinstance(found, Mapping), str(found)
    return found


def small_kernels() -> list[str]:
    names = []
    for name in registry.names("kernels"):
        dfg = registry.load("kernels", name).build()
        memory = any(dfg.op_class(node.id) in ("mem", "mem_data") for node in dfg.nodes)
        if len(dfg.nodes) <= 64 and dfg.is_acyclic and not memory:
            names.append(name)
    return names


@pytest.mark.parametrize("name", small_kernels())
@pytest.mark.parametrize("family", ["chess", "onehop"])
def test_every_small_kernel_without_recurrences_maps(name, family):
    dfg = registry.load("kernels", name).build()
    n = side(dfg, 1)
    proved_right(mapped(dfg, f"{family}:{n}x{n}"))


@settings(max_examples=15)
@given(
    st.integers(4, 30),
    st.integers(0, 10_000),
    st.sampled_from(FAMILIES),
    st.sampled_from(["aligned", "skewed"]),
    st.sampled_from(["buffers", "wirelength", "placement", "latency"]),
)
def test_what_is_returned_for_a_random_graph_is_legal_and_right(nodes, seed, family, inputs, objective):
    dfg = random_dag(nodes, seed)
    n = side(dfg, 2)
    budget = Budget(effort=60_000, seed=seed)
    found = anneal(dfg, build(f"{family}:{n}x{n},inputs={inputs}"), AnnealConfig(objective=objective), budget)
    if isinstance(found, Mapping):
        proved_right(found)
        figures = stats(found)
        assert figures.placed_wirelength is not None
        assert figures.placed_wirelength <= figures.wirelength
    else:
        assert found.constraint == "links"
        assert found.congested


@pytest.mark.parametrize("options", ["mul=checkerboard", "io=border", "fifo=1", "mul=columns,io=border,inputs=skewed"])
def test_op_classes_borders_and_fifo_limits_are_kept(options):
    dfg = registry.load("kernels", "distance").build()
    proved_right(mapped(dfg, f"onehop:6x6,{options}"))


def test_recurrences_that_fit_their_distance_map():
    dfg = registry.load("kernels", "fir").build()
    assert not dfg.is_acyclic
    proved_right(mapped(dfg, "chess:6x6"))


def test_a_ring_without_slack_is_placed_around_its_distance():
    b = DfgBuilder("ring", "i32")
    x = b.input("x")
    nodes = [b.add("add", x, id="r0")]
    for k in range(1, 4):
        nodes.append(b.add("neg", nodes[-1], id=f"r{k}"))
    b.carry(nodes[-1], nodes[0], operand=1, distance=4)
    b.output(nodes[1], "y")
    proved_right(mapped(b.build(), "mesh:4x4"))


def test_the_same_seed_gives_the_same_bytes_whatever_the_workers():
    dfg = random_dag(20, 5)
    arch = build("mesh:6x6")
    config = AnnealConfig(objective="wirelength")
    saved = {
        json_format.dumps(anneal(dfg, arch, config, Budget(effort=600_000, seed=9, workers=workers)))
        for workers in (1, 2, 3)
    }
    assert len(saved) == 1


def test_another_seed_gives_another_mapping():
    dfg = random_dag(20, 5)
    first, second = (mapped(dfg, "mesh:6x6", budget=Budget(effort=200_000, seed=seed)) for seed in (1, 2))
    assert first.instances != second.instances


def test_pinned_nodes_stay_where_they_are():
    dfg = random_dag(14, 3)
    pin = {dfg.nodes[0].id: "pe_4_4", dfg.nodes[7].id: "pe_0_2"}
    found = mapped(dfg, "onehop:5x5", AnnealConfig(pin=pin))
    proved_right(found)
    places = {instance.node: instance.place for instance in found.instances}
    assert {node: places[node] for node in pin} == pin


def test_a_given_placement_is_kept_and_only_routed_and_balanced():
    dfg = random_dag(10, 4)
    place = {instance.node: instance.place for instance in mapped(dfg, "chess:5x5").instances}
    again = mapped(dfg, "chess:5x5", AnnealConfig(place=place))
    proved_right(again)
    assert {instance.node: instance.place for instance in again.instances} == place


def test_a_first_placement_is_where_the_search_begins():
    dfg = registry.load("kernels", "tree_reduce").build()
    best = mapped(dfg, "onehop:4x4", AnnealConfig(objective="wirelength"))
    init = {instance.node: instance.place for instance in best.instances}
    again = mapped(dfg, "onehop:4x4", AnnealConfig(objective="wirelength", init=init), Budget(effort=1))
    assert {instance.node: instance.place for instance in again.instances} == init


def test_no_fifo_for_the_triangle_on_a_mesh_where_its_long_edge_takes_two_links(triangle):
    found = mapped(triangle, "mesh:3x3")
    proved_right(found)
    assert [route.fifo for route in found.routes] == [0, 0, 0]
    assert found.provenance["optimal"] is True


def test_a_tree_of_15_nodes_needs_two_links_more_than_edges_on_a_4x4_mesh_and_none_on_4x5():
    dfg = registry.load("kernels", "tree_reduce").build()
    config = AnnealConfig(objective="wirelength")
    wires = []
    for arch in ("mesh:4x4,inputs=skewed", "mesh:4x5,inputs=skewed"):
        found = mapped(dfg, arch, config, Budget(effort=3_000_000))
        wires.append(sum(max(0, sum(">" in name for name, _ in route.hops) - 1) for route in found.routes))
    assert wires == [2, 0]


@pytest.mark.parametrize(
    ("graph", "array", "occupancy"),
    [
        ("tree_n_31_t_1", "onehop:6x6", 31 / 36),
        ("tree_n_63_t_1", "onehop:8x8", 63 / 64),
        ("tree_n_15_t_4", "mesh:8x8", 60 / 64),
        ("tree_n_15_t_1_r_3", "onehop:7x7", 39 / 49),
    ],
)
def test_published_perfect_placements_are_found(graph, array, occupancy):
    dfg = registry.load("kernels", f"neosa-{graph}").build()
    found = mapped(dfg, array, AnnealConfig(objective="wirelength"), Budget(effort=40_000_000))
    proved_right(found)
    figures = stats(found)
    assert (figures.wirelength, figures.buffers_max, figures.occupancy) == (0, 0, pytest.approx(occupancy))
    assert found.provenance["optimal"] is True


def test_close_placements_are_told_apart_from_short_wires():
    # Nodes have hardly a free tile, so that the closest placement needs links twice: its routes take detours.
    dfg = registry.load("kernels", "neosa-K4N4").build()
    budget = Budget(effort=16_000_000, seed=1)
    close, short = (
        mapped(dfg, "mesh:8x8,inputs=skewed", AnnealConfig(objective=objective, starts=4), budget)
        for objective in ("placement", "wirelength")
    )
    proved_right(close)
    (placed, routed), (placed_too, least) = ((stats(m).placed_wirelength, stats(m).wirelength) for m in (close, short))
    assert placed < placed_too == least < routed


def test_one_cycle_is_the_first_and_aligned_inputs_issue_in_it():
    found = mapped(random_dag(16, 8), "onehop:6x6")
    cycles = {instance.node: instance.cycle for instance in found.instances}
    assert {cycles[node.id] for node in found.dfg.nodes if node.op == "input"} == {0}
    assert min(cycles.values()) == 0


def test_a_run_that_is_stopped_at_once_still_answers():
    found = anneal(random_dag(12, 1), build("onehop:5x5"), AnnealConfig(), Budget(interrupted=lambda: True))
    assert isinstance(found, Mapping | Failure)


def test_a_graph_of_one_node_maps():
    b = DfgBuilder("one", "i32")
    b.input("x")
    proved_right(mapped(b.build(), "mesh:1x1"))


# -- failures and errors ---------------------------------------------------------------------------------------------


def failure(dfg: Dfg, arch: str | dict[str, Any], config: AnnealConfig | None = None) -> Failure:
    found = anneal(dfg, build(arch), config or AnnealConfig(), SHORT)
    assert isinstance(found, Failure)
    return found


def test_too_many_nodes():
    dfg = random_dag(20, 1)
    count = len(dfg.nodes)
    rows, cols = math.ceil(count / 4) - 4, math.ceil(count / 4) - 4
    words = [f"{k} {word}{'' if k == 1 else 's'} more" for k, word in ((rows, "row"), (cols, "column"))]
    assert str(failure(dfg, "mesh:4x4")) == (
        f"tiles: needs {count} tiles, has 16 on mesh:4x4; would help: {words[0]}, {words[1]}"
    )


def test_an_op_class_that_no_tile_has():
    dfg = registry.load("kernels", "distance").build()
    muls = sum(dfg.op_class(node.id) == "mul" for node in dfg.nodes)
    assert str(failure(dfg, {"family": "mesh", "rows": 6, "cols": 6, "mul": "none"})) == (
        f"op class mul: needs {muls} tiles with it, has none on mesh:6x6,mul=none; "
        f"would help: {muls} tiles more with mul"
    )


def test_more_operands_than_a_tile_has():
    b = DfgBuilder("wide", "opaque")
    sources = [b.add("input", id=f"x{k}") for k in range(4)]
    b.add("op", *sources, id="sum")
    assert str(failure(b.build(), "mesh:4x4")) == (
        "operands of node 'sum': needs 4, has 3 a tile on mesh:4x4; would help: operands=4, split the node into a tree"
    )


def test_more_signals_than_links_enter_a_tile():
    b = DfgBuilder("wide", "opaque")
    sources = [b.add("input", id=f"x{k}") for k in range(5)]
    b.add("op", *sources, id="sum")
    assert str(failure(b.build(), "mesh:4x4,operands=5")) == (
        "links into the tile of node 'sum': needs 5, has 4 on mesh:4x4,operands=5; "
        "would help: a topology with more links (onehop), a larger array, split the node into a tree"
    )


def test_loads_on_an_array_without_memory():
    b = DfgBuilder("mem", "i32")
    b.array("a", 8)
    b.output(b.load("a", b.input("i"), id="fetch"), "y")
    assert str(failure(b.build(), "mesh:4x4")) == (
        "memory: needs 1 loads and stores (fetch), has no memory on mesh:4x4; "
        "would help: turn loads into streams, an array with memory units (torus)"
    )


def test_a_recurrence_that_is_longer_than_its_distance():
    b = DfgBuilder("slow", "i32")
    x = b.input("x")
    first = b.add("add", x, id="a")
    second = b.add("neg", first, id="b")
    b.carry(second, first, operand=1, distance=1)
    found = failure(b.build(), "mesh:4x4")
    assert found.constraint in ("recurrence a -> b -> a", "recurrence b -> a -> b")
    assert (found.demand, found.bound) == ("2 cycles", "1 (its distance, at II 1)")
    assert found.levers == ("a modulo-scheduled array (torus) with II 2",)


def test_links_that_were_fought_over_are_named():
    b = DfgBuilder("cross", "opaque")
    for a, c in (("a", "c"), ("b", "d")):
        b.add("op", b.add("input", id=a), id=c)
    place = {"a": "pe_0_0", "b": "pe_0_1", "c": "pe_0_2", "d": "pe_0_3"}
    found = failure(b.build(), "mesh:1x4", AnnealConfig(place=place))
    assert found.constraint == "links"
    assert found.congested == ("pe_0_1>pe_0_2",)


def test_a_pin_on_a_tile_that_cannot_run_the_node():
    dfg = registry.load("kernels", "distance").build()
    mul = next(node.id for node in dfg.nodes if dfg.op_class(node.id) == "mul")
    found = failure(dfg, "mesh:6x6,mul=checkerboard", AnnealConfig(pin={mul: "pe_0_1"}))
    assert found.constraint == f"node {mul!r} on tile 'pe_0_1'"


@pytest.mark.parametrize(
    ("config", "message"),
    [
        ({"pin": {"nobody": "pe_0_0"}}, "pin: graph 'triangle' has no node 'nobody'"),
        ({"pin": {"a": "pe_9_9"}}, "pin: node 'a': array 'mesh:3x3' has no tile 'pe_9_9'"),
        (
            {"init": {"a": "pe_0_0", "b": "pe_0_0"}},
            "init: tile 'pe_0_0' is given to 'a' and to 'b'; a tile takes one node",
        ),
        ({"place": {"a": "pe_0_0"}}, "place: no tile for b, c; every node needs one"),
    ],
)
def test_placements_that_name_what_is_not_there_are_refused(triangle, config, message):
    with pytest.raises(OptionError) as error:
        anneal(triangle, build("mesh:3x3"), AnnealConfig(**config), SHORT)
    assert str(error.value) == message


def test_other_arrays_are_refused(triangle):
    with pytest.raises(OptionError) as error:
        anneal(triangle, shared_in_time(), AnnealConfig(), SHORT)
    assert str(error.value).startswith("mapper 'anneal' takes static grids such as mesh")
    assert "; array 'shared-in-time' is none of them" in str(error.value)


@pytest.mark.parametrize(
    ("field", "value", "message"),
    [
        ("objective", "speed", "objective: expected buffers, wirelength, placement or latency, found 'speed'"),
        ("starts", 0, "starts: expected at least 1, found 0"),
        ("heat", 0.0, "heat: expected more than 0, found 0.0"),
    ],
)
def test_settings_out_of_range_are_refused(field, value, message):
    with pytest.raises(OptionError) as error:
        AnnealConfig(**{field: value})
    assert str(error.value) == message
