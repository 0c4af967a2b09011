"""A graph and a modulo-scheduled array as flat arrays: what the ``modulo`` mapper and its kernels share.

The array is seen as registers and the tiles that read and write them: an operand input and a link carry exactly what
the register before them holds, and are taken exactly when the tile behind them issues, so neither is ever short of room
where registers and issue slots are not. Routes are written out over every resource again in
:mod:`gridloom.targets.modulo.mappers.mapping`. Only arrays with crossbars have links that routes compete for: those are
wires of :mod:`gridloom.targets.modulo.mappers.crossbars.wires`.

Numbers: *nodes*, which take an issue slot, come first, then *live-ins*, which registers or memory keep; both together
are the *nets* that can be the source of an edge. A node that is computed more than once has one number for each copy,
so several numbers can have the same graph position. *Ties* are order and pair edges, which bind cycles and carry
nothing. The arrays for the kernels are tuples of :mod:`gridloom.targets.modulo.mappers.state`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from gridloom.archs.model import Arch
from gridloom.dfg.model import Dfg
from gridloom.errors import OptionError
from gridloom.search.arrays import Int64s, Uint8s, csr64
from gridloom.targets.modulo.mappers.banks import BankChoice, accessed_array, choose_banks
from gridloom.targets.modulo.mappers.crossbars.wires import wire_arrays
from gridloom.targets.modulo.mappers.schedule.iterative import (
    Dependence,
    heights,
    least_distances,
    modulo_schedule,
    relations,
    resources,
    shorten_lifetimes,
)
from gridloom.targets.modulo.mappers.state import ModuloFabric, ModuloLoop
from gridloom.targets.modulo.mappers.stores import keep_to_stores
from gridloom.targets.modulo.mappers.structure import Structure, structure

#: Bytes of a word of the data memory.
WORD_BYTES = 4

#: Ops whose effect is seen outside the loop: they are computed once.
COMPUTED_ONCE = frozenset({"store", "store_if", "store_address", "store_data", "input", "output"})

#: Graphs with more nodes than this are refused: distances between all pairs are kept.
MAX_NODES = 6000

# The cycles that a value may stay in memory: more than any horizon has.
_LONG = 1 << 14


@dataclass(frozen=True, slots=True, kw_only=True)
class RegisterUse:
    """What a search may do with register files: use ``limit`` registers of each, rotate ``rotating`` of them.

    A rotating register passes its value on to the next one of its file at the end of each iteration, so that a value
    can live for longer than an II; one that stays in place holds a value for an II at most, but may keep a live-in.
    """

    limit: int
    rotating: int


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeCopy:
    """A node that is computed once more, for some of the edges that leave it."""

    #: The node's position in the graph.
    node: int
    #: The edges that the copy feeds, as indices into ``dfg.edges``.
    readers: frozenset[int]


class ModuloProblem:
    """A graph on an array; :meth:`loop` and :meth:`fabric` give the arrays for an II.

    With ``copies`` some nodes are there more than once: each reads what the node reads, and feeds the edges it names.
    ``pinned``, ``regions`` and ``first`` are tiles by graph position: where nodes have to sit, stay within, and where a
    search places them first. ``banks`` says where arrays lie; left out, the problem chooses. ``read`` is the structure
    of the array, where it is known already. OptionError for an array without registers between tiles, and for graphs of
    more than ``MAX_NODES`` nodes.

    It does not change once it is made, and is shared by the threads of a search.
    """

    def __init__(
        self,
        dfg: Dfg,
        arch: Arch,
        copies: Sequence[NodeCopy] = (),
        *,
        pinned: Mapping[int, int] | None = None,
        regions: Mapping[int, frozenset[int]] | None = None,
        first: Mapping[int, int] | None = None,
        banks: BankChoice | None = None,
        read: Structure | None = None,
    ) -> None:
        self.dfg = dfg
        self.arch = arch
        #: In which bank each array lies; empty on arrays without banks.
        self.banks = choose_banks(dfg, arch, {}) if banks is None else banks
        self.pinned = dict(pinned or {})
        self.regions = dict(regions or {})
        self.first = dict(first or {})
        self.structure = structure(arch) if read is None else read
        free = [dfg.op_class(node.id) in arch.free for node in dfg.nodes]
        timeless = [op.timeless for op in dfg.ops]
        #: Graph positions of nodes that take a slot, and of live-ins that registers or memory keep.
        self.nodes = [k for k in range(len(dfg.nodes)) if not free[k] and not timeless[k]]
        self.liveins = [k for k in range(len(dfg.nodes)) if not free[k] and timeless[k]]
        self.number = {k: n for n, k in enumerate(self.nodes + self.liveins)}
        #: Routed edges, as indices into ``dfg.edges``.
        self.edges = [
            k
            for k, edge in enumerate(dfg.edges)
            if edge.kind == "data" and not free[dfg.index[edge.source]] and not free[dfg.index[edge.target]]
        ]
        self.ties = [
            k
            for k, edge in enumerate(dfg.edges)
            if edge.kind in ("order", "pair")
            and dfg.index[edge.source] in self.number
            and dfg.index[edge.target] in self.number
        ]
        if len(self.nodes) > MAX_NODES:
            raise OptionError(
                f"graphs of up to {MAX_NODES} nodes are mapped onto modulo-scheduled arrays, found {len(self.nodes)}"
            )
        #: For each node which copy of its graph node it is.
        self.copy_of = [0] * len(self.nodes)
        #: The numbers of source and target of each of ``edges``, and of each of ``ties``.
        self.ends = [self._ends(e) for e in self.edges]
        self.tie_ends = [self._ends(e) for e in self.ties]
        if copies:
            self._add(copies)

    def _ends(self, edge: int) -> tuple[int, int]:
        """The numbers of an edge's source and target."""
        record = self.dfg.edges[edge]
        return self.number[self.dfg.index[record.source]], self.number[self.dfg.index[record.target]]

    def _add(self, copies: Sequence[NodeCopy]) -> None:
        """Add copies of nodes; live-ins, which are numbered after nodes, move up. Linear in graph and copies.

        Edges that a copy serves get it as their source. All edges into the node, and all ties at it, are repeated for
        the copy, so an edge of the graph can occur several times in ``edges``. A value that the node carries to itself
        becomes one that the copy carries to itself.
        """
        first, more = len(self.nodes), len(copies)
        shifted = [n + more * (n >= first) for n in range(first + len(self.liveins))]
        self.number = {k: shifted[n] for k, n in self.number.items()}
        self.ends = [(shifted[a], shifted[b]) for a, b in self.ends]
        self.tie_ends = [(shifted[a], shifted[b]) for a, b in self.tie_ends]
        served = {(e, self.number[copy.node]): first + k for k, copy in enumerate(copies) for e in copy.readers}
        into: dict[int, list[tuple[int, int]]] = {}
        for e, (a, b) in zip(self.edges, self.ends, strict=True):
            into.setdefault(b, []).append((e, a))
        # An edge that a copy of its source serves, unless the source reads itself.
        self.ends = [
            (served.get((e, a), a) if a != b else a, b) for e, (a, b) in zip(self.edges, self.ends, strict=True)
        ]
        versions: dict[int, list[int]] = {}
        for k, copy in enumerate(copies):
            node, number = self.number[copy.node], first + k
            versions.setdefault(node, [node]).append(number)
            self.nodes.append(copy.node)
            self.copy_of.append(len(versions[node]) - 1)
            for e, source in into.get(node, ()):
                self.edges.append(e)
                self.ends.append((number if source == node else served.get((e, source), source), number))
        for tie, (a, b) in list(zip(self.ties, self.tie_ends, strict=True)):
            sources, targets = versions.get(a, [a]), versions.get(b, [b])
            pairs = [(n, n) for n in sources] if a == b else [(m, n) for m in sources for n in targets]
            self.ties += [tie] * (len(pairs) - 1)
            self.tie_ends += pairs[1:]

    # -- op classes ---------------------------------------------------------------------------------------------------

    @cached_property
    def classes(self) -> list[frozenset[str]]:
        """The sets of op classes that nodes need, and those of moves and of memory accesses."""
        needed = {self.dfg.required_classes(self.dfg.nodes[k].id) for k in self.nodes}
        needed |= {frozenset({"route"}), frozenset({"mem"})}
        return sorted(needed, key=sorted)

    def class_of(self, position: int) -> int:
        """The row of ``classes`` of a graph node."""
        return self._class_rows[position]

    @cached_property
    def _class_rows(self) -> dict[int, int]:
        """The row of ``classes`` of each graph node that takes a slot."""
        rows = {needed: row for row, needed in enumerate(self.classes)}
        return {k: rows[self.dfg.required_classes(self.dfg.nodes[k].id)] for k in self.nodes}

    def op_class(self, row: int) -> str:
        """The class that decides latency and pools."""
        return min(self.classes[row], key=lambda name: (name in ("input", "output"), name))

    # -- arrays for kernels -------------------------------------------------------------------------------------------

    @cached_property
    def dependences(self) -> list[Dependence]:
        """What issue cycles have to respect, with the least latency that any tile offers.

        Live-ins are always there and make no dependence. A pair edge becomes two, which together fix the distance.
        """
        dfg, found = self.dfg, []
        shortest = {n: self.least_latency(k) for n, k in enumerate(self.nodes)}
        for e, (a, b) in zip(self.edges + self.ties, self.ends + self.tie_ends, strict=True):
            edge = dfg.edges[e]
            if a >= len(self.nodes) or b >= len(self.nodes):
                continue
            delay = shortest[a] if edge.kind == "data" else edge.delay
            found.append(Dependence(source=a, target=b, delay=delay, distance=edge.distance))
            if edge.kind == "pair":
                found.append(Dependence(source=b, target=a, delay=-delay, distance=-edge.distance))
        return found

    def least_latency(self, position: int) -> int:
        """The least cycles from issue to result of a graph node on any tile."""
        return self._least_latencies[self.class_of(position)]

    @cached_property
    def _least_latencies(self) -> list[int]:
        """The least cycles from issue to result on any tile, by the row of ``classes``."""
        return [
            min((t.latency_of(self.op_class(row)) for t in self.arch.tiles if needed <= t.classes), default=1)
            for row, needed in enumerate(self.classes)
        ]

    def loop(self, ii: int) -> ModuloLoop:
        """The graph's arrays for an II. At least quadratic in the nodes for the distances, so callers keep it.

        The II has to be one at which the recurrences have a schedule.
        """
        dfg, count = self.dfg, len(self.nodes)
        ends = self.ends
        ties = [(dfg.edges[e], a, b) for e, (a, b) in zip(self.ties, self.tie_ends, strict=True)]
        out_at, out = _csr(count + len(self.liveins), [(a, e) for e, (a, _) in enumerate(ends)])
        in_at, into = _csr(count, [(b, e) for e, (_, b) in enumerate(ends)])
        tie_at, tie = _csr(count, sorted({(n, k) for k, (_, a, b) in enumerate(ties) for n in (a, b)}))
        both = [(n, e) for e, pair in enumerate(ends) for n in sorted(set(pair), reverse=True)]
        touch_at, touch = _csr(count, both)
        least = least_distances(count, self.dependences, ii)
        related = relations(least)
        kind, models = self._kinds
        rows = [self.class_of(k) for k in models]
        able, latency, pool = (table[rows] for table in self.tables)
        taken = self.taken[rows]
        # An op that keeps its unit for longer than an II would meet itself.
        able = able * (taken <= ii)
        self._keep_to_ops(models, able)
        self._keep_to_banks(models, able, pool)
        keep_to_stores(dfg, self.arch, models, self.pinned, able)
        self._keep_to_pins(models, able)
        return ModuloLoop(
            nodes=count,
            kind=_ints(kind), allowed=able, latency=latency, pool=pool, taken=taken, together=self.together(),
            has_result=_ints([self._writes(k) for k in self.nodes]),
            source=_ints([a for a, _ in ends]),
            target=_ints([b for _, b in ends]),
            distance=_ints([dfg.edges[e].distance for e in self.edges]),
            flag=_ints([self._is_flag(e) for e in self.edges]),
            out_at=out_at, out=out, in_at=in_at, into=into, touch_at=touch_at, touch=touch,
            tie_source=_ints([a for _, a, _ in ties]),
            tie_target=_ints([b for _, _, b in ties]),
            tie_delay=_ints([edge.delay for edge, _, _ in ties]),
            tie_distance=_ints([edge.distance for edge, _, _ in ties]),
            tie_exact=_ints([edge.kind == "pair" for edge, _, _ in ties]),
            tie_at=tie_at, tie=tie,
            related_at=related.at, related=related.other, after=related.after, before=related.before,
            height=heights(least),
            preferred=self._preferred(least, ii),
        )  # fmt: skip

    def _writes(self, position: int) -> bool:
        """Whether a graph node writes the output register of its tile."""
        op = self.dfg.ops[position]
        return op.op_class != "output" and (op.result or self.arch.has("stores_write"))

    def _is_flag(self, edge: int) -> bool:
        """Whether an edge ends in the operand of a tile that is a flag."""
        last = self.arch.operand_inputs.shape[1] - 1
        return self.arch.has("flags") and self.dfg.edges[edge].operand == last

    @property
    def kind_models(self) -> list[int]:
        """The graph position of the first node of each kind."""
        return self._kinds[1]

    @cached_property
    def _kinds(self) -> tuple[list[int], list[int]]:
        """The kind of each node, and the graph position of the first node of each kind.

        Nodes of a kind need the same op classes, and nothing else tells them apart: pins, banks, ops that some tiles
        lack. What constant stores have depends on all nodes, so that each node is a kind of its own where there are
        such stores.
        """
        arch = self.arch
        if arch.has("constant_stores"):
            return list(range(len(self.nodes))), list(self.nodes)
        lacking = any(tile.lacks for tile in arch.tiles)
        known: dict[tuple[object, ...], int] = {}
        kinds = list[int]()
        models = list[int]()
        for k in self.nodes:
            array = accessed_array(self.dfg, k) if arch.banks else None
            key = (
                self.class_of(k),
                self.pinned.get(k),
                self.regions.get(k),
                array,
                self.dfg.nodes[k].op if lacking else None,
            )
            if key not in known:
                known[key] = len(models)
                models.append(k)
            kinds.append(known[key])
        return kinds, models

    def _keep_to_ops(self, models: Sequence[int], able: Int64s) -> None:
        """Take tiles away, in place, that lack the op of a node though they have its class; a row for each kind."""
        for t, tile in enumerate(self.arch.tiles):
            if tile.lacks:
                for n, k in enumerate(models):
                    node = self.dfg.nodes[k]
                    able[n, t] *= tile.runs(node.op, self.dfg.required_classes(node.id))

    def _keep_to_banks(self, models: Sequence[int], able: Int64s, pool: Int64s) -> None:
        """Let accesses sit only on tiles that reach the bank of their array, and take one of its ports.

        Both tables have a row for each kind and are changed in place. The ports of bank b are pool ``pools + b``.
        """
        if not self.arch.banks or self.banks.failure is not None:
            return
        for n, k in enumerate(models):
            array = accessed_array(self.dfg, k)
            if array is not None:
                bank = self.banks.bank_of[array]
                reached = np.zeros(able.shape[1], dtype=np.int64)
                reached[list(self.arch.banks[bank].tiles)] = 1
                able[n] *= reached
                if self.dfg.op_class(self.dfg.nodes[k].id) == "mem":
                    pool[n] = len(self.arch.pools) + bank

    def _preferred(self, least: Int64s, ii: int) -> Int64s:
        """A schedule by counts, begun late enough to leave room before it.

        Iterative modulo scheduling (Rau 1994) on issue slots and pools alone, then lifetimes are made shorter. Where it
        finds no schedule, each node gets its earliest cycle. Tiles are left out of account: this is only where a
        placement begins.
        """
        counts = resources(self.arch, self.classes)
        takes = np.zeros((len(self.nodes), len(counts.room)), dtype=np.int64)
        for n, k in enumerate(self.nodes):
            takes[n, list(counts.takes[self.class_of(k)])] = 1
        room = _ints(counts.room)
        # Not all slots may be taken in any cycle: moves need some.
        room[0] = min(room[0], -(-len(self.nodes) // ii) + 1)
        cycles = modulo_schedule(least, ii, takes, room)
        if cycles is None:
            cycles = np.maximum(least.max(axis=0, initial=0), 0).astype(np.int64)
        else:
            links = [
                (a, b, self.dfg.edges[e].distance)
                for e, (a, b) in zip(self.edges, self.ends, strict=True)
                if a < len(self.nodes)
            ]
            latency = _ints([self.least_latency(k) for k in self.nodes])
            shorten_lifetimes(least, ii, takes, room, np.array(links, dtype=np.int64).reshape(-1, 3), latency, cycles)
        return cycles + self.offset(ii)

    @staticmethod
    def offset(ii: int) -> int:
        """Cycles before the first preferred cycle, into which nodes can move."""
        return 2 * ii + 4

    def horizon(self, loop: ModuloLoop, ii: int) -> int:
        """Flat cycles that a search looks at: the preferred schedule, half as much again, and room on both sides."""
        length = int(loop.preferred.max(initial=0)) - self.offset(ii) + 2
        longest = max((self.dfg.edges[e].distance for e in self.edges), default=0)
        return self.offset(ii) + length + length // 2 + 3 * ii + ii * longest + 8

    def fabric(self, loop: ModuloLoop, ii: int, registers: RegisterUse, move_price: float = 1.0) -> ModuloFabric:
        """The array's arrays for an II and a use of its register files.

        Storages are numbered: output registers by tile, then the usable registers file by file, then the wire states of
        crossbars, then the memory.
        ``span`` is how long one value may stay: a cycle in an output register that cannot hold, an II in one that can
        and in a register that does not rotate, m * II in one of m that do, and as long as it takes in the memory.
        """
        s, arch = self.structure, self.arch
        tiles = len(arch.tiles)
        files = [self.usable(k, registers.limit) for k in range(len(arch.register_files))]
        rotating = [self.rotating(k, registers) for k in range(len(files))]
        at = _ints(np.concatenate([[0], np.cumsum([len(f) for f in files])]))
        turn = np.arange(at[-1], dtype=np.int64)
        keeps = np.ones(at[-1], dtype=np.int64)
        span = [ii if held else 1 for held in s.holds] + [ii] * int(at[-1])
        for k, m in enumerate(rotating):
            for r in range(m):
                turn[at[k] + r] = at[k] + (r - 1) % m
                keeps[at[k] + r] = 0
                span[tiles + at[k] + r] = m * ii
        wires = wire_arrays(arch, s.wires, files)
        first = tiles + int(at[-1])
        reads = [[*sorted(s.reads[t]), *(first + w for w in wires.readers[t])] for t in range(tiles)]
        read_at, read = csr64(reads)
        span += [0] * wires.states + [_LONG]
        pool = self.tables[2]
        return ModuloFabric(
            ii=ii, tiles=tiles, registers=int(at[-1]), files=len(files),
            elements=4 * tiles + int(at[-1]) + wires.states + 1,
            horizon=self.horizon(loop, ii),
            read_at=read_at, read=read, file_at=at,
            file_of=_ints(s.file_of), read_file=_ints(s.read_file), turn=turn, span=_ints(span), keeps=keeps,
            move_latency=_ints(s.move_latency), load_latency=_ints(s.load_latency), has_memory=max(s.load_latency) > 0,
            move_pool=pool[self.classes.index(frozenset({"route"}))],
            memory_pool=pool[self.classes.index(frozenset({"mem"}))],
            move_price=move_price,
            wires=wires.states, wire_depth=wires.depth, wire_at=wires.at, wire_from=wires.sources,
            wire_group=wires.group, wire_price=wires.price, wire_file=wires.file,
            port_at=wires.port_at, port=wires.port,
        )  # fmt: skip

    def usable(self, file: int, limit: int) -> tuple[int, ...]:
        """The registers of a file that a search may use; those that rotate in any case are among them."""
        record = self.arch.register_files[file]
        return record.registers[: limit if record.adjustable else max(limit, record.rotating)]

    def rotating(self, file: int, registers: RegisterUse) -> int:
        """How many registers of a file rotate."""
        record = self.arch.register_files[file]
        if not record.adjustable:
            return record.rotating
        return min(registers.rotating, len(self.usable(file, registers.limit)))

    @cached_property
    def tables(self) -> tuple[Int64s, Int64s, Int64s]:
        """[row of ``classes``, tile] -> 1 where it runs; its latency; its pool, -1: none."""
        shape = (len(self.classes), len(self.arch.tiles))
        able, latency, pool = (np.full(shape, fill, dtype=np.int64) for fill in (0, 1, -1))
        for row, needed in enumerate(self.classes):
            name = self.op_class(row)
            for t, tile in enumerate(self.arch.tiles):
                able[row, t] = needed <= tile.classes
                latency[row, t] = tile.latency_of(name)
                found = [p for p, record in enumerate(self.arch.pools) if t in record.tiles and name in record.classes]
                if len(found) > 1:
                    raise OptionError(
                        f"tiles with one pool for each op are mapped to; tile {tile.name!r} has {len(found)} for {name}"
                    )
                pool[row, t] = found[0] if found else -1
        return able, latency, pool

    @cached_property
    def taken(self) -> Int64s:
        """[row of ``classes``, tile] -> the cycles for which such an op keeps the issue slot."""
        names = [self.op_class(row) for row in range(len(self.classes))]
        return np.array([[tile.occupancy_of(name) for tile in self.arch.tiles] for name in names], dtype=np.int64)

    @cached_property
    def pool_room(self) -> Int64s:
        """How many ops each pool, and after them each bank, starts in a cycle."""
        return _ints([pool.capacity for pool in self.arch.pools] + [bank.ports for bank in self.arch.banks])

    def _keep_to_pins(self, models: Sequence[int], able: Int64s) -> None:
        """Keep a pinned node to its tile, and others to their regions, in place; a row for each kind."""
        for n, k in enumerate(models):
            if k in self.regions:
                outside = np.ones(able.shape[1], dtype=np.bool_)
                outside[list(self.regions[k])] = False
                able[n, outside] = 0
            if k in self.pinned:
                there = able[n, self.pinned[k]]
                able[n] = 0
                able[n, self.pinned[k]] = there

    def together(self) -> Uint8s:
        """[tile, tile] -> 1 when the ends of a pair edge may sit there."""
        tiles = len(self.arch.tiles)
        if not self.arch.pools:
            return np.ones((tiles, tiles), dtype=np.uint8)
        table = np.eye(tiles, dtype=np.uint8)
        for pool in self.arch.pools:
            members = np.array(pool.tiles)
            table[np.ix_(members, members)] = 1
        return table


def _ints(values: object) -> Int64s:
    """A flat, contiguous array of 64-bit integers, as the kernels take it."""
    return np.ascontiguousarray(np.array(values, dtype=np.int64).reshape(-1))


def _csr(count: int, pairs: list[tuple[int, int]]) -> tuple[Int64s, Int64s]:
    """Rows of values from pairs of a row and a value; a row of ``count`` or more, which is a live-in's, is left out."""
    rows: list[list[int]] = [[] for _ in range(count)]
    for row, value in pairs:
        if row < count:
            rows[row].append(value)
    return csr64(rows)
