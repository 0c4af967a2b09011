"""From a complete attempt of RAMP to a Mapping of the original graph: inserted ops become hops, copies instances.

A link that ends in an op of the loop belongs to an edge. Its route is found by walking back over inserted ops to the
producer; each link on it becomes the place where the value waits and the unit or operand that takes it next.
"""

from __future__ import annotations

from typing import Any

from gridloom.archs.model import Kind
from gridloom.mapping.model import Hop, Instance, Mapping, Route
from gridloom.search.placements import no_place_left
from gridloom.targets.modulo.mappers.problem import WORD_BYTES, ModuloProblem
from gridloom.targets.modulo.mappers.ramp.graph import Keep, Link, WorkGraph
from gridloom.targets.modulo.mappers.ramp.place import Placer, RampAttempt
from gridloom.targets.modulo.mappers.structure import number_copy


def fits_memory(problem: ModuloProblem, attempt: RampAttempt) -> bool:
    """True when arrays, spilled values and live-ins fit the data memory.

    A spilled value takes a word for each iteration that it overlaps, a live-in that is loaded takes one.
    """
    limit = problem.arch.data_memory
    if limit is None:
        return True
    words = sum(array.length for array in problem.dfg.arrays)
    lives: dict[int, int] = {}
    for link in attempt.graph.links:
        if link.memory:
            lives[link.source] = max(lives.get(link.source, 0), attempt.length(link))
    words += sum(life // attempt.ii + 1 for life in lives.values())
    words += len({op.node for op in attempt.graph.ops if op.kind == "fetch"})
    return words * WORD_BYTES <= limit


def to_mapping(placer: Placer, attempt: RampAttempt, provenance: dict[str, Any]) -> Mapping:
    """The mapping of an attempt in which every op has a tile. ``placer`` is the one that made the attempt."""
    return _Writer(placer, attempt).mapping(provenance)


class _Writer:
    """One translation, with the copies of live-ins met so far."""

    def __init__(self, placer: Placer, attempt: RampAttempt) -> None:
        self.placer = placer
        self.problem = placer.problem
        self.arch = placer.problem.arch
        self.attempt = attempt
        self.graph: WorkGraph = attempt.graph
        self.names = self.arch.resource_names
        self.units = self.problem.structure.units
        #: The copy of a live-in by (its graph position, the resource that keeps it).
        self.copies: dict[tuple[int, int], int] = {}

    def mapping(self, provenance: dict[str, Any]) -> Mapping:
        """The mapping; routes come first, since they find out where live-ins are kept."""
        dfg, tiles = self.problem.dfg, self.arch.tiles
        routes = [self._route(k) for k, link in enumerate(self.graph.links) if link.edge >= 0]
        routes += [self._kept_route(keep) for keep in self.graph.keeps]
        instances = [
            Instance(
                node=dfg.nodes[op.node].id,
                place=tiles[int(self.attempt.place[n])].name,
                cycle=int(self.attempt.cycle[n]),
                copy=op.copy,
            )
            for n, op in enumerate(self.graph.ops)
            if op.kind == "op"
        ]
        self._place_unread()
        instances += [
            Instance(node=dfg.nodes[k].id, place=self.names[r], copy=copy) for (k, r), copy in self.copies.items()
        ]
        counts = {
            file.name: use.rotating
            for file, use in zip(self.arch.register_files, self.attempt.files, strict=True)
            if file.adjustable and use.rotating
        }
        return Mapping(
            dfg=dfg,
            arch=self.arch,
            ii=self.attempt.ii,
            instances=tuple(instances),
            routes=tuple(sorted(routes, key=lambda route: (route.edge, route.copy))),
            settings={"rotating": counts} if counts else {},
            provenance=provenance,
        )

    def _place_unread(self) -> None:
        """Live-ins that no edge reads still need a place: memory, or a register that nothing uses."""
        read = {k for k, _ in self.copies}
        idle = iter(self._idle())
        for k in self.problem.liveins:
            if k not in read:
                memory = self.problem.structure.memory
                place = memory if memory >= 0 else next(idle, None)
                if place is None:
                    raise no_place_left(self.problem.dfg.nodes[k].id)
                self.copies[k, place] = 0

    def _idle(self) -> list[int]:
        """Registers beyond those that values and live-ins of a file could touch."""
        found: list[int] = []
        for file, use in zip(self.arch.register_files, self.attempt.files, strict=True):
            taken = set(use.register.values()) | set(use.kept.values()) | set(range(use.rotating))
            found += [r for k, r in enumerate(file.registers) if k not in taken]
        return found

    # -- routes -------------------------------------------------------------------------------------------------------

    def _kept_route(self, keep: Keep) -> Route:
        """The route of a live-in from the register that keeps it to an operand, both in the cycle of the read."""
        tile = int(self.attempt.place[keep.op])
        file = int(self.placer.file_of[tile])
        register = self.arch.register_files[file].registers[self.attempt.files[file].kept[keep.livein]]
        edge = self.problem.dfg.edges[keep.edge]
        due = int(self.attempt.cycle[keep.op]) + self.attempt.ii * edge.distance
        end = self.names[int(self.arch.operand_inputs[tile, edge.operand])]
        return Route(
            edge=keep.edge,
            hops=((self.names[register], due), (end, due)),
            copy=self.graph.ops[keep.op].copy,
            source_copy=number_copy(self.copies, keep.livein, register),
        )

    def _route(self, last: int) -> Route:
        """The route of an edge: from its producer, or a load of its live-in, through what was inserted."""
        graph = self.graph
        chain = [graph.links[last]]
        while graph.ops[chain[0].source].kind in ("move", "store", "load"):
            chain.insert(0, graph.links[graph.entering[chain[0].source][0]])
        source = graph.ops[chain[0].source]
        hops: list[Hop] = []
        copy = source.copy
        if source.kind == "fetch":
            memory = self.problem.structure.memory
            copy = number_copy(self.copies, source.node, memory)
            when = int(self.attempt.cycle[chain[0].source])
            load = self.units[Kind.LOAD, int(self.attempt.place[chain[0].source])]
            hops += [(self.names[memory], when), (self.names[load], when)]
        for link in chain:
            self._step(hops, link)
        edge = graph.links[last].edge
        return Route(edge=edge, hops=tuple(hops), copy=graph.ops[chain[-1].target].copy, source_copy=copy)

    def _step(self, hops: list[Hop], link: Link) -> None:
        """Append where a link's value waits and the op, or operand, that takes it.

        It waits in memory, in a register of its producer's file (which rotation may change from cycle to cycle), or for
        one cycle in the output register.
        """
        attempt = self.attempt
        p, q = int(attempt.place[link.source]), int(attempt.place[link.target])
        ready = int(attempt.cycle[link.source]) + self.graph.ops[link.source].latency
        due = int(attempt.cycle[link.target]) + attempt.ii * link.distance
        if link.memory:
            memory = self.names[self.problem.structure.memory]
            hops += [(memory, cycle) for cycle in range(ready, due + 1)]
        elif self.placer.waits(attempt, link):
            file = int(self.placer.file_of[p])
            registers, use = self.arch.register_files[file].registers, attempt.files[file]
            for cycle in range(ready, due + 1):
                hops.append((self.names[registers[use.position(link.source, cycle, attempt.ii)]], cycle))
        else:
            hops.append((self.names[int(self.arch.out[p])], ready))
            wire = self.problem.structure.reads[q][p]
            if wire >= 0:
                hops.append((self.names[wire], due))
        self._arrive(hops, link, q, due)

    def _arrive(self, hops: list[Hop], link: Link, tile: int, due: int) -> None:
        """Append how a value gets into the op at the end of a link: its operand and, for an inserted op, its issue."""
        kind = self.graph.ops[link.target].kind
        if kind == "load":
            hops.append((self.names[self.units[Kind.LOAD, tile]], due))
            return
        operand = self.problem.dfg.edges[link.edge].operand if link.edge >= 0 else 0
        hops.append((self.names[int(self.arch.operand_inputs[tile, operand])], due))
        if kind == "move":
            hops.append((self.names[self.units[Kind.FU, tile]], due))
        elif kind == "store":
            hops.append((self.names[self.units[Kind.STORE, tile]], due))
