"""Links and delay registers in the exact model for tiles with spokes, level strict.

A route has no detours (the rule for issues knows none), so a value that leaves tile x at cycle r is at tile y at r + |y
- x|, whatever links it takes. Seen from a link that points to the right, values of one phase (r - x) mod II meet, to
the left of one (r + x) mod II: two values may use one link unless their phases are equal. For each value and direction
a tree of used links is chosen.

Delay registers: on each tile the waits together fit its registers times the II. This is what all spokes together must
keep, not each of them: the solution is looked at again afterwards.

Variables: one Boolean per (value, tile, link of the tile), and one per pair of values and direction for equal phases;
that is what limits the model to small problems.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from gridloom.search.budget import SearchClock
from gridloom.search.solver import Solved, check_clock
from gridloom.targets.streaming.mappers.kernel import NONE, makespan, schedule, waiting
from gridloom.targets.streaming.mappers.mapping import SpokeSchedule
from gridloom.targets.streaming.mappers.problem import SpokesProblem

#: Nodes and tiles up to which links are modelled: beyond, the optimum without them is a bound.
MOST_NODES: Final = 40
MOST_TILES: Final = 16

#: The links of a tile: (direction, tiles that it crosses, its number among the offsets -2, -1, 1, 2).
_STEPS: Final = ((1, 1, 2), (1, 2, 3), (-1, 1, 1), (-1, 2, 0))


@dataclass(frozen=True, slots=True)
class LinkVariables:
    """Variables: the link of tile x by step k carries the value of node p."""

    used: dict[tuple[int, int, int], Any]


def models_links(problem: SpokesProblem) -> bool:
    """True where links are part of the model: level strict, and a problem that is small enough."""
    return problem.strict and problem.size <= MOST_NODES and problem.tiles <= MOST_TILES


def add_links(
    model: Any, problem: SpokesProblem, ii: int, tile: list[Any], issue: list[Any], here: list[list[Any]], last: int,
    clock: SearchClock,
) -> LinkVariables:  # fmt: skip
    """Add the links of all values, and the sum of waits of each tile. Quadratic in the nodes at worst, linear in tiles.

    ``tile`` and ``issue`` are the variables of the nodes, ``here`` says for each node and tile whether it is there, and
    ``last`` is an upper bound on the cycles. OutOfTimeError where the clock ends first.
    """
    tables = problem.tables
    sources = sorted({int(p) for p in tables.wire_source})
    used: dict[tuple[int, int, int], Any] = {}
    for p in sources:
        for x in range(problem.tiles):
            for direction, step, k in _STEPS:
                if 0 <= x + direction * step < problem.tiles:
                    used[p, x, k] = model.new_bool_var(f"use{p}_{x}_{k}")
    _connect(model, problem, here, used)
    _separate(model, problem, ii, tile, issue, last, sources, used, clock)
    _wait(model, problem, ii, tile, issue, here, last)
    return LinkVariables(used)


def _arrivals(p: int, x: int, direction: int, used: dict[tuple[int, int, int], Any]) -> list[Any]:
    """The variables of the links that bring the value of node p to tile x in a direction."""
    links = []
    for sign, step, k in _STEPS:
        if sign == direction and (p, x - sign * step, k) in used:
            links.append(used[p, x - sign * step, k])
    return links


def _connect(model: Any, problem: SpokesProblem, here: list[list[Any]], used: dict[tuple[int, int, int], Any]) -> None:
    """A link carries on only what is made on its tile or was brought there; a reader's tile is reached.

    Links of one direction lead strictly away from the source, so these local rules make chains without cycles.
    """
    for (p, x, k), link in used.items():
        direction = next(sign for sign, _, number in _STEPS if number == k)
        model.add_bool_or([here[p][x], *_arrivals(p, x, direction, used), ~link])
    wires = zip(problem.tables.wire_source.tolist(), problem.tables.wire_target.tolist())
    for p, n in sorted(set(wires)):
        for x in range(problem.tiles):
            brought = [link for sign in (1, -1) for link in _arrivals(p, x, sign, used)]
            model.add_bool_or([here[p][x], *brought, ~here[n][x]])


def _separate(
    model: Any, problem: SpokesProblem, ii: int, tile: list[Any], issue: list[Any], last: int, sources: list[int],
    used: dict[tuple[int, int, int], Any], clock: SearchClock,
) -> None:  # fmt: skip
    """Values of equal phase do not share a link.

    The phase of each value and direction is a variable; only unequal phases are enforced, so two values are free to be
    marked as equal without need, which forbids more and is never forced.
    """
    span = last + problem.latency + problem.tiles
    sign_of = {number: sign for sign, _, number in _STEPS}
    owned: dict[tuple[int, int], list[tuple[int, int]]] = {}
    for owner, x, k in used:
        owned.setdefault((owner, sign_of[k]), []).append((x, k))
    for direction in (1, -1):
        phases = {}
        for p in sources:
            phases[p] = model.new_int_var(0, ii - 1, "")
            turns = model.new_int_var(-problem.tiles // ii - 1, span // ii + 1, "")
            model.add(issue[p] + problem.latency - direction * tile[p] == phases[p] + ii * turns)
        for i, p in enumerate(sources):
            check_clock(clock)
            for q in sources[i + 1 :]:
                same = model.new_bool_var("")
                model.add(phases[p] != phases[q]).only_enforce_if(~same)
                for x, k in owned[p, direction]:
                    model.add_bool_or([~same, ~used[p, x, k], ~used[q, x, k]])


def _wait(
    model: Any, problem: SpokesProblem, ii: int, tile: list[Any], issue: list[Any], here: list[list[Any]], last: int
) -> None:
    """Waits of values of the same iteration, over a tile. Readers of one value sit apart: none is counted twice.

    Carried values are left out, so the constraint is necessary and not sufficient; ``placement`` checks the rest.
    """
    tables, limit = problem.tables, problem.tables.device.delays
    if limit < 0:
        return
    loads: list[list[Any]] = [[] for _ in range(problem.tiles)]
    for p, n, distance in zip(tables.wire_source, tables.wire_target, tables.wire_distance):
        if distance:
            continue
        far = model.new_int_var(0, problem.tiles - 1, "")
        model.add_abs_equality(far, tile[p] - tile[n])
        for t in range(problem.tiles):
            load = model.new_int_var(0, last, "")
            model.add(load >= issue[n] - issue[p] - problem.latency - far).only_enforce_if(here[n][t])
            loads[t].append(load)
    for row in loads:
        model.add(sum(row) <= limit * ii)


def placement(
    problem: SpokesProblem, ii: int, found: Solved, tile: list[Any], issue: list[Any], links: LinkVariables
) -> SpokeSchedule | None:
    """The solution with the links it chose; None when a spoke needs more delay registers than there are.

    Nodes issue as early as their spokes allow; where registers do not hold what then waits, as the solver says.
    """
    tables = problem.tables
    tiles = np.array([found.value(variable) for variable in tile], dtype=np.int32)
    later = np.array([found.value(variable) for variable in issue], dtype=np.int32)
    issues, count = np.empty_like(later), np.empty((problem.tiles, ii), dtype=np.int32)
    if not schedule(tables, ii, tiles, later % ii, issues) or waiting(tables, ii, tiles, issues, count):
        issues = later
        if waiting(tables, ii, tiles, issues, count):
            return None
    steps = np.full((max(1, len(tables.wire_source)), problem.tiles), NONE, dtype=np.int32)
    chosen = {key for key, link in links.used.items() if found.value(link)}
    for w, (p, n) in enumerate(zip(tables.wire_source.tolist(), tables.wire_target.tolist())):
        links_of_wire = _links_between(p, int(tiles[p]), int(tiles[n]), chosen)
        steps[w, : len(links_of_wire)] = links_of_wire
    return SpokeSchedule(
        ii=ii,
        tile=tiles,
        spoke=(issues % ii).astype(np.int32),
        issue=issues,
        cycles=int(makespan(tables, issues)),
        steps=steps,
        violations=0,
    )


def _links_between(p: int, start: int, end: int, chosen: set[tuple[int, int, int]]) -> list[int]:
    """The chosen links from the tile of a value to a reader's, found from the reader back.

    The solver may have switched on links that lead nowhere, or two that reach the same tile; the first that fits is
    taken. RuntimeError when the links do not connect the two tiles, which would be an error of the model.
    """
    direction = 1 if end > start else -1
    path: list[int] = []
    x = end
    while x != start:
        for sign, step, k in _STEPS:
            before = x - sign * step
            if sign == direction and (p, before, k) in chosen and (before - start) * direction >= 0:
                path.append(before * 4 + k)
                x = before
                break
        else:
            raise RuntimeError(f"the solver's links do not lead from tile {start} to tile {end}")
    return path[::-1]
