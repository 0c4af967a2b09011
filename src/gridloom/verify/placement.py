"""Rules about instances: which nodes have one, how copies are numbered, what a place can do, when inputs issue.

An instance is a copy of a node on a tile. Mappers may recompute a value, which gives a node several copies; the world
outside must not notice, so that ops with a side effect have one. Live-ins may sit in a register or in memory in place
of a tile.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from gridloom.archs.model import Kind, RegisterFile
from gridloom.verify.reading import TIMELESS
from gridloom.verify.subject import PlacedInstance, Subject
from gridloom.verify.violation import Violation

#: Ops that the world outside the loop sees: a second instance would do it twice.
SIDE_EFFECTS: Final = frozenset({"store", "store_if", "store_address", "store_data", "input", "output"})


#: Op classes whose ops a tile may have in part (``Tile.lacks``).
_INTEGER: Final = frozenset({"alu", "mul", "div"})


def check_nodes(subject: Subject) -> Iterator[Violation]:
    """Each node that needs a place has instances, numbered from 0; nodes with side effects have one.

    Op classes that the array has for free (``Arch.free``) must have none. On elastic arrays every node has one.
    """
    numbers: dict[str, list[int]] = {}
    for instance in subject.mapping.instances:
        numbers.setdefault(instance.node, []).append(instance.copy)
    for node in subject.dfg.nodes:
        copies = sorted(numbers.get(node.id, []))
        if subject.is_free(node.id):
            if copies:
                yield Violation("free-node", node.id, "an instance", f"none: {node.op} needs no tile on this array")
            continue
        if not copies:
            yield Violation("unplaced", node.id, "no instance", "at least one")
        elif copies != list(range(len(copies))):
            found = ", ".join(map(str, copies))
            yield Violation("copies", node.id, f"copies {found}", "0, 1, ... once each")
        if len(copies) > 1 and (node.op in SIDE_EFFECTS or not subject.timed):
            reason = f"{node.op} has a side effect" if subject.timed else f"the array is {subject.arch.style}"
            yield Violation("single-copy", node.id, f"{len(copies)} instances", f"one: {reason}")


def check_places(subject: Subject) -> Iterator[Violation]:
    """Each place can run, or keep, what sits there.

    A node may need several op classes at once; its tile must have them all. On static grids a result that no
    ``output`` op names leaves the array where it is computed, and needs a tile that outputs.
    """
    rotating = _rotating(subject)
    results = _unread(subject) if "grid" in subject.arch.traits else frozenset()
    for placed in subject.placed.values():
        if placed.tile >= 0:
            tile = subject.arch.tiles[placed.tile]
            needed = _needed_classes(subject, placed, results)
            if needed <= tile.classes and placed.node.op in tile.lacks and needed & _INTEGER:
                lacking = ", ".join(sorted(tile.lacks))
                yield Violation("op-class", f"{placed.name} on {tile.name}", placed.node.op, f"ops but {lacking}")
            if not needed <= tile.classes or placed.resource < 0:
                has = ", ".join(sorted(tile.classes)) or "none"
                wanted = " and ".join(sorted(needed))
                yield Violation("op-class", f"{placed.name} on {tile.name}", wanted, f"op classes {has}")
        elif placed.resource >= 0:
            yield from _check_kept(subject, placed, rotating)


def _needed_classes(subject: Subject, placed: PlacedInstance, results: frozenset[str]) -> frozenset[str]:
    """Return the op classes that the tile of an instance must have all of.

    A stream that enters through a multiplier needs both classes, and a result that leaves the array needs ``output``.
    """
    own = subject.rows[placed.node.id].op_class
    ports = [own] if own in ("input", "output") else []
    return frozenset([placed.op_class, *ports, *(["output"] if placed.node.id in results else [])])


def _unread(subject: Subject) -> frozenset[str]:
    """Return the nodes with a result that no other node reads and that are no ``output`` ops."""
    read = {edge.source for edge in subject.dfg.edges if edge.kind != "order" and edge.source != edge.target}
    made = {name for name, row in subject.rows.items() if row.result and row.op_class not in TIMELESS}
    return frozenset(name for name in made - read if subject.nodes[name].op != "output")


def _rotating(subject: Subject) -> dict[int, list[tuple[RegisterFile, int]]]:
    """For each register that rotates its file, or files, and how many registers rotate there."""
    found: dict[int, list[tuple[RegisterFile, int]]] = {}
    if subject.graph is None:
        return found
    for file in subject.arch.register_files:
        count = subject.graph.settings["rotating"].get(file.name, file.rotating)
        for register in file.registers[:count]:
            found.setdefault(register, []).append((file, count))
    return found


def _check_kept(
    subject: Subject, placed: PlacedInstance, rotating: dict[int, list[tuple[RegisterFile, int]]]
) -> Iterator[Violation]:
    """A register or the memory can keep a live-in, and a register only outside the rotating part of its file.

    A live-in is written once, before the loop. In a rotating register it would be another register's value after one
    iteration.
    """
    place = placed.instance.place
    if placed.op_class != "livein":
        yield Violation("op-class", f"{placed.name} in {place}", placed.op_class, "live-ins only")
    if subject.kind(placed.resource) != Kind.REG or subject.graph is None:
        return
    for file, count in rotating.get(placed.resource, []):
        yield Violation(
            "rotating-live-in",
            f"{placed.name} in {place}",
            f"register {file.registers.index(placed.resource)} of {file.name}",
            f"registers from {count} on: the first {count} rotate",
        )


def check_contexts(subject: Subject) -> Iterator[Violation]:
    """The II fits the context memory of every tile that does something.

    A tile stores one context (an instruction with its multiplexer settings) per slot. Tiles that only pass a value on
    need theirs, too.
    """
    used = {placed.tile for placed in subject.on_tiles()}
    used |= {subject.resource_tile[r] for path in subject.paths for r, _ in path.hops}
    for k in sorted(used - {-1}):
        tile = subject.arch.tiles[k]
        if tile.contexts is not None and subject.ii > tile.contexts:
            yield Violation("contexts", tile.name, f"II {subject.ii}", f"{tile.contexts} slots")


def check_cycles(subject: Subject) -> Iterator[Violation]:
    """Nothing happens before cycle 0; aligned inputs all issue there."""
    for placed in subject.placed.values():
        if placed.cycle < 0:
            yield Violation("negative-cycle", placed.name, f"issue at {placed.cycle}", "0 or later")
        if subject.arch.inputs == "aligned" and placed.node.op == "input" and placed.cycle != 0:
            yield Violation("inputs-aligned", placed.name, f"issue at {placed.cycle}", "0: inputs are aligned")
    for path in subject.paths:
        first = min((cycle for _, cycle in path.hops), default=0)
        if first < 0:
            yield Violation("negative-cycle", path.name, f"a hop at cycle {first}", "0 or later")
