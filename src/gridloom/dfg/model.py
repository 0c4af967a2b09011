"""The dataflow graph: nodes, edges and the rules they obey.

A ``Dfg`` is immutable. Nodes and edges are plain records; everything that is looked up often (indices, operands,
topological order) is derived once and cached. ``Dfg.__post_init__`` runs :func:`check`, so a Dfg that exists is sound.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final, Literal

from gridloom.dfg.ops import ANY_ARITY, OP_CLASSES, Op, lookup
from gridloom.errors import DfgError
from gridloom.registry import PICTURE

if TYPE_CHECKING:
    import networkx

EdgeKind = Literal["data", "order", "pair", "async"]

#: Kinds that carry a value into an operand of their target.
VALUE_KINDS: Final = ("data", "pair", "async")

MAX_NODES: Final = 200_000
MAX_EDGES: Final = 1_000_000
MAX_DISTANCE: Final = 4096
#: Words of all arrays together.
MAX_WORDS: Final = 1 << 24


@dataclass(frozen=True, slots=True, kw_only=True)
class Node:
    """One operation. ``op`` names a row of the op table of the graph's domain."""

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
    #: Tensor graphs: the shape of the result.
    shape: tuple[int, ...] = ()
    #: Tensor graphs: cycles that a firing keeps its unit busy.
    work: int = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Edge:
    """One dependence. The target's firing k reads the source's firing k - ``distance``."""

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
    #: What the first ``distance`` firings read; missing ones are 0 (in domain ``opaque`` distinct numbers).
    initial: tuple[int | float, ...] = ()
    #: ``order``: the least number of cycles between the issues; ``pair``: the exact number.
    delay: int = 1
    #: Tensor graphs: tokens that one firing of the source puts on the edge, and one of the target takes.
    tokens: int = 1
    #: Tensor graphs: tokens that one firing of the target takes, where it differs from ``tokens``.
    takes: int | None = None
    #: Tensor graphs: the source puts its tokens at the end of every so many firings: a reduction ends.
    puts_every: int = 1
    #: Tensor graphs: the target takes its tokens at the start of every so many firings, the first one included: what
    #: it took is used again and again.
    takes_every: int = 1
    #: Tensor graphs: tokens of the target's input buffer that the edge may use; none: all that the tile has.
    room: int | None = None

    @property
    def carries_value(self) -> bool:
        """True unless the edge only orders its ends."""
        return self.kind != "order"


@dataclass(frozen=True, slots=True, kw_only=True)
class Array:
    """A named memory area of ``length`` words that loads and stores index."""

    #: What nodes call it.
    name: str
    #: Words in it, at least 1; all arrays of a graph have at most 16777216.
    length: int


