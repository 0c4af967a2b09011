"""Repeated parts of a graph: what unrolled copies have in common, found by structure and not by name.

A loop that is unrolled consists of copies that share little: counters, constants and live-ins. A shared node that is
cheap to compute again (a counter, an address that copies have in common) is *duplicated*: each block of copies gets its
own, so that no value has to cross the array. The graph without these nodes falls into *pieces*. Pieces of equal
structure are of one class, and their nodes are listed in matching order, so that one mapping serves all of them.

Structure is compared by colour refinement and then node by node (see
:mod:`gridloom.targets.modulo.mappers.cells.pieces`). All of it is near-linear in the graph.

Colour refinement is the method of Weisfeiler and Leman (1968): each round mixes a node's colour with those of its
neighbours, and the kind of edge that leads to each. Sums of mixed colours do not depend on the order of the neighbours,
so that a round is a few passes over the edges. Two nodes with different surroundings get different colours but for
collisions of 64-bit hashes; whoever relies on equal colours compares the nodes themselves afterwards.

Pieces of a graph that colours cannot tell apart, compared node by node.

Equal colours are a hint; this is the proof. From the node of the rarest colour edges are followed from pair to pair,
and at the end every edge of one piece must have its partner in the other. Linear in the edges of a piece.

Blocks: some pieces of a graph that are mapped together, and the template that equal blocks share.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from gridloom.archs.model import Arch
from gridloom.dfg.model import Dfg
from gridloom.search.arrays import Bools, Int64s, Uint64s
from gridloom.targets.modulo.mappers.problem import COMPUTED_ONCE

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


#: The most nodes that have to be computed again with a duplicated one, itself included.
MOST_AGAIN = 4

#: A repetition has at least this many pieces of one class, and they are at least this part of all nodes.
LEAST_PIECES = 4
LEAST_PART = 0.5

# Rounds of refinement, which is as far as a piece's structure is told apart before it is compared node by node.
_ROUNDS = 24


@dataclass(frozen=True, slots=True)
class GraphPiece:
    """Nodes that belong together, as positions in the graph.

    Pieces of one class list nodes in matching order.
    """

    #: The nodes that only this piece has.
    nodes: tuple[int, ...]
    #: The duplicated nodes that these need; other pieces may need the same.
    again: tuple[int, ...]
    #: Classes are numbered by the nodes that their pieces have together, most first.
    kind: int


@dataclass(frozen=True, eq=False)
class Repetition:
    """A graph as pieces, class by class and in the order of the graph; constants and live-ins belong to none."""

    dfg: Dfg
    pieces: tuple[GraphPiece, ...]

    @cached_property
    def duplicated(self) -> frozenset[int]:
        """All nodes that are computed more than once."""
        return frozenset(node for piece in self.pieces for node in piece.again)


def repetition(dfg: Dfg, arch: Arch) -> Repetition | None:
    """The repeated parts of a graph on an array, with as few duplicated nodes as will do; None where little repeats."""
    graph = _Graph(dfg, arch)
    for fan_out in graph.thresholds():
        found = graph.split(fan_out)
        if found is not None:
            return found
    return None


class _Graph:
    """A graph as flat arrays, with the nodes that take an issue slot and those of them that may be computed again."""

    def __init__(self, dfg: Dfg, arch: Arch) -> None:
        self.dfg = dfg
        self.placed = np.array([
            dfg.op_class(node.id) not in arch.free and not dfg.ops[k].timeless for k, node in enumerate(dfg.nodes)
        ])  # fmt: skip
        self.source = np.array([dfg.index[edge.source] for edge in dfg.edges], dtype=np.int64)
        self.target = np.array([dfg.index[edge.target] for edge in dfg.edges], dtype=np.int64)
        routed = np.array([edge.kind == "data" for edge in dfg.edges], dtype=np.bool_)
        #: Edges that carry a value between placed nodes.
        self.inner = routed & self.placed[self.source] & self.placed[self.target]
        self.again = self._again()

    @cached_property
    def fan_out(self) -> Int64s:
        """The readers of each node."""
        return np.bincount(self.source[self.inner], minlength=len(self.dfg.nodes)).astype(np.int64)

    def _again(self) -> dict[int, frozenset[int]]:
        """For each node that may be computed more than once the nodes that have to be computed with it."""
        dfg = self.dfg
        bound = {dfg.index[end] for edge in dfg.edges if edge.kind != "data" for end in (edge.source, edge.target)}
        free = [
            bool(self.placed[k]) and node.op not in COMPUTED_ONCE and k not in bound for k, node in enumerate(dfg.nodes)
        ]
        cones = {k: self._cone(k, free) for k in np.flatnonzero(free).tolist()}
        return {k: cone for k, cone in cones.items() if cone is not None}

    def _cone(self, node: int, free: list[bool]) -> frozenset[int] | None:
        """What a node is computed from, itself included; None where that is too much or may not be repeated."""
        cone, waiting = {node}, [node]
        while waiting:
            for source in self._sources(waiting.pop()):
                if source in cone:
                    continue
                if not free[source] or len(cone) == MOST_AGAIN:
                    return None
                cone.add(source)
                waiting.append(source)
        return frozenset(cone)

    def _sources(self, node: int) -> list[int]:
        """The placed nodes whose values a node reads."""
        edges = [self.dfg.edges[k] for k in self.dfg.in_edges[node]]
        sources = [self.dfg.index[edge.source] for edge in edges if edge.kind == "data"]
        return [source for source in sources if self.placed[source]]

    def thresholds(self) -> list[int]:
        """The numbers of readers from which on nodes are duplicated, in the order in which they are tried."""
        known = sorted({int(self.fan_out[k]) for k in self.again if self.fan_out[k] >= 2}, reverse=True)
        return [len(self.dfg.edges) + 1, *known]

    def split(self, fan_out: int) -> Repetition | None:
        """The pieces when nodes with so many readers are duplicated; None where they are too few or too different."""
        duplicated = {n for k, cone in self.again.items() if self.fan_out[k] >= fan_out for n in cone}
        while True:
            left = self.placed.copy()
            left[sorted(duplicated)] = False
            pieces = self._components(left)
            if len(pieces) < LEAST_PIECES:
                return None
            read = self._needed((n for piece in pieces for n in piece), duplicated)
            if read == duplicated:
                return self._classified(duplicated, pieces, left)
            # What no piece reads is no different from any other node.
            duplicated = read

    def _needed(self, nodes: Iterable[int], duplicated: set[int]) -> set[int]:
        """The duplicated nodes that some nodes read, and those that these read."""
        found, waiting = set[int](), list(nodes)
        while waiting:
            new = {n for n in self._sources(waiting.pop()) if n in duplicated and n not in found}
            found |= new
            waiting += sorted(new)
        return found

    def _components(self, left: Bools) -> list[list[int]]:
        """The nodes that are left, component by component, in the order of their first nodes."""
        import rustworkx

        graph: rustworkx.PyGraph = rustworkx.PyGraph()
        graph.add_nodes_from(range(len(left)))
        inner = self.inner & left[self.source] & left[self.target]
        graph.add_edges_from_no_data(list(zip(self.source[inner].tolist(), self.target[inner].tolist())))
        return sorted(sorted(nodes) for nodes in rustworkx.connected_components(graph) if left[min(nodes)])

    def _classified(self, duplicated: set[int], pieces: list[list[int]], left: Bools) -> Repetition | None:
        """The repetition of some pieces; None where too little repeats."""
        colours = self._colours(left)
        alike: dict[tuple[int, ...], list[tuple[list[int], list[int]]]] = {}
        for piece in pieces:
            again = sorted(self._needed(piece, duplicated))
            alike.setdefault(tuple(sorted(colours[piece + again].tolist())), []).append((piece, again))
        groups = [group for members in alike.values() for group in match_pieces(self.dfg, members, colours)]
        groups.sort(key=lambda group: (-len(group) * len(group[0][0]), group[0][0]))
        largest = groups[0]
        if len(largest) < LEAST_PIECES or len(largest) * len(largest[0][0]) < LEAST_PART * int(self.placed.sum()):
            return None
        ordered = [GraphPiece(nodes, again, kind) for kind, group in enumerate(groups) for nodes, again in group]
        return Repetition(self.dfg, tuple(ordered))

    def _colours(self, left: Bools) -> Uint64s:
        """Colours of placed nodes: what they are, what they read, and for nodes of a piece where in it they are.

        The value of a constant does not matter to a mapping; which live-in is read does. What reads a duplicated node
        does not matter to its colour.
        """
        dfg = self.dfg
        known: dict[tuple[object, ...], int] = {}
        words = [
            (node.op, dfg.op_class(node.id), node.array, node.liveout is not None, bool(left[k]), self._outside(k))
            for k, node in enumerate(dfg.nodes)
        ]
        first = np.array([known.setdefault(word, len(known)) for word in words], dtype=np.uint64)
        inner = np.flatnonzero(self.inner)
        labels = np.array([(dfg.edges[k].operand << 16) + dfg.edges[k].distance for k in inner], dtype=np.uint64)
        source, target = self.source[inner], self.target[inner]
        return refine_colours(mix_values(first), source, target, labels, left[source], _ROUNDS)

    def _outside(self, node: int) -> tuple[tuple[int, int, str], ...]:
        """The constants and live-ins that a node reads: operand, distance, and the name of a live-in."""
        dfg, read = self.dfg, []
        for k in dfg.in_edges[node]:
            edge, source = dfg.edges[k], dfg.index[dfg.edges[k].source]
            if edge.kind == "data" and not self.placed[source]:
                name = "" if dfg.ops[source].op_class == "const" else edge.source
                read.append((edge.operand, edge.distance, name))
        return tuple(read)


_FORWARD = np.uint64(0x9E3779B97F4A7C15)
_BACKWARD = np.uint64(0xC2B2AE3D27D4EB4F)


def mix_values(values: Uint64s) -> Uint64s:
    """A hash of each value: the finaliser of splitmix64 (Steele et al. 2014)."""
    with np.errstate(over="ignore"):
        mix = values + _FORWARD
        mix = (mix ^ (mix >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        mix = (mix ^ (mix >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        return mix ^ (mix >> np.uint64(31))


def refine_colours(
    colours: Uint64s, source: Int64s, target: Int64s, label: Uint64s, both_ways: Bools, rounds: int
) -> Uint64s:
    """The colours after some rounds over edges (source, target) with labels. O(rounds * edges).

    After r rounds a colour tells what lies within r edges of its node: along edges into it, and along edges out of it
    where ``both_ways`` says so. Rounds end early when they tell no more nodes apart.
    """
    back_source, back_target, back_label = source[both_ways], target[both_ways], label[both_ways]
    count = len(np.unique(colours))
    for _ in range(rounds):
        with np.errstate(over="ignore"):
            gathered = mix_values(colours)
            np.add.at(gathered, target, mix_values(colours[source] * _FORWARD ^ label))
            np.add.at(gathered, back_source, mix_values(colours[back_target] * _BACKWARD ^ back_label))
        colours = mix_values(gathered)
        apart = len(np.unique(colours))
        if apart == count:
            break
        count = apart
    return colours


@dataclass(frozen=True, eq=False)
class CellBlock:
    """Pieces that share a rectangle."""

    pieces: tuple[GraphPiece, ...]

    @property
    def nodes(self) -> list[int]:
        """All nodes of the block: those of its pieces, then what is duplicated, each once."""
        own = [node for piece in self.pieces for node in piece.nodes]
        return own + list(dict.fromkeys(node for piece in self.pieces for node in piece.again))


@dataclass(frozen=True, eq=False)
class Template:
    """Blocks of equal structure: the first one is mapped, the others follow it."""

    model: CellBlock
    #: For each block, the model first, the node that stands for each node of the model.
    partners: list[dict[int, int]]


def blocks_of(found: Repetition, size: int) -> list[CellBlock]:
    """The pieces in groups of ``size``, in their order; the last group may be smaller."""
    pieces = found.pieces
    return [CellBlock(pieces[k : k + size]) for k in range(0, len(pieces), size)]


def templates_of(blocks: Sequence[CellBlock]) -> list[Template]:
    """The blocks by structure, the most frequent one first."""
    templates: list[Template] = []
    for block in blocks:
        for template in templates:
            partners = _partners(template.model, block)
            if partners is not None:
                template.partners.append(partners)
                break
        else:
            templates.append(Template(block, [{node: node for node in block.nodes}]))
    return sorted(templates, key=lambda template: -len(template.partners))


def _partners(model: CellBlock, block: CellBlock) -> dict[int, int] | None:
    """The node of a block for each node of a model; None where duplicated nodes are shared in another way."""
    if [piece.kind for piece in model.pieces] != [piece.kind for piece in block.pieces]:
        return None
    pairs: dict[int, int] = {}
    for mine, theirs in zip(model.pieces, block.pieces, strict=True):
        for a, b in zip(mine.nodes + mine.again, theirs.nodes + theirs.again, strict=True):
            if pairs.setdefault(a, b) != b:
                return None
    return pairs if len(set(pairs.values())) == len(pairs) else None


def graph_of(dfg: Dfg, nodes: Sequence[int], name: str) -> Dfg:
    """The graph of some nodes with the constants and live-ins that they read and the edges among all of these."""
    read = {dfg.index[dfg.edges[k].source] for node in nodes for k in dfg.in_edges[node]}
    inside = set(nodes) | {node for node in read if dfg.ops[node].timeless}
    edges = [edge for edge in dfg.edges if dfg.index[edge.source] in inside and dfg.index[edge.target] in inside]
    kept = [dfg.nodes[k] for k in sorted(inside)]
    arrays = {node.array for node in kept}
    return replace(
        dfg,
        name=name,
        nodes=tuple(kept),
        edges=tuple(edges),
        arrays=tuple(array for array in dfg.arrays if array.name in arrays),
        _checked=False,
    )
