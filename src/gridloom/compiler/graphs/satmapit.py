"""Reads SAT-MapIt's loops: ``<loop>_nodes`` and ``<loop>_edges``, with constants and live values in files beside them.

A node line is ``id op left right predicate opcode`` (-1: none), an edge line ``source target distance latency``. The
edges give the distances, the node lines the operands. ``<loop>_constants`` holds ``id consumer value position``;
live-ins and live-outs are id lists. Where those files are missing, operands that nothing defines are live-ins.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Final

from gridloom.compiler.graphs.op_names import meaning
from gridloom.compiler.graphs.published_graph import LAST, PublishedGraph
from gridloom.dfg import Dfg, Node
from gridloom.dfg.checks import MAX_DISTANCE
from gridloom.errors import SourceError
from gridloom.text_file import exists, integer, read_text

#: Endings of the files of one loop; longer ones first, as ``_livein_edges`` also ends in ``_edges``.
ENDINGS: Final = (
    "_loop_graph.dot", "_liveinnodes", "_livein_edges", "_liveoutnodes", "_liveout_edges", "_constants",
    "_nodes", "_edges",
)  # fmt: skip

Row = tuple[str, list[str]]


def read(path: Path) -> Dfg:
    """The loop that any one of its files names.

    The other files of the loop are looked for beside it; SourceError where its nodes or edges are missing.
    """
    stem = next((path.name.removesuffix(ending) for ending in ENDINGS if path.name.endswith(ending)), path.name)
    for ending in ("_nodes", "_edges"):
        if not exists(path.with_name(stem + ending)):
            raise SourceError(f"needs {stem}{ending} beside it, which is not there", where=str(path))
    texts = {ending: _optional(path.with_name(stem + ending)) for ending in ENDINGS[1:6]}
    texts["_nodes"] = read_text(path.with_name(f"{stem}_nodes"))
    texts["_edges"] = read_text(path.with_name(f"{stem}_edges"))
    return loads(texts, stem, str(path.with_name(stem)))


def loads(texts: dict[str, str | None], name: str, where: str = "loop") -> Dfg:
    """The loop in the texts of its files, keyed by file ending; ``_nodes`` and ``_edges`` must be there."""
    graph = PublishedGraph(name, f"{where}_edges")
    operands = _add_nodes(graph, texts, where)
    _add_edges(graph, texts, operands, where)
    return graph.build()


def _optional(path: Path) -> str | None:
    """The text of a file, or None where it does not exist."""
    return read_text(path) if exists(path) else None


def _rows(texts: dict[str, str | None], ending: str, where: str, columns: int) -> Iterator[Row]:
    """Place and columns of each line of one file that is not empty; SourceError for too few or many columns."""
    for number, line in enumerate((texts.get(ending) or "").split("\n"), start=1):
        row = line.split()
        if not row:
            continue
        here = f"{where}{ending}:{number}"
        if len(row) != columns:
            raise SourceError(f"found {len(row)} columns; expected {columns}", where=here)
        yield here, row


def _add_nodes(graph: PublishedGraph, texts: dict[str, str | None], where: str) -> dict[str, list[str]]:
    """The nodes of all files; returns what each node line names as its operands.

    The operands are left, right and predicate, in this order, with ``-1`` for none. SourceError for an operand that
    no file gives, where all files are there.
    """
    liveouts = {row[0]: row[1] for _, row in _rows(texts, "_liveout_edges", where, 4)}
    operands: dict[str, list[str]] = {}
    for here, row in _rows(texts, "_nodes", where, 6):
        for text, what in zip((row[0], *row[2:]), ("id", "left", "right", "predicate", "opcode"), strict=True):
            integer(text, what, here)
        liveout = f"liveout{liveouts[row[0]]}" if row[0] in liveouts else None
        graph.add(Node(id=row[0], op=meaning(row[1]), label=row[1], liveout=liveout), here)
        operands[row[0]] = row[2:5]
    for here, row in _rows(texts, "_constants", where, 4):
        value = integer(row[2], f"value of constant {row[0]}", here)
        if row[0] not in graph:
            graph.add(Node(id=row[0], op="const", value=value), here)
    for here, row in _rows(texts, "_liveinnodes", where, 1):
        integer(row[0], "live-in", here)
        graph.add(_livein(row[0]), here)
    # Only where all files are there is an undefined operand a mistake.
    complete = texts.get("_constants") is not None and texts.get("_liveinnodes") is not None
    for node_id, row in operands.items():
        for operand in row:
            if operand != "-1" and operand not in graph:
                if complete:
                    raise SourceError(f"node {node_id} reads {operand}, which no file gives", where=f"{where}_nodes")
                graph.add(_livein(operand))
    return operands


def _livein(node_id: str) -> Node:
    """A live-in under the number that the files give it."""
    return Node(id=node_id, op="livein", variable=f"livein{node_id}")


def _add_edges(graph: PublishedGraph, texts: dict[str, str | None], operands: dict[str, list[str]], where: str) -> None:
    """Edges of the edge file, at the operand their node line names; then constants and live-ins of the node lines."""
    given: dict[tuple[str, str], list[tuple[int, int]]] = {}
    for number, (here, row) in enumerate(_rows(texts, "_edges", where, 4), start=1):
        distance = integer(row[2], "distance", here)
        if not 0 <= distance <= MAX_DISTANCE:
            raise SourceError(f"distance is {distance}; expected 0 to {MAX_DISTANCE}", where=here)
        given.setdefault((row[0], row[1]), []).append((distance, number))
    for (source, target), edges in given.items():
        slots = [rank for rank, operand in enumerate(operands.get(target, ())) if operand == source]
        # A node that reads one value twice may have one line for both operands; a line no operand names comes last.
        for k in range(max(len(slots), len(edges))):
            distance, number = edges[min(k, len(edges) - 1)]
            rank = slots[k] if k < len(slots) else LAST
            graph.edge(source, target, number, rank=rank, distance=distance)
    for target, row in operands.items():
        for rank, source in enumerate(row):
            if source != "-1" and source not in operands:
                graph.edge(source, target, rank=rank)
