"""What the modulo mapper promises beyond single results: more of an array is never worse, kept things are kept."""

from __future__ import annotations

from pathlib import Path

import pytest

from gridloom.archs import build
from gridloom.compiler.source import load_source
from gridloom.dfg import Dfg, DfgBuilder, Edge
from gridloom.mapping import Failure, Mapping
from gridloom.mapping.mii import mii
from gridloom.search.budget import Budget
from gridloom.sim import simulate
from gridloom.targets.modulo.mappers.modulo import ModuloConfig, modulo
from gridloom.transform.streams import streams_to_memory
from gridloom.verify import legal


def outcome(dfg: Dfg, arch: str, seconds: float = 4.0, **settings: int) -> Mapping | Failure:
    found = modulo(dfg, build(arch), ModuloConfig(**settings), Budget(time_limit=seconds, workers=2))
    if isinstance(found, Mapping):
        assert legal(found) == []
        assert simulate(found, iterations=16).ok
    return found


def ii_of(dfg: Dfg, arch: str) -> int:
    found = outcome(dfg, arch)
    assert isinstance(found, Mapping), found
    return found.ii


def counted() -> tuple[DfgBuilder, str]:
    b = DfgBuilder("loop")
    b.add("add", id="i")
    b.carry("i", "i", operand=0, distance=1, initial=[-1])
    b.edges.append(Edge(source=b.const(1), target="i", operand=1))
    return b, "i"


# -- monotone ---------------------------------------------------------------------------------------------------------

REGISTERS = ("torus:2x2,regs=2,bus=none", "torus:2x2,regs=4,bus=none", "torus:2x2,regs=8,bus=none")
ARRAYS = ("torus:2x2,regs=4,bus=none", "torus:3x3,regs=4,bus=none", "torus:4x4,regs=4,bus=none")


@pytest.mark.parametrize("archs", [REGISTERS, ARRAYS], ids=["registers", "arrays"])
@pytest.mark.parametrize("loop", ["BitCount/bit_count1", "ReverseBits/ReverseBits1", "sqrt/isqrt321", "GSM/gsm1"])
def test_more_registers_or_more_tiles_never_give_a_worse_ii(
    benchmarks: Path, loop: str, archs: tuple[str, ...]
) -> None:
    dfg = load_source(str(benchmarks / "satmapit" / f"{loop}_nodes"))
    found = [ii_of(dfg, arch) for arch in archs]
    assert found == sorted(found, reverse=True)


@pytest.mark.parametrize("kernel", ["atax", "isqrt", "jacobi", "gsm_ltp"])
def test_more_registers_never_give_a_worse_ii_with_buses(kernel: str) -> None:
    dfg = load_source(f"kernel:{kernel}")
    found = [ii_of(dfg, f"torus:3x3,regs={count}") for count in (2, 4, 8)]
    assert found == sorted(found, reverse=True)


# -- ways that values take --------------------------------------------------------------------------------------------


def kinds_used(mapping: Mapping) -> set[str]:
    return {name.rpartition(".")[2].rstrip("0123456789") for route in mapping.routes for name, _ in route.hops}


def test_value_that_outlives_a_period_is_kept_by_rotating_registers() -> None:
    b, i = counted()
    late = i
    for k in range(3):
        late = b.add("xor", late, b.const(k + 3))
    b.add("sub", late, i, id="y", liveout="y")
    b.carry(i, "z", operand=0, distance=3)
    b.add("neg", id="z", liveout="z")
    found = outcome(b.build(), "torus:3x3,regs=8,memory=none,hold=next", ii=1)
    assert isinstance(found, Mapping), found
    assert found.settings["rotating"]


def test_value_without_registers_to_wait_in_goes_through_memory() -> None:
    b, i = counted()
    b.add("neg", id="old", liveout="old")
    b.carry(i, "old", operand=0, distance=9)
    found = outcome(b.build(), "torus:1x2,regs=0,hold=next,bus=none", ii=3)
    assert isinstance(found, Mapping), found
    assert {"store", "load"} <= kinds_used(found)


