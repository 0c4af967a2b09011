"""What follows from wires that pass words on within a cycle: which may close a loop, and where a register is shared.

An array of combinational rows has arcs that a setting gates: a register with a bypass, which makes a value a cycle late
where the setting is on. Where all units that read a wire read it through the same gate, the register stands once at the
source instead of once at each reader.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence

from gridloom.archs.model import Arch, Kind

#: Resource -> (source, cycles, gate) of the arcs into it.
Incoming = Mapping[int, Sequence[tuple[int, int, int]]]


def looping(arch: Arch, incoming: Incoming) -> set[int]:
    """Return the resources that lie on loops of arcs without a register, and those between such loops.

    Words pass a function unit within a cycle where its tile has no latency. What is left after resources without a
    reader, or without a source, have been taken away again and again is returned. Linear in resources and arcs.
    """
    forward = defaultdict(list)
    for target, rows in incoming.items():
        for source, cycles, _ in rows:
            if cycles == 0 and not (arch.kind[target] == Kind.OUT and _registered(arch, target)):
                forward[source].append(target)
    for tile, unit in enumerate(arch.fu.tolist()):
        for operand in arch.operand_inputs[tile].tolist():
            if unit >= 0 and operand >= 0:
                forward[operand].append(unit)
    backward = defaultdict(list)
    for source, targets in forward.items():
        for target in targets:
            backward[target].append(source)
    return set(forward) & set(backward) - _open_ended(forward, backward) - _open_ended(backward, forward)


def _open_ended(forward: Mapping[int, list[int]], backward: Mapping[int, list[int]]) -> set[int]:
    """The resources that no loop leads to, from the first ones on."""
    left = Counter({node: len(sources) for node, sources in backward.items()})
    ready = [node for node in forward if left[node] == 0]
    seen = set(ready)
    while ready:
        for target in forward.get(ready.pop(), ()):
            left[target] -= 1
            if left[target] == 0:
                seen.add(target)
                ready.append(target)
    return seen


def _registered(arch: Arch, resource: int) -> bool:
    """Whether a register stands between the function unit of a tile and this output of it."""
    tile = arch.tiles[int(arch.tile[resource])]
    return min(map(tile.latency_of, tile.classes)) > 0


def gated_at_source(arch: Arch, incoming: Incoming, wires: Sequence[bool]) -> dict[int, int]:
    """Return resource -> gate for those that all wires of other units read through one and the same gate."""
    ways: dict[int, set[tuple[int, int]]] = defaultdict(set)
    tile = arch.tile.tolist()
    for target, rows in incoming.items():
        for source, cycles, gate in rows:
            if tile[source] != tile[target]:
                # A reader that is no wire takes the word without a gate.
                ways[source].add((cycles, gate) if wires[target] else (cycles, -1))
    single = {source: next(iter(found)) for source, found in ways.items() if len(found) == 1}
    return {source: gate for source, (cycles, gate) in single.items() if cycles == 0 and gate >= 0}
