"""Modulo schedules of RAMP's working graph: all of it anew, or only what was inserted.

The scheduler itself is in :mod:`gridloom.targets.modulo.mappers.schedule.iterative`; here the ops, links and ties of a
working graph become the dependences and resource counts that it takes.
"""

from __future__ import annotations

import numpy as np

from gridloom.search.arrays import Int64s
from gridloom.targets.modulo.mappers.ramp.graph import WorkGraph
from gridloom.targets.modulo.mappers.schedule.iterative import (
    Dependence,
    least_distances,
    modulo_schedule,
    shorten_lifetimes,
)
from gridloom.targets.modulo.mappers.schedule.resources import Resources


def dependences(graph: WorkGraph) -> list[Dependence]:
    """What issue cycles have to respect; an upper bound on a distance is a dependence in the other direction."""
    found = []
    for link in graph.links:
        a, b = link.source, link.target
        found.append(Dependence(source=a, target=b, delay=graph.delay(link), distance=link.distance))
        if link.most is not None:
            found.append(Dependence(source=b, target=a, delay=-link.most, distance=-link.distance))
    for tie in graph.ties:
        found.append(Dependence(source=tie.source, target=tie.target, delay=tie.delay, distance=tie.distance))
        if tie.exact:
            found.append(Dependence(source=tie.target, target=tie.source, delay=-tie.delay, distance=-tie.distance))
    return found


def schedule(
    graph: WorkGraph,
    counts: Resources,
    ii: int,
    *,
    reach: int,
    fixed: Int64s | None = None,
    wanted: Int64s | None = None,
    rng: np.random.Generator | None = None,
) -> Int64s | None:
    """Issue cycles of every op, or None where none was found.

    ``reach``: PEs that read an output, 0 where a file takes values anywhere. ``fixed`` holds the cycles of the first
    ops, which then stay; ``wanted`` those that they keep where dependences and room allow it. ``rng`` perturbs the
    order of nodes. Cost: O(n^3) for the distances, compiled.
    """
    count = len(graph.ops)
    least = least_distances(count, dependences(graph), ii)
    if count and least.diagonal().max() > 0:
        return None
    # The diagonal is free to say from which cycle on an op without operands may issue.
    for n, op in enumerate(graph.ops):
        least[n, n] = op.postponed if not graph.entering[n] else least[n, n]
    takes = np.zeros((count, len(counts.room)), dtype=np.int64)
    for n, op in enumerate(graph.ops):
        takes[n, list(counts.takes[op.row])] = 1
    room = np.array(counts.room, dtype=np.int64)
    noise = None if rng is None else 2.5 * rng.random(count)
    aims = _extended(wanted, count)
    cycle = modulo_schedule(least, ii, takes, room, start=_extended(fixed, count), wanted=aims, noise=noise)
    if cycle is not None and fixed is None:
        links = [(link.source, link.target, link.distance) for link in graph.links if not link.memory]
        latency = np.array([op.latency for op in graph.ops], dtype=np.int64)
        table = np.array(links, dtype=np.int64).reshape(-1, 3)
        shorten_lifetimes(least, ii, takes, room, table, latency, cycle, reach=reach)
    return cycle


def _extended(cycles: Int64s | None, count: int) -> Int64s:
    """Cycles of the first ops, and -1 for those that follow them."""
    found = np.full(count, -1, dtype=np.int64)
    if cycles is not None:
        found[: len(cycles)] = cycles
    return found
