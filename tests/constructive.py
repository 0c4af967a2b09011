"""A simple constructive mapper for tests: places nodes one by one, routes each operand by breadth-first search.

It works on any cycle-based array from the resource graph alone, finds no good mappings, and gives up easily: its only
use is to make legal mappings of random graphs for the tests of `verify` and `sim`, before and beside the real mappers.
"""

from __future__ import annotations

import random
from collections import deque

from gridloom.archs import Arch, Kind, ResourceGraph
from gridloom.dfg.model import Dfg
from gridloom.mapping import Instance, Mapping, Route

Signal = tuple[str, int, int]
TIMELESS = -1


class GaveUp(Exception):
    """No place or no way for a node."""


def successors(graph: ResourceGraph) -> list[list[tuple[int, int]]]:
    """For each (resource, slot) node what follows as (resource, latency), spill slots left out."""
    kind = graph.arch.kind.tolist()
    rows = []
    for node in range(graph.nodes):
        span = slice(graph.indptr[node], graph.indptr[node + 1])
        pairs = zip((graph.target[span] // graph.ii).tolist(), graph.latency[span].tolist(), strict=True)
        rows.append([(r, c) for r, c in pairs if kind[r] not in (Kind.LOAD, Kind.STORE, Kind.MEM)])
    return rows


class Constructor:
    """One attempt at one II."""

    def __init__(
        self, dfg: Dfg, arch: Arch, ii: int, rng: random.Random, settings: dict[str, object], window: int = 8
    ) -> None:
        self.dfg, self.arch, self.ii, self.rng, self.window = dfg, arch, ii, rng, window
        self.settings = settings
        self.graph = arch.unroll(ii, settings)
        self.kind, self.capacity, self.group = arch.kind.tolist(), arch.capacity.tolist(), arch.group.tolist()
        self.out_of = [int(arch.out[t]) if t >= 0 else -1 for t in arch.tile.tolist()]
        self.move_latency = [arch.tiles[t].latency_of("route") if t >= 0 else 0 for t in arch.tile.tolist()]
        self.after = successors(self.graph)
        #: (group, slot) -> {(resource, signal)}
        self.used: dict[tuple[int, int], set[tuple[int, Signal]]] = {}
        self.journal: list[tuple[tuple[int, int], tuple[int, Signal]]] = []
        self.pools: dict[tuple[int, int], int] = {}
        self.placed: dict[str, Instance] = {}
        self.routes: dict[int, Route] = {}

    def run(self) -> Mapping:
        dfg, arch = self.dfg, self.arch
        for k in dfg.topological:
            node = dfg.nodes[k]
            if dfg.op_class(node.id) in arch.free:
                continue
            self._place(node.id)
        return Mapping(
            dfg=dfg,
            arch=arch,
            ii=self.ii,
            settings=self.settings,
            instances=tuple(self.placed.values()),
            routes=tuple(self.routes[e] for e in sorted(self.routes)),
        )

    # -- placement --------------------------------------------------------------------------------------------------

    def _place(self, node: str) -> None:
        op_class = self.dfg.op_class(node)
        if op_class == "livein":
            rotating = self.graph.settings["rotating"]
            spots = [(r, 0) for f in self.arch.register_files for r in f.registers[rotating.get(f.name, f.rotating) :]]
        else:
            tiles = list(self.arch.tiles_for(op_class))
            spots = [(t, cycle) for t in tiles for cycle in self._cycles(node)]
        self.rng.shuffle(spots)
        if op_class not in ("livein", "input"):
            spots = spots[:400]
            if "siblings_apart" not in self.arch.rules:
                spots.sort(key=lambda spot: spot[1])
        for spot in spots[:30]:
            if op_class == "livein" and self._try_register(node, spot[0]):
                return
            if op_class != "livein" and self._try(node, *spot):
                return
        raise GaveUp(f"no place for {node}")

    def _cycles(self, node: str) -> range:
        op = self.dfg.op(node)
        if op.timeless or (op.name == "input" and self.arch.inputs == "aligned"):
            return range(1)
        if op.name == "output" and "outputs_together" in self.arch.rules:
            stages = sum(self.graph.settings["pipeline"])
            return range(stages, stages + 1)
        ready = 0
        for e in self.dfg.operand_edges(node):
            edge = self.dfg.edges[e]
            if edge.distance == 0 and edge.source in self.placed:
                placed = self.placed[edge.source]
                tile = next((tile for tile in self.arch.tiles if tile.name == placed.place), None)
                late = tile.latency_of(self.dfg.op_class(edge.source)) if tile else 0
                ready = max(ready, placed.cycle + max(0, late - 1))
        return range(ready, ready + self.window)

    def _try_register(self, node: str, register: int) -> bool:
        signal = (node, 0, TIMELESS)
        uses = [(register, slot, signal) for slot in range(self.ii)]
        if any(not self._free(*use) for use in uses):
            return False
        self._take(uses)
        self.placed[node] = Instance(node=node, place=self.arch.resource_names[register])
        return True

    def _try(self, node: str, tile: int, cycle: int) -> bool:
        """Place a node and route every edge between it and what is placed; undo everything when one has no way."""
        arch, dfg = self.arch, self.dfg
        place = arch.tiles[tile]
        op_class = dfg.op_class(node)
        fu = int(arch.fu[tile])
        uses = [(fu, cycle, ("!" + node, 0, cycle))]
        if self.kind[fu] == Kind.CONST:
            uses = [(fu, 0, (node, 0, TIMELESS))]
        elif dfg.has_result(node) and dfg.op(node).op_class != "output" and arch.out[tile] >= 0:
            ready = cycle + place.latency_of(op_class)
            uses.append((int(arch.out[tile]), ready, (node, 0, ready)))
        if not self._rules(node, tile) or not self._pool(tile, op_class, cycle):
            return False
        if any(not self._free(*use) for use in uses):
            return False
        mark, saved = len(self.journal), (dict(self.pools), dict(self.routes))
        self._take(uses)
        self._pool_take(tile, op_class, cycle)
        self.placed[node] = Instance(node=node, place=place.name, cycle=cycle)
        touching = [*dfg.in_edges[dfg.index[node]], *dfg.out_edges[dfg.index[node]]]
        for e in dict.fromkeys(touching):
            if not self._route(e):
                self.pools, self.routes = saved
                self._undo(mark)
                del self.placed[node]
                return False
        return True

    def _rules(self, node: str, tile: int) -> bool:
        """The placement rules of the streaming engine, by brute force."""
        arch, dfg = self.arch, self.dfg
        there = [other for other, i in self.placed.items() if i.place == arch.tiles[tile].name]

        def sources(n: str, kind: str) -> set[str]:
            found = {dfg.edges[e].source: dfg.op_class(dfg.edges[e].source) for e in dfg.operand_edges(n)}
            return {s for s, op_class in found.items() if (op_class == kind if kind else op_class not in arch.free)}

        if "flow_starts_apart" in arch.rules and not sources(node, ""):
            if any(not sources(other, "") for other in there):
                return False
        if "siblings_apart" in arch.rules and any(sources(node, "") & sources(other, "") for other in there):
            return False
        if "tile_memory_shared" in arch.rules:
            for other, instance in self.placed.items():
                shared = sources(node, "livein") & sources(other, "livein")
                if shared and instance.place != arch.tiles[tile].name:
                    return False
        return True

    # -- resources --------------------------------------------------------------------------------------------------

    def _free(self, resource: int, cycle: int, signal: Signal) -> bool:
        if self.capacity[resource] == 0:
            return True
        taken = self.used.get((self.group[resource], cycle % self.ii), set())
        return taken <= {(resource, signal)}

    def _take(self, uses: list[tuple[int, int, Signal]]) -> None:
        for resource, cycle, signal in uses:
            key = (self.group[resource], cycle % self.ii)
            use = (resource, signal)
            if use not in self.used.setdefault(key, set()):
                self.used[key].add(use)
                self.journal.append((key, use))

    def _undo(self, mark: int) -> None:
        while len(self.journal) > mark:
            key, use = self.journal.pop()
            self.used[key].remove(use)

    def _pool(self, tile: int, op_class: str, cycle: int) -> bool:
        return all(
            self.pools.get((p, cycle % self.ii), 0) < pool.capacity
            for p, pool in enumerate(self.arch.pools)
            if tile in pool.tiles and op_class in pool.classes
        )

    def _pool_take(self, tile: int, op_class: str, cycle: int) -> None:
        for p, pool in enumerate(self.arch.pools):
            if tile in pool.tiles and op_class in pool.classes:
                self.pools[p, cycle % self.ii] = self.pools.get((p, cycle % self.ii), 0) + 1

    # -- routing ----------------------------------------------------------------------------------------------------

    def _route(self, e: int) -> bool:
        dfg, arch = self.dfg, self.arch
        edge = dfg.edges[e]
        ends = (self.placed.get(edge.source), self.placed.get(edge.target))
        if e in self.routes or ends[0] is None or ends[1] is None or dfg.op_class(edge.source) in arch.free:
            return True
        source, target = ends
        if edge.kind == "order":
            return target.cycle + self.ii * edge.distance >= source.cycle + edge.delay
        tile = arch.tile_index[target.place]
        goal = int(arch.operand_inputs[tile, edge.operand])
        due = target.cycle + self.ii * edge.distance
        path = self._search(edge.source, source, goal, due, arch.tiles[tile].fifo)
        if path is None:
            return False
        timeless = dfg.op(edge.source).timeless
        self._take([(r, c, (edge.source, 0, TIMELESS if timeless else c)) for r, c in path])
        for r, c in path:
            if self.kind[r] == Kind.FU:
                ready = c + arch.tiles[arch.tile[r]].latency_of("route")
                self._take([(int(arch.out[arch.tile[r]]), ready, (edge.source, 0, ready))])
        hops = tuple((arch.resource_names[r], c) for r, c in path)
        self.routes[e] = Route(edge=e, hops=hops, fifo=due - path[-1][1])
        return True

    def _starts(self, node: str, source: Instance, due: int) -> list[tuple[int, int]]:
        arch = self.arch
        if source.place not in arch.tile_index:
            return [(arch.resource(source.place), due)]
        tile = arch.tile_index[source.place]
        fu = int(arch.fu[tile])
        if self.kind[fu] == Kind.CONST:
            return [(fu, due)]
        ready = source.cycle + arch.tiles[tile].latency_of(self.dfg.op_class(node))
        after = {int(t) for t in arch.arc_target[arch.arc_source == fu]}
        return [(r, ready) for r in sorted(after)]

    def _search(
        self, node: str, source: Instance, goal: int, due: int, fifo: int | None
    ) -> list[tuple[int, int]] | None:
        """Breadth first over (resource, cycle); FIFOs allow early arrival, else it has to be exact."""
        timeless = self.dfg.op(node).timeless

        def free(r: int, c: int) -> bool:
            if not self._free(r, c, (node, 0, TIMELESS if timeless else c)):
                return False
            if self.kind[r] != Kind.FU:
                return True
            ready = c + self.move_latency[r]
            return self._free(self.out_of[r], ready, (node, 0, ready))

        parent: dict[tuple[int, int], tuple[int, int] | None] = {}
        queue: deque[tuple[int, int]] = deque()
        for start in self._starts(node, source, due):
            if free(*start):
                parent[start] = None
                queue.append(start)
        earliest = -(10**9) if fifo is None else due - fifo
        while queue:
            state = queue.popleft()
            r, c = state
            if r == goal and earliest <= c <= due and self._distinct(parent, state):
                return self._unwind(parent, state)
            for resource, latency in self.after[r * self.ii + c % self.ii]:
                step = (resource, c + latency)
                if step not in parent and step[1] <= due and free(*step):
                    parent[step] = state
                    queue.append(step)
        return None

    def _distinct(self, parent: dict, state: tuple[int, int]) -> bool:  # type: ignore[type-arg]
        """A path may not meet itself in one slot: it would carry two ages of the value."""
        path = self._unwind(parent, state)
        writes = [(self.out_of[r], c + self.move_latency[r]) for r, c in path if self.kind[r] == Kind.FU]
        ages: dict[tuple[int, int], set[int]] = {}
        for r, c in [*path, *writes]:
            if self.capacity[r]:
                ages.setdefault((r, c % self.ii), set()).add(c)
        return all(len(cycles) == 1 for cycles in ages.values())

    @staticmethod
    def _unwind(parent: dict, state: tuple[int, int] | None) -> list[tuple[int, int]]:  # type: ignore[type-arg]
        path = []
        while state is not None:
            path.append(state)
            state = parent[state]
        return path[::-1]


def construct(
    dfg: Dfg, arch: Arch, seed: int, *, ii: int = 1, settings: dict[str, object] | None = None, attempts: int = 4
) -> Mapping | None:
    """A legal mapping, or None when none was found in a few attempts."""
    for attempt in range(attempts):
        try:
            return Constructor(dfg, arch, ii, random.Random(seed * 1000 + attempt), settings or {}).run()
        except GaveUp:
            continue
    return None
