"""The exact model for tiles with spokes: tile, spoke and issue of each node, fewest cycles (OR-Tools CP-SAT).

Issues may be later than the rule makes them: whatever tiles and spokes they have, the rule's own are no later, so the
optimum is the same. A placement moved to the left, or mirrored, stays one: the first tile is used, and one pair of
nodes is ordered. Annealing gives a first solution and an upper bound.

Level strict: links and, summed over the spokes, delay registers are in the model up to 40 nodes on 16 tiles
(:mod:`gridloom.mappers.spokes.exact.links`). A solution that one spoke's registers do not hold, and any larger problem,
gives a bound, which is reached when an annealed placement has it. Cost: exponential at worst; 20 nodes in seconds.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from gridloom.mappers.budget import Budget, Clock
from gridloom.mappers.core.solver import OutOfTimeError, Solved, check_clock, cp_model, solve
from gridloom.mappers.spokes.annealing import annealed
from gridloom.mappers.spokes.exact.links import Links, add_links, modelled, placement
from gridloom.mappers.spokes.mapping import Placement
from gridloom.mappers.spokes.problem import SpokesProblem
from gridloom.mappers.spokes.search import Best, longest_path

# What annealing has for a first solution: a share of the time, seconds at most, and batches.
_SHARE, _MOST, _BATCHES = 0.2, 3.0, 3


@dataclass(frozen=True, slots=True)
class _Model:
    """The CP-SAT model with its variables, one of each kind per node; ``links`` only where they are modelled."""

    model: Any
    tile: list[Any]
    spoke: list[Any]
    issue: list[Any]
    links: Links | None = None


def optimum(problem: SpokesProblem, ii: int, clock: Clock, floor: int, workers: int) -> tuple[Best, int, bool]:
    """The best placement at an II, a lower bound on its cycles, and whether none exists. May use up the budget.

    The placement is the better of the annealed one and the solver's. When the solver finds that nothing beats the
    annealed one, its cycles are the bound.
    """
    best = _annealed(problem, ii, clock, floor)
    if best.legal is not None and best.legal.cycles <= floor:
        return best, floor, False
    try:
        model = _build(problem, ii, None if best.legal is None or not _whole(problem) else best.legal.cycles, clock)
    except OutOfTimeError:
        return best, floor, False
    hints = [] if best.legal is None else _hints(problem, model, best.legal)
    found = solve(model.model, clock, workers=workers, hints=hints)
    if found.found and model.links is not None:
        best.keep(placement(problem, ii, found, model.tile, model.issue, model.links))
    elif found.found:
        best.take(problem, ii, _values(found, model.tile), _values(found, model.spoke))
    bound = max(floor, found.bound or floor)
    if found.answer == "infeasible" and best.legal is not None:
        bound = best.legal.cycles
    return best, bound, found.answer == "infeasible" and best.legal is None


def _whole(problem: SpokesProblem) -> bool:
    """True when what the model leaves out cannot make its optimum too low."""
    return not problem.strict or modelled(problem)


def _annealed(problem: SpokesProblem, ii: int, clock: Clock, floor: int) -> Best:
    """A first solution within a share of the budget."""
    budget = clock.budget
    limit = None if clock.remaining is None else min(_MOST, max(0.05, _SHARE * clock.remaining))
    effort = None if budget.effort is None else max(64, budget.effort // 5)
    small = Budget(
        time_limit=limit, effort=effort, seed=budget.seed, workers=budget.workers, interrupted=budget.interrupted
    )
    return annealed(problem, ii, small.start(), _BATCHES, floor)


def _build(problem: SpokesProblem, ii: int, upper: int | None, clock: Clock) -> _Model:
    """The model of a problem at an II. ``upper`` is a number of cycles that some placement has, None: none is known.

    Without it the horizon is a generous guess: room for every node to wait for a whole row of tiles and an II, four
    times. OutOfTimeError where the clock ends first.
    """
    cp, tables = cp_model(), problem.tables
    model = cp.CpModel()
    last = upper if upper is not None else 4 * (problem.latency + problem.tiles + ii) * max(1, problem.size)
    count, nodes = problem.size, range(problem.size)
    tile = [model.new_int_var(0, problem.tiles - 1, f"tile{n}") for n in nodes]
    spoke = [model.new_int_var(0, ii - 1, f"spoke{n}") for n in nodes]
    issue = [model.new_int_var(0, last - problem.latency, f"issue{n}") for n in nodes]
    for n in nodes:
        rounds = model.new_int_var(0, last // ii + 1, "")
        model.add(issue[n] == spoke[n] + ii * rounds)
    model.add_all_different([tile[n] * ii + spoke[n] for n in nodes])
    far: dict[tuple[int, int], Any] = {}
    for n in nodes:
        check_clock(clock)
        for e in range(tables.pred_at[n], tables.pred_at[n + 1]):
            p = int(tables.pred[e])
            wait = int(tables.pred_lag[e]) - ii * int(tables.pred_distance[e])
            if tables.pred_far[e] and p != n:
                key = (min(p, n), max(p, n))
                if key not in far:
                    far[key] = model.new_int_var(0, problem.tiles - 1, "")
                    model.add(far[key] >= tile[p] - tile[n])
                    model.add(far[key] >= tile[n] - tile[p])
                model.add(issue[n] >= issue[p] + wait + far[key])
            else:
                model.add(issue[n] >= issue[p] + wait)
    _rules(model, problem, tile, clock)
    _instruction_ram(model, problem, tile, clock)
    links = add_links(model, problem, ii, tile, issue, last, clock) if modelled(problem) else None
    if count > 0:
        model.add_min_equality(0, tile)
    pair = _ordered_pair(problem)
    if pair is not None:
        model.add(tile[pair[0]] < tile[pair[1]])
    cycles = model.new_int_var(longest_path(problem), last, "cycles")
    for n in nodes:
        model.add(cycles >= issue[n] + problem.latency)
    model.minimize(cycles)
    return _Model(model, tile, spoke, issue, links)


def _ordered_pair(problem: SpokesProblem) -> tuple[int, int] | None:
    """Two nodes that never share a tile, of which the first is to the left: a placement and its mirror image are equal.

    None: there are no such nodes.
    """
    if not problem.cliques or len(problem.cliques[0][1]) < 2:
        return None
    first, second = problem.cliques[0][1][:2]
    return int(first), int(second)


def _rules(model: Any, problem: SpokesProblem, tile: list[Any], clock: Clock) -> None:
    """C1 to C3 and the tile memories. Memories are modelled only where all variables together exceed one of them."""
    tables = problem.tables
    for _, members in problem.cliques:
        model.add_all_different([tile[n] for n in members])
    for n in range(problem.size):
        if tables.group[n] >= 0 and tables.group[n] != n:
            model.add(tile[n] == tile[int(tables.group[n])])
    room = int(tables.device[4])
    owners = [n for n in range(problem.size) if tables.entries[n] > 0]
    if int(tables.entries.sum()) > room:
        for t in range(problem.tiles):
            check_clock(clock)
            here = []
            for n in owners:
                flag = model.new_bool_var("")
                model.add(tile[n] == t).only_enforce_if(flag)
                model.add(tile[n] != t).only_enforce_if(~flag)
                here.append(flag * int(tables.entries[n]))
            model.add(sum(here) <= room)


def _instruction_ram(model: Any, problem: SpokesProblem, tile: list[Any], clock: Clock) -> None:
    """No more different ops on a tile than its instruction RAM holds; only where there is such a limit."""
    tables = problem.tables
    limit, kinds = int(tables.device[5]), int(tables.opcode.max(initial=0)) + 1
    if limit < 0 or kinds <= limit:
        return
    for t in range(problem.tiles):
        check_clock(clock)
        present = [model.new_bool_var("") for _ in range(kinds)]
        model.add(sum(present) <= limit)
        for n in range(problem.size):
            model.add(tile[n] != t).only_enforce_if(~present[int(tables.opcode[n])])


def _hints(problem: SpokesProblem, model: _Model, start: Placement) -> list[tuple[Any, int]]:
    """The annealed placement as the values that the solver tries first, moved to the left end.

    It is mirrored where the pair of nodes that the model orders sits the other way round. No node has a tile of its own
    in the model, so that the mirror image is as good.
    """
    tile = start.tile - start.tile.min()
    pair = _ordered_pair(problem)
    if pair is not None and tile[pair[0]] > tile[pair[1]]:
        tile = tile.max() - tile
    rows = ((model.tile, tile), (model.spoke, start.spoke), (model.issue, start.issue))
    return [(variable, int(value)) for row, values in rows for variable, value in zip(row, values)]


def _values(found: Solved, row: list[Any]) -> np.ndarray:
    """The values of a row of variables in the solution."""
    return np.array([found.value(variable) for variable in row], dtype=np.int32)
