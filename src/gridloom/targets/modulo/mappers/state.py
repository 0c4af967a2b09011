"""The arrays that the kernels of the ``modulo`` mapper share, in tuples by subject, and how empty ones are made.

Each kernel takes only the tuples that it uses: every array of an argument costs compilation time in each function that
it passes through.

``ModuloFabric`` and ``ModuloLoop`` are read-only and made by ``ModuloProblem``; all starts at an II share a
``ModuloLoop``. ``ModuloState`` is
what a start ends with, ``PlacerScratch`` what it needs on the way. Numbers of elements, storages and groups are
explained in :mod:`gridloom.targets.modulo.mappers.route_kernel`.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from gridloom.search.arrays import Float64s, Int16s, Int32s, Int64s, Uint8s, Uint64s

#: Hops around a tile that sweeps visit on a large array.
BOX_REACH = 3


class ModuloFabric(NamedTuple):
    """An array at an II: which storages tiles read, how registers hold, what is shared.

    It depends on the use of the register files as well, so each start makes its own.
    """

    ii: int
    tiles: int
    registers: int
    files: int
    #: Number of elements: three issue elements for each tile, then output registers, registers, wires and the memory.
    elements: int
    #: Flat cycles that are considered: 0 to horizon - 1.
    horizon: int
    #: CSR: the tiles whose output register a tile reads. The registers of file k are file_at[k] to file_at[k + 1] - 1.
    read_at: Int64s
    read: Int64s
    file_at: Int64s
    #: The file that each tile writes, and the one whose registers its operands read without ports; -1: it has none.
    file_of: Int64s
    read_file: Int64s
    #: For each register the one that its value moves to when an iteration ends; itself where it does not rotate.
    turn: Int64s
    #: For each storage the cycles that it holds one value at most; for each register 1 when it may keep a live-in.
    span: Int64s
    keeps: Int64s
    #: Cycles from a move on each tile to its output register; 0: nothing passes through its function unit.
    move_latency: Int64s
    #: The same from a load; 0: the tile has no memory.
    load_latency: Int64s
    #: True when some tile has memory.
    has_memory: bool
    #: For each tile the pool of its moves and of its memory accesses; -1: there is none.
    move_pool: Int64s
    memory_pool: Int64s
    #: Price of an issue slot for a move, a load or a store: the fewer slots are left, the dearer.
    move_price: float
    #: Number of wire states, 0 on arrays without crossbars, and the most of them that a value crosses in a cycle.
    wires: int
    wire_depth: int
    #: CSR: the storages that lead to a wire state. For each state its group, its price, and the file that it writes.
    wire_at: Int64s
    wire_from: Int64s
    wire_group: Int64s
    wire_price: Float64s
    wire_file: Int64s
    #: CSR: the wire states of each file's write ports; none where everything writes it at once.
    port_at: Int64s
    port: Int64s


class SlotUsage(NamedTuple):
    """The signals on every resource in every slot, and what overuse has added to prices so far.

    Groups are t issue slots, t output registers, the registers and the wires, for t tiles; each has room for one
    signal.
    """

    #: used[group, slot] counts signals, history[group, slot] is what overuse has added to the price.
    used: Int64s
    history: Float64s
    #: The same for ops that share a pool; pool_room[pool] is how many ops it starts in a cycle.
    pool_used: Int64s
    pool_history: Float64s
    pool_room: Int64s


class ModuloRoutes(NamedTuple):
    """The route of each edge, from the root of its net: routes of one net repeat the part that they share."""

    #: codes[edge, : length[edge]] is the route, root[edge] where it begins (``AT_PRODUCER`` and so on). Length 0: none.
    codes: Int64s
    length: Int64s
    root: Int64s


class Tree(NamedTuple):
    """What the net that is open occupies; empty between two nets.

    ``own`` is all zeros between nets; ``back`` and ``age`` are valid only where ``own`` is not 0.
    """

    #: The numbers of tiles and of elements of the array.
    tiles: int
    elements: int
    #: [cycle, element]: uses by the open net, and the code before on its route. [cycle, storage]: cycles held so far.
    own: Int16s
    back: Int64s
    age: Int16s
    #: The codes that are in use, ``used_codes[0]`` of them; ``used_codes[1]`` is not 0 when ``kept`` is in use.
    touched: Int64s
    used_codes: Int64s
    #: For each register the routes of the open net that begin there.
    kept: Int64s


class TileBox(NamedTuple):
    """The tiles that sweeps visit, see :mod:`gridloom.targets.modulo.mappers.reach.box_kernel`."""

    #: hops[a, b] between tiles; without rows, the box is the whole array and stays so.
    hops: Int16s
    #: CSR: the tiles within reach of each tile.
    ball_at: Int64s
    ball: Int64s
    #: Lists, with their lengths in ``size``: tiles and files of the box; those whose prices are cleared for a sweep.
    tiles: Int64s
    files: Int64s
    cleared_tiles: Int64s
    cleared_files: Int64s
    size: Int64s
    #: The last box that each tile and each file was in.
    seen: Int64s
    file_seen: Int64s
    #: The last way that each tile was on, and the tiles of a way that are to be looked at.
    on_way: Int64s
    queue: Int64s


class Labels(NamedTuple):
    """Least prices that a sweep over cycles finds, and how each state is reached.

    Only the cycles of the last sweep are valid. The backward sweep uses the same arrays and overwrites them.
    """

    #: [cycle, storage]: least price, the code it came from, cycles held.
    best: Float64s
    came: Int64s
    run: Int16s
    #: issued[cycle, issue element] is the storage that it reads.
    issued: Int64s
    #: [cycle, file]: least price of what a tile writes to the file, and its code; least price in the file, and where.
    write: Float64s
    writer: Int64s
    least: Float64s
    least_at: Int64s
    #: [cycle, tile]: least price from the tile's result to the goal.
    enter: Float64s
    #: The codes of the route that is traced.
    path: Int64s
    #: What sweeps visit.
    box: TileBox


class ModuloLoop(NamedTuple):
    """A graph on an array: nodes that take a slot, then live-ins; routed edges; ties between issue cycles."""

    nodes: int
    #: The kind of each node: nodes that may sit on the same tiles, and take there the same, share one.
    kind: Int64s
    #: [kind, tile]: 1 where the node may sit; its latency there; its pool there (-1: none).
    allowed: Int64s
    latency: Int64s
    pool: Int64s
    #: [kind, tile]: the cycles for which the node keeps the issue slot there.
    taken: Int64s
    #: together[tile, tile] is 1 when the ends of a pair edge may sit there.
    together: Uint8s
    has_result: Int64s
    #: Routed edges. A source of ``nodes`` or more is a live-in.
    source: Int64s
    target: Int64s
    distance: Int64s
    #: 1 for an edge that ends in a flag, which reads output registers only.
    flag: Int64s
    #: CSR: the edges that read a net; the edges that a node reads; both for a node, each edge once.
    out_at: Int64s
    out: Int64s
    in_at: Int64s
    into: Int64s
    touch_at: Int64s
    touch: Int64s
    #: Order and pair edges: the target issues (exactly) ``delay`` after the source. CSR: the ties that name a node.
    tie_source: Int64s
    tie_target: Int64s
    tie_delay: Int64s
    tie_distance: Int64s
    tie_exact: Int64s
    tie_at: Int64s
    tie: Int64s
    #: CSR: the nodes that depend on each node or that it depends on, over any number of edges. ``after`` is the least
    #: number of cycles from the issue of the node to theirs at this II, ``before`` that from theirs to its own; NONE:
    #: there is no such bound.
    related_at: Int64s
    related: Int32s
    after: Int32s
    before: Int32s
    #: For each node the longest chain of dependences that follows it, in cycles.
    height: Int64s
    #: The cycle at which a schedule without routes issues each node: where nodes without placed neighbours go.
    preferred: Int64s


class ModuloState(NamedTuple):
    """A mapping in the making: tile (-1: not placed) and issue cycle of each node, its routes, and their usage.

    The negotiation lets several signals share what has room for one; the state is legal when nothing is overused.
    """

    tile: Int64s
    cycle: Int64s
    usage: SlotUsage
    routes: ModuloRoutes


class Parameters(NamedTuple):
    """How a start searches. The mapper gives moves for each node; a start has its own, varied at random.

    ``ModuloConfig`` explains the fields of the same names.
    """

    #: Moves and rounds without progress after which a start gives up.
    moves: int
    patience: int
    present: float
    growth: float
    ceiling: float
    history: float
    noise: float
    extra: int
    #: Weight of the distance to ``preferred`` for nodes without placed neighbours.
    pull: float
    #: The probability that what touches overuse is taken out in a round.
    removal: float
    #: The same for nodes in an overused slot; the part of the routes through overuse that are only routed again.
    leaving: float = 0.65
    rerouting: float = 0.35
    #: Annealing moves per node of a start that anneals a placement first.
    annealing: int = 1000
    #: What a node pays for each clock by which it makes its slot longer.
    clock_price: float = 0.0


class Marks(NamedTuple):
    """Where there is overuse, and what is to be taken out because of it."""

    #: [group, slot] and [pool, slot]: 1 where there are more signals than there is room for.
    overused: Int64s
    pool_overused: Int64s
    #: leaving[node] is 1 when the node is to be taken out, rerouted[edge] when its route is; ``marked[0]`` is not 0
    #: when there are some.
    leaving: Int64s
    rerouted: Int64s
    marked: Int64s


class SlotClocks(NamedTuple):
    """On arrays whose slots last as long as their slowest op: what decides how long; without lanes, nothing does.

    A slot lasts ``longest`` clocks of the ops in it, and one more than there are ops in the busiest of its lanes.
    """

    #: [kind]: clocks that an op takes alone. [kind, tile]: the lane that it uses there; -1: none.
    alone: Int64s
    lane: Int64s
    #: Filled by the kernel: [slot] clocks of the slowest op and of the slot; [lane, slot] ops in the lane.
    longest: Int64s
    clocks: Int64s
    waiting: Int64s


class PlacerScratch(NamedTuple):
    """Memory of the placer: nothing in it is part of the result."""

    tree: Tree
    labels: Labels
    marks: Marks
    #: cost[tile, cycle] is the price of a candidate.
    cost: Float64s
    #: How often each edge had no route, plus 1: the price of leaving an edge without a route grows with it.
    failures: Float64s
    #: The tile where each node is placed the first time; -1: any.
    first_tile: Int64s
    #: The cycle in which each node is placed the first time, on its first tile; -1: any.
    first_cycle: Int64s
    #: The number of every edge.
    every_edge: Int64s
    #: The order of the first placement, least first.
    rank: Float64s
    #: The state of the random numbers.
    random_state: Uint64s
    #: How long slots last.
    clocks: SlotClocks


class PlacerRun(NamedTuple):
    """All that the kernels of a start share, and the price of sharing in the round at hand."""

    fabric: ModuloFabric
    loop: ModuloLoop
    state: ModuloState
    work: PlacerScratch
    #: What each signal in a slot adds to its price, as a multiple of the price of the empty slot.
    present: float


class Reach(NamedTuple):
    """How far the tiles of a large array are apart, and which are near: what boxes are made of."""

    #: hops[a, b] between tiles.
    hops: Int16s
    #: CSR: the tiles within ``BOX_REACH`` hops of each tile.
    ball_at: Int64s
    ball: Int64s


class Race(NamedTuple):
    """What ends a start early: the user's stop, or the lowest number of a start that has won."""

    stop: Uint8s
    won: Int64s
    #: This start's own number.
    number: int


