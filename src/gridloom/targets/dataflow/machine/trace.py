"""The trace of an elastic array: for each cycle with an event, where tokens wait and what each unit does."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from gridloom.mapping.configuration import Configuration
from gridloom.targets.dataflow.machine import token_tables as layout
from gridloom.targets.dataflow.machine.run import TokenNetwork, repetitions
from gridloom.targets.dataflow.machine.token_tables import Words

#: What a unit does, as the trace says it.
DONE, BUSY, STARVED, STALLED = 0, 1, 2, 3

#: Moments that a trace holds at most.
MOST_MOMENTS: Final = 4000


@dataclass(frozen=True, kw_only=True)
class TokenFlow:
    """The way of an edge's tokens: its links in order, the units at its ends (-1: none) and the room at the end."""

    edge: int
    links: tuple[int, ...]
    source: int
    target: int
    room: int


@dataclass(frozen=True, kw_only=True)
class TokenTrace:
    """A run of an elastic array, moment by moment; between two moments nothing changes.

    ``flows[f]`` has the counters ``first[f]`` to ``first[f] + hops``: what waits at hop h of it is the difference of
    two neighbours, what waits in the buffer of its consumer is the last one less ``taken``.
    """

    configuration: Configuration
    #: Tile and node of each unit.
    units: tuple[tuple[int, int], ...]
    flows: tuple[TokenFlow, ...]
    first: tuple[int, ...]
    #: The cycle of each moment; [moment, unit]: what the unit does and its firings; [moment, counter]; [moment, flow].
    cycles: Words
    state: NDArray[np.int8]
    fired: Words
    counters: Words
    taken: Words
    #: Why the run came to a stop before its end; None: it did not.
    stuck: str | None
    #: True where the run goes on after the last moment.
    cut: bool


def record_tokens(configuration: Configuration, *, iterations: int = 8, moments: int = MOST_MOMENTS) -> TokenTrace:
    """Run an elastic configuration and keep what stands at each moment, at most ``moments`` of them.

    SimulationError when the graph's rates do not balance. Costs O(moments * (units + hops)).
    """
    network = TokenNetwork(configuration, repetitions(configuration), iterations)
    running = network.start()
    goal = np.array(network.repeats, dtype=np.int64) * iterations
    count, ways = len(network.slots), sum(edge >= 0 for edge in network.tables.edges)
    rows: list[tuple[int, NDArray[np.int8], Words, Words, Words]] = []
    over = False
    while not over and len(rows) < moments:
        now = running.cycle
        over = running.advance(now + 1) == now
        state = _states(running.pace, network.fired[:count], goal)
        rows.append((now, state, network.fired[:count].copy(), network.counters.copy(), network.consumed[:ways].copy()))
    stuck = network.stuck() if over else None
    cycles, states, fired, counters, taken = zip(*rows)
    return TokenTrace(
        configuration=configuration,
        units=tuple((slot.tile, slot.node) for slot in network.slots),
        flows=_flows(network),
        first=tuple(int(row[layout.F_COUNTER]) for row in network.flows[:ways]),
        cycles=np.array(cycles, dtype=np.int64),
        state=np.array(states, dtype=np.int8),
        fired=np.array(fired, dtype=np.int64),
        counters=np.array(counters, dtype=np.int64),
        taken=np.array(taken, dtype=np.int64),
        stuck=stuck,
        cut=not over,
    )


def _states(pace: layout.Pace, fired: Words, goal: Words) -> NDArray[np.int8]:
    """Return what each unit does: a firing under way, waiting for tokens or for room, or nothing any more."""
    count = len(goal)
    idle = np.where(pace.idle[:count] == layout.STALLED, STALLED, STARVED)
    return np.where(pace.until[:count] >= 0, BUSY, np.where(fired < goal, idle, DONE)).astype(np.int8)


def _flows(network: TokenNetwork) -> tuple[TokenFlow, ...]:
    """Return the flows of a network with the links that they take."""
    links = {
        (path.edge, path.target): path.links for path in network.configuration.token_paths
    }  # an edge has one way into each unit
    source = {f: u for u, flows in enumerate(network.leaving) for f in flows}
    target = {f: u for u, flows in enumerate(network.entering) for f in flows}
    found = []
    for f, edge in enumerate(network.tables.edges):
        if edge < 0:
            continue
        end = target.get(f, -1)
        way = links.get((edge, network.slots[end].tile), ()) if end >= 0 else ()
        room = int(network.flows[f, layout.F_ROOM])
        found.append(TokenFlow(edge=edge, links=way, source=source.get(f, -1), target=end, room=room))
    return tuple(found)
