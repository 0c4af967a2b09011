"""Routes over the crossbars of an array within one cycle, compiled: which wires a value may be on, and at what price.

On arrays with crossbars a value crosses several links in one cycle, each of which carries one value per slot. A wire is
a link or an inner wire of a crossbar, and a *wire state* is a wire together with the number of links that the value has
crossed in this cycle. The states are numbered so that each comes after all that lead to it: one pass over them finds
the cheapest ways from every register to every wire, and no way crosses more links than a cycle allows. The depths of
one wire share its room, since the wire itself exists once.

A wire state is a storage of :mod:`gridloom.targets.modulo.mappers.route_kernel` that holds nothing: tiles read it in
the same cycle, and what it writes into a register is there in the next.
"""

from __future__ import annotations

from gridloom.jit import borrowing
from gridloom.targets.modulo.mappers.state import PlacerRun, SlotUsage

#: The price of what cannot be reached.
FAR = 1e18


@borrowing
def price(usage: SlotUsage, group: int, slot: int, base: float, present: float) -> float:
    """What one more signal pays for a group in a slot: more by ``present`` for each signal that is there already."""
    fee: float = (base + usage.history[group, slot]) * (1.0 + present * usage.used[group, slot])
    return fee


@borrowing
def cross(run: PlacerRun, cycle: int, last: int) -> None:
    """Least prices of all wire states of a cycle for the open net, from those of its registers.

    Wires that the net has in this cycle already cost nothing and keep what drives them. O(ways between wires).
    """
    fabric, usage, tree, labels, present = run.fabric, run.state.usage, run.work.tree, run.work.labels, run.present
    slot, issue = cycle % fabric.ii, 3 * fabric.tiles
    first = fabric.tiles + fabric.registers
    base = cycle * fabric.elements + issue
    for state in range(fabric.wires):
        storage = first + state
        if tree.own[cycle, issue + storage] == 0:
            least, where = FAR, -1
            for k in range(fabric.wire_at[state], fabric.wire_at[state + 1]):
                cost = labels.best[cycle, fabric.wire_from[k]]
                if cost < least:
                    least, where = cost, fabric.wire_from[k]
            if where < 0:
                continue
            fee = price(usage, fabric.wire_group[state], slot, fabric.wire_price[state], present)
            labels.best[cycle, storage] = least + fee
            labels.came[cycle, storage] = base + where
        file = fabric.wire_file[state]
        if file >= 0 and cycle < last and labels.best[cycle, storage] < labels.write[cycle + 1, file]:
            labels.write[cycle + 1, file] = labels.best[cycle, storage]
            labels.writer[cycle + 1, file] = base + storage


@borrowing
def cross_back(run: PlacerRun, cycle: int, last: int) -> None:
    """Prices from what drives wires to the goal, from those of the wires: the same steps, read from their ends."""
    fabric, usage, labels, present = run.fabric, run.state.usage, run.work.labels, run.present
    slot, first = cycle % fabric.ii, fabric.tiles + fabric.registers
    for state in range(fabric.wires - 1, -1, -1):
        cost: float = labels.best[cycle, first + state]
        file = fabric.wire_file[state]
        if file >= 0 and cycle < last:
            cost = min(cost, labels.write[cycle + 1, file])
        if cost >= FAR:
            continue
        labels.best[cycle, first + state] = cost
        cost += price(usage, fabric.wire_group[state], slot, fabric.wire_price[state], present)
        for k in range(fabric.wire_at[state], fabric.wire_at[state + 1]):
            source = fabric.wire_from[k]
            labels.best[cycle, source] = min(labels.best[cycle, source], cost)


@borrowing
def enter(run: PlacerRun, file: int, cycle: int) -> None:
    """Let what is written to a file in a cycle pass the cheapest of its write ports.

    A port that the net has in this cycle already costs nothing, and brings the value to any register of the file.
    """
    fabric, usage, labels, present = run.fabric, run.state.usage, run.work.labels, run.present
    first, slot = fabric.tiles + fabric.registers, cycle % fabric.ii
    written, least, where = labels.write[cycle, file], FAR, -1
    for k in range(fabric.port_at[file], fabric.port_at[file + 1]):
        state = fabric.port[k]
        cost: float = labels.best[cycle, first + state]
        if written < FAR:
            fee = price(usage, fabric.wire_group[state], slot, fabric.wire_price[state], present)
            if written + fee < cost:
                cost = written + fee
                labels.best[cycle, first + state] = cost
                labels.came[cycle, first + state] = labels.writer[cycle, file]
        if cost < least:
            least, where = cost, first + state
    labels.write[cycle, file] = least
    if where >= 0:
        labels.writer[cycle, file] = cycle * fabric.elements + 3 * fabric.tiles + where


@borrowing
def enter_back(run: PlacerRun, file: int, cycle: int) -> None:
    """Add the price of the cheapest write port to that of writing a file in a cycle."""
    fabric, usage, labels, present = run.fabric, run.state.usage, run.work.labels, run.present
    slot, least = cycle % fabric.ii, FAR
    for k in range(fabric.port_at[file], fabric.port_at[file + 1]):
        state = fabric.port[k]
        least = min(least, price(usage, fabric.wire_group[state], slot, fabric.wire_price[state], present))
    labels.write[cycle, file] += least
