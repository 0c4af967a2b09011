"""From a solution of the loop model to a Mapping: each operand is followed back to what made its value.

Every storage and cycle has one reason why it holds a value, the same for all that read it there, so that branches share
what they have in common. A write comes before a hold: the output register of a tile then carries the copy that the tile
has just made.

The solver may also set variables that nothing needs (a value held where nobody reads it, a copy of a node for no one).
Only what an operand is followed back through gets into the mapping, so such freedom does no harm.
"""

from __future__ import annotations

from typing import Any

from gridloom.archs.model import Kind
from gridloom.mapping.model import Hop, Instance, Mapping, Route
from gridloom.search.solver import Solved
from gridloom.targets.modulo.mappers.exact.model import LoopModel
from gridloom.targets.modulo.mappers.exact.scope import Table
from gridloom.targets.modulo.mappers.structure import number_copy

#: Hops by resource index.
_Hops = list[tuple[int, int]]


def to_mapping(model: LoopModel, solved: Solved, provenance: dict[str, Any]) -> Mapping:
    """The mapping of a solution in flat time. Linear in its hops.

    ``model`` has to be one with a window; a solution over slots alone has no cycles to write down.
    """
    return _Writer(model, solved).mapping(provenance)


class _Writer:
    """One translation: the variables that are true, as sets of keys, and the copies of nodes and live-ins in use."""

    def __init__(self, model: LoopModel, solved: Solved) -> None:
        self.model = model
        self.problem = model.problem
        self.arch = model.arch
        self.issue = self._true(model.issue, solved)
        self.held = self._true(model.held, solved)
        self.move = self._true(model.move, solved)
        self.load = self._true(model.load, solved)
        self.store = self._true(model.store, solved)
        self.banks = {key for key, literal in model.banks.items() if solved.value(literal)}
        self.kept = {key for key, literal in model.kept.items() if solved.value(literal)}
        self.rotation = [next(m for m, chosen in choices.items() if solved.value(chosen)) for choices in model.rotation]
        self.unit = self.problem.structure.units
        #: The issues of each node, first to last; their positions are the numbers of its copies.
        self.copies: dict[int, list[tuple[int, int]]] = {}
        for n, tile, cycle in sorted(self.issue, key=lambda key: (key[0], key[2], key[1])):
            self.copies.setdefault(n, []).append((tile, cycle))
        #: The copy of a live-in by (its number, the resource that keeps it).
        self.places: dict[tuple[int, int], int] = {}

    @staticmethod
    def _true(table: Table, solved: Solved) -> set[tuple[int, int, int]]:
        """The keys of a table whose variable is true in the solution."""
        return {key for key, literal in table.items() if solved.value(literal)}

    def mapping(self, provenance: dict[str, Any]) -> Mapping:
        """The mapping: copies that are read, then their routes, then the instances of nodes and live-ins."""
        used = self._used()
        routed = [
            (e, copy, *self._route(e, tile, cycle))
            for e in self.problem.edges
            for copy, (tile, cycle) in enumerate(used[self._target(e)])
        ]
        shift = self._shift(routed)
        routes = tuple(
            Route(edge=e, hops=self._named(hops, shift), copy=copy, source_copy=source)
            for e, copy, hops, source in routed
        )
        return Mapping(
            dfg=self.problem.dfg,
            arch=self.arch,
            ii=self.model.ii,
            instances=tuple(self._instances(shift)),
            routes=routes,
            settings=self._settings(),
            provenance=provenance,
        )

    def _used(self) -> dict[int, list[tuple[int, int]]]:
        """Keep the copies that something reads (and one of each node), so that no slot is taken for nothing.

        A copy that goes may have been the only reader of another one, so this repeats until nothing changes.
        """
        while True:
            read: dict[int, set[tuple[int, int]]] = {}
            for e in self.problem.edges:
                for tile, cycle in self.copies[self._target(e)]:
                    net = self._source(e)
                    if net < self.model.nodes:
                        _, origin = self._follow(net, tile, cycle + self.model.ii * self.problem.dfg.edges[e].distance)
                        read.setdefault(net, set()).add(origin)
            slim = {n: [c for c in rows if c in read.get(n, set())] or rows[:1] for n, rows in self.copies.items()}
            if slim == self.copies:
                return slim
            self.copies = slim

    def _source(self, e: int) -> int:
        """The number of the node or live-in that an edge leaves."""
        return self.problem.number[self.problem.dfg.index[self.problem.dfg.edges[e].source]]

    def _target(self, e: int) -> int:
        """The number of the node that an edge enters."""
        return self.problem.number[self.problem.dfg.index[self.problem.dfg.edges[e].target]]

    def _shift(self, routed: list[tuple[int, int, _Hops, int]]) -> int:
        """A multiple of II after which the mapping begins in its first period."""
        cycles = [cycle for rows in self.copies.values() for _, cycle in rows]
        cycles += [cycle for _, _, hops, _ in routed for _, cycle in hops]
        return min(cycles, default=0) // self.model.ii * self.model.ii

    def _named(self, hops: _Hops, shift: int) -> tuple[Hop, ...]:
        """Hops by name, in cycles from the start of the mapping."""
        return tuple((self.arch.resource_names[r], cycle - shift) for r, cycle in hops)

    def _instances(self, shift: int) -> list[Instance]:
        """Instances of all copies of nodes, and of live-ins in every place that keeps them."""
        names, nodes = self.arch.resource_names, self.problem.dfg.nodes
        found = [
            Instance(
                node=nodes[self.problem.nodes[n]].id, place=self.arch.tiles[tile].name, cycle=cycle - shift, copy=copy
            )
            for n, rows in sorted(self.copies.items())
            for copy, (tile, cycle) in enumerate(rows)
        ]
        for k in range(len(self.problem.liveins)):
            if not any(net == self.model.nodes + k for net, _ in self.places):
                self.places[self.model.nodes + k, self._idle(self.model.nodes + k)] = 0
        positions = self.problem.nodes + self.problem.liveins
        found += [
            Instance(node=nodes[positions[net]].id, place=names[r], copy=copy) for (net, r), copy in self.places.items()
        ]
        return found

    def _idle(self, net: int) -> int:
        """A place for a live-in that nothing reads: the memory, or the register that the model keeps it in."""
        if self.problem.structure.memory >= 0:
            return self.problem.structure.memory
        return self._resource(min(storage for n, storage in self.kept if n == net))

    def _settings(self) -> dict[str, Any]:
        """The settings: how many registers of each adjustable file rotate, and the bank of each array."""
        files = zip(self.arch.register_files, self.rotation)
        counts = {file.name: m for file, m in files if file.adjustable and m}
        banks = {array: self.arch.banks[b].name for array, b in sorted(self.banks)}
        return ({"rotating": counts} if counts else {}) | ({"banks": banks} if banks else {})

    # -- routes -------------------------------------------------------------------------------------------------------

    def _route(self, e: int, tile: int, cycle: int) -> tuple[_Hops, int]:
        """The hops of an edge into an issue of its target, and the copy of its source that is read."""
        edge, net = self.problem.dfg.edges[e], self._source(e)
        due = cycle + self.model.ii * edge.distance
        if net < self.model.nodes:
            hops, origin = self._follow(net, tile, due)
            self._read(hops, tile, edge.operand, due)
            return hops, self.copies[net].index(origin)
        hops, place = self._follow_timeless(net, tile, due)
        self._read(hops, tile, edge.operand, due)
        return hops, number_copy(self.places, net, place)

    def _follow(self, net: int, tile: int, cycle: int) -> tuple[_Hops, tuple[int, int]]:
        """From a storage that the tile reads back to an issue: hops in order, and that issue as (tile, cycle)."""
        storage = next(s for s in self.model.readable(tile) if (net, s, cycle) in self.held)
        back: _Hops = []
        while True:
            made = self._back_to_write(back, net, storage, cycle)
            if made[0] == Kind.FU and (net, *made[1:]) in self.issue:
                return back[::-1], made[1:]
            storage, cycle = self._passage(back, net, *made)

    def _back_to_write(self, back: _Hops, net: int, storage: int, cycle: int) -> tuple[Kind, int, int]:
        """Append the storages that held a value, back to what wrote it: (unit, tile, cycle)."""
        while True:
            back.append((self._resource(storage), cycle))
            made = self._made(net, storage, cycle)
            if made is not None:
                return made
            storage, cycle = self._before(net, storage, cycle), cycle - 1

    def _made(self, net: int, storage: int, cycle: int) -> tuple[Kind, int, int] | None:
        """What wrote a value into a storage at a cycle: (unit, tile, cycle); None: it was held."""
        s = self.problem.structure
        for tile in self.model.writers(storage):
            if net < self.model.nodes:
                begun = cycle - self.model.latency(net, tile)
                if (net, tile, begun) in self.issue:
                    return Kind.FU, tile, begun
        for tile in self.model.writers(storage):
            for kind, table, latency in (
                (Kind.FU, self.move, s.move_latency[tile]),
                (Kind.LOAD, self.load, s.load_latency[tile]),
            ):
                if (net, tile, cycle - latency) in table:
                    return kind, tile, cycle - latency
        return None

    def _before(self, net: int, storage: int, cycle: int) -> int:
        """The storage that held a value a cycle earlier, under the rotation that was chosen.

        ValueError where there is none, which would be an error of the model.
        """
        file = self.model.file_of(storage)
        for source, chosen in self.model.before(storage, cycle):
            fits = file < 0 or isinstance(chosen, int) or chosen is self.model.rotation[file][self.rotation[file]]
            if fits and (net, source, cycle - 1) in self.held:
                return source
        raise ValueError("a value came from nowhere")

    def _passage(self, back: _Hops, net: int, kind: Kind, tile: int, cycle: int) -> tuple[int, int]:
        """Go back through a move, or through a load, the memory and a store; returns where the value was before."""
        back.append((self.unit[kind, tile], cycle))
        if kind == Kind.LOAD:
            cycle, tile = self._stored(back, net, cycle)
            back.append((self.unit[Kind.STORE, tile], cycle))
        storage = next(s for s in self.model.readable(tile) if (net, s, cycle) in self.held)
        hops: _Hops = []
        self._read(hops, tile, 0, cycle, storage)
        back.extend(reversed(hops))
        return storage, cycle

    def _stored(self, back: _Hops, net: int, cycle: int) -> tuple[int, int]:
        """Back through memory to the earliest store of a value: (cycle, tile) of it."""
        stores = [(c, tile) for n, tile, c in self.store if n == net and c < cycle]
        begun, tile = min(stores)
        back.extend((self.problem.structure.memory, c) for c in range(cycle, begun, -1))
        return begun, tile

    def _follow_timeless(self, net: int, tile: int, due: int) -> tuple[_Hops, int]:
        """From a register that keeps a live-in, or from memory, to a storage that the tile reads.

        A live-in is the same in every iteration, so a cycle of the right slot will do; the hops are then shifted to the
        cycle in which the tile reads.
        """
        ii = self.model.ii
        for storage in self.model.readable(tile):
            if (net, storage) in self.kept:
                return [(self._resource(storage), due)], self._resource(storage)
        storage, cycle = next(
            (s, c)
            for s in self.model.readable(tile)
            for c in self.model.span[net]
            if c % ii == due % ii and (net, s, c) in self.held
        )
        back, place = self._back_to_place(net, storage, cycle)
        return [(r, c + due - cycle) for r, c in reversed(back)], place

    def _back_to_place(self, net: int, storage: int, cycle: int) -> tuple[_Hops, int]:
        """The hops of a live-in, last to first, from a storage back to the place that keeps it; and that place.

        The place is the memory or a register, as a resource.
        """
        back: _Hops = []
        while True:
            kind, tile, cycle = self._back_to_write(back, net, storage, cycle)
            back.append((self.unit[kind, tile], cycle))
            if kind == Kind.LOAD:
                memory = self.problem.structure.memory
                back.append((memory, cycle))
                return back, memory
            kept = [s for s in self.model.readable(tile) if (net, s) in self.kept]
            storage = kept[0] if kept else next(s for s in self.model.readable(tile) if (net, s, cycle) in self.held)
            hops: _Hops = []
            self._read(hops, tile, 0, cycle, storage)
            back.extend(reversed(hops))
            if kept:
                back.append((self._resource(storage), cycle))
                return back, self._resource(storage)

    def _resource(self, storage: int) -> int:
        """The resource of a storage."""
        tiles = self.model.tiles
        return int(self.arch.out[storage]) if storage < tiles else self.model.registers[storage - tiles]

    def _read(self, hops: _Hops, tile: int, operand: int, cycle: int, storage: int | None = None) -> None:
        """Append the hops from a storage to an operand: the link between them, if there is one, and the input.

        Without a storage it is the one of the last hop.
        """
        if storage is None:
            last = hops[-1][0]
            outs = {int(out): t for t, out in enumerate(self.arch.out.tolist())}
            storage = outs.get(last, self.model.tiles)
        if storage < self.model.tiles:
            link = self.problem.structure.reads[tile][storage]
            if link >= 0:
                hops.append((link, cycle))
        hops.append((int(self.arch.operand_inputs[tile, operand]), cycle))
