"""A way for one edge of a mapping that somebody changes by hand: the shortest one that is free.

This is no mapper: it looks at one edge at a time and moves nothing else. It is a shortest-path search over (resource,
cycle) in the time-expanded resource graph; what other signals use is closed to it, as far as it can tell. Whether the
result is legal, the checker says.
"""

from __future__ import annotations

import heapq
from collections.abc import Sequence
from typing import Final

from gridloom.archs.model import ISSUE_KINDS, Arch, Kind
from gridloom.archs.unroll import ResourceGraph
from gridloom.mapping.model import Instance, Mapping, Route

#: Places that one search looks at; on a large array a longer way is for the mapper to find.
_MOST_LOOKS: Final = 60_000

#: What uses a resource in a slot: (node, copy, flat cycle).
_Use = tuple[str, int, int]


class FreePlaces:
    """The free places of a mapping, for routing some of its edges anew."""

    def __init__(self, mapping: Mapping, dropped: set[int]) -> None:
        self.mapping = mapping
        self.arch: Arch = mapping.arch
        self.graph: ResourceGraph = mapping.arch.unroll(mapping.ii, mapping.settings)
        self.taken: dict[tuple[int, int], set[_Use]] = {}
        for instance in mapping.instances:
            self._occupy(instance)
        for route in mapping.routes:
            if route.edge not in dropped:
                self.add(route)

    def _occupy(self, instance: Instance) -> None:
        """An operation takes the issue slot of its tile; a kept value its register in every slot."""
        tile = self.arch.tile_index.get(instance.place)
        if tile is None:
            for slot in range(self.mapping.ii):
                self._take(self.arch.resource_index.get(instance.place, -1), slot, (instance.node, instance.copy, -1))
            return
        cycles = self.arch.tiles[tile].occupancy_of(self.mapping.dfg.op_class(instance.node))
        for k in range(cycles):
            self._take(int(self.arch.fu[tile]), instance.cycle + k, (instance.node, instance.copy, -2))

    def _take(self, resource: int, cycle: int, use: _Use) -> None:
        if resource >= 0:
            self.taken.setdefault((int(self.arch.group[resource]), cycle % self.mapping.ii), set()).add(use)

    def add(self, route: Route) -> None:
        """Take the places of a route."""
        edge = self.mapping.dfg.edges[route.edge]
        for name, cycle in route.hops:
            self._take(self.arch.resource_index[name], cycle, (edge.source, route.source_copy, cycle))

    def _free(self, resource: int, cycle: int, source: tuple[str, int]) -> bool:
        """Whether a signal may be in a resource in a cycle."""
        room = int(self.arch.capacity[resource])
        uses = self.taken.get((int(self.arch.group[resource]), cycle % self.mapping.ii), set())
        mine = (*source, cycle)
        if mine in uses and int(self.arch.kind[resource]) not in ISSUE_KINDS:
            return True
        return room == 0 or len(uses) < room

    # -- one edge -----------------------------------------------------------------------------------------------------

    def route(self, edge: int, copy: int = 0, source_copy: int = 0, via: Sequence[int] = ()) -> Route | None:
        """A free way for an edge into a copy of its target, through tiles ``via`` in order; None where there is none.

        The route arrives in the cycle in which the target reads it, or as much earlier as the operand's FIFO holds.
        """
        mapping, arch = self.mapping, self.arch
        record = mapping.dfg.edges[edge]
        source = mapping.instance_of.get((record.source, source_copy))
        target = mapping.instance_of.get((record.target, copy))
        if source is None or target is None or target.place not in arch.tile_index:
            return None
        tile = arch.tile_index[target.place]
        if record.operand >= arch.operand_inputs.shape[1] or arch.operand_inputs[tile, record.operand] < 0:
            return None
        goal = int(arch.operand_inputs[tile, record.operand])
        due = target.cycle + mapping.ii * record.distance
        depth = arch.tiles[tile].fifo
        earliest = due - (depth if depth is not None else due)
        found = self._search(self._starts(source, due), goal, (earliest, due), (record.source, source_copy), via)
        if found is None:
            return None
        hops = tuple((arch.resource_names[r], cycle) for r, cycle in found)
        return Route(edge=edge, hops=hops, fifo=due - found[-1][1], copy=copy, source_copy=source_copy)

    def _starts(self, source: Instance, due: int) -> list[tuple[int, int]]:
        """Where the value may begin: after its function unit, or where it is kept."""
        arch = self.arch
        if source.place in arch.resource_index and source.place not in arch.tile_index:
            resource = arch.resource_index[source.place]
            return [(resource, cycle) for cycle in range(max(0, due - 2 * self.mapping.ii), due + 1)]
        tile = arch.tile_index[source.place]
        unit = int(arch.fu[tile])
        if int(arch.kind[unit]) == Kind.CONST:
            return [(unit, cycle) for cycle in range(max(0, due - 2), due + 1)]
        ready = source.cycle + arch.tiles[tile].latency_of(self.mapping.dfg.op_class(source.node))
        return [(after, ready) for after, _ in self._after(unit, source.cycle)]

    def _after(self, resource: int, cycle: int) -> list[tuple[int, int]]:
        """The resources that a resource leads to in a cycle, with the latencies."""
        node = resource * self.graph.ii + cycle % self.graph.ii
        span = slice(int(self.graph.indptr[node]), int(self.graph.indptr[node + 1]))
        targets = self.graph.target[span].tolist()
        return [
            (target // self.graph.ii, latency) for target, latency in zip(targets, self.graph.latency[span].tolist())
        ]

    def _search(
        self,
        starts: list[tuple[int, int]],
        goal: int,
        window: tuple[int, int],
        source: tuple[str, int],
        via: Sequence[int],
    ) -> list[tuple[int, int]] | None:
        """The way with the fewest new places, by Dijkstra's algorithm over (resource, cycle, way points passed)."""
        earliest, due = window
        queue: list[tuple[int, int, int, int]] = []
        before: dict[tuple[int, int, int], tuple[int, int, int] | None] = {}
        price: dict[tuple[int, int, int], int] = {}
        for resource, cycle in starts:
            if cycle <= due and self._free(resource, cycle, source):
                state = (resource, cycle, self._passed(resource, 0, via))
                price[state], before[state] = 1, None
                heapq.heappush(queue, (1, *state))
        looks = 0
        while queue and looks < _MOST_LOOKS:
            cost, resource, cycle, passed = heapq.heappop(queue)
            state = (resource, cycle, passed)
            if cost > price[state]:
                continue
            looks += 1
            if resource == goal and passed == len(via) and earliest <= cycle <= due:
                return _path(state, before)
            for after, latency in self._after(resource, cycle):
                then = (after, cycle + latency, self._passed(after, passed, via))
                step = cost + 1 + latency
                if then[1] > due or step >= price.get(then, 1 << 60) or not self._free(after, then[1], source):
                    continue
                price[then], before[then] = step, state
                heapq.heappush(queue, (step, *then))
        return None

    def _passed(self, resource: int, passed: int, via: Sequence[int]) -> int:
        """The way points passed once a resource is reached."""
        return passed + 1 if passed < len(via) and int(self.arch.tile[resource]) == via[passed] else passed


def _path(
    state: tuple[int, int, int], before: dict[tuple[int, int, int], tuple[int, int, int] | None]
) -> list[tuple[int, int]]:
    """The places from the start to a state, in order."""
    found: list[tuple[int, int]] = []
    at: tuple[int, int, int] | None = state
    while at is not None:
        found.insert(0, at[:2])
        at = before[at]
    return found
