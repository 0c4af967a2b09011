"""Reads VPR's ``.route`` files: which wires each net takes.

A net is a list of nodes of VPR's routing graph, from its source to a sink; a further branch begins with a node that the
net has already. Coordinates are ``(x,y)`` in VTR 8 and ``(x,y,layer)`` in VTR 9. A wire that spans several blocks names
both its ends.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from gridloom.errors import MappingError
from gridloom.text_file import read_text, shown

_NET: Final = re.compile(r"Net ([0-9]{1,9}) \(([^\s()]+)\)(: global net connecting:)?")
_NODE: Final = re.compile(
    r"Node:\s+([0-9]{1,9})\s+(SOURCE|OPIN|CHANX|CHANY|IPIN|SINK)\s+\(([0-9]{1,5}(?:,[0-9]{1,5}){1,2})\)"
    r"(?:\s+to\s+\(([0-9]{1,5}(?:,[0-9]{1,5}){1,2})\))?(?:\s.*)?"
)
_HEADERS: Final = ("Placement_File:", "Array size:", "Routing:")


@dataclass(frozen=True, slots=True)
class RouteNode:
    """One node of a net's route: its number in VPR's graph, its kind, and the blocks at its two ends (x, y)."""

    number: int
    kind: str
    begin: tuple[int, int]
    end: tuple[int, int]

    @property
    def length(self) -> int:
        """How many blocks a wire spans; 0 for a pin."""
        if not self.kind.startswith("CHAN"):
            return 0
        return 1 + abs(self.end[0] - self.begin[0]) + abs(self.end[1] - self.begin[1])


Routes = dict[str, tuple[RouteNode, ...]]


def read(path: Path) -> Routes:
    """Net -> its nodes, in the order of the file. MappingError names file and line."""
    try:
        return loads(read_text(path))
    except MappingError as error:
        raise error.at(str(path)) from None


def loads(text: str) -> Routes:
    """Net -> its nodes. Every net has to begin at a source, end at a sink, and branch from where it has been."""
    routes: dict[str, list[RouteNode]] = {}
    net: list[RouteNode] | None = None
    for number, line in enumerate(text.split("\n"), start=1):
        stripped = line.strip()
        if not stripped or stripped.startswith(_HEADERS):
            continue
        here = f"line {number}"
        header = _NET.fullmatch(stripped)
        if header:
            _check_whole(net, here)
            if header.group(2) in routes:
                raise MappingError(f"net {shown(header.group(2))} is routed twice", where=here)
            net = routes[header.group(2)] = []
            continue
        node = _node(stripped, here)
        if net is None:
            raise MappingError("a node stands before the first net", where=here)
        _check_step(net, node, here)
        net.append(node)
    _check_whole(net, "the last net")
    return {name: tuple(nodes) for name, nodes in routes.items()}


def wirelength(routes: Routes) -> int:
    """Blocks that wires span, over all nets; a wire that several branches share counts once."""
    return sum(node.length for nodes in routes.values() for node in {node.number: node for node in nodes}.values())


def _node(line: str, here: str) -> RouteNode:
    match = _NODE.fullmatch(line)
    if not match:
        raise MappingError(
            f"found {shown(line)}; expected 'Net NUMBER (NAME)' or 'Node: NUMBER KIND (x,y)'", where=here
        )
    begin = _place(match.group(3))
    return RouteNode(int(match.group(1)), match.group(2), begin, _place(match.group(4) or match.group(3)))


def _place(text: str) -> tuple[int, int]:
    x, y = (int(part) for part in text.split(",")[:2])
    return x, y


def _check_step(net: list[RouteNode], node: RouteNode, here: str) -> None:
    """The first node is a source; what follows a sink is a node that the net has."""
    if not net and node.kind != "SOURCE":
        raise MappingError(f"a net begins with {node.kind}; expected SOURCE", where=here)
    if net and net[-1].kind == "SINK" and node.number not in {before.number for before in net}:
        raise MappingError(f"a branch begins at node {node.number}, which the net has not been at", where=here)


def _check_whole(net: list[RouteNode] | None, here: str) -> None:
    if net and net[-1].kind != "SINK":
        raise MappingError(f"the net before ends with {net[-1].kind}; expected SINK", where=here)
