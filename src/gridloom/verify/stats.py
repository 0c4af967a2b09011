"""``stats``: the metrics of a mapping, recomputed from it.

What they count is written at the fields of :class:`Stats`. Names that the graph or the array does not have are passed
over, so that the metrics of an illegal mapping can be looked at, too.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Final

import rustworkx

from gridloom.archs.model import ISSUE_KINDS, Kind
from gridloom.mapping.mii import mii
from gridloom.mapping.model import Mapping
from gridloom.verify.reading import TIMELESS, Reading, cycles_of

#: Tiles that compute; ports, constant registers, switches and memory interfaces do not count towards occupancy.
_OTHER_KINDS: Final = frozenset({"load", "store", "const", "switch", "dram"})

#: Kinds of resources that a route can take an issue slot with.
_ISSUE: Final = frozenset(map(int, ISSUE_KINDS))

#: Links count themselves; no wire leads through storage. Steps into and out of both are not counted again.
_LINK: Final = int(Kind.LINK)
_NO_WIRE: Final = frozenset(map(int, (Kind.LINK, Kind.REG, Kind.MEM, Kind.CONST, Kind.LOAD, Kind.STORE)))


@dataclass(frozen=True, slots=True, kw_only=True)
class Slots:
    """Issue slots of the computing tiles of a modulo array: each tile has as many as the II."""

    #: All of them.
    total: int
    #: Those that an op takes, and those that only pass a value on: a move, or the store or load of a spill.
    ops: int
    moves: int

    @property
    def used(self) -> int:
        """The slots that are taken."""
        return self.ops + self.moves

    def to_dict(self) -> dict[str, int]:
        """The field ``slots`` of the JSON object."""
        return {"used": self.used, "total": self.total, "ops": self.ops, "moves": self.moves}


@dataclass(frozen=True, slots=True, kw_only=True)
class Simd:
    """What the SIMD units of an array make of a mapping."""

    #: Bits of the data path, and the words in it, each of a lane.
    bits: int
    lanes: int
    #: Iterations of the graph that all lanes together start per cycle: lanes over II.
    elements_per_cycle: float
    #: Bytes of the memories of one tile: its words, each of ``bits`` bits.
    tile_memory_bytes: int

    def to_dict(self) -> dict[str, float]:
        """The field ``simd`` of the JSON object."""
        return {name: getattr(self, name) for name in self.__slots__}


@dataclass(frozen=True, slots=True, kw_only=True)
class Stats:
    """The metrics of one mapping. A figure that the array's style does not have is None."""

    #: The II, and its lower bound: the larger of what tiles and pools, and what recurrences demand. Elastic: None.
    ii: int | None
    mii: int | None
    res_mii: int | None
    rec_mii: int | None
    #: Cycles from cycle 0 to the last result: the largest issue + op latency. Elastic: None.
    latency: int | None
    #: Sum over routes of max(0, hops - 1). A hop is a link, or on arrays without them a step from tile to tile.
    wirelength: int
    #: The largest of these.
    longest_wire: int
    #: Grids with II 1: the same with the least links between the tiles instead of those taken, as placers count it.
    placed_wirelength: int | None
    #: FIFO cycles (or waits in delay registers) of operands: the largest, and their sum.
    buffers_max: int
    buffers_total: int
    #: Columns and rows of the smallest box around all tiles that run or pass something on, within the grid.
    width: int
    height: int
    #: Computing tiles with at least one op.
    tiles_used: int
    #: Tiles and switches that only pass signals on (or keep them in a register).
    routing_tiles: int
    #: ``tiles_used`` over all computing tiles.
    occupancy: float
    #: Modulo arrays: how many issue slots of the computing tiles are taken, and by what. Other styles: None.
    slots: Slots | None = None
    #: Arrays with a SIMD width: lanes, their rate and the bytes of tile memory. Other arrays: None.
    simd: Simd | None = None
    #: Elastic: cycles between results, which only the simulator can tell.
    period: float | None = None

    def to_dict(self) -> dict[str, Any]:
        """Return the metrics as the fields of the JSON object that ``gridloom map`` prints."""
        names = (
            "ii", "mii", "res_mii", "rec_mii", "latency", "period", "wirelength", "longest_wire", "placed_wirelength",
        )  # fmt: skip
        rest = ("width", "height", "tiles_used", "routing_tiles", "occupancy")
        return {
            **{name: getattr(self, name) for name in names},
            "buffers": {"max": self.buffers_max, "total": self.buffers_total},
            **{name: getattr(self, name) for name in rest},
            "slots": None if self.slots is None else self.slots.to_dict(),
            **({} if self.simd is None else {"simd": self.simd.to_dict()}),
        }


def stats(mapping: Mapping) -> Stats:
    """Return the metrics of a mapping. Linear in its hops, besides the MII of its graph.

    The mapping need not be legal; see the head of the module.
    """
    arch = mapping.arch
    timed = arch.style in ("static", "modulo")
    reading = Reading(mapping.dfg, arch)
    bound = mii(mapping.dfg, arch) if timed else None
    wires = [max(0, hops - 1) for hops in _hop_counts(mapping, reading)]
    fifos = [route.fifo for route in mapping.routes]
    running, passed = _tiles(mapping, reading)
    touched = running | passed
    computing = [k for k, tile in enumerate(arch.tiles) if tile.kind not in _OTHER_KINDS]
    used = len(running.intersection(computing))
    return Stats(
        ii=mapping.ii if timed else None,
        mii=bound.total if bound else None,
        res_mii=bound.res if bound else None,
        rec_mii=bound.rec if bound else None,
        latency=_latency(mapping, reading) if timed else None,
        wirelength=sum(wires),
        longest_wire=max(wires, default=0),
        placed_wirelength=_distances(mapping, reading) if arch.style == "static" and _LINK in arch.kind else None,
        buffers_max=max(fifos, default=0),
        buffers_total=sum(fifos),
        # Ports and constant registers stand outside the grid and do not widen the box.
        width=_extent([arch.tiles[k].col for k in touched if 0 <= arch.tiles[k].col < arch.cols]),
        height=_extent([arch.tiles[k].row for k in touched if 0 <= arch.tiles[k].row < arch.rows]),
        tiles_used=used,
        routing_tiles=sum(1 for k in passed - running if arch.tiles[k].kind in ("pe", "cu", "mu", "switch")),
        occupancy=used / len(computing) if computing else 0.0,
        slots=_slots(mapping, reading, computing) if arch.style == "modulo" else None,
        simd=_simd(mapping),
    )


