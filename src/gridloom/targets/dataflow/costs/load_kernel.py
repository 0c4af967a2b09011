"""Loads of links, compiled: what multicast trees put on them, and where flows meet.

Flows that come over the same link before have been put in order there and no longer disturb each other. Packets wait
where ways meet: for those of other trees that reach the same link from elsewhere. Routes are flat, as in `Decisions`.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from gridloom.jit import checked_kernel

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]


@checked_kernel
def add_trees(loads: Floats, starts: Ints, route: Ints, order: Ints, tree: Ints, rate: Floats) -> None:
    """Add to ``loads[decision, link]`` the rates of the trees that cross a link, each once. Linear in the hops.

    ``order`` lists the flows tree by tree. A tree that comes to a link on two ways counts once, too, though it sends
    two copies there; routes that part seldom meet again.
    """
    count, links = loads.shape
    flows = len(order)
    seen = np.full(links, -1, dtype=np.int64)
    for d in range(count):
        for k in range(flows):
            f = order[k]
            mark = d * flows + tree[f]
            for j in range(starts[d * flows + f], starts[d * flows + f + 1]):
                if seen[route[j]] != mark:
                    seen[route[j]] = mark
                    loads[d, route[j]] += rate[f]


# Halvings of the interval in which the speed lies: to a thousandth.
_HALVINGS = 10


@checked_kernel
def meeting_loads(
    count: int, links: int, starts: Ints, route: Ints, rate: Floats, packet: Ints, tree: Ints, order: Ints
) -> Floats:
    """Return for each hop the cycles of others' packets that a packet meets there at full speed: rates times packets.

    ``order`` lists the flows tree by tree. Costs the hops times the trees on their links.
    """
    flows = len(rate)
    meets = np.zeros(len(route))
    first, seen = np.full(links, -1, dtype=np.int64), np.full(links, -1, dtype=np.int64)
    after, owner = np.empty(len(route), dtype=np.int64), np.empty(len(route), dtype=np.int64)
    for d in range(count):
        base = d * flows
        for position in range(flows):
            f = order[position]
            for k in range(starts[base + f], starts[base + f + 1]):
                link = route[k]
                owner[k] = f
                if seen[link] != base + tree[f]:
                    seen[link] = base + tree[f]
                    after[k] = first[link]
                    first[link] = k
        for f in range(flows):
            begin = starts[base + f]
            for k in range(begin, starts[base + f + 1]):
                other = first[route[k]]
                while other >= 0:
                    g = owner[other]
                    together = k > begin and other > starts[base + g] and route[other - 1] == route[k - 1]
                    if tree[g] != tree[f] and not together:
                        meets[k] += rate[g] * packet[g]
                    other = after[other]
        for k in range(starts[base], starts[base + flows]):
            first[route[k]] = -1
    return meets


@checked_kernel
def find_sustained_share(starts: Ints, meets: Floats, rate: Floats, packet: Ints, room: Ints, most: Floats) -> Floats:
    """Return for each decision the largest share of full speed, at most ``most``, at which every flow keeps up.

    At the share x a flow over h links waits x times what it meets, and needs its room for
    ``2 p + 2 h - 1`` cycles and that wait. Found by halving, linear in flows.
    """
    flows = len(rate)
    found = np.empty(len(most))
    waits = np.empty(flows)
    for d in range(len(most)):
        for f in range(flows):
            waits[f] = 0.0
            for k in range(starts[d * flows + f], starts[d * flows + f + 1]):
                waits[f] += meets[k]
        low, high = 0.0, most[d]
        for step in range(_HALVINGS + 1):
            share = high if step == 0 else 0.5 * (low + high)
            fits = True
            for f in range(flows):
                hops = starts[d * flows + f + 1] - starts[d * flows + f]
                turn = 2.0 * packet[f] + 2.0 * hops - 1.0 + share * waits[f]
                if turn * share * rate[f] > room[f]:
                    fits = False
                    break
            if fits:
                low = share
                if step == 0:
                    break
            else:
                high = share
        found[d] = low
    return found
