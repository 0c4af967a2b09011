"""Reasons why a graph cannot go on a streaming engine, found before any search.

Each is a proof: ops and operands that no tile has, rules C1 to C3 that contradict each other or the pins, more nodes or
variables than there is room for, an II below its lower bound, and at last a bounded search for tiles alone. What passes
may still have no placement, since times, links and delay registers are not looked at.
"""

from __future__ import annotations

import numpy as np

from gridloom.mapping.mii import mii
from gridloom.mapping.model import Failure, as_proof
from gridloom.search.arrays import Int32s
from gridloom.targets.streaming.mappers.problem import SpokesProblem

#: Steps after which the search for tiles gives up and leaves the question to the mapper.
_STEPS = 20_000
#: Units up to which tiles are searched for at all: each is a level of recursion.
_UNITS = 400


def screen(problem: SpokesProblem, ii: int | None) -> Failure | None:
    """The first reason why no placement exists (at ``ii``, where one is asked for); None when there is none to see.

    Costs the MII and a bounded backtracking search for tiles. Without ``ii`` the question is put for the largest one.
    """
    return as_proof(_first_reason(problem, ii))


def _first_reason(problem: SpokesProblem, ii: int | None) -> Failure | None:
    """The first reason of :func:`screen`."""
    reason = _shape(problem) or _apart_and_together(problem) or _pins(problem) or _crowds(problem)
    if reason is not None:
        return reason
    lowest = least_ii(problem)
    asked = problem.spokes if ii is None else ii
    if asked > problem.spokes:
        return Failure(constraint="spokes", demand=f"II {asked}", bound=f"{problem.spokes}", levers=("more spokes",))
    if lowest > asked:
        levers = (f"II {lowest}",) if lowest <= problem.spokes else (f"spokes={lowest}", "more tiles")
        return Failure(
            constraint="slots and recurrences", demand=f"II {lowest}", bound=f"{asked} spokes per tile", levers=levers
        )
    found, proved = tile_assignment(problem, asked)
    if found is None and proved:
        return Failure(
            constraint="tiles that C1 to C3 leave",
            demand=f"{problem.size} nodes apart or together",
            bound=f"{problem.tiles} tiles with {asked} spokes",
            levers=("more tiles", "more spokes"),
        )
    return None


def least_ii(problem: SpokesProblem) -> int:
    """A lower bound on the II: slots, recurrences and the nodes that variables keep on one tile."""
    groups = np.bincount(problem.tables.group[problem.tables.group >= 0], minlength=1)
    return max(mii(problem.dfg, problem.arch).total, int(groups.max(initial=1)), 1)


def _shape(problem: SpokesProblem) -> Failure | None:
    """A failure for an op class, a number of operands or a kind of edge that the tiles do not have."""
    dfg, arch = problem.dfg, problem.arch
    most = min(tile.operands for tile in arch.tiles)
    everywhere = frozenset.intersection(*(frozenset(tile.classes) for tile in arch.tiles))
    for n in range(problem.size):
        name = problem.name(n)
        missing = sorted(dfg.required_classes(name) - everywhere)
        if missing:
            return Failure(
                constraint=f"op class of node {name!r}", demand=" and ".join(missing), bound=f"none on {arch.name}"
            )
        if len(dfg.operand_edges(name)) > most:
            return Failure(
                constraint=f"operands of node {name!r}",
                demand=f"{len(dfg.operand_edges(name))}",
                bound=f"{most} on {arch.name}",
                levers=(f"operands={len(dfg.operand_edges(name))}",),
            )
    pair = next((edge for edge in dfg.edges if edge.kind == "pair"), None)
    if pair is not None:
        return Failure(
            constraint=f"exact offset of {pair.source!r} and {pair.target!r}",
            demand="a unit that both share",
            bound=f"none on {arch.name}",
            levers=("single-node loads and stores",),
        )
    return None


def _apart_and_together(problem: SpokesProblem) -> Failure | None:
    """Nodes that variables put on one tile and C2 or C3 on two."""
    group = problem.tables.group
    for why, members in problem.cliques:
        seen: dict[int, int] = {}
        for n in members:
            other = seen.setdefault(int(group[n]), n) if group[n] >= 0 else n
            if other != n:
                shared = ", ".join(repr(v) for v, nodes in problem.variables.items() if n in nodes or other in nodes)
                return Failure(
                    constraint=f"tiles of {problem.name(other)!r} and {problem.name(n)!r}",
                    demand=f"one tile, for tile-memory variables {shared}",
                    bound=f"two tiles: {why}",
                    levers=("a copy of the variable for each of them",),
                )
    return None


def _pins(problem: SpokesProblem) -> Failure | None:
    """Nodes pinned to two tiles that variables put on one, or pinned to one tile that C2 or C3 put on two."""
    tables, names = problem.tables, problem.arch.tiles
    held = [n for n in range(problem.size) if tables.pinned[n] >= 0]
    for n in held:
        others = set(tables.conflict[tables.conflict_at[n] : tables.conflict_at[n + 1]].tolist())
        for m in held[: held.index(n)]:
            together = tables.group[n] >= 0 and tables.group[n] == tables.group[m]
            same = tables.pinned[n] == tables.pinned[m]
            if (together and not same) or (same and m in others):
                tiles = [names[int(tables.pinned[k])].name for k in (m, n)]
                return Failure(
                    constraint=f"pinned tiles of {problem.name(m)!r} and {problem.name(n)!r}",
                    demand="one tile, for tile-memory variables" if together else "two tiles: C1 to C3",
                    bound=f"{tiles[0]} and {tiles[1]}",
                    levers=("other tiles",),
                )
    return None