@dataclass(frozen=True, kw_only=True)
class Dfg:
    """A dataflow graph of one loop body (or of one tensor pipeline)."""

    name: str
    domain: str
    nodes: tuple[Node, ...]
    edges: tuple[Edge, ...] = ()
    arrays: tuple[Array, ...] = ()
    #: Free text: where the graph comes from.
    notes: str = ""
    _checked: bool = field(default=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        if not self._checked:
            check(self)

    def __repr__(self) -> str:
        return f"<Dfg {self.name}: {len(self.nodes)} nodes, {len(self.edges)} edges, domain {self.domain}>"

    def _repr_svg_(self) -> str:
        drawn: str = PICTURE.load()(self)
        return drawn

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

    def required_classes(self, node_id: str) -> frozenset[str]:
        """The op classes that a tile must have all of: a stream that enters through a multiplier needs both."""
        op = self.op(node_id).op_class
        port = {op} if op in ("input", "output") else set()
        return frozenset({self.op_class(node_id)} | port)

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

    def initial_values(self, edge: int) -> tuple[int | float, ...]:
        """What the first ``distance`` firings of an edge's target read.

        Values that the graph does not give are 0; in domain ``opaque`` distinct numbers, so that a wrong one shows.
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

    @cached_property
    def is_forest(self) -> bool:
        """True when the graph has no undirected cycle: any legal routing then balances by skewing inputs."""
        parent = list(range(len(self.nodes)))

        def root(k: int) -> int:
            while parent[k] != k:
                parent[k] = parent[parent[k]]
                k = parent[k]
            return k

        for edge in self.edges:
            a, b = root(self.index[edge.source]), root(self.index[edge.target])
            if a == b:
                return False
            parent[a] = b
        return True

    # -- derived graphs ---------------------------------------------------------------------------------------------

    def renamed(self, name: str) -> Dfg:
        """The same graph under another name."""
        return replace(self, name=name)

    def to_networkx(self) -> networkx.MultiDiGraph:
        """A networkx multigraph with every field as an attribute."""
        import networkx

        graph = networkx.MultiDiGraph(name=self.name, domain=self.domain)
        for node in self.nodes:
            graph.add_node(node.id, **{name: getattr(node, name) for name in node.__slots__ if name != "id"})
        for k, edge in enumerate(self.edges):
            attributes = {name: getattr(edge, name) for name in edge.__slots__ if name not in ("source", "target")}
            graph.add_edge(edge.source, edge.target, key=k, **attributes)
        return graph


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
        self.domain = domain
        self.notes = notes
        self.nodes: list[Node] = []
        self.edges: list[Edge] = []
        self.arrays: dict[str, int] = {}
        self._ids: set[str] = set()
        self._constants: dict[int | float, str] = {}

    def _fresh(self, stem: str) -> str:
        k = len(self.nodes)
        while (name := f"{stem}{k}") in self._ids:
            k += 1
        return name

    def add(self, op: str, *operands: str, id: str | None = None, **attributes: Any) -> str:
        """Add a node whose operands are the given nodes; returns its id."""
        name = id or self._fresh(op)
        self._ids.add(name)
        self.nodes.append(Node(id=name, op=op, **attributes))
        for k, source in enumerate(operands):
            self.edges.append(Edge(source=source, target=name, operand=k))
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
        """A stream: one value an iteration."""
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
        self, source: str, target: str, *, operand: int, distance: int = 1, initial: Iterable[int | float] = ()
    ) -> None:
        """A loop-carried value: operand ``operand`` of ``target`` is ``source`` of ``distance`` iterations ago."""
        self.edges.append(
            Edge(source=source, target=target, operand=operand, distance=distance, initial=tuple(initial))
        )

    def order(self, source: str, target: str, *, delay: int = 1, distance: int = 0) -> None:
        """``target`` issues at least ``delay`` cycles after ``source``."""
        self.edges.append(Edge(source=source, target=target, kind="order", delay=delay, distance=distance))

    def build(self) -> Dfg:
        """The graph; raises DfgError when it breaks a rule."""
        arrays = tuple(Array(name=name, length=length) for name, length in self.arrays.items())
        return Dfg(
            name=self.name,
            domain=self.domain,
            nodes=tuple(self.nodes),
            edges=tuple(self.edges),
            arrays=arrays,
            notes=self.notes,
        )


# -- self-check -----------------------------------------------------------------------------------------------------


def check(dfg: Dfg) -> None:
    """Raise DfgError for the first rule that a graph breaks. Linear in nodes and edges."""
    where = f"graph {dfg.name!r}"
    if not dfg.nodes:
        raise DfgError("has no node; a graph needs at least one", where=where)
    if len(dfg.nodes) > MAX_NODES or len(dfg.edges) > MAX_EDGES:
        raise DfgError(
            f"has {len(dfg.nodes)} nodes and {len(dfg.edges)} edges; at most {MAX_NODES} and {MAX_EDGES} are taken",
            where=where,
        )
    if len(dfg.index) != len(dfg.nodes):
        seen: set[str] = set()
        twice = next(node.id for node in dfg.nodes if node.id in seen or seen.add(node.id))  # type: ignore[func-returns-value]
        raise DfgError(f"node id {twice!r} is used twice; ids must differ", where=where)
    _check_arrays(dfg, where)
    for node in dfg.nodes:
        _check_node(dfg, node, where)
    for k, edge in enumerate(dfg.edges):
        _check_edge(dfg, k, edge, where)
    for node in dfg.nodes:
        _check_operands(dfg, node, where)
    _ = dfg.topological


def _check_arrays(dfg: Dfg, where: str) -> None:
    names: set[str] = set()
    for array in dfg.arrays:
        if array.name in names:
            raise DfgError(f"array {array.name!r} is declared twice; names must differ", where=where)
        if array.length < 1:
            raise DfgError(f"array {array.name!r} has length {array.length}; expected at least 1", where=where)
        names.add(array.name)
    words = sum(array.length for array in dfg.arrays)
    if words > MAX_WORDS:
        raise DfgError(f"its arrays have {words} words; at most {MAX_WORDS} are taken", where=where)


def _check_node(dfg: Dfg, node: Node, where: str) -> None:
    here = f"{where}: node {node.id!r}"
    try:
        op = lookup(dfg.domain, node.op)
    except DfgError as error:
        raise error.at(here) from None
    if not node.id:
        raise DfgError("a node has an empty id; give each node a name", where=where)
    if not node.id.isascii() and any("\ud800" <= character <= "\udfff" for character in node.id):
        raise DfgError("its id holds half a surrogate pair, which cannot be written; use other characters", where=here)
    if node.op == "const" and node.value is None:
        raise DfgError("is a const without a value; give it 'value'", where=here)
    if node.value is not None and not _representable(dfg.domain, node.value):
        raise DfgError(f"has value {node.value}, which domain {dfg.domain!r} cannot hold", where=here)
    if op.op_class == "mem" and dfg.domain not in ("opaque", "tensor") and node.op in ("load", "store", "store_if"):
        _check_array(dfg, node, here)
    if node.op in ("load_data", "store_data") and dfg.domain != "opaque":
        _check_array(dfg, node, here)
    if node.op_class is not None and node.op_class not in OP_CLASSES:
        raise DfgError(f"has op class {node.op_class!r}; known: {', '.join(OP_CLASSES)}", where=here)
    if node.work < 1:
        raise DfgError(f"has work {node.work}; expected at least 1 cycle", where=here)


def _representable(domain: str, value: int | float) -> bool:
    """Integers wrap, so only infinities and NaN are too much for them; singles end below 2**128."""
    if domain == "f32":
        return (isinstance(value, float) and not math.isfinite(value)) or abs(value) < (1 << 128) - (1 << 103)
    return isinstance(value, int) or math.isfinite(value)


def _check_array(dfg: Dfg, node: Node, here: str) -> None:
    if node.array is None:
        raise DfgError(f"is a {node.op} without 'array'; name the array it touches", where=here)
    if node.array not in dfg.array_length:
        known = ", ".join(dfg.array_length) or "none"
        raise DfgError(f"touches array {node.array!r}, which is not declared; declared: {known}", where=here)


def _check_edge(dfg: Dfg, k: int, edge: Edge, where: str) -> None:
    here = f"{where}: edge {k} ({edge.source} -> {edge.target})"
    for end in (edge.source, edge.target):
        if end not in dfg.index:
            raise DfgError(f"names node {end!r}, which does not exist", where=here)
    if not 0 <= edge.distance <= MAX_DISTANCE:
        raise DfgError(f"has distance {edge.distance}; expected 0 to {MAX_DISTANCE}", where=here)
    if edge.operand < 0:
        raise DfgError(f"has operand {edge.operand}; operands count from 0", where=here)
    if len(edge.initial) > edge.distance:
        raise DfgError(
            f"has {len(edge.initial)} initial values for distance {edge.distance}; one a step of distance is used",
            where=here,
        )
    for value in edge.initial:
        if not _representable(dfg.domain, value):
            raise DfgError(f"has initial value {value}, which domain {dfg.domain!r} cannot hold", where=here)
    if edge.delay < 0:
        raise DfgError(f"has delay {edge.delay}; expected at least 0", where=here)
    if edge.tokens < 1 or (edge.takes is not None and edge.takes < 1):
        raise DfgError(f"has tokens {edge.tokens}, takes {edge.takes}; expected at least 1", where=here)
    if edge.puts_every < 1 or edge.takes_every < 1 or (edge.room is not None and edge.room < 1):
        found = f"puts_every {edge.puts_every}, takes_every {edge.takes_every}, room {edge.room}"
        raise DfgError(f"has {found}; expected at least 1", where=here)
    if edge.carries_value and dfg.op(edge.source).name == "output":
        raise DfgError("leaves an output; let it leave the node that the output reads", where=here)
    if edge.carries_value and not dfg.op(edge.source).result:
        raise DfgError(f"carries a value of {edge.source!r}, but op {dfg.node(edge.source).op!r} has none", where=here)
    if edge.distance and dfg.op(edge.source).timeless:
        raise DfgError(f"has distance {edge.distance}, but its source is the same in every iteration", where=here)


def _check_operands(dfg: Dfg, node: Node, where: str) -> None:
    found = [dfg.edges[k].operand for k in dfg.operand_edges(node.id)]
    arity = dfg.op(node.id).arity
    if arity != ANY_ARITY and found != list(range(arity)):
        expected = ", ".join(map(str, range(arity))) or "none"
        raise DfgError(
            f"op {node.op!r} takes operands {expected}; found {', '.join(map(str, found)) or 'none'}",
            where=f"{where}: node {node.id!r}",
        )
    if arity == ANY_ARITY and found != list(range(len(found))):
        raise DfgError(
            f"operands must be 0, 1, ... once each; found {', '.join(map(str, found))}",
            where=f"{where}: node {node.id!r}",
        )


def _topological_order(dfg: Dfg) -> tuple[int, ...] | None:
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
    import rustworkx

    graph = rustworkx.PyDiGraph()
    graph.add_nodes_from(range(len(dfg.nodes)))
    graph.add_edges_from([(dfg.index[e.source], dfg.index[e.target], None) for e in dfg.edges if e.distance == 0])
    cycle = rustworkx.digraph_find_cycle(graph)
    path = " -> ".join(dfg.nodes[a].id for a, _ in list(cycle)[:8])
    return f"has a cycle of distance 0: {path} -> ...; a value cannot depend on itself in one iteration"
