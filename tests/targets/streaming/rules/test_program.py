"""Legality of programs: flows share nothing but channels."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from gridloom.archs import build
from gridloom.dfg.model import DfgBuilder
from gridloom.mapping.model import Instance, Mapping, Route
from gridloom.targets.streaming.program.model import Flow, Program
from gridloom.targets.streaming.rules.program import legal_program

ARCH = build("streaming-engine:8,spokes=4")


def flow(name: str, base: int, ii: int) -> Flow:
    """p on the base tile, q two tiles further, by one link."""
    b = DfgBuilder(name)
    b.add("add", b.input("x"), b.const(1), id="p")
    b.output(b.add("mul", "p", b.const(2), id="q"), "y")
    dfg = b.build()
    edge = next(k for k, e in enumerate(dfg.edges) if (e.source, e.target) == ("p", "q"))
    first, last = f"t_{base}", f"t_{base + 2}"
    hops = ((f"{first}.out", 3), (f"{first}>{last}", 3), (f"{last}.in0", 5))
    instances = (Instance(node="p", place=first, cycle=0), Instance(node="q", place=last, cycle=5))
    mapping = Mapping(dfg=dfg, arch=ARCH, ii=ii, instances=instances, routes=(Route(edge=edge, hops=hops),))
    return Flow(name=name, iterations=4, base=base, tiles=3, mapping=mapping)


def with_parts(flow: Flow, **parts: Any) -> Flow:
    return replace(flow, mapping=replace(flow.mapping, **parts))


def program(*flows: Flow) -> Program:
    return Program(name="p", arch=ARCH, flows=flows, channels=())


def found(*flows: Flow) -> list[str]:
    return [str(violation) for violation in legal_program(program(*flows))]


def test_flows_side_by_side_are_legal_whatever_their_iis() -> None:
    assert found(flow("a", 0, 1), flow("b", 3, 4)) == []


def test_tile_of_two_flows_is_found() -> None:
    assert found(flow("a", 0, 1), flow("b", 2, 1)) == [
        "tile-shared at t_2: found flows a and b; allowed: one flow per tile"
    ]


def test_base_tile_belongs_to_its_flow_though_nothing_is_on_it() -> None:
    wide = replace(flow("b", 3, 1), base=2, tiles=4)
    assert found(flow("a", 0, 1), wide) == ["tile-shared at t_2: found flows a and b; allowed: one flow per tile"]


def test_flow_beyond_its_tiles_is_found() -> None:
    assert found(replace(flow("a", 0, 1), tiles=2)) == ["flow-tiles at flow a: found t_2; allowed: tiles 0 to 1"]


def test_flow_beyond_the_array_is_found() -> None:
    assert found(replace(flow("a", 5, 1), tiles=4)) == [
        "flow-tiles at flow a: found tiles 5 to 8; allowed: tiles 0 to 7"
    ]


def test_flow_of_another_array_is_found() -> None:
    other = flow("a", 0, 1)
    other = replace(other, mapping=replace(other.mapping, arch=build("streaming-engine:9,spokes=4")))
    assert found(other) == [
        "flow-array at flow a: found streaming-engine:9,spokes=4; allowed: the program's array "
        "streaming-engine:8,spokes=4"
    ]


def test_violation_inside_a_flow_names_it() -> None:
    slow = flow("a", 0, 5)
    assert all(line.startswith("contexts at flow a: ") for line in found(slow)) and found(slow)


def test_names_that_the_array_does_not_have_are_violations() -> None:
    sound = flow("a", 0, 1)
    first, second = sound.mapping.instances
    (route,) = sound.mapping.routes
    astray = replace(first, place="t_99"), second
    assert any(line.startswith("unknown-place at flow a: ") for line in found(with_parts(sound, instances=astray)))
    hops = (("t_99.out", 3), *route.hops[1:])
    lines = found(with_parts(sound, routes=(replace(route, hops=hops),)))
    assert any(line.startswith("unknown-resource at flow a: ") for line in lines)


def test_an_op_on_a_resource_is_a_violation() -> None:
    sound = flow("a", 0, 1)
    first, second = sound.mapping.instances
    lines = found(with_parts(sound, instances=(replace(first, place="t_5.out"), second)))
    assert "flow-tiles at flow a: found t_5; allowed: tiles 0 to 2" in lines


def test_a_base_before_the_array_is_found() -> None:
    assert found(replace(flow("a", 0, 1), base=-1, tiles=4)) == [
        "flow-tiles at flow a: found tiles -1 to 2; allowed: tiles 0 to 7"
    ]
