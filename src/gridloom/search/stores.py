"""What the ops of a graph keep in the constant store of their tile: constants, live-ins and initial values.

An operand keeps a *run* of words: the initial values that its first firings read, then the constant or the live-in that
it reads where the array gives these without a register. The words of a run lie side by side, and a run that is part of
another one shares its words. Moves keep nothing.
"""

from __future__ import annotations

from collections.abc import Iterable

from gridloom.archs.model import Arch
from gridloom.dfg.model import Dfg

#: (``word``, number) or (``livein``, name) for each word.
Run = tuple[tuple[str, object], ...]


def runs_of(dfg: Dfg, arch: Arch, position: int) -> frozenset[Run]:
    """Return the runs that the op of a node keeps, each of at least one word."""
    runs = set()
    for e in dfg.operand_edges(dfg.nodes[position].id):
        edge = dfg.edges[e]
        run: list[tuple[str, object]] = [
            ("livein", value) if isinstance(value, str) else ("word", value)
            for value in dfg.initial_values(e)[: edge.distance]
        ]
        source = dfg.node(edge.source)
        if source.op in ("const", "livein") and dfg.op_class(source.id) in arch.free:
            run.append(("word", source.value or 0) if source.op == "const" else ("livein", source.id))
        if run:
            runs.add(tuple(run))
    return frozenset(runs)


def words_of(runs: Iterable[Run]) -> int:
    """Return how many words a store needs for these runs.

    >>> one, two = ("word", 1), ("word", 2)
    >>> words_of([(one, two), (two,), (two, one)])
    4
    """
    return sum(map(len, longest_runs(runs)))


def longest_runs(runs: Iterable[Run]) -> list[Run]:
    """Return the runs that are no part of another one, the longest first."""
    kept: list[Run] = []
    for run in sorted(set(runs), key=lambda run: (-len(run), repr(run))):
        if not any(_inside(run, other) for other in kept):
            kept.append(run)
    return kept


def _inside(run: Run, other: Run) -> bool:
    """Return whether the words of a run lie side by side in another one."""
    return any(other[k : k + len(run)] == run for k in range(len(other) - len(run) + 1))