def _crowds(problem: SpokesProblem) -> Failure | None:
    """More nodes that need tiles of their own than there are tiles, more variables than the memories hold."""
    for why, members in problem.cliques:
        if len(members) > problem.tiles:
            return Failure(
                constraint=why,
                demand=f"{len(members)} tiles",
                bound=f"{problem.tiles}",
                levers=(f"{len(members)} tiles", "streams from a common node"),
            )
    room = problem.tables.device.memory
    largest = int(problem.tables.entries.max(initial=0))
    total = int(problem.tables.entries.sum())
    if largest > room or total > room * problem.tiles:
        return Failure(
            constraint="tile memory",
            demand=f"{total} variables, {largest} of them on one tile",
            bound=f"{room} entries on each of {problem.tiles} tiles",
            levers=(f"tile_memory={max(largest, -(-total // problem.tiles))}",),
        )
    return None


def tile_assignment(problem: SpokesProblem, ii: int) -> tuple[Int32s | None, bool]:
    """Tiles that keep C1 to C3 with at most ``ii`` nodes each, or None; and whether None is a proof.

    Backtracking over the most constrained unit first (a unit is a node, or all nodes that share variables), within a
    fixed number of steps; large graphs are not tried. Besides the proof of ``screen``, it gives a first placement where
    random ones fail.
    """
    search = _Assignment(problem, ii)
    if len(search.order) > _UNITS:
        return None, False
    found = search.extend(0)
    return (search.tiles_of_nodes() if found else None), search.steps < _STEPS


class _Assignment:
    """The backtracking search: units in a fixed order, and what is left of each tile.

    A unit has the number of its group, which is that of its first node, or else its own number as a node.
    """

    def __init__(self, problem: SpokesProblem, ii: int) -> None:
        tables = problem.tables
        unit_of = [int(tables.group[n]) if tables.group[n] >= 0 else n for n in range(problem.size)]
        self.problem = problem
        self.members: dict[int, list[int]] = {}
        for n, unit in enumerate(unit_of):
            self.members.setdefault(unit, []).append(n)
        self.conflicts = {
            unit: {
                unit_of[m]
                for n in nodes
                for m in tables.conflict[tables.conflict_at[n] : tables.conflict_at[n + 1]].tolist()
            }
            for unit, nodes in self.members.items()
        }
        #: The tile that a member of a unit is pinned to. Pinned units come first: then the tiles left empty are alike.
        self.pinned = {unit_of[n]: int(tables.pinned[n]) for n in range(problem.size) if tables.pinned[n] >= 0}
        self.order = sorted(
            self.members, key=lambda u: (u not in self.pinned, -len(self.conflicts[u]), -len(self.members[u]), u)
        )
        self.ii = ii
        self.room = [ii] * problem.tiles
        self.memory = [tables.device.memory] * problem.tiles
        self.place: dict[int, int] = {}
        self.steps = 0

    def extend(self, k: int) -> bool:
        """Place the units from the k-th on; False: there is no such assignment, or the steps are used up."""
        if k == len(self.order):
            return True
        unit = self.order[k]
        taken = {self.place[other] for other in self.conflicts[unit] if other in self.place}
        size, entries = len(self.members[unit]), int(self.problem.tables.entries[unit])
        fresh = False
        tiles = [self.pinned[unit]] if unit in self.pinned else range(self.problem.tiles)
        for t in tiles:
            untouched = self.room[t] == self.ii
            # Empty tiles are alike: trying one of them is enough.
            if t in taken or self.room[t] < size or self.memory[t] < entries or (untouched and fresh):
                continue
            if not self._instructions_fit(unit, t):
                continue
            fresh = fresh or untouched
            self.steps += 1
            if self.steps >= _STEPS:
                return False
            self._put(unit, t, size, entries)
            if self.extend(k + 1):
                return True
            self._put(unit, t, -size, -entries)
            del self.place[unit]
        return False

    def _instructions_fit(self, unit: int, tile: int) -> bool:
        """True when the ops of a unit fit the instruction RAM of a tile beside those that are there."""
        limit, opcode = self.problem.tables.device.instructions, self.problem.tables.opcode
        if limit < 0:
            return True
        units = [unit, *(other for other, t in self.place.items() if t == tile)]
        return len({int(opcode[n]) for other in units for n in self.members[other]}) <= limit

    def _put(self, unit: int, tile: int, size: int, entries: int) -> None:
        """Place a unit, or with negative amounts give back what it took."""
        self.place[unit] = tile
        self.room[tile] -= size
        self.memory[tile] -= entries

    def tiles_of_nodes(self) -> Int32s:
        """The tile of each node."""
        found = np.zeros(self.problem.size, dtype=np.int32)
        for unit, nodes in self.members.items():
            found[nodes] = self.place[unit]
        return found
