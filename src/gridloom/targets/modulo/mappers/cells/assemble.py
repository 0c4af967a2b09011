"""From the mappings of templates to that of the whole graph: each block repeats its template's on its own rectangle.

Nodes that several blocks compute have one instance for each block; a live-in has one for each place that keeps it.
Blocks may be shifted in time by whole IIs, which keeps all slots, where order edges between blocks ask for it.
"""

from __future__ import annotations

from collections.abc import Mapping as MappingABC
from dataclasses import dataclass
from typing import Any

from gridloom.archs.model import Arch, Kind
from gridloom.dfg.model import Dfg
from gridloom.mapping.model import Instance, Mapping, Route
from gridloom.targets.modulo.mappers.cells.regions import Translation


@dataclass(frozen=True, eq=False)
class BlockCopy:
    """One block on the array: the mapping of its template, the nodes that stand for the template's, and where it is."""

    mapping: Mapping
    partners: MappingABC[int, int]
    translation: Translation


def assemble_blocks(dfg: Dfg, arch: Arch, copies: list[BlockCopy], provenance: dict[str, Any]) -> Mapping | None:
    """The mapping of a graph from those of its blocks; None where order edges leave no time, or a live-in no place."""
    shifts = _shifts(dfg, copies)
    if shifts is None:
        return None
    writer = _Writer(dfg, arch)
    for copy, shift in zip(copies, shifts, strict=True):
        writer.add(copy, shift * copy.mapping.ii)
    if not writer.place_unread():
        return None
    return Mapping(
        dfg=dfg,
        arch=arch,
        ii=copies[0].mapping.ii,
        instances=tuple(writer.instances),
        routes=tuple(sorted(writer.routes, key=lambda route: (route.edge, route.copy))),
        settings={"rotating": writer.rotating} if writer.rotating else {},
        provenance=provenance,
    )


class _Writer:
    """What has been written so far, and the number of the next instance of each node."""

    def __init__(self, dfg: Dfg, arch: Arch) -> None:
        self.dfg = dfg
        self.arch = arch
        self.instances: list[Instance] = []
        self.routes: list[Route] = []
        self.rotating: dict[str, int] = {}
        self.edge_at = {(edge.target, edge.operand): k for k, edge in enumerate(dfg.edges) if edge.kind == "data"}
        self._next: dict[str, int] = {}
        self._kept: dict[tuple[str, str], int] = {}

    def add(self, copy: BlockCopy, shift: int) -> None:
        """Add a block, some cycles later than its template."""
        own, model = self.dfg, copy.mapping.dfg
        names = {own.nodes[a].id: own.nodes[b].id for a, b in copy.partners.items()}
        numbers: dict[tuple[str, int], int] = {}
        for instance in copy.mapping.instances:
            name = names.get(instance.node, instance.node)
            numbers[instance.node, instance.copy] = self._instance(instance, name, copy.translation, shift)
        for route in copy.mapping.routes:
            edge = model.edges[route.edge]
            self.routes.append(
                Route(
                    edge=self.edge_at[names[edge.target], edge.operand],
                    hops=tuple((copy.translation.resource(place), cycle + shift) for place, cycle in route.hops),
                    copy=numbers[edge.target, route.copy],
                    source_copy=numbers[edge.source, route.source_copy],
                )
            )
        rotating = copy.mapping.settings.get("rotating", {})
        for here, there in copy.translation.files(rotating):
            self.rotating[there] = rotating[here]

    def _instance(self, instance: Instance, name: str, translation: Translation, shift: int) -> int:
        """Write an instance of a node and return its number; a live-in is written once for each place."""
        if self.dfg.op(name).timeless:
            place = translation.resource(instance.place)
            if (name, place) not in self._kept:
                self._kept[name, place] = self._number(name)
                self.instances.append(Instance(node=name, place=place, copy=self._kept[name, place]))
            return self._kept[name, place]
        number = self._number(name)
        place, cycle = translation.tile(instance.place), instance.cycle + shift
        self.instances.append(Instance(node=name, place=place, cycle=cycle, copy=number))
        return number

    def _number(self, name: str) -> int:
        """The number of the next instance of a node."""
        number = self._next.get(name, 0)
        self._next[name] = number + 1
        return number

    def place_unread(self) -> bool:
        """Keep live-ins that no block reads in memory; False where there is none."""
        memory = [self.arch.resource_names[r] for r, kind in enumerate(self.arch.kind.tolist()) if kind == Kind.MEM]
        for k, node in enumerate(self.dfg.nodes):
            unread = self.dfg.ops[k].timeless and self.dfg.op_class(node.id) not in self.arch.free
            if unread and node.id not in self._next:
                if not memory:
                    return False
                self.instances.append(Instance(node=node.id, place=memory[0]))
        return True


def _shifts(dfg: Dfg, copies: list[BlockCopy]) -> list[int] | None:
    """The IIs by which each block is later than its template, so that order edges between blocks hold; None: never.

    Longest paths by rounds over these edges: as many rounds as there are blocks suffice where there is an answer.
    """
    ii = copies[0].mapping.ii
    at: dict[int, tuple[int, int, int]] = {}
    for number, copy in enumerate(copies):
        cycles: dict[str, list[int]] = {}
        for instance in copy.mapping.instances:
            cycles.setdefault(instance.node, []).append(instance.cycle)
        for a, b in copy.partners.items():
            at[b] = number, min(cycles[dfg.nodes[a].id]), max(cycles[dfg.nodes[a].id])
    steps = []
    for edge in dfg.edges:
        source, target = at.get(dfg.index[edge.source]), at.get(dfg.index[edge.target])
        if edge.kind == "order" and source is not None and target is not None and source[0] != target[0]:
            late = source[2] + edge.delay - ii * edge.distance - target[1]
            steps.append((source[0], target[0], -(-late // ii)))
    shifts = [0] * len(copies)
    for _ in range(len(copies) + 1):
        changed = False
        for a, b, least in steps:
            if shifts[b] < shifts[a] + least:
                shifts[b], changed = shifts[a] + least, True
        if not changed:
            return shifts
    return None
