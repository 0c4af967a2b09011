"""From the arrays of the ``modulo`` search to a Mapping: routes over registers become hops over every resource.

The search knows storages and issue slots only (see :mod:`gridloom.targets.modulo.mappers.problem`). Here a route's
codes are read in order, and the operand inputs and links that lie between two of them are put back. Cycles are shifted
by a whole number of IIs, so that the first one is at least 0 and slots stay as they are. ``memory_words`` and
``find_congestion`` read figures off a state without writing it out.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from gridloom.archs.model import Kind
from gridloom.mapping.model import Hop, Instance, Mapping, Route
from gridloom.search.budget import SearchView
from gridloom.search.placements import no_place_left
from gridloom.targets.modulo.mappers.one_register import share_registers
from gridloom.targets.modulo.mappers.problem import ModuloProblem, RegisterUse
from gridloom.targets.modulo.mappers.state import ModuloState
from gridloom.targets.modulo.mappers.structure import number_copy


@dataclass(frozen=True, eq=False)
class Solution:
    """The state that a search ended with, legal or not, and what it was found with.

    The numbers of the state have a meaning only for this problem, II and use of registers.
    """

    problem: ModuloProblem
    ii: int
    registers: RegisterUse
    state: ModuloState

    @cached_property
    def usable(self) -> list[int]:
        """The registers that the search may use, file by file."""
        files = range(len(self.problem.arch.register_files))
        return [r for k in files for r in self.problem.usable(k, self.registers.limit)]

    @property
    def elements(self) -> int:
        """The number of elements of the search."""
        wires = self.problem.structure.wires
        states = len(wires.states) if wires is not None else 0
        return 4 * len(self.problem.arch.tiles) + len(self.usable) + states + 1


def to_mapping(solution: Solution, provenance: dict[str, Any]) -> Mapping:
    """The mapping with instances, routes over every resource and the rotation of register files.

    ``solution`` has to be legal. Linear in the length of the routes.
    """
    return _Writer(solution).mapping(provenance)


class _Writer:
    """One translation: the numbering of elements for this use of the registers, and the copies of live-ins met so far.

    Routes are written before instances, since they find out which registers keep a live-in.
    """

    def __init__(self, solution: Solution) -> None:
        problem = solution.problem
        self.problem = problem
        self.solution = solution
        self.state = solution.state
        self.arch = problem.arch
        self.tiles = len(self.arch.tiles)
        self.registers, self.elements = solution.usable, solution.elements
        self.units = problem.structure.units
        #: The copy of a live-in by (its graph position, the resource that keeps it).
        self.copies: dict[tuple[int, int], int] = {}
        self.shift = self._first_cycle() // solution.ii * solution.ii

    def _first_cycle(self) -> int:
        """The first cycle in which a node issues or a route begins."""
        cycles = [int(self.state.cycle.min(initial=1 << 20))]
        for e in range(len(self.problem.edges)):
            if self.state.routes.length[e]:
                cycles.append(int(self.state.routes.codes[e, 0]) // self.elements)
        return min(cycles)

    def mapping(self, provenance: dict[str, Any]) -> Mapping:
        """The mapping, with an instance for each node, each place that keeps a live-in, and each unread live-in."""
        problem, state, dfg = self.problem, self.state, self.problem.dfg
        routes = tuple(self._route(e) for e in range(len(problem.edges)))
        if self.arch.has("instructions"):
            routes = tuple(share_registers(routes, dfg, self.arch))
        instances = [
            Instance(
                node=dfg.nodes[k].id,
                place=self.arch.tiles[state.tile[n]].name,
                cycle=int(state.cycle[n]) - self.shift,
                copy=problem.copy_of[n],
            )
            for n, k in enumerate(problem.nodes)
        ]
        instances += [
            Instance(node=dfg.nodes[k].id, place=self.arch.resource_names[r], copy=copy)
            for (k, r), copy in self.copies.items()
        ]
        instances += self._unread()
        return Mapping(
            dfg=dfg,
            arch=self.arch,
            ii=self.solution.ii,
            instances=tuple(instances),
            routes=routes,
            settings=self._settings(),
            provenance=provenance,
        )

    def _unread(self) -> list[Instance]:
        """Live-ins that no edge reads still need a place: memory, or a register that nothing uses."""
        read = {k for k, _ in self.copies}
        unread = [k for k in self.problem.liveins if k not in read]
        memory, names = self.problem.structure.memory, self.arch.resource_names
        idle = self._idle() if unread and memory < 0 else []
        found = []
        for k in unread:
            node = self.problem.dfg.nodes[k].id
            if memory < 0 and not idle:
                raise no_place_left(node)
            found.append(Instance(node=node, place=names[memory if memory >= 0 else idle.pop()]))
        return found

    def _idle(self) -> list[int]:
        """The registers that nothing uses and that do not rotate."""
        rotating = {
            r
            for k, file in enumerate(self.arch.register_files)
            for r in file.registers[: self.problem.rotating(k, self.solution.registers)]
        }
        used = self.state.usage.used[2 * self.tiles :].sum(axis=1).tolist()
        return [resource for r, resource in enumerate(self.registers) if not used[r] and resource not in rotating]

    def _settings(self) -> dict[str, Any]:
        """The settings: rotating registers of each adjustable file that has some, and the banks of arrays."""
        banks = self.problem.banks.names(self.arch)
        return self._rotating() | ({"banks": banks} if banks else {})

    def _rotating(self) -> dict[str, Any]:
        """The setting ``rotating``: the number of rotating registers of each adjustable file that has some."""
        counts = {
            file.name: self.problem.rotating(k, self.solution.registers)
            for k, file in enumerate(self.arch.register_files)
            if file.adjustable
        }
        return {"rotating": {name: m for name, m in counts.items() if m}} if any(counts.values()) else {}

    # -- routes -------------------------------------------------------------------------------------------------------

    def _route(self, e: int) -> Route:
        """The route of an edge: one hop for each resource from the producer's output register to the operand."""
        edge = self.problem.dfg.edges[self.problem.edges[e]]
        target = self.problem.ends[e][1]
        codes: list[int] = self.state.routes.codes[e, : self.state.routes.length[e]].tolist()
        hops: list[Hop] = []
        at = -1
        for code in codes:
            cycle, element = divmod(code, self.elements)
            at = self._step(hops, at, element, cycle)
        cycle = codes[-1] // self.elements
        self._read(hops, at, int(self.state.tile[target]), edge.operand, cycle)
        return Route(
            edge=self.problem.edges[e],
            hops=tuple((name, when - self.shift) for name, when in hops),
            copy=self.problem.copy_of[target],
            source_copy=self._source_copy(e, codes),
        )

    def _source_copy(self, e: int, codes: list[int]) -> int:
        """Which copy of its source an edge reads.

        A node has the copies that recomputation made. A live-in has one for each place that keeps it, numbered in the
        order in which they are met.
        """
        source = self.problem.ends[e][0]
        if source < len(self.problem.nodes):
            return self.problem.copy_of[source]
        position = self.problem.liveins[source - len(self.problem.nodes)]
        resource = self._resource(codes[0] % self.elements)
        return number_copy(self.copies, position, resource)

    def _resource(self, element: int) -> int:
        """The resource of a storage element."""
        if element < 4 * self.tiles:
            return int(self.arch.out[element - 3 * self.tiles])
        if element == self.elements - 1:
            return self.problem.structure.memory
        number = element - 4 * self.tiles
        wires = self.problem.structure.wires
        if wires is not None and number >= len(self.registers):
            return wires.resource(number - len(self.registers))
        return self.registers[number]

    def _step(self, hops: list[Hop], at: int, element: int, cycle: int) -> int:
        """Append what an element stands for; returns the element the value is in now."""
        names, tile = self.arch.resource_names, element % self.tiles
        if element < self.tiles:
            self._read(hops, at, tile, 0, cycle)
            hops.append((names[self.units[Kind.FU, tile]], cycle))
        elif element < 2 * self.tiles:
            hops.append((names[self.units[Kind.LOAD, tile]], cycle))
        elif element < 3 * self.tiles:
            self._read(hops, at, tile, 0, cycle)
            hops.append((names[self.units[Kind.STORE, tile]], cycle))
        else:
            hops.append((names[self._resource(element)], cycle))
        return element

    def _read(self, hops: list[Hop], at: int, tile: int, operand: int, cycle: int) -> None:
        """From a storage to an operand of a tile, over the link between them where there is one."""
        names = self.arch.resource_names
        if at < 4 * self.tiles:
            link = self.problem.structure.reads[tile][at - 3 * self.tiles]
            if link >= 0:
                hops.append((names[link], cycle))
        hops.append((names[int(self.arch.operand_inputs[tile, operand])], cycle))


