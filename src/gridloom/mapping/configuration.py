"""The Configuration: what the array is set to, derived from a Mapping.

A mapping says which way values go; a configuration says what each multiplexer selects and what each issue slot does
in each slot. ``sim`` and ``emit`` work from it alone. Deriving it trusts nothing: a hop that has no arc leaves its
multiplexer undriven, two claims on one multiplexer leave the last, so that an illegal mapping shows as wrong values.

======================  =============================================================================================
``driver[r, s]``        the resource that resource r selects in slot s, -1: none (storage holds, wires float)
``delay[r, s]``         the cycles of that arc
``slots``               the configured issue slots: ops, moves, spill loads and stores
``preset``              resources that hold a timeless value: constant registers, live-ins in registers
``spills``              circular buffers in the data memory for spilled values
``lanes``               further wires of resources without a capacity limit, which carry more than one value in a slot:
                        row ``len(arch.kind) + k`` of ``driver`` and ``delay`` is one more wire of resource ``lanes[k]``
======================  =============================================================================================
"""

from __future__ import annotations

from collections.abc import Mapping as MappingABC
from dataclasses import dataclass, field, replace
from typing import Any, Literal

import numpy as np

from gridloom.archs.model import Arch, Ints, Kind
from gridloom.archs.unroll import ResourceGraph
from gridloom.dfg.model import Dfg
from gridloom.errors import MappingError
from gridloom.mapping.model import Instance, Mapping, Route

