"""Tensor programs, and the graphs of units that they are lowered to: both are graphs of domain ``tensor``.

A :class:`TensorProgram` has a node for each operation on tensors: what a network is before it meets an array. A
:class:`UnitGraph` has a node for each unit of an array and an edge for each stream of tokens between two: what mappers
place, ``verify`` judges, the token machine runs and a Mapping embeds.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Final, cast

from gridloom.dfg.model import Dfg, Edge, Node
from gridloom.errors import DfgError

#: Parts of a result that edges may carry: their numbers go into the values of tokens.
MOST_PARTS: Final = 1 << 20


@dataclass(frozen=True, slots=True, kw_only=True)
class TensorOperation(Node):
    """One operation on tensors. Op and label name it."""

    #: The shape of the result.
    shape: tuple[int, ...] = ()
    #: The parameters of the operation, ``key=value;key=value``
    #: (:mod:`gridloom.targets.dataflow.program.parameters`).
    how: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class UnitNode(Node):
    """What one unit of an array does, again and again."""

    #: Cycles that a firing keeps its unit busy.
    work: int = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class TokenEdge(Edge):
    """A stream of tokens from one unit to another; ``distance`` counts firings of the source."""

    #: Tokens that one firing of the source puts on the edge, and one of the target takes.
    tokens: int = 1
    #: Tokens that one firing of the target takes, where it differs from ``tokens``.
    takes: int | None = None
    #: The source puts its tokens at the end of every so many firings: a reduction ends.
    puts_every: int = 1
    #: The target takes its tokens at the start of every so many firings, the first one included: what it took is used
    #: again and again.
    takes_every: int = 1
    #: Tokens of the target's input buffer that the edge may use; none: all that the tile has.
    room: int | None = None
    #: Which part of the source's result it carries. Edges of one source with the same part, tokens and ``puts_every``
    #: carry the same tokens: a multicast, sent once over the links that their routes begin with alike.
    part: int = 0


@dataclass(frozen=True, kw_only=True, repr=False)
class TensorProgram(Dfg):
    """Operations on tensors and what they read of each other."""

    node_type: ClassVar[type[Node]] = TensorOperation

    domain: str = "tensor"
    nodes: tuple[TensorOperation, ...]

    def node(self, node_id: str) -> TensorOperation:
        """The node of that id."""
        return cast(TensorOperation, super().node(node_id))

    def operands(self, node: TensorOperation) -> list[TensorOperation]:
        """The nodes that an operation reads, by operand."""
        return [self.node(self.edges[k].source) for k in self.operand_edges(node.id)]


@dataclass(frozen=True, kw_only=True, repr=False)
class UnitGraph(Dfg):
    """Units of an array and the tokens that they exchange: a cyclo-static dataflow graph."""

    node_type: ClassVar[type[Node]] = UnitNode
    edge_type: ClassVar[type[Edge]] = TokenEdge

    domain: str = "tensor"
    nodes: tuple[UnitNode, ...]
    edges: tuple[TokenEdge, ...] = ()

    def check_fields(self) -> None:
        """Raise DfgError for a firing without a cycle, and for rates, rooms and parts that are out of range."""
        where = f"graph {self.name!r}"
        for node in self.nodes:
            if node.work < 1:
                raise DfgError(f"has work {node.work}; expected at least 1 cycle", where=f"{where}: node {node.id!r}")
        for k, edge in enumerate(self.edges):
            if fault := _fault(edge):
                raise DfgError(fault, where=f"{where}: edge {k} ({edge.source} -> {edge.target})")


def _fault(edge: TokenEdge) -> str | None:
    """What is out of range at an edge."""
    if edge.tokens < 1 or (edge.takes is not None and edge.takes < 1):
        return f"has tokens {edge.tokens}, takes {edge.takes}; expected at least 1"
    if edge.puts_every < 1 or edge.takes_every < 1 or (edge.room is not None and edge.room < 1):
        rates = f"puts_every {edge.puts_every}, takes_every {edge.takes_every}, room {edge.room}"
        return f"has {rates}; expected at least 1"
    return None if 0 <= edge.part < MOST_PARTS else f"has part {edge.part}; expected 0 to {MOST_PARTS - 1}"


def unit_graph(dfg: Dfg) -> UnitGraph:
    """Return the graph as the graph of units that it is; DfgError for any other one."""
    if isinstance(dfg, UnitGraph):
        return dfg
    raise DfgError(f"is no graph of units but a {type(dfg).__name__}", where=f"graph {dfg.name!r}")


#: The types of graphs of domain ``tensor``; a saved graph without a field of its own is one of units.
GRAPHS: Final = (UnitGraph, TensorProgram)
