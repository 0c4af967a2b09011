"""Values of earlier iterations as streams of their own: an array that keeps nothing reads them from memory again.

An input that is read some iterations later is the same stream, begun earlier: its first words are those that the loop
starts with. A counter, a sum of itself and a constant, is a stream of known numbers. Anything else that is carried
(a sum over the loop) stays as it is, and :func:`find_carried_edge` names it.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from gridloom.dfg.interpreter import Stimulus, Words
from gridloom.dfg.model import Dfg, Edge, Initial, Node
from gridloom.transform.assumed import StreamCounter, counters_of


@dataclass(frozen=True, kw_only=True)
class Delayed:
    """A stream that brings what a node of the source was some iterations ago; ``initial`` comes before that."""

    source: str
    distance: int
    initial: tuple[Initial, ...]


@dataclass(frozen=True, kw_only=True)
class Streamed:
    """A loop whose carried inputs and counters are inputs, and what those inputs bring."""

    dfg: Dfg
    counters: dict[str, StreamCounter]
    delayed: dict[str, Delayed]

    def streams(self, stimulus: Stimulus) -> dict[str, Words]:
        """Return the streams of all inputs from a stimulus of the loop as it was."""
        streams = dict(stimulus.streams)
        for name, counter in self.counters.items():
            first = _number(counter.initial, stimulus)
            streams[name] = first + counter.step * np.arange(1, stimulus.iterations + 1, dtype=np.int64)
        for name, item in self.delayed.items():
            before = np.array([_number(value, stimulus) for value in item.initial], dtype=np.int64)
            streams[name] = np.concatenate([before, streams[item.source]])[: stimulus.iterations]
        return streams


def _number(value: Initial, stimulus: Stimulus) -> int:
    return stimulus.liveins[value] if isinstance(value, str) else int(value)


def stream_counters(dfg: Dfg) -> Streamed:
    """Return the loop with inputs for its counters and for inputs of earlier iterations. Linear."""
    counters = counters_of(dfg)
    dfg = _with_inputs(dfg, counters)
    delayed: dict[str, Delayed] = {}
    named: dict[tuple[str, int, tuple[Initial, ...]], str] = {}
    edges: list[Edge] = []
    nodes = list(dfg.nodes)
    ranges = dict(dfg.ranges)
    for k, edge in enumerate(dfg.edges):
        if edge.kind != "data" or not edge.distance or dfg.node(edge.source).op != "input":
            edges.append(edge)
            continue
        initial = dfg.initial_values(k)
        key = (edge.source, edge.distance, initial)
        if key not in named:
            name = _fresh(dfg, f"{edge.source}_before{edge.distance}", delayed)
            named[key] = name
            delayed[name] = Delayed(source=edge.source, distance=edge.distance, initial=initial)
            brought = dfg.node(edge.source).variable or edge.source
            nodes.append(Node(id=name, op="input", variable=f"{brought}@-{edge.distance}"))
            if edge.source in ranges:
                numbers = [int(value) for value in initial if not isinstance(value, str)]
                low, high = ranges[edge.source]
                ranges[name] = min([low, *numbers]), max([high, *numbers])
        edges.append(replace(edge, source=named[key], distance=0, initial=()))
    read = {edge.source for edge in edges}
    # An input that is only read later is no longer read itself, but the stream of its delay is made from it.
    kept = tuple(node for node in nodes if node.op != "input" or node.id in read or node.id not in dfg.index)
    return Streamed(dfg=replace(dfg, nodes=kept, edges=tuple(edges), ranges=ranges), counters=counters, delayed=delayed)


def _fresh(dfg: Dfg, stem: str, taken: dict[str, Delayed]) -> str:
    name, k = stem, 1
    while name in dfg.index or name in taken:
        k += 1
        name = f"{stem}_{k}"
    return name


def _with_inputs(dfg: Dfg, counters: dict[str, StreamCounter]) -> Dfg:
    """The loop with an input in place of each counter; what only counters read goes with them."""
    if not counters:
        return dfg
    nodes = tuple(
        replace(node, op="input", variable=node.id, liveout=None) if node.id in counters else node for node in dfg.nodes
    )
    edges = tuple(edge for edge in dfg.edges if edge.target not in counters)
    read = {edge.source for edge in edges}
    idle = {node.id for node in nodes if node.op in ("const", "livein") and node.id not in read}
    return replace(dfg, nodes=tuple(node for node in nodes if node.id not in idle), edges=edges)


def find_carried_edge(dfg: Dfg) -> Edge | None:
    """Return the first edge that keeps a value or an order between iterations; None: there is none."""
    return next((edge for edge in dfg.edges if edge.distance or edge.kind != "data"), None)
