"""Routes through time on a modulo-scheduled array, compiled: where a value may be in every cycle, and at what price.

A value rests in a *storage* (a tile's output register, a register of a file, the memory) for one cycle at a time. From
there it is held, or a tile reads it and passes it on: a move (to its output register, and to a register of its file),
a store, a load. Every step takes at least a cycle, so the cheapest ways to all (cycle, storage) states are found
cycle by cycle without a queue. What a net already occupies in the same flat cycle costs it nothing: branches share.

An *element* is what a way passes: ``MOVE``, ``LOAD`` and ``STORE`` slots of each tile (which share the tile's issue
slot), then storages. A way is a list of codes ``cycle * elements + element`` from the producer to the last storage.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

Ints = NDArray[np.int64]
Shorts = NDArray[np.int16]
Bools = NDArray[np.bool_]
Floats = NDArray[np.float64]

FAR = 1e18

#: Compiled for other kernels only: without ways in from Python, compiling takes half as long.
internal = njit(cache=True, nogil=True, error_model="numpy", no_cpython_wrapper=True, no_cfunc_wrapper=True)

#: Where a way begins: at its producer, at a live-in kept in a register, at a live-in kept in memory.
AT_PRODUCER = -1
AT_REGISTER = -4
AT_MEMORY = -5

#: Prices of a cycle: an issue slot, an output register (written, held), a register, the memory, a bus.
ISSUE_PRICE = 1.0
OUT_PRICE = 0.6
HOLD_PRICE = 0.35
REGISTER_PRICE = 0.12
MEMORY_PRICE = 0.02
KEEP_PRICE = 0.3


class Fabric(NamedTuple):
    """An array at an II: which storages tiles read, how registers hold, what is shared."""

    ii: int
    tiles: int
    registers: int
    files: int
    #: Flat cycles that are considered: 0 to horizon - 1.
    horizon: int
    #: CSR: tile -> tiles whose output register it reads; file -> its registers (contiguous).
    read_at: Ints
    read: Ints
    file_at: Ints
    #: Tile -> its file, -1: none.
    file_of: Ints
    #: Register -> the register that it becomes when an iteration ends.
    turn: Ints
    #: Storage -> cycles that it holds one value at most; register -> 1 when it may keep a live-in.
    span: Ints
    keeps: Ints
    move_latency: Ints
    #: 0: the tile has no memory.
    load_latency: Ints
    #: [op class, tile] -> 1 where it runs, its latency, its pool (-1: none).
    able: Ints
    latency: Ints
    pool: Ints
    pool_room: Ints
    #: [tile, tile] -> 1 when the ends of a pair edge may sit there.
    together: Ints
    move_class: int
    memory_class: int
    #: Price of an issue slot for a move, a load or a store: the fewer slots are left, the dearer.
    move_price: float


class State(NamedTuple):
    """A mapping in the making: places, ways, and who uses what."""

    tile: Ints
    cycle: Ints
    #: [group, slot] -> signals; groups are issue slots, output registers, registers.
    used: Ints
    history: Floats
    pool_used: Ints
    pool_history: Floats
    #: [edge, step] -> code; number of steps, 0: no way; where it begins.
    way: Ints
    steps: Ints
    root: Ints


class Scratch(NamedTuple):
    """Memory that searches use and leave clean."""

    #: [cycle, element]: uses by the net that is open, the code before, cycles held so far.
    own: Shorts
    back: Ints
    age: Shorts
    touched: Ints
    #: Register -> ways of the open net that begin there.
    kept: Ints
    #: [cycle, storage]: least price, the code it came from, cycles held.
    best: Floats
    came: Ints
    run: Shorts
    #: [cycle, issue element] -> the storage it reads.
    issued: Ints
    #: [cycle, file]: least price of what a tile writes to the file, and its code; least price in the file, and where.
    write: Floats
    writer: Ints
    least: Floats
    least_at: Ints
    #: [cycle, tile]: least price from the tile's result to the goal.
    enter: Floats
    #: counts[0]: codes in ``touched``.
    counts: Ints
    path: Ints


@internal
def price(state: State, group: int, slot: int, base: float, present: float) -> float:
    """What one more signal pays for a group in a slot."""
    fee: float = (base + state.history[group, slot]) * (1.0 + present * state.used[group, slot])
    return fee


@internal
def pool_price(fabric: Fabric, state: State, pool: int, slot: int, present: float) -> float:
    """What one more op pays for a shared capacity."""
    if pool < 0:
        return 0.0
    over = state.pool_used[pool, slot] + 1 - fabric.pool_room[pool]
    fee: float = 0.1 + state.pool_history[pool, slot]
    return fee * (1.0 + present * over) if over > 0 else fee * 0.3


@internal
def issue_price(fabric: Fabric, state: State, tile: int, cycle: int, op_class: int, present: float) -> float:
    """What a move, load or store of a route pays for its slot and bus."""
    slot = cycle % fabric.ii
    fee = price(state, tile, slot, fabric.move_price, present)
    return fee + pool_price(fabric, state, fabric.pool[op_class, tile], slot, present)


# -- the tree of a net ------------------------------------------------------------------------------------------------


@internal
def _touch(fabric: Fabric, scratch: Scratch, code: int, before: int) -> bool:
    """Count a use by the open net; True when it is the first."""
    elements = 4 * fabric.tiles + fabric.registers + 1
    cycle, element = code // elements, code % elements
    scratch.own[cycle, element] += 1
    if scratch.own[cycle, element] > 1:
        return False
    scratch.touched[scratch.counts[0]] = code
    scratch.counts[0] += 1
    scratch.back[cycle, element] = before
    storage = element - 3 * fabric.tiles
    if storage >= 0:
        held = 1
        if before >= 0 and before // elements == cycle - 1 and before % elements >= 3 * fabric.tiles:
            held = scratch.age[cycle - 1, before % elements - 3 * fabric.tiles] + 1
        scratch.age[cycle, storage] = held
    return True


@internal
def _count(fabric: Fabric, state: State, code: int, step: int) -> None:
    """Add ``step`` signals to what a code uses."""
    elements = 4 * fabric.tiles + fabric.registers + 1
    cycle, element = code // elements, code % elements
    tiles, slot = fabric.tiles, cycle % fabric.ii
    if element < 3 * tiles:
        tile = element % tiles
        state.used[tile, slot] += step
        pool = fabric.pool[fabric.move_class if element < tiles else fabric.memory_class, tile]
        if pool >= 0:
            state.pool_used[pool, slot] += step
    elif element < elements - 1:
        state.used[element - 2 * tiles, slot] += step


@internal
def _written(fabric: Fabric, code: int) -> int:
    """The code of the output register that a move or a load writes anyway; -1: it writes none."""
    elements = 4 * fabric.tiles + fabric.registers + 1
    cycle, element = code // elements, code % elements
    code_of: int = -1
    if element < fabric.tiles:
        code_of = (cycle + fabric.move_latency[element]) * elements + 3 * fabric.tiles + element
    elif element < 2 * fabric.tiles:
        tile = element - fabric.tiles
        code_of = (cycle + fabric.load_latency[tile]) * elements + 3 * fabric.tiles + tile
    return code_of


@internal
def _keep(fabric: Fabric, state: State, scratch: Scratch, code: int, step: int, count: bool) -> None:
    """A way more (or less) that begins at a live-in in a register: it takes the register in every slot."""
    elements = 4 * fabric.tiles + fabric.registers + 1
    register = code % elements - 4 * fabric.tiles
    before = scratch.kept[register]
    scratch.kept[register] += step
    scratch.back[code // elements, code % elements] = AT_REGISTER
    if count and (before == 0) != (before + step == 0):
        for slot in range(fabric.ii):
            state.used[2 * fabric.tiles + register, slot] += step


@internal
def add_way(fabric: Fabric, state: State, scratch: Scratch, edge: int, count: bool) -> None:
    """Put an edge's way into the open tree; ``count``: its uses are new to the state too."""
    before = state.root[edge]
    for k in range(state.steps[edge]):
        code = state.way[edge, k]
        if k == 0 and state.root[edge] == AT_REGISTER:
            _keep(fabric, state, scratch, code, 1, count)
        elif _touch(fabric, scratch, code, before) and count:
            _count(fabric, state, code, 1)
        beside = _written(fabric, code)
        if beside >= 0 and _touch(fabric, scratch, beside, code) and count:
            _count(fabric, state, beside, 1)
        before = code


