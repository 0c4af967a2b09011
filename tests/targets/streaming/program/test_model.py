"""Programs as data: channels are checked, files are read back as they were written."""

from __future__ import annotations

import pytest

from gridloom.archs import build
from gridloom.dfg.model import Dfg, DfgBuilder
from gridloom.errors import MappingError
from gridloom.mapping.model import Instance, Mapping
from gridloom.targets.streaming.program.model import Channel, Flow, Program, check_channels, dumps, flow_order, loads


def graph(name: str) -> Dfg:
    b = DfgBuilder(name)
    b.array("A", 4)
    total = b.add("add", b.input("x"), b.livein("k"), id="s", liveout="last")
    b.output(total, "y")
    return b.build()


GRAPHS = {name: graph(name) for name in "abc"}
COUNTS = {"a": 8, "b": 8, "c": 9}


def transfer(source: str, target: str, value: str = "y", into: str = "x") -> Channel:
    return Channel(kind="transfer", source=source, target=target, value=value, into=into)


def test_flows_come_in_the_order_of_their_channels() -> None:
    channels = (transfer("c", "a"), Channel(kind="start", source="a", target="b"))
    assert flow_order(["a", "b", "c"], channels) == ["c", "a", "b"]


@pytest.mark.parametrize(
    ("channels", "message"),
    [
        ([transfer("a", "d")], "transfer a.y -> d.x: there is no flow 'd'; flows: a, b, c"),
        ([transfer("a", "b", value="s")], "transfer a.s -> b.x: 's' is not among the output streams: y"),
        ([transfer("a", "b", into="k")], "transfer a.y -> b.k: 'k' is not among the input streams: x"),
        ([transfer("a", "b"), transfer("a", "b")], "'x' of flow 'b' is fed by another channel already"),
        ([transfer("a", "c")], "flow 'a' runs 8 iterations, 'c' 9; a transfer needs as many of both"),
        ([transfer("a", "b"), transfer("b", "a")], "flows a, b wait for each other"),
        ([Channel(kind="start", source="a", target="b", value="y")], "a start carries no value"),
        (
            [Channel(kind="load", source="a", target="b", value="y", into="k")],
            "'y' is not among the live-outs and arrays: last, A",
        ),
        (
            [Channel(kind="load", source="a", target="b", value="A", into="k")],
            "'k' is not among the arrays: A",
        ),
    ],
)
def test_channel_that_cannot_be_is_named(channels: list[Channel], message: str) -> None:
    with pytest.raises(MappingError) as error:
        check_channels(GRAPHS, COUNTS, tuple(channels))
    assert message in str(error.value)


def program() -> Program:
    arch = build("streaming-engine:4,spokes=2")
    flows = []
    for k, name in enumerate("ab"):
        mapping = Mapping(
            dfg=GRAPHS[name],
            arch=arch,
            ii=k + 1,
            instances=(Instance(node="s", place=f"t_{2 * k}", cycle=0),),
            routes=(),
        )
        flows.append(Flow(name=name, iterations=8, base=2 * k, tiles=2, mapping=mapping))
    channels = (transfer("a", "b"), Channel(kind="load", source="a", target="b", value="last", into="k"))
    return Program(name="two", arch=arch, flows=tuple(flows), channels=channels)


def test_program_is_read_back_as_it_was_written() -> None:
    before = program()
    after = loads(dumps(before))
    assert (after.name, after.channels) == (before.name, before.channels)
    assert [(f.name, f.base, f.tiles, f.ii, f.iterations) for f in after.flows] == [
        ("a", 0, 2, 1, 8),
        ("b", 2, 2, 2, 8),
    ]
    assert dumps(after) == dumps(before)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (("gridloom-program", "gridloom-mapping"), 'expected "format": "gridloom-program"'),
        (('"base": 0', '"base": -1'), "base: expected a number of iterations or tiles, found -1"),
        (('"kind": "load"', '"kind": "post"'), "kind: expected transfer, load, start, branch, found 'post'"),
        (('"channels"', '"canals"'), "a key is missing or of the wrong type: 'channels'"),
    ],
)
def test_damaged_file_is_refused(change: tuple[str, str], message: str) -> None:
    with pytest.raises(MappingError) as error:
        loads(dumps(program()).replace(*change, 1), "p.json")
    assert str(error.value).startswith("p.json") and message in str(error.value)
