"""Routes for a placement on a static grid: PathFinder with windows on the number of links.

A route is the list of links of an edge. Its length decides when the value arrives (op latency + links - 1), so a window
on the length is a window on the arrival: :func:`route` with ``low == high`` gives routes of prescribed latency. Edges
of one signal share links at the same distance from its source.

Cost: O(rounds * edges * links near the edge * window).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from gridloom.search.arrays import Int32s, Uint8s
from gridloom.targets.grid.mappers.problem import StaticProblem

if TYPE_CHECKING:
    from gridloom.targets.grid.mappers.route.pathfinder_kernel import GridLinks

# The share that each present user of a link adds to its price in the first round.
_PRESENT = 0.6


@dataclass(frozen=True, slots=True, eq=False)
class GridRoutes:
    """What the router found: for each routed edge its links, for each link how many signals use it.

    ``way[e, :length[e]]`` are the links of edge e from its source on, and entries beyond are -1 or left from before. A
    length of 0 means that the edge is onto its own node, or that no way was found. ``used[link]`` counts signals, edges
    of one signal at the same age once. Routers and annealers make it; it belongs to one placement and is wrong for any
    other.
    """

    way: Int32s
    length: Int32s
    used: Int32s
    #: Signals without a link of their own, edges without any way in their window.
    overuse: int
    lost: int

    @property
    def legal(self) -> bool:
        """True when every edge has a way and every link carries one signal."""
        return self.overuse == 0 and self.lost == 0

    def links(self, e: int) -> list[int]:
        """The links of an edge, in order."""
        links: list[int] = self.way[e, : self.length[e]].tolist()
        return links


def route(
    problem: StaticProblem,
    position: Int32s,
    low: Int32s,
    high: Int32s,
    *,
    seed: int = 0,
    rounds: int = 60,
    patience: int = 20,
    hop: float = 1.0,
    late: float = 0.0,
    stop: Uint8s | None = None,
) -> GridRoutes:
    """Route all edges of a placement, each with ``low`` to ``high`` links.

    ``hop`` is the price of a hop beside that of a link (high: short routes; low: shared ones), ``late`` that of each
    link that a route has less than ``high``. ``seed`` shuffles the order of the nets. Negotiation ends after
    ``rounds``, after ``patience`` rounds without fewer conflicts, or when ``stop`` is set. The result may be illegal:
    ask ``Routes.legal``.
    """
    from gridloom.targets.grid.mappers.route.pathfinder_kernel import (
        EdgeLinks,
        LinkUsage,
        Nets,
        RoutePrices,
        Windows,
        negotiate,
    )

    # An edge onto its own node needs no link: its window must not size the tables.
    crossing = problem.source != problem.target
    reach = np.where(crossing, high, 1).astype(np.int32)
    depth = int(reach.max(initial=1)) + 1
    way = np.full((max(1, len(problem.edges)), depth), -1, dtype=np.int32)
    length = np.zeros(max(1, len(problem.edges)), dtype=np.int32)
    usage = LinkUsage(np.zeros(max(1, problem.links.count), dtype=np.int32), np.zeros(max(1, problem.links.count)))
    order = np.random.default_rng(seed).permutation(problem.size).astype(np.int32)
    overuse, lost = negotiate(
        Nets(*problem.nets, order),
        Windows(position[problem.source], position[problem.target], low, reach),
        link_tables(problem),
        EdgeLinks(way, length),
        usage,
        RoutePrices(_PRESENT, hop, late),
        rounds,
        patience,
        np.zeros(1, dtype=np.uint8) if stop is None else stop,
    )
    return GridRoutes(way, length[: len(problem.edges)], usage.used, int(overuse), int(lost))


def link_tables(problem: StaticProblem) -> GridLinks:
    """The links of a problem's grid as kernels see them."""
    from gridloom.targets.grid.mappers.route.pathfinder_kernel import GridLinks

    links = problem.links
    return GridLinks(links.target, links.leaving_at, links.leaving, links.following_at, links.following, problem.hops)


def shortest(problem: StaticProblem, position: Int32s) -> Int32s:
    """For each edge the least number of links between its ends."""
    return problem.hops[position[problem.source], position[problem.target]].astype(np.int32)
