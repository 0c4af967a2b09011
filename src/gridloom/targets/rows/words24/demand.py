"""How many low bits of each value matter: what is read through a mask or stored in a byte need not fit a word.

Sums, products and logic hand their low bits on: bit k of the result depends on bits 0 to k of the operands. Shifts to
the right, comparisons and choices read what is above. A value of which more than 24 bits matter has to fit 24 bits;
then its low bits say everything, and no more is asked of what it is computed from.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from gridloom.dfg.model import Dfg, Node
from gridloom.targets.rows.words24.ranges import Range, fits

#: Bits of a word of the array, and of the source.
WORD_BITS: Final = 24
ALL_BITS: Final = 32

_LOW: Final = frozenset({"add", "sub", "mul", "square", "neg", "not", "or", "xor", "move"})
_WIDTH: Final[Mapping[str, int]] = {"sext8": 8, "zext8": 8, "sext16": 16, "zext16": 16}


def demands_of(dfg: Dfg, ranges: Mapping[str, Range], stored: Mapping[str, int]) -> dict[str, int]:
    """Return for each node how many of its low bits are read: 0 to 32.

    ``stored`` has the bits of the elements that outputs write, where there are fewer than 32. Linear.
    """
    asked = {node.id: 0 if node.liveout is None else ALL_BITS for node in dfg.nodes}
    for k in reversed(dfg.topological):
        node = dfg.nodes[k]
        edges = [dfg.edges[e] for e in dfg.operand_edges(node.id)]
        if node.op == "output":
            wanted: Sequence[int] = [stored.get(node.id, ALL_BITS)]
        else:
            bits = asked[node.id]
            # What fits is told by its low 24 bits, however many are read.
            useful = min(bits, WORD_BITS) if fits(ranges[node.id]) else bits
            wanted = _operand_demands(node, useful, [ranges[edge.source] for edge in edges])
        for edge, count in zip(edges, wanted, strict=True):
            asked[edge.source] = max(asked[edge.source], count)
    return asked


def _operand_demands(node: Node, bits: int, operands: Sequence[Range]) -> list[int]:
    """How many low bits of each operand the low ``bits`` of a result depend on."""
    if bits == 0 or not operands:
        return [0] * len(operands)
    if node.op in _LOW:
        return [bits] * len(operands)
    if node.op == "and":
        return [min(bits, _mask_bits(other)) for other in reversed(operands)]
    if node.op in _WIDTH:
        return [min(bits, _WIDTH[node.op])]
    if node.op == "select":
        return [ALL_BITS, bits, bits]
    if node.op in ("shl", "shr", "lshr") and operands[1][0] == operands[1][1]:
        amount = operands[1][0] & 31
        return [max(0, bits - amount) if node.op == "shl" else min(ALL_BITS, bits + amount), ALL_BITS]
    return [bits if node.op == "shl" else ALL_BITS, *[ALL_BITS] * (len(operands) - 1)]


def _mask_bits(mask: Range) -> int:
    """The bits that a mask lets through: those up to its highest one; all where it may be negative."""
    return ALL_BITS if mask[0] < 0 else max(1, mask[1].bit_length())
