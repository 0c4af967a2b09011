"""Legality of a program: every flow is legal by itself, and flows share nothing but channels.

A program (``gridloom.targets.streaming.program.model``) is several mapped loops side by side on one array. Whether its
channels are sound is checked where a program is made (``check_channels``), whether it computes the right values by
``sim.together``.
"""

from __future__ import annotations

import numpy as np

from gridloom.archs.model import Arch
from gridloom.targets.streaming.program.model import Flow, Program
from gridloom.verify.legality import legal
from gridloom.verify.violation import Violation


def legal_program(program: Program) -> list[Violation]:
    """Return every rule that a program breaks; an empty list means that it is legal. Costs a check per flow.

    The kinds ``tile-shared``, ``flow-array`` and ``flow-tiles`` exist for programs only.
    """
    violations: list[Violation] = []
    owner: dict[str, str] = {}
    for flow in program.flows:
        violations += [
            Violation(violation.kind, f"flow {flow.name}: {violation.where}", violation.demanded, violation.allowed)
            for violation in legal(flow.mapping)
        ]
        violations += _outside(program, flow)
        for tile in sorted(_tiles(flow)):
            other = owner.setdefault(tile, flow.name)
            if other != flow.name:
                violations.append(Violation("tile-shared", tile, f"flows {other} and {flow.name}", "one flow per tile"))
    return violations


def _tiles(flow: Flow) -> set[str]:
    """Return the tiles whose function unit, ports or links a flow uses, and its base tile.

    Names that the array does not have are left out: ``legal`` lists them.
    """
    arch = flow.mapping.arch
    places = {instance.place for instance in flow.mapping.instances}
    resources = places | {name for route in flow.mapping.routes for name, _ in route.hops}
    numbers = {int(arch.tile[r]) for r, name in enumerate(arch.resource_names) if name in resources}
    numbers |= {flow.base} if flow.base < len(arch.tiles) else set()
    return {tile.name for k, tile in enumerate(arch.tiles) if tile.name in places or k in numbers}


def _same_array(one: Arch, other: Arch) -> bool:
    """Return whether two arrays have the same tiles, resources, arcs and limits, whatever their names."""
    tables = ("kind", "tile", "position", "capacity", "group", "arc_source", "arc_target", "arc_latency", "arc_gate")
    facts = (
        "style", "tiles", "resource_names", "pools", "register_files", "banks", "settings", "free", "inputs", "rules",
        "data_memory", "route_uses_fu", "word", "links_per_cycle",
    )  # fmt: skip
    return one is other or (
        all(getattr(one, name) == getattr(other, name) for name in facts)
        and all(np.array_equal(getattr(one, name), getattr(other, name)) for name in tables)
    )


def _outside(program: Program, flow: Flow) -> list[Violation]:
    """Check that a flow stays on the array, within the tiles that it names."""
    where = f"flow {flow.name}"
    count = len(program.arch.tiles)
    if not _same_array(flow.mapping.arch, program.arch):
        return [Violation("flow-array", where, flow.mapping.arch.name, f"the program's array {program.arch.name}")]
    if flow.base < 0 or flow.base + flow.tiles > count:
        last = flow.base + flow.tiles - 1
        return [Violation("flow-tiles", where, f"tiles {flow.base} to {last}", f"tiles 0 to {count - 1}")]
    column = {tile.name: k for k, tile in enumerate(program.arch.tiles)}
    stray = sorted(t for t in _tiles(flow) if not flow.base <= column[t] < flow.base + flow.tiles)
    allowed = f"tiles {flow.base} to {flow.base + flow.tiles - 1}"
    return [Violation("flow-tiles", where, tile, allowed) for tile in stray]