def test_live_in_sits_in_a_register_where_one_is_free_and_in_memory_otherwise() -> None:
    def places(arch: str) -> set[str]:
        b, i = counted()
        b.add("add", i, b.livein("x"), id="y", liveout="y")
        found = outcome(b.build(), arch)
        assert isinstance(found, Mapping), found
        return {instance.place for instance in found.instances if instance.node == "x"}

    assert places("torus:2x2,regs=0,bus=none") == {"mem"}
    assert all(".r" in place for place in places("torus:2x2,regs=2,rotating=0,memory=none"))


def test_value_wanted_at_both_ends_of_a_ring_is_computed_twice() -> None:
    """One PE of eight is free: too few to pass the value on, enough for a copy."""
    b, i = counted()
    b.array("A", 64)
    b.add("mul", i, b.const(3), id="u", liveout="u")
    b.load("A", i, id="v")
    for k in range(4):
        b.add("add", id=f"filler{k}", liveout=f"filler{k}")
        b.carry(f"filler{k}", f"filler{k}", operand=0, distance=1)
        b.edges.append(Edge(source=b.const(1), target=f"filler{k}", operand=1))
    places = {"mul": {"tiles": [[0, 0]]}, "memory": {"tiles": [[0, 4]]}}
    arch = build({"family": "torus", "rows": 1, "cols": 8, "regs": 0, "bus": None, **places})
    found = modulo(b.build(), arch, ModuloConfig(ii=1), Budget())
    assert isinstance(found, Mapping), found
    assert legal(found) == []
    assert simulate(found, iterations=16).ok
    assert len(found.copies["i"]) == 2
    without = modulo(b.build(), arch, ModuloConfig(ii=1, recompute=False), Budget())
    assert isinstance(without, Failure)


# -- reasons ----------------------------------------------------------------------------------------------------------


def loads(count: int) -> Dfg:
    b, i = counted()
    b.array("A", 128)
    for k in range(count):
        b.load("A", i, id=f"x{k}")
    return b.build()


def reason(dfg: Dfg, arch: str, **settings: int) -> str:
    found = outcome(dfg, arch, **settings)
    assert isinstance(found, Failure)
    return str(found)


def test_recurrence_is_named_with_the_ii_it_needs() -> None:
    b = DfgBuilder("ring")
    b.add("neg", id="a")
    b.add("mul", "a", b.const(3), id="m")
    b.add("neg", "m", id="n", liveout="n")
    b.carry("n", "a", operand=0, distance=1)
    assert reason(b.build(), "torus:2x2", ii=2) == (
        "recurrence a -> m -> n -> a: needs II >= 3, has II 2; would help: II 3"
    )


def test_bus_that_is_too_slow_is_counted() -> None:
    assert reason(loads(5), "torus:1x4", ii=4) == (
        "memory bus bus_0: needs 5 slots, has 4 at II 4; would help: II 5, more memory buses"
    )


def test_contexts_memory_and_operands_are_counted() -> None:
    assert reason(loads(9), "torus:2x2,contexts=3").startswith("contexts of a PE: needs 5 slots (")
    assert reason(loads(2), "torus:2x2,data_memory=256") == (
        "data memory: needs 512 bytes for A, has 256 bytes; would help: data_memory=512, a smaller array 'A'"
    )
    b, i = counted()
    b.add("select", i, i, i, id="s", liveout="s")
    assert reason(b.build(), "torus:2x2,operands=2") == (
        "operands of node 's': needs 3 operands, has 2 on torus:2x2,operands=2; would help: operands=3"
    )


def test_live_ins_without_memory_are_counted_in_registers() -> None:
    b, i = counted()
    for k in range(3):
        b.add("add", i, b.livein(f"x{k}"), id=f"y{k}", liveout=f"y{k}")
    assert reason(b.build(), "torus:1x2,regs=1,memory=none") == (
        "registers that keep live-ins: needs 3 (x0, x1, x2), has 2 on torus:1x2,regs=1,memory=none; "
        "would help: regs=2, memory=all"
    )


def test_run_that_is_interrupted_returns_soon() -> None:
    dfg = load_source("kernel:sobel")
    found = modulo(streams_to_memory(dfg), build("torus:2x2,regs=1"), ModuloConfig(), Budget(interrupted=lambda: True))
    assert isinstance(found, Failure)


def test_bound_is_proved_where_it_is_reached() -> None:
    dfg = loads(3)
    found = outcome(dfg, "torus:2x2")
    assert isinstance(found, Mapping)
    assert found.provenance["optimal"] == (found.ii == mii(dfg, build("torus:2x2")).total)
