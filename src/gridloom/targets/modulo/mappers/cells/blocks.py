"""Blocks: some pieces of a graph that are mapped together, and the template that equal blocks share."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from gridloom.dfg.model import Dfg
from gridloom.targets.modulo.mappers.cells.pieces import GraphPiece, Repetition


@dataclass(frozen=True, eq=False)
class CellBlock:
    """Pieces that share a rectangle."""

    pieces: tuple[GraphPiece, ...]

    @property
    def nodes(self) -> list[int]:
        """All nodes of the block: those of its pieces, then what is duplicated, each once."""
        own = [node for piece in self.pieces for node in piece.nodes]
        return own + list(dict.fromkeys(node for piece in self.pieces for node in piece.again))


@dataclass(frozen=True, eq=False)
class Template:
    """Blocks of equal structure: the first one is mapped, the others follow it."""

    model: CellBlock
    #: For each block, the model first, the node that stands for each node of the model.
    partners: list[dict[int, int]]


def blocks_of(found: Repetition, size: int) -> list[CellBlock]:
    """The pieces in groups of ``size``, in their order; the last group may be smaller."""
    pieces = found.pieces
    return [CellBlock(pieces[k : k + size]) for k in range(0, len(pieces), size)]


def templates_of(blocks: Sequence[CellBlock]) -> list[Template]:
    """The blocks by structure, the most frequent one first."""
    templates: list[Template] = []
    for block in blocks:
        for template in templates:
            partners = _partners(template.model, block)
            if partners is not None:
                template.partners.append(partners)
                break
        else:
            templates.append(Template(block, [{node: node for node in block.nodes}]))
    return sorted(templates, key=lambda template: -len(template.partners))


def _partners(model: CellBlock, block: CellBlock) -> dict[int, int] | None:
    """The node of a block for each node of a model; None where duplicated nodes are shared in another way."""
    if [piece.kind for piece in model.pieces] != [piece.kind for piece in block.pieces]:
        return None
    pairs: dict[int, int] = {}
    for mine, theirs in zip(model.pieces, block.pieces, strict=True):
        for a, b in zip(mine.nodes + mine.again, theirs.nodes + theirs.again, strict=True):
            if pairs.setdefault(a, b) != b:
                return None
    return pairs if len(set(pairs.values())) == len(pairs) else None


def graph_of(dfg: Dfg, nodes: Sequence[int], name: str) -> Dfg:
    """The graph of some nodes with the constants and live-ins that they read and the edges among all of these."""
    read = {dfg.index[dfg.edges[k].source] for node in nodes for k in dfg.in_edges[node]}
    inside = set(nodes) | {node for node in read if dfg.ops[node].timeless}
    edges = [edge for edge in dfg.edges if dfg.index[edge.source] in inside and dfg.index[edge.target] in inside]
    kept = [dfg.nodes[k] for k in sorted(inside)]
    arrays = {node.array for node in kept}
    return replace(
        dfg,
        name=name,
        nodes=tuple(kept),
        edges=tuple(edges),
        arrays=tuple(array for array in dfg.arrays if array.name in arrays),
        _checked=False,
    )
