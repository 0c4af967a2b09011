"""Constant stores: the words that the ops of a tile keep fit into the store of the tile.

For each operand an op keeps the initial values of its first firings, then the constant or the live-in that it reads
where the array gives these without a register. Such words lie side by side in the store. Equal words share a place
where their neighbours allow it: where all words of an operand lie side by side among those of another one.
"""

from __future__ import annotations

from collections.abc import Iterator

from gridloom.dfg.model import Edge
from gridloom.verify.reading import TIMELESS
from gridloom.verify.subject import Subject
from gridloom.verify.violation import Violation

#: A number, or the name of a live-in with a mark before it that no number has.
Word = int | float | tuple[str, str]
Words = tuple[Word, ...]


def check_stores(subject: Subject) -> Iterator[Violation]:
    """Constants, live-ins that need no register, and initial values fit the stores of the tiles that read them."""
    if all(tile.constants is None for tile in subject.arch.tiles):
        return
    kept: dict[int, set[Words]] = {}
    for k, edge in enumerate(subject.dfg.edges):
        words = _operand_words(subject, k, edge)
        for placed in subject.copies_of(edge.target) if words else ():
            if placed.tile >= 0 and not placed.timeless:
                kept.setdefault(placed.tile, set()).add(words)
    for tile, operands in sorted(kept.items()):
        record = subject.arch.tiles[tile]
        needed = [word for operand in operands if not _is_part(operand, operands) for word in operand]
        if record.constants is not None and len(needed) > record.constants:
            names = sorted(word[1] if isinstance(word, tuple) else str(word) for word in needed)
            found = f"{len(needed)} words ({', '.join(names)})"
            yield Violation("constants", f"constant store of {record.name}", found, f"{record.constants}")


def _operand_words(subject: Subject, k: int, edge: Edge) -> Words:
    """Return the words that the operand of an edge keeps: initial values, then a constant or live-in without a tile."""
    if edge.kind == "order":
        return ()
    # Values that the graph does not give are 0; in domain ``opaque`` each is a number of its own.
    opaque = subject.dfg.domain == "opaque"
    words: list[Word] = [("livein", value) if isinstance(value, str) else value for value in edge.initial]
    words += [("missing", f"{k}.{firing}") if opaque else 0 for firing in range(len(words), edge.distance)]
    del words[edge.distance :]
    source = subject.nodes[edge.source]
    if source.op in TIMELESS and subject.is_free(source.id):
        words.append(("livein", source.id) if source.op == "livein" else source.value or 0)
    return tuple(words)


def _is_part(operand: Words, others: set[Words]) -> bool:
    """Return whether the words of an operand lie side by side among those of another one."""
    size = len(operand)
    return any(
        operand == other[first : first + size]
        for other in others
        if len(other) > size
        for first in range(len(other) - size + 1)
    )
