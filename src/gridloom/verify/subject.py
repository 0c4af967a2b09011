"""A mapping with its names resolved: what every rule looks at.

Names that do not resolve become violations here, once; rules then only see instances and paths that exist. A path keeps
its hops as (resource index, flat cycle) so that rules compare numbers.

Every rule reads a ``Subject`` and none reads another rule's result, so that rules can be tested alone and a broken
mapping shows all that is wrong with it. A route that does not resolve is missing from ``paths`` but not from
``routed``: it is not reported as missing as well.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Final

from gridloom.archs.model import Kind
from gridloom.archs.unroll import ResourceGraph
from gridloom.dfg.model import Edge, Node
from gridloom.errors import ArchError
from gridloom.mapping.model import Instance, Mapping, Route
from gridloom.verify.reading import TIMELESS, Reading, cycles_of
from gridloom.verify.violation import Violation

#: Unrolled arcs that are still built; beyond, the II itself is the finding.
MAX_UNROLLED_ARCS: Final = 20_000_000

#: (node, copy, flat cycle): two uses are one signal when these are equal. Timeless values have cycle None.
Signal = tuple[str, int, int | None]

#: (resource index, flat cycle)
Place = tuple[int, int]


@dataclass(frozen=True, slots=True)
class PlacedInstance:
    """An instance whose node exists. ``tile`` and ``resource`` are -1 where its place names none."""

    instance: Instance
    node: Node
    op_class: str
    timeless: bool
    tile: int
    #: The FU or CONST of its tile, or the register or memory that keeps it.
    resource: int
    #: Cycles from issue to result.
    latency: int

    @property
    def name(self) -> str:
        """The node, with the copy's number where it is not the first."""
        return instance_name(self.instance.node, self.instance.copy)

    @property
    def cycle(self) -> int:
        """The flat cycle of the issue."""
        return self.instance.cycle


@dataclass(frozen=True, slots=True)
class Path:
    """A route of a data edge whose ends and hops exist.

    That it is a sound way through the array is not said: ``verify.routes`` checks it.
    """

    route: Route
    edge: Edge
    source: PlacedInstance
    target: PlacedInstance
    hops: tuple[Place, ...]

    @property
    def name(self) -> str:
        """The edge as a reader knows it."""
        return edge_name(self.route.edge, self.edge)

    def signal(self, cycle: int) -> Signal:
        """Return what the path carries at a flat cycle.

        Two paths share a resource without conflict exactly when they carry equal signals in it.
        """
        return (self.edge.source, self.route.source_copy, None if self.source.timeless else cycle)


def instance_name(node: str, copy: int) -> str:
    """``node`` or, for further copies, ``node#copy``.

    >>> instance_name("sum", 0), instance_name("sum", 2)
    ('sum', 'sum#2')
    """
    return f"{node}#{copy}" if copy else node


def edge_name(number: int, edge: Edge) -> str:
    """``edge 3 (a -> b)``."""
    return f"edge {number} ({edge.source} -> {edge.target})"


