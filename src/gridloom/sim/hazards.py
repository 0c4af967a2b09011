"""Issues that hardware would lose: an op that meets a unit which is still busy.

A unit that keeps an op for several cycles (its occupancy) takes nothing else until then. What is issued in between is
lost: the simulator lets it read values that were never driven and store nothing, so that the run shows wrong values,
and says why. Slots repeat every II cycles, so that a conflict of two slots is one in every round.
"""

from __future__ import annotations

from collections import defaultdict

from gridloom.mapping.configuration import Configuration, Slot


def lost_issues(configuration: Configuration) -> dict[int, str]:
    """Return for each issue that is lost, by its position in ``configuration.slots``, the reason in words.

    Linear in the issues and the cycles for which they keep their units.
    """
    return _busy_units(configuration)


def _busy_units(configuration: Configuration) -> dict[int, str]:
    """Issues that meet a unit which another op, or the same one of the iteration before, still keeps."""
    arch, ii = configuration.arch, configuration.ii
    at: defaultdict[tuple[int, int], list[int]] = defaultdict(list)
    for k, slot in enumerate(configuration.slots):
        at[int(arch.group[slot.resource]), slot.slot].append(k)
    lost: dict[int, str] = {}
    for k, slot in enumerate(configuration.slots):
        kept = arch.tiles[slot.tile].occupancy_of(_op_class(configuration, slot))
        for later in range(1, min(kept, ii + 1)):
            for other in at[int(arch.group[slot.resource]), (slot.slot + later) % ii]:
                if other != k or later == ii:
                    lost.setdefault(other, _busy(configuration, other, k, kept))
    return lost


def _busy(configuration: Configuration, other: int, k: int, kept: int) -> str:
    """The reason why an issue is lost to one that keeps the unit."""
    first, second = (_name(configuration, configuration.slots[n]) for n in (k, other))
    tile = configuration.arch.tiles[configuration.slots[k].tile].name
    slot = configuration.slots[other].slot
    return f"tile {tile}: {second} issues in slot {slot} while {first} keeps the unit for {kept} cycles"


def _name(configuration: Configuration, slot: Slot) -> str:
    """An issue in words."""
    return configuration.dfg.nodes[slot.node].id if slot.kind == "op" else f"a {slot.kind}"


def _op_class(configuration: Configuration, slot: Slot) -> str:
    """The op class of an issue: of the node, or of a move, a spill load or a spill store."""
    if slot.kind == "op":
        return configuration.dfg.op_class(configuration.dfg.nodes[slot.node].id)
    return "route" if slot.kind == "move" else "mem"
