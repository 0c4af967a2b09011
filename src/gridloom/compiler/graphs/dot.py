"""Reads Graphviz DOT: our own files and the dialects of NeoSA, GenMap, CGRA-Bench and elastic_cgra_mapper.

The dialect shows in the attributes. Ours sets the graph attribute ``format``; GenMap's nodes have a ``type``;
elastic_cgra_mapper's have ``opcode`` and ``const_value`` and its edges ``operand``; CGRA-Bench's nodes are called
``Node<k><llvm opcode>``; everything else is read as NeoSA's, which names the op in the label or in the node's name.

Only our own dialect holds all of a graph. The others give nodes and edges, from which :class:`PublishedGraph` makes a
graph of domain ``opaque`` (``cma24`` for GenMap's, whose opcodes are those of the CMA arrays); their back edges carry
no distance and are found by a depth-first walk.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any, Final

from gridloom.compiler.graphs import dot_syntax
from gridloom.compiler.graphs.dot_syntax import DotEdge, DotGraph, DotNode
from gridloom.compiler.graphs.dot_writer import PLAIN_FIELDS, RENAMED, unescape
from gridloom.compiler.graphs.op_names import MEANING, meaning, stem
from gridloom.compiler.graphs.published_graph import PublishedGraph
from gridloom.dfg import Dfg, DfgBuilder, Node, json_format
from gridloom.dfg.ops import lookup
from gridloom.errors import DfgError, SourceError
from gridloom.text_file import integer, read_text, shown

_CGRA_BENCH_NAME: Final = re.compile(r"Node[0-9]++([a-z_]++)\Z")


def read(path: Path) -> Dfg:
    """The graph of a DOT file. SourceError names the file and the line where it cannot be read."""
    return loads(read_text(path), path.stem, str(path))


def loads(text: str, name: str, where: str = "graph") -> Dfg:
    """The graph in a DOT text; ``name`` is used where the dialect has none of its own. Linear in the text.

    >>> loads("digraph g { x -> mul_0 -> y }", "g").op_class("mul_0")
    'mul'
    """
    dot = dot_syntax.parse(text, where)
    if not dot.nodes:
        raise SourceError("has no node; a graph needs at least one", where=where)
    return _DIALECTS[dialect(dot)](dot, name, where)


def dialect(dot: DotGraph) -> str:
    """Which dialect a DOT graph is: ``gridloom``, ``genmap``, ``elastic``, ``cgra_bench`` or ``neosa``.

    Decided by the attributes of nodes and edges and by the names of nodes; ``neosa`` is what is left.
    """
    if dot.attributes.get("format") == json_format.FORMAT:
        return "gridloom"
    attributes = [node.attributes for node in dot.nodes.values()]
    if any("type" in given for given in attributes):
        return "genmap"
    if all("opcode" in given for given in attributes):
        # NeoSA's few files with opcodes have constants without a value.
        bare_constant = any(given["opcode"] == "const" and "const_value" not in given for given in attributes)
        return "neosa" if bare_constant else "elastic"
    if all(_CGRA_BENCH_NAME.match(node_id) for node_id in dot.nodes):
        return "cgra_bench"
    return "neosa"


# -- NeoSA ----------------------------------------------------------------------------------------------------------


def _neosa(dot: DotGraph, name: str, where: str) -> Dfg:
    """No predecessor: an input. Multipliers are the nodes whose label (else name) starts with ``mul``.

    Whether it multiplies is all that the files of NeoSA's evaluation say of an op that matters for placement.
    """
    graph = PublishedGraph(name, where)
    fed = {edge.target for edge in dot.edges}
    for node in dot.nodes.values():
        label = node.attributes.get("label")
        word = label if label is not None else node.attributes.get("opcode", node.id)
        op_class = "mul" if word.lower().startswith("mul") else None
        op = _neosa_op(word) if node.id in fed else "input"
        graph.add(Node(id=node.id, op=op, op_class=op_class, label=label))
    _add_edges(graph, dot, where)
    return graph.build(cut_back_edges=True)


def _neosa_op(word: str) -> str:
    """The op that a NeoSA label or name stands for."""
    known = stem(word)
    op = MEANING.get(known, known or "op")
    # A node that is fed is no source, whatever it is called.
    return "move" if op in ("input", "const") else op


# -- CGRA-Bench -----------------------------------------------------------------------------------------------------


def _cgra_bench(dot: DotGraph, name: str, where: str) -> Dfg:
    """The LLVM opcode is in the name of each node."""
    graph = PublishedGraph(name, where)
    for node in dot.nodes.values():
        match = _CGRA_BENCH_NAME.match(node.id)
        opcode = match.group(1) if match else node.id
        graph.add(Node(id=node.id, op=meaning(opcode), label=opcode))
    _add_edges(graph, dot, where)
    return graph.build(cut_back_edges=True)


# -- elastic_cgra_mapper --------------------------------------------------------------------------------------------


def _elastic(dot: DotGraph, name: str, where: str) -> Dfg:
    """Opcodes, constants and operands are attributes."""
    graph = PublishedGraph(name, where)
    for node in dot.nodes.values():
        opcode = node.attributes["opcode"]
        value = node.attributes.get("const_value") if opcode == "const" else None
        number = None
        if value is not None:
            number = _integer(dot, node, value, f"const_value of {shown(node.id)}", where)
        graph.add(Node(id=node.id, op=meaning(opcode), value=number, label=opcode))
    _add_edges(graph, dot, where)
    return graph.build(cut_back_edges=True)


def _add_edges(graph: PublishedGraph, dot: DotGraph, where: str) -> None:
    """All edges, with the operands that they ask for."""
    for edge in dot.edges:
        operand = _operand(dot, edge, where)
        graph.edge(edge.source, edge.target, rank=operand)


def _operand(dot: DotGraph, edge: DotEdge, where: str) -> int | None:
    """The operand that an edge asks for; None where it does not say."""
    text = edge.attributes.get("operand")
    if text is None:
        return None
    return _integer(dot, edge, text, f"operand of edge {edge.source} -> {edge.target}", where)


def _integer(dot: DotGraph, item: DotNode | DotEdge, text: str, what: str, where: str) -> int:
    """The number in an attribute; a SourceError names the line."""
    try:
        return integer(text, what, where)
    except SourceError as error:
        # The line is looked up only now: counting lines for every number would be quadratic.
        raise SourceError(error.message, where=f"{where}:{dot.line(item)}") from None


# -- GenMap ---------------------------------------------------------------------------------------------------------


def _genmap(dot: DotGraph, name: str, where: str) -> Dfg:
    """Domain ``cma24``; an edge without ``operand`` takes the free operand, in file order.

    GenMap's graphs have no cycles, so that every edge has distance 0; one that closes a cycle is a DfgError.
    """
    builder = DfgBuilder(name, "cma24")
    for node in dot.nodes.values():
        _genmap_node(builder, dot, node, where)
    ops = {node.id: node.op for node in builder.nodes}
    into: dict[str, list[DotEdge]] = {}
    for edge in dot.edges:
        into.setdefault(edge.target, []).append(edge)
    operands: dict[int, int] = {}
    for target, edges in into.items():
        _genmap_operands(dot, target, ops[target], edges, operands, where)
    for edge in dot.edges:
        # Added in the order of the file, so that edges keep their positions.
        builder.carry(edge.source, edge.target, operand=operands[id(edge)], distance=0)
    try:
        return builder.build()
    except DfgError as error:
        raise error.at(where) from None


def _genmap_node(builder: DfgBuilder, dot: DotGraph, node: DotNode, where: str) -> None:
    """The node of a GenMap type: an op, a constant or a stream."""
    kind = node.attributes.get("type")
    if kind == "op":
        opcode = node.attributes.get("opcode")
        if opcode is None:
            raise SourceError(f"op {shown(node.id)} has no opcode", where=f"{where}:{dot.line(node)}")
        try:
            lookup("cma24", opcode.lower())
        except DfgError as error:
            raise SourceError(f"node {shown(node.id)}: {error.message}", where=f"{where}:{dot.line(node)}") from None
        builder.add(opcode.lower(), id=node.id)
    elif kind == "const":
        datatype = node.attributes.get("datatype", "int")
        if datatype != "int":
            raise SourceError(
                f"const {shown(node.id)} has datatype {shown(datatype)}; the 24-bit domain takes int",
                where=f"{where}:{dot.line(node)}",
            )
        if "value" not in node.attributes:
            raise SourceError(f"const {shown(node.id)} has no value", where=f"{where}:{dot.line(node)}")
        text = node.attributes["value"]
        builder.const(_integer(dot, node, text, f"value of const {shown(node.id)}", where), id=node.id)
    elif kind in ("input", "output"):
        builder.add(kind, id=node.id, variable=node.id)
    else:
        found = "no type" if kind is None else f"type {shown(kind)}"
        raise SourceError(
            f"node {shown(node.id)} has {found}; expected op, const, input or output",
            where=f"{where}:{dot.line(node)}",
        )


def _genmap_operands(
    dot: DotGraph, target: str, op: str, edges: list[DotEdge], operands: dict[int, int], where: str
) -> None:
    """Give each edge into a node its operand, those without one the free ones.

    ``operands`` is filled in place and keyed by the identity of the edge record, since two edges may be equal.
    SourceError where the edges do not fit the op's arity, or ask for one operand twice.
    """
    given = [_operand(dot, edge, where) for edge in edges]
    arity = lookup("cma24", op).arity
    if len(edges) != arity:
        raise SourceError(
            f"node {shown(target)} ({op}) has {len(edges)} incoming edges; {op} takes {arity}",
            where=f"{where}:{dot.line(edges[-1])}",
        )
    taken = [operand for operand in given if operand is not None]
    if len(set(taken)) != len(taken) or any(operand >= arity or operand < 0 for operand in taken):
        raise SourceError(
            f"edges into {shown(target)} ({op}) ask for operands {', '.join(map(str, taken))}; expected each of "
            f"{', '.join(map(str, range(arity)))} at most once",
            where=f"{where}:{dot.line(edges[-1])}",
        )
    free = (k for k in range(arity) if k not in taken)
    for edge, operand in zip(edges, given, strict=True):
        operands[id(edge)] = next(free) if operand is None else operand


# -- ours -----------------------------------------------------------------------------------------------------------


def _gridloom(dot: DotGraph, name: str, where: str) -> Dfg:
    """Turns the attributes back into the JSON document, whose validation is the model's own."""
    data: dict[str, Any] = _record(dot.attributes, where, "graph")
    data["name"] = unescape(dot.name)
    data["nodes"] = [
        {"id": unescape(node.id), **_record(node.attributes, where, f"node {shown(node.id)}")}
        for node in dot.nodes.values()
    ]
    data["edges"] = [
        {
            "source": unescape(edge.source),
            "target": unescape(edge.target),
            **_record(edge.attributes, where, f"edge {shown(edge.source)} -> {shown(edge.target)}"),
        }
        for edge in dot.edges
    ]
    return json_format.from_dict(data, where)


def _record(attributes: dict[str, str], where: str, what: str) -> dict[str, Any]:
    """The fields that attributes of our own dialect stand for.

    ``label`` and ``shape`` are for the picture only and left out; the fields of those names come as ``text`` and
    ``tensor_shape``. SourceError for a value that is no JSON.
    """
    record: dict[str, Any] = {}
    fields = {written: name for name, written in RENAMED.items()}
    for key, text in attributes.items():
        if key in RENAMED:
            continue
        value = unescape(text)
        field = fields.get(key, key)
        if key in PLAIN_FIELDS:
            record[field] = value
            continue
        try:
            record[field] = json.loads(value)
        except (ValueError, RecursionError):
            raise SourceError(f"{what}: {key} is {shown(value)}; expected a JSON value", where=where) from None
    return record


_DIALECTS: Final = {
    "gridloom": _gridloom,
    "genmap": _genmap,
    "elastic": _elastic,
    "cgra_bench": _cgra_bench,
    "neosa": _neosa,
}
