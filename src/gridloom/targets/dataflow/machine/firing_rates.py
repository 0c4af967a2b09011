"""How often units fire in an iteration of a graph, and what its edges carry in it: what both simulators count by.

Mappers count with :mod:`gridloom.targets.dataflow.rates`: judges share no code with them.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from math import lcm

from gridloom.errors import SimulationError
from gridloom.sim.reading import positions
from gridloom.targets.dataflow.program.model import TokenEdge, UnitGraph


def tokens_taken(edge: TokenEdge) -> int:
    """Return the tokens that the target of an edge takes at once."""
    return edge.tokens if edge.takes is None else edge.takes


def count_tokens(dfg: UnitGraph, counts: Sequence[int]) -> list[int]:
    """Return the tokens that each edge carries in an iteration, given the firings of each node."""
    at = positions(dfg)
    return [counts[at[edge.source]] // edge.puts_every * edge.tokens for edge in dfg.edges]


def firings(dfg: UnitGraph, travelling: Sequence[int]) -> list[int]:
    """Return how often each node fires in an iteration: the least numbers that leave the given edges as they were.

    Both ends of an edge also end a group of their firings. SimulationError where no numbers do.
    """
    at = positions(dfg)
    rate: list[Fraction | None] = [None] * len(dfg.nodes)
    near: list[list[tuple[int, Fraction]]] = [[] for _ in dfg.nodes]
    group = [1] * len(dfg.nodes)
    for edge in (dfg.edges[e] for e in travelling):
        a, b = at[edge.source], at[edge.target]
        ratio = Fraction(edge.tokens, edge.puts_every) / Fraction(tokens_taken(edge), edge.takes_every)
        near[a].append((b, ratio))
        near[b].append((a, 1 / ratio))
        group[a], group[b] = lcm(group[a], edge.puts_every), lcm(group[b], edge.takes_every)
    counts = [1] * len(dfg.nodes)
    for start in range(len(dfg.nodes)):
        if rate[start] is None:
            part = _spread(rate, near, start)
            scale = lcm(*(((rate[k] or Fraction(1)) / group[k]).denominator for k in part))
            for k in part:
                counts[k] = int((rate[k] or Fraction(1)) * scale)
    for e in travelling:
        edge = dfg.edges[e]
        put = counts[at[edge.source]] // edge.puts_every * edge.tokens
        if put != counts[at[edge.target]] // edge.takes_every * tokens_taken(edge):
            raise SimulationError(
                f"edge {e} ({edge.source} -> {edge.target}) puts {edge.tokens} tokens and takes {tokens_taken(edge)}, "
                "which does not agree with the rates of the other edges",
                where=f"graph {dfg.name!r}",
            )
    return counts


def _spread(rate: list[Fraction | None], near: list[list[tuple[int, Fraction]]], start: int) -> list[int]:
    """Set the rates of all nodes that edges join with ``start``, whose own is 1, and return these nodes."""
    rate[start] = Fraction(1)
    part = [start]
    for node in part:
        for other, ratio in near[node]:
            if rate[other] is None:
                rate[other] = (rate[node] or Fraction(1)) * ratio
                part.append(other)
    return part
