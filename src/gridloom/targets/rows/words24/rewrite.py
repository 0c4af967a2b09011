"""Large constants that stand for small ones: of those whose high bits nobody reads, and of biases before shifts.

A compiler that knows that only the low bits of a product are read may replace a negative factor by a large positive one
with the same low bits; of the numbers with those bits the smallest is taken here.

Compilers also turn ``(x + c) >> s`` with a bias into the sum with one large number, whose low bits alone are shifted
out. With c = q * 2**s + r the result is ``((x + r) >> s) + q`` in all bits below 32 - s, and x + r is as small as x.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from gridloom.dfg.model import Dfg, Edge, Node
from gridloom.targets.rows.words24.demand import ALL_BITS
from gridloom.targets.rows.words24.ranges import Range, fits


def small_constants(dfg: Dfg, demands: Mapping[str, int]) -> Dfg:
    """Return the loop with the smallest constants that have the bits that are read; itself where none is smaller."""
    nodes = tuple(
        replace(node, value=_smallest(int(node.value or 0), demands[node.id])) if node.op == "const" else node
        for node in dfg.nodes
    )
    return dfg if nodes == dfg.nodes else replace(dfg, nodes=nodes)


def _smallest(value: int, bits: int) -> int:
    """The number nearest to 0 with these low bits, of a number that does not fit the word.

    >>> _smallest(134202591, 27), _smallest(255, 8)
    (-15137, 255)
    """
    if not 0 < bits < ALL_BITS or fits((value, value)):
        return value
    half = 1 << (bits - 1)
    signed = ((value + half) & ((1 << bits) - 1)) - half
    return min(value, signed, key=abs)


def biases_after_shifts(dfg: Dfg, ranges: Mapping[str, Range], demands: Mapping[str, int]) -> Dfg:
    """Return the loop with large biases added after shifts, where only bits are read that this leaves as they are.

    The graph itself where there is no such bias. Linear.
    """
    nodes = {node.id: node for node in dfg.nodes}
    edges = {(edge.target, edge.operand): edge for edge in dfg.edges if edge.carries_value}
    changed = False
    for node in dfg.nodes:
        bias = _bias(dfg, node, ranges, demands)
        if bias is None:
            continue
        value, amount, constant = bias
        quotient, rest = divmod(constant, 1 << amount)
        inner, small, shifted, back = (_fresh(nodes, f"{node.id}_{part}") for part in ("sum", "rest", "shift", "bias"))
        nodes[inner] = Node(id=inner, op="add")
        nodes[small] = Node(id=small, op="const", value=rest)
        nodes[shifted] = Node(id=shifted, op="shr")
        nodes[back] = Node(id=back, op="const", value=quotient)
        nodes[node.id] = replace(node, op="add")
        edges[inner, 0] = Edge(source=value, target=inner, operand=0)
        edges[inner, 1] = Edge(source=small, target=inner, operand=1)
        edges[shifted, 0] = Edge(source=inner, target=shifted, operand=0)
        edges[shifted, 1] = replace(edges[node.id, 1], target=shifted)
        edges[node.id, 0] = Edge(source=shifted, target=node.id, operand=0)
        edges[node.id, 1] = Edge(source=back, target=node.id, operand=1)
        changed = True
    return replace(dfg, nodes=tuple(nodes.values()), edges=tuple(edges.values())) if changed else dfg


def _bias(dfg: Dfg, node: Node, ranges: Mapping[str, Range], demands: Mapping[str, int]) -> tuple[str, int, int] | None:
    """The value, the amount and the constant of ``(value + constant) >> amount`` with a constant that does not fit."""
    if node.op not in ("shr", "lshr"):
        return None
    summed, amount = (dfg.edges[e].source for e in dfg.operand_edges(node.id))
    low, high = ranges[amount]
    if low != high or demands[node.id] > ALL_BITS - (low & 31) or dfg.node(summed).op != "add":
        return None
    value, constant = (dfg.edges[e].source for e in dfg.operand_edges(summed))
    if dfg.node(constant).op != "const":
        value, constant = constant, value
    number = dfg.node(constant).value
    if dfg.node(constant).op != "const" or fits((int(number or 0), int(number or 0))):
        return None
    return value, low & 31, int(number or 0)


def _fresh(nodes: Mapping[str, Node], stem: str) -> str:
    name, k = stem, 1
    while name in nodes:
        k += 1
        name = f"{stem}_{k}"
    return name
