"""Counters of a loop, and what the user says of the range of its values (``--assume-range``)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Final

from gridloom.dfg.model import Dfg, Initial
from gridloom.errors import OptionError


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


#: The values of a 32-bit word.
WORD: Final = (-(1 << 31), (1 << 31) - 1)


def assume_ranges(dfg: Dfg, given: Mapping[str, tuple[int, int]]) -> Dfg:
    """Return the loop with what the user says of its values: by node, stream, array or live-in, or ``*`` for all.

    ``*`` is for the inputs, live-ins and counters of 32 bits that no other name says anything of. OptionError for a
    name that the loop does not have, and for a range that is empty or leaves the word.
    """
    known = dict(dfg.ranges)
    named: set[str] = set()
    for name, (low, high) in given.items():
        if not WORD[0] <= low <= high <= WORD[1]:
            raise OptionError(
                f"{name}={low}..{high}: expected LOW..HIGH within {WORD[0]}..{WORD[1]}", where="--assume-range"
            )
        nodes = [node.id for node in dfg.nodes if name in (node.id, node.variable, array_of(node.variable))]
        nodes += [name] if name in dfg.liveins and name not in nodes else []
        inputs = [node for node in nodes if node not in dfg.index or dfg.node(node).op != "output"]
        if not inputs and name != "*":
            names = ", ".join(sorted({array_of(n.variable) or n.id for n in dfg.nodes if n.op in ("input", "livein")}))
            raise OptionError(f"the loop has no value {name!r}; it reads {names or 'nothing'}", where="--assume-range")
        named.update(inputs)
        known.update(dict.fromkeys(inputs, (low, high)))
    if "*" in given:
        ports = [node.id for node in dfg.nodes if node.op in ("input", "livein")]
        wide = [name for name in (*ports, *counters_of(dfg)) if name not in named]
        known.update({name: given["*"] for name in wide if dfg.ranges.get(name, WORD) == WORD})
    return replace(dfg, ranges=known)


def array_of(variable: str | None) -> str:
    """The array of a stream: ``x`` for ``x[2i+1]`` and for ``x@-2``, what it brought two iterations ago."""
    return (variable or "").partition("[")[0].partition("@")[0]
