"""Pieces of a graph that colours cannot tell apart, compared node by node.

Equal colours are a hint; this is the proof. From the node of the rarest colour edges are followed from pair to pair,
and at the end every edge of one piece must have its partner in the other. Linear in the edges of a piece.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from gridloom.dfg.model import Dfg
from gridloom.search.arrays import Uint64s

#: The nodes of a piece, and the duplicated nodes that it needs.
Parts = tuple[tuple[int, ...], tuple[int, ...]]


def match_pieces(dfg: Dfg, pieces: Sequence[tuple[list[int], list[int]]], colours: Uint64s) -> list[list[Parts]]:
    """Groups of pieces that match node by node, each with its nodes in matching order."""
    groups: list[list[Parts]] = []
    for nodes, again in pieces:
        for group in groups:
            found = _match(dfg, group[0], (tuple(nodes), tuple(again)), colours)
            if found is not None:
                group.append(found)
                break
        else:
            groups.append([(tuple(nodes), tuple(again))])
    return groups


def _match(dfg: Dfg, model: Parts, piece: Parts, colours: Uint64s) -> Parts | None:
    """The parts of a piece in the order of those of a model that they correspond to; None where they do not.

    Where several nodes would do, the first is taken: nodes that refinement cannot tell apart can mostly be exchanged.
    """
    count = Counter(colours[list(model[0])].tolist())
    start = min(model[0], key=lambda node: (count[int(colours[node])], node))
    partner = next((node for node in piece[0] if colours[node] == colours[start]), None)
    if partner is None or [len(part) for part in model] != [len(part) for part in piece]:
        return None
    pairs = _pairs(_Side(dfg, model, colours), _Side(dfg, piece, colours), start, partner)
    if pairs is None or len(pairs) != len(model[0]) + len(model[1]):
        return None
    if not _same(dfg, pairs):
        return None
    return tuple(pairs[node] for node in model[0]), tuple(pairs[node] for node in model[1])


class _Side:
    """One of two pieces that are compared."""

    def __init__(self, dfg: Dfg, parts: Parts, colours: Uint64s) -> None:
        self.dfg = dfg
        self.own = set(parts[0])
        self.all = self.own | set(parts[1])
        self.colours = colours

    def steps(self, node: int) -> list[tuple[int, int, int, int, int]]:
        """The edges at a node: direction, operand, distance, colour of the other end, and the other end.

        What reads a duplicated node is not asked: other pieces do so, too.
        """
        dfg, found = self.dfg, []
        for direction, edges in ((0, dfg.in_edges[node]), (1, dfg.out_edges[node] if node in self.own else ())):
            for k in edges:
                edge = dfg.edges[k]
                other = dfg.index[edge.target if direction else edge.source]
                if edge.kind == "data" and other in self.all:
                    found.append((direction, edge.operand, edge.distance, int(self.colours[other]), other))
        return sorted(found)


def _pairs(model: _Side, piece: _Side, start: int, partner: int) -> dict[int, int] | None:
    """The partners of all nodes that are reached from one pair; None where edges differ."""
    pairs, taken, waiting = {start: partner}, {partner}, [start]
    while waiting:
        node = waiting.pop()
        mine, theirs = model.steps(node), piece.steps(pairs[node])
        if [step[:-1] for step in mine] != [step[:-1] for step in theirs]:
            return None
        for (*_, a), (*_, b) in zip(mine, theirs, strict=True):
            if a not in pairs and b not in taken:
                pairs[a] = b
                taken.add(b)
                waiting.append(a)
    return pairs


def _same(dfg: Dfg, pairs: dict[int, int]) -> bool:
    """True when nodes that correspond are of one op and read what corresponds."""
    for mine, theirs in pairs.items():
        a, b = dfg.nodes[mine], dfg.nodes[theirs]
        if (a.op, a.op_class) != (b.op, b.op_class):
            return False
        if _reads(dfg, mine, pairs) != _reads(dfg, theirs, {node: node for node in pairs.values()}):
            return False
    return True


def _reads(dfg: Dfg, node: int, pairs: dict[int, int]) -> list[tuple[int, int, int | str]]:
    """What a node reads: operand, distance, and the source: a partner, or the name of a live-in."""
    found: list[tuple[int, int, int | str]] = []
    for k in dfg.in_edges[node]:
        edge, source = dfg.edges[k], dfg.index[dfg.edges[k].source]
        if edge.kind != "data":
            continue
        if source in pairs:
            found.append((edge.operand, edge.distance, pairs[source]))
        elif dfg.ops[source].timeless:
            name = "" if dfg.ops[source].op_class == "const" else edge.source
            found.append((edge.operand, edge.distance, name))
        else:
            found.append((edge.operand, edge.distance, -1))
    return found
