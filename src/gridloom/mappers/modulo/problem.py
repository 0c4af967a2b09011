"""A graph and a modulo-scheduled array as flat arrays: what the ``modulo`` mapper and its kernels share.

The array is seen as registers and the tiles that read and write them: an operand input and a link carry exactly what
the register before them holds, and are taken exactly when the tile behind them issues, so neither is ever short of room
where registers and issue slots are not. Routes are written out over every resource again in
:mod:`gridloom.mappers.modulo.mapping`. Only arrays with crossbars have links that routes compete for: those are wires
of :mod:`gridloom.mappers.modulo.crossbars.wires`.

Numbers: *nodes*, which take an issue slot, come first, then *live-ins*, which registers or memory keep; both together
are the *nets* that can be the source of an edge. A node that is computed more than once has one number for each copy,
so several numbers can have the same graph position. *Ties* are order and pair edges, which bind cycles and carry
nothing. The arrays for the kernels are tuples of :mod:`gridloom.mappers.modulo.state`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from gridloom.archs.model import Arch, Kind
from gridloom.dfg.model import Dfg
from gridloom.errors import OptionError
from gridloom.mappers.core.arrays import Int64s
from gridloom.mappers.core.csr import csr64
from gridloom.mappers.modulo.banks import BankChoice, accessed_array, choose_banks
from gridloom.mappers.modulo.crossbars.arrays import wire_arrays
from gridloom.mappers.modulo.crossbars.wires import Wires, read_wires, write_ports
from gridloom.mappers.modulo.schedule.iterative import Dependence, least_distances, modulo_schedule, shorten_lifetimes
from gridloom.mappers.modulo.schedule.resources import resources
from gridloom.mappers.modulo.state import Fabric, Loop
from gridloom.mappers.modulo.stores import keep_to_stores

#: Bytes of a word of the data memory.
WORD_BYTES = 4

#: Ops whose effect is seen outside the loop: they are computed once.
COMPUTED_ONCE = frozenset({"store", "store_if", "store_address", "store_data", "input", "output"})

#: Graphs with more nodes than this are refused: distances between all pairs are kept.
MAX_NODES = 6000

# The cycles that a value may stay in memory: more than any horizon has.
_LONG = 1 << 14


@dataclass(frozen=True, slots=True, kw_only=True)
class Registers:
    """What a search may do with register files: use ``limit`` registers of each, rotate ``rotating`` of them.

    A rotating register passes its value on to the next one of its file at the end of each iteration, so that a value
    can live for longer than an II; one that stays in place holds a value for an II at most, but may keep a live-in.
    """

    limit: int
    rotating: int


@dataclass(frozen=True, eq=False)
class Structure:
    """Which registers a tile reads and writes, from the arcs of the array."""

    arch: Arch
    #: For each tile the tiles whose output register it reads, with the link in between; -1: it reads it directly.
    reads: list[dict[int, int]]
    #: For each tile the index of its file in ``arch.register_files``; -1: it has none.
    file_of: list[int]
    #: The same where its operands read the registers themselves; -1: they read none, or read ports.
    read_file: list[int]
    #: Whether the output register of each tile can hold its value for longer than a cycle.
    holds: list[bool]
    #: Cycles from a move, or from a load, on each tile to its output register; 0: the tile has none.
    move_latency: list[int]
    load_latency: list[int]
    #: The resource of the data memory; -1: there is none.
    memory: int = field(default=-1)
    #: The wires that routes compete for, on arrays with crossbars.
    wires: Wires | None = None


def structure(arch: Arch) -> Structure:
    """Read an array's arcs; OptionError for an array that is not made of registers between tiles."""
    if not (arch.has("registers") or arch.has("crossbars")):
        raise OptionError(f"array {arch.name!r} has no output registers and register files between its tiles")
    arcs: dict[int, dict[int, int]] = {}
    for a, b, latency in zip(arch.arc_source.tolist(), arch.arc_target.tolist(), arch.arc_latency.tolist()):
        arcs.setdefault(a, {})[b] = latency
    return _Reader(arch, arcs).structure()