@internal
def remove_way(fabric: Fabric, state: State, scratch: Scratch, edge: int) -> None:
    """Take an edge's way out of the open tree and out of the state."""
    elements = 4 * fabric.tiles + fabric.registers + 1
    for k in range(state.steps[edge]):
        code = state.way[edge, k]
        if k == 0 and state.root[edge] == AT_REGISTER:
            _keep(fabric, state, scratch, code, -1, True)
        else:
            scratch.own[code // elements, code % elements] -= 1
            if scratch.own[code // elements, code % elements] == 0:
                _count(fabric, state, code, -1)
        beside = _written(fabric, code)
        if beside >= 0:
            scratch.own[beside // elements, beside % elements] -= 1
            if scratch.own[beside // elements, beside % elements] == 0:
                _count(fabric, state, beside, -1)
    state.steps[edge] = 0


@internal
def open_net(fabric: Fabric, state: State, scratch: Scratch, edges: Ints, tile: int, ready: int) -> None:
    """Show a net's tree: its producer's output register (``ready`` < 0: it has none) and the ways of its edges."""
    scratch.counts[0] = 0
    if ready >= 0:
        elements = 4 * fabric.tiles + fabric.registers + 1
        _touch(fabric, scratch, ready * elements + 3 * fabric.tiles + tile, AT_PRODUCER)
    for edge in edges:
        if state.steps[edge] > 0:
            add_way(fabric, state, scratch, edge, False)


@internal
def close_net(fabric: Fabric, scratch: Scratch) -> None:
    """Forget the open net."""
    elements = 4 * fabric.tiles + fabric.registers + 1
    for k in range(scratch.counts[0]):
        code = scratch.touched[k]
        scratch.own[code // elements, code % elements] = 0
    scratch.counts[0] = 0
    scratch.kept[:] = 0


# -- forward: from a net's tree to every state ------------------------------------------------------------------------


@internal
def _begin(fabric: Fabric, state: State, scratch: Scratch, tile: int, ready: int, first: int, last: int,
           present: float) -> None:  # fmt: skip
    """Prices of the states that the open net is in already, or may begin in."""
    tiles, elements = fabric.tiles, 4 * fabric.tiles + fabric.registers + 1
    memory = tiles + fabric.registers
    scratch.best[first : last + 1, :] = FAR
    scratch.write[first : last + 1, :] = FAR
    for k in range(scratch.counts[0]):
        code = scratch.touched[k]
        cycle, storage = code // elements, code % elements - 3 * tiles
        if storage >= 0 and first <= cycle <= last and scratch.own[cycle, code % elements] > 0:
            scratch.best[cycle, storage] = 0.0
            scratch.run[cycle, storage] = scratch.age[cycle, storage]
    if ready >= 0:
        if fabric.file_of[tile] >= 0 and ready >= first:
            scratch.write[ready, fabric.file_of[tile]] = 0.0
            scratch.writer[ready, fabric.file_of[tile]] = AT_PRODUCER
        return
    has_memory = fabric.load_latency.max() > 0
    for cycle in range(first, last + 1):
        if has_memory:
            scratch.best[cycle, memory] = 0.0
            scratch.came[cycle, memory] = AT_MEMORY
            scratch.run[cycle, memory] = 1
    for register in range(fabric.registers):
        if fabric.keeps[register] == 0:
            continue
        fee = 0.0
        if scratch.kept[register] == 0:
            for slot in range(fabric.ii):
                fee += price(state, 2 * tiles + register, slot, REGISTER_PRICE, present)
            fee = min(fee, KEEP_PRICE + fee * 0.5)
        for cycle in range(first, last + 1):
            if fee < scratch.best[cycle, tiles + register]:
                scratch.best[cycle, tiles + register] = fee
                scratch.came[cycle, tiles + register] = AT_REGISTER
                scratch.run[cycle, tiles + register] = 1


@internal
def _settle_files(fabric: Fabric, state: State, scratch: Scratch, cycle: int, present: float) -> None:
    """Let what is written in a cycle into registers; note the cheapest register of each file."""
    tiles, slot = fabric.tiles, cycle % fabric.ii
    for file in range(fabric.files):
        written = scratch.write[cycle, file]
        least, where = FAR, -1
        for register in range(fabric.file_at[file], fabric.file_at[file + 1]):
            storage = tiles + register
            if written < scratch.best[cycle, storage]:
                cost = written
                if scratch.own[cycle, 3 * tiles + storage] == 0:
                    cost += price(state, 2 * tiles + register, slot, REGISTER_PRICE, present)
                if cost < scratch.best[cycle, storage]:
                    scratch.best[cycle, storage] = cost
                    scratch.came[cycle, storage] = scratch.writer[cycle, file]
                    scratch.run[cycle, storage] = 1
            if scratch.best[cycle, storage] < least:
                least, where = scratch.best[cycle, storage], storage
        scratch.least[cycle, file] = least
        scratch.least_at[cycle, file] = where


@internal
def _result(fabric: Fabric, state: State, scratch: Scratch, tile: int, cycle: int, code: int, cost: float,
            last: int, present: float) -> None:  # fmt: skip
    """A move or a load writes the tile's output register, and may write a register of its file."""
    if cycle > last:
        return
    if scratch.own[cycle, 3 * fabric.tiles + tile] == 0:
        cost += price(state, fabric.tiles + tile, cycle % fabric.ii, OUT_PRICE, present)
    if cost < scratch.best[cycle, tile]:
        scratch.best[cycle, tile] = cost
        scratch.came[cycle, tile] = code
        scratch.run[cycle, tile] = 1
    file = fabric.file_of[tile]
    if file >= 0 and cost < scratch.write[cycle, file]:
        scratch.write[cycle, file] = cost
        scratch.writer[cycle, file] = code


@internal
def read_price(fabric: Fabric, scratch: Scratch, tile: int, cycle: int) -> float:
    """The least price at which a tile can read the value in a cycle."""
    least = FAR
    for k in range(fabric.read_at[tile], fabric.read_at[tile + 1]):
        least = min(least, scratch.best[cycle, fabric.read[k]])
    if fabric.file_of[tile] >= 0:
        least = min(least, scratch.least[cycle, fabric.file_of[tile]])
    return least


@internal
def read_from(fabric: Fabric, scratch: Scratch, tile: int, cycle: int) -> int:
    """The storage in which :func:`read_price` finds the value."""
    least, where = FAR, -1
    for k in range(fabric.read_at[tile], fabric.read_at[tile + 1]):
        if scratch.best[cycle, fabric.read[k]] < least:
            least, where = scratch.best[cycle, fabric.read[k]], fabric.read[k]
    file = fabric.file_of[tile]
    if file >= 0 and scratch.least[cycle, file] < least:
        where = scratch.least_at[cycle, file]
    return where


@internal
def _meets_itself(fabric: Fabric, scratch: Scratch, storage: int, cycle: int, tile: int, latency: int) -> bool:
    """True when a way that goes on through a tile was there before in the same slot, or in its output register."""
    tiles, elements, ii = fabric.tiles, 4 * fabric.tiles + fabric.registers + 1, fabric.ii
    code = cycle * elements + 3 * tiles + storage
    while code >= 0:
        at, element = code // elements, code % elements
        if element < 3 * tiles:
            if element % tiles == tile and (cycle - at) % ii == 0:
                return True
        elif element == 3 * tiles + tile and (cycle + latency - at) % ii == 0:
            return True
        if scratch.own[at, element] > 0:
            return False
        if element < 3 * tiles:
            code = at * elements + 3 * tiles + scratch.issued[at, element]
        else:
            code = scratch.came[at, element - 3 * tiles]
    return False


@internal
def _pass_on(fabric: Fabric, state: State, scratch: Scratch, cycle: int, first: int, last: int, present: float) -> None:
    """Moves, stores and loads of a cycle."""
    tiles = fabric.tiles
    elements, memory = 4 * tiles + fabric.registers + 1, tiles + fabric.registers
    for tile in range(tiles):
        least = read_price(fabric, scratch, tile, cycle)
        has_memory = fabric.load_latency[tile] > 0
        where = -1
        if least < FAR:
            where = read_from(fabric, scratch, tile, cycle)
            # Only a way as long as a period can come back to a slot that it has taken itself.
            if cycle - first >= fabric.ii and scratch.own[cycle, tile] == 0:
                if _meets_itself(fabric, scratch, where, cycle, tile, fabric.move_latency[tile]):
                    where = -1
        if where >= 0:
            scratch.issued[cycle, tile] = where
            cost = 0.0
            if scratch.own[cycle, tile] == 0:
                cost = least + issue_price(fabric, state, tile, cycle, fabric.move_class, present)
            _result(fabric, state, scratch, tile, cycle + fabric.move_latency[tile], cycle * elements + tile, cost,
                    last, present)  # fmt: skip
            if has_memory and cycle < last:
                scratch.issued[cycle, 2 * tiles + tile] = where
                cost = 0.0
                if scratch.own[cycle, 2 * tiles + tile] == 0:
                    cost = least + issue_price(fabric, state, tile, cycle, fabric.memory_class, present)
                if cost < scratch.best[cycle + 1, memory]:
                    scratch.best[cycle + 1, memory] = cost
                    scratch.came[cycle + 1, memory] = cycle * elements + 2 * tiles + tile
                    scratch.run[cycle + 1, memory] = 1
        if has_memory and scratch.best[cycle, memory] < FAR:
            scratch.issued[cycle, tiles + tile] = memory
            cost = 0.0
            if scratch.own[cycle, tiles + tile] == 0:
                cost = scratch.best[cycle, memory]
                cost += issue_price(fabric, state, tile, cycle, fabric.memory_class, present)
            _result(fabric, state, scratch, tile, cycle + fabric.load_latency[tile], cycle * elements + tiles + tile,
                    cost, last, present)  # fmt: skip


@internal
def _hold(fabric: Fabric, state: State, scratch: Scratch, cycle: int, present: float) -> None:
    """What rests in a cycle may rest for the next."""
    tiles, slot = fabric.tiles, (cycle + 1) % fabric.ii
    elements, memory = 4 * tiles + fabric.registers + 1, tiles + fabric.registers
    for storage in range(memory + 1):
        cost = scratch.best[cycle, storage]
        if cost >= FAR or scratch.run[cycle, storage] >= fabric.span[storage]:
            continue
        after = storage
        if storage == memory:
            cost += MEMORY_PRICE
        elif storage < tiles:
            if scratch.own[cycle + 1, 3 * tiles + storage] == 0:
                cost += price(state, tiles + storage, slot, HOLD_PRICE, present)
        else:
            if slot == 0:
                after = tiles + fabric.turn[storage - tiles]
            if scratch.own[cycle + 1, 3 * tiles + after] == 0:
                cost += price(state, tiles + after, slot, REGISTER_PRICE, present)
        if cost < scratch.best[cycle + 1, after]:
            scratch.best[cycle + 1, after] = cost
            scratch.came[cycle + 1, after] = cycle * elements + 3 * tiles + storage
            scratch.run[cycle + 1, after] = scratch.run[cycle, storage] + 1


@internal
def spread(fabric: Fabric, state: State, scratch: Scratch, tile: int, ready: int, first: int, last: int,
           present: float) -> None:  # fmt: skip
    """Least prices of all states from cycle ``first`` to ``last`` for the open net.

    ``ready`` is the cycle of the producer's result on ``tile``; negative: the net is a live-in.
    """
    _begin(fabric, state, scratch, tile, ready, first, last, present)
    for cycle in range(first, last + 1):
        _settle_files(fabric, state, scratch, cycle, present)
        if cycle < last:
            _pass_on(fabric, state, scratch, cycle, first, last, present)
            _hold(fabric, state, scratch, cycle, present)


@internal
def trace(fabric: Fabric, state: State, scratch: Scratch, edge: int, storage: int, cycle: int) -> bool:
    """Write the way to a state into the edge's row; False when it is too long."""
    tiles, elements = fabric.tiles, 4 * fabric.tiles + fabric.registers + 1
    code = cycle * elements + 3 * tiles + storage
    count, in_tree = 0, False
    while code >= 0:
        if count >= state.way.shape[1]:
            return False
        scratch.path[count] = code
        count += 1
        at, element = code // elements, code % elements
        in_tree = in_tree or scratch.own[at, element] > 0
        if in_tree:
            code = scratch.back[at, element]
        elif element < 3 * tiles:
            code = at * elements + 3 * tiles + scratch.issued[at, element]
        else:
            code = scratch.came[at, element - 3 * tiles]
    state.root[edge] = code
    state.steps[edge] = count
    for k in range(count):
        state.way[edge, k] = scratch.path[count - 1 - k]
    return True


# -- backward: from every state to a consumer -------------------------------------------------------------------------


@internal
def _enter_price(fabric: Fabric, scratch: Scratch, tile: int, cycle: int) -> float:
    """Price from a result of a tile, its output register paid for, to the goal."""
    least: float = scratch.best[cycle, tile]
    file = fabric.file_of[tile]
    return least if file < 0 else min(least, float(scratch.write[cycle, file]))


@internal
def _leave(fabric: Fabric, state: State, scratch: Scratch, cycle: int, last: int, present: float) -> None:
    """Prices of a cycle from those of later ones."""
    tiles, memory, slot = fabric.tiles, fabric.tiles + fabric.registers, (cycle + 1) % fabric.ii
    for storage in range(memory):
        group = tiles + storage
        after = storage
        if storage >= tiles and slot == 0:
            after = tiles + fabric.turn[storage - tiles]
            group = tiles + after
        rest = scratch.best[cycle + 1, after]
        if rest < FAR and fabric.span[storage] > 1:
            base = HOLD_PRICE if storage < tiles else REGISTER_PRICE
            scratch.best[cycle, storage] = rest + price(state, group, slot, base, present)
    if scratch.best[cycle + 1, memory] < FAR:
        scratch.best[cycle, memory] = scratch.best[cycle + 1, memory] + MEMORY_PRICE
    for tile in range(tiles):
        cost = FAR
        after = cycle + fabric.move_latency[tile]
        if after <= last and scratch.enter[after, tile] < FAR:
            cost = scratch.enter[after, tile] + price(state, tiles + tile, after % fabric.ii, OUT_PRICE, present)
            cost += issue_price(fabric, state, tile, cycle, fabric.move_class, present)
        if fabric.load_latency[tile] > 0:
            bus = issue_price(fabric, state, tile, cycle, fabric.memory_class, present)
            cost = min(cost, scratch.best[cycle + 1, memory] + bus)
            after = cycle + fabric.load_latency[tile]
            if after <= last and scratch.enter[after, tile] < FAR:
                load = scratch.enter[after, tile] + bus
                load += price(state, tiles + tile, after % fabric.ii, OUT_PRICE, present)
                scratch.best[cycle, memory] = min(scratch.best[cycle, memory], load)
        if cost >= FAR:
            continue
        for k in range(fabric.read_at[tile], fabric.read_at[tile + 1]):
            scratch.best[cycle, fabric.read[k]] = min(scratch.best[cycle, fabric.read[k]], cost)
        file = fabric.file_of[tile]
        if file >= 0:
            scratch.least[cycle, file] = min(scratch.least[cycle, file], cost)


@internal
def gather(fabric: Fabric, state: State, scratch: Scratch, tile: int, first: int, last: int, present: float) -> None:
    """``enter[cycle, tile]``: least price from a result there to a consumer on ``tile`` that reads it at ``last``."""
    tiles = fabric.tiles
    scratch.best[first : last + 1, :] = FAR
    scratch.write[first : last + 1, :] = FAR
    scratch.least[first : last + 1, :] = FAR
    for cycle in range(last, first - 1, -1):
        if cycle == last:
            for k in range(fabric.read_at[tile], fabric.read_at[tile + 1]):
                scratch.best[cycle, fabric.read[k]] = 0.0
            if fabric.file_of[tile] >= 0:
                scratch.least[cycle, fabric.file_of[tile]] = 0.0
        else:
            _leave(fabric, state, scratch, cycle, last, present)
        slot = cycle % fabric.ii
        for file in range(fabric.files):
            read = scratch.least[cycle, file]
            for register in range(fabric.file_at[file], fabric.file_at[file + 1]):
                cost = min(read, scratch.best[cycle, tiles + register])
                if cost < FAR:
                    scratch.best[cycle, tiles + register] = cost
                    cost += price(state, 2 * tiles + register, slot, REGISTER_PRICE, present)
                    scratch.write[cycle, file] = min(scratch.write[cycle, file], cost)
        for other in range(tiles):
            scratch.enter[cycle, other] = _enter_price(fabric, scratch, other, cycle)
