"""From arrays back to names: the Mapping of a legal candidate, the Failure of an illegal one.

A candidate counts cycles from issue to issue; a mapping also says in which cycle a value is at each resource of its
route. A value is in the output register of its tile ``latency`` cycles after the issue, and on the first link in the
same cycle; each further link is a cycle later, and the operand input takes the value in the cycle of the last link.
What is left until the issue of the target is the route's FIFO.
"""

from __future__ import annotations

from collections.abc import Mapping as MappingABC
from dataclasses import dataclass
from typing import Any

import numpy as np

from gridloom.mapping.model import Failure, Instance, Mapping, Route
from gridloom.search.arrays import Int32s
from gridloom.search.budget import SearchView
from gridloom.targets.grid.mappers.balance.exact import Balance
from gridloom.targets.grid.mappers.problem import StaticProblem
from gridloom.targets.grid.mappers.route.pathfinder import GridRoutes

Score = tuple[int, ...]


@dataclass(frozen=True, slots=True, eq=False)
class PlacementCandidate:
    """A placement with what became of it. ``score`` is compared first to last; its head is 0 for legal ones.

    The head is 1 where everything is routed but no issue cycles obey the rules, and 2 where links are missing.
    ``position[node]`` is the tile of each node. ``balance`` is None for the last two kinds. ``moves`` is what the
    candidate has cost, which the clock counts.
    """

    score: Score
    position: Int32s
    routes: GridRoutes
    balance: Balance | None
    moves: int

    @property
    def legal(self) -> bool:
        """True when it is routed and balanced."""
        return self.balance is not None and self.routes.legal


# Congested links that a failure names.
_NAMED = 8


def to_mapping(problem: StaticProblem, candidate: PlacementCandidate, provenance: MappingABC[str, Any]) -> Mapping:
    """The mapping of a legal candidate, with the record of where it came from.

    Needs a candidate that is routed and balanced; ValueError for one without issue cycles. Linear in the links of the
    routes. The result is not checked here: :mod:`gridloom.verify` does that independently.
    """
    dfg, arch = problem.dfg, problem.arch
    if candidate.balance is None:
        raise ValueError("a candidate without issue cycles is no mapping")
    issue = candidate.balance.issue
    # Skewed inputs leave the first cycle free; a mapping starts at 0.
    first = int(issue.min(initial=0)) if arch.inputs == "skewed" else 0
    instances = tuple(
        Instance(
            node=dfg.nodes[n].id,
            place=arch.tiles[candidate.position[k]].name,
            cycle=int(issue[k]) - first,
        )
        for k, n in enumerate(problem.nodes.tolist())
    )
    routes = tuple(_route(problem, candidate, e, first) for e in range(len(problem.edges)))
    return Mapping(dfg=dfg, arch=arch, ii=1, instances=instances, routes=routes, provenance=provenance)


def _route(problem: StaticProblem, candidate: PlacementCandidate, e: int, first: int) -> Route:
    """The route of an edge: output register, links, operand input, each with the cycle in which the value is there."""
    arch = problem.arch
    if candidate.balance is None:
        raise ValueError("a candidate without issue cycles is no mapping")
    source, target = int(problem.source[e]), int(problem.target[e])
    edge = int(problem.edges[e])
    cycle = int(candidate.balance.issue[source]) - first + int(problem.latency[source])
    names = arch.resource_names
    hops = [(names[arch.out[candidate.position[source]]], cycle)]
    for step, link in enumerate(candidate.routes.links(e) if source != target else ()):
        hops.append((names[problem.links.resource[link]], cycle + step))
    operand = arch.operand_inputs[candidate.position[target], problem.dfg.edges[edge].operand]
    hops.append((names[operand], hops[-1][1] + (arch.link_cycles if source != target else 0)))
    return Route(edge=edge, hops=tuple(hops), fifo=int(candidate.balance.fifo[e]))


def look_at(problem: StaticProblem, candidate: PlacementCandidate) -> SearchView:
    """Where a search stands, for those who draw it: the placement, and the links that several signals need.

    The cost of a legal candidate is the first figure of its objective, that of another one the signals without a link.
    """
    arch, routes = problem.arch, candidate.routes
    tiles = candidate.position.tolist()
    worst = [int(link) for link in np.argsort(-routes.used, kind="stable")[:_NAMED] if routes.used[link] > 1]
    return SearchView(
        cost=float(candidate.score[1] if candidate.legal else routes.overuse),
        legal=candidate.legal,
        placed={problem.dfg.nodes[k].id: arch.tiles[tiles[n]].name for n, k in enumerate(problem.nodes)},
        congested=tuple(arch.resource_names[problem.links.resource[link]] for link in worst),
    )


def to_failure(problem: StaticProblem, candidate: PlacementCandidate, placed_by_user: bool) -> Failure:
    """Why the best candidate is no mapping.

    Without legal routes the reason is edges that have no way, or links that several signals need, with their names, the
    most used first. A graph
    with loop-carried edges is told of recurrences that are longer than their distance once placed, any other of FIFOs
    that would have to be deeper than the tiles have them. ``placed_by_user`` decides which levers are named: more time
    helps a search, but not a given placement.
    """
    arch = problem.arch
    routes = candidate.routes
    levers = ["a larger array", "a topology with more links (onehop)", "more time"]
    if placed_by_user:
        levers = ["another placement", "a topology with more links (onehop)"]
    if routes.overuse == 0 and routes.lost:
        return Failure(
            constraint="routes",
            demand=f"a way for each of {len(problem.edges)} edges",
            bound=f"{routes.lost} without a way of a length that fits in the best placement tried",
            levers=tuple(levers),
        )
    if not routes.legal:
        order = np.argsort(-routes.used, kind="stable")
        worst = [int(link) for link in order if routes.used[link] > 1]
        names = tuple(arch.resource_names[problem.links.resource[link]] for link in worst)
        return Failure(
            constraint="links",
            demand=f"{int(np.maximum(routes.used, 1).sum())} link uses",
            bound=f"{problem.links.count} links of one signal each; {len(worst)} are fought over",
            levers=tuple(levers),
            congested=names[:_NAMED],
        )
    if any(edge.distance > 0 for edge in problem.dfg.edges):
        return Failure(
            constraint="recurrences",
            demand="cycles of placed and routed nodes whose latency is their distance",
            bound="longer ones in every placement tried",
            levers=tuple(levers),
        )
    depths = {depth for tile in arch.tiles for depth in (tile.fifos or (tile.fifo,))}
    limits = sorted(depth for depth in depths if depth is not None)
    return Failure(
        constraint="FIFO depth",
        demand="deeper FIFOs in every placement tried",
        bound=f"{', '.join(map(str, limits))} cycles on {arch.name}",
        levers=("deeper FIFOs", "inputs=skewed" if arch.inputs == "aligned" else "a larger array", "more time"),
    )
