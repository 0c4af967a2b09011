"""One loop over the SIMD lanes of an array: lane l takes iterations l, l + lanes, l + 2 lanes and so on.

No lane reads a value of another one. An iteration may therefore only need values of iterations of its own lane: every
carried distance has to be a multiple of the lanes, and becomes that many times smaller. Constants, live-ins and
initial values come with the configuration and are the same in all lanes; each lane has a copy of every array, so that
arrays may be read and not written. A reduction over one loop breaks the first rule, since each iteration needs the
sum of the one before: it runs as one partial sum per lane, which a user has to ask for and to add up.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Final

from gridloom.dfg.model import Dfg, Edge
from gridloom.errors import DfgError

_STORES: Final = frozenset({"store", "store_if", "store_address"})


def lanes_refusal(dfg: Dfg, lanes: int) -> str | None:
    """Return why the iterations of a graph cannot be split over SIMD lanes; None where they can.

    The first reason is returned, in words that name the nodes. Linear in the edges and their distances.

    >>> from gridloom.dfg import DfgBuilder
    >>> b = DfgBuilder("sum")
    >>> total = b.add("add", b.input("x"), id="total")
    >>> b.carry(total, total, operand=1, distance=1, initial=[0])
    >>> _ = b.output(total, "y")
    >>> lanes_refusal(b.build(), 16)
    "'total' is carried over 1 iteration to 'total', which is no multiple of 16 lanes"
    """
    return next(_reasons(dfg, lanes), None)


def split_over_lanes(dfg: Dfg, lanes: int) -> Dfg:
    """Return the graph that every SIMD lane runs when the iterations of a graph are split over so many lanes.

    Lane l reads elements l, l + lanes, ... of each input stream and writes those of each output stream. The live-outs
    of the loop are those of the lane that ran its last iteration. DfgError where :func:`lanes_refusal` has a reason.

    >>> from gridloom.dfg import DfgBuilder
    >>> b = DfgBuilder("sums")
    >>> total = b.add("add", b.input("x"), id="total")
    >>> b.carry(total, total, operand=1, distance=32, initial=[0])
    >>> _ = b.output(total, "y")
    >>> [edge.distance for edge in split_over_lanes(b.build(), 16).edges if edge.distance]
    [2]
    """
    refusal = lanes_refusal(dfg, lanes)
    if refusal is not None:
        raise DfgError(f"cannot be split over {lanes} SIMD lanes: {refusal}", where=f"graph {dfg.name!r}")
    trips = None if dfg.trip_count is None else max(dfg.trip_count // lanes, 1)
    return replace(
        dfg, trip_count=trips, edges=tuple(_in_lane(dfg, e, edge, lanes) for e, edge in enumerate(dfg.edges))
    )


def _in_lane(dfg: Dfg, e: int, edge: Edge, lanes: int) -> Edge:
    """An edge as each lane has it; of initial values that are the same in all lanes each lane has one."""
    if not edge.distance:
        return edge
    initial = dfg.initial_values(e)[::lanes] if edge.initial or dfg.domain == "opaque" else ()
    return replace(edge, distance=edge.distance // lanes, initial=initial)


def _reasons(dfg: Dfg, lanes: int) -> Iterator[str]:
    """What stands against splitting a graph, one sentence each."""
    for e, edge in enumerate(dfg.edges):
        if edge.distance % lanes:
            many = "s" if edge.distance > 1 else ""
            way = f"{edge.source!r} is carried over {edge.distance} iteration{many} to {edge.target!r}"
            yield f"{way}, which is no multiple of {lanes} lanes"
        elif edge.distance and edge.carries_value:
            values = dfg.initial_values(e)
            rounds = [values[k : k + lanes] for k in range(0, len(values), lanes)]
            if any(len(set(one)) > 1 for one in rounds):
                yield f"the initial values from {edge.source!r} to {edge.target!r} are not the same in all lanes"
    for node in dfg.nodes:
        if node.op in _STORES and lanes > 1:
            yield f"{node.id!r} stores to array {node.array!r}, and every lane has arrays of its own"
