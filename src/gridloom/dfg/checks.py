"""The rules that every dataflow graph obeys, checked when one is made; the first broken one is a DfgError.

The limits keep hostile files from taking all memory: they are far above what any array could run.

Everything behind this module relies on these rules: a :class:`Dfg` that exists has unique ids, edges between nodes
that exist, one edge per operand and a topological order, so mappers and simulators check none of this again.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Final

from gridloom.dfg.ops import ANY_ARITY, OP_CLASSES, lookup
from gridloom.errors import DfgError

if TYPE_CHECKING:
    from gridloom.dfg.model import Dfg, Edge, Node

MAX_NODES: Final = 200_000
MAX_EDGES: Final = 1_000_000
MAX_DISTANCE: Final = 4096
#: Words of all arrays together.
MAX_WORDS: Final = 1 << 24


def check(dfg: Dfg) -> None:
    """Raise DfgError for the first rule that a graph breaks. Linear in nodes and edges.

    The order of the rules is that of the file: sizes, ids, arrays, nodes, edges, operands of each node, and last that
    no cycle has distance 0. Error texts name the graph and the node or edge.
    """
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
    """Names differ, lengths are positive, and all words together stay below the limit."""
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
    """The op exists, constants have a value that the domain can hold, accesses name an array.

    Accesses of domain ``opaque`` need no array, since nobody interprets them. A node may name an op class in place of
    that of the op table, but it has to be one that arrays know.
    """
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


def _representable(domain: str, value: int | float) -> bool:
    """Integers wrap, so only infinities and NaN are too much for them; singles end below 2**128."""
    if domain == "f32":
        return (isinstance(value, float) and not math.isfinite(value)) or abs(value) < (1 << 128) - (1 << 103)
    return isinstance(value, int) or math.isfinite(value)


def _check_array(dfg: Dfg, node: Node, here: str) -> None:
    """An access names an array that is declared."""
    if node.array is None:
        raise DfgError(f"is a {node.op} without 'array'; name the array it touches", where=here)
    if node.array not in dfg.array_length:
        known = ", ".join(dfg.array_length) or "none"
        raise DfgError(f"touches array {node.array!r}, which is not declared; declared: {known}", where=here)


def _check_edge(dfg: Dfg, k: int, edge: Edge, where: str) -> None:
    """Both ends exist, numbers are in range, and the source has a value to carry.

    A loop-carried edge may not leave a constant or live-in: its value ``distance`` iterations ago is its value now,
    except for the initial values, which would contradict it.
    """
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
            f"has {len(edge.initial)} initial values for distance {edge.distance}; one per step of distance is used",
            where=here,
        )
    for value in edge.initial:
        if isinstance(value, str):
            _check_initial_name(dfg, edge, value, here)
        elif not _representable(dfg.domain, value):
            raise DfgError(f"has initial value {value}, which domain {dfg.domain!r} cannot hold", where=here)
    if edge.delay < 0:
        raise DfgError(f"has delay {edge.delay}; expected at least 0", where=here)
    if edge.carries_value and dfg.op(edge.source).name == "output":
        raise DfgError("leaves an output; let it leave the node that the output reads", where=here)
    if edge.carries_value and not dfg.op(edge.source).result:
        raise DfgError(f"carries a value of {edge.source!r}, but op {dfg.node(edge.source).op!r} has none", where=here)
    if edge.distance and dfg.op(edge.source).timeless:
        raise DfgError(f"has distance {edge.distance}, but its source is the same in every iteration", where=here)


def _check_initial_name(dfg: Dfg, edge: Edge, name: str, here: str) -> None:
    """A live-in as an initial value has a name that no other node has, and a value of the graph to stand for."""
    if not name or edge.kind != "data" or dfg.domain in ("opaque", "tensor"):
        raise DfgError(f"has the initial value {name!r}; data edges of graphs with numbers take names", where=here)
    if name in dfg.index and dfg.node(name).op != "livein":
        raise DfgError(f"has the initial value {name!r}, which is a {dfg.node(name).op}, no live-in", where=here)


def _check_operands(dfg: Dfg, node: Node, where: str) -> None:
    """Each operand that the op takes is fed once.

    An op of any arity takes as many operands as it has edges, but these must be numbered from 0 without a gap.
    """
    operands = [dfg.edges[k].operand for k in dfg.operand_edges(node.id)]
    arity = dfg.op(node.id).arity
    if arity != ANY_ARITY and operands != list(range(arity)):
        expected = ", ".join(map(str, range(arity))) or "none"
        raise DfgError(
            f"op {node.op!r} takes operands {expected}; found {', '.join(map(str, operands)) or 'none'}",
            where=f"{where}: node {node.id!r}",
        )
    if arity == ANY_ARITY and operands != list(range(len(operands))):
        raise DfgError(
            f"operands must be 0, 1, ... once each; found {', '.join(map(str, operands))}",
            where=f"{where}: node {node.id!r}",
        )
