"""Routes through time on a modulo-scheduled array, compiled: where a value may be in every cycle, and at what price.

A value rests in a *storage* (a tile's output register, a register of a file, the memory) for one cycle at a time. From
there it is held, or a tile reads it and passes it on: a move (to its output register, and to a register of its file), a
store, a load. Every step takes at least a cycle, so the cheapest routes to all (cycle, storage) states are found cycle
by cycle without a queue. What a net already occupies in the same flat cycle costs it nothing: branches share.

An *element* is what a route passes: ``MOVE``, ``LOAD`` and ``STORE`` slots of each tile (which share the tile's issue
slot), then storages. A route is a list of codes ``cycle * elements + element`` from the producer to the last storage.

With t tiles, elements 0 to t - 1 are moves, t to 2t - 1 loads, 2t to 3t - 1 stores, 3t to 4t - 1 output registers, then
registers, and at last the memory. On arrays with crossbars the wires come before the memory, as storages that hold
nothing (see :mod:`gridloom.targets.modulo.mappers.crossbars.wire_kernel`). The *groups* of ``SlotUsage`` are t issue
slots, t output registers, the registers and the wires; the memory has no limit here (its size is checked once a mapping
is found). One net is *open* at a time: its tree is spread out in ``Tree``, so that "is this state already ours" is one
look.

Prices follow PathFinder: (base + history) * (1 + present * signals there). A forward sweep (``spread``) prices all
states from a net's tree on; a backward one (:mod:`gridloom.targets.modulo.mappers.reach.gather_kernel`) prices all
states up to one reader. Both cost O(cycles * (tiles * links + registers)) for the tiles of a box.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from gridloom.jit import borrowing
from gridloom.search.arrays import Int64s
from gridloom.targets.modulo.mappers.crossbars.wire_kernel import FAR, cross, enter, price
from gridloom.targets.modulo.mappers.reach.box_kernel import (
    CLEARED_FILES,
    CLEARED_TILES,
    FILES,
    TILES,
    clear_all,
    is_whole,
)
from gridloom.targets.modulo.mappers.state import Labels, ModuloFabric, PlacerRun, SlotUsage, Tree

#: Steps of a count, and answers. They have a type, since a function is compiled once more for each literal.
ADD: Any = np.int64(1)
TAKE: Any = np.int64(-1)
#: A read that is no flag.
ANY: Any = np.int64(0)
YES: Any = np.bool_(True)
NO: Any = np.bool_(False)

#: Where a route begins: at its producer, at a live-in kept in a register, at a live-in kept in memory.
AT_PRODUCER: Any = np.int64(-1)
AT_REGISTER = -4
AT_MEMORY = -5

#: Prices of a cycle: an issue slot, an output register (written, held), a register, the memory, and what a live-in pays
#: at least for keeping a register in all slots.
ISSUE_PRICE = 1.0
OUT_PRICE = 0.6
HOLD_PRICE = 0.35
REGISTER_PRICE = 0.12
MEMORY_PRICE = 0.02
KEEP_PRICE = 0.3


@borrowing
def pool_price(usage: SlotUsage, pool: int, slot: int, present: float) -> float:
    """What one more op pays for a shared capacity, such as a memory bus; little while there is room.

    Pool -1 stands for no such capacity and costs nothing.
    """
    if pool < 0:
        return 0.0
    over = usage.pool_used[pool, slot] + 1 - usage.pool_room[pool]
    fee: float = 0.1 + usage.pool_history[pool, slot]
    return fee * (1.0 + present * over) if over > 0 else fee * 0.3


@borrowing
def issue_price(usage: SlotUsage, tile: int, slot: int, pool: int, base: float, present: float) -> float:
    """What a move, load or store of a route pays for its slot and bus."""
    return price(usage, tile, slot, base, present) + pool_price(usage, pool, slot, present)


# -- the tree of a net ------------------------------------------------------------------------------------------------


@borrowing
def _touch(tree: Tree, code: int, before: int) -> bool:
    """Count a use by the open net; True when it is the first.

    A first use is listed in ``touched``, with the code before it on its route and, for storages, the cycles that the
    value has been held there, which limits how long it may stay.
    """
    cycle, element = code // tree.elements, code % tree.elements
    tree.own[cycle, element] += 1
    if tree.own[cycle, element] > 1:
        return False
    tree.touched[tree.used_codes[0]] = code
    tree.used_codes[0] += 1
    tree.back[cycle, element] = before
    first = 3 * tree.tiles
    if element >= first:
        held = 1
        if before >= 0 and before // tree.elements == cycle - 1 and before % tree.elements >= first:
            held = tree.age[cycle - 1, before % tree.elements - first] + 1
        # A wire holds nothing, so that what it writes to a register is new there.
        if first + tree.tiles + len(tree.kept) <= element < tree.elements - 1:
            held = 0
        tree.age[cycle, element - first] = held
    return True


@borrowing
def group_of(fabric: ModuloFabric, element: int) -> int:
    """The group of a storage element; all depths of a wire share one. The memory has none."""
    group: int = element - 2 * fabric.tiles
    first = 2 * fabric.tiles + fabric.registers
    return group if group < first else fabric.wire_group[group - first]


@borrowing
def _count(fabric: ModuloFabric, usage: SlotUsage, code: int, step: int) -> None:
    """Add ``step`` signals to the issue slot and pool, or to the register, that a code uses; memory is unlimited."""
    cycle, element = code // fabric.elements, code % fabric.elements
    tiles, slot = fabric.tiles, cycle % fabric.ii
    if element < 3 * tiles:
        tile = element % tiles
        usage.used[tile, slot] += step
        pool = fabric.move_pool[tile] if element < tiles else fabric.memory_pool[tile]
        if pool >= 0:
            usage.pool_used[pool, slot] += step
    elif element < fabric.elements - 1:
        usage.used[group_of(fabric, element), slot] += step


@borrowing
def _written(fabric: ModuloFabric, code: int) -> int:
    """The code of the output register that a move or a load writes anyway; -1: it writes none."""
    cycle, element = code // fabric.elements, code % fabric.elements
    code_of: int = -1
    if element < fabric.tiles:
        code_of = (cycle + fabric.move_latency[element]) * fabric.elements + 3 * fabric.tiles + element
    elif element < 2 * fabric.tiles:
        tile = element - fabric.tiles
        code_of = (cycle + fabric.load_latency[tile]) * fabric.elements + 3 * fabric.tiles + tile
    return code_of


@borrowing
def _keep(usage: SlotUsage, tree: Tree, code: int, step: int, count: bool) -> None:
    """One route more (or less) that begins at a live-in in a register: it takes the register in every slot.

    Only the first such route of a net changes the usage, and the last one to go; ``count`` False leaves it as it is.
    """
    cycle, element = code // tree.elements, code % tree.elements
    register = element - 4 * tree.tiles
    before = tree.kept[register]
    tree.used_codes[1] = 1
    tree.kept[register] += step
    tree.back[cycle, element] = AT_REGISTER
    if count and (before == 0) != (before + step == 0):
        for slot in range(usage.used.shape[1]):
            usage.used[2 * tree.tiles + register, slot] += step


@borrowing
def add_route(run: PlacerRun, edge: int, count: bool) -> None:
    """Put an edge's route into the open tree; ``count``: its uses are new to the state, too.

    A move and a load write the output register of their tile in any case, so that register is counted with them.
    """
    fabric, usage, routes, tree = run.fabric, run.state.usage, run.state.routes, run.work.tree
    before = routes.root[edge]
    for k in range(routes.length[edge]):
        code = routes.codes[edge, k]
        if k == 0 and routes.root[edge] == AT_REGISTER:
            _keep(usage, tree, code, ADD, count)
        elif _touch(tree, code, before) and count:
            _count(fabric, usage, code, ADD)
        beside = _written(fabric, code)
        if beside >= 0 and _touch(tree, beside, code) and count:
            _count(fabric, usage, beside, ADD)
        before = code


@borrowing
def _release(run: PlacerRun, code: int) -> None:
    """Take one use of the open net away; the last one frees what the code uses."""
    fabric, usage, tree = run.fabric, run.state.usage, run.work.tree
    cycle, element = code // fabric.elements, code % fabric.elements
    tree.own[cycle, element] -= 1
    if tree.own[cycle, element] == 0:
        _count(fabric, usage, code, TAKE)


@borrowing
def remove_route(run: PlacerRun, edge: int) -> None:
    """Take an edge's route out of the open tree and out of the state; what other routes of the net use stays."""
    fabric, usage, routes, tree = run.fabric, run.state.usage, run.state.routes, run.work.tree
    for k in range(routes.length[edge]):
        code = routes.codes[edge, k]
        if k == 0 and routes.root[edge] == AT_REGISTER:
            _keep(usage, tree, code, TAKE, YES)
        else:
            _release(run, code)
        beside = _written(fabric, code)
        if beside >= 0:
            _release(run, beside)
    routes.length[edge] = 0


