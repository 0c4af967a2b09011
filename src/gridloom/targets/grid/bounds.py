"""Lower bounds for spatial mappings on static grids: what no placement can be below, whatever the search.

The wirelength is the sum over edges of max(0, hops - 1), so every edge between tiles that are not neighbours counts
at least 1. Two reasons why some edges have to be such ones:

* parity: on a grid of two colours (the mesh) a hop changes the colour. An odd cycle of the graph, whatever the
  direction of its edges, has an edge of an even number of hops; and a graph of two colours whose larger part is
  more than the tiles of a colour has to break its colouring somewhere.
* degree: a node with more partners than its tile has neighbours leaves some of them out.

For the latency the bound is the longest path of operations, with one hop for each edge. For the deepest FIFO it is a
count of links: what does not wait in a FIFO waits in wires, one link for each cycle, and a link has one signal. Op
classes and FIFO limits are not looked at. Cost: O(nodes * edges) for the cycles, O(nodes^2) for the colours, a
minimum-cost flow for the links.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from gridloom.archs.model import Arch
from gridloom.dfg.model import Dfg

Costs = NDArray[np.int64]

_NEVER = 1 << 40


@dataclass(frozen=True, slots=True)
class GridBound:
    """A lower bound: a figure that no mapping is below, and why."""

    value: int
    reason: str


def wirelength_bound(dfg: Dfg, arch: Arch) -> GridBound:
    """The larger of the parity and the degree bound."""
    return max(parity_bound(dfg, arch), degree_bound(dfg, arch), key=lambda bound: bound.value)


def parity_bound(dfg: Dfg, arch: Arch) -> GridBound:
    """Edges of an even number of hops that the colours of a bipartite grid force; 0 on grids with odd cycles."""
    sizes = _tile_colours(arch)
    if sizes is None:
        return GridBound(0, f"{arch.name} is not a grid of two colours")
    graph = _Partners.of(dfg, arch)
    cost = np.zeros(1, dtype=np.int64)
    odd = 0
    for members in graph.components():
        cycles = graph.odd_cycles(members)
        odd += cycles
        cost = _convolved(cost, graph.colourings(members, cycles))
    count = len(cost) - 1
    fits = [int(cost[k]) for k in range(count + 1) if k <= sizes[0] and count - k <= sizes[1]]
    least = min(fits, default=_NEVER)
    if least >= _NEVER:
        return GridBound(0, f"{count} nodes do not fit on {arch.name}")
    if least == 0:
        return GridBound(0, "a colouring of the graph fits the colours of the grid")
    if odd:
        return GridBound(least, f"{odd} odd cycles without a common edge on a grid of two colours")
    return GridBound(least, f"the parts of the graph do not fit on {sizes[0]} and {sizes[1]} tiles of two colours")


def degree_bound(dfg: Dfg, arch: Arch) -> GridBound:
    """Edges that find no neighbouring tile, if the nodes with most partners sit on the tiles with most neighbours.

    A sum over nodes that counts each edge at most twice is halved. Costs a sort of nodes and tiles.
    """
    around: list[set[int]] = [set() for _ in arch.tiles]
    for a, b, _ in arch.links:
        around[a].add(b)
        around[b].add(a)
    graph = _Partners.of(dfg, arch)
    partners = sorted((len(row) for row in graph.partners), reverse=True)
    neighbours = sorted((len(row) for row in around), reverse=True)
    # Sorted against sorted is the assignment with the least excess; an edge is in excess at two nodes at most.
    excess = sum(max(0, have - room) for have, room in zip(partners, neighbours))
    if excess == 0:
        return GridBound(0, "every node may sit on a tile with as many neighbours as it has partners")
    return GridBound((excess + 1) // 2, f"{excess} partners of nodes more than neighbours of tiles")


def latency_bound(dfg: Dfg, arch: Arch) -> GridBound:
    """Cycles to the last result if every edge is one hop; edges of later iterations do not count."""
    placed = [dfg.op_class(node.id) not in arch.free for node in dfg.nodes]
    ready = [0] * len(dfg.nodes)
    last = 0
    for n in dfg.topological:
        if not placed[n]:
            continue
        done = ready[n] + _least_latency(arch, dfg.op_class(dfg.nodes[n].id))
        last = max(last, done)
        for e in dfg.out_edges[n]:
            edge = dfg.edges[e]
            target = dfg.index[edge.target]
            if edge.kind == "data" and edge.distance == 0:
                ready[target] = max(ready[target], done + arch.link_cycles)
    return GridBound(last, "the longest path of operations")


def fifo_bound(dfg: Dfg, arch: Arch) -> GridBound:
    """The least depth of the deepest FIFO with which links suffice: what waits less in FIFOs waits in longer wires.

    Depths are tried from 0 on; each costs a minimum-cost flow. 0 where the readers alone take too many links.
    """
    room = len(arch.links)
    deepest = 0
    least = least_links(dfg, arch, _NEVER >> 1)
    if least > room:
        return GridBound(0, f"{least} links for all readers do not fit on {arch.name}")
    while (needed := least_links(dfg, arch, deepest)) > room:
        deepest += 1
    if deepest == 0:
        return GridBound(0, f"{needed} links would do without any FIFO, of {room}")
    short = least_links(dfg, arch, deepest - 1)
    return GridBound(deepest, f"FIFOs of at most {deepest - 1} need {short} links, of {room}")


def least_links(dfg: Dfg, arch: Arch, fifo: int) -> int:
    """Links that all signals together take at least, if no FIFO is deeper than ``fifo``; one instance of each node.

    A net takes as many links as its longest route has, and at least one for each node that reads it. Issue cycles and
    longest routes are potentials, so that the least sum is the dual of a minimum-cost flow.
    """
    import networkx

    latency = {node.id: _least_latency(arch, dfg.op_class(node.id)) for node in dfg.nodes}
    placed = {node.id for node in dfg.nodes if dfg.op_class(node.id) not in arch.free}
    edges = [e for e in dfg.edges if e.kind == "data" and {e.source, e.target} <= placed and e.source != e.target]
    readers: dict[str, set[str]] = {}
    for edge in edges:
        readers.setdefault(edge.source, set()).add(edge.target)
    flow = networkx.DiGraph()

    def at_least(low: tuple[str, str], high: tuple[str, str], apart: int) -> None:
        """Demand that one potential is at least so much above another; of several demands the largest counts."""
        known = flow.get_edge_data(low, high, {"weight": 0})["weight"] if flow.has_edge(low, high) else None
        flow.add_edge(low, high, weight=-apart if known is None else min(known, -apart))

    for name in placed:
        flow.add_node(("issue", name), demand=0)
    for name in readers:
        flow.nodes["issue", name]["demand"] = -1
        flow.add_node(("last", name), demand=1)
        at_least(("issue", name), ("last", name), max(1, len(readers[name])))
    for edge in edges:
        gap = latency[edge.source] + arch.link_cycles - edge.distance
        at_least(("issue", edge.source), ("issue", edge.target), gap)
        at_least(("issue", edge.target), ("last", edge.source), 1 - gap - fifo)
    if arch.inputs == "aligned":
        inputs = [("issue", node.id) for node in dfg.nodes if node.op == "input" and node.id in placed]
        for first, second in pairwise(inputs):
            at_least(first, second, 0)
            at_least(second, first, 0)
    try:
        return -int(networkx.network_simplex(flow)[0])
    except networkx.NetworkXUnbounded:
        # A recurrence longer than its distance: no mapping at all, which is not for this bound to say.
        return 0


def _tile_colours(arch: Arch) -> tuple[int, int] | None:
    """How many tiles have each colour; None: some link joins two tiles of one colour."""
    odd = arch.hops[0] % 2 == 1
    if any(odd[a] == odd[b] for a, b, _ in arch.links):
        return None
    black = int(odd.sum())
    return len(arch.tiles) - black, black


def _convolved(first: Costs, second: Costs) -> Costs:
    """The least cost of so many nodes of a colour in two parts together."""
    both = np.full(len(first) + len(second) - 1, _NEVER, dtype=np.int64)
    for k, cost in enumerate(second.tolist()):
        if cost < _NEVER:
            window = both[k : k + len(first)]
            np.minimum(window, first + cost, out=window)
    return np.minimum(both, _NEVER)


class _Partners:
    """The graph without directions: for each placed node the nodes that it shares a routed edge with."""

    def __init__(self, partners: list[set[int]]) -> None:
        self.partners = partners

    @classmethod
    def of(cls, dfg: Dfg, arch: Arch) -> _Partners:
        """Free ops have no tile and are left out; so are edges onto the node itself."""
        placed = [n for n, node in enumerate(dfg.nodes) if dfg.op_class(node.id) not in arch.free]
        number = {n: k for k, n in enumerate(placed)}
        partners: list[set[int]] = [set() for _ in placed]
        for edge in dfg.edges:
            a, b = number.get(dfg.index[edge.source]), number.get(dfg.index[edge.target])
            if edge.kind == "data" and a is not None and b is not None and a != b:
                partners[a].add(b)
                partners[b].add(a)
        return cls(partners)

    def components(self) -> list[list[int]]:
        """The connected parts, each breadth first from its lowest node."""
        seen: set[int] = set()
        parts = []
        for first in range(len(self.partners)):
            if first in seen:
                continue
            part = [first]
            seen.add(first)
            for node in part:
                fresh = sorted(self.partners[node] - seen)
                seen.update(fresh)
                part += fresh
            parts.append(part)
        return parts

    def odd_cycles(self, members: list[int]) -> int:
        """A number of odd cycles no two of which share an edge: short ones are taken first, not the most there are."""
        rest = {node: set(self.partners[node]) for node in members}
        count = 0
        while True:
            cycle = min((c for c in (_odd_cycle(rest, node) for node in members) if c), key=len, default=None)
            if cycle is None:
                return count
            for a, b in zip(cycle, cycle[1:] + cycle[:1]):
                rest[a].discard(b)
                rest[b].discard(a)
            count += 1

    def colourings(self, members: list[int], odd: int) -> Costs:
        """For each number of nodes of the first colour, edges within a colour that a connected part has at least."""
        size = len(members)
        edges = sum(len(self.partners[node]) for node in members) // 2
        if edges == size - 1:
            return self._tree_colourings(members)
        cost = np.full(size + 1, max(1, odd), dtype=np.int64)
        if odd == 0:
            side = self._sides(members)
            cost[[side, size - side]] = 0
        return cost

    def _sides(self, members: list[int]) -> int:
        """How many nodes of a connected part without odd cycles have the colour of its first one."""
        colour = {members[0]: True}
        for node in members:
            for other in self.partners[node]:
                colour.setdefault(other, not colour[node])
        return sum(colour.values())

    def _tree_colourings(self, members: list[int]) -> Costs:
        """Exact for a tree: from the leaves up, by how many nodes below have the colour of the node."""
        place = {node: k for k, node in enumerate(members)}
        same: dict[int, Costs] = {}
        for node in reversed(members):
            cost = np.array([_NEVER, 0], dtype=np.int64)
            for other in self.partners[node]:
                if place[other] > place[node]:
                    below = same.pop(other)
                    cost = _convolved(cost, np.minimum(below[::-1], below + 1))
            same[node] = cost
        cost = same[members[0]]
        return np.minimum(cost, cost[::-1])


def _odd_cycle(partners: dict[int, set[int]], first: int) -> list[int] | None:
    """An odd cycle near a node, by breadth: two nodes of one depth that are partners, up to where their ways part."""
    above = {first: first}
    depth = {first: 0}
    queue = deque([first])
    while queue:
        node = queue.popleft()
        for other in sorted(partners[node]):
            if other not in depth:
                depth[other], above[other] = depth[node] + 1, node
                queue.append(other)
            elif depth[other] == depth[node]:
                return _closed(above, node, other)
    return None


def _closed(above: dict[int, int], a: int, b: int) -> list[int]:
    """The cycle that an edge between two nodes of one depth closes: both are followed up to where their ways meet."""
    left, right = [a], [b]
    while left[-1] != right[-1]:
        left.append(above[left[-1]])
        right.append(above[right[-1]])
    return left + right[-2::-1]


@lru_cache(maxsize=256)
def _least_latency(arch: Arch, op_class: str) -> int:
    """The least cycles of an op class on any tile that has it; those of the first tile where none has it."""
    able = arch.tiles_for(op_class) or (0,)
    return min(arch.tiles[t].latency_of(op_class) for t in able)