class _Reader:
    """Reads the structure of an array off its arcs, as ``{source: {target: latency}}``.

    A tile counts as reading a register only if all its operand inputs can, which holds for the families of such arrays.
    """

    def __init__(self, arch: Arch, arcs: dict[int, dict[int, int]]) -> None:
        self.arch = arch
        self.arcs = arcs
        self.kind: list[int] = arch.kind.tolist()
        self.tile: list[int] = arch.tile.tolist()
        #: The first resource of each tile that loads.
        self.load: dict[int, int] = {}
        for r in np.flatnonzero(arch.kind == Kind.LOAD).tolist():
            self.load.setdefault(self.tile[r], r)
        #: The outputs that each operand input may read: (tile, the link in between, -1: none), by tile.
        self.seen_by: dict[int, list[tuple[int, int]]] = {}
        for u, out in enumerate(arch.out.tolist()):
            following = self.arcs.get(out, {})
            for r in following:
                self.seen_by.setdefault(r, []).append((u, -1))
            for link in following:
                if self.kind[link] == Kind.LINK:
                    for r in self.arcs.get(link, {}):
                        self.seen_by.setdefault(r, []).append((u, link))
        self.write_ports = write_ports(arch, arcs)
        #: The register files that lead to each resource, straight or by read ports.
        self.files_into: dict[int, set[int]] = {}
        for k, file in enumerate(arch.register_files):
            for target in {target for r in file.registers for target in arcs.get(r, {})}:
                for after in (target, *(arcs.get(target, {}) if self.kind[target] == Kind.SWITCH else ())):
                    self.files_into.setdefault(after, set()).add(k)

    def structure(self) -> Structure:
        """The structure; OptionError where a tile has no output register."""
        arch, tiles = self.arch, range(len(self.arch.tiles))
        memory = [r for r, kind in enumerate(self.kind) if kind == Kind.MEM]
        wires = read_wires(arch, self.arcs) if arch.has("crossbars") else None
        files = [self._file(t) for t in tiles]
        return Structure(
            arch=arch,
            reads=[self._reads(t) if wires is None else self._own(t) for t in tiles],
            file_of=files,
            read_file=[file if self._reads_file(t, file) else -1 for t, file in enumerate(files)],
            holds=[int(arch.out[t]) in self.arcs.get(int(arch.out[t]), {}) for t in tiles],
            move_latency=[self._move(t) for t in tiles],
            load_latency=[self._load(t) for t in tiles],
            memory=memory[0] if memory else -1,
            wires=wires,
        )

    def _operands(self, tile: int) -> set[int]:
        """The operand inputs of a tile."""
        row: list[int] = self.arch.operand_inputs[tile].tolist()
        return {r for r in row if r >= 0}

    def _reads(self, tile: int) -> dict[int, int]:
        """The tiles whose output register a tile reads, with the link in between; -1: it reads it directly."""
        wanted = self._operands(tile)
        if not wanted:
            return dict.fromkeys(range(len(self.arch.tiles)), -1)
        ways = [self.seen_by.get(r, []) for r in sorted(wanted)]
        common = set(ways[0]).intersection(*ways[1:])
        found: dict[int, int] = {}
        for u, link in ways[0]:
            if (u, link) in common:
                found.setdefault(u, link)
        return found

    def _own(self, tile: int) -> dict[int, int]:
        """The same where every link is routed over: the tile's own output register, if its operands read it."""
        out = int(self.arch.out[tile])
        return {tile: -1} if self._operands(tile) <= self.arcs.get(out, {}).keys() else {}

    def _file(self, tile: int) -> int:
        """The first register file that a tile writes and whose registers all lead to each of its operands; -1: none.

        Both may go by ports: results to all write ports, and operands to all read ports of the file.
        """
        wanted, written = self._operands(tile), self.arcs.get(int(self.arch.fu[tile]), {}).keys()
        near = list(range(len(self.arch.register_files)))
        if wanted and all(file.registers for file in self.arch.register_files):
            near = sorted(self.files_into.get(min(wanted), ()))
        for k in near:
            file = self.arch.register_files[k]
            entered = self.write_ports.get(k) or set(file.registers)
            if written >= entered and (self._reads_file(tile, k) or self._reads_ports(wanted, k)):
                return k
        return -1

    def _reads_file(self, tile: int, k: int) -> bool:
        """Whether all operands of a tile read all registers of a file; False for file -1."""
        if k < 0:
            return False
        wanted = self._operands(tile)
        return all(wanted <= self.arcs.get(r, {}).keys() for r in self.arch.register_files[k].registers)

    def _reads_ports(self, wanted: set[int], k: int) -> bool:
        """Whether all registers of a file lead to a switch that leads to all these operands."""
        rows = [self.arcs.get(r, {}).keys() for r in self.arch.register_files[k].registers]
        common = set(rows[0]).intersection(*rows[1:]) if rows else set()
        return any(self.kind[r] == Kind.SWITCH and wanted <= self.arcs.get(r, {}).keys() for r in common)

    def _move(self, tile: int) -> int:
        """Cycles from a move on a tile to its output register; 0: no operand leads through the function unit."""
        latency = self._latency(int(self.arch.fu[tile]), int(self.arch.out[tile]))
        passes = int(self.arch.fu[tile]) in self.arcs.get(int(self.arch.operand_inputs[tile, 0]), {})
        return latency if passes else 0

    def _latency(self, source: int, target: int) -> int:
        """The latency of an arc into an output register; OptionError where it takes no cycle, as without a register."""
        latency = self.arcs.get(source, {}).get(target, 0)
        if latency < 1:
            name = self.arch.resource_names[target]
            raise OptionError(f"output registers are needed; array {self.arch.name!r} has none at {name}")
        return latency

    def _load(self, tile: int) -> int:
        """Cycles from a load on a tile to its output register; 0: the tile has no memory, or is kept too long by it."""
        if self.arch.tiles[tile].occupancy_of("mem") > 1:
            return 0
        return self._latency(self.load[tile], int(self.arch.out[tile])) if tile in self.load else 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Copy:
    """A node that is computed once more, for some of the edges that leave it."""

    #: The node's position in the graph.
    node: int
    #: The edges that the copy feeds, as indices into ``dfg.edges``.
    readers: frozenset[int]


