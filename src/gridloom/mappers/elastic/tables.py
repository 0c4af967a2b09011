"""The arrays that the kernels of the ``dataflow`` mapper share, in tuples by subject."""

from __future__ import annotations

from typing import NamedTuple

from gridloom.mappers.core.arrays import Bools, Float64s, Int64s


class Chains(NamedTuple):
    """The placement of each chain."""

    #: [chain, unit] -> tile.
    places: Int64s
    #: [chain, tile] -> unit, -1: none.
    holder: Int64s


class Units(NamedTuple):
    """The units of a pipeline and the flows between them."""

    kind: Int64s
    #: True for a unit that may not move.
    fixed: Bools
    #: Flow -> the units at its ends, its rate, the running sum of weights by which flows are drawn.
    source: Int64s
    target: Int64s
    rate: Float64s
    heavy: Float64s
    #: CSR: unit -> flows that it is an end of.
    flow_start: Int64s
    flows: Int64s


class Sites(NamedTuple):
    """The tiles of an array."""

    #: CSR: kind of unit -> tiles for it.
    tile_start: Int64s
    tiles: Int64s
    #: Tile -> row and column.
    rows: Int64s
    cols: Int64s


class Switches(NamedTuple):
    """The switches of an array as tables of link numbers; -1: there is none. See ``Grid``."""

    corners: Int64s
    out_links: Int64s
    in_links: Int64s
    switch_links: Int64s


class Flows(NamedTuple):
    """Units at the ends of each flow, its rate, and the order in which flows are routed."""

    source: Int64s
    target: Int64s
    rate: Float64s
    order: Int64s


class Weights(NamedTuple):
    """What the square of a link's load costs, in hops; whether both orders of dimensions are tried."""

    spread: float
    both_orders: bool
