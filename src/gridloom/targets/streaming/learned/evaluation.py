"""Placement policies side by side: the same search with each of them, beside annealing and the exact model.

Every column has the same processor time on one thread, on the same graphs with the same seeds, because a policy that is
better per board but slower per board is of no use. ``random``, ``rank``, ``untrained``, ``mlp``, ``gga`` and ``ppo``
are one search (:mod:`gridloom.targets.streaming.learned.guided`) with different policies; ``anneal`` is the mapper of
that name. A column that finds no placement is counted, not dropped; every placement passes ``verify`` before it counts.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Final

import numpy as np

from gridloom.errors import MissingExtra, OptionError, install_hint
from gridloom.learn.weights import weights_path
from gridloom.search.budget import Budget, SearchClock
from gridloom.statistics import compare_pairs
from gridloom.targets.streaming.learned.cells import OutcomeKey, OutcomeTable, cell_of
from gridloom.targets.streaming.learned.ground import Case
from gridloom.targets.streaming.learned.guided import GuidedSearch, GuidedSettings, Player, slot_player
from gridloom.targets.streaming.learned.slots.policy import SlotWeights, load_slots, random_slots, rank_slots
from gridloom.targets.streaming.mappers.annealing import anneal_batches
from gridloom.targets.streaming.mappers.mapping import to_mapping
from gridloom.targets.streaming.mappers.problem import SpokesProblem
from gridloom.targets.streaming.mappers.search import Best, iis, longest_path
from gridloom.verify.legality import legal

#: The columns of an evaluation, in the order in which they are shown.
COLUMNS: Final = ("random", "rank", "untrained", "mlp", "gga", "shipped", "ppo", "anneal", "exact")

#: The shipped weights of the columns with a published policy.
_PUBLISHED: Final = {"mlp": "ppo-state", "gga": "ppo-gga"}

#: The most seconds that a run of an evaluation takes, however busy the machine is.
_PATIENCE = 3600.0

Outcome = dict[str, Any]


def cpu_budget(seconds: float, seed: int) -> Budget:
    """Return a budget of processor time, whatever else the machine does."""
    began = time.process_time()
    return Budget(time_limit=_PATIENCE, seed=seed, interrupted=lambda: time.process_time() - began >= seconds)


def player_of(column: str, settings: GuidedSettings, clock: SearchClock, weights: str | None, seed: int) -> Player:
    """Return the player of a column; OptionError for a policy whose weights are not there."""
    if column in _PUBLISHED:
        from gridloom.targets.streaming.learned.published.training import board_player

        return board_player(_PUBLISHED[column], clock)
    made: dict[str, Callable[[], SlotWeights]] = {
        "random": lambda: {name: 0 * array for name, array in rank_slots().items()},
        "rank": rank_slots,
        "untrained": lambda: random_slots(seed),
        "shipped": load_slots,
        "ppo": lambda: load_slots(weights),
    }
    return slot_player(made[column](), settings, clock.stop)


def available(column: str) -> bool:
    """True when a column can be measured: its weights are shipped, and its extra is installed."""
    if column not in _PUBLISHED:
        return True
    return find_spec("torch") is not None and weights_path(_PUBLISHED[column]).exists()


def weights_of(column: str, weights: str | None) -> Path | None:
    """Return the file of a column's weights; None where it has none."""
    if column in _PUBLISHED:
        return weights_path(_PUBLISHED[column])
    own = weights is not None and column == "ppo"
    return Path(str(weights)) if own else weights_path("ppo") if column in ("ppo", "shipped") else None


def run_column(
    column: str, problem: SpokesProblem, ii: int | None, seconds: float, seed: int, weights: str | None = None
) -> Outcome | None:
    """Return what a column finds within seconds of processor time: II and cycles, and tiles in use; None: nothing."""
    if column == "exact":
        return run_exact(problem, ii, seconds, seed)
    if column == "anneal":
        best = anneal_batches(problem, ii, cpu_budget(seconds, seed).start(), 1 << 20, longest_path(problem))
        return _outcome(problem, best)
    settings = GuidedSettings()
    clock = cpu_budget(seconds, seed).start()
    player = player_of(column, settings, clock, weights, seed)
    return _outcome(problem, GuidedSearch(problem, player, settings, clock).run(ii))


