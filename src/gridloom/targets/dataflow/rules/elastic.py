"""Rules of elastic arrays: a node has a unit, an edge an operand input of its own and a path; no buffer deadlocks.

A packet fits the buffers of switches, and no circle of links can wait for each other's buffers. With that the network
itself never stops, and deadlock is decided by an untimed token game, which is exact: with the room of a buffer seen as
tokens that go back, the graph is a synchronous dataflow graph, whose firings never disable each other. So any order of
firings will do; when every node has fired as often as the repetition vector says, the buffers are as they were and the
graph can go on, and when no node can fire before that, none ever will. A node fires as often as it can at once. Tokens
that are put or taken every so many firings only change how many there are after some firings: the argument stays.

The theory is that of synchronous dataflow (Lee and Messerschmitt, 1987): the repetition vector is the least solution of
the balance equations, one per channel. A channel here may also put or take its tokens only every so many firings
(cyclo-static rates with one non-zero phase). The game plays one iteration of the whole graph, so its cost grows with
the repetition vector, and a graph that needs more than ``MAX_TURNS`` turns is reported as too long to check.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from math import lcm
from typing import Final

from gridloom.archs.model import Kind
from gridloom.archs.spec import parameters
from gridloom.targets.dataflow.families.rdu import RduParameters
from gridloom.targets.dataflow.program.model import TokenEdge, UnitGraph
from gridloom.verify.subject import Subject, edge_name
from gridloom.verify.violation import Violation

#: Turns of the token game after which a graph counts as too long to check.
MAX_TURNS: Final = 1_000_000


@dataclass(slots=True)
class TokenChannel:
    """The tokens of one edge, in the input buffer of its consumer.

    ``tokens`` is what is there now, at most ``room``; the game changes it in place. The source puts ``puts`` tokens
    with the last of every ``puts_every`` firings; the target takes ``takes`` tokens with the first of every
    ``takes_every``.
    """

    name: str
    source: str
    target: str
    puts: int
    takes: int
    room: int
    tokens: int
    puts_every: int = 1
    takes_every: int = 1


def check_graph(subject: Subject) -> Iterator[Violation]:
    """The graph is one of units: any other one has neither work nor rates."""
    if not isinstance(subject.dfg, UnitGraph):
        yield Violation("graph", subject.dfg.name, f"a {type(subject.dfg).__name__}", "a graph of units")


def _token_edges(subject: Subject) -> Iterator[tuple[int, TokenEdge]]:
    """Return the edges that need a route, with what they carry."""
    return ((k, edge) for k, edge in subject.routed_edges() if isinstance(edge, TokenEdge))


def check_ways(subject: Subject) -> Iterator[Violation]:
    """No route comes back to a unit or switch that it has left: without cycles, a circle cannot be a wait.

    The route of an edge from a node to itself ends where it began. Linear in the hops.
    """
    for path in subject.paths:
        tiles = [path.source.tile, *(subject.links[r][1] for r, _ in path.hops if r in subject.links)]
        if path.edge.source == path.edge.target and tiles[-1] == tiles[0]:
            tiles.pop()
        again = [subject.arch.tiles[tile].name for tile, count in Counter(tiles).items() if count > 1]
        if again:
            names = ", ".join(again[:4]) + (", ..." if len(again) > 4 else "")
            yield Violation(
                "route-circle", path.name, f"a route that comes back to {names}", "each unit and switch once"
            )


def check_packets(subject: Subject) -> Iterator[Violation]:
    """A packet fits the buffer behind each link, and what an input reads for a firing the room of its interface.

    A packet is what one firing puts on an edge. It moves on when the next buffer has room for all of it.
    """
    p = parameters(RduParameters, subject.arch.spec)
    for k, edge in _token_edges(subject):
        if edge.tokens > p.switch_buffer:
            yield Violation(
                "packet",
                edge_name(k, edge),
                f"packets of {edge.tokens} vectors",
                f"{p.switch_buffer}, a switch's buffer",
            )
    for node in subject.dfg.nodes:
        edges = [edge for edge in subject.dfg.edges if edge.source == node.id and edge.kind != "order"]
        sent = {(edge.part, edge.tokens, edge.puts_every) for edge in edges if isinstance(edge, TokenEdge)}
        read = sum(tokens // every for _, tokens, every in sent)
        if node.op == "input" and read > p.dram_queue:
            yield Violation(
                "packet",
                node.id,
                f"reads of {read} vectors",
                f"{p.dram_queue}, the reads that an interface has room for",
            )


def check_turns(subject: Subject) -> Iterator[Violation]:
    """No circle of links in which packets could wait for each other's buffers for ever.

    A packet in the buffer behind a link waits for the link after it on its route. Since consumers have room for all
    that is sent (credits), a network whose waits have no circle always moves (Dally and Seitz, 1987). Linear in the
    hops.
    """
    after: dict[int, set[int]] = {}
    for path in subject.paths:
        links = [resource for resource, _ in path.hops if subject.kind(resource) == Kind.LINK]
        for first, second in pairwise(links):
            after.setdefault(first, set()).add(second)
    circle = _circle(after)
    if circle:
        names = [subject.arch.resource_names[link] for link in circle]
        shown = " -> ".join(names[:6]) + (" -> ..." if len(names) > 6 else f" -> {names[0]}")
        yield Violation("turns", "the routes", f"links that wait for each other: {shown}", "no circle of such waits")


def _circle(after: dict[int, set[int]]) -> list[int]:
    """Return the links of a circle, in order; an empty list where there is none. Depth first, without recursion."""
    done: set[int] = set()
    for start in sorted(after):
        trail: list[int] = []
        on_trail: set[int] = set()
        waiting = [(start, False)]
        while waiting:
            link, leave = waiting.pop()
            if leave:
                trail.pop()
                on_trail.discard(link)
                done.add(link)
            elif link in on_trail:
                return trail[trail.index(link) :]
            elif link not in done:
                trail.append(link)
                on_trail.add(link)
                waiting.append((link, True))
                waiting += [(other, False) for other in sorted(after.get(link, ()))]
    return []


def check_resources(subject: Subject) -> Iterator[Violation]:
    """A unit runs one node, an operand input takes one edge, links and outputs are shared as far as they have room.

    Edges of one producer count once on a link that they share, since the value is sent once. A route with a FIFO wait
    is a violation: on these arrays waiting is what buffers do, and no mapping sets it.
    """
    uses: dict[int, set[str]] = {}
    for placed in subject.on_tiles():
        if placed.resource >= 0:
            uses.setdefault(placed.resource, set()).add(placed.name)
    for path in subject.paths:
        if path.route.fifo:
            yield Violation("fifo", path.name, f"FIFO {path.route.fifo}", "0: the buffers are those of the units")
        for resource, _ in path.hops:
            entry = path.name if subject.kind(resource) == Kind.IN else path.edge.source
            uses.setdefault(resource, set()).add(entry)
    for resource, names in sorted(uses.items()):
        room = int(subject.arch.capacity[resource])
        if room and len(names) > room:
            where = subject.arch.resource_names[resource]
            yield Violation("conflict", where, ", ".join(sorted(names)), "one" if room == 1 else str(room))


def check_tokens(subject: Subject) -> Iterator[Violation]:
    """Rates balance, and one iteration of the graph runs to its end within the buffers.

    An edge that starts with more tokens than its buffer holds is reported at once, without a game. Costs one turn per
    burst of firings; see the head of the module.
    """
    channels = _channels(subject)
    overfull = [channel for channel in channels if channel.tokens > channel.room]
    for channel in overfull:
        found = f"{channel.tokens} tokens at the start"
        yield Violation("deadlock", channel.name, found, f"a buffer of {channel.room}")
    # The game assumes that every buffer starts within its room.
    if overfull:
        return
    firings = _repetitions(channels)
    if isinstance(firings, Violation):
        yield firings
        return
    stuck = _play(channels, firings)
    if stuck:
        yield stuck


def _channels(subject: Subject) -> list[TokenChannel]:
    """Return the channels of the token game: one for each edge between placed nodes.

    The room is the buffer of the consumer's tile, or less where the edge itself asks for less (``TokenEdge.room``). A
    loop-carried edge starts with the tokens of ``distance`` firings.
    """
    channels = []
    for k, edge in _token_edges(subject):
        targets = [placed for placed in subject.copies_of(edge.target) if placed.tile >= 0]
        if targets and subject.copies_of(edge.source):
            channels.append(
                TokenChannel(
                    name=edge_name(k, edge),
                    source=edge.source,
                    target=edge.target,
                    puts=edge.tokens,
                    takes=edge.takes or edge.tokens,
                    room=min(room := subject.arch.tiles[targets[0].tile].buffer, edge.room or room),
                    tokens=edge.distance * edge.tokens,
                    puts_every=edge.puts_every,
                    takes_every=edge.takes_every,
                )
            )
    return channels


def _repetitions(channels: list[TokenChannel]) -> dict[str, int] | Violation:
    """Return how often each node fires until the buffers are as they were; a violation when no numbers balance.

    Rates are spread from one node of each component over its channels as fractions, and two channels that disagree are
    the violation. The result is the least whole multiple at which every node also ends a group of its ``puts_every``
    and ``takes_every`` firings.
    """
    around: dict[str, list[tuple[str, Fraction, TokenChannel]]] = {}
    groups: dict[str, int] = {}
    for channel in channels:
        ratio = Fraction(channel.puts * channel.takes_every, channel.takes * channel.puts_every)
        for end, every in ((channel.source, channel.puts_every), (channel.target, channel.takes_every)):
            groups[end] = lcm(groups.get(end, 1), every)
        around.setdefault(channel.source, []).append((channel.target, ratio, channel))
        around.setdefault(channel.target, []).append((channel.source, 1 / ratio, channel))
    rate: dict[str, Fraction] = {}
    firings: dict[str, int] = {}
    for start in around:
        if start in rate:
            continue
        rate[start] = Fraction(1)
        component = [start]
        for node in component:
            for other, ratio, channel in around[node]:
                due = rate[node] * ratio
                if other not in rate:
                    rate[other] = due
                    component.append(other)
                elif rate[other] != due:
                    return Violation(
                        "rates",
                        channel.name,
                        f"{channel.puts} tokens put and {channel.takes} taken per firing",
                        "rates that agree with those of the other edges",
                    )
        scale = lcm(*((rate[node] / groups[node]).denominator for node in component))
        firings |= {node: int(rate[node] * scale) for node in component}
    return firings


def _play(channels: list[TokenChannel], firings: dict[str, int]) -> Violation | None:
    """Play one iteration and return the deadlock that stops it, if there is one.

    ``waiting`` is a queue of nodes that may be able to fire. A node goes back into it whenever a neighbour has fired,
    which is the only thing that can change its mind, so that the game ends when the queue does.
    """
    entering: dict[str, list[TokenChannel]] = {node: [] for node in firings}
    leaving: dict[str, list[TokenChannel]] = {node: [] for node in firings}
    for channel in channels:
        entering[channel.target].append(channel)
        leaving[channel.source].append(channel)
    left = dict(firings)
    waiting = list(firings)
    queued = set(waiting)
    for turn, node in enumerate(waiting):
        if turn == MAX_TURNS:
            total = sum(firings.values())
            return Violation("rates", node, f"an iteration of {total} firings", f"one that ends in {MAX_TURNS} turns")
        queued.discard(node)
        count = _fire(firings[node] - left[node], left[node], entering[node], leaving[node])
        left[node] -= count
        if count:
            for other in [c.target for c in leaving[node]] + [c.source for c in entering[node]]:
                if left[other] and other not in queued:
                    queued.add(other)
                    waiting.append(other)
    done = {node: firings[node] - left[node] for node in firings}
    return _deadlock(left, done, entering, leaving) if any(left.values()) else None


def _fire(done: int, wanted: int, entering: list[TokenChannel], leaving: list[TokenChannel]) -> int:
    """Fire a node that has fired ``done`` times as often as tokens and room allow, at most ``wanted`` times more.

    Returns the number of firings and moves the tokens of all its channels. The number is the least that any channel
    allows: an input allows the firings whose groups have been paid for, an output those before the next put that has no
    room.
    """
    count = wanted
    for channel in entering:
        if channel.source == channel.target:
            # What it puts for itself is there only after it has fired.
            count = min(count, 1 if _short(channel, done) >= 0 else 0)
        else:
            # What has been taken lasts to the end of its group; each further group takes anew.
            begun = -(-done // channel.takes_every)
            count = min(count, (begun + channel.tokens // channel.takes) * channel.takes_every - done)
    for channel in leaving:
        if channel.source != channel.target:
            puts = max(0, channel.room - channel.tokens) // channel.puts
            count = min(count, (done // channel.puts_every + puts + 1) * channel.puts_every - 1 - done)
    for channel in entering:
        every = channel.takes_every
        channel.tokens -= (-(-(done + count) // every) - -(-done // every)) * channel.takes
    for channel in leaving:
        every = channel.puts_every
        channel.tokens += ((done + count) // every - done // every) * channel.puts
    return count


def _short(channel: TokenChannel, done: int) -> int:
    """Return tokens left after the next firing of a channel's target has taken what it takes; below 0: too few."""
    return channel.tokens - (channel.takes if done % channel.takes_every == 0 else 0)


