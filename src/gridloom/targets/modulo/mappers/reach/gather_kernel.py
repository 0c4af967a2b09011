"""Prices from every state back from a consumer, compiled: what a result would pay from wherever it is made.

The steps are those of :mod:`gridloom.targets.modulo.mappers.route_kernel`, read from their ends.
"""

from __future__ import annotations

from gridloom.jit import borrowing
from gridloom.targets.modulo.mappers.crossbars.wire_kernel import FAR, cross_back, enter_back, price
from gridloom.targets.modulo.mappers.reach.box_kernel import FILES, TILES
from gridloom.targets.modulo.mappers.route_kernel import (
    HOLD_PRICE,
    MEMORY_PRICE,
    OUT_PRICE,
    REGISTER_PRICE,
    clear,
    issue_price,
)
from gridloom.targets.modulo.mappers.state import Labels, ModuloFabric, PlacerRun


@borrowing
def _enter_price(fabric: ModuloFabric, labels: Labels, tile: int, cycle: int) -> float:
    """Price from a result of a tile, its output register paid for, to the goal."""
    least: float = labels.best[cycle, tile]
    file = fabric.file_of[tile]
    return least if file < 0 else min(least, float(labels.write[cycle, file]))


@borrowing
def _rest(run: PlacerRun, cycle: int, storage: int) -> None:
    """The price of what rests in a storage from a cycle to the next, from the price there."""
    fabric, usage, labels, present = run.fabric, run.state.usage, run.work.labels, run.present
    tiles, following = fabric.tiles, (cycle + 1) % fabric.ii
    after = storage
    if storage >= tiles and following == 0:
        after = tiles + fabric.turn[storage - tiles]
    rest = labels.best[cycle + 1, after]
    if rest < FAR and fabric.span[storage] > 1:
        base = HOLD_PRICE if storage < tiles else REGISTER_PRICE
        labels.best[cycle, storage] = rest + price(usage, tiles + after, following, base, present)


@borrowing
def _leave(run: PlacerRun, cycle: int, last: int) -> None:
    """Prices of a cycle from those of later ones: the same steps as forward, read from their ends.

    Sharing within the net and the limits on holding are left out, so these are estimates; the final route is found
    forward.
    """
    fabric, usage, labels, present = run.fabric, run.state.usage, run.work.labels, run.present
    tiles, memory = fabric.tiles, fabric.elements - 1 - 3 * fabric.tiles
    slot, box = cycle % fabric.ii, labels.box
    for k in range(box.size[TILES]):
        _rest(run, cycle, box.tiles[k])
    for k in range(box.size[FILES]):
        file = box.files[k]
        if labels.write[cycle + 1, file] < FAR:
            for register in range(fabric.file_at[file], fabric.file_at[file + 1]):
                _rest(run, cycle, tiles + register)
    if labels.best[cycle + 1, memory] < FAR:
        labels.best[cycle, memory] = labels.best[cycle + 1, memory] + MEMORY_PRICE
    for at in range(box.size[TILES]):
        tile = box.tiles[at]
        cost = FAR
        after = cycle + fabric.move_latency[tile]
        if cycle < after <= last and labels.enter[after, tile] < FAR:
            cost = labels.enter[after, tile] + price(usage, tiles + tile, after % fabric.ii, OUT_PRICE, present)
            cost += issue_price(usage, tile, slot, fabric.move_pool[tile], fabric.move_price, present)
        if fabric.load_latency[tile] > 0:
            bus = issue_price(usage, tile, slot, fabric.memory_pool[tile], fabric.move_price, present)
            cost = min(cost, labels.best[cycle + 1, memory] + bus)
            after = cycle + fabric.load_latency[tile]
            if after <= last and labels.enter[after, tile] < FAR:
                load = labels.enter[after, tile] + bus
                load += price(usage, tiles + tile, after % fabric.ii, OUT_PRICE, present)
                labels.best[cycle, memory] = min(labels.best[cycle, memory], load)
        if cost >= FAR:
            continue
        for k in range(fabric.read_at[tile], fabric.read_at[tile + 1]):
            labels.best[cycle, fabric.read[k]] = min(labels.best[cycle, fabric.read[k]], cost)
        file = fabric.read_file[tile]
        if file >= 0:
            labels.least[cycle, file] = min(labels.least[cycle, file], cost)


@borrowing
def gather(run: PlacerRun, tile: int, first: int, last: int, flag: int) -> None:
    """``enter[cycle, tile]``: least price from a result there to a consumer on ``tile`` that reads it at ``last``.

    It covers the cycles from ``first`` on and overwrites ``best``, ``write`` and ``least`` of the labels.
    """
    fabric, usage, labels, present = run.fabric, run.state.usage, run.work.labels, run.present
    tiles, box = fabric.tiles, labels.box
    clear(fabric, labels, first, last)
    for cycle in range(last, first - 1, -1):
        if cycle == last:
            for k in range(fabric.read_at[tile], fabric.read_at[tile + 1]):
                labels.best[cycle, fabric.read[k]] = 0.0
            if fabric.read_file[tile] >= 0 and flag == 0:
                labels.least[cycle, fabric.read_file[tile]] = 0.0
        else:
            _leave(run, cycle, last)
        if fabric.wires > 0:
            cross_back(run, cycle, last)
        slot = cycle % fabric.ii
        for k in range(box.size[FILES]):
            file = box.files[k]
            read = labels.least[cycle, file]
            for register in range(fabric.file_at[file], fabric.file_at[file + 1]):
                cost = min(read, labels.best[cycle, tiles + register])
                if cost < FAR:
                    labels.best[cycle, tiles + register] = cost
                    cost += price(usage, 2 * tiles + register, slot, REGISTER_PRICE, present)
                    labels.write[cycle, file] = min(labels.write[cycle, file], cost)
            if fabric.wires > 0 and fabric.port_at[file] < fabric.port_at[file + 1]:
                enter_back(run, file, cycle)
        for k in range(box.size[TILES]):
            other = box.tiles[k]
            labels.enter[cycle, other] = _enter_price(fabric, labels, other, cycle)
