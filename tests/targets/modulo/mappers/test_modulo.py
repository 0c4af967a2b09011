"""The modulo mapper: its results are legal and right, known loops reach their MII, failures explain themselves."""

from __future__ import annotations

import random
from pathlib import Path

import pytest
from tests.plain_arrays import static_grid
from tests.random_cases import loop_graph

from gridloom.archs import build
from gridloom.compiler.source import load_source
from gridloom.dfg import Dfg, DfgBuilder, Edge
from gridloom.errors import OptionError
from gridloom.mapping import Failure, Mapping, json_format
from gridloom.mapping.mii import mii
from gridloom.search.budget import Budget
from gridloom.sim import simulate
from gridloom.targets.modulo.mappers.modulo import ModuloConfig, modulo
from gridloom.verify import legal

QUICK = Budget(time_limit=5.0, workers=2)


def mapped(dfg: Dfg, arch: str, config: ModuloConfig | None = None, budget: Budget = QUICK) -> Mapping:
    found = modulo(dfg, build(arch), config or ModuloConfig(), budget)
    assert isinstance(found, Mapping), found
    assert legal(found) == []
    assert simulate(found).ok
    return found


def counter(b: DfgBuilder) -> str:
    """i = 0, 1, 2, ..."""
    b.add("add", id="i")
    b.carry("i", "i", operand=0, distance=1, initial=[-1])
    b.edges.append(Edge(source=b.const(1), target="i", operand=1))
    return "i"


@pytest.mark.parametrize("seed", range(12))
def test_random_loops_are_legal_and_right_on_several_arrays(seed: int) -> None:
    arch = ("torus:2x2,regs=2", "torus:3x3,regs=4", "ramp-6", "torus:2x2,regs=8,file=central")[seed % 4]
    mapped(loop_graph(random.Random(seed)), arch)


@pytest.mark.parametrize(
    ("loop", "side", "ii"),
    [
        ("BitCount/bit_count1", 2, 3),
        ("ReverseBits/ReverseBits1", 2, 3),
        ("sqrt/isqrt321", 2, 5),
        ("GSM/gsm1", 2, 4),
        ("GSM/gsm1", 3, 3),
        ("SHA1/sha_transform1", 2, 7),
        ("SHA1/sha_transform1", 4, 2),
    ],
)
def test_published_loops_reach_their_mii(benchmarks: Path, loop: str, side: int, ii: int) -> None:
    dfg = load_source(str(benchmarks / "satmapit" / f"{loop}_nodes"))
    arch = f"torus:{side}x{side},regs=4,bus=none"
    assert mii(dfg, build(arch)).total == ii
    assert mapped(dfg, arch).ii == ii


@pytest.mark.slow
def test_loop_of_288_nodes_maps_at_ii_24(benchmarks: Path) -> None:
    dfg = load_source(str(benchmarks / "ccf" / "gsm_loop6" / "loop501_node.txt"))
    found = mapped(dfg, "torus:4x4,regs=4,bus=none", ModuloConfig(ii=24), Budget(effort=400_000, seed=1))
    assert found.ii == 24


def test_bus_of_a_row_bounds_the_ii() -> None:
    b = DfgBuilder("loads")
    b.array("A", 128)
    i = counter(b)
    for k in range(5):
        b.add("add", b.load("A", i), b.const(k), id=f"s{k}", liveout=f"s{k}")
    dfg = b.build()
    assert mapped(dfg, "torus:2x2").ii == mii(dfg, build("torus:2x2")).total == 3


def test_orders_over_many_iterations_bound_nothing_within_reach() -> None:
    b = DfgBuilder("far")
    b.array("A", 2000)
    i = counter(b)
    store = b.store("A", i, b.add("add", b.load("A", i, id="x"), b.const(3)), id="w")
    b.order("x", store, delay=0)
    for distance in (128, 1024):
        b.order(store, "x", distance=distance)
    mapped(b.build(), "torus:2x2")


def test_asked_ii_is_kept() -> None:
    b = DfgBuilder("one")
    b.add("xor", counter(b), b.const(5), id="y", liveout="y")
    assert mapped(b.build(), "torus:2x2", ModuloConfig(ii=3)).ii == 3


def test_run_ended_by_effort_is_the_same_for_any_number_of_workers() -> None:
    dfg = loop_graph(random.Random(3))
    texts = set()
    for workers in (1, 2):
        found = modulo(dfg, build("torus:2x2"), ModuloConfig(), Budget(effort=20_000, seed=5, workers=workers))
        assert isinstance(found, Mapping)
        texts.add(json_format.dumps(found))
    assert len(texts) == 1


def test_ii_below_a_recurrence_is_refused_by_its_name() -> None:
    b = DfgBuilder("ring")
    b.add("add", counter(b), id="a")
    b.add("mul", "a", b.const(3), id="m", liveout="m")
    b.carry("m", "a", operand=1, distance=1)
    failure = modulo(b.build(), build("torus:2x2"), ModuloConfig(ii=1), QUICK)
    assert isinstance(failure, Failure)
    assert "recurrence" in failure.constraint
    assert "II 2" in " ".join(failure.levers)


def test_class_that_no_tile_has_is_refused_before_the_search() -> None:
    b = DfgBuilder("mul")
    b.add("mul", counter(b), b.const(3), id="m", liveout="m")
    failure = modulo(b.build(), build("torus:2x2,mul=none"), ModuloConfig(), QUICK)
    assert isinstance(failure, Failure)
    assert "mul" in failure.constraint


def test_static_arrays_are_refused_with_a_message() -> None:
    b = DfgBuilder("s")
    b.output(b.input("x"), "y")
    with pytest.raises(OptionError):
        modulo(b.build(), static_grid(2, 2), ModuloConfig(), QUICK)
