"""What comes next in a run token by token: a heap of events, and what has to be looked at in this cycle.

A large array stands still for the most part: in a cycle a few units are due, and a few resources begin a packet. So
nobody asks every unit and every queue. What will happen at a known cycle is an *event* in a binary heap; what may go
on because something beside it has changed is *marked*.
"""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from gridloom.jit import borrowing

Words = NDArray[np.int64]

# Cells of ``Agenda.sizes``: events, marked units, marked resources, resources that carry a packet, units not done.
EVENTS, UNITS, RESOURCES, BUSY, LEFT = range(5)

# Kinds of events, and cells of ``Agenda.first``: a firing ends or its last token is there, a queue lets go of its front
# packet, the front packet of a queue is there, a tree's unit lets go of a packet, a resource is free or has rested,
# credits come back.
FIRING, RELEASE, ARRIVAL, ROOT, RESOURCE, CREDIT, KINDS = range(7)

NEVER: Final = np.iinfo(np.int64).max


class TokenAgenda(NamedTuple):
    """Events and marks of a run; all of it is kept from one call of the kernel to the next."""

    #: Keys of events: cycle * numbers + first[kind] + which. ``first`` has a last cell: how many numbers there are.
    heap: Words
    first: Words
    sizes: Words
    #: Lists of what is marked, with a flag for each.
    units: Words
    unit_marked: Words
    resources: Words
    resource_marked: Words


def first_agenda(
    units: int, queues: int, trees: int, resources: int, credits: int, flows: int, left: int
) -> TokenAgenda:
    """Return the agenda of a run that begins: everything is marked, and so many units have something to do.

    ``credits`` bounds the credits under way.
    """

    def full(count: int, value: int = 0) -> Words:
        return np.full(count + 1, value, dtype=np.int64)

    counts = [units, queues, queues, trees, resources, flows]
    return TokenAgenda(
        heap=full(2 * units + 2 * queues + trees + 3 * resources + credits + 8),
        first=np.cumsum([0, *counts], dtype=np.int64),
        sizes=np.array([0, units, resources, 0, left], dtype=np.int64),
        units=np.arange(units + 1, dtype=np.int64),
        unit_marked=full(units, 1),
        resources=np.arange(resources + 1, dtype=np.int64),
        resource_marked=full(resources, 1),
    )


@borrowing
def push(agenda: TokenAgenda, cycle: int, kind: int, which: int) -> None:
    """Enter an event."""
    heap = agenda.heap
    key = cycle * agenda.first[KINDS] + agenda.first[kind] + which
    at = agenda.sizes[EVENTS]
    agenda.sizes[EVENTS] += 1
    while at > 0:
        above = (at - 1) >> 1
        if heap[above] <= key:
            break
        heap[at] = heap[above]
        at = above
    heap[at] = key


@borrowing
def next_cycle(agenda: TokenAgenda) -> int:
    """The cycle of the first event."""
    if agenda.sizes[EVENTS] == 0:
        return int(NEVER)
    return int(agenda.heap[0] // agenda.first[KINDS])


@borrowing
def pop(agenda: TokenAgenda) -> int:
    """Take the first event out; returns its number, from ``first[kind]`` on."""
    heap = agenda.heap
    found = heap[0] % agenda.first[KINDS]
    agenda.sizes[EVENTS] -= 1
    count = agenda.sizes[EVENTS]
    key = heap[count]
    at = 0
    while True:
        below = 2 * at + 1
        if below >= count:
            break
        if below + 1 < count and heap[below + 1] < heap[below]:
            below += 1
        if heap[below] >= key:
            break
        heap[at] = heap[below]
        at = below
    heap[at] = key
    return int(found)


@borrowing
def mark_unit(agenda: TokenAgenda, u: int) -> None:
    """Have a unit looked at when units next fire."""
    if not agenda.unit_marked[u]:
        agenda.unit_marked[u] = 1
        agenda.units[agenda.sizes[UNITS]] = u
        agenda.sizes[UNITS] += 1


@borrowing
def mark_resource(agenda: TokenAgenda, r: int) -> None:
    """Have a resource looked at when resources next begin packets."""
    if not agenda.resource_marked[r]:
        agenda.resource_marked[r] = 1
        agenda.resources[agenda.sizes[RESOURCES]] = r
        agenda.sizes[RESOURCES] += 1


@borrowing
def mark_all(agenda: TokenAgenda) -> None:
    """Have everything looked at."""
    for u in range(len(agenda.units) - 1):
        mark_unit(agenda, u)
    for r in range(len(agenda.resources) - 1):
        mark_resource(agenda, r)
