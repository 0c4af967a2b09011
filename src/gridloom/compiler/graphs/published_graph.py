"""Assembles the graphs that other tools publish into a Dfg of domain ``opaque``.

Published formats agree on nodes and edges and on little else: operands may be missing, numbered from anywhere or given
twice, back edges may carry no distance, a store may have a successor. The rules that mend this are here once, so that
a reader only says what its file says.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Final

from gridloom.dfg.checks import MAX_EDGES, MAX_NODES
from gridloom.dfg.model import Dfg, Edge, EdgeKind, Node
from gridloom.dfg.ops import lookup
from gridloom.errors import DfgError, SourceError
from gridloom.text_file import shown

#: An operand rank that comes after every numbered one.
LAST: Final = 1 << 30


@dataclass(slots=True)
class _Link:
    """An edge as its file gives it.

    ``rank`` is the operand it asks for (None: any free one); ranks may have gaps and need not start at 0.
    """

    source: str
    target: str
    rank: int | None
    kind: EdgeKind
    distance: int
    delay: int
    line: int


class PublishedGraph:
    """Collects nodes and edges with the lines they come from; :meth:`build` makes the Dfg."""

    def __init__(self, name: str, where: str) -> None:
        self.name = name
        self.where = where
        self._nodes: dict[str, Node] = {}
        self._links: list[_Link] = []

    def at(self, line: int) -> str:
        """``file:line`` for messages."""
        return f"{self.where}:{line}" if line else self.where

    def __contains__(self, node_id: str) -> bool:
        return node_id in self._nodes

    def add(self, node: Node, where: str | None = None) -> None:
        """Add a node; a second one of the same id, or one too many, is a SourceError. ``where`` is its place."""
        if node.id in self._nodes:
            raise SourceError(f"node {shown(node.id)} is given twice; ids must differ", where=where or self.where)
        if len(self._nodes) >= MAX_NODES:
            raise SourceError(f"has more than {MAX_NODES} nodes, the most that is taken", where=where or self.where)
        self._nodes[node.id] = node

    def edge(
        self,
        source: str,
        target: str,
        line: int = 0,
        *,
        rank: int | None = None,
        kind: EdgeKind = "data",
        distance: int = 0,
        delay: int = 1,
    ) -> None:
        """Add an edge; its ends may be given later in the file."""
        if len(self._links) >= MAX_EDGES:
            raise SourceError(f"has more than {MAX_EDGES} edges, the most that is taken", where=self.at(line))
        self._links.append(_Link(source, target, rank, kind, distance, delay, line))

    def build(self, *, cut_back_edges: bool = False, notes: str = "") -> Dfg:
        """The Dfg. ``cut_back_edges`` gives distance 1 to what closes a cycle in a walk, depth first, in file order.

        SourceError for an edge to a node that the file does not give; DfgError where the mended graph still breaks a
        rule. Linear in nodes and edges, apart from sorting the operands of each node.
        """
        for link in self._links:
            for end in (link.source, link.target):
                if end not in self._nodes:
                    raise SourceError(
                        f"edge {link.source} -> {link.target} names node {shown(end)}, which is not given",
                        where=self.at(link.line),
                    )
        if cut_back_edges:
            self._cut_back_edges()
        operands = self._operands()
        nodes = self._settled_nodes()
        timeless = {node.id for node in nodes if lookup("opaque", node.op).timeless}
        edges = tuple(
            Edge(
                source=link.source,
                target=link.target,
                operand=operand,
                kind=link.kind,
                # CCF carries constants around its loops; they are the same in every iteration.
                distance=0 if link.source in timeless else link.distance,
                delay=link.delay,
            )
            for link, operand in zip(self._links, operands, strict=True)
        )
        try:
            return Dfg(name=self.name, domain="opaque", nodes=nodes, edges=edges, notes=notes)
        except DfgError as error:
            raise DfgError(error.message, where=f"{self.where}: {error.where}") from None

    def _operands(self) -> list[int]:
        """Operand of each link: ranks in order, links without one in the free places, then 0, 1, ... without gaps.

        Two links of the same rank keep the order of the file. Order links have no operand and get 0, which is not
        read.
        """
        into: dict[str, list[int]] = {}
        for k, link in enumerate(self._links):
            if link.kind != "order":
                into.setdefault(link.target, []).append(k)
        operands = [0] * len(self._links)
        for members in into.values():
            taken = {self._links[k].rank for k in members}
            free = (rank for rank in range(len(members) + len(taken)) if rank not in taken)
            places = []
            for k in members:
                rank = self._links[k].rank
                places.append((next(free) if rank is None else rank, k))
            for operand, (_, k) in enumerate(sorted(places)):
                operands[k] = operand
        return operands

    def _settled_nodes(self) -> tuple[Node, ...]:
        """The nodes under ops that allow their edges."""
        consumers: set[str] = set()
        operand_count: dict[str, int] = {}
        for link in self._links:
            if link.kind != "order":
                consumers.add(link.source)
                operand_count[link.target] = operand_count.get(link.target, 0) + 1
        return tuple(
            _settled(node, operand_count.get(node.id, 0), node.id in consumers) for node in self._nodes.values()
        )

    def _cut_back_edges(self) -> None:
        """Give distance 1 to every link that closes a cycle in a depth-first walk.

        The walk starts at the sources of links in the order of the file, so the choice depends on that order: the
        formats that need this do not say which edge of a cycle is the back edge.
        """
        out: dict[str, list[int]] = {node_id: [] for node_id in self._nodes}
        for k, link in enumerate(self._links):
            out[link.source].append(k)
        done: dict[str, bool] = {}
        # Every node with a successor is a start; nodes without one close no cycle.
        for start in [link.source for link in self._links]:
            if start in done:
                continue
            # False: on the walk's current path; True: left behind. An explicit stack, as depth is the user's.
            done[start] = False
            stack = [(start, iter(out[start]))]
            while stack:
                here, rest = stack[-1]
                followed = next(rest, None)
                if followed is None:
                    done[here] = True
                    stack.pop()
                    continue
                target = self._links[followed].target
                if target not in done:
                    done[target] = False
                    stack.append((target, iter(out[target])))
                elif not done[target]:
                    self._links[followed].distance = 1


def _settled(node: Node, operands: int, has_consumer: bool) -> Node:
    """The node under an op that allows the edges its file gives it.

    A value-less constant is a live-in; what the op table says has no operand, no result or just one operand, and
    the file disagrees, becomes an uninterpreted op of the same class.
    """
    op = node.op
    if op == "const" and node.value is None:
        op = "livein"
    row = lookup("opaque", op)
    op_class = node.op_class
    # A constant or an input that the file feeds cannot be one: it becomes an ALU op.
    if (row.arity == 0 and operands) or (op == "output" and operands != 1):
        op, op_class = f"opaque_{op}", op_class or (None if row.arity == 0 else row.op_class)
    elif not row.result and has_consumer:
        op, op_class = f"opaque_{op}", op_class or row.op_class
    if op == node.op and op_class == node.op_class:
        return node
    return replace(node, op=op, op_class=op_class)
