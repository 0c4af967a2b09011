"""Streams become memory accesses, for arrays that have memory units but no ports.

An input becomes a load and an output a store of an array of its own, indexed by the iteration: one counter serves all.
The results are the same values in the same order, found in memory instead of at a port.

The counter is a node ``iteration`` that adds 1 to itself with distance 1 from -1 on, so that it is 0 in iteration 0.
Every access reads it, which costs an issue slot per iteration and routes from one place to all memory units.
In domain ``cma24`` -1 + 1 leaves a carry, so that the counter starts from 0 and accesses read its previous value.
"""

from __future__ import annotations

from dataclasses import replace

from gridloom.archs.model import Arch
from gridloom.dfg.model import Dfg, Edge, MemoryArray, Node

_PORTS = ("input", "output")


def needs_memory(dfg: Dfg, arch: Arch) -> bool:
    """Return True when a graph has streams and the array has no place for them, but has tiles that access memory."""
    streams = any(node.op in _PORTS for node in dfg.nodes)
    ports = "input" in arch.free or bool(arch.tiles_for("input"))
    return streams and not ports and dfg.domain != "tensor" and bool(arch.tiles_for("mem"))


def streams_to_memory(dfg: Dfg, length: int = 128) -> Dfg:
    """Return the same loop with loads and stores in place of inputs and outputs.

    Each stream gets an array of ``length`` words, which is the most iterations that the new graph can run. Opaque
    graphs keep their uninterpreted ops: there a load is one more function of its index. Linear in nodes and edges.
    """
    streams = [node for node in dfg.nodes if node.op in _PORTS]
    if not streams:
        return dfg
    taken = set(dfg.index)
    counter, one = _fresh("iteration", taken), _fresh("one", taken)
    names = _array_names(dfg, streams)
    nodes = [_access(node, names.get(node.id)) for node in dfg.nodes]
    nodes += [Node(id=counter, op="add"), Node(id=one, op="const", value=1)]
    edges = [
        # A store takes its index first and the value second.
        replace(edge, operand=1) if edge.carries_value and dfg.node(edge.target).op == "output" else edge
        for edge in dfg.edges
    ]
    late = int(dfg.domain == "cma24")
    index = Edge(source=counter, target=counter, distance=late, initial=(0,) * late)
    edges += [replace(index, target=node.id) for node in streams]
    edges += [
        Edge(source=counter, target=counter, distance=1, initial=(late - 1,)),
        Edge(source=one, target=counter, operand=1),
    ]
    arrays = () if dfg.domain == "opaque" else tuple(MemoryArray(name=name, length=length) for name in names.values())
    return replace(dfg, nodes=tuple(nodes), edges=tuple(edges), arrays=dfg.arrays + arrays)


def _access(node: Node, array: str | None) -> Node:
    """Return the load or store that stands for a stream; a node without an array stays as it is."""
    if array is None:
        return node
    op = "load" if node.op == "input" else "store"
    return replace(node, op=op, array=array, op_class=None, label=node.label or node.variable or node.id)


def _array_names(dfg: Dfg, streams: list[Node]) -> dict[str, str]:
    """Return for each stream the name of its array, which the graph does not have yet."""
    taken = {array.name for array in dfg.arrays}
    return {node.id: _fresh(f"{node.variable or node.id}_stream", taken) for node in streams}


def _fresh(stem: str, taken: set[str]) -> str:
    """Return the stem, with a number after it where it is taken, and mark it as taken.

    >>> taken = {"one", "one1"}
    >>> _fresh("one", taken), sorted(taken)
    ('one2', ['one', 'one1', 'one2'])
    """
    name, k = stem, 1
    while name in taken:
        name, k = f"{stem}{k}", k + 1
    taken.add(name)
    return name
