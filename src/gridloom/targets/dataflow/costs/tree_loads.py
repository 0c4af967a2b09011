"""Loads of links, compiled: what multicast trees put on the links of their routes."""

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
