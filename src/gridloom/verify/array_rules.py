"""Rules that some arrays add to those of every array, by the name under which an array lists them (``Arch.rules``).

They come from single chips: the row arrays need all outputs in one cycle and constants that fit their registers; the
streaming engine keeps variables in tile memories and restricts which nodes may share a tile. The family names the rules
that its arrays need, so that the checker never asks for the name of a family.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Final

from gridloom.verify.subject import PlacedInstance, Subject
from gridloom.verify.violation import Violation


def check_rules(subject: Subject) -> Iterator[Violation]:
    """Check the rules that the array names; a name that is not known is a violation, too."""
    for name in subject.arch.rules:
        rule = RULES.get(name)
        if rule is None:
            yield Violation("unknown-rule", subject.arch.name, repr(name), f"one of {', '.join(RULES)}")
        else:
            yield from rule(subject)


def _outputs_together(subject: Subject) -> Iterator[Violation]:
    """All outputs issue in one cycle; where row boundaries can be registered, in that of the last stage.

    The number of pipeline bits that are on is the number of stages before the last one, and so the cycle of its
    outputs. Arrays without such bits only need the outputs to agree with each other.
    """
    outputs = [placed for placed in subject.placed.values() if placed.node.op == "output"]
    bits = subject.graph.settings.get("pipeline") if subject.graph else None
    due = sum(bits) if bits is not None else min((placed.cycle for placed in outputs), default=0)
    for placed in outputs:
        if placed.cycle != due:
            yield Violation(
                "outputs-together", placed.name, f"issue at {placed.cycle}", f"cycle {due}, with all outputs"
            )


def _constants_17_bits(subject: Subject) -> Iterator[Violation]:
    """A constant register holds 17 bits, which it extends by their sign to the 24 of the data path.

    A value passes when extending its lowest 17 bits gives it back, modulo 2^24.
    """
    for placed in subject.placed.values():
        value = placed.node.value
        if placed.node.op != "const" or value is None:
            continue
        word = int(value) & 0xFFFFFF
        low = word & 0x1FFFF
        if word != (low | 0xFE0000 if low & 0x10000 else low):
            yield Violation("constant-range", placed.name, f"{value}", "-65536 to 65535")


def _tile_memory_shared(subject: Subject) -> Iterator[Violation]:
    """The nodes that use a tile-memory variable sit on one tile, and no tile needs more variables than it holds.

    A tile memory can be read only by its own tile, and a variable has one home.
    """
    on_tile: dict[int, set[str]] = {}
    for variable, users in sorted(_variable_users(subject).items()):
        tiles = {placed.tile for placed in users}
        for tile in tiles:
            on_tile.setdefault(tile, set()).add(variable)
        if len(tiles) > 1:
            found = ", ".join(f"{placed.name} on {placed.instance.place}" for placed in users)
            yield Violation("tile-memory-shared", f"variable {variable!r}", found, "one tile")
    for tile, variables in sorted(on_tile.items()):
        record = subject.arch.tiles[tile]
        if len(variables) > record.buffer:
            yield Violation("tile-memory-size", record.name, f"{len(variables)} variables", f"{record.buffer}")


def _variable_users(subject: Subject) -> dict[str, list[PlacedInstance]]:
    """Return for each variable the instances that use it: readers of a free live-in, and ops that name it."""
    users: dict[str, dict[tuple[str, int], PlacedInstance]] = {}

    def note(variable: str, node: str) -> None:
        """Add the placed copies of a node to the users of a variable."""
        for placed in subject.copies_of(node):
            if placed.tile >= 0:
                users.setdefault(variable, {})[node, placed.instance.copy] = placed

    for edge in subject.dfg.edges:
        source = subject.nodes[edge.source]
        if source.op == "livein" and edge.kind == "data" and subject.is_free(source.id):
            note(source.variable or source.id, edge.target)
    for node in subject.dfg.nodes:
        if node.variable is not None and node.op not in ("livein", "input", "output", "const"):
            note(node.variable, node.id)
    return {variable: list(members.values()) for variable, members in users.items()}


def _flow_starts_apart(subject: Subject) -> Iterator[Violation]:
    """Nodes that start a synchronous flow are on tiles of their own.

    A node starts a flow when no placed node feeds it within an iteration.
    """
    fed = {edge.target for _, edge in subject.routed_edges() if edge.distance == 0}
    starts = [placed for placed in subject.on_tiles() if placed.node.id not in fed]
    for tile, together in _crowded(starts):
        yield Violation("flow-starts-apart", subject.arch.tiles[tile].name, f"starts {together}", "one start per tile")


def _siblings_apart(subject: Subject) -> Iterator[Violation]:
    """Nodes that read the same instance within an iteration are on tiles of their own.

    Loop-carried edges do not count. Copies are told apart: readers of different copies of a node are no siblings.
    """
    readers: dict[tuple[str, int], dict[tuple[str, int], PlacedInstance]] = {}
    for k, edge in subject.routed_edges():
        if edge.distance:
            continue
        for target in subject.copies_of(edge.target):
            source = subject.reader_of(k, target)
            if source is not None and target.tile >= 0:
                key = (edge.source, source.instance.copy)
                readers.setdefault(key, {})[edge.target, target.instance.copy] = target
    for (node, _), members in readers.items():
        for tile, together in _crowded(list(members.values())):
            where = subject.arch.tiles[tile].name
            yield Violation("siblings-apart", where, f"{together}, which all read {node}", "one sibling per tile")


def _instruction_ram(subject: Subject) -> Iterator[Violation]:
    """No tile runs more different ops than its instruction RAM holds; slots with the same op share an entry."""
    ops: dict[int, set[str]] = {}
    for placed in subject.placed.values():
        if placed.tile >= 0 and placed.node.op not in ("const", "livein", "input", "output"):
            ops.setdefault(placed.tile, set()).add(placed.node.op)
    for tile, found in sorted(ops.items()):
        record = subject.arch.tiles[tile]
        if record.instructions is not None and len(found) > record.instructions:
            yield Violation("instruction-ram", record.name, f"{len(found)} different ops", f"{record.instructions}")


def _crowded(instances: list[PlacedInstance]) -> list[tuple[int, str]]:
    """Return the tiles with more than one of the instances, and the names of these."""
    tiles: dict[int, list[str]] = {}
    for placed in instances:
        tiles.setdefault(placed.tile, []).append(placed.name)
    return [(tile, ", ".join(names)) for tile, names in sorted(tiles.items()) if len(names) > 1]


#: Rule name, as in ``Arch.rules``, -> its check.
RULES: Final[dict[str, Callable[[Subject], Iterator[Violation]]]] = {
    "outputs_together": _outputs_together,
    "constants_17_bits": _constants_17_bits,
    "tile_memory_shared": _tile_memory_shared,
    "flow_starts_apart": _flow_starts_apart,
    "siblings_apart": _siblings_apart,
    "instruction_ram": _instruction_ram,
}
