"""What an elastic graph means without an array: the values of tokens, and the run that timed ones have to equal."""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray

from gridloom.dfg.semantics import mix
from gridloom.jit import checked_kernel

Words = NDArray[np.int64]

_PART_BITS: Final = 40


@checked_kernel
def token(value: int, number: int, part: int = 0) -> int:
    """Token ``number`` of a part of the firing whose result is ``value``.

    Tokens of one firing differ, so that their order can be checked, and so do those of different parts.
    """
    return mix(value, number + (part << _PART_BITS))


@checked_kernel
def run_without_time(
    goals: Words,
    salts: Words,
    input_start: Words,
    input_edges: Words,
    edges: Words,
    early: Words,
    results: Words,
) -> bool:
    """What the graph means: fire each node as soon as its tokens exist, with no array and no limits.

    ``edges`` has (source node, tokens put, tokens taken, tokens there at the start, where they are in ``early``,
    every how many firings they are put, and taken, their part, and how many are dropped first). ``goals`` has the
    firings of each node. Fills ``results[node, firing]``; False when the graph stops by itself before the end. By the
    theory of Kahn process networks the values do not depend on the order of firing, so any order will do. O(firings *
    tokens), and a pass over all nodes for each round of firings.
    """
    count = len(goals)
    fired = np.zeros(count, dtype=np.int64)
    moving = True
    while moving:
        moving = False
        for v in range(count):
            while fired[v] < goals[v]:
                ready = True
                for k in range(input_start[v], input_start[v + 1]):
                    e = input_edges[k]
                    if fired[v] % edges[e, 6]:
                        continue
                    made = edges[e, 3] + fired[edges[e, 0]] // edges[e, 5] * edges[e, 1] - edges[e, 8]
                    if made < (fired[v] // edges[e, 6] + 1) * edges[e, 2]:
                        ready = False
                        break
                if not ready:
                    break
                state = mix(salts[v], fired[v])
                for k in range(input_start[v], input_start[v + 1]):
                    e = input_edges[k]
                    if fired[v] % edges[e, 6]:
                        continue
                    for j in range(edges[e, 2]):
                        number = fired[v] // edges[e, 6] * edges[e, 2] + j + edges[e, 8]
                        if number < edges[e, 3]:
                            value = early[edges[e, 4] + number]
                        else:
                            later = number - edges[e, 3]
                            firing = (later // edges[e, 1] + 1) * edges[e, 5] - 1
                            value = token(results[edges[e, 0], firing], later % edges[e, 1], edges[e, 7])
                        state = mix(state, value + k - input_start[v])
                results[v, fired[v]] = state
                fired[v] += 1
                moving = True
    return bool(np.all(fired >= goals))