def _outcome(problem: SpokesProblem, best: Best) -> Outcome | None:
    """II, cycles and tiles of the best legal placement.

    RuntimeError for one that ``verify`` refuses, which would be an error of the search.
    """
    if best.legal is None:
        return None
    wrong = legal(to_mapping(problem, best.legal, {}))
    if wrong:
        raise RuntimeError(f"verify refuses a placement of the search: {wrong[0]}")
    return {"ii": best.legal.ii, "cycles": best.legal.cycles, "tiles": len(np.unique(best.legal.tile))}


def run_exact(problem: SpokesProblem, ii: int | None, seconds: float, seed: int, workers: int = 1) -> Outcome | None:
    """Return what the exact model finds: IIs upwards as long as the lower ones are refuted, or none is found in time.

    ``proved``: the cycles are the fewest at this II, and every lower II is refuted or below the bound.
    """
    from gridloom.targets.streaming.mappers.exact.search import optimum

    clock = Budget(time_limit=seconds, seed=seed).start()
    refuted = True
    for now in iis(problem, ii):
        try:
            best, bound, none = optimum(problem, now, clock, longest_path(problem), workers)
        except MissingExtra:
            return None
        if best.legal is not None:
            proved = refuted and best.legal.cycles <= bound
            return {"ii": now, "cycles": best.legal.cycles, "bound": bound, "proved": proved}
        refuted = refuted and none
        if clock.over():
            return None
    return None


def warm_up(columns: list[str], weights: str | None) -> None:
    """Compile what all columns run, so that no graph pays for it with its seconds."""
    problem = Case(source="kernel:distance", arch="streaming-engine:16,spokes=6,level=strict").problem()
    for column in columns:
        if column != "exact":
            run_column(column, problem, None, 0.05, 0, weights)


@dataclass(frozen=True, kw_only=True)
class EvaluationPlan:
    """What an evaluation runs: every column on every case, with every seed; ``exact`` runs once for each case."""

    cases: list[Case]
    columns: list[str]
    seconds: float
    seeds: list[int]
    exact_seconds: float = 60.0
    exact_workers: int = 1
    #: The file of the column ``ppo``; None: the shipped weights.
    weights: str | None = None

    def cells(self) -> Iterator[tuple[Case, OutcomeKey]]:
        """Yield all cells, whole seeds one after the other, so that a run that is stopped has whole seeds."""
        for seed in self.seeds:
            for case in self.cases:
                for column in self.columns:
                    if column == "exact":
                        if seed == self.seeds[0]:
                            yield case, cell_of(case, column, 0, self.exact_seconds, None)
                    else:
                        yield case, cell_of(case, column, seed, self.seconds, weights_of(column, self.weights))

    def run(self, cell: OutcomeKey, problem: SpokesProblem) -> Outcome | None:
        """Return the outcome of a cell."""
        if cell.column == "exact":
            return run_exact(problem, cell.ii, cell.seconds, cell.seed, self.exact_workers)
        return run_column(cell.column, problem, cell.ii, cell.seconds, cell.seed, self.weights)

    def rows(self, cells: OutcomeTable) -> list[dict[str, Any]]:
        """Return a row for each case with the outcomes that there are: a list of seeds per column, one of ``exact``."""
        found: dict[Case, dict[str, Any]] = {}
        for case, cell in self.cells():
            if cell not in cells.known:
                continue
            row = found.setdefault(case, _empty_row(case))
            if cell.column == "exact":
                row["exact"] = cells.known[cell]
            else:
                row.setdefault(cell.column, []).append(cells.known[cell])
        return list(found.values())


def _empty_row(case: Case) -> dict[str, Any]:
    """The row of a case without outcomes."""
    problem = case.problem()
    return {"graph": case.source, "arch": case.arch, "nodes": problem.size, "tiles": problem.tiles,
            "floor": longest_path(problem)}  # fmt: skip


def measure(
    series: EvaluationPlan, cells: OutcomeTable, over: Callable[[], bool], progress: Callable[[str, float], None]
) -> list[dict[str, Any]]:
    """Run the cells that have no outcome yet until the work is over, and return the rows.

    Costs ``seconds`` of processor time for each cell, and at most ``exact_seconds`` for each of ``exact``.
    """
    warm_up(series.columns, series.weights)
    asked = list(series.cells())
    problems: dict[Case, SpokesProblem] = {}
    for k, (case, cell) in enumerate(asked):
        if over():
            break
        if cell in cells.known:
            continue
        if case not in problems:
            problems[case] = case.problem()
        cells.keep(cell, series.run(cell, problems[case]))
        progress(f"{case.source}: {cell.column} {_short(cells.known[cell])}", (k + 1) / len(asked))
    return series.rows(cells)