@borrowing
def open_net(run: PlacerRun, edges: Int64s, tile: int, ready: int) -> None:
    """Show a net's tree: its producer's output register (``ready`` < 0: it has none) and the routes of its edges.

    Costs the length of these routes. Nothing in ``usage`` changes.
    """
    routes, tree = run.state.routes, run.work.tree
    tree.used_codes[0] = 0
    if ready >= 0:
        _touch(tree, ready * tree.elements + 3 * tree.tiles + tile, AT_PRODUCER)
    for edge in edges:
        if routes.length[edge] > 0:
            add_route(run, edge, NO)


@borrowing
def close_net(tree: Tree) -> None:
    """Forget the open net; the arrays of ``tree`` are clean again where it was."""
    for k in range(tree.used_codes[0]):
        code = tree.touched[k]
        tree.own[code // tree.elements, code % tree.elements] = 0
    tree.used_codes[0] = 0
    if tree.used_codes[1]:
        tree.used_codes[1] = 0
        tree.kept[:] = 0


# -- forward: from a net's tree to every state ------------------------------------------------------------------------


@borrowing
def clear(fabric: ModuloFabric, labels: Labels, first: int, last: int) -> None:
    """Forget the prices of the box, and of what its tiles read, from cycle ``first`` to ``last``."""
    box, tiles = labels.box, fabric.tiles
    if is_whole(box):
        clear_all(labels, first, last)
        return
    for cycle in range(first, last + 1):
        for k in range(box.size[CLEARED_TILES]):
            labels.best[cycle, box.cleared_tiles[k]] = FAR
        for k in range(box.size[CLEARED_FILES]):
            file = box.cleared_files[k]
            labels.write[cycle, file] = FAR
            labels.least[cycle, file] = FAR
            for register in range(fabric.file_at[file], fabric.file_at[file + 1]):
                labels.best[cycle, tiles + register] = FAR
        # Wires, on arrays that have them, and the memory.
        for storage in range(tiles + fabric.registers, fabric.elements - 3 * tiles):
            labels.best[cycle, storage] = FAR


@borrowing
def _offer(run: PlacerRun, file: int, first: int, last: int) -> None:
    """Let a live-in begin in any register of a file that can keep it, at the price of the register in all slots."""
    fabric, usage, tree, labels, present = run.fabric, run.state.usage, run.work.tree, run.work.labels, run.present
    tiles = fabric.tiles
    for register in range(fabric.file_at[file], fabric.file_at[file + 1]):
        if fabric.keeps[register] == 0:
            continue
        fee = 0.0
        if tree.kept[register] == 0:
            for slot in range(fabric.ii):
                fee += price(usage, 2 * tiles + register, slot, REGISTER_PRICE, present)
            fee = min(fee, KEEP_PRICE + fee * 0.5)
        for cycle in range(first, last + 1):
            if fee < labels.best[cycle, tiles + register]:
                labels.best[cycle, tiles + register] = fee
                labels.came[cycle, tiles + register] = AT_REGISTER
                labels.run[cycle, tiles + register] = 1


@borrowing
def _begin(run: PlacerRun, tile: int, ready: int, first: int, last: int) -> None:
    """Prices of the states that the open net is in already, or may begin in.

    States of the tree cost nothing. The producer may also write its result to its file in the cycle of the result. A
    live-in may begin in the memory at no price, or in any register that can keep it, at the price of that register in
    all slots.
    """
    fabric, tree, labels = run.fabric, run.work.tree, run.work.labels
    tiles, elements = fabric.tiles, fabric.elements
    memory = elements - 1 - 3 * tiles
    clear(fabric, labels, first, last)
    for k in range(tree.used_codes[0]):
        code = tree.touched[k]
        cycle, storage = code // elements, code % elements - 3 * tiles
        if storage >= 0 and first <= cycle <= last and tree.own[cycle, code % elements] > 0:
            labels.best[cycle, storage] = 0.0
            labels.run[cycle, storage] = tree.age[cycle, storage]
    if ready >= 0:
        if fabric.file_of[tile] >= 0 and ready >= first:
            labels.write[ready, fabric.file_of[tile]] = 0.0
            labels.writer[ready, fabric.file_of[tile]] = AT_PRODUCER
        return
    for cycle in range(first, last + 1):
        if fabric.has_memory:
            labels.best[cycle, memory] = 0.0
            labels.came[cycle, memory] = AT_MEMORY
            labels.run[cycle, memory] = 1
    for k in range(labels.box.size[FILES]):
        _offer(run, labels.box.files[k], first, last)


@borrowing
def _settle_files(run: PlacerRun, cycle: int) -> None:
    """Let what is written in a cycle into registers; note the cheapest register of each file.

    Writes to a file are collected per file, not per register, so a cycle costs one pass over the registers.
    """
    fabric, usage, tree, labels, present = run.fabric, run.state.usage, run.work.tree, run.work.labels, run.present
    tiles, slot, box = fabric.tiles, cycle % fabric.ii, labels.box
    for k in range(box.size[FILES]):
        file = box.files[k]
        if fabric.wires > 0 and fabric.port_at[file] < fabric.port_at[file + 1]:
            enter(run, file, cycle)
        written = labels.write[cycle, file]
        least, where = FAR, -1
        for register in range(fabric.file_at[file], fabric.file_at[file + 1]):
            storage = tiles + register
            if written < labels.best[cycle, storage]:
                cost = written
                if tree.own[cycle, 3 * tiles + storage] == 0:
                    cost += price(usage, 2 * tiles + register, slot, REGISTER_PRICE, present)
                if cost < labels.best[cycle, storage]:
                    labels.best[cycle, storage] = cost
                    labels.came[cycle, storage] = labels.writer[cycle, file]
                    labels.run[cycle, storage] = 1
            if labels.best[cycle, storage] < least:
                least, where = labels.best[cycle, storage], storage
        labels.least[cycle, file] = least
        labels.least_at[cycle, file] = where


@borrowing
def _result(run: PlacerRun, tile: int, cycle: int, code: int, cost: float) -> None:
    """A move or a load writes the tile's output register, and may write a register of its file."""
    fabric, usage, tree, labels, present = run.fabric, run.state.usage, run.work.tree, run.work.labels, run.present
    if tree.own[cycle, 3 * fabric.tiles + tile] == 0:
        cost += price(usage, fabric.tiles + tile, cycle % fabric.ii, OUT_PRICE, present)
    if cost < labels.best[cycle, tile]:
        labels.best[cycle, tile] = cost
        labels.came[cycle, tile] = code
        labels.run[cycle, tile] = 1
    file = fabric.file_of[tile]
    if file >= 0 and cost < labels.write[cycle, file]:
        labels.write[cycle, file] = cost
        labels.writer[cycle, file] = code


@borrowing
def read_price(fabric: ModuloFabric, labels: Labels, tile: int, cycle: int, flag: int) -> float:
    """The least price at which a tile can read the value in a cycle; a ``flag`` reads no registers."""
    least = FAR
    for k in range(fabric.read_at[tile], fabric.read_at[tile + 1]):
        least = min(least, labels.best[cycle, fabric.read[k]])
    if fabric.read_file[tile] >= 0 and flag == 0:
        least = min(least, labels.least[cycle, fabric.read_file[tile]])
    return least


@borrowing
def _cheapest(fabric: ModuloFabric, labels: Labels, tile: int, cycle: int, flag: int) -> tuple[float, int]:
    """The least price at which a tile can read the value in a cycle, and the storage; (FAR, -1): it cannot."""
    least, where = FAR, -1
    for k in range(fabric.read_at[tile], fabric.read_at[tile + 1]):
        storage = fabric.read[k]
        if labels.best[cycle, storage] < least:
            least, where = labels.best[cycle, storage], storage
    file = fabric.read_file[tile]
    if file >= 0 and flag == 0 and labels.least[cycle, file] < least:
        least, where = labels.least[cycle, file], labels.least_at[cycle, file]
    return least, where


@borrowing
def read_from(fabric: ModuloFabric, labels: Labels, tile: int, cycle: int, flag: int) -> int:
    """The storage in which :func:`read_price` finds the value."""
    _, where = _cheapest(fabric, labels, tile, cycle, flag)
    return where


@borrowing
def _meets_itself(run: PlacerRun, storage: int, cycle: int, tile: int, latency: int) -> bool:
    """True when a route that goes on through a tile was there before in the same slot, or in its output register.

    Flat cycles that differ by a multiple of the II are the same slot, so a long route can collide with itself, which
    the prices of other signals do not show. Walks back along the labels to the net's tree.
    """
    fabric, tree, labels = run.fabric, run.work.tree, run.work.labels
    tiles, elements, ii = fabric.tiles, fabric.elements, fabric.ii
    code = cycle * elements + 3 * tiles + storage
    while code >= 0:
        at, element = code // elements, code % elements
        if element < 3 * tiles:
            if element % tiles == tile and (cycle - at) % ii == 0:
                return True
        elif element == 3 * tiles + tile and (cycle + latency - at) % ii == 0:
            return True
        if tree.own[at, element] > 0:
            return False
        if element < 3 * tiles:
            code = at * elements + 3 * tiles + labels.issued[at, element]
        else:
            code = labels.came[at, element - 3 * tiles]
    return False


@borrowing
def _pass_on(run: PlacerRun, cycle: int, first: int, last: int) -> None:
    """Moves, stores and loads of a cycle: each tile passes on the cheapest copy of the value that it can read.

    An issue slot that the net already has in this cycle is free, and so is all that led to it.
    """
    fabric, usage, tree, labels, present = run.fabric, run.state.usage, run.work.tree, run.work.labels, run.present
    tiles, slot = fabric.tiles, cycle % fabric.ii
    elements, memory, box = fabric.elements, fabric.elements - 1 - 3 * tiles, labels.box
    for k in range(box.size[TILES]):
        tile = box.tiles[k]
        least, where = _cheapest(fabric, labels, tile, cycle, ANY)
        has_memory = fabric.load_latency[tile] > 0
        if where >= 0:
            # Only a route as long as a period can come back to a slot that it has taken itself.
            if cycle - first >= fabric.ii and tree.own[cycle, tile] == 0:
                if _meets_itself(run, where, cycle, tile, fabric.move_latency[tile]):
                    where = -1
        if where >= 0:
            labels.issued[cycle, tile] = where
            cost = 0.0
            if tree.own[cycle, tile] == 0:
                cost = least + issue_price(usage, tile, slot, fabric.move_pool[tile], fabric.move_price, present)
            ready = cycle + fabric.move_latency[tile]
            if cycle < ready <= last:
                _result(run, tile, ready, cycle * elements + tile, cost)
            if has_memory and cycle < last:
                labels.issued[cycle, 2 * tiles + tile] = where
                cost = 0.0
                if tree.own[cycle, 2 * tiles + tile] == 0:
                    cost = least + issue_price(usage, tile, slot, fabric.memory_pool[tile], fabric.move_price, present)
                if cost < labels.best[cycle + 1, memory]:
                    labels.best[cycle + 1, memory] = cost
                    labels.came[cycle + 1, memory] = cycle * elements + 2 * tiles + tile
                    labels.run[cycle + 1, memory] = 1
        if has_memory and labels.best[cycle, memory] < FAR:
            labels.issued[cycle, tiles + tile] = memory
            cost = 0.0
            if tree.own[cycle, tiles + tile] == 0:
                cost = labels.best[cycle, memory]
                cost += issue_price(usage, tile, slot, fabric.memory_pool[tile], fabric.move_price, present)
            ready = cycle + fabric.load_latency[tile]
            if ready <= last:
                _result(run, tile, ready, cycle * elements + tiles + tile, cost)


@borrowing
def _hold_in(run: PlacerRun, cycle: int, storage: int) -> None:
    """What rests in a storage may rest there for the next cycle, as long as the storage allows.

    When an iteration ends (the next slot is 0), a value in a rotating register moves on to the next register.
    """
    fabric, usage, tree, labels, present = run.fabric, run.state.usage, run.work.tree, run.work.labels, run.present
    tiles, slot = fabric.tiles, (cycle + 1) % fabric.ii
    cost = labels.best[cycle, storage]
    if cost >= FAR or labels.run[cycle, storage] >= fabric.span[storage]:
        return
    after = storage
    if storage == fabric.elements - 1 - 3 * tiles:
        cost += MEMORY_PRICE
    elif storage < tiles:
        if tree.own[cycle + 1, 3 * tiles + storage] == 0:
            cost += price(usage, tiles + storage, slot, HOLD_PRICE, present)
    else:
        if slot == 0:
            after = tiles + fabric.turn[storage - tiles]
        if tree.own[cycle + 1, 3 * tiles + after] == 0:
            cost += price(usage, tiles + after, slot, REGISTER_PRICE, present)
    if cost < labels.best[cycle + 1, after]:
        labels.best[cycle + 1, after] = cost
        labels.came[cycle + 1, after] = cycle * fabric.elements + 3 * tiles + storage
        labels.run[cycle + 1, after] = labels.run[cycle, storage] + 1


@borrowing
def _hold(run: PlacerRun, cycle: int) -> None:
    """What rests in a cycle may rest for the next: in output registers, then in registers, then in memory."""
    fabric, labels = run.fabric, run.work.labels
    tiles, box = fabric.tiles, labels.box
    for k in range(box.size[TILES]):
        _hold_in(run, cycle, box.tiles[k])
    for k in range(box.size[FILES]):
        file = box.files[k]
        if labels.least[cycle, file] < FAR:
            for register in range(fabric.file_at[file], fabric.file_at[file + 1]):
                _hold_in(run, cycle, tiles + register)
    _hold_in(run, cycle, fabric.elements - 1 - 3 * tiles)


@borrowing
def spread(run: PlacerRun, tile: int, ready: int, first: int, last: int) -> None:
    """Least prices of all states from cycle ``first`` to ``last`` for the open net.

    ``ready`` is the cycle of the producer's result on ``tile``; negative: the net is a live-in. Within a cycle, writes
    settle first, then values are passed on and held; all of that reaches later cycles only.
    """
    fabric = run.fabric
    _begin(run, tile, ready, first, last)
    for cycle in range(first, last + 1):
        _settle_files(run, cycle)
        if fabric.wires > 0:
            cross(run, cycle, last)
        if cycle < last:
            _pass_on(run, cycle, first, last)
            _hold(run, cycle)


@borrowing
def trace(run: PlacerRun, edge: int, storage: int, cycle: int) -> bool:
    """Write the route to a state into the edge's row; False when it is too long.

    Follows the labels back until it meets the net's tree, then the tree back to the root. ``spread`` has to come first.
    """
    routes, tree, labels = run.state.routes, run.work.tree, run.work.labels
    tiles, elements = tree.tiles, tree.elements
    code = cycle * elements + 3 * tiles + storage
    count, in_tree = 0, False
    while code >= 0:
        if count >= routes.codes.shape[1]:
            return False
        labels.path[count] = code
        count += 1
        at, element = code // elements, code % elements
        in_tree = in_tree or tree.own[at, element] > 0
        if in_tree:
            code = tree.back[at, element]
        elif element < 3 * tiles:
            code = at * elements + 3 * tiles + labels.issued[at, element]
        else:
            code = labels.came[at, element - 3 * tiles]
    routes.root[edge] = code
    routes.length[edge] = count
    for k in range(count):
        routes.codes[edge, k] = labels.path[count - 1 - k]
    return True