class Subject(Reading):
    """The mapping that is checked, with every name resolved once.

    ``findings`` has a violation for each name that does not resolve; ``legal`` returns them before those of the rules.
    ``graph`` is None when the array cannot be unrolled at the mapping's II, and then ``latencies`` is empty throughout.
    Settings that the array does not take are a finding, and the graph is that of the default settings. A subject is
    made for one check and thrown away.
    """

    def __init__(self, mapping: Mapping) -> None:
        super().__init__(mapping.dfg, mapping.arch)
        self.mapping = mapping
        self.ii: int = mapping.ii
        #: What could not be resolved.
        self.findings: list[Violation] = []
        self.graph: ResourceGraph | None = self._unroll()
        self.placed: dict[tuple[str, int], PlacedInstance] = {}
        self._place_instances()
        #: Routes that are the first for their (edge, copy), by that key; data edges between placed nodes only.
        self.paths: list[Path] = []
        #: (edge, copy) of all routes with a known edge, whether their hops resolve or not.
        self.routed: set[tuple[int, int]] = set()
        #: Which copy of an edge's source a copy of its target reads.
        self.reads: dict[tuple[int, int], int] = {}
        self._resolve_routes()
        self._arcs: dict[tuple[int, int, int], tuple[int, ...]] = {}

    # -- the whole mapping --------------------------------------------------------------------------------------------

    def _unroll(self) -> ResourceGraph | None:
        """Return the unrolled array; None, with a finding, for an II that it cannot have."""
        arch, ii = self.arch, self.ii
        allowed = "at least 1" if arch.style == "modulo" else f"1, the array is {arch.style}"
        if ii < 1 or (ii != 1 and arch.style != "modulo"):
            self.report("ii", "the mapping", f"II {ii}", allowed)
            return None
        if len(arch.arc_source) * ii > MAX_UNROLLED_ARCS:
            self.report("ii", "the mapping", f"II {ii}", f"{MAX_UNROLLED_ARCS // len(arch.arc_source)} at most")
            return None
        try:
            return arch.unroll(ii, self.mapping.settings)
        except ArchError as error:
            self.report("settings", "the mapping", repr(dict(self.mapping.settings)), str(error))
        # The other rules can still be checked with the default settings.
        return arch.unroll(ii, {})

    def report(self, kind: str, where: str, demanded: str, allowed: str) -> None:
        """Add a finding about a name that cannot be resolved."""
        self.findings.append(Violation(kind, where, demanded, allowed))

    def latencies(self, source: int, cycle: int, target: int) -> tuple[int, ...]:
        """Return the latencies of the arcs from a resource, left at a flat cycle, to another; empty: no arc."""
        if self.graph is None:
            return ()
        key = (source, cycle % self.ii, target)
        if key not in self._arcs:
            graph = self.graph
            first, last = graph.indptr[node := key[0] * self.ii + key[1]], graph.indptr[node + 1]
            ends, cycles = graph.target[first:last].tolist(), graph.latency[first:last].tolist()
            self._arcs[key] = tuple(cycle for end, cycle in zip(ends, cycles) if end // self.ii == target)
        return self._arcs[key]

    @property
    def timed(self) -> bool:
        """True for arrays with cycles."""
        return self.arch.style in ("static", "modulo")

    # -- instances ----------------------------------------------------------------------------------------------------

    def _place_instances(self) -> None:
        """Resolve the instances; of two with the same node and copy the first one counts."""
        for instance in self.mapping.instances:
            if instance.node not in self.nodes:
                known = f"one of the graph's {len(self.dfg.nodes)} nodes"
                self.report("unknown-node", instance_name(instance.node, instance.copy), repr(instance.node), known)
                continue
            self.placed.setdefault((instance.node, instance.copy), self._resolve(instance))

    def _resolve(self, instance: Instance) -> PlacedInstance:
        """Return an instance with its tile, resource and latency; report a place that does not exist."""
        op_class = self.op_class(instance.node)
        tile = self.tile_numbers.get(instance.place, -1)
        resource = self.units.get(tile, -1) if tile >= 0 else self.resource_numbers.get(instance.place, -1)
        if tile < 0 and (resource < 0 or self.kind(resource) not in (Kind.REG, Kind.MEM)):
            name = instance_name(instance.node, instance.copy)
            self.report("unknown-place", name, repr(instance.place), "a tile, a register or the memory of the array")
            resource = -1
        return PlacedInstance(
            instance=instance,
            node=self.nodes[instance.node],
            op_class=op_class,
            timeless=self.rows[instance.node].op_class in TIMELESS,
            tile=tile,
            resource=resource,
            latency=cycles_of(self.arch.tiles[tile].latency, op_class) if tile >= 0 else 0,
        )

    def on_tiles(self) -> Iterator[PlacedInstance]:
        """The instances that sit on a tile."""
        return (placed for placed in self.placed.values() if placed.tile >= 0)

    # -- routes -------------------------------------------------------------------------------------------------------

    def _resolve_routes(self) -> None:
        """Resolve the routes; report unknown edges and second routes of one edge and copy."""
        edges = self.dfg.edges
        for route in self.mapping.routes:
            if not 0 <= route.edge < len(edges):
                self.report("unknown-edge", f"route of edge {route.edge}", str(route.edge), f"0 to {len(edges) - 1}")
                continue
            edge = edges[route.edge]
            key = (route.edge, route.copy)
            if key in self.routed:
                self.report("extra-route", edge_name(route.edge, edge), f"two routes into copy {route.copy}", "one")
                continue
            self.routed.add(key)
            self.reads[key] = route.source_copy
            if self._takes_route(route, edge):
                self._add_path(route, edge)

    def _takes_route(self, route: Route, edge: Edge) -> bool:
        """False, with a finding, for a way through the array that the edge has no use for.

        Pair and async edges go through no resource, but may have an empty route that says which copy of the source is
        read.
        """
        where = edge_name(route.edge, edge)
        if edge.kind in ("pair", "async") and not route.hops and route.fifo == 0:
            # It only names the copy that is read.
            self._ends(route, edge)
            return False
        if edge.kind != "data":
            self.report("extra-route", where, f"a route of a {edge.kind} edge", "none: it goes through no resource")
            return False
        free = [end for end in (edge.source, edge.target) if self.is_free(end)]
        if free:
            self.report("extra-route", where, "a route", f"none: {free[0]!r} needs no tile on this array")
            return False
        return True

    def _ends(self, route: Route, edge: Edge) -> tuple[PlacedInstance, PlacedInstance] | None:
        """Return the instances at both ends of a route; report those that are not placed."""
        source = self.placed.get((edge.source, route.source_copy))
        target = self.placed.get((edge.target, route.copy))
        for placed, node, copy in ((source, edge.source, route.source_copy), (target, edge.target, route.copy)):
            if placed is None:
                name = instance_name(node, copy)
                self.report(
                    "unknown-copy", edge_name(route.edge, edge), f"copy {copy} of {node!r}", f"{name} is not placed"
                )
        return (source, target) if source and target else None

    def _add_path(self, route: Route, edge: Edge) -> None:
        """Add a route whose ends and hops all exist; report resources that do not."""
        ends = self._ends(route, edge)
        index = self.resource_numbers
        unknown = [name for name, _ in route.hops if name not in index]
        for name in unknown:
            self.report("unknown-resource", edge_name(route.edge, edge), repr(name), "a resource of the array")
        if ends is not None and not unknown:
            hops = tuple((index[name], cycle) for name, cycle in route.hops)
            self.paths.append(Path(route, edge, *ends, hops))

    def routed_edges(self) -> Iterator[tuple[int, Edge]]:
        """The data edges that need a route: both ends need a tile."""
        for k, edge in enumerate(self.dfg.edges):
            if edge.kind == "data" and not self.is_free(edge.source) and not self.is_free(edge.target):
                yield k, edge

    def copies_of(self, node: str) -> list[PlacedInstance]:
        """Return the instances of a node, in the mapping's order, each copy once."""
        return self._copies.get(node, [])

    @cached_property
    def _copies(self) -> dict[str, list[PlacedInstance]]:
        """Node -> its instances, for ``copies_of``."""
        table: dict[str, list[PlacedInstance]] = {}
        for (node, _), placed in self.placed.items():
            table.setdefault(node, []).append(placed)
        return table

    def reader_of(self, edge: int, target: PlacedInstance) -> PlacedInstance | None:
        """Return the source instance that a copy of the edge's target reads.

        That is copy 0 where no route says otherwise; None where that copy is not placed.
        """
        copy = self.reads.get((edge, target.instance.copy), 0)
        return self.placed.get((self.dfg.edges[edge].source, copy))
