"""The values that a timed run has to reproduce: those of the graph without an array, and tokens there at the start."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from gridloom.dfg.semantics import encode, salt
from gridloom.errors import SimulationError
from gridloom.sim.reading import first_values, operand_edges, positions
from gridloom.targets.dataflow.machine import untimed
from gridloom.targets.dataflow.machine.fabric import pack_rows
from gridloom.targets.dataflow.machine.firing_rates import tokens_taken
from gridloom.targets.dataflow.machine.token_tables import Words
from gridloom.targets.dataflow.program.model import UnitGraph


def early_tokens(dfg: UnitGraph, e: int) -> list[int]:
    """The tokens that are on a loop-carried edge before the first firing.

    There are ``distance`` firings' worth of them, with the values that the graph gives as initial.
    """
    edge = dfg.edges[e]
    values = first_values(dfg, e)
    if any(isinstance(value, str) for value in values):
        raise SimulationError(f"edge {edge.source} -> {edge.target} starts from a live-in; elastic arrays take numbers")
    return [
        int(untimed.token(encode(dfg.domain, value), j, edge.part))
        for value in values
        if not isinstance(value, str)
        for j in range(edge.tokens)
    ]


def untimed_values(dfg: UnitGraph, travelling: Sequence[int], goals: Sequence[int], dropped: Sequence[int]) -> Words:
    """The value of each firing of each node, ``[node, firing]``: what the timed run has to reproduce.

    ``travelling`` are the edges that carry tokens, ``goals`` the firings of each node, and ``dropped`` the tokens of
    each edge that its target never sees. SimulationError for a graph that stops by itself.
    """
    edges: list[tuple[int, ...]] = []
    early: list[int] = []
    number = {e: k for k, e in enumerate(travelling)}
    at = positions(dfg)
    for e in travelling:
        edge, first = dfg.edges[e], early_tokens(dfg, e)
        edges.append(
            (
                at[edge.source], edge.tokens, tokens_taken(edge), len(first), len(early),
                edge.puts_every, edge.takes_every, edge.part, dropped[e],
            )
        )  # fmt: skip
        early += first
    incoming = [[number[e] for e in row if e in number] for row in operand_edges(dfg)]
    start, flat = pack_rows(incoming)
    results = np.zeros((len(dfg.nodes), max(goals, default=0)), dtype=np.int64)
    done = untimed.run_without_time(
        np.array(goals, dtype=np.int64), np.array([salt(node.id) for node in dfg.nodes], dtype=np.int64),
        start, flat, np.array(edges, dtype=np.int64).reshape(-1, 9), np.array([*early, 0], dtype=np.int64), results,
    )  # fmt: skip
    if not done:
        raise SimulationError("stops by itself: a cycle has too few tokens at the start", where=f"graph {dfg.name!r}")
    return results
