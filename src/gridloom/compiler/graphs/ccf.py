"""Reads CCF's loops: ``<loop>_node.txt`` and ``<loop>_edge.txt``, tab-separated (the format of RAMP and FalconCrimson).

A node line is ``id opcode [name [bytes ...]]``, an edge line ``source target distance type operand`` (older files:
``source target type``, taken as distance 0). A load or a store is two nodes: LRE ties load-address to load-data one
cycle later, SRE store-address to store-data in the same cycle; both are ``pair`` edges. MEM only orders. Opcode 30 is
a constant; one without a value in its name (``gPtr1``, ``gVar2``) is a live-in. ``liveout_*`` next to the loop names
the values that outlive it. The array's ``CGRA_config.csv`` is not read.

The formats are those of "CCF: A CGRA Compilation Framework" (Arizona State University) and of RAMP and FalconCrimson,
which read them. The graph is of domain ``opaque``: opcodes are kept as ops, but what a node computes is not
interpreted.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from gridloom.compiler.graphs.published_graph import LAST, PublishedGraph
from gridloom.dfg import Dfg, Node
from gridloom.dfg.checks import MAX_DISTANCE
from gridloom.errors import SourceError
from gridloom.text_file import exists, integer, read_text, shown

#: Our op for each of CCF's opcodes.
OPCODES: Final = (
    "add", "sub", "mul", "div", "shl", "shr", "and", "or", "xor",
    "gt", "eq", "ne", "lt", "le", "ge", "ugt", "ult", "ule", "uge",
    "load_address", "load_data", "store_address", "store_data", "load_address", "load_data",
    "loop_control", "select", "move", "move", "select", "const", "rem", "sext", "lshr", "rest", "reduced",
)  # fmt: skip

_CONSTANT: Final = 30
_EDGE_TYPES: Final = ("TRU", "PRE", "LIE", "LRE", "SRE", "MEM")
_CONSTANT_NAME: Final = re.compile(r"ConstInt(-?[0-9]{1,20})\Z")


def read(path: Path) -> Dfg:
    """The loop that any one of its files names: a node or an edge file, a live-value file or the drawing beside it."""
    nodes, edges = _members(path)
    for member in (nodes, edges):
        if not exists(member):
            raise SourceError(f"needs {member.name} beside it, which is not there", where=str(path))
    stem = nodes.name.removesuffix("_node.txt")
    return loads(read_text(nodes), read_text(edges), stem, str(nodes), str(edges), _liveouts(nodes))


def loads(
    node_text: str,
    edge_text: str,
    name: str,
    node_where: str = "nodes",
    edge_where: str = "edges",
    liveouts: dict[str, str] | None = None,
) -> Dfg:
    """The loop in the texts of its two files; ``liveouts`` maps node ids to the names their last values go by."""
    graph = PublishedGraph(name, edge_where)
    for line, row in _rows(node_text):
        _add_node(graph, row, f"{node_where}:{line}", liveouts or {})
    for line, row in _rows(edge_text):
        _add_edge(graph, row, line)
    return graph.build()


def _members(path: Path) -> tuple[Path, Path]:
    """The node file and the edge file of the loop that a path names.

    A drawing or a live-value file names its loop only by its folder, so there has to be just one loop in it.
    """
    name = path.name
    for ending in ("_node.txt", "_edge.txt"):
        stem = name.removesuffix(ending)
        if stem != name and stem not in ("livein", "liveout"):
            return path.with_name(f"{stem}_node.txt"), path.with_name(f"{stem}_edge.txt")
    # A live-value file or a drawing does not name its loop.
    loops = sorted(path.parent.glob("loop*_node.txt"))
    if len(loops) != 1:
        raise SourceError(
            f"belongs to one of {len(loops)} loops in its folder; name a *_node.txt of a loop instead", where=str(path)
        )
    return loops[0], loops[0].with_name(loops[0].name.replace("_node.txt", "_edge.txt"))


def _rows(text: str) -> Iterator[tuple[int, list[str]]]:
    """Line number and columns of each line that is not empty."""
    for number, line in enumerate(text.split("\n"), start=1):
        row = line.split()
        if row:
            yield number, row


def _add_node(graph: PublishedGraph, row: list[str], where: str, liveouts: dict[str, str]) -> None:
    """The node of one line.

    The fourth column, the size of an access in bytes, is not used: a word of the graph is one element of any size.
    """
    if len(row) < 2:
        raise SourceError(f"found {len(row)} column; expected id, opcode, name, bytes", where=where)
    integer(row[0], "node id", where)
    opcode = integer(row[1], f"opcode of node {row[0]}", where)
    if not 0 <= opcode < len(OPCODES):
        raise SourceError(f"opcode of node {row[0]} is {opcode}; expected 0 to {len(OPCODES) - 1}", where=where)
    name = row[2] if len(row) > 2 else None
    value = None
    op = OPCODES[opcode]
    if opcode == _CONSTANT:
        match = _CONSTANT_NAME.match(name or "")
        value = int(match.group(1)) if match else None
        op = "const" if match else "livein"
    variable = name if op == "livein" else None
    graph.add(Node(id=row[0], op=op, value=value, label=name, variable=variable, liveout=liveouts.get(row[0])), where)


def _add_edge(graph: PublishedGraph, row: list[str], line: int) -> None:
    """The edge of one line: a value, a pair, an order or a predicate, by its type.

    A predicate (PRE) without a number is the last operand; TRU and LIE are plain values.
    """
    where = graph.at(line)
    if len(row) not in (3, 5):
        raise SourceError(
            f"found {len(row)} columns; expected source, target, distance, type, operand (or source, target, type)",
            where=where,
        )
    kind = row[-1] if len(row) == 3 else row[3]
    if kind not in _EDGE_TYPES:
        raise SourceError(f"edge type is {shown(kind)}; expected one of {', '.join(_EDGE_TYPES)}", where=where)
    distance = integer(row[2], "distance", where) if len(row) == 5 else 0
    if not 0 <= distance <= MAX_DISTANCE:
        raise SourceError(f"distance is {distance}; expected 0 to {MAX_DISTANCE}", where=where)
    rank = integer(row[4], "operand", where) if len(row) == 5 else None
    source, target = row[0], row[1]
    if kind == "LRE":
        graph.edge(source, target, line, rank=rank, kind="pair", distance=distance, delay=1)
    elif kind == "SRE":
        # The store's value is operand 0; what the pair brings, its address, comes after it.
        graph.edge(source, target, line, rank=LAST, kind="pair", distance=distance, delay=0)
    elif kind == "MEM":
        graph.edge(source, target, line, kind="order", distance=distance)
    else:
        predicate = kind == "PRE" and rank is None
        graph.edge(source, target, line, rank=LAST if predicate else rank, distance=distance)


def _liveouts(nodes: Path) -> dict[str, str]:
    """Node id -> name for each edge of ``liveout_edge.txt`` into a ``st_data_<name>`` node.

    CCF stores live values to memory after the loop; the name of the variable is that of the store. Without these
    files there are no live-outs.
    """
    node_file, edge_file = nodes.with_name("liveout_node.txt"), nodes.with_name("liveout_edge.txt")
    if not (exists(node_file) and exists(edge_file)):
        return {}
    stores = {
        row[0]: row[2].removeprefix("st_data_")
        for _, row in _rows(read_text(node_file))
        if len(row) > 2 and row[2].startswith("st_data_")
    }
    return {
        row[0]: stores[row[1]]
        for _, row in _rows(read_text(edge_file))
        if len(row) == 5 and row[3] == "TRU" and row[4] == "0" and row[1] in stores
    }
