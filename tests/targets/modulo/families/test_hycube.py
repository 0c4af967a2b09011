"""``hycube``: which wires join what, and what a description may say."""

from __future__ import annotations

import pytest

from gridloom.archs import Kind, build
from gridloom.archs.described.writing import describe_by_tile
from gridloom.errors import ArchError


def reached(text: str, start: str) -> set[str]:
    """What a value in a resource is in within the same cycle, whatever the number of links."""
    arch = build(text)
    graph = arch.unroll(1)
    found, waiting = {start}, [start]
    while waiting:
        here = arch.resource(waiting.pop())
        span = slice(graph.indptr[here], graph.indptr[here + 1])
        for target, latency in zip(graph.target[span].tolist(), graph.latency[span].tolist(), strict=True):
            name = arch.resource_names[target]
            if latency == 0 and name not in found:
                found.add(name)
                waiting.append(name)
    return found


@pytest.mark.parametrize("text", ["hycube:4x4", "hycube:4x4,regs=4"])
def test_a_value_reaches_every_operand_in_the_cycle_of_its_result(text: str) -> None:
    operands = {f"pe_{r}_{c}.in0" for r in range(4) for c in range(4)}
    assert operands <= reached(text, "pe_0_0.out")


def test_without_further_hops_links_of_a_file_lead_to_no_links() -> None:
    arch = build("hycube:3x3,regs=2,hops=1")
    links = arch.kind == Kind.LINK
    assert not (links[arch.arc_source] & links[arch.arc_target]).any()


def test_the_chip_has_one_register_at_each_input_port_and_memory_in_the_first_column() -> None:
    arch = build("hycube:4x4")
    assert len(arch.links) == 48
    assert int((arch.kind == Kind.REG).sum()) == int((arch.kind == Kind.SWITCH).sum()) == 48
    assert {arch.tiles[k].col for k in arch.tiles_for("mem")} == {0}


def test_a_register_and_what_passes_by_share_one_port() -> None:
    arch = build("hycube:1x2")
    port = arch.resource("pe_0_1.p0")
    drivers = {arch.resource_names[s] for s in arch.arc_source[arch.arc_target == port].tolist()}
    assert drivers == {"pe_0_0>pe_0_1", "pe_0_1.r0"}
    assert int(arch.capacity[port]) == 1


def test_links_write_registers_a_cycle_later() -> None:
    arch = build("hycube:1x2,regs=2")
    graph = arch.unroll(2)
    assert graph.latencies(arch.resource("pe_0_0>pe_0_1"), 0, arch.resource("pe_0_1.r1")) == (1,)


def test_the_limit_on_links_is_part_of_the_fingerprint() -> None:
    assert build("hycube:2x2,hops=2").fingerprint != build("hycube:2x2,hops=3").fingerprint


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("hycube:2x2,hops=0", "hops: expected 1 to 16, found 0"),
        ("hycube:2x2,regs=2,rotating=3", "rotating: expected 0 to regs (2) or 'free', found 3"),
        ("hycube:2x2,rotating=1", "rotating: expected 0 to regs (0) or 'free', found 1"),
        ("hycube:2x2,memory=left", "memory: no layout is called 'left'; known: "),
    ],
)
def test_what_a_description_may_not_say(text: str, message: str) -> None:
    with pytest.raises(ArchError) as error:
        build(text)
    assert error.value.message.startswith(message)


@pytest.mark.parametrize(
    "text", ["hycube:3x3", "hycube:2x3,regs=3,hops=2", "hycube:2x2,regs=2,rotating=free,hold=next"]
)
def test_it_is_written_tile_by_tile_and_read_back(text: str) -> None:
    arch = build(text)
    described = describe_by_tile(arch)
    assert described is not None
    assert described["bypass"]["hops"] == arch.links_per_cycle
    again = build(described)
    assert (again.fingerprint, again.traits) == (arch.fingerprint, arch.traits)


def test_crossbars_can_be_added_to_another_array_and_taken_away() -> None:
    torus = build({"family": "array", "extends": "torus:3x3,regs=2", "bypass": 3})
    assert (torus.links_per_cycle, torus.has("crossbars"), torus.has("wraps")) == (3, True, True)
    plain = build({"family": "array", "extends": "hycube:3x3,regs=2", "bypass": None})
    assert (plain.links_per_cycle, plain.has("registers")) == (None, True)


@pytest.mark.parametrize(
    ("keys", "message"),
    [
        ({"bypass": 0}, "bypass.hops: expected a whole number from 1 to 16, found 0"),
        ({"bypass": {"hop": 2}}, "bypass.hop: a bypass has no key 'hop'; did you mean 'hops'?"),
        ({"style": "static", "bypass": 2}, "bypass: values pass the tiles of a static array anyway; leave it out, or "
         "write style: modulo"),
        ({"bypass": {"hops": 2, "ports": True}, "tiles": [{"registers": 2}]}, "bypass.ports: tile [0, 0] has registers "
         "of its own or in a file; a tile keeps values at its ports or in a file: write registers: 0 for it, or leave "
         "ports out"),
    ],
)  # fmt: skip
def test_what_the_key_bypass_may_not_say(keys: dict[str, object], message: str) -> None:
    with pytest.raises(ArchError) as error:
        build({"family": "array", "rows": 2, "cols": 2, **keys})
    assert error.value.message == message