OperandKind = Literal["routed", "const", "livein", "stream", "pair", "async"]
SlotKind = Literal["op", "move", "load", "store"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Operand:
    """Where an issue slot takes one operand from.

    Only a ``routed`` operand passes a multiplexer; all others name their source directly.
    """

    kind: OperandKind
    #: ``routed``: the operand input (a row of ``driver``) and the cycles of its FIFO.
    resource: int = -1
    fifo: int = 0
    #: The node that a const, live-in, stream, pair or async operand comes from, and which copy of it.
    node: int = -1
    copy: int = 0
    #: Firings to look back for ``pair`` and ``async``; the number of initial values otherwise.
    distance: int = 0
    #: What the first firings read, as the graph gives it.
    initial: tuple[int | float | str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Slot:
    """One configured issue slot of a tile: what one of its units does in one slot of every II cycles.

    It is an op of the graph, a move, or the load or store of a spilled value.
    """

    tile: int
    #: The FU, LOAD or STORE resource.
    resource: int
    #: Cycle mod II.
    slot: int
    #: Cycle div II: the slot fires in rounds ``start .. start + iterations - 1``.
    start: int
    kind: SlotKind
    #: Cycles from issue to result.
    latency: int
    #: True when the result is written to the tile's output register (and to registers that select it).
    writes: bool
    operands: tuple[Operand, ...] = ()
    node: int = -1
    copy: int = 0
    #: Index into ``Configuration.spills`` for loads and stores of spilled values.
    spill: int = -1


@dataclass(frozen=True, slots=True, kw_only=True)
class Spill:
    """A circular buffer in data memory for one spilled value.

    Firing f of the store writes word f mod ``depth``; its load reads the same word later.
    """

    depth: int
    #: The live-in that the buffer holds from the start, -1: none.
    livein: int = -1


@dataclass(frozen=True, slots=True, kw_only=True)
class TokenPath:
    """Elastic arrays: the links that an edge's tokens take from one unit to another.

    ``source`` and ``target`` are tiles, ``links`` the resources between them in order.
    """

    edge: int
    source: int
    target: int
    links: tuple[int, ...]


@dataclass(frozen=True, kw_only=True)
class Configuration:
    """An array, set: the state of every multiplexer and issue slot.

    The module's docstring explains the fields.
    """

    dfg: Dfg
    arch: Arch
    ii: int
    settings: MappingABC[str, Any]
    driver: Ints
    delay: Ints
    slots: tuple[Slot, ...]
    #: resource -> node position of the const or live-in it holds.
    preset: MappingABC[int, int] = field(default_factory=dict)
    spills: tuple[Spill, ...] = ()
    token_paths: tuple[TokenPath, ...] = ()
    lanes: tuple[int, ...] = ()


def configure(mapping: Mapping) -> Configuration:
    """Derive the configuration of a mapping. Linear in its hops.

    Raises MappingError only when it names nodes, tiles or resources that do not exist.
    """
    return _Derivation(mapping).result()


class _Derivation:
    """Derives the configuration of one mapping: first its routes, then its ops.

    The order matters, since an op's operand reads the wire on which its route arrived.
    """

    def __init__(self, mapping: Mapping) -> None:
        self.mapping = mapping
        self.dfg = mapping.dfg
        self.arch = mapping.arch
        self.graph: ResourceGraph = mapping.arch.unroll(mapping.ii, mapping.settings)
        count = len(self.arch.kind)
        self.driver = np.full((count, mapping.ii), -1, dtype=np.int32)
        self.delay = np.zeros((count, mapping.ii), dtype=np.int32)
        self.moves: dict[tuple[int, int], Slot] = {}
        self.spills: list[Spill] = []
        self.spill_of: dict[tuple[str, int, int, int], int] = {}
        self.preset: dict[int, int] = {}
        self.lanes: list[int] = []
        self.arrival: dict[tuple[int, int], int] = {}

    def result(self) -> Configuration:
        """The configuration: links of an elastic array, or multiplexers and slots of any other."""
        mapping = self.mapping
        token_paths: tuple[TokenPath, ...] = ()
        if self.arch.style == "elastic":
            token_paths = tuple(self._token_path(route) for route in mapping.routes)
        else:
            for route in mapping.routes:
                self._route(route)
        slots = [self._op(instance) for instance in mapping.instances]
        return Configuration(
            dfg=self.dfg,
            arch=self.arch,
            ii=mapping.ii,
            settings=self.graph.settings,
            driver=self.driver,
            delay=self.delay,
            slots=tuple(slot for slot in slots if slot) + tuple(self.moves.values()),
            preset=self.preset,
            spills=tuple(self.spills),
            token_paths=token_paths,
            lanes=tuple(self.lanes),
        )

    # -- routes -----------------------------------------------------------------------------------------------------

    def _route(self, route: Route) -> None:
        """Set the multiplexers along one route, and the slots of the moves and spills on it."""
        edge = self._edge(route.edge)
        hops = [(self._resource(name, f"route of edge {route.edge}"), cycle) for name, cycle in route.hops]
        source = self.mapping.instance_of.get((edge.source, route.source_copy))
        if source is None:
            raise MappingError(f"route of edge {route.edge}: copy {route.source_copy} of {edge.source!r} is not placed")
        row = self._origin(source)
        for k, (resource, cycle) in enumerate(hops):
            previous, from_cycle = (self._origin(source), source.cycle) if k == 0 else hops[k - 1]
            before, row = row, resource
            if previous >= 0 and not self._holds(previous, resource):
                row = self._select(before, from_cycle, resource, cycle, first=k == 0)
            kind = self.arch.kind[resource]
            if kind in (Kind.FU, Kind.LOAD, Kind.STORE):
                self._move(edge.source, route.source_copy, hops, k, before)
        self.arrival[route.edge, route.copy] = row

    def _holds(self, previous: int, resource: int) -> bool:
        """True for a step that needs no multiplexer: storage that keeps (or rotates) what it has."""
        kinds = (self.arch.kind[previous], self.arch.kind[resource])
        return previous == resource or kinds == (Kind.REG, Kind.REG) or Kind.MEM in kinds

    def _origin(self, source: Instance) -> int:
        """The function unit of an instance; -1 for a value that sits in a register or in memory."""
        if source.place in self.arch.tile_index:
            return int(self.arch.fu[self.arch.tile_index[source.place]])
        return -1

    def _select(self, row: int, from_cycle: int, resource: int, cycle: int, *, first: bool) -> int:
        """Set the multiplexer of ``resource`` to ``row``, as far as the array has the arc, whose own latency is kept.

        Returns the row that now carries the value.
        """
        ii, count = self.mapping.ii, len(self.arch.kind)
        previous = row if row < count else self.lanes[row - count]
        latencies = self.graph.latencies(previous, from_cycle % ii, resource)
        if first and self.arch.kind[previous] == Kind.FU:
            latencies = self._result_latencies(previous, resource)
        if not latencies:
            return resource
        wanted = cycle - from_cycle
        delay = wanted if wanted in latencies else latencies[0]
        chosen = self._wire(resource, cycle % ii, row, delay)
        self.driver[chosen, cycle % ii] = row
        self.delay[chosen, cycle % ii] = delay
        return chosen

    def _wire(self, resource: int, slot: int, row: int, delay: int) -> int:
        """The wire of a resource for one more value: its own, or a lane where it is taken and there is no limit.

        A value that the wire carries already in this slot, from the same row with the same delay, shares it: this is
        fan-out.
        """
        if self.arch.capacity[resource] or self.arch.kind[resource] not in (Kind.IN, Kind.LINK, Kind.SWITCH):
            return resource
        count = len(self.arch.kind)
        wires = [resource, *(count + k for k, owner in enumerate(self.lanes) if owner == resource)]
        for wire in wires:
            taken = self.driver[wire, slot]
            if taken < 0 or (taken == row and self.delay[wire, slot] == delay):
                return wire
        self.lanes.append(resource)
        self.driver = np.vstack([self.driver, np.full((1, self.mapping.ii), -1, dtype=np.int32)])
        self.delay = np.vstack([self.delay, np.zeros((1, self.mapping.ii), dtype=np.int32)])
        return len(self.driver) - 1

    def _result_latencies(self, fu: int, resource: int) -> tuple[int, ...]:
        """An op's result may enter what a move's result may enter; the time is the op's, which the slot carries."""
        return self.graph.latencies(fu, 0, resource)

    def _move(self, node: str, copy: int, hops: list[tuple[int, int]], k: int, row: int) -> None:
        """The issue slot of hop k, which reads ``row``."""
        resource, cycle = hops[k]
        arch = self.arch
        kind: SlotKind = {Kind.FU: "move", Kind.LOAD: "load", Kind.STORE: "store"}[Kind(arch.kind[resource])]  # type: ignore[assignment]
        tile = arch.tiles[arch.tile[resource]]
        operands: tuple[Operand, ...] = ()
        spill = -1
        if kind != "load" and k > 0:
            operands = (Operand(kind="routed", resource=row),)
        if kind == "store":
            spill = self._spill(node, copy, resource, cycle, cycle)
        elif kind == "load":
            spill = self._load_buffer(node, copy, hops, k)
        start, slot = divmod(cycle, self.mapping.ii)
        self.moves[resource, cycle] = Slot(
            tile=int(arch.tile[resource]),
            resource=resource,
            slot=slot,
            start=start,
            kind=kind,
            latency=tile.latency_of("route" if kind == "move" else "mem"),
            writes=kind != "store",
            operands=operands,
            spill=spill,
        )

    def _load_buffer(self, node: str, copy: int, hops: list[tuple[int, int]], k: int) -> int:
        """The spill that the load at hop k reads: of the last store before it, or of a live-in in memory."""
        for resource, cycle in reversed(hops[:k]):
            if self.arch.kind[resource] == Kind.STORE:
                return self._spill(node, copy, resource, cycle, hops[k][1])
        key = (node, copy, -1, 0)
        if key not in self.spill_of:
            self.spill_of[key] = len(self.spills)
            self.spills.append(Spill(depth=1, livein=self.dfg.index[node]))
        return self.spill_of[key]

    def _spill(self, node: str, copy: int, resource: int, stored: int, last: int) -> int:
        """The buffer of a value that a store puts away, deep enough for the load at cycle ``last``."""
        key = (node, copy, resource, stored)
        if key not in self.spill_of:
            self.spill_of[key] = len(self.spills)
            self.spills.append(Spill(depth=1))
        number = self.spill_of[key]
        depth = max(1, (last - stored) // self.mapping.ii + 1)
        self.spills[number] = replace(self.spills[number], depth=max(depth, self.spills[number].depth))
        return number

    def _token_path(self, route: Route) -> TokenPath:
        """The links of one route of an elastic array."""
        edge = self._edge(route.edge)
        ends = []
        for node, copy in ((edge.source, route.source_copy), (edge.target, route.copy)):
            instance = self.mapping.instance_of.get((node, copy))
            if instance is None:
                raise MappingError(f"route of edge {route.edge}: copy {copy} of {node!r} is not placed")
            ends.append(self._tile(instance))
        resources = [self._resource(name, f"route of edge {route.edge}") for name, _ in route.hops]
        links = tuple(r for r in resources if self.arch.kind[r] == Kind.LINK)
        return TokenPath(edge=route.edge, source=ends[0], target=ends[1], links=links)

    # -- ops --------------------------------------------------------------------------------------------------------

    def _op(self, instance: Instance) -> Slot | None:
        """The slot of an instance; None for a constant or live-in that only presets a resource."""
        if instance.node not in self.dfg.index:
            raise MappingError(f"instance of {instance.node!r}: the graph has no such node")
        k = self.dfg.index[instance.node]
        if instance.place not in self.arch.tile_index:
            resource = self._resource(instance.place, f"instance of {instance.node!r}")
            self.preset[resource] = k
            return None
        tile = self._tile(instance)
        resource = int(self.arch.fu[tile])
        if resource < 0:
            raise MappingError(f"instance of {instance.node!r}: tile {instance.place!r} has no function unit")
        if self.arch.kind[resource] == Kind.CONST:
            self.preset[resource] = k
            return None
        start, slot = divmod(instance.cycle, self.mapping.ii)
        return Slot(
            tile=tile,
            resource=resource,
            slot=slot,
            start=start,
            kind="op",
            latency=self.arch.tiles[tile].latency_of(self.dfg.op_class(instance.node)),
            writes=self.dfg.ops[k].op_class != "output"
            and (self.dfg.ops[k].result or "stores_write" in self.arch.traits),
            operands=tuple(self._operand(e, instance, tile) for e in self.dfg.operand_edges(instance.node)),
            node=k,
            copy=instance.copy,
        )

    def _operand(self, e: int, instance: Instance, tile: int) -> Operand:
        """Where an op takes one operand from.

        ``pair`` and ``async`` edges bypass the network. A source of a class that the array gets for free (a constant
        in the instruction word, a stream from outside) is named directly; everything else arrives on a wire.
        """
        edge = self.dfg.edges[e]
        source = self.dfg.index[edge.source]
        source_class = self.dfg.op_class(edge.source)
        common: dict[str, Any] = {
            "node": source, "distance": edge.distance, "initial": self.dfg.initial_values(e),
        }  # fmt: skip
        route = self.mapping.route_of.get((e, instance.copy))
        if edge.kind in ("pair", "async"):
            copy = route.source_copy if route else 0
            return Operand(kind=edge.kind, copy=copy, **common)
        if source_class in self.arch.free:
            kind: OperandKind = {"const": "const", "livein": "livein"}.get(source_class, "stream")  # type: ignore[assignment]
            return Operand(kind=kind, **common)
        fifo, copy = (route.fifo, route.source_copy) if route else (0, 0)
        return Operand(kind="routed", resource=self._input(e, instance, tile), fifo=fifo, copy=copy, **common)

    def _input(self, e: int, instance: Instance, tile: int) -> int:
        """The wire that an operand reads: its own input, whatever the route claims."""
        operand = self.dfg.edges[e].operand
        if operand >= self.arch.operand_inputs.shape[1]:
            return -1
        own = int(self.arch.operand_inputs[tile, operand])
        row, count = self.arrival.get((e, instance.copy), own), len(self.arch.kind)
        return row if row >= count and self.lanes[row - count] == own else own

    # -- names ------------------------------------------------------------------------------------------------------

    def _edge(self, number: int) -> Any:
        """The edge of that number. MappingError where the graph has fewer."""
        if not 0 <= number < len(self.dfg.edges):
            raise MappingError(f"route of edge {number}: the graph has {len(self.dfg.edges)} edges")
        return self.dfg.edges[number]

    def _resource(self, name: str, where: str) -> int:
        """The number of a resource. MappingError where the array has none of that name."""
        try:
            return self.arch.resource_index[name]
        except KeyError:
            raise MappingError(f"{where}: array {self.arch.name!r} has no resource {name!r}") from None

    def _tile(self, instance: Instance) -> int:
        """The number of an instance's tile. MappingError where the array has none of that name."""
        try:
            return self.arch.tile_index[instance.place]
        except KeyError:
            raise MappingError(
                f"instance of {instance.node!r}: array {self.arch.name!r} has no tile {instance.place!r}"
            ) from None
