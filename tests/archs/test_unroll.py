"""The time-expanded resource graph and the settings that shape it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from gridloom.archs import Arch, Kind, ResourceGraph, build, check_settings
from gridloom.archs.unroll import _rotate as rotate
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


#: (array, II, settings): registers that rotate, some of them, pipeline bits, arcs of every kind of resource.
CASES: list[tuple[str, int, dict[str, Any]]] = [
    *((text, ii, {}) for text in MODULO for ii in (1, 2, 3)),
    *((text, 1, {}) for text in STATIC),
    ("torus:2x2,regs=4", 3, {"rotating": {"pe_0_0": 3, "pe_1_1": 4, "pe_0_1": 1}}),
    ("torus:2x2,regs=2", 1, {"rotating": {"pe_0_0": 2}}),
    ("hycube:2x2", 2, {}),
    ("vpcma:4x2", 1, {"pipeline": [1, 0, 1]}),
    ("vpcma:4x2", 1, {"pipeline": [0, 1, 0]}),
]


def independent_arcs(arch: Arch, ii: int, settings: dict[str, Any]) -> list[tuple[int, int, int, int, int]]:
    """All (resource, slot, resource, slot, latency), arc by arc from the definition in words."""
    bits = [bit for s in arch.settings for bit in settings.get(s.name, [0] * s.length)]
    after: dict[int, int] = {}
    for file in arch.register_files:
        count = settings.get("rotating", {}).get(file.name, file.rotating)
        # What is register k at the end of an iteration is register k - 1 at the start of the next one.
        after |= {file.registers[k]: file.registers[count - 1 if k == 0 else k - 1] for k in range(count)}
    arcs = []
    for a, b, latency, gate in zip(arch.arc_source, arch.arc_target, arch.arc_latency, arch.arc_gate, strict=True):
        cycles = int(latency) + (bits[gate] if gate >= 0 else 0)
        for slot in range(ii):
            turns = a == b and slot == ii - 1
            arcs.append((int(a), slot, after.get(int(b), int(b)) if turns else int(b), (slot + cycles) % ii, cycles))
    return sorted(arcs)


def unrolled_arcs(graph: ResourceGraph) -> list[tuple[int, int, int, int, int]]:
    """The same, read from the unrolled array."""
    source = np.repeat(np.arange(len(graph.indptr) - 1), np.diff(graph.indptr)).tolist()
    rows = zip(source, graph.target.tolist(), graph.latency.tolist(), strict=True)
    return sorted((*divmod(a, graph.ii), *divmod(b, graph.ii), cycles) for a, b, cycles in rows)


@pytest.mark.parametrize(("text", "ii", "settings"), CASES)
def test_unrolled_array_is_that_of_an_independent_definition(text: str, ii: int, settings: dict[str, Any]) -> None:
    arch = build(text)
    assert unrolled_arcs(arch.unroll(ii, settings)) == independent_arcs(arch, ii, settings)


def less_rotation(arch: Arch, settings: Any, goal: Any, ii: int) -> None:
    """Planted: registers keep what they have."""


def late_rotation(arch: Arch, settings: Any, goal: Any, ii: int) -> None:
    """Planted: registers rotate in the first slot."""
    rotate(arch, settings, goal, 1)


FAULTS = {
    "no rotation": ("_rotate", less_rotation),
    "rotation in another slot": ("_rotate", late_rotation),
    "no pipeline bit": ("_gate_bits", lambda arch, settings: np.zeros(9, dtype=np.int32)),
    "settings are forgotten": ("check_settings", lambda arch, settings: check_settings(arch, {})),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_fault_in_the_unrolled_array_is_found(monkeypatch: pytest.MonkeyPatch, fault: str) -> None:
    monkeypatch.setattr(f"gridloom.archs.unroll.{FAULTS[fault][0]}", FAULTS[fault][1])
    found = [unrolled_arcs(build(text).unroll(ii, chosen)) for text, ii, chosen in CASES]
    assert found != [independent_arcs(build(text), ii, chosen) for text, ii, chosen in CASES]


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
