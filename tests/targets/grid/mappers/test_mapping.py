"""What a user is told of the best candidate of a static grid that is no mapping."""

from __future__ import annotations

import numpy as np

from gridloom.archs import build
from gridloom.dfg import Dfg
from gridloom.targets.grid.mappers.mapping import PlacementCandidate, to_failure
from gridloom.targets.grid.mappers.problem import build_problem
from gridloom.targets.grid.mappers.route.pathfinder import GridRoutes


def test_edges_without_a_way_are_not_called_links_that_are_fought_over(triangle: Dfg):
    problem = build_problem(triangle, build("mesh:3x3"))
    way = np.full((3, 4), -1, dtype=np.int32)
    used = np.zeros(problem.links.count, dtype=np.int32)
    routes = GridRoutes(way, np.zeros(3, dtype=np.int32), used, 0, 2)
    candidate = PlacementCandidate((0,), np.arange(3, dtype=np.int32), routes, None, 0)
    failure = to_failure(problem, candidate, placed_by_user=False)
    assert (failure.constraint, failure.bound) == (
        "routes",
        "2 without a way of a length that fits in the best placement tried",
    )
