"""``greedy``: one node after the other on the nearest free tile, a reference to compare other placers with.

The idea:

1. nodes are placed in topological order, each on the free tile that is nearest to its placed neighbours; ties are
   broken at random;
2. edges are routed by breadth-first search over free links, starting from the links that carry the value already;
3. issue cycles follow from the routes by longest paths, and FIFOs take up the slack;
4. all of it is repeated with other random numbers, and the mapping with the fewest links and FIFOs is kept.

Cost: nodes times tiles for a placement, links for each edge. Limits: a route that is blocked ends a try, since nothing
is ripped up; the placement does not know of routes.
"""

from __future__ import annotations

import random
from collections import deque
from dataclasses import dataclass, field

from gridloom.archs.model import Arch, Kind
from gridloom.dfg.model import Dfg
from gridloom.mapping.model import Failure, Instance, Mapping, Route
from gridloom.search.budget import Budget
from gridloom.search.choice import check_suits
from gridloom.search.settings import check_settings, origin


@dataclass(frozen=True, kw_only=True)
class GreedyConfig:
    """Settings of ``greedy``."""

    #: The most placements that are tried.
    tries: int = 50

    def __post_init__(self) -> None:
        check_settings(self, at_least={"tries": 1})


def greedy(dfg: Dfg, arch: Arch, config: GreedyConfig, budget: Budget) -> Mapping | Failure:
    """A mapping onto a static grid, or why there is none; placing a node counts as one move."""
    check_suits("greedy", dfg, arch)
    clock = budget.start().prepared()
    best: _Try | None = None
    reason = "no try was made"
    for number in range(config.tries):
        if clock.over():
            break
        one = _Try(dfg, arch, random.Random(f"{budget.seed} {number}"))
        clock.moves += max(1, len(one.nodes))
        try:
            one.run()
        except _Blocked as blocked:
            reason = str(blocked)
        else:
            best = one if best is None or one.cost < best.cost else best
        clock.report("tries", "" if best is None else f"{best.cost[0]} links")
    if best is None:
        return Failure(
            constraint="a greedy placement with routes",
            demand=f"a tile for each of {len(_placed(dfg, arch))} nodes and a free route for each edge",
            bound=reason,
            levers=("a larger array", "more tries", "mapper anneal"),
            cause="limit" if clock.over() else "exhausted",
        )
    return best.to_mapping(origin("greedy", config, clock))


class _Blocked(Exception):
    """A try that does not work out, and why."""


def _placed(dfg: Dfg, arch: Arch) -> list[int]:
    """The nodes that need a tile, in topological order; constants and live-ins stand beside an operand."""
    return [k for k in dfg.topological if dfg.op_class(dfg.nodes[k].id) not in arch.free]


