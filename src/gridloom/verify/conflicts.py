"""Rules about uses: a resource carries one signal per slot (or as many as its capacity), and pools are not exceeded.

A use is a resource at a flat cycle with what it carries. Uses come from the hops of routes, and from what ops and moves
do besides: an op takes its issue slot, a result enters the tile's output whether or not a route reads it there, a
constant or a live-in stays where it is in every slot. An op that keeps its unit for several cycles (its occupancy)
takes the issue slot in all of them.

Uses are compared as signals: (node, copy, flat cycle). Two routes of one value share a resource where both are there in
the same flat cycle. The same value one II later is the value of another iteration, another signal in the same slot, and
so a conflict. This is why a fan-out shares a wire only where its branches have the same age.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from gridloom.archs.model import ISSUE_KINDS, Kind
from gridloom.verify.reading import cycles_of
from gridloom.verify.subject import Path, PlacedInstance, Subject, instance_name
from gridloom.verify.violation import Violation

#: What a resource carries or does: ("op", "busy with" or "", node, copy, flat cycle or None).
Use = tuple[str, str, int, int | None]
_BUSY: Final = "busy with"


class _Uses:
    """The distinct uses of each (group, slot).

    ``table`` maps (group, cycle mod II) to the set of (resource, use). The resource is kept beside the use, so that one
    signal in two resources of a group (a FU and a LOAD of one tile) counts twice.
    """

    def __init__(self, subject: Subject) -> None:
        self.subject = subject
        self.group: list[int] = subject.arch.group.tolist()
        self.table: dict[tuple[int, int], set[tuple[int, Use]]] = {}

    def add(self, resource: int, cycle: int, use: Use) -> None:
        """Record a use of a resource at a flat cycle."""
        key = (self.group[resource], cycle % self.subject.ii)
        self.table.setdefault(key, set()).add((resource, use))


def check_resources(subject: Subject) -> Iterator[Violation]:
    """No resource carries more signals in a slot than it has capacity for.

    Resources of one group are counted together; a capacity of 0 means no limit. One violation per group and slot, with
    all that meets there. Linear in the hops and in the II times the constants.
    """
    uses = _Uses(subject)
    for placed in subject.placed.values():
        _add_instance(uses, placed)
    for path in subject.paths:
        for k in range(len(path.hops)):
            _add_hop(uses, path, k)
    capacity: list[int] = subject.arch.capacity.tolist()
    for (group, slot), entries in sorted(uses.table.items()):
        room = min((capacity[resource] for resource, _ in entries if capacity[resource]), default=0)
        if room and len(entries) > room:
            yield _conflict(subject, group, slot, entries, room)


def _conflict(subject: Subject, group: int, slot: int, entries: set[tuple[int, Use]], room: int) -> Violation:
    """Return the violation of a group in a slot, with everything that is there in words."""
    where = f"{subject.arch.resource_names[group]} in slot {slot}"
    found = ", ".join(sorted(_spell(use) for _, use in entries))
    if any(use[0] == _BUSY for _, use in entries):
        return Violation("occupancy", where, found, "one op until the unit is free again")
    return Violation("conflict", where, found, "one signal" if room == 1 else f"{room} signals")


def _spell(use: Use) -> str:
    """Return a use in words."""
    what, node, copy, cycle = use
    words = [what] if what else []
    words.append(instance_name(node, copy))
    if cycle is not None:
        words.append(f"at {cycle}")
    return " ".join(words)


def _add_instance(uses: _Uses, placed: PlacedInstance) -> None:
    """Add the uses of an op: its issue slot, and its tile's output when the result is there.

    The output counts even when no route reads it there: hardware writes the result of every op into it, over whatever a
    route has left there to wait. On arrays with ``stores_write`` a store does so, too.
    """
    subject, instance = uses.subject, placed.instance
    if placed.resource < 0:
        return
    if placed.timeless:
        for slot in range(subject.ii):
            uses.add(placed.resource, slot, ("", instance.node, instance.copy, None))
        return
    if placed.tile < 0:
        return
    taken = cycles_of(subject.arch.tiles[placed.tile].occupancy, placed.op_class)
    # One more than II shows that the op runs into itself; further ones show nothing new.
    for cycle in range(placed.cycle, placed.cycle + min(taken, subject.ii + 1)):
        what = "op" if cycle == placed.cycle else _BUSY
        uses.add(placed.resource, cycle, (what, instance.node, instance.copy, cycle))
    op = subject.rows[instance.node]
    out = subject.outputs.get(placed.tile, -1)
    if (op.result or "stores_write" in subject.arch.traits) and op.op_class != "output" and out >= 0:
        ready = placed.cycle + placed.latency
        uses.add(out, ready, ("", instance.node, instance.copy, ready))


def _add_hop(uses: _Uses, path: Path, k: int) -> None:
    """Add the uses of a hop: the resource, and for a move its issue slot and the tile's output.

    A move or a spill load writes the output of its tile, as an op does, where the array has an arc for it; a spill
    store does not.
    """
    subject = uses.subject
    resource, cycle = path.hops[k]
    uses.add(resource, cycle, ("", *path.signal(cycle)))
    if subject.kind(resource) not in ISSUE_KINDS:
        return
    tile = subject.resource_tile[resource]
    taken = cycles_of(subject.arch.tiles[tile].occupancy, _move_class(subject, resource))
    for later in range(cycle + 1, cycle + min(taken, subject.ii + 1)):
        uses.add(resource, later, (_BUSY, *path.signal(later)))
    out = subject.outputs.get(tile, -1)
    if out >= 0 and subject.kind(resource) != Kind.STORE:
        for latency in subject.latencies(resource, cycle, out)[:1]:
            uses.add(out, cycle + latency, ("", *path.signal(cycle + latency)))


def _move_class(subject: Subject, resource: int) -> str:
    """Return the op class that a hop through an issue slot runs."""
    return "route" if subject.kind(resource) == Kind.FU else "mem"


def check_pools(subject: Subject) -> Iterator[Violation]:
    """Ops, moves, spill loads and stores stay within the shared capacities of their tiles in every slot."""
    issues = _issues(subject)
    for pool in subject.arch.pools:
        members = set(pool.tiles)
        slots: dict[int, list[str]] = {}
        for tile, op_class, slot, name in issues:
            if tile in members and op_class in pool.classes:
                slots.setdefault(slot, []).append(name)
        for slot, names in sorted(slots.items()):
            if len(names) > pool.capacity:
                found = f"{len(names)} ({', '.join(sorted(names))})"
                yield Violation("pool", f"{pool.name} in slot {slot}", found, f"{pool.capacity}")


def _issues(subject: Subject) -> list[tuple[int, str, int, str]]:
    """(tile, op class, slot, name) of everything that is issued; one signal's shared move counts once."""
    if not subject.arch.pools:
        return []
    issues = [(p.tile, p.op_class, p.cycle % subject.ii, p.name) for p in subject.on_tiles() if not p.timeless]
    moves: set[tuple[int, int, Use]] = set()
    for path in subject.paths:
        for resource, cycle in path.hops:
            if subject.kind(resource) in ISSUE_KINDS:
                moves.add((resource, cycle % subject.ii, ("", *path.signal(cycle))))
    for resource, slot, use in sorted(moves, key=str):
        name = f"{_spell(use)} through {subject.arch.resource_names[resource]}"
        issues.append((subject.resource_tile[resource], _move_class(subject, resource), slot, name))
    return issues
