"""A loop on a modulo-scheduled array as a Boolean model: op at (tile, cycle), value in (storage, cycle).

The value of iteration 0 of a node is, at a flat cycle, in some output registers, registers and perhaps in memory:
``held[node, storage, cycle]``. It is there because it was there a cycle before (rotation included), or because an op, a
move or a load wrote it. An op that issues at (tile, cycle) finds each operand in a storage that the tile reads.
Everything is a clause; what shares a function unit, a storage or a bus in a slot (cycle mod II) is at most one. Operand
inputs and links follow from these, see :mod:`gridloom.targets.modulo.mappers.problem`.

A node may issue more than once (recomputation): that only turns "exactly one" into "at least one", since all copies
make the same value, and whoever reads it may have it from any of them.

Without a window of cycles the model is over slots alone: cycles are taken mod II, and a value may seem to come from
itself a period ago. Every mapping is a solution of that, whatever its length, so that its refutation holds for all.

Numbers: nodes and live-ins as in ``ModuloProblem`` (together: *nets*); storages are the output registers by tile and
then the registers of all files. The tables map (net, tile or storage, cycle) to a variable; a key that is missing
stands for false. Size: about nets * cycles * (4 tiles + registers) variables, which ``check_size`` limits.

Symmetry: the array's own (one node sits on one tile of each class of equivalent tiles) and that of time are broken by
``_add_anchor``.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from functools import cached_property
from typing import Any

import numpy as np

from gridloom.search.budget import Budget, SearchClock
from gridloom.search.solver import check_clock, check_size, check_time, cp_model
from gridloom.search.symmetry import representatives
from gridloom.targets.modulo.mappers.exact.banks import add_banks
from gridloom.targets.modulo.mappers.exact.precedence import add_precedence
from gridloom.targets.modulo.mappers.exact.scope import Scope, Table
from gridloom.targets.modulo.mappers.problem import COMPUTED_ONCE, WORD_BYTES, ModuloProblem
from gridloom.targets.modulo.mappers.schedule.iterative import NONE, least_distances


class LoopModel:
    """The model of a problem within a scope, built once, with its variables at hand.

    The constructor builds it all; ``model`` goes to the solver, and
    :mod:`gridloom.targets.modulo.mappers.exact.mapping` reads the tables.

    Building it counts for the clock: OutOfTimeError when that ends, or when the model is too large for the time left;
    ModelTooLargeError for one that is too large for any time.
    """

    def __init__(self, problem: ModuloProblem, scope: Scope, clock: SearchClock | None = None) -> None:
        self.problem = problem
        self.scope = scope
        self._clock = clock or Budget().start()
        self.ii = scope.ii
        self.arch = problem.arch
        self.tiles = len(self.arch.tiles)
        self.model: Any = cp_model().CpModel()
        self.nodes = len(problem.nodes)
        self._reads: dict[int, list[int]] = {}
        #: Storage: output registers by tile, then the registers of all files.
        self.registers = [r for file in self.arch.register_files for r in file.registers[: scope.registers]]
        self.files = self._file_elements()
        self.issue: Table = {}
        #: For each node the (tile, cycle, variable) of ``issue``.
        self.issues: list[list[tuple[int, int, Any]]] = [[] for _ in problem.nodes]
        self.held: Table = {}
        self.move: Table = {}
        self.load: Table = {}
        self.store: Table = {}
        self.in_memory: dict[tuple[int, int], Any] = {}
        #: By (live-in, storage): the live-in is kept there from the start.
        self.kept: dict[tuple[int, int], Any] = {}
        #: For each file {number of rotating registers: variable, or 1 where it is fixed}.
        self.rotation: list[dict[int, Any]] = [self._rotation(k) for k in range(len(self.files))]
        self._units: dict[tuple[int, int], list[Any]] = defaultdict(list)
        self._storages: dict[tuple[int, int], list[Any]] = defaultdict(list)
        self._buses: dict[tuple[int, int], list[Any]] = defaultdict(list)
        self._timeless: dict[tuple[str, int, int, int], Any] = {}
        self._behind: dict[tuple[str, int, int, int], list[Any]] = defaultdict(list)
        self._windows()
        check_size(self._size())
        check_time(self._size(), self._clock)
        self._build()

    def _size(self) -> int:
        """About the number of variables: places of values and units that they pass, places of issues."""
        places = self.tiles * (4 if self.scope.spill else 2) + len(self.registers)
        return places * sum(map(len, self.span)) + self.tiles * sum(map(len, self.window))

    def _build(self) -> None:
        """Make all variables and clauses; uses are collected on the way and limited at the end."""
        self._add_issues()
        self.banks = add_banks(self.model, self.problem, self.issues, self.ii)
        for net in range(self.nodes + len(self.problem.liveins)):
            if self._readers(net):
                self._add_value(net)
        self._add_reads()
        self._add_ties()
        self._add_unread()
        if not self.flat:
            least = least_distances(self.nodes, self.problem.dependences, self.ii)
            add_precedence(self.model, self.issues, least, self.problem.dependences, self.ii)
        self._add_capacities()
        self._add_memory_limit()
        self._add_anchor()

    # -- time ---------------------------------------------------------------------------------------------------------

    @property
    def flat(self) -> bool:
        """True when cycles are flat; False when they are slots."""
        return self.scope.spread is not None

    @property
    def turns(self) -> bool:
        """True when some register file may rotate or does."""
        return any(m > 0 for choices in self.rotation for m in choices)

    def _windows(self) -> None:
        """The cycles in which each node may issue, and in which its value may be of use."""
        count = self.nodes
        if self.scope.spread is None:
            self.window = [range(self.ii)] * count
            self.span = [range(self.ii)] * (count + len(self.problem.liveins))
            return
        least = least_distances(count, self.problem.dependences, self.ii)
        bounded = np.where(least > NONE // 2, least, 0)
        early = np.maximum(bounded.max(axis=0, initial=0), 0).tolist()
        late = np.maximum(bounded.max(axis=1, initial=0), 0).tolist()
        # The slot of the anchor is fixed, so that the first issue is in one of II cycles.
        length = self.scope.spread + self.ii - 1
        self.window = [range(early[n], length - late[n]) for n in range(count)]
        self.span = [self._span(n) for n in range(count)] + [range(length)] * len(self.problem.liveins)

    def _span(self, n: int) -> range:
        """The cycles in which a node's value may be of use: from its first result to the last possible read."""
        first = self.window[n].start + min(self._latencies(n), default=1)
        uses = [self.window[b].stop + self.ii * distance for b, distance in self._readers(n)]
        return range(first, max([first, *uses]))

    def _at(self, cycle: int) -> int:
        """The cycle by which tables are indexed: flat, or its slot."""
        return cycle if self.flat else cycle % self.ii

    # -- the graph ----------------------------------------------------------------------------------------------------

    @cached_property
    def _all_readers(self) -> list[list[tuple[int, int]]]:
        dfg, number = self.problem.dfg, self.problem.number
        readers: list[list[tuple[int, int]]] = [[] for _ in number]
        for edge in (dfg.edges[e] for e in self.problem.edges):
            readers[number[dfg.index[edge.source]]].append((number[dfg.index[edge.target]], edge.distance))
        return readers

    def _readers(self, net: int) -> list[tuple[int, int]]:
        """(node, distance) of the data edges that leave a node or a live-in."""
        return self._all_readers[net]

    def _node(self, n: int) -> Any:
        return self.problem.dfg.nodes[self.problem.nodes[n]]

    def _hosts(self, n: int) -> list[int]:
        needed = self.problem.dfg.required_classes(self._node(n).id)
        return [t for t, tile in enumerate(self.arch.tiles) if tile.runs(self._node(n).op, needed)]

    def _latencies(self, n: int) -> list[int]:
        """The latencies of a node over all tiles that can run it."""
        return [self.latency(n, t) for t in self._hosts(n)]

    def latency(self, n: int, tile: int) -> int:
        """Cycles from issue to result of a node on a tile."""
        return self.arch.tiles[tile].latency_of(self.problem.dfg.op_class(self._node(n).id))

    def _writes(self, n: int) -> bool:
        """True when a node leaves a result in an output register."""
        op = self.problem.dfg.ops[self.problem.nodes[n]]
        return bool(op.result) and op.op_class != "output"

    def _single(self, n: int) -> bool:
        """True when a node has one instance: it has a side effect, is paired, or copies are left out."""
        node = self._node(n)
        paired = any(edge.kind == "pair" and node.id in (edge.source, edge.target) for edge in self.problem.dfg.edges)
        return not self.scope.copies or node.op in COMPUTED_ONCE or paired

    # -- the array ----------------------------------------------------------------------------------------------------

    def _file_elements(self) -> list[range]:
        """For each register file the range of its storages."""
        first, files = self.tiles, []
        for file in self.arch.register_files:
            count = len(file.registers[: self.scope.registers])
            files.append(range(first, first + count))
            first += count
        return files

    def _rotation(self, file: int) -> dict[int, Any]:
        """The choices of how many registers of a file rotate: one variable for each number, or 1 for a fixed one."""
        record = self.arch.register_files[file]
        if not record.adjustable or not self.scope.rotate:
            return {record.rotating if not record.adjustable else 0: 1}
        choices = {m: self._new() for m in range(len(record.registers) + 1)}
        self.model.add_exactly_one(choices.values())
        return choices

    def readable(self, tile: int) -> list[int]:
        """The storages that a tile reads."""
        if tile not in self._reads:
            s = self.problem.structure
            file = self.files[s.file_of[tile]] if s.file_of[tile] >= 0 else range(0)
            self._reads[tile] = [*sorted(s.reads[tile]), *file]
        return self._reads[tile]

    def writers(self, storage: int) -> list[int]:
        """The tiles that write a storage."""
        return [storage] if storage < self.tiles else self._file_writers[self.file_of(storage)]

    @cached_property
    def _file_writers(self) -> list[list[int]]:
        file_of = self.problem.structure.file_of
        return [[t for t in range(self.tiles) if file_of[t] == file] for file in range(len(self.files))]

    def file_of(self, storage: int) -> int:
        """The register file of a storage; -1: it is an output register."""
        return self._storage_files.get(storage, -1)

    @cached_property
    def _storage_files(self) -> dict[int, int]:
        return {storage: file for file, members in enumerate(self.files) for storage in members}

    def before(self, storage: int, cycle: int) -> list[tuple[int, Any]]:
        """(storage a cycle earlier that hold leads from, variable under which it does or 1).

        An output register holds where the array lets it. Registers rotate between periods only: with m rotating ones,
        register k gets its value from register k + 1, modulo m.
        """
        if storage < self.tiles:
            return [(storage, 1)] if self.problem.structure.holds[storage] else []
        if cycle % self.ii:
            return [(storage, 1)]
        file = self.file_of(storage)
        k, first = storage - self.files[file].start, self.files[file].start
        sources = [(first + ((k + 1) % m if k < m else k), chosen) for m, chosen in self.rotation[file].items()]
        return [(source, chosen) for source, chosen in sources if source in self.files[file]]

    # -- variables ----------------------------------------------------------------------------------------------------

    def _new(self) -> Any:
        return self.model.new_bool_var("")

    def _take_unit(self, kind: str, net: int, tile: int, cycle: int, op_class: str, literal: Any) -> None:
        """A use of a function unit (and of the buses that its class needs) in a slot.

        An op that takes its unit for longer than an II would meet itself, so it is forbidden.
        """
        record = self.arch.tiles[tile]
        taken = record.occupancy_of(op_class)
        if taken > self.ii:
            self.model.add_bool_or([literal.negated()])
            return
        if net >= self.nodes:
            literal, fresh = self._shared(kind, net, tile, cycle, literal)
            if not fresh:
                return
        for k in range(taken):
            self._units[tile, (cycle + k) % self.ii].append(literal)
        for p, pool in enumerate(self.arch.pools):
            if tile in pool.tiles and op_class in pool.classes:
                self._buses[p, cycle % self.ii].append(literal)

    def _shared(self, kind: str, net: int, place: int, cycle: int, literal: Any) -> tuple[Any, bool]:
        """Uses of a timeless value in one slot are one use, whatever their cycles.

        Returns the variable of the slot, which each of the uses implies, and whether it is new.
        """
        key = (kind, net, place, cycle % self.ii)
        fresh = key not in self._timeless
        if fresh:
            self._timeless[key] = self._new()
        self._behind[key].append(literal)
        self.model.add_implication(literal, self._timeless[key])
        return self._timeless[key], fresh

    def _add_issues(self) -> None:
        """A variable for each node, tile and cycle of its window, of which at least one is true.

        Exactly one is true for a node that may not have copies.
        """
        for n in range(self.nodes):
            check_clock(self._clock)
            op_class = self.problem.dfg.op_class(self._node(n).id)
            for tile in self._hosts(n):
                for cycle in self.window[n]:
                    literal = self.issue[n, tile, cycle] = self._new()
                    self.issues[n].append((tile, cycle, literal))
                    self._take_unit("issue", n, tile, cycle, op_class, literal)
                    if self._writes(n) and not self._readers(n):
                        self._storages[tile, (cycle + self.latency(n, tile)) % self.ii].append(literal)
            choices = [literal for _, _, literal in self.issues[n]]
            if self._single(n):
                self.model.add_exactly_one(choices)
            else:
                self.model.add_bool_or(choices)

    def _add_value(self, net: int) -> None:
        """Variables for all places and passages of a value over its span: storages, moves, loads, stores, memory."""
        span, structure = self.span[net], self.problem.structure
        storages = range(self.tiles + len(self.registers))
        spills = self.scope.spill and structure.memory >= 0
        for cycle in span:
            check_clock(self._clock)
            for storage in storages:
                literal = self.held[net, storage, cycle] = self._new()
                if net >= self.nodes:
                    literal, fresh = self._shared("held", net, storage, cycle, literal)
                    if not fresh:
                        continue
                self._storages[storage, cycle % self.ii].append(literal)
            for tile in range(self.tiles):
                self._add_passage(self.move, "move", net, tile, cycle, structure.move_latency[tile], "route")
                if structure.load_latency[tile] and (spills or net >= self.nodes):
                    self._add_passage(self.load, "load", net, tile, cycle, structure.load_latency[tile], "mem")
                if structure.load_latency[tile] and spills and net < self.nodes:
                    literal = self.store[net, tile, cycle] = self._new()
                    self._take_unit("store", net, tile, cycle, "mem", literal)
            if spills and net < self.nodes:
                self.in_memory[net, cycle] = self._new()
        if net >= self.nodes:
            self._add_kept(net)
        self._add_origins(net)

    def _add_passage(
        self, table: Table, kind: str, net: int, tile: int, cycle: int, latency: int, op_class: str
    ) -> None:
        """A move or a load: it writes the tile's output register whether or not that is read."""
        after = self._at(cycle + latency)
        if after not in self.span[net]:
            return
        literal = table[net, tile, cycle] = self._new()
        self._take_unit(kind, net, tile, cycle, op_class, literal)

    def _add_kept(self, net: int) -> None:
        """A live-in may be in any register that does not rotate, from the start and for good."""
        for file, members in enumerate(self.files):
            for k, storage in enumerate(members):
                literal = self.kept[net, storage] = self._new()
                for m, chosen in self.rotation[file].items():
                    if m > k:
                        self.model.add_bool_or([literal.negated(), *_not(chosen)])
                for slot in range(self.ii):
                    self._storages[storage, slot].append(literal)

    # -- where a value comes from -------------------------------------------------------------------------------------

    def _made(self, net: int, tile: int, cycle: int) -> Iterator[Any]:
        """What can write a value into the storages of a tile at a cycle."""
        s = self.problem.structure
        sources = [(self.move, s.move_latency[tile]), (self.load, s.load_latency[tile])]
        if net < self.nodes:
            sources.insert(0, (self.issue, self.latency(net, tile)))
        for table, latency in sources:
            literal = table.get((net, tile, self._at(cycle - latency)))
            if literal is not None:
                yield literal

    def _add_origins(self, net: int) -> None:
        """Nothing comes from nowhere: what is held was written or held before, what is in memory was stored.

        A write to an output register happens in any case, so it implies that the value is there. A result that falls
        outside the span still takes its output register for a cycle.
        """
        add = self.model.add_bool_or
        if not self.flat:
            self._add_writes(net)
        for cycle in self.span[net]:
            check_clock(self._clock)
            for storage in range(self.tiles + len(self.registers)):
                held = self.held[net, storage, cycle]
                made = [literal for tile in self.writers(storage) for literal in self._made(net, tile, cycle)]
                add([held.negated(), *made, *self._kept_on(net, storage, cycle)])
                if storage < self.tiles:
                    for literal in made:
                        self.model.add_implication(literal, held)
                    # Of two copies only one may write a register.
                    if len(made) > 1:
                        self.model.add_at_most_one(made)
            for tile in range(self.tiles):
                self._add_passage_rules(net, tile, cycle)
            if (net, cycle) in self.in_memory:
                earlier = self._at(cycle - 1)
                stored = [self.store.get((net, tile, earlier)) for tile in range(self.tiles)]
                reasons = [literal for literal in [*stored, self.in_memory.get((net, earlier))] if literal is not None]
                add([self.in_memory[net, cycle].negated(), *reasons])
        for tile, cycle, literal in self.issues[net] if net < self.nodes else ():
            after = self._at(cycle + self.latency(net, tile))
            if after not in self.span[net]:
                self._storages[tile, after % self.ii].append(literal)

    def _add_writes(self, net: int) -> None:
        """In slots, "held before" leads around the period and back: what is ever held was written in some slot."""
        for storage in range(self.tiles + len(self.registers)):
            tiles = self.writers(storage)
            made = [literal for tile in tiles for cycle in self.span[net] for literal in self._made(net, tile, cycle)]
            some = self._new()
            self.model.add_bool_or([some.negated(), *made])
            for cycle in self.span[net]:
                self.model.add_implication(self.held[net, storage, cycle], some)

    def _add_passage_rules(self, net: int, tile: int, cycle: int) -> None:
        """A move and a store need the value in a storage that the tile reads, a load needs it in memory."""
        key = (net, tile, cycle)
        for table in (self.move, self.store):
            if key in table:
                self.model.add_bool_or([table[key].negated(), *self._found(net, tile, cycle)])
        if key in self.load and net < self.nodes:
            self.model.add_implication(self.load[key], self.in_memory[net, cycle])

    def _kept_on(self, net: int, storage: int, cycle: int) -> list[Any]:
        """Variables, one of which is true when a storage goes on holding a value from the cycle before."""
        earlier = self._at(cycle - 1)
        under: dict[int, list[Any]] = defaultdict(list)
        for source, chosen in self.before(storage, cycle):
            if (net, source, earlier) in self.held:
                under[source].append(chosen)
        found = []
        for source, choices in under.items():
            held = self.held[net, source, earlier]
            if any(isinstance(chosen, int) for chosen in choices):
                found.append(held)
                continue
            both = self._new()
            self.model.add_implication(both, held)
            self.model.add_bool_or([both.negated(), *choices])
            found.append(both)
        return found

    def _found(self, net: int, tile: int, cycle: int) -> list[Any]:
        """The variables of which one is true when a tile has a value at hand at a flat cycle."""
        storages = self.readable(tile)
        kept = [self.kept[net, storage] for storage in storages if (net, storage) in self.kept]
        at = self._at(cycle)
        return kept + [self.held[net, storage, at] for storage in storages if (net, storage, at) in self.held]

    def _add_reads(self) -> None:
        """Every issue finds its operands; a timeless value in its slot, another one in its cycle."""
        for key, behind in self._behind.items():
            if key[0] == "held":
                self.model.add_bool_or([self._timeless[key].negated(), *behind])
        dfg, number = self.problem.dfg, self.problem.number
        for e in self.problem.edges:
            check_clock(self._clock)
            edge = dfg.edges[e]
            net, b = number[dfg.index[edge.source]], number[dfg.index[edge.target]]
            for tile, cycle, literal in self.issues[b]:
                found = self._operand(net, tile, cycle + self.ii * edge.distance)
                self.model.add_bool_or([literal.negated(), *found])

    def _operand(self, net: int, tile: int, cycle: int) -> list[Any]:
        """The variables under which an op on a tile has its operand at a cycle."""
        if net < self.nodes:
            return self._found(net, tile, cycle)
        found = [self.kept[net, storage] for storage in self.readable(tile) if (net, storage) in self.kept]
        keys = [("held", net, storage, cycle % self.ii) for storage in self.readable(tile)]
        return found + [self._timeless[key] for key in keys if key in self._timeless]

    # -- rules between issues -----------------------------------------------------------------------------------------

    def _add_ties(self) -> None:
        """Pairs sit together at an exact distance; in flat time, order edges hold between all copies."""
        dfg, number = self.problem.dfg, self.problem.number
        for e in self.problem.ties:
            check_clock(self._clock)
            edge = dfg.edges[e]
            a, b = number[dfg.index[edge.source]], number[dfg.index[edge.target]]
            if max(a, b) >= self.nodes:
                continue
            if edge.kind == "pair":
                self._add_pair(a, b, edge.delay - self.ii * edge.distance)
            elif self.flat:
                self._add_order(a, b, edge.delay - self.ii * edge.distance)

    def _add_pair(self, a: int, b: int, apart: int) -> None:
        """Wherever one end of a pair issues, the other does at the exact distance, on a tile that goes with its own.

        That is the same tile or, on an array with buses, one that shares a bus with it.
        """
        linked = [
            {u for u in range(self.tiles) if u == t or not self.arch.pools or self._share_pool(t, u)}
            for t in range(self.tiles)
        ]
        for first, second, offset in ((a, b, apart), (b, a, -apart)):
            for tile, cycle, literal in self.issues[first]:
                partners = [self.issue.get((second, u, self._at(cycle + offset))) for u in linked[tile]]
                self.model.add_bool_or([literal.negated(), *(p for p in partners if p is not None)])

    def _share_pool(self, t: int, u: int) -> bool:
        return any(t in pool.tiles and u in pool.tiles for pool in self.arch.pools)

    def _add_order(self, a: int, b: int, apart: int) -> None:
        """No issue of ``b`` less than ``apart`` cycles after one of ``a``: by a ladder of "b has issued"."""
        ladder: dict[int, Any] = {}
        previous: Any = None
        for cycle in self.window[b]:
            step = ladder[cycle] = self._new()
            if previous is not None:
                self.model.add_implication(previous, step)
            for tile in self._hosts(b):
                self.model.add_implication(self.issue[b, tile, cycle], step)
            previous = step
        last = self.window[b].stop - 1
        for _, cycle, literal in self.issues[a]:
            too_early = min(cycle + apart - 1, last)
            if too_early in ladder:
                self.model.add_bool_or([literal.negated(), ladder[too_early].negated()])

    # -- limits -------------------------------------------------------------------------------------------------------

    def _add_unread(self) -> None:
        """A live-in that nothing reads still has to be somewhere."""
        unread = [self.nodes + k for k in range(len(self.problem.liveins)) if not self._readers(self.nodes + k)]
        if self.problem.structure.memory >= 0:
            return
        for net in unread:
            self._add_kept(net)
            self.model.add_bool_or([self.kept[net, s] for s in range(self.tiles, self.tiles + len(self.registers))])

    def _add_capacities(self) -> None:
        """At most one user for each unit and storage in a slot, at most its capacity for each bus."""
        for users in (*self._units.values(), *self._storages.values()):
            check_clock(self._clock)
            self.model.add_at_most_one(users)
        for (p, _), users in self._buses.items():
            capacity = self.arch.pools[p].capacity
            if capacity == 1:
                self.model.add_at_most_one(users)
            elif len(users) > capacity:
                self.model.add(sum(users) <= capacity)

    @property
    def memory_words(self) -> int | None:
        """Words of data memory that arrays leave; None: no limit."""
        limit = self.arch.data_memory
        return None if limit is None else limit // WORD_BYTES - sum(a.length for a in self.problem.dfg.arrays)

    @property
    def memory_matters(self) -> bool:
        """True when the data memory may be too small for what a mapping spills and keeps."""
        words = self.memory_words
        cycles = max((len(span) for span in self.span), default=0)
        return words is not None and words < len(self.span) * (cycles // self.ii + 2)

    def _add_memory_limit(self) -> None:
        """Spilled values and loaded live-ins fit; of lifetimes, a begun period counts as a word."""
        words = self.memory_words
        if words is None or not self.flat or not self.memory_matters:
            return
        cycles = list(self.in_memory.values())
        for net in range(self.nodes + len(self.problem.liveins)):
            uses = [v for (n, _), v in self.in_memory.items() if n == net]
            uses += [v for (n, _, _), v in self.load.items() if n == net >= self.nodes]
            if uses:
                some = self._new()
                for literal in uses:
                    self.model.add_implication(literal, some)
                cycles += [some] * self.ii
        unread = sum(1 for k in range(len(self.problem.liveins)) if not self._readers(self.nodes + k))
        self.model.add(sum(cycles) <= self.ii * max(0, words - unread))

    def _add_anchor(self) -> None:
        """One node sits on one of the tiles that the array can tell apart, and where time has no origin, in slot 0.

        The node with most edges is the anchor, as fixing it says most about the others. Where registers may rotate,
        periods begin at a certain slot, so time has an origin.
        """
        if not self.nodes:
            return
        degree = [len(self._readers(n)) + len(self.problem.dfg.in_edges[k]) for n, k in enumerate(self.problem.nodes)]
        anchor = degree.index(max(degree))
        tiles = set(representatives(self.arch))
        chosen = [
            literal
            for tile, cycle, literal in self.issues[anchor]
            if tile in tiles and (self.turns or cycle % self.ii == 0)
        ]
        self.model.add_bool_or(chosen)


def _not(chosen: Any) -> list[Any]:
    """The negation as a list of literals; nothing where the choice is fixed."""
    return [] if isinstance(chosen, int) else [chosen.negated()]
