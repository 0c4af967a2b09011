"""Shorter graphs of the same meaning, before a loop is lowered: the memory of a PE holds few instructions.

1. ``x & -bit``, where a bit is 0 or 1, becomes a select: x or 0.
2. ``(m & x) | (~m & y)`` becomes ``y ^ (m & (x ^ y))`` where m is ready no sooner than x and y.
3. Sums, and chains of and, or and exclusive or, become trees in which what is ready late is joined late. What belongs
   to a recurrence is joined last, so that no recurrence grows. Sums that are addresses stay: they become pointers.

All of it is exact in 32 bits. Costs time linear in the graph, and for each chain in what depends on it.
"""

from __future__ import annotations

import heapq
from dataclasses import replace
from typing import Final

from gridloom.dfg.model import Dfg, Edge, Node
from gridloom.dfg.words import evaluate_word
from gridloom.targets.modulo.export.openedge.comparisons import COMPARISONS
from gridloom.targets.modulo.export.openedge.drafts import Ref

_CHAINED: Final = frozenset({"add", "and", "or", "xor"})
#: Ops through which an index is computed.
_INDEXING: Final = frozenset({"add", "sub", "mul", "shl", "move"})


def shorten(dfg: Dfg) -> Dfg:
    """Return the graph with the rewrites that apply. Nodes that nothing needs any more stay in it."""
    rewriting = _ShorterGraph(dfg)
    for k in dfg.topological:
        rewriting.select_bits(dfg.nodes[k].id)
        rewriting.measure(dfg.nodes[k].id)
    rewriting.balance()
    return rewriting.result()


