"""The processor that loops are compared with: each of its assumptions changes the cycles as it says."""

from __future__ import annotations

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.random_cases import loop_graph

from gridloom.dfg import Dfg, DfgBuilder
from gridloom.errors import OptionError
from gridloom.flow.bench.processor import Processor, program, sequential_cycles
from gridloom.flow.inputs import prepare


def chain(*ops: str) -> Dfg:
    """A load, then ops one after the other; the index is a live-in."""
    b = DfgBuilder("chain")
    b.array("A", 8)
    value = b.load("A", b.livein("i"))
    for op in ops:
        value = b.add(op, value, b.const(3))
    b.store("A", b.const(0), value)
    return b.build()


def independent(op: str, count: int) -> Dfg:
    b = DfgBuilder("independent")
    x = b.livein("x")
    for k in range(count):
        b.add(op, x, b.const(k + 1), id=f"n{k}", liveout=f"n{k}")
    return b.build()


def test_an_instruction_waits_for_its_operands() -> None:
    # Load at 0 (result at 3), comparison meanwhile, mul at 3 (6), add at 6 (7), store at 7, branch at 8.
    assert sequential_cycles(chain("mul", "add")) == 9
    assert sequential_cycles(chain("mul", "add"), Processor(mul=1)) == 7
    assert sequential_cycles(chain("mul", "add"), Processor(load=2)) == 8
    assert sequential_cycles(chain("mul", "add"), Processor(alu=2)) == 10


def test_a_blocking_processor_waits_for_every_result() -> None:
    # load 3, mul 3, add 1, store 1, comparison and branch 2
    assert sequential_cycles(chain("mul", "add"), Processor(blocking=True)) == 10


def test_independent_instructions_issue_one_per_cycle_or_as_many_as_the_width() -> None:
    assert sequential_cycles(independent("mul", 6)) == 8
    assert sequential_cycles(independent("mul", 6), Processor(width=2)) == 4


def test_dividers_take_one_instruction_at_a_time() -> None:
    assert sequential_cycles(independent("div", 4)) == 4 * 9
    assert sequential_cycles(independent("div", 4), Processor(div=12)) == 4 * 12


def test_a_recurrence_bounds_the_iteration() -> None:
    b = DfgBuilder("sum")
    b.add("mul", b.livein("x"), id="s", liveout="s")
    b.carry("s", "s", operand=1, distance=1)
    assert sequential_cycles(b.build(), Processor(mul=7)) == 7
    assert sequential_cycles(b.build(), Processor(mul=2)) == 3


def test_misses_lengthen_loads_by_their_share() -> None:
    assert sequential_cycles(chain("add"), Processor(misses=0.1, miss=20)) == sequential_cycles(chain("add")) + 2


def test_the_loop_ends_with_a_branch_and_the_comparison_fills_a_gap() -> None:
    assert sequential_cycles(chain("add"), Processor(control=0)) == 5
    assert sequential_cycles(chain("add"), Processor(control=1)) == 6
    assert sequential_cycles(chain("add"), Processor(control=2)) == 6


def test_halves_of_an_access_are_one_instruction() -> None:
    b = DfgBuilder("halves")
    b.array("A", 8)
    address = b.add("load_address", b.livein("i"), array="A", id="a")
    b.add("load_data", address, array="A", id="d", liveout="d")
    # Load at 0, comparison at 1, branch at 2; nothing reads the value.
    assert sequential_cycles(b.build()) == 3


def test_floating_point_has_its_own_latencies() -> None:
    b = DfgBuilder("floats", domain="f32")
    value = b.add("mul", b.livein("x"), b.livein("y"))
    b.add("div", value, b.livein("z"), id="q", liveout="q")
    assert sequential_cycles(b.build(), Processor(fp=4, fp_div=15)) == 15
    assert sequential_cycles(b.build(), Processor(fp=6, fp_div=5)) == 8


@given(seed=st.integers(0, 10_000))
def test_more_of_a_resource_is_never_slower_and_waiting_for_all_results_never_faster(seed: int) -> None:
    dfg = loop_graph(random.Random(seed))
    one = sequential_cycles(dfg)
    assert sequential_cycles(dfg, Processor(width=2)) <= one <= sequential_cycles(dfg, Processor(blocking=True))
    assert one >= len(program(dfg, Processor())) - sum(step.latency == 0 for step in program(dfg, Processor()))


def test_instructions_come_after_those_that_they_read() -> None:
    for name in ("gemm", "adpcm", "ifft"):
        steps = program(prepare(f"kernel:{name}", "ramp-7").dfg, Processor())
        for k, step in enumerate(steps):
            assert all(source < k for source, distance in step.reads if distance == 0)


def test_impossible_processors_are_refused() -> None:
    with pytest.raises(OptionError, match="the processor's load is 0, which is too low"):
        Processor(load=0)
    with pytest.raises(OptionError, match="the processor's misses are a share of all loads, at most 1, not 2"):
        Processor(misses=2)
