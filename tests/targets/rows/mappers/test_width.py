"""The mapper for rows of combinational ALUs: widths, pipelines, constants, pins, refusals, the same result twice."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.plain_arrays import static_grid
from tests.search.conftest import butterflies, proved_right

from gridloom.archs.model import Arch, Kind
from gridloom.archs.spec import build
from gridloom.compiler.source import load_source
from gridloom.dfg.model import Dfg, DfgBuilder
from gridloom.errors import OptionError
from gridloom.mapping import json_format
from gridloom.mapping.model import Failure, Mapping
from gridloom.search.budget import Budget
from gridloom.targets.rows.families import genmap as genmap_arch
from gridloom.targets.rows.mappers.problem import feeds_operands, flatten, restrict
from gridloom.targets.rows.mappers.screening import columns_by_rows, screen, width_bound
from gridloom.targets.rows.mappers.search import Starts
from gridloom.targets.rows.mappers.width import WidthConfig, width
from gridloom.verify import stats

QUICK = Budget(time_limit=20.0, seed=1)
EFFORT = Budget(effort=100_000, seed=1)


@pytest.fixture(scope="module")
def vpcma() -> Arch:
    return build({"family": "vpcma"})


def mapped(dfg: Dfg, arch: Arch, config: WidthConfig | None = None, budget: Budget = QUICK) -> Mapping:
    found = width(dfg, arch, config or WidthConfig(polish=False), budget)
    assert isinstance(found, Mapping), str(found)
    proved_right(found)
    return found


def refused(dfg: Dfg, arch: Arch, config: WidthConfig | None = None, budget: Budget = QUICK) -> Failure:
    found = width(dfg, arch, config or WidthConfig(), budget)
    assert isinstance(found, Failure)
    return found


def chain(ops: int, outputs: int = 1) -> Dfg:
    """ops additions of one constant, one after the other."""
    b = DfgBuilder("chain", "cma24")
    value = b.input("x")
    for _ in range(ops):
        value = b.add("add", value, b.const(3))
    for k in range(outputs):
        b.output(value, f"y{k}")
    return b.build()


def random_rows(seed: int, ops: int, inputs: int, constants: int) -> Dfg:
    """A random graph of 24-bit ops whose leaves are xor-ed into at most two outputs."""
    rng = np.random.default_rng(seed)
    b = DfgBuilder(f"random_{seed}", "cma24")
    made = [b.input(f"x{k}") for k in range(inputs)]
    pool = [b.const(5 + 2 * k) for k in range(constants)]
    for _ in range(ops):
        left = made[-1 - int(rng.integers(min(4, len(made))))]
        right = (
            pool[int(rng.integers(len(pool)))] if pool and rng.random() < 0.3 else made[int(rng.integers(len(made)))]
        )
        made.append(b.add(str(rng.choice(["add", "sub", "xor", "mult", "gt"])), left, right))
    for k, value in enumerate(made[-2:]):
        b.output(value, f"y{k}")
    return b.build()


# -- widths ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("graph", "columns"),
    [
        pytest.param("gray", 2, marks=pytest.mark.slow),
        ("sepia", 3),
        ("dct4", 4),
        pytest.param("radix4_fft", 8, marks=pytest.mark.slow),
        pytest.param("aes", 8, marks=pytest.mark.slow),
    ],
)
def test_published_graphs_are_as_narrow_as_the_published_results(
    benchmarks: Path, vpcma: Arch, graph: str, columns: int
) -> None:
    dfg = load_source(str(benchmarks / "genmap" / "app_samples" / f"{graph}.dot"))
    found = mapped(dfg, vpcma, WidthConfig(polish=False, columns=columns))
    assert stats(found).width <= columns
    assert found.provenance["bound"] <= stats(found).width


@pytest.mark.slow
@pytest.mark.parametrize("graph", ["gray", "sepia", "dct4", "radix4_fft", "aes"])
def test_every_published_graph_reaches_its_bound_in_20_seconds(benchmarks: Path, vpcma: Arch, graph: str) -> None:
    dfg = load_source(str(benchmarks / "genmap" / "app_samples" / f"{graph}.dot"))
    found = mapped(dfg, vpcma, WidthConfig(), Budget(time_limit=20.0, workers=2))
    assert found.provenance["optimal"]


def test_the_bound_counts_what_the_rows_need() -> None:
    """Nine ops fit three rows of three; but seven of them sit in the two upper rows, which takes four columns."""
    b = DfgBuilder("high", "cma24")
    x, z = b.input("x"), b.input("z")
    left, right = b.add("add", x, z), b.add("sub", x, z)
    total, *others = (b.add(op, left, right) for op in ("add", "sub", "xor", "or"))
    for other in others:
        total = b.add("add", total, other)
    b.output(total, "y")
    arch = build("vpcma:3x6")
    graph = flatten(b.build(), arch)
    assert (width_bound(graph, arch), columns_by_rows(graph, arch)) == (3, 4)
    found = mapped(b.build(), arch)
    assert (stats(found).width, found.provenance["bound"], found.provenance["optimal"]) == (4, 4, True)


@pytest.mark.slow
@pytest.mark.parametrize(("kernel", "columns"), [("aes", 8), ("radix4_fft", 8), ("rgb_to_ycc", 8), ("dct8", 9)])
def test_kernels_that_fit_are_mapped(vpcma: Arch, kernel: str, columns: int) -> None:
    dfg = load_source(f"kernel:cma_{kernel}")
    found = mapped(dfg, vpcma, WidthConfig(polish=False), Budget(time_limit=40.0, workers=2))
    assert stats(found).width <= columns


def test_a_chain_longer_than_the_rows_goes_east_within_a_row(vpcma: Arch) -> None:
    found = mapped(chain(12), vpcma)
    assert stats(found).width == 2


def test_butterflies_as_high_as_the_array_fit_and_higher_ones_are_refused(vpcma: Arch) -> None:
    assert stats(mapped(butterflies(8), vpcma)).width == 2
    failure = refused(butterflies(9), vpcma)
    assert (failure.constraint, failure.bound) == ("rows", "8 rows")


def test_a_start_keeps_to_the_rows_that_are_left(vpcma: Arch) -> None:
    starts = Starts(flatten(butterflies(8), vpcma), vpcma)
    for seed in range(5):
        placement = starts.first_place(starts.array(12), seed)
        rows = [vpcma.tiles[tile].row for tile in placement.tolist() if vpcma.tiles[tile].kind == "pe"]
        assert rows == [k // 2 for k in range(16)]


def test_the_width_counts_ports_and_switches(vpcma: Arch) -> None:
    found = mapped(chain(2, outputs=3), vpcma)
    assert stats(found).width == 3
    assert found.provenance["bound"] == 3


def test_nothing_outside_the_allowed_columns_is_used(vpcma: Arch) -> None:
    found = mapped(random_rows(3, 14, 2, 2), vpcma, WidthConfig(columns=4, polish=False), EFFORT)
    used = {name.partition(".")[0] for route in found.routes for name, _ in route.hops}
    used |= {instance.place for instance in found.instances}
    tiles = [vpcma.tiles[vpcma.tile_index[name]] for name in used]
    assert all(tile.kind == "const" or tile.col < 4 for tile in tiles)


def test_polishing_shortens_wires_and_keeps_the_width(vpcma: Arch) -> None:
    dfg = random_rows(5, 14, 3, 2)
    rough = mapped(dfg, vpcma, WidthConfig(polish=False))
    fine = mapped(dfg, vpcma, WidthConfig(polish=True))
    assert stats(fine).width == stats(rough).width
    assert stats(fine).wirelength < stats(rough).wirelength


@settings(max_examples=12)
@given(
    seed=st.integers(0, 10_000),
    ops=st.integers(2, 18),
    inputs=st.integers(1, 3),
    constants=st.integers(0, 4),
    pipeline=st.sampled_from(["none", "auto", "all"]),
)
def test_what_is_mapped_is_legal_and_computes_the_graph(
    seed: int, ops: int, inputs: int, constants: int, pipeline: str
) -> None:
    arch = build({"family": "vpcma"})
    config = WidthConfig(pipeline=pipeline, polish=False)  # type: ignore[arg-type]
    dfg = random_rows(seed, ops, inputs, constants)
    found = width(dfg, arch, config, Budget(effort=20_000, seed=seed))
    if isinstance(found, Mapping):
        proved_right(found)
    else:
        assert found.constraint == "wires" or found == screen(flatten(dfg, arch), arch, arch.cols)


# -- pipelines ------------------------------------------------------------------------------------------------------


def test_without_pipeline_everything_happens_in_cycle_0(vpcma: Arch) -> None:
    found = mapped(chain(5), vpcma)
    assert stats(found).latency == 0
    assert found.settings["pipeline"] == [0] * 7


def test_all_boundaries_on_means_outputs_turn_in_the_last_row(vpcma: Arch) -> None:
    found = mapped(chain(3, outputs=2), vpcma, WidthConfig(pipeline="all", polish=False))
    assert stats(found).latency == 7
    assert found.settings["pipeline"] == [1] * 7


def test_auto_switches_on_what_lies_below_every_turn(vpcma: Arch) -> None:
    found = mapped(chain(6), vpcma, WidthConfig(pipeline="auto", polish=False, pin={"y0": "store_0"}))
    bits = found.settings["pipeline"]
    turned = [route.hops for route in found.routes if route.hops[-1][0].startswith("store")]
    rows = [int(name.split("_")[1]) for hops in turned for name, _ in hops if name.endswith(".s")]
    assert bits == [int(k < max(rows)) for k in range(7)]


def test_stages_leave_out_early_turns_to_the_south(vpcma: Arch) -> None:
    array = restrict(vpcma, 4, [1] * 7)
    turns = set()
    for u in range(len(array.resource)):
        for v in array.rows.succ[array.rows.succ_at[u] : array.rows.succ_at[u + 1]]:
            before, after = int(array.resource[u]), int(array.resource[v])
            feeds = feeds_operands(vpcma)
            if feeds[before] and not feeds[after]:
                turns.add(vpcma.tiles[vpcma.tile[after]].row)
    assert turns == {7}


# -- constants ------------------------------------------------------------------------------------------------------


def test_a_constant_takes_a_register_in_each_row_that_reads_it(vpcma: Arch) -> None:
    found = mapped(chain(7), vpcma)
    copies = [instance for instance in found.instances if instance.place.startswith("const")]
    assert len(copies) > 1
    assert {instance.copy for instance in copies} == set(range(len(copies)))


def test_sixteen_constants_fit_and_seventeen_do_not(vpcma: Arch) -> None:
    def summed(count: int) -> Dfg:
        b = DfgBuilder("sum", "cma24")
        values = [b.add("xor", b.input("x"), b.const(100))]
        values += [b.add("add", values[-1], b.const(k)) for k in range(1, 3)]
        for k in range(3, count):
            values.append(b.add("add", values[-1], b.const(k)))
        b.output(values[-1], "y")
        return b.build()

    failure = refused(summed(17), vpcma)
    assert (failure.constraint, failure.demand, failure.bound) == (
        "constants", "17 constants", "16 constant registers",
    )  # fmt: skip
    assert len(flatten(summed(16), vpcma).nodes) == 16 + 16 + 2


def test_constants_beyond_17_bits_are_refused(vpcma: Arch) -> None:
    def added(value: int) -> Dfg:
        b = DfgBuilder("add", "cma24")
        b.output(b.add("add", b.input("x"), b.const(value)), "y")
        return b.build()

    for value in (65535, -65536):
        mapped(added(value), vpcma)
    for value in (65536, -65537):
        assert refused(added(value), vpcma).constraint == "constant range"


def test_a_constant_that_nothing_reads_still_has_a_place(vpcma: Arch) -> None:
    b = DfgBuilder("idle", "cma24")
    b.const(7, id="idle")
    b.output(b.add("not", b.input("x")), "y")
    mapped(b.build(), vpcma)


# -- pins, refusals, budgets ----------------------------------------------------------------------------------------


def test_pins_are_kept(vpcma: Arch) -> None:
    pin = {"x": "load_2", "y0": "store_1"}
    found = mapped(chain(4), vpcma, WidthConfig(pin=pin, polish=False))
    places = {instance.node: instance.place for instance in found.instances}
    assert {node: places[node] for node in pin} == pin


@pytest.mark.parametrize(
    ("pin", "text"),
    [
        ({"z": "load_0"}, "pin: graph 'chain' has no node 'z'"),
        ({"x": "load_99"}, "pin: node 'x': array 'vpcma' has no tile 'load_99'"),
        ({"c1": "const_0"}, "pin: node 'c1' is a const, which needs no tile on 'vpcma'"),
        ({"x": "load_0", "y0": "load_0"}, "pin: tile 'load_0' is given to 'x' and to 'y0'; a tile takes one node"),
    ],
)
def test_pins_that_make_no_sense_are_refused(vpcma: Arch, pin: dict[str, str], text: str) -> None:
    with pytest.raises(OptionError) as caught:
        width(chain(2), vpcma, WidthConfig(pin=pin), QUICK)
    assert str(caught.value) == text


def test_a_node_pinned_where_it_cannot_run_is_a_failure(vpcma: Arch) -> None:
    failure = refused(chain(2), vpcma, WidthConfig(pin={"x": "store_0"}))
    assert failure.constraint == "node 'x' on tile 'store_0'"


def test_other_arrays_are_refused() -> None:
    with pytest.raises(OptionError, match="'width' takes rows of ALUs such as vpcma; array 'static-grid' is none"):
        width(chain(2), static_grid(), WidthConfig(), QUICK)


def test_counts_that_do_not_fit_are_told_without_a_search(vpcma: Arch) -> None:
    assert refused(chain(97), vpcma).bound == "96 PEs in 12 columns"
    assert refused(chain(2, outputs=13), vpcma).bound == "12 store ports"
    b = DfgBuilder("carried", "cma24")
    total = b.add("add", b.input("x"), id="total")
    b.carry(total, total, operand=1)
    b.output(total, "y")
    assert refused(b.build(), vpcma).constraint == "edges"
    multiplied = DfgBuilder("wide", "i32")
    multiplied.output(multiplied.add("mul", multiplied.input("x"), multiplied.input("y")), "z")
    assert refused(multiplied.build(), vpcma).demand == "a tile for mul"


def test_wires_that_do_not_fit_name_what_is_fought_over(vpcma: Arch) -> None:
    failure = refused(load_source("kernel:cma_aes"), vpcma, WidthConfig(columns=6), Budget(effort=20_000))
    assert failure.constraint == "wires"
    assert all(name in vpcma.resource_index for name in failure.congested)
    assert "6 columns" in failure.bound


def test_effort_gives_the_same_mapping_whatever_the_workers(vpcma: Arch) -> None:
    dfg = random_rows(7, 20, 3, 3)
    texts = {
        json_format.dumps(mapped(dfg, vpcma, WidthConfig(), Budget(effort=60_000, seed=4, workers=workers)))
        for workers in (1, 2)
    }
    assert len(texts) == 1


def test_a_budget_that_is_over_at_once_is_a_failure(vpcma: Arch) -> None:
    # It takes a second to be mapped, and the budget is looked at long before.
    failure = refused(load_source("kernel:cma_aes"), vpcma, budget=Budget(interrupted=lambda: True))
    assert failure.constraint in ("time", "wires")


@pytest.mark.parametrize(
    ("key", "value", "text"),
    [
        ("pipeline", "some", "pipeline: expected none, all or auto, found 'some'"),
        ("columns", 0, "columns: expected at least 1, found 0"),
        ("hot", 0.0, "hot: expected more than 0, found 0.0"),
        ("history", -1.0, "history: expected at least 0, found -1.0"),
    ],
)
def test_settings_out_of_range_are_refused(key: str, value: object, text: str) -> None:
    with pytest.raises(OptionError) as caught:
        WidthConfig(**{key: value})  # type: ignore[arg-type]
    assert str(caught.value) == text


# -- arrays that others described -----------------------------------------------------------------------------------


@pytest.mark.parametrize("chip", ["CCSOTB2/arch.xml", "CCSOTB/arch_real.xml", "CMASOTB2/arch.xml", "VPCMA2/arch.xml"])
def test_published_array_descriptions_are_mapped_to(benchmarks: Path, chip: str) -> None:
    arch = genmap_arch.read(benchmarks / "genmap" / "chip_files" / chip)
    dfg = load_source(str(benchmarks / "genmap" / "app_samples" / "sepia.dot"))
    found = mapped(dfg, arch)
    assert stats(found).width == 3


def test_numbers_are_topological_even_where_the_array_has_cycles(benchmarks: Path) -> None:
    arch = genmap_arch.read(benchmarks / "genmap" / "chip_files" / "VPCMA2" / "arch.xml")
    array = restrict(arch, 6, [0] * 7)
    sources = np.repeat(np.arange(len(array.resource)), np.diff(array.rows.succ_at))
    assert (sources < array.rows.succ).all()
    inputs = np.flatnonzero(arch.kind[array.resource] == Kind.IN)
    units = array.rows.tile_fu[arch.tile[array.resource[inputs]]]
    assert (inputs < units).all()


def test_graph_without_any_edge_is_mapped():
    from gridloom.dfg import DfgBuilder
    from gridloom.flow import Request, run

    b = DfgBuilder("lone", "cma24")
    b.input("x")
    b.input("y")
    result = run(Request(source=b.build(), arch="vpcma:3x3", effort=1000))
    assert result.failure is None
    assert result.verified.simulated
