"""Counters of a loop: sums of themselves and a constant, so that their values are known before the loop runs."""

from __future__ import annotations

from dataclasses import dataclass

from gridloom.dfg.model import Dfg, Initial


@dataclass(frozen=True, kw_only=True)
class StreamCounter:
    """A stream that brings a counter: ``initial`` and a step more in every iteration, the first one included."""

    initial: Initial
    step: int


def counters_of(dfg: Dfg) -> dict[str, StreamCounter]:
    """Return the nodes that are a sum of themselves one iteration ago and a constant."""
    found: dict[str, StreamCounter] = {}
    for node in dfg.nodes:
        if node.op not in ("add", "sub"):
            continue
        rows = dfg.operand_edges(node.id)
        for own, other in (rows, rows[::-1]):
            step = dfg.node(dfg.edges[other].source)
            itself = dfg.edges[own].source == node.id and dfg.edges[own].distance == 1
            if itself and step.op == "const" and (node.op == "add" or own == rows[0]):
                amount = int(step.value or 0)
                first = dfg.initial_values(own)[0]
                found[node.id] = StreamCounter(initial=first, step=amount if node.op == "add" else -amount)
    return found
