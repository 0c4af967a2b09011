"""The exact model for tiles with spokes: tile, spoke and issue of each node, fewest cycles (OR-Tools CP-SAT).

Variables: one Boolean per (node, tile, spoke), of which each slot has at most one; tile, spoke and issue are sums of
them. Issues may be later than the rule makes them: whatever tiles and spokes they have, the rule's own are no later, so
the optimum is the same. Each issue has the window that the longest paths leave it within the cycles that are allowed.
Distances are bounded between all nodes that values lead from and to, not only along edges: this follows from the edges,
but the solver would find it step by step.

A placement moved to the left, mirrored, or with exchangeable nodes exchanged, stays one: the first tile is used, and
one placement of each such set is kept (:mod:`gridloom.targets.streaming.mappers.exact.symmetry`).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from gridloom.search.budget import SearchClock
from gridloom.search.solver import check_clock, cp_model
from gridloom.targets.streaming.mappers.exact.links import LinkVariables, add_links
from gridloom.targets.streaming.mappers.exact.reach import Paths, paths_of
from gridloom.targets.streaming.mappers.exact.symmetry import exchangeable
from gridloom.targets.streaming.mappers.problem import SpokesProblem


@dataclass(frozen=True, slots=True)
class SpokesModel:
    """The CP-SAT model with its variables, one of each kind per node; ``links`` only where they are modelled."""

    model: Any
    tile: list[Any]
    spoke: list[Any]
    issue: list[Any]
    links: LinkVariables | None = None


def build_model(
    problem: SpokesProblem, ii: int, least: int, most: int | None, clock: SearchClock, *, with_links: bool
) -> SpokesModel:
    """Return the model of a problem at an II, with from ``least`` to ``most`` cycles.

    Without ``most`` the horizon is a generous guess: room for every node to wait for a whole row of tiles and an II,
    four times. OutOfTimeError where the clock ends first.
    """
    last = most if most is not None else 4 * (problem.latency + problem.tiles + ii) * max(1, problem.size)
    build = _Build(problem, ii, last, clock)
    build.slots()
    build.times()
    build.rules()
    build.instruction_ram()
    build.one_of_each_set()
    links = None
    if with_links:
        links = add_links(build.model, problem, ii, build.tile, build.issue, build.here, last, clock)
    cycles = build.model.new_int_var(min(least, last), last, "cycles")
    for n in range(problem.size):
        build.model.add(cycles >= build.issue[n] + problem.latency + int(build.paths.tail[n]))
    build.model.minimize(cycles)
    return SpokesModel(build.model, build.tile, build.spoke, build.issue, links)


class _Build:
    """The parts of a model, added one after the other."""

    def __init__(self, problem: SpokesProblem, ii: int, last: int, clock: SearchClock) -> None:
        self.problem, self.ii, self.last, self.clock = problem, ii, last, clock
        self.model = cp_model().CpModel()
        self.paths: Paths = paths_of(problem)
        nodes, tiles = range(problem.size), range(problem.tiles)
        new, flag = self.model.new_int_var, self.model.new_bool_var
        self.tile = [new(0, problem.tiles - 1, f"tile{n}") for n in nodes]
        self.spoke = [new(0, ii - 1, f"spoke{n}") for n in nodes]
        #: Where the windows are empty the model has no solution, which the solver has to be told in its own way.
        latest = [max(int(self.paths.head[n]), last - problem.latency - int(self.paths.tail[n])) for n in nodes]
        self.issue = [new(int(self.paths.head[n]), latest[n], f"issue{n}") for n in nodes]
        #: The node is on the tile; the node is on the tile in the spoke.
        self.here = [[flag("") for _ in tiles] for _ in nodes]
        self.slot = [[[flag("") for _ in range(ii)] for _ in tiles] for _ in nodes]

    def slots(self) -> None:
        """Each node has a slot, and each slot a node at most."""
        model, tiles = self.model, range(self.problem.tiles)
        for n in range(self.problem.size):
            check_clock(self.clock)
            model.add_exactly_one(self.here[n])
            model.add_exactly_one(flag for row in self.slot[n] for flag in row)
            for t in tiles:
                model.add(sum(self.slot[n][t]) == self.here[n][t])
            model.add(self.tile[n] == sum(t * self.here[n][t] for t in tiles))
            model.add(self.spoke[n] == sum(s * self.slot[n][t][s] for t in tiles for s in range(self.ii)))
            rounds = model.new_int_var(0, self.last // self.ii + 1, "")
            model.add(self.issue[n] == self.spoke[n] + self.ii * rounds)
        for t in tiles:
            for s in range(self.ii):
                model.add_at_most_one(self.slot[n][t][s] for n in range(self.problem.size))

    def times(self) -> None:
        """A value is there before its reader issues, with a cycle for each tile between them."""
        tables, between = self.problem.tables, self.paths.between
        for n in range(self.problem.size):
            check_clock(self.clock)
            for e in range(tables.pred_at[n], tables.pred_at[n + 1]):
                wait = int(tables.pred_lag[e]) - self.ii * int(tables.pred_distance[e])
                self._after(int(tables.pred[e]), n, wait, far=bool(tables.pred_far[e]))
            for p in range(self.problem.size):
                if p != n and self.paths.reaches(p, n):
                    room = self.last - self.problem.latency - self.paths.tail[n] - self.paths.head[p] - between[p, n]
                    if room < self.problem.tiles - 1:
                        self._after(p, n, int(between[p, n]), far=True)

    def _after(self, p: int, n: int, wait: int, *, far: bool) -> None:
        """Node n issues so many cycles after node p, and where a value is carried one later for each tile between."""
        if not far or p == n:
            self.model.add(self.issue[n] >= self.issue[p] + wait)
            return
        for left, right in ((p, n), (n, p)):
            self.model.add(self.issue[n] - self.issue[p] - wait >= self.tile[left] - self.tile[right])

    def rules(self) -> None:
        """C1 to C3 and the tile memories; memories only where all variables together exceed one of them."""
        tables, tiles = self.problem.tables, range(self.problem.tiles)
        for _, members in self.problem.cliques:
            for t in tiles:
                self.model.add_at_most_one(self.here[n][t] for n in members)
        for n in range(self.problem.size):
            if tables.group[n] >= 0 and tables.group[n] != n:
                self.model.add(self.tile[n] == self.tile[int(tables.group[n])])
        room = tables.device.memory
        if int(tables.entries.sum()) > room:
            owners = [n for n in range(self.problem.size) if tables.entries[n] > 0]
            for t in tiles:
                self.model.add(sum(self.here[n][t] * int(tables.entries[n]) for n in owners) <= room)

    @property
    def ops_matter(self) -> bool:
        """True where a tile could have more different ops than its instruction RAM holds."""
        tables = self.problem.tables
        limit, kinds = tables.device.instructions, int(tables.opcode.max(initial=0)) + 1
        return 0 <= limit < min(kinds, self.ii)

    def instruction_ram(self) -> None:
        """No more different ops on a tile than its instruction RAM holds."""
        if not self.ops_matter:
            return
        opcode = self.problem.tables.opcode.tolist()
        for t in range(self.problem.tiles):
            check_clock(self.clock)
            present = [self.model.new_bool_var("") for _ in range(max(opcode) + 1)]
            self.model.add(sum(present) <= self.problem.tables.device.instructions)
            for n, op in enumerate(opcode):
                self.model.add_implication(self.here[n][t], present[op])

    def one_of_each_set(self) -> None:
        """Of placements that are moved, mirrored or exchanged into each other, keep the first by its row of tiles.

        The mirror image of a placement whose first tile is 0 and whose last is w has tile w - t for t.
        """
        if not self.problem.size:
            return
        last = self.model.new_int_var(0, self.problem.tiles - 1, "")
        self.model.add_max_equality(last, self.tile)
        self.model.add_min_equality(0, self.tile)
        self.model.add(2 * self.tile[0] <= last)
        for i, j in exchangeable(self.problem, self.ops_matter):
            self.model.add(self.tile[i] <= self.tile[j])
