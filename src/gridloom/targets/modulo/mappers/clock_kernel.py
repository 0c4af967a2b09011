"""What candidates pay for the clocks by which they make their slots longer, compiled.

On some arrays all tiles step together, and a slot lasts as long as its slowest op, or as the accesses that one bus
serves in turn. Two mappings of one II then differ in clocks. A node that joins a slot which is long anyway
pays nothing.

Cost: the number of nodes and of candidates.
"""

from __future__ import annotations

from gridloom.jit import borrowing
from gridloom.targets.modulo.mappers.crossbars.wire_kernel import FAR
from gridloom.targets.modulo.mappers.reach.box_kernel import TILES
from gridloom.targets.modulo.mappers.state import ModuloLoop, ModuloState, PlacerRun, SlotClocks


@borrowing
def _measure(loop: ModuloLoop, state: ModuloState, slots: SlotClocks) -> None:
    """Fill in how long each slot lasts with the nodes that are placed."""
    ii = len(slots.clocks)
    slots.longest[:] = 1
    slots.waiting[:] = 0
    for node in range(loop.nodes):
        tile = state.tile[node]
        if tile >= 0:
            slot, kind = state.cycle[node] % ii, loop.kind[node]
            slots.longest[slot] = max(slots.longest[slot], slots.alone[kind])
            if slots.lane[kind, tile] >= 0:
                slots.waiting[slots.lane[kind, tile], slot] += 1
    for slot in range(ii):
        slots.clocks[slot] = slots.longest[slot]
        for lane in range(len(slots.waiting)):
            if slots.waiting[lane, slot] > 0:
                slots.clocks[slot] = max(slots.clocks[slot], slots.waiting[lane, slot] + 1)


@borrowing
def add_clock_prices(run: PlacerRun, node: int, low: int, high: int, clock_price: float) -> None:
    """Add to the candidates of a node what the clocks cost that they add to their slots."""
    loop, slots, cost, box = run.loop, run.work.clocks, run.work.cost, run.work.labels.box
    ii, kind = len(slots.clocks), loop.kind[node]
    _measure(loop, run.state, slots)
    for at in range(box.size[TILES]):
        tile = box.tiles[at]
        lane = slots.lane[kind, tile]
        for cycle in range(low, high + 1):
            if cost[tile, cycle] < FAR:
                slot = cycle % ii
                clocks = max(slots.clocks[slot], slots.alone[kind])
                if lane >= 0:
                    clocks = max(clocks, slots.waiting[lane, slot] + 2)
                cost[tile, cycle] += clock_price * (clocks - slots.clocks[slot])