def _simd(mapping: Mapping) -> Simd | None:
    """Return the SIMD lanes of a mapping's array; None where the array has no SIMD width."""
    arch = mapping.arch
    if arch.simd is None:
        return None
    lanes = max(1, arch.simd // arch.word)
    words = max((tile.buffer for tile in arch.tiles), default=0)
    return Simd(
        bits=arch.simd,
        lanes=lanes,
        elements_per_cycle=lanes / max(mapping.ii, 1),
        tile_memory_bytes=words * arch.simd // 8,
    )


def _slots(mapping: Mapping, reading: Reading, computing: list[int]) -> Slots:
    """The issue slots of the computing tiles, counted once each.

    A slot that an op and a move both claim, as in an illegal mapping, counts as an op's. A timeless node (a live-in on
    a tile) takes its tile in every slot.
    """
    arch, ii = mapping.arch, mapping.ii
    wanted = set(computing)
    ops: set[tuple[int, int]] = set()
    whole: set[int] = set()
    for instance in mapping.instances:
        tile = reading.tile_numbers.get(instance.place, -1)
        if tile not in wanted or instance.node not in reading.nodes:
            continue
        if reading.rows[instance.node].op_class in TIMELESS:
            whole.add(tile)
            continue
        taken = cycles_of(arch.tiles[tile].occupancy, reading.op_class(instance.node))
        ops |= {(tile, (instance.cycle + k) % ii) for k in range(min(taken, ii))}
    moves: set[tuple[int, int]] = set()
    for route in mapping.routes:
        for name, cycle in route.hops:
            resource = reading.resource_numbers.get(name, -1)
            if resource >= 0 and reading.kind(resource) in _ISSUE and reading.resource_tile[resource] in wanted:
                tile = reading.resource_tile[resource]
                taken = cycles_of(arch.tiles[tile].occupancy, "route" if reading.kind(resource) == Kind.FU else "mem")
                moves |= {(tile, (cycle + k) % ii) for k in range(min(taken, ii))}
    # Whole tiles are counted, not listed: a damaged file may have any II.
    single = sum(tile not in whole for tile, _ in ops) + len(whole) * ii
    return Slots(total=len(computing) * ii, ops=single, moves=sum(tile not in whole for tile, _ in moves - ops))


def _extent(positions: list[int]) -> int:
    """Return the number of positions from the first to the last; 0 for none."""
    return max(positions) - min(positions) + 1 if positions else 0


def _latency(mapping: Mapping, reading: Reading) -> int:
    """Return the cycle at which the last result is there."""
    ready = [0]
    for instance in mapping.instances:
        tile, row = reading.tile_numbers.get(instance.place, -1), reading.rows.get(instance.node)
        if tile >= 0 and row is not None and row.op_class not in TIMELESS:
            latency = cycles_of(mapping.arch.tiles[tile].latency, reading.op_class(instance.node))
            ready.append(instance.cycle + latency)
    return max(ready)


def _hop_counts(mapping: Mapping, reading: Reading) -> list[int]:
    """Return the length of each route: its links, and its direct steps from tile to tile that go over no link."""
    index, kind, tile = reading.resource_numbers, reading.kinds, reading.resource_tile
    counts = []
    for route in mapping.routes:
        resources = [index[name] for name, _ in route.hops if name in index]
        links = [kind[r] for r in resources].count(_LINK)
        direct = [(a, b) for a, b in pairwise(resources) if kind[a] not in _NO_WIRE and kind[b] not in _NO_WIRE]
        counts.append(links + sum(1 for a, b in direct if tile[a] != tile[b]))
    return counts


def _distances(mapping: Mapping, reading: Reading) -> int:
    """Return the links beyond the first between the tiles that routes begin and end at, however they go.

    Placers count wirelength this way, before there are routes, so that it can be compared with published placements.
    """
    graph: rustworkx.PyDiGraph[int, None] = rustworkx.PyDiGraph()
    graph.add_nodes_from(range(len(mapping.arch.tiles)))
    graph.add_edges_from_no_data(list(reading.links.values()))
    apart = rustworkx.distance_matrix(graph, null_value=-1.0)
    total = 0
    for route in mapping.routes:
        ends = [tile for name, _ in route.hops if (tile := reading.tile_of(name)) >= 0]
        total += max(0, int(apart[ends[0], ends[-1]]) - 1) if ends else 0
    return total


def _tiles(mapping: Mapping, reading: Reading) -> tuple[set[int], set[int]]:
    """Return the tiles that run an op, and those of all resources that routes and kept live-ins are in."""
    running: set[int] = set()
    passed: set[int] = set()
    for instance in mapping.instances:
        if instance.place in reading.tile_numbers:
            running.add(reading.tile_numbers[instance.place])
        else:
            passed.add(reading.tile_of(instance.place))
    for route in mapping.routes:
        passed |= {reading.tile_of(name) for name, _ in route.hops}
    return running, passed - {-1}
