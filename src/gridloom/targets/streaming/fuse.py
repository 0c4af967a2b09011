"""Fused instructions: a multiply or shift and the sum, difference or logic that alone reads it become one op.

Units that multiply or shift and then add (the streaming engine's) run such a pair in one slot. The fused ops compute
what the pair computed, bit for bit: integers wrap, and a fused single-precision sum rounds after the product too.

Only a reader within the same iteration is joined, and only where nothing else sees the product, so that the graph keeps
its outputs, live-outs and recurrences. A fused op has three operands: the two factors, then what is added.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Final

from gridloom.archs.model import Arch
from gridloom.dfg.model import Dfg, Edge, Node
from gridloom.dfg.ops import FUSED, OP_TABLE, lookup

_SQUARES: Final = {"mul": "square", "fmul": "fsquare"}


def _pairs() -> dict[tuple[str, str, int], str]:
    """Return the fused op for a first op, a second op, and the operand at which the second reads the first.

    Second ops that commute take the product at either operand; a difference has two fused ops, one for each. A square
    is a product of its operand with itself and fuses as one.
    """
    table = {}
    for name, (first, second, at) in FUSED.items():
        places = (at,) if second in ("sub", "fsub") else (0, 1)
        for op in (first, _SQUARES[first]) if first in _SQUARES else (first,):
            table.update({(op, second, place): name for place in places})
    return table


_PAIRS: Final = _pairs()

_NAME: Final = {op.code: name for name, op in OP_TABLE["i32"].items()}


@dataclass(frozen=True, slots=True)
class _Pair:
    """The first op ``first`` goes into ``second``, which reads it at ``operand`` and becomes ``op``."""

    first: str
    second: str
    operand: int
    op: str


def fuse(dfg: Dfg) -> Dfg:
    """Return the same graph with fused instructions where a product or shift has a sum or logic as its single reader.

    The fused node keeps the id, the variable and the live-out of its reader. Products that other nodes, earlier
    iterations or the user read stay as they are. Linear in nodes and edges.
    """
    if dfg.domain not in ("i32", "f32"):
        return dfg
    pairs: dict[str, _Pair] = {}
    gone: set[str] = set()
    # Of two products of a sum the later one is fused: the other has time to be made on its own.
    for k in reversed(dfg.topological):
        pair = _pair(dfg, dfg.nodes[k])
        # A sum of two products can take only one of them into its instruction.
        if pair is not None and pair.second not in pairs:
            pairs[pair.second] = pair
            gone.add(pair.first)
    if not pairs:
        return dfg
    nodes = tuple(_fused(node, pairs.get(node.id)) for node in dfg.nodes if node.id not in gone)
    return replace(dfg, nodes=nodes, edges=tuple(_edges(dfg, pairs, gone)))


def _name(dfg: Dfg, node: Node) -> str:
    """Return the op under the name that tells integers and singles apart; domain f32 has two names for one op."""
    return _NAME.get(lookup(dfg.domain, node.op).code, node.op)


def _pair(dfg: Dfg, first: Node) -> _Pair | None:
    """Return the pair that a product or shift can begin.

    None unless its one reader is in the same iteration and the pair has a fused op. Nodes with an op class of their
    own, a variable or an order edge stay as they are: fusing would change where they may run or when.
    """
    out = [dfg.edges[e] for e in dfg.out_edges[dfg.index[first.id]]]
    if len(out) != 1 or out[0].kind != "data" or out[0].distance or first.liveout or first.op_class:
        return None
    if first.variable or any(dfg.edges[e].kind != "data" for e in dfg.in_edges[dfg.index[first.id]]):
        return None
    second = dfg.node(out[0].target)
    op = _PAIRS.get((_name(dfg, first), _name(dfg, second), out[0].operand))
    return None if op is None or second.op_class else _Pair(first.id, second.id, out[0].operand, op)


def _fused(node: Node, pair: _Pair | None) -> Node:
    """Return the node as it is in the fused graph; the pair is None for a node that stays as it is."""
    return node if pair is None else replace(node, op=pair.op)


def _edges(dfg: Dfg, pairs: dict[str, _Pair], gone: set[str]) -> list[Edge]:
    """Return the edges of the fused graph; a fused node has the two factors first, then what is added.

    The operand of a square is read twice.
    """
    begins = {pair.first: pair for pair in pairs.values()}
    edges: list[Edge] = []
    for edge in dfg.edges:
        if edge.source in gone:
            continue
        if edge.target in gone:
            pair = begins[edge.target]
            edges.append(replace(edge, target=pair.second))
            if dfg.op(pair.first).arity == 1:
                edges.append(replace(edge, target=pair.second, operand=1))
        elif edge.target in pairs and edge.carries_value:
            edges.append(replace(edge, operand=2))
        else:
            edges.append(edge)
    return edges


def fuse_for(dfg: Dfg, _arch: Arch) -> Dfg:
    """Return the graph with fused instructions, for an array that has them."""
    return fuse(dfg)
