"""Kinds of nodes: what VPR has to know about a node is which tiles may hold it.

Nodes that need the same op classes of their tile are one kind, and have one model in the netlist. A tile takes the
kinds whose classes it has. Names in VPR's files have no spaces or brackets; a graph with other names cannot be written.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

from gridloom.archs.model import Arch
from gridloom.dfg.model import Dfg
from gridloom.errors import OptionError

_NAME: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_.$-]*")


@dataclass(frozen=True, kw_only=True)
class Blocks:
    """The nodes that need a tile, with the kind of each; ``operands`` is the most that any of them has."""

    kind: dict[str, str]
    classes: dict[str, frozenset[str]]
    operands: int


def blocks(dfg: Dfg, arch: Arch) -> Blocks:
    """The blocks of a graph on a static grid.

    OptionError for another array, and for a node whose name cannot stand in a netlist.
    """
    if not arch.has("grid"):
        raise OptionError(f"array {arch.name!r} is not a static grid; VPR's files describe mesh, onehop, hex and chess")
    kind: dict[str, str] = {}
    names: dict[frozenset[str], str] = {}
    for node in dfg.nodes:
        if dfg.op_class(node.id) in arch.free:
            continue
        if not _NAME.fullmatch(node.id):
            raise OptionError(f"node {node.id!r} cannot be named in a netlist; use letters, digits and _ . $ -")
        needed = dfg.required_classes(node.id, results_leave=True)
        kind[node.id] = names.setdefault(needed, "node_" + "_".join(sorted(needed)))
    operands = max((len(dfg.operand_edges(node)) for node in kind), default=0)
    return Blocks(kind=kind, classes={name: needed for needed, name in names.items()}, operands=max(1, operands))
