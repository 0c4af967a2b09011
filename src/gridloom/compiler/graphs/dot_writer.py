r"""Writes a Dfg as Graphviz DOT that draws well and reads back as the same graph.

Every field that differs from its default is an attribute of its own; ``label`` and ``shape`` are only for the picture,
those of the node travel as ``text`` and ``tensor_shape``. Strings are escaped once more than DOT asks for (a backslash
is doubled, line ends become ``\n`` and ``\r``), because DOT itself cannot say a string that ends in a backslash.
"""

from __future__ import annotations

import json
from dataclasses import MISSING, fields
from typing import Any, Final

from gridloom.dfg.json_format import FORMAT, VERSION
from gridloom.dfg.model import Dfg, Edge, Node, graph_types

#: Fields that hold plain text; all others are written as JSON values.
PLAIN_FIELDS: Final = frozenset(
    {"array", "domain", "format", "kind", "liveout", "notes", "op", "op_class", "text", "variable"}
)

#: Fields whose names mean something else to Graphviz, and what they are written as.
RENAMED: Final = {"label": "text", "shape": "tensor_shape"}

_SHAPES: Final = {"const": "plaintext", "livein": "plaintext", "input": "invhouse", "output": "house", "mem": "box"}


def dumps(dfg: Dfg) -> str:
    """A Dfg as DOT text; ``gridloom.compiler.graphs.dot.loads`` returns an equal graph. Linear in nodes and edges.

    Needs no Graphviz: the text is written here, and only drawing it takes one.
    """
    lines = [f"digraph {quote(dfg.name)} {{", f"  format={quote(FORMAT)}; version={quote(str(VERSION))};"]
    lines.append(f"  domain={quote(dfg.domain)};")
    if dfg.notes:
        lines.append(f"  notes={quote(dfg.notes)};")
    if dfg.arrays:
        rows = [{"name": array.name, "length": array.length} for array in dfg.arrays]
        lines.append(f"  arrays={quote(json.dumps(rows))};")
    lines += [_node_line(dfg, node) for node in dfg.nodes]
    lines += [_edge_line(edge) for edge in dfg.edges]
    return "\n".join([*lines, "}", ""])


def quote(text: str) -> str:
    """A string as a quoted DOT id, see :func:`unescape`."""
    escaped = text.replace("\\", "\\\\").replace("\n", "\\n").replace("\r", "\\r").replace('"', '\\"')
    return f'"{escaped}"'


def unescape(text: str) -> str:
    r"""What :func:`quote` was given, from what a DOT parser makes of it.

    >>> unescape(r"one\ntwo")
    'one\ntwo'
    """
    if "\\" not in text:
        return text
    parts: list[str] = []
    position = 0
    while (slash := text.find("\\", position)) >= 0:
        parts.append(text[position:slash])
        escaped = text[slash + 1 : slash + 2]
        parts.append({"\\": "\\", "n": "\n", "r": "\r"}.get(escaped, "\\" + escaped))
        position = slash + 2
    parts.append(text[position:])
    return "".join(parts)


def _node_line(dfg: Dfg, node: Node) -> str:
    """The statement of one node."""
    attributes = _attributes(node, skip=("id",))
    caption = node.label or (str(node.value) if node.op == "const" else node.op)
    drawing = {"label": caption, "shape": _SHAPES.get(dfg.op_class(node.id), "ellipse")}
    return f"  {quote(node.id)} [{_list({**attributes, **drawing})}];"


def _edge_line(edge: Edge) -> str:
    """The statement of one edge."""
    attributes = _attributes(edge, skip=("source", "target"))
    drawing: dict[str, str] = {}
    if edge.distance:
        drawing = {"label": str(edge.distance), "constraint": "false"}
    if edge.kind != "data":
        drawing["style"] = "dashed"
    listed = _list({**attributes, **drawing})
    return f"  {quote(edge.source)} -> {quote(edge.target)}{f' [{listed}]' if listed else ''};"


def _attributes(record: Node | Edge, skip: tuple[str, ...]) -> dict[str, str]:
    """The attribute list of a record: what differs from the defaults, and what only the picture needs."""
    result: dict[str, str] = {}
    for field in fields(record):
        value: Any = getattr(record, field.name)
        if field.name in skip or (field.default is not MISSING and value == field.default):
            continue
        name = RENAMED.get(field.name, field.name)
        result[name] = value if name in PLAIN_FIELDS else json.dumps(value)
    return result


def field_attributes() -> frozenset[str]:
    """What the fields of nodes and edges are written as, for all types of graphs."""
    records = {record for kind in graph_types() for record in (kind.node_type, kind.edge_type)}
    names = {field.name for record in records for field in fields(record)} - {"id", "source", "target"}
    return frozenset(RENAMED.get(name, name) for name in names)


def _list(attributes: dict[str, str]) -> str:
    return ", ".join(f"{name}={quote(value)}" for name, value in attributes.items())
