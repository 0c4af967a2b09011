"""Reads E2EMap's kernels: one line of numbers between commas for each node.

``id, child, type, child, type, child, type, child, type, earliest, latest, special, fed``: a child of 0 means none,
an edge's type is its iteration distance. Ops are not given, so every node is an uninterpreted ``op``.
"""

from __future__ import annotations

from pathlib import Path
from typing import Final

from gridloom.compiler.graphs.published_graph import PublishedGraph
from gridloom.dfg import Dfg, Node
from gridloom.dfg.checks import MAX_DISTANCE
from gridloom.errors import SourceError
from gridloom.text_file import integer, read_text

_COLUMNS: Final = 13


def read(path: Path) -> Dfg:
    """The graph of an E2EMap file."""
    return loads(read_text(path), path.stem, str(path))


def loads(text: str, name: str, where: str = "graph") -> Dfg:
    """The graph in an E2EMap text. SourceError names the line with too few columns or with what is no number.

    The columns behind the children (earliest and latest cycle, flags) are results of E2EMap's own scheduling; they
    are checked to be numbers and not used.
    """
    graph = PublishedGraph(name, where)
    for line, content in enumerate(text.split("\n"), start=1):
        if content.strip():
            _add_line(graph, content, line)
    return graph.build()


def _add_line(graph: PublishedGraph, content: str, line: int) -> None:
    """The node of one line, and its edges to its children."""
    where = graph.at(line)
    row = content.split(",")
    if len(row) != _COLUMNS:
        raise SourceError(
            f"found {len(row)} comma-separated columns; expected {_COLUMNS} (id, four times child and type, earliest, "
            "latest, special, fed)",
            where=where,
        )
    numbers = [integer(text, f"column {k}", where) for k, text in enumerate(row, start=1)]
    if numbers[0] < 1:
        raise SourceError(f"node id is {numbers[0]}; ids count from 1", where=where)
    graph.add(Node(id=str(numbers[0]), op="op"), where)
    for k in range(1, 9, 2):
        child, distance = numbers[k], numbers[k + 1]
        if child == 0:
            continue
        if not 0 <= distance <= MAX_DISTANCE:
            raise SourceError(f"type of the edge to {child} is {distance}; expected 0 to {MAX_DISTANCE}", where=where)
        graph.edge(str(numbers[0]), str(child), line, distance=distance)