def _short(outcome: Outcome | None) -> str:
    """An outcome for a progress line."""
    return "none" if outcome is None else f"II {outcome['ii']}, {outcome['cycles']} cycles"


def check_columns(text: str) -> list[str]:
    """Return the columns of a text separated by plus signs; ``all`` are those that can be measured here.

    OptionError for an unknown one, MissingExtra for one that needs torch where there is none.
    """
    names = [name for name in COLUMNS if name != "shipped"] if text == "all" else text.split("+")
    for name in names:
        if name not in COLUMNS:
            raise OptionError(f"columns: expected some of {'+'.join(COLUMNS)}, found {name!r}")
        if text != "all" and name in _PUBLISHED and find_spec("torch") is None:
            raise MissingExtra(f"column {name!r} needs torch, which is not installed: {install_hint('learn')}")
    return [name for name in COLUMNS if name in names and available(name)]


def summary(rows: list[dict[str, Any]], against: str = "anneal") -> dict[str, Any]:
    """Return for each column: cells, cells without a placement, II and cycles above the best known, and who is ahead.

    The best known of a graph is the lowest II of any column and seed, with the fewest cycles at it. ``ii_excess`` and
    ``cycles_excess`` are means over cells with a placement (cycles: over those at the best II). ``not_worse`` is the
    share of cells at or below the II of the column ``against`` (which finds nothing: not worse), and ``fewer_cycles``
    the mean of its cycles over ours where the IIs are equal, less 1. ``comparison`` says whether the IIs differ by more
    than chance.
    """
    found: dict[str, Any] = {}
    best = [_best_known(row) for row in rows]
    for column in COLUMNS:
        cells = [(row, known, k) for row, known in zip(rows, best) if isinstance(row.get(column), list)
                 for k in range(len(row[column]))]  # fmt: skip
        if not cells:
            continue
        outcomes = [(row[column][k], row, known, k) for row, known, k in cells]
        placed = [(o, row, known, k) for o, row, known, k in outcomes if o is not None]
        at_best = [o["cycles"] / known[1] - 1 for o, _, known, _ in placed if known and o["ii"] == known[0]]
        found[column] = {
            "cells": len(cells),
            "without": len(cells) - len(placed),
            "at_best_ii": len(at_best),
            "ii_excess": _mean([o["ii"] / known[0] - 1 for o, _, known, _ in placed if known]),
            "cycles_excess": _mean(at_best),
            **_beside(outcomes, against),
        }
    return found


def _beside(outcomes: list[tuple[Outcome | None, dict[str, Any], Any, int]], against: str) -> dict[str, Any]:
    """How a column stands beside another one, cell by cell."""
    cells = {(row["graph"], k): (o, row[against][k]) for o, row, _, k in outcomes
             if isinstance(row.get(against), list) and k < len(row[against])}  # fmt: skip
    if not cells:
        return {}
    pairs = list(cells.values())
    own_iis = {cell: own["ii"] if own else None for cell, (own, _) in cells.items()}
    other_iis = {cell: other["ii"] if other else None for cell, (_, other) in cells.items()}
    fine = [other is None or (own is not None and own["ii"] <= other["ii"]) for own, other in pairs]
    equal = [(own, other) for own, other in pairs if own and other and own["ii"] == other["ii"]]
    return {
        "not_worse": round(sum(fine) / len(fine), 4),
        "lower_ii": sum(own is not None and (other is None or own["ii"] < other["ii"]) for own, other in pairs),
        "fewer_cycles": _mean([other["cycles"] / own["cycles"] - 1 for own, other in equal]),
        "comparison": compare_pairs(own_iis, other_iis).to_dict(),
    }


def _best_known(row: dict[str, Any]) -> tuple[int, int] | None:
    """The lowest II that any column found, and the fewest cycles at it."""
    cells: list[Outcome] = []
    for column in COLUMNS:
        found = row.get(column)
        cells += [o for o in (found if isinstance(found, list) else [found]) if o]
    return min(((o["ii"], o["cycles"]) for o in cells), default=None)


def _mean(values: list[float]) -> float | None:
    return round(float(np.mean(values)), 4) if values else None
