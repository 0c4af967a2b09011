"""Cutting a graph: each part is a graph of its own, and what crosses is stored by one and loaded by the others.

The parts run one after the other, each over all iterations. A value that a later part reads gets a store (an output) in
its own part, unless it is an output of the graph already, and a load (an input) in every part that reads it. Constants
and live-ins are copied to where they are read; an input of the graph is loaded by every part that reads it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from gridloom.dfg.interpreter import Observation, Stimulus, Words, interpret
from gridloom.dfg.model import Dfg, Edge, Node
from gridloom.errors import DfgError


@dataclass(frozen=True, kw_only=True)
class Part:
    """One part of a graph. It runs over all iterations before the next part begins.

    ``loads`` and ``stores`` name values by the node of the whole graph that makes them, so that parts can be joined:
    what one part stores under a name, a later one loads under it.
    """

    dfg: Dfg
    #: Input of the part -> the node of the whole graph whose values it loads.
    loads: Mapping[str, str]
    #: Output of the part -> the node of the whole graph whose values it stores, or the output that it is.
    stores: Mapping[str, str]

    @property
    def ops(self) -> int:
        """Nodes that compute: neither constants nor ports."""
        return sum(is_op(self.dfg, k) for k in range(len(self.dfg.nodes)))

    @property
    def constants(self) -> int:
        """Constants and live-ins."""
        return sum(op.timeless for op in self.dfg.ops)


def is_op(dfg: Dfg, k: int) -> bool:
    """True for a node that an assignment gives to a part: not a constant, a live-in, an input or an output."""
    return not dfg.ops[k].timeless and dfg.nodes[k].op not in ("input", "output")


def split(dfg: Dfg, assignment: Mapping[str, int]) -> tuple[Part, ...]:
    """The parts of a graph, in the order they run. ``assignment`` gives each op a part; unused numbers are dropped.

    DfgError when an op has no part, when a value would run backwards, or when parts share a memory that one writes.
    Linear in the graph times the number of parts. Running them in order gives what the graph gives (``run_parts``).
    """
    numbers, home, stored = _plan(dfg, assignment)
    return tuple(_part(dfg, home, stored, k, len(numbers)) for k in range(len(numbers)))


def part_of(dfg: Dfg, assignment: Mapping[str, int], number: int) -> Part:
    """One of the parts that ``split`` returns: that of a number of the assignment. Linear in the graph."""
    numbers, home, stored = _plan(dfg, assignment)
    return _part(dfg, home, stored, numbers.index(number), len(numbers))


def _plan(dfg: Dfg, assignment: Mapping[str, int]) -> tuple[list[int], dict[str, int], dict[str, str]]:
    """The numbers of the parts in order, the part of each node, and the outputs that store values that cross."""
    where = f"graph {dfg.name!r}"
    missing = [node.id for k, node in enumerate(dfg.nodes) if is_op(dfg, k) and node.id not in assignment]
    if missing:
        raise DfgError(f"op {missing[0]!r} has no part; every op needs one", where=where)
    unknown = [name for name in assignment if name not in dfg.index]
    if unknown:
        raise DfgError(f"a part is given to {unknown[0]!r}, which is no node", where=where)
    # A graph without ops has one part, so that its inputs and outputs have a place.
    numbers = sorted({assignment[node.id] for k, node in enumerate(dfg.nodes) if is_op(dfg, k)}) or [0]
    home = _homes(dfg, assignment, {number: k for k, number in enumerate(numbers)})
    _check_order(dfg, home, where)
    _check_memory(dfg, home, where)
    return numbers, home, _stored(dfg, home)


def _homes(dfg: Dfg, assignment: Mapping[str, int], position: Mapping[int, int]) -> dict[str, int]:
    """Node -> its part. Outputs go with what they store; constants and inputs, which are copied, have none."""
    home = {node.id: position[assignment[node.id]] for k, node in enumerate(dfg.nodes) if is_op(dfg, k)}
    for node in dfg.nodes:
        if node.op == "output":
            source = dfg.edges[dfg.operand_edges(node.id)[0]].source
            # An output that stores an input of the graph directly goes to the first part.
            home[node.id] = home.get(source, 0)
    return home


def _check_order(dfg: Dfg, home: Mapping[str, int], where: str) -> None:
    """Values only go to later parts, and edges that tie ops together are not cut."""
    for edge in dfg.edges:
        if edge.source not in home or edge.target not in home:
            continue
        a, b = home[edge.source], home[edge.target]
        if a > b:
            raise DfgError(
                f"{edge.source!r} in part {a} is read by {edge.target!r} in part {b}, before it", where=where
            )
        if a != b and edge.kind in ("pair", "async"):
            raise DfgError(f"{edge.source!r} and {edge.target!r}: a {edge.kind} edge cannot be cut", where=where)


def _check_memory(dfg: Dfg, home: Mapping[str, int], where: str) -> None:
    """An array that is written belongs to one part: another one would see it as it is after all iterations."""
    users: dict[str, set[int]] = {}
    for node in dfg.nodes:
        if node.array is not None:
            users.setdefault(node.array, set()).add(home[node.id])
    written = {node.array for node in dfg.nodes if node.array is not None and not dfg.has_result(node.id)}
    for array in sorted(users):
        if array in written and len(users[array]) > 1:
            raise DfgError(f"array {array!r} is written and used in more than one part", where=where)


def _stored(dfg: Dfg, home: Mapping[str, int]) -> dict[str, str]:
    """Op whose value crosses -> the output that stores it: one of the graph's own, or a new one.

    An output that reads the op over a distance stores other values and does not serve.
    """
    crossing = {
        edge.source
        for edge in dfg.edges
        if edge.carries_value and edge.source in home and home[edge.source] != home[edge.target]
    }
    own: dict[str, str] = {}
    for node in dfg.nodes:
        if node.op == "output":
            edge = dfg.edges[dfg.operand_edges(node.id)[0]]
            if edge.distance == 0:
                own.setdefault(edge.source, node.id)
    return {source: own.get(source) or _fresh(dfg, f"{source}.store") for source in sorted(crossing)}


def _fresh(dfg: Dfg, name: str) -> str:
    """A node id that the graph does not have."""
    while name in dfg.index:
        name += "_"
    return name


def _part(dfg: Dfg, home: Mapping[str, int], stored: Mapping[str, str], k: int, count: int) -> Part:
    """Part k as a graph of its own, with its loads and stores.

    A value from an earlier part becomes an input under the id of the node that made it, so that edges keep their
    sources.
    """
    inside = {name for name, part in home.items() if part == k}
    edges: list[Edge] = []
    read: set[str] = set()
    for number, edge in enumerate(dfg.edges):
        if edge.target not in inside or (not edge.carries_value and edge.source not in inside):
            continue
        # Edges are numbered anew, so initial values that depend on the number are written down.
        edges.append(replace(edge, initial=dfg.initial_values(number)) if edge.distance else edge)
        read.add(edge.source)
    # A constant or an input that nothing reads stays somewhere, so that no node is lost.
    idle = {node.id for j, node in enumerate(dfg.nodes) if k == 0 and node.id not in home and not dfg.out_edges[j]}
    nodes: list[Node] = []
    loads: dict[str, str] = {}
    stores: dict[str, str] = {}
    for node in dfg.nodes:
        if node.id in inside or (node.id not in home and node.id in read | idle):
            nodes.append(node)
            if node.op == "input":
                loads[node.id] = node.id
            elif node.op == "output":
                stores.setdefault(node.id, node.id)
        elif node.id in read:
            nodes.append(Node(id=node.id, op="input", variable=node.id))
            loads[node.id] = node.id
        if node.id in inside and node.id in stored:
            output = stored[node.id]
            stores[output] = node.id
            if output not in dfg.index:
                nodes.append(Node(id=output, op="output", variable=node.id))
                edges.append(Edge(source=node.id, target=output))
    used = {node.array for node in nodes}
    return Part(
        dfg=Dfg(
            name=f"{dfg.name}.{k}" if count > 1 else dfg.name,
            domain=dfg.domain,
            nodes=tuple(nodes),
            edges=tuple(edges),
            arrays=tuple(array for array in dfg.arrays if array.name in used),
            notes=f"part {k} of {dfg.name}" if count > 1 else dfg.notes,
        ),
        loads=loads,
        stores=stores,
    )


def run_parts(parts: Sequence[Part], stimulus: Stimulus) -> dict[str, Words]:
    """Interpret the parts in order; what one stores, later ones load. Returns the output streams by node.

    Memory that one part writes is what later parts start from. Needs a stimulus of the whole graph. The result equals
    that of the whole graph, which the tests check on random graphs and cuts.
    """
    values: dict[str, Words] = dict(stimulus.streams)
    memory = dict(stimulus.memory)
    outputs: dict[str, Words] = {}
    for part in parts:
        seen: Observation = interpret(
            part.dfg,
            Stimulus(
                iterations=stimulus.iterations,
                streams={name: values[source] for name, source in part.loads.items()},
                liveins=stimulus.liveins,
                memory={array.name: memory[array.name] for array in part.dfg.arrays if array.name in memory},
            ),
        )
        # Parts share no array that one of them writes, so that the order of updates does not matter.
        memory |= seen.memory
        for output, source in part.stores.items():
            values[source] = seen.outputs[output]
        outputs |= seen.outputs
    return outputs
