"""The asynchronous fabric: messages that take as long as they take, places for them, and the memory interfaces.

Data messages (``transfer``, ``load``) and control messages (``start``, ``branch``) take a random number of cycles each
and may overtake one another. A channel with a ``capacity`` has so many places: a place is taken when a message is sent
and given back by a *free* message, which takes its own time after the target has read the value. A sender without a
place waits.

The memory interfaces take requests of all flows: each reply takes a random time, and an interface holds a limited
number of requests. The tiles are dealt out to the interfaces in turn.
"""

from __future__ import annotations

import heapq
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from gridloom.targets.streaming.program.model import Channel

#: Memory interfaces of the engine.
INTERFACES: Final = 4


@dataclass(frozen=True, slots=True, kw_only=True)
class FabricLimits:
    """How long messages take, and how many may be on their way."""

    #: The longest time of a message, in cycles.
    message: int = 60
    #: The longest time of a reply of a memory interface; 0: memory answers within the latency of the access.
    memory: int = 0
    #: Requests that one memory interface holds.
    outstanding: int = 8


@dataclass(frozen=True, slots=True)
class Message:
    """One message: what it is (a channel's kind, ``free`` or ``reply``), for which iteration, and its value."""

    kind: str
    channel: Channel | None
    target: str
    iteration: int = 0
    value: Any = None


class MessageFabric:
    """Messages under way, places taken on each channel, and requests at each memory interface.

    ``way`` is a heap by the cycle of arrival; the counter in it keeps messages of one cycle in the order in which they
    were sent and comparisons away from values.
    """

    def __init__(self, channels: tuple[Channel, ...], limits: FabricLimits, rng: np.random.Generator) -> None:
        self.limits, self.rng = limits, rng
        self.count = 0
        self.way: list[tuple[int, int, Message]] = []
        self.places = dict.fromkeys(channels, 0)
        self.requests = [0] * INTERFACES
        #: The most messages of a channel that were sent and not freed, and the most requests at an interface.
        self.most = {str(channel): 0 for channel in channels}
        self.most_requests = 0

    def room(self, channel: Channel, more: int = 1) -> bool:
        """True when so many more messages have a place on a channel."""
        return channel.capacity is None or self.places[channel] + more <= channel.capacity

    def send(self, now: int, message: Message, most: int | None = None) -> None:
        """Send a message that arrives after 1 to ``most`` cycles (default: the limit), drawn at random."""
        self.count += 1
        due = now + 1 + int(self.rng.integers(0, most or self.limits.message))
        heapq.heappush(self.way, (due, self.count, message))
        if message.channel is not None and message.kind != "free":
            self.places[message.channel] += 1
            key = str(message.channel)
            self.most[key] = max(self.most[key], self.places[message.channel])

    def free(self, now: int, channel: Channel) -> None:
        """Send the message that gives a place of a channel back to its source."""
        self.send(now, Message("free", channel, channel.source))

    def request(self, now: int, interface: int, flow: str, number: int) -> None:
        """Send a request to a memory interface; its reply carries the number of the request."""
        self.requests[interface] += 1
        self.most_requests = max(self.most_requests, self.requests[interface])
        self.send(now, Message("reply", None, flow, number, interface), self.limits.memory)

    def accepts(self, interface: int) -> bool:
        """True when an interface takes one more request."""
        return self.requests[interface] < self.limits.outstanding

    def arrived(self, now: int) -> list[Message]:
        """Return the messages that are there in this cycle; free messages and replies are counted here."""
        found = []
        while self.way and self.way[0][0] <= now:
            message = heapq.heappop(self.way)[2]
            if message.kind == "free" and message.channel is not None:
                self.places[message.channel] -= 1
            elif message.kind == "reply":
                self.requests[message.value] -= 1
            found.append(message)
        return found