def empty_state(fabric: ModuloFabric, loop: ModuloLoop, pool_room: Int64s) -> ModuloState:
    """A state with nothing placed and nothing routed.

    A route may have two codes for each cycle of the horizon, and one for each wire that it crosses there.
    """
    groups = max(2 * fabric.tiles + fabric.registers, int(fabric.wire_group.max(initial=0)) + 1)
    edges, pools = len(loop.source), len(pool_room)
    usage = SlotUsage(
        used=np.zeros((groups, fabric.ii), dtype=np.int64),
        history=np.zeros((groups, fabric.ii)),
        pool_used=np.zeros((pools, fabric.ii), dtype=np.int64),
        pool_history=np.zeros((pools, fabric.ii)),
        pool_room=pool_room,
    )
    routes = ModuloRoutes(
        codes=np.zeros((edges, (2 + fabric.wire_depth) * fabric.horizon + 4), dtype=np.int64),
        length=np.zeros(edges, dtype=np.int64),
        root=np.zeros(edges, dtype=np.int64),
    )
    tile, cycle = np.full(loop.nodes, -1, dtype=np.int64), np.zeros(loop.nodes, dtype=np.int64)
    return ModuloState(tile=tile, cycle=cycle, usage=usage, routes=routes)


def workspace(
    fabric: ModuloFabric,
    state: ModuloState,
    rank: Float64s,
    first_tile: Int64s,
    seed: int,
    first_cycle: Int64s | None = None,
    reach: Reach | None = None,
    lanes: tuple[Int64s, Int64s] | None = None,
) -> PlacerScratch:
    """The memory of a start, with its own stream of random numbers."""
    # Results of the last cycles are written after the horizon.
    cycles = fabric.horizon + int(fabric.move_latency.max()) + int(fabric.load_latency.max()) + 1
    nodes, edges = len(state.tile), len(state.routes.length)
    return PlacerScratch(
        tree=_tree(fabric, cycles),
        labels=_labels(fabric, cycles, reach),
        marks=Marks(
            overused=np.zeros_like(state.usage.used),
            pool_overused=np.zeros_like(state.usage.pool_used),
            leaving=np.zeros(nodes, dtype=np.int64),
            rerouted=np.zeros(edges, dtype=np.int64),
            marked=np.zeros(1, dtype=np.int64),
        ),
        cost=np.zeros((fabric.tiles, fabric.horizon)),
        failures=np.ones(edges),
        first_tile=first_tile,
        first_cycle=np.full(nodes, -1, dtype=np.int64) if first_cycle is None else first_cycle,
        every_edge=np.arange(edges),
        rank=rank,
        random_state=np.array([seed], dtype=np.uint64),
        clocks=_slot_clocks(fabric.ii, lanes),
    )


