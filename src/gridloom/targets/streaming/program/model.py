"""A program: several synchronous flows on one array, each with a base tile and an II, joined by asynchronous channels.

A flow is a mapping of its own graph onto tiles of its own, so that nothing but channels joins it to others. Channels
carry messages that take as long as they take:

``transfer``: iteration k of an input stream is iteration k of another flow's output stream.
``load``: a live-in, or an array, gets another flow's live-out, or array, when that flow has ended.
``start``: a flow begins when another has ended.
``branch``: as ``start``, but the target runs once for every such message, and the message is only sent when a live-out
of the source is not 0 (``when``) or is 0 (``unless``). Branches may form cycles: they are the loops of a program. A
branch from ``host`` is the command that a program begins with.
"""

from __future__ import annotations

import json
from collections.abc import Mapping as MappingABC
from dataclasses import dataclass
from typing import Any, Final, Literal, get_args

from gridloom.archs.model import Arch
from gridloom.dfg.model import Dfg
from gridloom.errors import MappingError
from gridloom.mapping import json_format
from gridloom.mapping.model import Mapping

ChannelKind = Literal["transfer", "load", "start", "branch"]

#: The source of branches that the host sends through the dispatch interface.
HOST: Final = "host"

FORMAT: Final = "gridloom-program"
VERSION: Final = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Channel:
    """An asynchronous edge between two flows.

    The module's docstring says what each kind carries, and when.
    """

    kind: ChannelKind
    #: The flows it joins.
    source: str
    target: str
    #: What leaves the source: an output stream (transfer), a live-out or an array (load); nothing for a start.
    value: str | None = None
    #: What it becomes in the target: an input stream (transfer), a live-in or an array (load).
    into: str | None = None
    #: Branches: the live-out of the source that must not be 0, or the one that must be 0, for the message to be sent.
    when: str | None = None
    unless: str | None = None
    #: Messages that may be sent and not freed yet; None: no limit.
    capacity: int | None = None

    def __str__(self) -> str:
        ends = [name if part is None else f"{name}.{part}" for name, part in
                ((self.source, self.value), (self.target, self.into))]  # fmt: skip
        condition = f" when {self.when}" if self.when else (f" unless {self.unless}" if self.unless else "")
        return f"{self.kind} {ends[0]} -> {ends[1]}{condition}"

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON data."""
        parts = {"value": self.value, "into": self.into, "when": self.when, "unless": self.unless,
                 "capacity": self.capacity}  # fmt: skip
        known = {key: part for key, part in parts.items() if part is not None}
        return {"kind": self.kind, "source": self.source, "target": self.target, **known}


@dataclass(frozen=True, kw_only=True)
class Flow:
    """A synchronous flow in its place: a mapping of its own graph onto tiles that no other flow uses.

    Its tiles are ``base`` to ``base + tiles - 1``.
    """

    name: str
    #: Iterations that it runs for.
    iterations: int
    #: Number of the first of its tiles, which starts its iterations, and how many it has.
    base: int
    tiles: int
    mapping: Mapping

    @property
    def ii(self) -> int:
        """Cycles between its iterations."""
        return self.mapping.ii


@dataclass(frozen=True, kw_only=True)
class Program:
    """Flows and channels on an array.

    Flows share no tile; :func:`check_channels` says which channels are sound.
    """

    name: str
    arch: Arch
    flows: tuple[Flow, ...]
    channels: tuple[Channel, ...]

    def flow(self, name: str) -> Flow:
        """The flow of that name."""
        return next(flow for flow in self.flows if flow.name == name)

    def branched(self, name: str) -> bool:
        """True for a flow that runs once for every branch message, and not once."""
        return has_branch(name, self.channels)

    def into(self, name: str) -> list[Channel]:
        """The channels that end in a flow."""
        return [channel for channel in self.channels if channel.target == name]


def has_branch(name: str, channels: tuple[Channel, ...]) -> bool:
    """True when a branch leads to a flow."""
    return any(channel.kind == "branch" and channel.target == name for channel in channels)


def taken(channel: Channel, liveouts: MappingABC[str, int]) -> bool:
    """True when a channel is a branch whose condition holds for the live-outs of its source."""
    if channel.kind != "branch":
        return False
    if channel.when is not None:
        return liveouts[channel.when] != 0
    return channel.unless is None or liveouts[channel.unless] == 0


def flow_order(names: list[str], channels: tuple[Channel, ...]) -> list[str]:
    """The flows in an order in which channels go forward; MappingError for flows that wait for each other.

    Branches may go back, and so may loads between flows that branches start: these take what the run before left. Flows
    that could come next keep the order of ``names``. Costs O(flows^2 * channels).
    """
    loops = {name for name in names if has_branch(name, channels)}
    forward = [
        c for c in channels if c.kind != "branch" and not (c.kind == "load" and c.source in loops and c.target in loops)
    ]
    left, order = list(names), []
    while left:
        ready = [n for n in left if not any(c.target == n and c.source in left for c in forward)]
        if not ready:
            raise MappingError(
                f"flows {', '.join(left)} wait for each other; only branches, and loads between flows that branches "
                "start, may form a cycle"
            )
        order += ready
        left = [name for name in left if name not in ready]
    return order


def check_channels(
    graphs: MappingABC[str, Dfg], iterations: MappingABC[str, int], channels: tuple[Channel, ...]
) -> None:
    """Raise MappingError for the first channel that names what is not there, or feeds what is fed already.

    A transfer needs as many iterations on both ends; two arrays that are joined need the same length. Flows may not
    wait for each other in a circle.
    """
    fed: set[tuple[str, str]] = set()
    for channel in channels:
        for name in (channel.source, channel.target):
            if name not in graphs and not (name == HOST and name is channel.source and channel.kind == "branch"):
                raise MappingError(f"there is no flow {name!r}; flows: {', '.join(graphs)}", where=str(channel))
        _check_control(channel, graphs, channels)
        if channel.kind in ("start", "branch"):
            if channel.value is not None or channel.into is not None:
                raise MappingError(f"a {channel.kind} carries no value; name the two flows only", where=str(channel))
            continue
        _check_ends(channel, graphs[channel.source], graphs[channel.target])
        end = (channel.target, channel.into or "")
        if end in fed:
            raise MappingError(f"{end[1]!r} of flow {end[0]!r} is fed by another channel already", where=str(channel))
        fed.add(end)
        if channel.kind == "transfer" and iterations[channel.source] != iterations[channel.target]:
            raise MappingError(
                f"flow {channel.source!r} runs {iterations[channel.source]} iterations, {channel.target!r} "
                f"{iterations[channel.target]}; a transfer needs as many of both",
                where=str(channel),
            )
    flow_order(list(graphs), channels)


def _check_control(channel: Channel, graphs: MappingABC[str, Dfg], channels: tuple[Channel, ...]) -> None:
    """Conditions are live-outs of the source of a branch, and flows that run once and flows that loop do not mix."""
    condition = channel.when or channel.unless
    if condition is not None:
        if channel.kind != "branch" or (channel.when and channel.unless) or channel.source == HOST:
            raise MappingError("only a branch from a flow has a condition, when or unless", where=str(channel))
        liveouts = [node.liveout for node in graphs[channel.source].nodes if node.liveout]
        _named(channel, "live-outs", condition, liveouts)
    if channel.capacity is not None and channel.capacity < 1:
        raise MappingError(f"capacity: expected at least 1, found {channel.capacity}", where=str(channel))
    if channel.kind == "branch":
        return
    source, target = has_branch(channel.source, channels), has_branch(channel.target, channels)
    if channel.kind == "start" and target:
        raise MappingError(f"flow {channel.target!r} is started by branches; use a branch", where=str(channel))
    if (channel.kind == "transfer" and source != target) or (channel.kind in ("load", "start") and source > target):
        raise MappingError(
            f"one of the flows runs once and the other once for each branch; start {channel.target!r} by a branch, too",
            where=str(channel),
        )


def _check_ends(channel: Channel, source: Dfg, target: Dfg) -> None:
    """What leaves the source flow and what it becomes in the target exist and fit each other."""
    if source.domain != target.domain:
        raise MappingError(f"the flows are in domains {source.domain} and {target.domain}", where=str(channel))
    if channel.kind == "transfer":
        outputs = [node.id for node in source.nodes if node.op == "output"]
        inputs = [node.id for node in target.nodes if node.op == "input"]
        _named(channel, "output streams", channel.value, outputs)
        _named(channel, "input streams", channel.into, inputs)
        return
    liveouts = [node.liveout for node in source.nodes if node.liveout]
    liveins = list(target.liveins)
    if channel.value in source.array_length:
        _named(channel, "arrays", channel.into, list(target.array_length))
        lengths = source.array_length[channel.value or ""], target.array_length[channel.into or ""]
        if lengths[0] != lengths[1]:
            raise MappingError(f"arrays of {lengths[0]} and {lengths[1]} words; expected as many", where=str(channel))
        return
    _named(channel, "live-outs and arrays", channel.value, [*liveouts, *source.array_length])
    _named(channel, "live-ins", channel.into, liveins)


def _named(channel: Channel, what: str, name: str | None, known: list[str]) -> None:
    """Refuse a name that is not among the known ones."""
    if name not in known:
        raise MappingError(f"{name!r} is not among the {what}: {', '.join(known) or 'none'}", where=str(channel))


def dumps(program: Program) -> str:
    """JSON text; every flow holds its mapping whole.

    The text embeds the array once for each flow. :func:`loads` gives an equal program back.
    """
    flows = [
        {"name": flow.name, "iterations": flow.iterations, "base": flow.base, "tiles": flow.tiles,
         "mapping": json_format.to_dict(flow.mapping)}
        for flow in program.flows
    ]  # fmt: skip
    channels = [channel.to_dict() for channel in program.channels]
    data = {"format": FORMAT, "version": VERSION, "name": program.name, "flows": flows, "channels": channels}
    return json.dumps(data, indent=1) + "\n"


def loads(text: str, where: str = "program") -> Program:
    """The program in a JSON text; MappingError names what is wrong with it.

    All flows are on the array of the first one. The channels are checked, the mappings are not: see ``verify``.
    """
    try:
        data = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise MappingError(f"is not JSON: {error}", where=where) from None
    if not isinstance(data, dict) or data.get("format") != FORMAT or data.get("version") != VERSION:
        raise MappingError(f'expected "format": "{FORMAT}", "version": {VERSION}', where=where)
    try:
        flows = tuple(_flow(row, where) for row in data["flows"])
        channels = tuple(_channel(row, where) for row in data["channels"])
        name = str(data["name"])
    except (KeyError, TypeError) as error:
        raise MappingError(f"a key is missing or of the wrong type: {error}", where=where) from None
    if not flows:
        raise MappingError("has no flow; a program needs at least one", where=where)
    program = Program(name=name, arch=flows[0].mapping.arch, flows=flows, channels=channels)
    check_channels(
        {flow.name: flow.mapping.dfg for flow in flows}, {flow.name: flow.iterations for flow in flows}, channels
    )
    return program


def _flow(row: dict[str, Any], where: str) -> Flow:
    """The record of one flow."""
    numbers = {key: row[key] for key in ("iterations", "base", "tiles")}
    for key, number in numbers.items():
        if not isinstance(number, int) or number < (0 if key == "base" else 1):
            raise MappingError(f"{key}: expected a number of iterations or tiles, found {number!r}", where=where)
    return Flow(name=str(row["name"]), mapping=json_format.from_dict(row["mapping"], where), **numbers)


def _channel(row: dict[str, Any], where: str) -> Channel:
    """The record of one channel."""
    if row["kind"] not in get_args(ChannelKind):
        raise MappingError(f"kind: expected {', '.join(get_args(ChannelKind))}, found {row['kind']!r}", where=where)
    return Channel(kind=row["kind"], source=row["source"], target=row["target"], value=row.get("value"),
                   into=row.get("into"), when=row.get("when"), unless=row.get("unless"),
                   capacity=row.get("capacity"))  # fmt: skip
