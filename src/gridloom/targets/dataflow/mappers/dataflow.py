"""``dataflow``: units of a pipeline onto an elastic grid, by annealing with a cost model.

Chains anneal side by side; in a step each proposes one exchange, all proposals are routed (static routes over the
switches) and scored together by the cost model (`gridloom.targets.dataflow.costs.load`), which may be a rule of thumb,
a learned model or a simulation. The best few different placements at the end are evaluated once more by another cost
model, the simulator unless told otherwise, and the best of them is the mapping. Cost: the effort times routing and
scoring, about half a millisecond each. The published placers of such arrays work this way; their annealers are not
described further. Limits: switches are those of the family ``rdu``; one route for each flow, no multicast trees.

Every placement of enough tiles can be routed, since links are shared in time and never run out; so the search is for
quality alone, and fails only where units are missing.
"""

from __future__ import annotations

import numpy as np

from gridloom import registry
from gridloom.archs.model import Arch
from gridloom.dfg.model import Dfg
from gridloom.mapping.model import Failure, Instance, Mapping, Route
from gridloom.search.budget import Budget, SearchClock
from gridloom.search.choice import check_suits
from gridloom.search.placements import find_misplaced, given_tiles
from gridloom.search.settings import origin
from gridloom.targets.dataflow.costs.load import CostModel, Decisions, Floats, Pipeline, Slow, pipeline
from gridloom.targets.dataflow.mappers.route import grid, route
from gridloom.targets.dataflow.mappers.search import AnnealingChains, DataflowConfig, GivenUnits

# The share of a time limit that is kept for judging the finalists.
_FOR_JUDGE = 0.1
# Seconds after the limit in which the first finalist may still be judged.
_WIND_UP = 0.5


def dataflow(dfg: Dfg, arch: Arch, config: DataflowConfig, budget: Budget) -> Mapping | Failure:
    """The best mapping that the annealer finds, or a Failure where units are missing.

    OptionError for another kind of array, or a placement that names what is not there. The provenance of the mapping
    has the efficiency by the cost model that had the last word: ``config.judge``, or ``config.cost`` without one and
    where there is no time for it.
    """
    check_suits("dataflow", dfg, arch)
    clock = budget.start()
    found = pipeline(dfg, arch)
    given = GivenUnits(*given_tiles(dfg, arch, config))
    lacking = _lacking(found) or find_misplaced(dfg, arch, given.fixed | given.first)
    if lacking is not None:
        return lacking
    search = AnnealingChains(found, config, budget.seed, given)
    _anneal(search, clock.prepared())
    places, scores = search.finalists()
    decisions = route(found, places, aware=config.aware)
    if config.judge is not None and config.judge != config.cost:
        scores = _judged(registry.load("costs", config.judge)(), found, decisions, scores, clock)
    best = int(np.argmax(scores))
    clock.report("judged", f"efficiency {scores[best]:.3f}")
    told = {} if search.replaced is None else {"remark": search.replaced}
    record = origin("dataflow", config, clock, efficiency=float(scores[best]), **told)
    return as_mapping(found, decisions, best, record)


def _anneal(search: AnnealingChains, clock: SearchClock) -> None:
    """Search, but for the part of the seconds that judging the finalists may need."""
    if clock.remaining is None:
        search.run(clock)
        return
    with clock.slice((1 - _FOR_JUDGE) * clock.remaining) as part:
        search.run(part)


def _judged(judge: CostModel, found: Pipeline, decisions: Decisions, scores: Floats, clock: SearchClock) -> Floats:
    """What the judge says of the finalists, best first; those that there is no time for count as -inf.

    Each is judged by itself, so that the next can be left out; ``scores`` stay where there is no time for the first.
    """
    left = clock.remaining
    if left is not None and isinstance(judge, Slow) and judge.seconds(found, decisions) > left + _WIND_UP:
        return scores
    judged = np.full(len(decisions), -np.inf)
    longest = 0.0
    for k in range(len(decisions)):
        before = clock.seconds
        if k and (clock.late or (clock.remaining is not None and clock.remaining < longest)):
            break
        judged[k] = judge.efficiency(found, decisions.only(k))[0]
        longest = max(longest, clock.seconds - before)
    return judged


def _lacking(found: Pipeline) -> Failure | None:
    """A Failure when there are fewer tiles of a kind than units for them."""
    for code, kind in enumerate(("cu", "mu", "dram")):
        tiles = sum(tile.kind == kind for tile in found.arch.tiles)
        needed = int(np.count_nonzero(found.unit_kind == code))
        if needed > tiles:
            names = {"cu": "compute units", "mu": "memory units", "dram": "DRAM interfaces"}
            return Failure(
                constraint=names[kind],
                demand=str(needed),
                bound=str(tiles),
                levers=("a larger array", "sections: gridloom map cuts tensor programs by itself"),
            )
    return None


def as_mapping(found: Pipeline, decisions: Decisions, k: int, provenance: dict[str, object]) -> Mapping:
    """Decision k of a batch as a mapping.

    All hops have cycle 0, since an elastic array has no schedule. Linear in the length of the routes.
    """
    dfg, arch = found.dfg, found.arch
    names = [arch.resource_names[r] for r in grid(arch).resources]
    starts, links = decisions.routes(k)
    tiles = [arch.tiles[t].name for t in decisions.places[k]]
    routes = []
    for e, edge in enumerate(dfg.edges):
        source, target = tiles[dfg.index[edge.source]], tiles[dfg.index[edge.target]]
        between = [names[link] for link in links[starts[e] : starts[e + 1]]]
        hops = [f"{source}.out", *between, f"{target}.in{edge.operand}"]
        routes.append(Route(edge=e, hops=tuple((name, 0) for name in hops)))
    instances = tuple(Instance(node=node.id, place=tile) for node, tile in zip(dfg.nodes, tiles))
    return Mapping(dfg=dfg, arch=arch, ii=1, instances=instances, routes=tuple(routes), provenance=provenance)
