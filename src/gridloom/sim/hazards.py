"""Issues that hardware would lose: an op that meets a busy unit, an access without a port, a word without a store.

A unit that keeps an op for several cycles (its occupancy) takes nothing else until then. What is issued in between is
lost: the simulator lets it read values that were never driven and store nothing, so that the run shows wrong values,
and says why. A bank serves as many accesses per cycle as it has ports, in the order of the tiles, and loses the rest.
A constant store keeps as many words as it has; ops whose words are beyond them are lost.
Slots repeat every II cycles, so that a conflict of two slots is one in every round.
"""

from __future__ import annotations

from collections import defaultdict

from gridloom.mapping.configuration import Configuration, Operand, Slot
from gridloom.sim.reading import busy_cycles, op_classes

#: Numbers, and names of live-ins, which are texts.
_Words = tuple[object, ...]


def lost_issues(configuration: Configuration) -> dict[int, str]:
    """Return for each issue that is lost, by its position in ``configuration.slots``, the reason in words.

    Linear in the issues and the cycles for which they keep their units.
    """
    return _busy_units(configuration) | _crowded_banks(configuration) | _full_stores(configuration)


def _full_stores(configuration: Configuration) -> dict[int, str]:
    """Ops whose constants or initial values the store of their tile has no room for; the longest operands go first.

    The store is filled as configured: word by word for each operand, unless its words lie side by side in it already.
    """
    lost: dict[int, str] = {}
    for tile, record in enumerate(configuration.arch.tiles):
        if record.constants is None:
            continue
        needs = {
            k: {words for operand in slot.operands if (words := _kept_words(configuration, operand))}
            for k, slot in enumerate(configuration.slots)
            if slot.tile == tile and slot.kind == "op"
        }
        store: list[_Words] = []
        for words in sorted({words for group in needs.values() for words in group}, key=lambda w: (-len(w), repr(w))):
            if not _stored(words, store) and sum(map(len, store)) + len(words) <= record.constants:
                store.append(words)
        for k, group in needs.items():
            if not all(_stored(words, store) for words in group):
                name = _name(configuration, configuration.slots[k])
                room = f"its constant store has {record.constants} words"
                lost[k] = f"tile {record.name}: {room}, and {name} needs a word more"
    return lost


def _kept_words(configuration: Configuration, operand: Operand) -> _Words:
    """The words that an operand reads from the store: its initial values, then a constant or a live-in."""
    words: list[object] = list(operand.initial[: operand.distance])
    if operand.kind == "const":
        words.append(configuration.dfg.nodes[operand.node].value or 0)
    elif operand.kind == "livein":
        words.append(configuration.dfg.nodes[operand.node].id)
    return tuple(words)


def _stored(words: _Words, store: list[_Words]) -> bool:
    """Whether words lie side by side in a store."""
    return any(words == kept[k : k + len(words)] for kept in store for k in range(len(kept)))


def _busy_units(configuration: Configuration) -> dict[int, str]:
    """Issues that meet a unit which another op, or the same one of the iteration before, still keeps."""
    arch, ii = configuration.arch, configuration.ii
    at: defaultdict[tuple[int, int], list[int]] = defaultdict(list)
    for k, slot in enumerate(configuration.slots):
        at[int(arch.group[slot.resource]), slot.slot].append(k)
    lost: dict[int, str] = {}
    classes = op_classes(configuration.dfg)
    for k, slot in enumerate(configuration.slots):
        kept = busy_cycles(arch, slot.tile, _op_class(classes, slot))
        for later in range(1, min(kept, ii + 1)):
            for other in at[int(arch.group[slot.resource]), (slot.slot + later) % ii]:
                if other != k or later == ii:
                    lost.setdefault(other, _busy(configuration, other, k, kept))
    return lost


def _crowded_banks(configuration: Configuration) -> dict[int, str]:
    """Accesses beyond the ports of their bank in a slot, and accesses that have no way to their bank."""
    arch, dfg = configuration.arch, configuration.dfg
    if not arch.banks:
        return {}
    chosen = configuration.settings.get("banks", {})
    banks = {bank.name: bank for bank in arch.banks}
    started: defaultdict[tuple[str, int], list[int]] = defaultdict(list)
    lost: dict[int, str] = {}
    classes = op_classes(dfg)
    order = sorted(range(len(configuration.slots)), key=lambda k: configuration.slots[k].tile)
    for k in order:
        slot = configuration.slots[k]
        if slot.kind != "op" or _op_class(classes, slot) not in ("mem", "mem_data"):
            continue
        name = chosen.get(dfg.nodes[slot.node].array or "")
        tile = arch.tiles[slot.tile].name
        if name not in banks or slot.tile not in banks[name].tiles:
            lost[k] = f"tile {tile}: {_name(configuration, slot)} has no way to bank {name!r}"
        elif _op_class(classes, slot) == "mem":
            started[name, slot.slot].append(k)
    for (name, number), members in sorted(started.items()):
        for k in members[banks[name].ports :]:
            asked = ", ".join(_name(configuration, configuration.slots[m]) for m in members)
            lost[k] = (
                f"bank {name}: {len(members)} accesses in slot {number} ({asked}); it has {banks[name].ports} per cycle"
            )
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


def _op_class(classes: list[str], slot: Slot) -> str:
    """The op class of an issue: of the node, or of a move, a spill load or a spill store."""
    if slot.kind == "op":
        return classes[slot.node]
    return "route" if slot.kind == "move" else "mem"