def _deadlock(
    left: dict[str, int],
    done: dict[str, int],
    entering: dict[str, list[TokenChannel]],
    leaving: dict[str, list[TokenChannel]],
) -> Violation:
    """Follow who waits for whom until it closes, and name the edges on the way.

    Every node that is left waits for room in a channel or for tokens in one, that is, for one neighbour. Following
    these from any of them must come back to a node that was seen: that ring is the deadlock.
    """

    def blocker(node: str) -> tuple[TokenChannel, str]:
        """Return the channel that keeps a node from firing, and the node at its other end."""
        for channel in leaving[node]:
            due = (done[node] + 1) % channel.puts_every == 0
            if due and channel.room - channel.tokens < channel.puts and channel.source != channel.target:
                return channel, channel.target
        return next((channel, channel.source) for channel in entering[node] if _short(channel, done[node]) < 0)

    node = next(node for node, count in left.items() if count)
    seen: list[str] = []
    chain: list[TokenChannel] = []
    while node not in seen:
        seen.append(node)
        channel, node = blocker(node)
        chain.append(channel)
    units = seen[seen.index(node) :]
    channels = chain[seen.index(node) :]
    parts = []
    for unit, channel in zip(units, channels, strict=True):
        if channel.source == unit and channel.target != unit:
            parts.append(f"{channel.name} is full: {unit} puts {channel.puts}, {channel.tokens} of {channel.room} used")
        else:
            parts.append(f"{channel.name} starves: {unit} takes {channel.takes}, {channel.tokens} are there")
    rooms = ", ".join(sorted({f"{channel.room} on {channel.name}" for channel in channels}))
    return Violation("deadlock", " -> ".join([*units, units[0]]), "; ".join(parts), f"buffers of {rooms}")


#: What an elastic array asks of a mapping beside what every array does.
RULES: Final = (check_graph, check_ways, check_packets, check_turns, check_resources, check_tokens)
