"""The arrays that the kernels of the ``dataflow`` mapper share, in tuples by subject."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]


class Chains(NamedTuple):
    """The placement of each chain."""

    #: [chain, unit] -> tile.
    places: Ints
    #: [chain, tile] -> unit, -1: none.
    holder: Ints


class Units(NamedTuple):
    """The units of a pipeline and the flows between them."""

    kind: Ints
    #: True for a unit that may not move.
    fixed: NDArray[np.bool_]
    #: Flow -> the units at its ends, its rate, the running sum of weights by which flows are drawn.
    source: Ints
    target: Ints
    rate: Floats
    heavy: Floats
    #: CSR: unit -> flows that it is an end of.
    flow_start: Ints
    flows: Ints


class Sites(NamedTuple):
    """The tiles of an array."""

    #: CSR: kind of unit -> tiles for it.
    tile_start: Ints
    tiles: Ints
    #: Tile -> row and column.
    rows: Ints
    cols: Ints


class Switches(NamedTuple):
    """The switches of an array as tables of link numbers; -1: there is none. See ``Grid``."""

    corners: Ints
    out_links: Ints
    in_links: Ints
    switch_links: Ints


class Flows(NamedTuple):
    """Units at the ends of each flow, its rate, and the order in which flows are routed."""

    source: Ints
    target: Ints
    rate: Floats
    order: Ints


class Weights(NamedTuple):
    """What the square of a link's load costs, in hops; whether both orders of dimensions are tried."""

    spread: float
    both_orders: bool
