"""A graph as a BLIF netlist: one ``.subckt`` per node that needs a tile, with a net of the node's name for its value.

Values that need no tile (constants) and ordering edges are left out: they take no wire. A netlist knows no distances,
so that a loop-carried edge is a wire like any other.

What VPR has to know about a node is which tiles may hold it. Nodes that the same tiles can hold are one *kind* with one
model in the netlist. VPR's placer exchanges only blocks of one kind, so that a kind per op class would tie it. A node
without operands is a constant for VPR, whose nets are neither placed for nor routed unless ``--constant_net_method
route`` is given. Names are letters, digits and ``_ . $ -``; a graph with other names cannot be written. ``placement``
writes a ``.place`` file, for VPR to route or to begin from; ``compiler/placement.py`` reads it.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

import numpy as np

from gridloom.archs.model import Arch
from gridloom.dfg.model import Dfg
from gridloom.errors import OptionError
from gridloom.targets.grid.mappers.problem import build_problem
from gridloom.targets.grid.mappers.screening import match

_NAME: Final = re.compile(r"[A-Za-z0-9_.$-]+")


@dataclass(frozen=True, kw_only=True)
class Blocks:
    """The nodes that need a tile, with the kind of each, and the tiles (by number) that can hold each kind.

    ``operands`` is the most that any of them has.
    """

    kind: dict[str, str]
    tiles: dict[str, frozenset[int]]
    operands: int


def blocks(dfg: Dfg, arch: Arch) -> Blocks:
    """The blocks of a graph on a static grid.

    OptionError for another array, and for a node whose name cannot stand in a netlist.
    """
    if not arch.has("grid"):
        raise OptionError(f"array {arch.name!r} is not a static grid; VPR's files describe mesh, onehop, hex and chess")
    kind: dict[str, str] = {}
    names: dict[frozenset[int], str] = {}
    holding: dict[frozenset[str], frozenset[int]] = {}
    for node in dfg.nodes:
        if dfg.op_class(node.id) in arch.free:
            continue
        if not _NAME.fullmatch(node.id):
            raise OptionError(f"node {node.id!r} cannot be named in a netlist; use letters, digits and _ . $ -")
        needed = dfg.required_classes(node.id, results_leave=True)
        if needed not in holding:
            holding[needed] = frozenset(t for t, tile in enumerate(arch.tiles) if needed <= tile.classes)
        kind[node.id] = names.setdefault(holding[needed], "node_" + "_".join(sorted(needed)))
    operands = max((len(dfg.operand_edges(node)) for node in kind), default=0)
    return Blocks(kind=kind, tiles={name: tiles for tiles, name in names.items()}, operands=max(1, operands))


def netlist(dfg: Dfg, arch: Arch) -> str:
    """The text of a BLIF file; VPR has to be told not to sweep blocks whose value nobody reads."""
    kinds = blocks(dfg, arch)
    lines = [".model graph", ".inputs", ".outputs"]
    for node, kind in kinds.kind.items():
        sources = [dfg.edges[e].source for e in dfg.operand_edges(node)]
        operands = [source for source in sources if source in kinds.kind]
        pins = [f"in[{k}]={source}" for k, source in enumerate(operands)]
        lines.append(" ".join([".subckt", kind, *pins, f"out[0]={node}"]))
    return "\n".join([*lines, ".end", ""])


def initial_placement(dfg: Dfg, arch: Arch) -> dict[str, str]:
    """A legal placement to begin from: node -> tile name. Empty where the tiles cannot hold the nodes.

    VPR's own first placement fills tiles kind by kind and finds no room where many kinds need the same few tiles, as
    with inputs and results on the border. This one is a maximum matching.
    """
    problem = build_problem(dfg, arch)
    rows = [np.flatnonzero(row).astype(np.int32) for row in problem.allowed]
    order = sorted(range(problem.size), key=lambda k: len(rows[problem.kind[k]]))
    position = match(problem, order, rows, {})
    if position is None:
        return {}
    names = [dfg.nodes[k].id for k in problem.nodes.tolist()]
    return {name: arch.tiles[t].name for name, t in zip(names, position.tolist(), strict=True)}


def placement(place: Mapping[str, str], arch: Arch, *, netlist: str = "") -> str:
    """The text of a ``.place`` file: node -> tile name, in the coordinates of VPR's array with its ring of pads.

    ``netlist`` is the name of the packed netlist that it belongs to. VPR compares its digest with the file's unless it
    is told not to (``--verify_file_digests off``); without a name there is nothing to compare.
    """
    lines = [
        *([f"Netlist_File: {netlist} Netlist_ID: none"] if netlist else []),
        f"Array size: {arch.cols + 2} x {arch.rows + 2} logic blocks",
        "",
        "#block name\tx\ty\tsubblk\tlayer\tblock number",
        "#----------\t--\t--\t------\t-----\t------------",
    ]
    for number, (node, tile) in enumerate(place.items()):
        record = arch.tiles[arch.tile_index[tile]]
        lines.append(f"{node}\t{record.col + 1}\t{record.row + 1}\t0\t0\t#{number}")
    return "\n".join([*lines, ""])