class _ShorterGraph:
    """Nodes and operands of a graph that is rewritten in place."""

    def __init__(self, dfg: Dfg) -> None:
        self.dfg = dfg
        self.nodes = {node.id: node for node in dfg.nodes}
        self.operands = {node.id: [_ref(dfg.edges[e]) for e in dfg.operand_edges(node.id)] for node in dfg.nodes}
        self.order = [edge for edge in dfg.edges if not edge.carries_value]
        #: The depth of nodes before chains become trees.
        self.before: dict[str, int] = {}
        #: Nodes of chains that are trees now.
        self.replaced: set[str] = set()

    def result(self) -> Dfg:
        """The graph."""
        edges = [
            Edge(source=ref.source, target=name, operand=k, distance=ref.distance, initial=ref.initial)
            for name, refs in self.operands.items() for k, ref in enumerate(refs)
        ]  # fmt: skip
        return replace(self.dfg, nodes=tuple(self.nodes.values()), edges=(*edges, *self.order))

    def measure(self, name: str) -> None:
        """Note the depth of a node whose operands of the same iteration are measured."""
        self.before[name] = self._depth(name, self.before)

    def _add(self, op: str, *refs: Ref, value: int | None = None) -> Ref:
        """Add a node."""
        name = f"{op}_short"
        while name in self.nodes:
            name = f"{op}_short{len(self.nodes)}"
        self.nodes[name] = Node(id=name, op=op, value=value)
        self.operands[name] = list(refs)
        return Ref(name)

    def _become(self, name: str, op: str, *refs: Ref) -> None:
        """Let a node be another op."""
        self.nodes[name] = replace(self.nodes[name], op=op)
        self.operands[name] = list(refs)

    # -- patterns -----------------------------------------------------------------------------------------------------

    def select_bits(self, name: str) -> None:
        """Make selects of masks."""
        op, refs = self.nodes[name].op, self.operands[name]
        for x, y in ((0, 1), (1, 0)) if op in ("and", "or") and len(refs) == 2 else ():
            if op == "and":
                bit = self._negated(refs[y])
                if bit is not None and self._is_bit(bit):
                    zero = self._add("const", value=0)
                    self.measure(zero.source)
                    self._become(name, "select", bit, refs[x], zero)
                    return
                continue
            found = self._mask(refs[x], refs[y])
            if found is not None and self._is_latest(*found):
                mask, one, other = found
                mixed = self._add("xor", one, other)
                self.measure(mixed.source)
                masked = self._add("and", mask, mixed)
                self.measure(masked.source)
                self._become(name, "xor", other, masked)
                return

    def _negated(self, ref: Ref) -> Ref | None:
        """What a value is the opposite of."""
        node, refs = self.nodes[ref.source], self.operands[ref.source]
        if ref.distance or node.op not in ("neg", "sub"):
            return None
        if node.op == "sub" and self._number(refs[0]) != 0:
            return None
        return refs[-1]

    def _is_bit(self, ref: Ref) -> bool:
        """Whether a value is 0 or 1."""
        if ref.distance:
            return False
        node, numbers = self.nodes[ref.source], [self._number(operand) for operand in self.operands[ref.source]]
        masked = node.op == "and" and 1 in numbers
        return masked or node.op in COMPARISONS or (node.op == "lshr" and numbers[1] == 31)

    def _inverted(self, ref: Ref) -> Ref | None:
        """What a value has all bits of inverted."""
        node, refs = self.nodes[ref.source], self.operands[ref.source]
        if ref.distance or node.op not in ("not", "xor"):
            return None
        if node.op == "not":
            return refs[0]
        return next((refs[1 - k] for k in range(2) if self._number(refs[k]) == -1), None)

    def _is_latest(self, mask: Ref, *others: Ref) -> bool:
        """Whether a value is ready no sooner than others."""
        ready = [0 if ref.distance else self.before[ref.source] for ref in (mask, *others)]
        return ready[0] == max(ready)

    def _mask(self, one: Ref, other: Ref) -> tuple[Ref, Ref, Ref] | None:
        """m, x and y where two values are ``m & x`` and ``~m & y``."""
        if one.distance or other.distance or {self.nodes[ref.source].op for ref in (one, other)} != {"and"}:
            return None
        for k in range(2):
            for j in range(2):
                mask = self.operands[one.source][k]
                if self._inverted(self.operands[other.source][j]) == mask:
                    return mask, self.operands[one.source][1 - k], self.operands[other.source][1 - j]
        return None

    def _number(self, ref: Ref) -> int | None:
        """The number that a constant is."""
        node = self.nodes[ref.source]
        return int(node.value or 0) if node.op == "const" else None

    # -- chains -------------------------------------------------------------------------------------------------------

    def balance(self) -> None:
        """Make trees of chains, those first on which others depend."""
        readers: dict[str, list[str]] = {name: [] for name in self.nodes}
        for name, refs in self.operands.items():
            for ref in refs:
                readers[ref.source].append(name)
        kept = self._addresses() | {end for edge in self.order for end in (edge.source, edge.target)}
        inner = {
            name for name, node in self.nodes.items()
            if node.op in _CHAINED and node.liveout is None and name not in kept and len(readers[name]) == 1
            and self.nodes[readers[name][0]].op == node.op and readers[name][0] not in kept
            and all(not ref.distance for ref in self.operands[readers[name][0]] if ref.source == name)
        }  # fmt: skip
        depth: dict[str, int] = {}
        for name in [name for name in self.nodes if name not in inner]:
            self._settle(name, depth, inner, readers)
        for name in inner & self.replaced:
            del self.nodes[name], self.operands[name]

    def _settle(self, name: str, depth: dict[str, int], inner: set[str], readers: dict[str, list[str]]) -> None:
        """Find the depth of a node and of what it is computed from, and make a tree of its chain."""
        waiting = [name]
        while waiting:
            at = waiting[-1]
            refs = self._leaves(at, inner)
            missing = [ref.source for ref in refs if not ref.distance and ref.source not in depth]
            if at in depth or not missing:
                waiting.pop()
                if at not in depth:
                    if len(refs) > 2 and self.nodes[at].op in _CHAINED:
                        self._make_tree(at, refs, depth, readers)
                    depth[at] = self._depth(at, depth)
            else:
                waiting += missing

    def _depth(self, name: str, depth: dict[str, int]) -> int:
        """The ops on the longest way to a node's result."""
        if self.nodes[name].op in ("const", "livein"):
            return 0
        return 1 + max((depth[ref.source] for ref in self.operands[name] if not ref.distance), default=0)

    def _leaves(self, root: str, inner: set[str]) -> list[Ref]:
        """What a chain joins."""
        found: list[Ref] = []
        waiting = self.operands[root][::-1]
        while waiting:
            ref = waiting.pop()
            if ref.source in inner and not ref.distance and self.nodes[ref.source].op == self.nodes[root].op:
                waiting += self.operands[ref.source][::-1]
                self.replaced.add(ref.source)
            else:
                found.append(ref)
        return found

    def _make_tree(self, root: str, leaves: list[Ref], depth: dict[str, int], readers: dict[str, list[str]]) -> None:
        """Join leaves two by two, those first that are ready first."""
        after = {root}
        waiting = [root]
        while waiting:
            more = [name for name in readers.get(waiting.pop(), ()) if name not in after]
            after.update(more)
            waiting += more
        heap = [(ref.source in after, 0 if ref.distance else depth[ref.source], k, ref) for k, ref in enumerate(leaves)]
        heapq.heapify(heap)
        op = self.nodes[root].op
        while len(heap) > 2:
            (late, ready, k, one), (later, latest, _, other) = heapq.heappop(heap), heapq.heappop(heap)
            a, b = self._number(one), self._number(other)
            if a is not None and b is not None:
                joined = self._add("const", value=evaluate_word(op, 32, a, b))
                depth[joined.source] = 0
            else:
                joined = self._add(op, one, other)
                depth[joined.source] = 1 + max(ready, latest)
            heapq.heappush(heap, (late or later, depth[joined.source], k, joined))
        self.operands[root] = [entry[3] for entry in sorted(heap, key=lambda entry: entry[2])]

    def _addresses(self) -> set[str]:
        """The nodes that an index is computed from by sums and products."""
        found: set[str] = set()
        waiting = [self.operands[name][0].source for name, node in self.nodes.items()
                   if node.op in ("load", "store", "store_if")]  # fmt: skip
        while waiting:
            name = waiting.pop()
            if name not in found and self.nodes[name].op in _INDEXING:
                found.add(name)
                waiting += [ref.source for ref in self.operands[name]]
        return found


def _ref(edge: Edge) -> Ref:
    """The operand that an edge is."""
    return Ref(edge.source, edge.distance, edge.initial)