def memory_words(solution: Solution) -> int:
    """Words of spilled values and live-ins that a solution keeps in the data memory.

    A value that stays for longer than an II needs a word for each iteration that it overlaps. A live-in needs one word,
    however often it is loaded.
    """
    problem = solution.problem
    state, tiles = solution.state, len(problem.arch.tiles)
    elements = solution.elements
    lives: dict[tuple[int, int, int], int] = {}
    kept: set[int] = set()
    for e, (net, _) in enumerate(problem.ends):
        stored: tuple[int, int, int] | None = None
        for code in state.routes.codes[e, : state.routes.length[e]].tolist():
            cycle, element = divmod(code, elements)
            if 2 * tiles <= element < 3 * tiles:
                stored = (net, element, cycle)
                lives.setdefault(stored, 0)
            elif tiles <= element < 2 * tiles:
                if stored is None:
                    kept.add(net)
                else:
                    lives[stored] = max(lives[stored], cycle - stored[2])
                    stored = None
    return sum(life // solution.ii + 1 for life in lives.values()) + len(kept)


def find_congestion(solution: Solution, most: int = 8) -> tuple[str, ...]:
    """The names of the most contested resources, worst first, by the history that overuse has left in their prices."""
    problem = solution.problem
    names = problem.arch.resource_names
    total = solution.state.usage.history.sum(axis=1)
    wires = problem.structure.wires
    resource = [*problem.arch.fu.tolist(), *problem.arch.out.tolist(), *solution.usable]
    resource += wires.resources if wires is not None else ()
    order = np.argsort(-total, kind="stable")[:most]
    return tuple(names[resource[k]] for k in order.tolist() if total[k] > 0)


def look_at(solution: Solution, overuse: int) -> SearchView:
    """Where a search stands, for those who draw it: the nodes that are placed, and what signals compete for."""
    problem, tile = solution.problem, solution.state.tile.tolist()
    placed = {
        problem.dfg.nodes[k].id: problem.arch.tiles[tile[n]].name
        for n, k in enumerate(problem.nodes)
        if tile[n] >= 0 and not problem.copy_of[n]
    }
    return SearchView(cost=overuse, legal=overuse == 0, placed=placed, congested=find_congestion(solution))
