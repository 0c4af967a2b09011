"""Reads Morpher's DFGs: XML-like text with two roots (``MutexBB``, ``DFG``) and attributes that touch each other.

No XML parser takes it, so tags are scanned in order; entities and declarations do not exist for this scanner. A node
has ``idx``, an ``OP``, maybe a ``CONST`` (its immediate operand, kept as the node's value) and ``Output`` elements:
``nextiter`` is the distance, ``type`` the operand (``I1``, ``I2``, ``I3``, ``P`` predicate) or ``PS``, an ``order``
edge. Where a file gives one idx to two nodes they are read as one, as the published counts do, and the graph's notes
say so. Files of the older dialect without ``nextiter`` are refused: their loop-carried edges cannot be told.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from gridloom.compiler.graphs.op_names import meaning
from gridloom.compiler.graphs.published_graph import LAST, PublishedGraph
from gridloom.dfg import Dfg, Node
from gridloom.dfg.checks import MAX_DISTANCE
from gridloom.errors import SourceError
from gridloom.text_file import integer, read_text, shown

# Possessive, so that a long text without a closing bracket is refused in linear time.
_TAG: Final = re.compile(r'<(/?)([A-Za-z_][A-Za-z0-9_]*+)((?:[^<>"]++|"[^"]*+")*+)>')
_ATTRIBUTE: Final = re.compile(r'\s*+([A-Za-z_]++)="([^"]*+)"')
_RANKS: Final = {"I1": 0, "I2": 1, "I3": 2, "P": LAST}


class _Tag:
    """One tag: ``attributes`` is empty for closing ones, ``following`` is the text up to the next tag."""

    __slots__ = ("attributes", "closing", "following", "line", "name")

    def __init__(self, name: str, closing: bool, attributes: dict[str, str], following: str, line: int) -> None:
        self.name = name
        self.closing = closing
        self.attributes = attributes
        self.following = following
        self.line = line


def read(path: Path) -> Dfg:
    """The graph of a Morpher file."""
    return loads(read_text(path), path.stem, str(path))


def loads(text: str, name: str, where: str = "graph") -> Dfg:
    """The graph in a Morpher text. Linear in the text.

    SourceError for a text that is cut short, for tags that do not nest and for numbers that are none. The graph is of
    domain ``opaque``.
    """
    if "<DFG" not in text:
        raise SourceError("has no <DFG> element; expected a Morpher DFG", where=where)
    scan = _Scan(PublishedGraph(name, where))
    for tag in _tags(text, where):
        scan.take(tag)
    return scan.finish(where)


class _Scan:
    """Where the scan is: inside which node, with which op, and how many nodes are complete.

    ``expected`` is the count that ``<DFG>`` announces, against which a file that was cut short shows.
    """

    def __init__(self, graph: PublishedGraph) -> None:
        self.graph = graph
        self.expected: int | None = None
        self.closed = False
        self.node: _Tag | None = None
        self.op = ""
        self.complete = 0
        self.repeated: list[str] = []

    def take(self, tag: _Tag) -> None:
        """Act on one tag; tags that mean nothing here are passed over."""
        here = self.graph.at(tag.line)
        if tag.name == "DFG":
            self.closed = tag.closing
            if not tag.closing:
                self.expected = integer(tag.attributes.get("count", ""), "count of <DFG>", here)
        elif tag.name == "Node" and not tag.closing:
            if self.node is not None:
                raise SourceError("<Node> opens inside another one; a </Node> is missing", where=here)
            self.node, self.op = tag, ""
        elif tag.name == "Node":
            if self.node is None or not self.op:
                raise SourceError("</Node> closes a node without an <OP>", where=here)
            self.add_node(self.node)
            self.node = None
        elif tag.name == "OP" and not tag.closing:
            self.op = tag.following.strip()
        elif tag.name == "Output" and self.node is not None:
            _add_output(self.graph, self.node, tag)

    def add_node(self, tag: _Tag) -> None:
        """Add the node that just closed; one of an idx seen before only brings its edges."""
        here = self.graph.at(tag.line)
        self.complete += 1
        index = str(integer(tag.attributes.get("idx", ""), "idx of <Node>", here))
        constant = tag.attributes.get("CONST")
        value = None if constant is None else integer(constant, f"CONST of node {index}", here)
        if index in self.graph:
            self.repeated.append(index)
            return
        node = Node(id=index, op=meaning(self.op), value=value, label=self.op)
        self.graph.add(node, self.graph.at(tag.line))

    def finish(self, where: str) -> Dfg:
        """The graph, once the text has ended. SourceError where nodes are missing."""
        if self.expected is None or not self.closed or self.complete != self.expected:
            raise SourceError(
                f"is cut short: <DFG> announces {self.expected or 0} nodes, {self.complete} are complete", where=where
            )
        notes = ""
        if self.repeated:
            listed = ", ".join(sorted(set(self.repeated), key=int))
            notes = f"the file gives idx {listed} more than once; each is read as one node, under its first op"
        return self.graph.build(notes=notes)


def _tags(text: str, where: str) -> Iterator[_Tag]:
    """The tags of a text, in order.

    Lines are counted on the way, from tag to tag, so that the scan stays linear. Text between tags is handed on with
    the tag before it.
    """
    position = text.find("<")
    line, counted = 1, 0
    while position >= 0:
        line += text.count("\n", counted, position)
        counted = position
        match = _TAG.match(text, position)
        if match is None:
            raise SourceError(f"expected a tag, found {shown(text[position : position + 20])}", where=f"{where}:{line}")
        following = text.find("<", match.end())
        content = text[match.end() : following if following >= 0 else match.end()]
        attributes = _attributes(match.group(3), f"{where}:{line}")
        yield _Tag(match.group(2), bool(match.group(1)), attributes, content, line)
        position = following


def _attributes(text: str, where: str) -> dict[str, str]:
    """The attributes of a tag."""
    attributes: dict[str, str] = {}
    position = 0
    while match := _ATTRIBUTE.match(text, position):
        attributes[match.group(1)] = match.group(2)
        position = match.end()
    if text[position:].strip() not in ("", "/"):
        raise SourceError(f'expected name="value", found {shown(text[position:].strip())}', where=where)
    return attributes


def _add_output(graph: PublishedGraph, node: _Tag, tag: _Tag) -> None:
    """The edge of one ``<Output>`` element; SourceError for the older dialect, which has no distances."""
    here = graph.at(tag.line)
    source = integer(node.attributes.get("idx", ""), "idx of <Node>", here)
    target = integer(tag.attributes.get("idx", ""), "idx of <Output>", here)
    if "nextiter" not in tag.attributes:
        raise SourceError(
            "<Output> has no nextiter: this is the older dialect, which does not say which edges are loop-carried; "
            "write the file again with a newer Morpher",
            where=here,
        )
    distance = integer(tag.attributes["nextiter"], "nextiter", here)
    if not 0 <= distance <= MAX_DISTANCE:
        raise SourceError(f"nextiter is {distance}; expected 0 to {MAX_DISTANCE}", where=here)
    kind = tag.attributes.get("type", "")
    if kind == "PS":
        graph.edge(str(source), str(target), tag.line, kind="order", distance=distance)
    elif kind in _RANKS:
        graph.edge(str(source), str(target), tag.line, rank=_RANKS[kind], distance=distance)
    else:
        raise SourceError(f"type of <Output> is {shown(kind)}; expected I1, I2, I3, P or PS", where=here)
