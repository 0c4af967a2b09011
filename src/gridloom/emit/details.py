"""What pictures and reports show of a mapping, derived from its routes: signals, uses of resources, cycles, waits.

Nothing here judges: an illegal mapping is described as it is. A name that its array does not have is a MappingError.

Cycles are *flat*: they count from the first issue of an iteration and are not reduced modulo II; ``cycle % ii`` is the
slot. Things go by their positions: a tile, a resource, an edge and an instance are indices into the lists of array,
graph and mapping, and the report's script uses the same numbers in its ``data-`` attributes. A signal is the value that
one instance produces, so signals are numbered like instances.
"""

from __future__ import annotations

from collections.abc import Mapping as MappingABC
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from gridloom.archs.model import Arch, Kind
from gridloom.dfg.model import Dfg
from gridloom.emit.picture import palette
from gridloom.errors import MappingError
from gridloom.mapping.model import Instance, Mapping, Route

#: A signal: (producing node, copy).
Signal = tuple[str, int]


class PassedValue(NamedTuple):
    """A tile that passes a value on with its function unit.

    It holds a function unit (or the memory port) in that cycle just as an op would, and is drawn like one.
    """

    tile: int
    cycle: int
    #: ``move``, or a spill's ``store`` or ``load``.
    kind: str
    signal: int


@dataclass(frozen=True, slots=True)
class Way:
    """A route with its names looked up.

    ``target`` is None where the copy of the consumer is not placed, which a checker reports as a violation.
    """

    number: int
    route: Route
    signal: int
    #: (resource index, flat cycle) of each hop.
    hops: tuple[tuple[int, int], ...]
    source: Instance
    target: Instance | None


