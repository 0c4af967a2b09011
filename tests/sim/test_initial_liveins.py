"""Live-ins as initial values of loop-carried edges: they need no node, no register and no operation."""

from __future__ import annotations

import pytest

import gridloom as gl
from gridloom.dfg import Dfg, DfgBuilder
from gridloom.dfg.interpreter import Interpreter, random_stimulus
from gridloom.dfg.json_format import dumps, loads
from gridloom.errors import DfgError
from gridloom.hardware.bitstream.encode import encode, fit_parameters
from gridloom.hardware.rtl.structure import Hardware
from gridloom.mapping.configuration import configure
from gridloom.sim import simulate


def running_sum() -> Dfg:
    """The sum of an array from ``start`` on, and what it was two iterations ago, from ``older`` and ``old`` on."""
    b = DfgBuilder("sum", "i32")
    b.array("x", 64)
    b.array("y", 64)
    count = b.add("add", id="count")
    b.carry(count, count, operand=0, distance=1, initial=["first"])
    b.carry(b.const(1), count, operand=1, distance=0)
    load = b.add("load", id="load", array="x")
    b.carry(count, load, operand=0, distance=1, initial=["first"])
    total = b.add("add", id="total", liveout="total")
    b.carry(total, total, operand=0, distance=1, initial=["start"])
    b.carry(load, total, operand=1, distance=0)
    store = b.add("store", id="store", array="y")
    b.carry(count, store, operand=0, distance=1, initial=["first"])
    b.carry(total, store, operand=1, distance=2, initial=["older", "old"])
    return b.build()


def test_the_first_iterations_read_the_live_ins():
    dfg = running_sum()
    assert dfg.liveins == ("first", "start", "older", "old")
    stimulus = random_stimulus(dfg, 5, 3, within={"first": 9})
    seen = Interpreter(dfg).run(stimulus)
    first, start = stimulus.liveins["first"], stimulus.liveins["start"]
    kept = [seen.memory["y"][first + k] for k in range(3)]
    total = (start + stimulus.memory["x"][first] + (1 << 31)) % (1 << 32) - (1 << 31)
    assert kept == [stimulus.liveins["older"], stimulus.liveins["old"], total]


def test_the_names_survive_json():
    assert loads(dumps(running_sum())) == running_sum()


def test_an_array_computes_what_the_graph_means():
    result = gl.map(running_sum(), "torus:2x2", seed=1, effort=20_000)
    verdict = simulate(result.mapping, iterations=20)
    assert verdict.ok
    assert (verdict.iterations, verdict.cycles) == (20, result.metrics["latency"] + result.mapping.ii * 19)
    assert not any(instance.node in ("start", "old") for instance in result.mapping.instances)


def test_the_bits_hold_the_values_that_are_given():
    result = gl.map(running_sum(), "torus:2x2", seed=1, effort=20_000)
    configuration = configure(result.mapping)
    hardware = Hardware(result.arch, fit_parameters(configuration))
    fields = encode(configuration, hardware, {"start": 12345, "old": -1})
    words = [value for unit in fields.units.values() for value in unit.values.values()]
    assert 12345 in words and 0xFFFFFFFF in words


@pytest.mark.parametrize(
    ("initial", "message"),
    [
        ("", "data edges of graphs with numbers take names"),
        ("total", "has the initial value 'total', which is a add, no live-in"),
    ],
)
def test_names_that_are_no_live_ins_are_refused(initial: str, message: str):
    b = DfgBuilder("wrong", "i32")
    total = b.add("add", id="total")
    b.carry(b.const(1), total, operand=1, distance=0)
    b.carry(total, total, operand=0, distance=1, initial=[initial])
    with pytest.raises(DfgError) as caught:
        b.build()
    assert message in str(caught.value)
