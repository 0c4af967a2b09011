"""``modulo``: scheduling, placement and routing together on the time-expanded resource graph of a torus-like array.

After negotiated congestion (McMurchie and Ebeling, PathFinder, 1995) as SPR (Friedman et al. 2009) brought it to
modulo-scheduled arrays, and iterative modulo scheduling (Rau 1994). The idea:

1. for II from MII on, many starts; each places nodes one by one at the (tile, cycle) of least routing cost;
2. costs are found cycle by cycle over output registers, register files, moves and spills, branches share for free;
3. overuse is paid for; what touches it is taken out and placed again, crowded places grow dearer;
4. starts differ in order, in random numbers, in how many registers rotate and in which nodes are computed more than
   once; short ones raise the II until one succeeds;
5. the rest of the budget goes to lower IIs, with more patience from pass to pass;
6. what is not mapped at the MII at once gets a first mapping by list starts; a time limit is divided among the IIs;
7. a large loop of repeated parts is mapped by unit cells first, and this search goes on below the II that they reach.

Cost: a move (placing one node with its edges) is O(edges * window * (tiles * links + registers)). Limits: needs output
registers and no operand FIFOs (torus and presets); all files of an array rotate alike.
"""

from __future__ import annotations

from dataclasses import replace

from gridloom.archs.model import Arch
from gridloom.dfg.model import Dfg
from gridloom.mapping.mii import Mii, mii
from gridloom.mapping.model import Failure, Mapping
from gridloom.search.budget import Budget, SearchClock
from gridloom.search.choice import check_suits
from gridloom.search.placements import find_misplaced, find_outside, given_tiles, regions_of
from gridloom.search.settings import changed_settings, origin
from gridloom.targets.modulo.mappers.banks import choose_banks, given_banks
from gridloom.targets.modulo.mappers.below import decide_below
from gridloom.targets.modulo.mappers.cells.cells import UnitCells, unit_cells
from gridloom.targets.modulo.mappers.cheapest import find_cheapest
from gridloom.targets.modulo.mappers.config import ModuloConfig
from gridloom.targets.modulo.mappers.mapping import Solution, to_mapping
from gridloom.targets.modulo.mappers.problem import ModuloProblem
from gridloom.targets.modulo.mappers.screening import screen, with_banks, with_pins, with_regions
from gridloom.targets.modulo.mappers.search import ModuloSearch
from gridloom.targets.modulo.mappers.timed import TimedWalk, takes_slices
from gridloom.targets.modulo.mappers.walk import Walk


def modulo(dfg: Dfg, arch: Arch, config: ModuloConfig, budget: Budget) -> Mapping | Failure:
    """A mapping of a loop on a torus-like array at the lowest II found, or why there is none.

    Runs until the II is the MII, the budget is used up, or (budget without limit) ``config.passes`` passes over lower
    IIs found nothing better. OptionError for another kind of array, or a placement that names what is not there.
    """
    check_suits("modulo", dfg, arch)
    if config.prove:
        return _prove(dfg, arch, config, budget)
    clock = budget.start()
    cells = unit_cells(dfg, arch, config, clock)
    if cells is not None and cells.final:
        return cells.mapping
    pinned, first = given_tiles(dfg, arch, config, shared=True)
    regions = regions_of(dfg, arch, config)
    reason = find_misplaced(dfg, arch, pinned | first) or find_outside(dfg, arch, regions)
    if reason is not None:
        return reason
    banks = choose_banks(dfg, arch, given_banks(config.banks), pinned)
    if banks.failure is not None:
        return banks.failure
    problem = ModuloProblem(dfg, arch, pinned=pinned, regions=regions, first=first, banks=banks)
    bound = with_banks(with_regions(with_pins(mii(dfg, arch), problem), problem), problem)
    reason = screen(problem, bound, config.ii)
    if reason is not None:
        return reason
    if cells is None and clock.over():
        return _too_late()
    search = ModuloSearch(problem)
    search.warm_up()
    if cells is not None:
        return _below(cells, search, config, clock, bound)
    clock.prepared()
    sliced = takes_slices(config, budget) and not search.counts_clocks(config)
    walk = (TimedWalk if sliced else Walk)(search, config, clock, bound)
    best = walk.best()
    if best is not None and search.counts_clocks(config):
        best = find_cheapest(best, walk, search, clock)
    clock.report("done", "" if best is None else f"II {best.ii}")
    if best is None:
        return walk.failure()
    return to_mapping(
        best, origin("modulo", config, clock, optimal=best.ii == bound.total and banks.best, **walk.record())
    )


def _prove(dfg: Dfg, arch: Arch, config: ModuloConfig, budget: Budget) -> Mapping | Failure:
    """The best mapping that half of the budget finds, with what the other half proves of the IIs below it.

    The bound is on all mappings of the graph, wherever its nodes are pinned; so nothing better is looked for then.
    """
    clock = budget.start()
    limit, effort = budget.time_limit, budget.effort
    half = replace(
        budget, time_limit=None if limit is None else limit / 2, effort=None if effort is None else -(-effort // 2)
    )
    found = modulo(dfg, arch, replace(config, prove=False), half)
    if isinstance(found, Failure) or config.ii is not None or config.pin or config.place or config.banks:
        return found
    proved = decide_below(found, dfg, arch, mii(dfg, arch), half, clock)
    return replace(proved, provenance={**proved.provenance, "config": changed_settings(config)})


def _too_late() -> Failure:
    """The failure of a run that ends before the search has begun."""
    return Failure(
        constraint="time for a search",
        demand="a search after the tables are built and repeated parts are tried",
        bound="an end before it began",
        levers=("more time",),
        cause="limit",
    )


def _below(cells: UnitCells, search: ModuloSearch, config: ModuloConfig, clock: SearchClock, bound: Mii) -> Mapping:
    """The best mapping of what is left of a budget after unit cells: the search insists on each II below theirs."""
    best: Solution | None = None
    for ii in range(cells.mapping.ii - 1, bound.total - 1, -1):
        if clock.over():
            break
        solution = Walk(search, replace(config, ii=ii), clock, bound).best()
        if solution is None:
            break
        best = solution
    if best is None:
        return cells.mapping
    return to_mapping(best, origin("modulo", config, clock, optimal=best.ii == bound.total))
