"""The dataflow graph: nodes, edges and the rules they obey.

A ``Dfg`` is immutable. Nodes and edges are plain records; everything that is looked up often (indices, operands,
topological order) is derived once and cached. Making one runs :func:`gridloom.dfg.checks.check`, so that a Dfg that
exists is sound.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Self

from gridloom import registry
from gridloom.dfg.checks import MAX_DISTANCE, check
from gridloom.dfg.ops import DOMAINS, Op, lookup
from gridloom.errors import DfgError

if TYPE_CHECKING:
    import networkx

EdgeKind = Literal["data", "order", "pair", "async"]
#: A number, or the name of a live-in whose value is known when the loop starts.
Initial = int | float | str


@dataclass(frozen=True, slots=True, kw_only=True)
class Node:
    """One operation, fired once in each iteration.

    ``op`` names a row of the op table of the graph's domain, which says how many operands it takes and what it means.
    """

    #: Its name in the graph; any text that is not empty.
    id: str
    #: What it computes: an op of the graph's domain.
    op: str
    #: The value of a ``const``.
    value: int | float | None = None
    #: The array that a load or a store touches.
    array: str | None = None
    #: The name of a live-in, an input or output stream, or a tile-memory variable (default: the node's id).
    variable: str | None = None
    #: The value of the last iteration is a result of the loop under this name.
    liveout: str | None = None
    #: Overrides the op class of the table (published graphs that mark multipliers by label).
    op_class: str | None = None
    #: What a picture shows instead of the op.
    label: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Edge:
    """One dependence between two nodes.

    The target's firing k reads the source's firing k - ``distance``; the first ones read ``initial`` values.
    """

    #: The node that the value comes from.
    source: str
    #: The node that reads it.
    target: str
    #: Which operand of the target it is; an op's operands are 0, 1, ... once each.
    operand: int = 0
    #: ``data``: a routed value; ``order``: no value, a least delay; ``pair``: an exact delay; ``async``: no timing.
    kind: EdgeKind = "data"
    #: Iterations between the firing that makes the value and the one that reads it, 0 to 4096.
    distance: int = 0
    #: What the first ``distance`` firings read: numbers, or names of live-ins (which need no node: their values stand
    #: beside the operand as numbers do); missing ones are 0 (in domain ``opaque`` distinct numbers).
    initial: tuple[int | float | str, ...] = ()
    #: ``order``: the least number of cycles between the issues; ``pair``: the exact number.
    delay: int = 1

    @property
    def carries_value(self) -> bool:
        """True unless the edge only orders its ends."""
        return self.kind != "order"


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryArray:
    """A named memory area that loads and stores index.

    Word 0 is the first one; an index outside ``length`` words is an error when the graph runs.
    """

    #: What nodes call it.
    name: str
    #: Words in it, at least 1; all arrays of a graph have at most 16777216.
    length: int


@dataclass(frozen=True, kw_only=True)
class Dfg:
    """A dataflow graph of one loop body.

    It is checked when it is made: a DfgError names the first node or edge that breaks a rule. Costs linear time. A
    domain whose nodes or edges have further fields declares subclasses (hook ``graphs``), which :func:`graph_type`
    finds.
    """

    #: The records that nodes and edges are.
    node_type: ClassVar[type[Node]] = Node
    edge_type: ClassVar[type[Edge]] = Edge

    name: str
    domain: str
    nodes: tuple[Node, ...]
    edges: tuple[Edge, ...] = ()
    arrays: tuple[MemoryArray, ...] = ()
    #: Free text: where the graph comes from.
    notes: str = ""
    #: The most iterations that the source's loop ever runs; None where it does not say. Longer runs mean nothing: an
    #: order of accesses may hold for so many iterations only.
    trip_count: int | None = None
    #: What memory order rests on besides the graph: accesses without an order between them touch different words.
    assumed: tuple[str, ...] = ()
    #: What the source says of values: input, output or live-in -> its least and greatest number. Transformations use
    #: it; it takes no part in comparisons and is not saved with the graph.
    ranges: Mapping[str, tuple[int, int]] = field(default_factory=dict, repr=False, compare=False)
    _checked: bool = field(default=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        if not self._checked:
            check(self)
            self.check_fields()

    def check_fields(self) -> None:
        """Raise DfgError for the first value that the further fields of a subclass may not have."""

    def __repr__(self) -> str:
        return f"<Dfg {self.name}: {len(self.nodes)} nodes, {len(self.edges)} edges, domain {self.domain}>"

    def _repr_svg_(self) -> str:
        drawn: str = registry.PICTURE.load()(self)
        return drawn

    def _repr_html_(self) -> str:
        shown: str = registry.NOTEBOOK.load()(self)
        return shown

    # -- look-ups ---------------------------------------------------------------------------------------------------

    @cached_property
    def index(self) -> Mapping[str, int]:
        """Node id -> position in ``nodes``."""
        return {node.id: k for k, node in enumerate(self.nodes)}

    @cached_property
    def array_length(self) -> Mapping[str, int]:
        """Array name -> number of words."""
        return {array.name: array.length for array in self.arrays}

    def node(self, node_id: str) -> Node:
        """The node of that id."""
        try:
            return self.nodes[self.index[node_id]]
        except KeyError:
            raise DfgError(f"graph {self.name!r} has no node {node_id!r}") from None

    @cached_property
    def ops(self) -> tuple[Op, ...]:
        """The op-table row of each node."""
        return tuple(lookup(self.domain, node.op) for node in self.nodes)

    def op(self, node_id: str) -> Op:
        """The op-table row of a node."""
        return self.ops[self.index[node_id]]

    def op_class(self, node_id: str) -> str:
        """The op class a tile must have to run the node."""
        k = self.index[node_id]
        return self.nodes[k].op_class or self.ops[k].op_class

    def required_classes(self, node_id: str, *, results_leave: bool = False) -> frozenset[str]:
        """The op classes that a tile must have all of: a stream that enters through a multiplier needs both.

        With ``results_leave`` a value that no edge carries on leaves the array where it is computed, so that its tile
        needs class ``output`` too. Static grids have this rule; elsewhere results are read from registers.
        """
        op = self.op(node_id).op_class
        port = {op} if op in ("input", "output") else set()
        if results_leave and node_id in self.results:
            port.add("output")
        return frozenset({self.op_class(node_id)} | port)

    @cached_property
    def results(self) -> frozenset[str]:
        """The nodes whose value no edge carries on, so that it can only be a result; ``output`` ops are not among them.

        An edge of a node onto itself carries its value to a later iteration of the same node and to nobody else.
        """
        read = {edge.source for edge in self.edges if edge.carries_value and edge.source != edge.target}
        return frozenset(
            node.id
            for node, op in zip(self.nodes, self.ops)
            if node.id not in read and node.op != "output" and op.result and not op.timeless
        )

    def has_result(self, node_id: str) -> bool:
        """False for stores: they yield nothing that an edge could carry."""
        return self.ops[self.index[node_id]].result

    @cached_property
    def in_edges(self) -> tuple[tuple[int, ...], ...]:
        """For each node (by position) the indices of its incoming edges, value-carrying ones sorted by operand."""
        rows: list[list[int]] = [[] for _ in self.nodes]
        for k, edge in enumerate(self.edges):
            rows[self.index[edge.target]].append(k)
        for row in rows:
            row.sort(key=lambda k: (not self.edges[k].carries_value, self.edges[k].operand, k))
        return tuple(tuple(row) for row in rows)

    @cached_property
    def out_edges(self) -> tuple[tuple[int, ...], ...]:
        """For each node (by position) the indices of its outgoing edges."""
        rows: list[list[int]] = [[] for _ in self.nodes]
        for k, edge in enumerate(self.edges):
            rows[self.index[edge.source]].append(k)
        return tuple(tuple(row) for row in rows)

    def operand_edges(self, node_id: str) -> tuple[int, ...]:
        """The value-carrying edges into a node, by operand."""
        return tuple(k for k in self.in_edges[self.index[node_id]] if self.edges[k].carries_value)

    @cached_property
    def liveins(self) -> tuple[str, ...]:
        """The names of all live-ins: nodes first, then those that are only initial values, in the order of edges."""
        names = {node.id: None for node, op in zip(self.nodes, self.ops) if op.name == "livein"}
        names.update((value, None) for edge in self.edges for value in edge.initial if isinstance(value, str))
        return tuple(names)

    def initial_values(self, edge: int) -> tuple[Initial, ...]:
        """What the first ``distance`` firings of an edge's target read.

        A text is the name of a live-in. Values that the graph does not give are 0; in domain ``opaque`` distinct
        numbers, so that a wrong one shows.
        """
        record = self.edges[edge]
        missing = record.distance - len(record.initial)
        if self.domain == "opaque":
            start = len(record.initial)
            return record.initial + tuple(-(1 + edge * MAX_DISTANCE + start + k) for k in range(missing))
        return record.initial + (0,) * missing

    # -- orders -----------------------------------------------------------------------------------------------------

    @cached_property
    def topological(self) -> tuple[int, ...]:
        """Node positions in an order in which every distance-0 edge goes forward; ties by position."""
        order = _topological_order(self)
        if order is None:
            raise DfgError(_cycle_message(self), where=f"graph {self.name!r}")
        return order

    @cached_property
    def is_acyclic(self) -> bool:
        """True when no edge is loop-carried, ordering ones included."""
        return all(edge.distance == 0 for edge in self.edges)

    # -- derived graphs ---------------------------------------------------------------------------------------------

    def renamed(self, name: str) -> Self:
        """The same graph under another name."""
        return replace(self, name=name)

    def to_networkx(self) -> networkx.MultiDiGraph:
        """A networkx multigraph with every field as an attribute.

        Nodes are keyed by id, edges by their position. Needs networkx, which is imported here. The graph is a copy:
        changing it does not change the Dfg.
        """
        import networkx

        graph = networkx.MultiDiGraph(name=self.name, domain=self.domain)
        for node in self.nodes:
            graph.add_node(node.id, **{f.name: getattr(node, f.name) for f in fields(node) if f.name != "id"})
        for k, edge in enumerate(self.edges):
            attributes = {f.name: getattr(edge, f.name) for f in fields(edge) if f.name not in ("source", "target")}
            graph.add_edge(edge.source, edge.target, key=k, **attributes)
        return graph


def graph_type(domain: str, fields_of_nodes: Iterable[str] = ()) -> type[Dfg]:
    """The type of graphs of a domain whose nodes have these fields; the domain's first type where none has them all.

    Most domains have one type, :class:`Dfg`.
    """
    types: tuple[type[Dfg], ...] = registry.hook("graphs", domain) or (Dfg,)
    needed = set(fields_of_nodes)
    return next((kind for kind in types if needed <= {f.name for f in fields(kind.node_type)}), types[0])


def graph_types() -> list[type[Dfg]]:
    """All types of graphs: the common one, and those that domains declare."""
    return [Dfg, *(kind for domain in DOMAINS for kind in registry.hook("graphs", domain) or ())]


class DfgBuilder:
    """Builds a Dfg node by node; ids are made where none is given.

    >>> b = DfgBuilder("mac", "i32")
    >>> total = b.add("add", b.add("mul", b.input("x"), b.const(3)), id="acc")
    >>> b.carry(total, total, operand=1, distance=1, initial=[0])
    >>> _ = b.output(total, "y")
    >>> [node.op for node in b.build().nodes]
    ['input', 'const', 'mul', 'add', 'output']
    """

    def __init__(self, name: str, domain: str = "i32", notes: str = "") -> None:
        self.name = name
        self.kind = graph_type(domain)
        self.domain = domain
        self.notes = notes
        self.nodes: list[Node] = []
        self.edges: list[Edge] = []
        self.arrays: dict[str, int] = {}
        self.ranges: dict[str, tuple[int, int]] = {}
        self._ids: set[str] = set()
        self._constants: dict[int | float, str] = {}

    def _fresh(self, stem: str) -> str:
        """An id that is free: the stem and a number."""
        k = len(self.nodes)
        while (name := f"{stem}{k}") in self._ids:
            k += 1
        return name

    def add(self, op: str, *operands: str, id: str | None = None, **attributes: Any) -> str:
        """Add a node whose operands are the given nodes; returns its id.

        Further attributes are those of :class:`Node`, or of what nodes of the domain are. Nothing is checked before
        :meth:`build`; an operand may be a node that is added later.
        """
        name = id or self._fresh(op)
        self._ids.add(name)
        self.nodes.append(self.kind.node_type(id=name, op=op, **attributes))
        for k, source in enumerate(operands):
            self.edges.append(self.kind.edge_type(source=source, target=name, operand=k))
        return name

    def const(self, value: int | float, id: str | None = None) -> str:
        """A constant; equal constants share one node unless ``id`` asks for its own."""
        if id is None and value in self._constants:
            return self._constants[value]
        name = self.add("const", id=id or self._fresh("c"), value=value)
        self._constants.setdefault(value, name)
        return name

    def livein(self, name: str) -> str:
        """A scalar that is the same in every iteration."""
        return self.add("livein", id=name, variable=name)

    def input(self, name: str) -> str:
        """A stream that brings one value per iteration."""
        return self.add("input", id=name, variable=name)

    def output(self, source: str, name: str) -> str:
        """A result stream."""
        return self.add("output", source, id=name if name not in self._ids else self._fresh("out_"), variable=name)

    def array(self, name: str, length: int) -> str:
        """Declare an array."""
        self.arrays[name] = length
        return name

    def load(self, array: str, index: str, id: str | None = None) -> str:
        """``array[index]``."""
        return self.add("load", index, id=id, array=array)

    def store(self, array: str, index: str, value: str, id: str | None = None) -> str:
        """``array[index] = value``."""
        return self.add("store", index, value, id=id, array=array)

    def carry(
        self, source: str, target: str, *, operand: int, distance: int = 1, initial: Iterable[Initial] = ()
    ) -> None:
        """A loop-carried value: operand ``operand`` of ``target`` is ``source`` of ``distance`` iterations ago."""
        self.edges.append(
            self.kind.edge_type(
                source=source, target=target, operand=operand, distance=distance, initial=tuple(initial)
            )
        )

    def order(self, source: str, target: str, *, delay: int = 1, distance: int = 0) -> None:
        """``target`` issues at least ``delay`` cycles after ``source``."""
        self.edges.append(
            self.kind.edge_type(source=source, target=target, kind="order", delay=delay, distance=distance)
        )

    def build(self) -> Dfg:
        """The graph; raises DfgError when it breaks a rule.

        The builder can be used further: a later call gives a graph with what was added since.
        """
        arrays = tuple(MemoryArray(name=name, length=length) for name, length in self.arrays.items())
        return self.kind(
            name=self.name,
            domain=self.domain,
            nodes=tuple(self.nodes),
            edges=tuple(self.edges),
            arrays=arrays,
            notes=self.notes,
            ranges=dict(self.ranges),
        )


def _topological_order(dfg: Dfg) -> tuple[int, ...] | None:
    """Kahn's algorithm over distance-0 edges with a heap, so that ties go by position; None for a cycle."""
    import heapq

    degree = [0] * len(dfg.nodes)
    for edge in dfg.edges:
        if edge.distance == 0:
            degree[dfg.index[edge.target]] += 1
    ready = [k for k, d in enumerate(degree) if d == 0]
    heapq.heapify(ready)
    order: list[int] = []
    while ready:
        k = heapq.heappop(ready)
        order.append(k)
        for e in dfg.out_edges[k]:
            edge = dfg.edges[e]
            if edge.distance == 0:
                t = dfg.index[edge.target]
                degree[t] -= 1
                if degree[t] == 0:
                    heapq.heappush(ready, t)
    return tuple(order) if len(order) == len(dfg.nodes) else None


def _cycle_message(dfg: Dfg) -> str:
    """The text that names the nodes of a cycle."""
    import rustworkx

    graph = rustworkx.PyDiGraph()
    graph.add_nodes_from(range(len(dfg.nodes)))
    graph.add_edges_from([(dfg.index[e.source], dfg.index[e.target], None) for e in dfg.edges if e.distance == 0])
    cycle = rustworkx.digraph_find_cycle(graph)
    path = " -> ".join(dfg.nodes[a].id for a, _ in list(cycle)[:8])
    return f"has a cycle of distance 0: {path} -> ...; a value cannot depend on itself in one iteration"
