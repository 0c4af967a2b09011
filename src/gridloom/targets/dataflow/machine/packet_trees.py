"""Multicast trees of routed flows, compiled: flows of one source with the same tokens share what their routes share.

A *hop* is a step of a tree: a resource that packets of the tree cross. Flows of a tree whose routes begin with the same
resources have these hops in common; where the routes part, the tree branches, and it stays apart from then on. The
first hops of the table are the roots, one for each tree: the packets that wait in their unit.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from gridloom.jit import borrowing, kernel
from gridloom.targets.dataflow.machine import packet_tables as col

Words = NDArray[np.int64]


class FlowRoutes(NamedTuple):
    """The links of each flow, in order (CSR): row f is the route of flow f from its source on, at least one link.

    The last rows are those of readers: a DRAM channel and a port each.
    """

    start: Words
    links: Words
    readers: int


class Places(NamedTuple):
    """What of a fabric says where routes lead; the fields are those of `fabric.Fabric`."""

    link_to: Words
    bank: Words
    channel: Words
    banks: int
    #: The number of links, which is also the first queue of reads, and the first port.
    links: int
    ports: int


class PacketTrees(NamedTuple):
    """The hops of all trees, the next flow that ends at the same hop, and the hops of each resource (CSR)."""

    hops: Words
    next_flow: Words
    link_start: Words
    link_hops: Words


@borrowing
def _step(hops: Words, at: int, link: int, queue: int, size: int, count: int) -> tuple[int, int]:
    """Go from a hop over a resource; returns the hop there and the number of hops, one more where it is new."""
    child = hops[at, col.H_CHILD]
    while child >= 0:
        if hops[child, col.H_LINK] == link:
            return child, count
        child = hops[child, col.H_NEXT]
    hops[count, col.H_LINK] = link
    hops[count, col.H_PARENT] = at
    hops[count, col.H_NEXT] = hops[at, col.H_CHILD]
    hops[count, col.H_QUEUE] = queue
    hops[count, col.H_SIZE] = size
    hops[at, col.H_CHILD] = count
    return count, count + 1


@borrowing
def _last(places: Places, tile: int, operand: int) -> int:
    """The resource behind the last link of a route: a bank, a DRAM channel, or none."""
    if places.bank[tile] >= 0:
        return int(places.bank[tile] + operand % places.banks)
    return int(places.channel[tile])


@borrowing
def _grow(
    hops: Words, count: int, f: int, tree: int, size: int, operand: int, routes: FlowRoutes, places: Places
) -> tuple[int, int]:
    """Add the route of a flow to its tree; returns the hop at which it ends and the number of hops."""
    start, stop = routes.start[f], routes.start[f + 1]
    at = tree
    if f >= len(routes.start) - 1 - routes.readers:
        port = routes.links[start + 1]
        at, count = _step(hops, at, routes.links[start], places.links + port - places.ports, size, count)
        return _step(hops, at, port, -1, size, count)
    last = _last(places, places.link_to[routes.links[stop - 1]], operand)
    for k in range(start, stop):
        link = routes.links[k]
        queue = link if k + 1 < stop or last >= 0 else -1
        at, count = _step(hops, at, link, queue, size, count)
    if last >= 0:
        at, count = _step(hops, at, last, -1, size, count)
    return at, count


@kernel
def grow_trees(
    order: Words, tree: Words, sizes: Words, operand: Words, routes: FlowRoutes, places: Places, resources: int
) -> PacketTrees:
    """Return the trees of routed flows. Linear in the hops.

    ``tree[f]`` is the tree of flow f, ``sizes[t]`` the vectors of a packet of tree t, ``operand[f]`` the input of its
    target; ``order`` lists the flows tree by tree. The flows of a resource take turns in the order of their hops.
    """
    flows, trees = len(order), len(sizes)
    hops = np.full((trees + len(routes.links) + 2 * flows + 1, col.H_COLUMNS), -1, dtype=np.int64)
    next_flow = np.full(flows, -1, dtype=np.int64)
    for t in range(trees):
        hops[t, col.H_SIZE] = sizes[t]
    count = trees
    for k in range(flows):
        f = order[k]
        at, count = _grow(hops, count, f, tree[f], sizes[tree[f]], operand[f], routes, places)
        next_flow[f] = hops[at, col.H_FLOW]
        hops[at, col.H_FLOW] = f
    for h in range(count):
        hops[h, col.H_READY] = 0
        hops[h, col.H_PENDING] = 0
        hops[h, col.H_WAITING] = 0
        hops[h, col.H_CROSSED] = 0
    link_start = np.zeros(resources + 1, dtype=np.int64)
    for h in range(trees, count):
        link_start[hops[h, col.H_LINK] + 1] += 1
    for link in range(resources):
        link_start[link + 1] += link_start[link]
    at_link = link_start[:-1].copy()
    link_hops = np.empty(count + 1, dtype=np.int64)
    for h in range(trees, count):
        link = hops[h, col.H_LINK]
        link_hops[at_link[link]] = h
        at_link[link] += 1
    return PacketTrees(hops[:count], next_flow, link_start, link_hops)
