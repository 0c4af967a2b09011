"""The time-expanded resource graph and the settings that shape it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from gridloom.archs import Kind, build, check_settings
from gridloom.errors import ArchError

MODULO = ("torus:2x3,regs=2", "ramp-1", "torus:1x2,regs=3,rotating=2,hold=next", "streaming-engine:5")
STATIC = ("mesh:2x3", "hex:3x2", "vpcma:3x2", "rdu:2x2")


@pytest.mark.parametrize("ii", [1, 2, 3, 5])
@pytest.mark.parametrize("text", MODULO)
def test_arc_leads_to_the_slot_its_latency_later(text: str, ii: int) -> None:
    arch = build(text)
    graph = arch.unroll(ii)
    source = np.repeat(np.arange(graph.nodes), np.diff(graph.indptr))
    assert ((source % ii + graph.latency) % ii == graph.target % ii).all()
    # Every arc once a slot; only what rotates changes its goal.
    expected = sorted(zip(arch.arc_source.tolist(), arch.arc_target.tolist(), arch.arc_latency.tolist(), strict=True))
    for slot in range(ii):
        here = source % ii == slot
        found = zip(
            (source // ii)[here].tolist(), (graph.target // ii)[here].tolist(), graph.latency[here], strict=True
        )
        kept = [arc for arc in found if arch.kind[arc[0]] != Kind.REG or arch.kind[arc[1]] != Kind.REG]
        assert sorted(kept) == [a for a in expected if arch.kind[a[0]] != Kind.REG or arch.kind[a[1]] != Kind.REG]


@pytest.mark.parametrize("text", [*MODULO, *STATIC])
def test_predecessors_are_the_same_arcs_backwards(text: str) -> None:
    arch = build(text)
    graph = arch.unroll(3 if arch.style == "modulo" else 1)
    indptr, sources, latency = graph.predecessors
    forward = zip(np.repeat(np.arange(graph.nodes), np.diff(graph.indptr)), graph.target, graph.latency, strict=True)
    backward = zip(sources, np.repeat(np.arange(graph.nodes), np.diff(indptr)), latency, strict=True)
    assert sorted(forward) == sorted(backward)


def test_latencies_between_two_resources_are_looked_up_by_slot() -> None:
    arch = build("torus:1x2,regs=2")
    out, register = arch.resource("pe_0_0.out"), arch.resource("pe_0_0.r1")
    graph = arch.unroll(2, {"rotating": {"pe_0_0": 2}})
    assert graph.latencies(out, 0, out) == (1,)
    assert graph.latencies(out, 0, register) == ()
    assert (graph.latencies(register, 0, register), graph.latencies(register, 1, register)) == ((1,), ())


def test_defaults_of_settings_are_filled_in() -> None:
    assert check_settings(build("vpcma:3x2"), {}) == {"pipeline": [0, 0], "rotating": {}}
    assert check_settings(build("vpcma:3x2"), {"pipeline": (1, True)}) == {"pipeline": [1, 1], "rotating": {}}
    assert build("torus:1x2").unroll(1, {"rotating": {"pe_0_0": 4}}).settings == {"rotating": {"pe_0_0": 4}}


BAD: list[tuple[str, int, dict[str, Any], str]] = [
    ("mesh:2x2", 2, {}, "array 'mesh:2x2' is static: its II is 1, found 2"),
    ("rdu:2x2", 2, {}, "array 'rdu:2x2' is elastic: its II is 1, found 2"),
    ("torus:2x2", 0, {}, "II must be at least 1, found 0"),
    ("torus:2x2", 10**9, {}, "II 1000000000 makes 169000000000 arcs of array 'torus:2x2'; at most 20000000"),
    ("mesh:2x2", 1, {"pipeline": [1]}, "array 'mesh:2x2' has no setting 'pipeline'; it has: rotating"),
    ("vpcma:3x2", 1, {"pipeline": [1]}, "setting 'pipeline' of array 'vpcma:3x2' takes 2 bits, found [1]"),
    ("vpcma:3x2", 1, {"pipeline": [1, 2]}, "setting 'pipeline' of array 'vpcma:3x2' takes 2 bits, found [1, 2]"),
    ("vpcma:3x2", 1, {"pipeline": "11"}, "setting 'pipeline' of array 'vpcma:3x2' takes 2 bits, found '11'"),
    ("torus:2x2", 1, {"rotating": 2}, "setting 'rotating' takes a number for each register file, found 2"),
    ("torus:2x2", 1, {"rotating": {"rf": 2}}, "array 'torus:2x2' has no register file 'rf'"),
    ("torus:2x2", 1, {"rotating": {"pe_0_0": 5}}, "register file 'pe_0_0' has 4 registers, found rotating 5"),
    ("torus:2x2", 1, {"rotating": {"pe_0_0": "x"}}, "register file 'pe_0_0' has 4 registers, found rotating 'x'"),
]


@pytest.mark.parametrize(("text", "ii", "settings", "message"), BAD)
def test_setting_that_the_array_does_not_have_is_refused(
    text: str, ii: int, settings: dict[str, Any], message: str
) -> None:
    with pytest.raises(ArchError) as error:
        build(text).unroll(ii, settings)
    assert str(error.value) == message