class ModuloProblem:
    """A graph on an array; :meth:`loop` and :meth:`fabric` give the arrays for an II.

    With ``copies`` some nodes are there more than once: each reads what the node reads, and feeds the edges it names.
    ``pinned`` and ``first`` are tiles by graph position: where nodes have to sit, and where a search places them first.
    ``banks`` says where arrays lie; left out, the problem chooses.
    OptionError for an array without registers between tiles, and for graphs of more than ``MAX_NODES`` nodes.

    It does not change once it is made, and is shared by the threads of a search.
    """

    def __init__(
        self,
        dfg: Dfg,
        arch: Arch,
        copies: Sequence[Copy] = (),
        *,
        pinned: Mapping[int, int] | None = None,
        first: Mapping[int, int] | None = None,
        banks: BankChoice | None = None,
    ) -> None:
        self.dfg = dfg
        self.arch = arch
        #: In which bank each array lies; empty on arrays without banks.
        self.banks = choose_banks(dfg, arch, {}) if banks is None else banks
        self.pinned = dict(pinned or {})
        self.first = dict(first or {})
        self.structure = structure(arch)
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
        for copy in copies:
            self._add(copy)

    def _ends(self, edge: int) -> tuple[int, int]:
        """The numbers of an edge's source and target."""
        record = self.dfg.edges[edge]
        return self.number[self.dfg.index[record.source]], self.number[self.dfg.index[record.target]]

    def _add(self, copy: Copy) -> None:
        """Add a copy of a node; live-ins, which are numbered after nodes, move up by one.

        Edges that the copy serves get it as their source. All edges into the node, and all ties at it, are repeated for
        the copy, so an edge of the graph can occur several times in ``edges``. A value that the node carries to itself
        becomes one that the copy carries to itself.
        """
        first, count = self.number[copy.node], len(self.nodes)
        self.copy_of.append(1 + max(n for n, k in zip(self.copy_of, self.nodes, strict=True) if k == copy.node))
        self.nodes.append(copy.node)
        self.number = {k: n + (n >= count) for k, n in self.number.items()}
        self.ends = [(a + (a >= count), b) for a, b in self.ends]
        self.tie_ends = [(a + (a >= count), b + (b >= count)) for a, b in self.tie_ends]
        read = [(e, a) for e, (a, b) in zip(self.edges, self.ends, strict=True) if b == first]
        self.ends = [
            (count if e in copy.readers and a == first and b != first else a, b)
            for e, (a, b) in zip(self.edges, self.ends, strict=True)
        ]
        for e, source in read:
            self.edges.append(e)
            self.ends.append((count if source == first else source, count))
        for tie, (a, b) in list(zip(self.ties, self.tie_ends, strict=True)):
            if first in (a, b):
                self.ties.append(tie)
                self.tie_ends.append((count if a == first else a, count if b == first else b))

    # -- op classes ---------------------------------------------------------------------------------------------------

    @cached_property
    def classes(self) -> list[frozenset[str]]:
        """The sets of op classes that nodes need, and those of moves and of memory accesses."""
        needed = {self.dfg.required_classes(self.dfg.nodes[k].id) for k in self.nodes}
        needed |= {frozenset({"route"}), frozenset({"mem"})}
        return sorted(needed, key=sorted)

    def class_of(self, position: int) -> int:
        """The row of ``classes`` of a graph node."""
        return self.classes.index(self.dfg.required_classes(self.dfg.nodes[position].id))

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

    def loop(self, ii: int) -> Loop:
        """The graph's arrays for an II. Cubic in the nodes for the distances, so callers keep it.

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
        rows = [self.class_of(k) for k in self.nodes]
        able, latency, pool = (table[rows] for table in self.tables)
        taken = self.taken[rows]
        # An op that keeps its unit for longer than an II would meet itself.
        able = able * (taken <= ii)
        self._keep_to_ops(able)
        self._keep_to_banks(able, pool)
        keep_to_stores(dfg, self.arch, self.nodes, self.pinned, able)
        return Loop(
            nodes=count,
            allowed=self._allowed(able), latency=latency, pool=pool, taken=taken, together=self.together(),
            has_result=_ints([dfg.ops[k].result and dfg.ops[k].op_class != "output" for k in self.nodes]),
            source=_ints([a for a, _ in ends]),
            target=_ints([b for _, b in ends]),
            distance=_ints([dfg.edges[e].distance for e in self.edges]),
            out_at=out_at, out=out, in_at=in_at, into=into, touch_at=touch_at, touch=touch,
            tie_source=_ints([a for _, a, _ in ties]),
            tie_target=_ints([b for _, _, b in ties]),
            tie_delay=_ints([edge.delay for edge, _, _ in ties]),
            tie_distance=_ints([edge.distance for edge, _, _ in ties]),
            tie_exact=_ints([edge.kind == "pair" for edge, _, _ in ties]),
            tie_at=tie_at, tie=tie,
            least=least,
            preferred=self._preferred(least, ii),
        )  # fmt: skip

    def _keep_to_ops(self, able: Int64s) -> None:
        """Take tiles away, in place, that lack the op of a node though they have its class."""
        for t, tile in enumerate(self.arch.tiles):
            if tile.lacks:
                for n, k in enumerate(self.nodes):
                    node = self.dfg.nodes[k]
                    able[n, t] *= tile.runs(node.op, self.dfg.required_classes(node.id))

    def _keep_to_banks(self, able: Int64s, pool: Int64s) -> None:
        """Let accesses sit only on tiles that reach the bank of their array, and take one of its ports.

        Both tables have a row for each node and are changed in place. The ports of bank b are pool ``pools + b``.
        """
        if not self.arch.banks or self.banks.failure is not None:
            return
        for n, k in enumerate(self.nodes):
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

    def horizon(self, loop: Loop, ii: int) -> int:
        """Flat cycles that a search looks at: the preferred schedule, half as much again, and room on both sides."""
        length = int(loop.preferred.max(initial=0)) - self.offset(ii) + 2
        longest = max((self.dfg.edges[e].distance for e in self.edges), default=0)
        return self.offset(ii) + length + length // 2 + 3 * ii + ii * longest + 8

    def fabric(self, loop: Loop, ii: int, registers: Registers, move_price: float = 1.0) -> Fabric:
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
        return Fabric(
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

    def rotating(self, file: int, registers: Registers) -> int:
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

    def _allowed(self, able: Int64s) -> Int64s:
        """[node, tile] -> 1 where a node may sit: a pinned one on its tile only."""
        allowed = able.copy()
        for n, k in enumerate(self.nodes):
            if k in self.pinned:
                allowed[n] = 0
                allowed[n, self.pinned[k]] = able[n, self.pinned[k]]
        return allowed

    def together(self) -> Int64s:
        """[tile, tile] -> 1 when the ends of a pair edge may sit there."""
        tiles = len(self.arch.tiles)
        if not self.arch.pools:
            return np.ones((tiles, tiles), dtype=np.int64)
        table = np.eye(tiles, dtype=np.int64)
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