@dataclass
class _Try:
    """One placement with routes and cycles. Nodes and tiles are numbers: their positions in graph and array."""

    dfg: Dfg
    arch: Arch
    draw: random.Random
    tile_of: dict[int, int] = field(default_factory=dict)
    #: Edge -> the resources of its route, each with the cycles since the result was there.
    routes: dict[int, list[tuple[int, int]]] = field(default_factory=dict)
    issue: dict[int, int] = field(default_factory=dict)
    waits: dict[int, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.nodes = _placed(self.dfg, self.arch)
        self.edges = [
            (e, self.dfg.index[edge.source], self.dfg.index[edge.target])
            for e, edge in enumerate(self.dfg.edges)
            if edge.kind == "data"
            and self.dfg.op_class(edge.source) not in self.arch.free
            and self.dfg.op_class(edge.target) not in self.arch.free
        ]

    @property
    def cost(self) -> tuple[int, int]:
        """Links, then cycles in FIFOs."""
        return sum(map(len, self.routes.values())), sum(self.waits.values())

    def run(self) -> None:
        """Place, route and schedule; _Blocked where one of them does not work out."""
        self._place()
        self._route()
        self._schedule()

    # -- placing ------------------------------------------------------------------------------------------------------

    def _place(self) -> None:
        near: dict[int, list[int]] = {node: [] for node in self.nodes}
        for _, source, target in self.edges:
            near[source].append(target)
            near[target].append(source)
        free = set(range(len(self.arch.tiles)))
        for node in self.nodes:
            tiles = sorted(tile for tile in free if self._may_sit(node, tile))
            if not tiles:
                raise _Blocked(f"no free tile for {self.dfg.nodes[node].id!r}")
            others = [self.tile_of[other] for other in near[node] if other in self.tile_of]
            costs = [(sum(self._hops(tile, other) for other in others), self.draw.random(), tile) for tile in tiles]
            self.tile_of[node] = min(costs)[2]
            free.remove(self.tile_of[node])

    def _hops(self, a: int, b: int) -> int:
        there, back = int(self.arch.hops[a, b]), int(self.arch.hops[b, a])
        return max(there, back) if min(there, back) >= 0 else len(self.arch.tiles)

    def _may_sit(self, node: int, tile: int) -> bool:
        """Whether a tile runs the op, with enough operands, and takes a new one in every cycle."""
        own, place = self.dfg.nodes[node], self.arch.tiles[tile]
        # Results that no node reads leave the array, where only some tiles have an output.
        leave = not all("output" in each.classes for each in self.arch.tiles)
        classes = self.dfg.required_classes(own.id, results_leave=leave)
        operands = [self.dfg.edges[e].operand for e in self.dfg.in_edges[node] if self.dfg.edges[e].carries_value]
        fits = place.operands > max(operands, default=-1)
        return fits and place.runs(own.op, classes) and all(place.occupancy_of(name) == 1 for name in classes)

    # -- routing ------------------------------------------------------------------------------------------------------

    def _route(self) -> None:
        """Route the edges in random order; a link carries the value of one node."""
        onward: dict[int, list[tuple[int, int]]] = {}
        arcs = zip(self.arch.arc_source.tolist(), self.arch.arc_target.tolist(), self.arch.arc_latency.tolist())
        for source, target, latency in arcs:
            onward.setdefault(source, []).append((target, latency))
        carried: dict[int, int] = {}
        #: Node -> the resources that its value is in, each with the way there.
        trees: dict[int, dict[int, list[tuple[int, int]]]] = {}
        for e, source, target in self.draw.sample(self.edges, len(self.edges)):
            out = int(self.arch.out[self.tile_of[source]])
            goal = int(self.arch.operand_inputs[self.tile_of[target], self.dfg.edges[e].operand])
            tree = trees.setdefault(source, {out: [(out, 0)]})
            found = self._search(tree, goal, onward, carried)
            if found is None:
                raise _Blocked(f"no free route from {self.dfg.edges[e].source!r} to {self.dfg.edges[e].target!r}")
            self.routes[e] = found
            for k, (resource, _) in enumerate(found[:-1]):
                tree.setdefault(resource, found[: k + 1])
                carried[resource] = source

    def _search(
        self,
        tree: dict[int, list[tuple[int, int]]],
        goal: int,
        onward: dict[int, list[tuple[int, int]]],
        carried: dict[int, int],
    ) -> list[tuple[int, int]] | None:
        """The way with the fewest new links from where a value is to an operand; None where links are taken."""
        queue = deque(tree.values())
        seen = set(tree)
        while queue:
            way = queue.popleft()
            resource, cycles = way[-1]
            for target, latency in onward.get(resource, ()):
                if target == goal:
                    return [*way, (target, cycles + latency)]
                if self.arch.kind[target] == Kind.LINK and target not in seen and target not in carried:
                    seen.add(target)
                    queue.append([*way, (target, cycles + latency)])
        return None

    # -- scheduling ---------------------------------------------------------------------------------------------------

    def _schedule(self) -> None:
        """The earliest issue cycles by longest paths; _Blocked where a recurrence or a FIFO is too short."""
        rules = [(s, t, self._travel(e, s) - self.dfg.edges[e].distance) for e, s, t in self.edges]
        for edge in self.dfg.edges:
            if edge.kind == "order":
                rules.append((self.dfg.index[edge.source], self.dfg.index[edge.target], edge.delay - edge.distance))
            elif edge.kind == "pair":
                raise _Blocked(f"{edge.source!r} and {edge.target!r} need an exact delay, which is not searched for")
        self.issue = dict.fromkeys(self.nodes, 0)
        for _ in range(len(self.nodes) + 1):
            changed = False
            for source, target, delay in rules:
                if target in self.issue and self.issue.get(source, 0) + delay > self.issue[target]:
                    self.issue[target] = self.issue.get(source, 0) + delay
                    changed = True
            if not changed:
                break
        else:
            raise _Blocked("a recurrence takes more cycles than its distance")
        for e, source, target in self.edges:
            edge = self.dfg.edges[e]
            wait = self.issue[target] + edge.distance - self.issue[source] - self._travel(e, source)
            depth = self.arch.tiles[self.tile_of[target]].fifo_of(edge.operand)
            if depth is not None and wait > depth:
                raise _Blocked(
                    f"operand {edge.operand} of {edge.target!r} waits {wait} cycles, and its FIFO has {depth}"
                )
            self.waits[e] = wait

    def _travel(self, edge: int, source: int) -> int:
        """Cycles from the issue of a node to the arrival of its value."""
        return self._latency(source) + self.routes[edge][-1][1]

    def _latency(self, node: int) -> int:
        return self.arch.tiles[self.tile_of[node]].latency_of(self.dfg.op_class(self.dfg.nodes[node].id))

    # -- the result ---------------------------------------------------------------------------------------------------

    def to_mapping(self, provenance: dict[str, object]) -> Mapping:
        """The try as a mapping, with names in the place of numbers."""
        names, tiles = self.arch.resource_names, self.arch.tiles
        instances = [
            Instance(node=self.dfg.nodes[node].id, place=tiles[self.tile_of[node]].name, cycle=self.issue[node])
            for node in self.nodes
        ]
        routes = []
        for e, source, _ in self.edges:
            start = self.issue[source] + self._latency(source)
            hops = tuple((names[resource], start + cycles) for resource, cycles in self.routes[e])
            routes.append(Route(edge=e, hops=hops, fifo=self.waits[e]))
        return Mapping(
            dfg=self.dfg,
            arch=self.arch,
            ii=1,
            instances=tuple(instances),
            routes=tuple(routes),
            provenance=provenance,
        )