class Details:
    """Tables about one mapping, each computed once when it is first used. Linear in the number of hops.

    The mapping must not be changed afterwards. MappingError is raised by the table that meets an unknown node, edge,
    resource or place, not by the constructor.
    """

    def __init__(self, mapping: Mapping) -> None:
        self.mapping = mapping
        self.dfg: Dfg = mapping.dfg
        self.arch: Arch = mapping.arch
        self.ii = max(1, mapping.ii)

    @cached_property
    def instance_tiles(self) -> tuple[int, ...]:
        """For each instance its tile; -1 for a live-in that is in a register or in memory."""
        return tuple(self._tile(instance) for instance in self.mapping.instances)

    def _tile(self, instance: Instance) -> int:
        """The tile of an instance; -1 where its place is a resource.

        MappingError for a node or a place that does not exist.
        """
        if instance.node not in self.dfg.index:
            raise MappingError(f"instance of {instance.node!r}: the graph has no such node")
        tile = self.arch.tile_index.get(instance.place)
        if tile is not None:
            return tile
        if instance.place in self.arch.resource_index:
            return -1
        raise MappingError(f"instance of {instance.node!r}: array {self.arch.name!r} has no place {instance.place!r}")

    @cached_property
    def ways(self) -> tuple[Way, ...]:
        """Every route, with its hops as indices."""
        return tuple(self._way(k, route) for k, route in enumerate(self.mapping.routes))

    @cached_property
    def way_of(self) -> MappingABC[tuple[int, int], Way]:
        """(edge, copy of its target) -> its route with names looked up."""
        return {(way.route.edge, way.route.copy): way for way in self.ways}

    def _way(self, number: int, route: Route) -> Way:
        """A route with its names looked up. MappingError names the route and what it refers to in vain."""
        if not 0 <= route.edge < len(self.dfg.edges):
            raise MappingError(f"route of edge {route.edge}: the graph has {len(self.dfg.edges)} edges")
        edge = self.dfg.edges[route.edge]
        source = self.mapping.instance_of.get((edge.source, route.source_copy))
        if source is None:
            raise MappingError(f"route of edge {route.edge}: copy {route.source_copy} of {edge.source!r} is not placed")
        hops = []
        for name, cycle in route.hops:
            if name not in self.arch.resource_index:
                raise MappingError(f"route of edge {route.edge}: array {self.arch.name!r} has no resource {name!r}")
            hops.append((self.arch.resource_index[name], cycle))
        target = self.mapping.instance_of.get((edge.target, route.copy))
        return Way(number, route, self.signal_index[edge.source, route.source_copy], tuple(hops), source, target)

    @cached_property
    def signals(self) -> tuple[Signal, ...]:
        """The signals in the order of their instances."""
        return tuple((instance.node, instance.copy) for instance in self.mapping.instances)

    @cached_property
    def signal_index(self) -> MappingABC[Signal, int]:
        """Signal -> position in ``signals``."""
        return {signal: k for k, signal in enumerate(self.signals)}

    @cached_property
    def colours(self) -> list[int]:
        """For each signal the index of its colour; signals that meet in a tile have different ones where possible.

        Signals without a route keep colour 0, which nothing shows.
        """
        touched: list[set[int]] = [set() for _ in self.signals]
        for way in self.ways:
            tiles = {int(self.arch.tile[r]) for r, _ in way.hops}
            touched[way.signal] |= tiles - {-1}
        # Signals without a route would use up colours.
        routed = [k for k, tiles in enumerate(touched) if tiles]
        chosen = palette.signal_colours(sorted(touched[k]) for k in routed)
        colours = [0] * len(self.signals)
        for k, colour in zip(routed, chosen):
            colours[k] = colour
        return colours

    @cached_property
    def uses(self) -> MappingABC[int, tuple[tuple[int, int, int], ...]]:
        """Resource -> the (signal, flat cycle, edge) that use it, each once, sorted.

        A resource that a signal occupies for several edges of a fan-out has a row for each of them.
        """
        table: dict[int, set[tuple[int, int, int]]] = {}
        for way in self.ways:
            for resource, cycle in way.hops:
                table.setdefault(resource, set()).add((way.signal, cycle, way.route.edge))
        return {resource: tuple(sorted(rows)) for resource, rows in sorted(table.items())}

    @cached_property
    def moves(self) -> tuple[PassedValue, ...]:
        """Moves through function units and spills, each once, by tile and cycle."""
        names = {Kind.FU: "move", Kind.STORE: "store", Kind.LOAD: "load"}
        moves = {
            PassedValue(int(self.arch.tile[r]), cycle, names[Kind(int(self.arch.kind[r]))], way.signal)
            for way in self.ways
            for r, cycle in way.hops
            if int(self.arch.kind[r]) in names
        }
        return tuple(sorted(moves, key=lambda move: (move.tile, move.cycle, move.kind, move.signal)))

    @cached_property
    def fifo(self) -> MappingABC[int, int]:
        """Tile -> the longest wait of its operands, for tiles where an operand waits."""
        table: dict[int, int] = {}
        for way in self.ways:
            if way.hops and way.route.fifo:
                tile = int(self.arch.tile[way.hops[-1][0]])
                table[tile] = max(table.get(tile, 0), way.route.fifo)
        return table

    @cached_property
    def congestion(self) -> MappingABC[int, float]:
        """Tile -> the share of its outgoing links (or switch outputs) that is in use, over all slots.

        The use of links without a limit is set against that of the fullest one.

        A link has its capacity once per slot, so II times in all; each signal and cycle in it counts once, however many
        edges of a fan-out it serves.
        """
        # The write ports of a shared register file belong to no tile.
        owned = np.isin(self.arch.kind, [int(Kind.LINK), int(Kind.SWITCH)]) & (self.arch.tile >= 0)
        wires: list[int] = np.flatnonzero(owned).tolist()
        taken = {r: len({(signal, cycle) for signal, cycle, _ in self.uses.get(r, ())}) for r in wires}
        # A capacity of 0 stands for no limit, so there is nothing absolute to compare the use with.
        unlimited = max([taken[r] for r in wires if self.arch.capacity[r] == 0], default=0)
        room: dict[int, int] = {}
        load: dict[int, int] = {}
        for r in wires:
            tile = int(self.arch.tile[r])
            room[tile] = room.get(tile, 0) + (int(self.arch.capacity[r]) * self.ii or max(1, unlimited))
            load[tile] = load.get(tile, 0) + taken[r]
        return {tile: load[tile] / room[tile] for tile in sorted(room)}

    @cached_property
    def last_cycle(self) -> int:
        """The largest flat cycle that an instance or a hop names."""
        cycles = [instance.cycle for instance in self.mapping.instances]
        cycles += [cycle for way in self.ways for _, cycle in way.hops]
        return max([0, *cycles])

    @cached_property
    def latency(self) -> int:
        """Cycles from cycle 0 to the last result; routes into later iterations may name cycles beyond it."""
        ready = [0]
        for instance, tile in zip(self.mapping.instances, self.instance_tiles):
            if tile >= 0 and not self.dfg.op(instance.node).timeless:
                ready.append(instance.cycle + self.arch.tiles[tile].latency_of(self.op_class(instance)))
        return max(ready)

    @cached_property
    def depth(self) -> MappingABC[str, int]:
        """Node -> length of the longest distance-0 path to it: the stages of an elastic pipeline."""
        level: dict[str, int] = {node.id: 0 for node in self.dfg.nodes}
        for k in self.dfg.topological:
            name = self.dfg.nodes[k].id
            for e in self.dfg.out_edges[k]:
                edge = self.dfg.edges[e]
                if edge.distance == 0 and edge.target != name:
                    level[edge.target] = max(level[edge.target], level[name] + 1)
        return level

    def op_class(self, instance: Instance) -> str:
        """Return the op class of an instance's node."""
        return self.dfg.op_class(instance.node)

    def caption(self, node: str) -> str:
        """Return what a picture writes for a node: its label, its constant, or its op."""
        record = self.dfg.node(node)
        return node_caption(record.label, record.op, record.value)

    @cached_property
    def _at(self) -> MappingABC[tuple[int, int], list[int]]:
        """(tile, slot) -> the instances there, by cycle; tile -1 has those whose place is a resource."""
        table: dict[tuple[int, int], list[int]] = {}
        instances = self.mapping.instances
        for k in sorted(range(len(instances)), key=lambda k: (instances[k].cycle, k)):
            table.setdefault((self.instance_tiles[k], instances[k].cycle % self.ii), []).append(k)
        return table

    def at(self, tile: int, slot: int) -> list[int]:
        """Return the instances on a tile in a slot, by cycle."""
        return self._at.get((tile, slot), [])


def node_caption(label: str | None, op: str, value: int | float | None) -> str:
    """Return the short text of a node: its label, its constant, or its op.

    >>> node_caption(None, "const", 3), node_caption(None, "add", None), node_caption("x[i]", "load", None)
    ('3', 'add', 'x[i]')
    """
    if label:
        return label
    return f"{value:g}" if op == "const" and isinstance(value, float) else str(value) if op == "const" else op
