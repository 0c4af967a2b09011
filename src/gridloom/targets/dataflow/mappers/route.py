"""Static routes over the switches of an rdu grid, for batches of placements.

This is the Python side of :mod:`gridloom.targets.dataflow.mappers.route_kernel`: it turns an array into tables of link
numbers, and a pipeline into flows in the order of their rates. Link k of the tables, of the loads and of the decisions
is the k-th resource of kind link, ``Grid.resources[k]``.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from gridloom.archs.model import Arch, Kind
from gridloom.targets.dataflow.costs.load import Decisions, Ints, Pipeline
from gridloom.targets.dataflow.mappers.tables import Flows, Switches, Weights

# What the square of a link's load costs, in hops; and the same where only the length of a route counts, so that the
# load decides between routes of one length.
_SPREAD = 6.0
_SHORTEST = 1e-6


@dataclass(frozen=True, eq=False)
class SwitchGrid:
    """Switches and links of an array as tables of link numbers; -1: there is none.

    A unit sits between up to four switches, its corners: corner 2 * south + east, so 0 is the north-western one. A DRAM
    interface has at most one switch per row.
    """

    #: corners[tile, corner] are row and column of the switch there.
    corners: Ints
    #: out_links[tile, corner] is the link to the switch there, in_links[tile, corner] the link from it.
    out_links: Ints
    in_links: Ints
    #: switch_links[row, column, direction, channel] leads from a switch to the next: east, west, south, north.
    switch_links: Ints
    #: The resource of each link.
    resources: NDArray[np.int64]


@lru_cache(maxsize=8)
def grid(arch: Arch) -> SwitchGrid:
    """The tables of an rdu grid. Linear in its links; the last eight arrays are kept."""
    resources = np.flatnonzero(arch.kind == Kind.LINK).astype(np.int64)
    number = {int(r): k for k, r in enumerate(resources)}
    channels = int(arch.position[resources].max()) + 1
    corners = np.full((len(arch.tiles), 4, 2), -1, dtype=np.int64)
    out_links, in_links = (np.full((len(arch.tiles), 4), -1, dtype=np.int64) for _ in range(2))
    switch_links = np.full((arch.rows + 1, arch.cols + 1, 4, channels), -1, dtype=np.int64)
    for a, b, resource in arch.links:
        first, second = arch.tiles[a], arch.tiles[b]
        if first.kind == "switch" and second.kind == "switch":
            step = (second.row - first.row, second.col - first.col)
            direction = {(0, 1): 0, (0, -1): 1, (1, 0): 2, (-1, 0): 3}[step]
            switch_links[first.row, first.col, direction, int(arch.position[resource])] = number[resource]
            continue
        switch, tile, table = (second, a, out_links) if second.kind == "switch" else (first, b, in_links)
        unit = arch.tiles[tile]
        corner = 2 * (switch.row - unit.row) + (switch.col - unit.col if unit.kind != "dram" else 0)
        corners[tile, corner] = (switch.row, switch.col)
        table[tile, corner] = number[resource]
    return SwitchGrid(corners, out_links, in_links, switch_links, resources)


def route(pipeline: Pipeline, places: Ints, *, aware: bool = True) -> Decisions:
    """Decisions of a batch of placements. ``aware``: the least loaded routes; else the shortest, columns first.

    ``places[k]`` has the tile of each unit in decision k. Trees are routed from the highest rate down, each decision by
    itself, so the routes of a placement do not depend on the batch it is in.
    """
    from gridloom.targets.dataflow.mappers.route_kernel import route_all

    tables = grid(pipeline.arch)
    order = np.lexsort((pipeline.tree, -pipeline.rate))
    flows = Flows(pipeline.source, pipeline.target, pipeline.rate, pipeline.tree, order)
    switches = Switches(tables.corners, tables.out_links, tables.in_links, tables.switch_links)
    # With one channel, routes of both orders could wait for each other's buffers in a circle.
    both = aware and tables.switch_links.shape[3] > 1
    weights = Weights(spread=_SPREAD if aware else _SHORTEST, both_orders=both)
    starts, links = route_all(np.ascontiguousarray(places, dtype=np.int64), flows, switches, pipeline.links, weights)
    return Decisions(places=places, route_start=starts, route_links=links)