def _slot_clocks(ii: int, lanes: tuple[Int64s, Int64s] | None) -> SlotClocks:
    """How long slots last, before anything is placed; ``lanes`` are the first two fields."""
    alone, lane = lanes or (np.zeros(0, dtype=np.int64), np.zeros((0, 0), dtype=np.int64))
    zeros, waiting = np.zeros(ii, dtype=np.int64), np.zeros((int(lane.max(initial=-1)) + 1, ii), dtype=np.int64)
    return SlotClocks(alone=alone, lane=lane, longest=zeros, clocks=zeros.copy(), waiting=waiting)


def _tree(fabric: ModuloFabric, cycles: int) -> Tree:
    """The tree of no net."""
    storages = fabric.elements - 3 * fabric.tiles
    return Tree(
        tiles=fabric.tiles,
        elements=fabric.elements,
        own=np.zeros((cycles, fabric.elements), dtype=np.int16),
        back=np.full((cycles, fabric.elements), -1, dtype=np.int64),
        age=np.zeros((cycles, storages), dtype=np.int16),
        touched=np.zeros(2 * cycles * fabric.elements, dtype=np.int64),
        used_codes=np.zeros(2, dtype=np.int64),
        kept=np.zeros(fabric.registers, dtype=np.int64),
    )


def _box(fabric: ModuloFabric, reach: Reach | None) -> TileBox:
    """The box of all tiles, which stays so unless there are hops."""
    tiles, files, none = fabric.tiles, fabric.files, np.zeros(0, dtype=np.int64)
    return TileBox(
        hops=np.zeros((0, 0), dtype=np.int16) if reach is None else reach.hops,
        ball_at=none if reach is None else reach.ball_at,
        ball=none if reach is None else reach.ball,
        tiles=np.arange(tiles), files=np.arange(files), cleared_tiles=np.arange(tiles), cleared_files=np.arange(files),
        size=np.array([tiles, files, tiles, files, 0, 0], dtype=np.int64),
        seen=np.zeros(tiles, dtype=np.int64), file_seen=np.zeros(files, dtype=np.int64),
        on_way=np.zeros(tiles, dtype=np.int64), queue=np.zeros(tiles, dtype=np.int64),
    )  # fmt: skip


def _labels(fabric: ModuloFabric, cycles: int, reach: Reach | None) -> Labels:
    """Labels of the right size; a sweep fills them before it reads them."""
    storages, files = fabric.elements - 3 * fabric.tiles, max(1, fabric.files)
    return Labels(
        best=np.zeros((cycles, storages)),
        came=np.zeros((cycles, storages), dtype=np.int64),
        run=np.zeros((cycles, storages), dtype=np.int16),
        issued=np.zeros((cycles, 3 * fabric.tiles), dtype=np.int64),
        write=np.zeros((cycles, files)),
        writer=np.zeros((cycles, files), dtype=np.int64),
        least=np.zeros((cycles, files)),
        least_at=np.zeros((cycles, files), dtype=np.int64),
        enter=np.zeros((cycles, fabric.tiles)),
        path=np.zeros((2 + fabric.wire_depth) * cycles + 8, dtype=np.int64),
        box=_box(fabric, reach),
    )
