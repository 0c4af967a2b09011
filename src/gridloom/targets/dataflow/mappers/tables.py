"""The arrays that the kernels of the ``dataflow`` mapper share, in tuples by subject.

Indices in the field comments: a *unit* is a node of the pipeline, a *flow* an edge, a *tile* one of the array, a *link*
a number as in ``route.Grid``. Kinds of units are 0 (compute), 1 (memory) and 2 (DRAM interface).
"""

from __future__ import annotations

from typing import NamedTuple

from gridloom.search.arrays import Bools, Float64s, Int64s


class Chains(NamedTuple):
    """The placement of each chain, in both directions: ``places`` and ``holder`` are inverse to each other."""

    #: places[chain, unit] is the tile of the unit.
    places: Int64s
    #: holder[chain, tile] is the unit on the tile; -1: it is empty.
    holder: Int64s


class PipelineUnits(NamedTuple):
    """The units of a pipeline and the flows between them."""

    kind: Int64s
    #: True for a unit that may not move.
    fixed: Bools
    #: For each flow the units at its ends, its rate, and the running sum of the weights by which flows are drawn.
    source: Int64s
    target: Int64s
    rate: Float64s
    cumulative: Float64s
    #: CSR: the flows that a unit is an end of.
    flow_start: Int64s
    flows: Int64s


class Sites(NamedTuple):
    """The tiles of an array."""

    #: CSR: the tiles for a kind of unit.
    tile_start: Int64s
    tiles: Int64s
    #: Row and column of each tile.
    rows: Int64s
    cols: Int64s


class Switches(NamedTuple):
    """The switches of an array as tables of link numbers; -1: there is none. See ``Grid``."""

    corners: Int64s
    out_links: Int64s
    in_links: Int64s
    switch_links: Int64s


class Flows(NamedTuple):
    """Units at the ends of each flow, its rate, its multicast tree, and the order in which flows are routed."""

    source: Int64s
    target: Int64s
    rate: Float64s
    tree: Int64s
    order: Int64s


class Weights(NamedTuple):
    """How a route is chosen: by what weight of load against hops, and among how many paths."""

    #: What the square of a link's load costs, in hops.
    spread: float
    #: Whether both orders of dimensions are tried, or only columns first.
    both_orders: bool
