"""Recomputation for the ``modulo`` mapper: nodes that are cheap to compute twice get copies for some of their readers.

A copy takes an issue slot, as a move does, but needs no route from the value to where it is wanted: it pays where many
read a value, far apart or over many cycles. Nodes qualify that read two values at most and have no effect outside the
loop. The largest group of readers is split first, with some chance.

The choice is blind: it knows a preferred schedule and no placement. So only every third batch of starts uses it.
"""

from __future__ import annotations

from collections import Counter

import numpy as np

from gridloom.search.arrays import Int64s
from gridloom.targets.modulo.mappers.problem import COMPUTED_ONCE, ModuloProblem, NodeCopy

_MOST_OPERANDS = 2


def with_copies(problem: ModuloProblem, preferred: Int64s, ii: int, rng: np.random.Generator) -> ModuloProblem | None:
    """The problem with some nodes computed more than once; None where no node qualifies or no slot is free.

    Up to a quarter of the free issue slots are given to copies, their number drawn at random. A group of readers is
    split in half by the cycles in which a schedule without routes has them (``preferred``), so that each copy serves
    readers of about one time.
    """
    free = len(problem.arch.tiles) * ii - len(problem.nodes)
    groups = _readers(problem)
    if free < 1 or not groups:
        return None
    due = {e: int(preferred[b]) for e, (_, b) in zip(problem.edges, problem.ends, strict=True)}
    for _ in range(1 + int(rng.integers(max(1, free // 4)))):
        sizes = np.array([len(group) for _, group in groups], dtype=np.float64) + 2.0 * rng.random(len(groups))
        chosen = int(sizes.argmax())
        node, readers = groups[chosen]
        if len(readers) < 2:
            break
        ordered = sorted(readers, key=lambda e: (due[e], e))
        half = len(ordered) // 2
        groups[chosen] = (node, ordered[:half])
        groups.append((node, ordered[half:]))
    # The first group of a node stays with the node itself.
    seen: set[int] = set()
    plan = []
    for node, readers in groups:
        if node in seen:
            plan.append(NodeCopy(node=node, readers=frozenset(readers)))
        seen.add(node)
    if not plan:
        return None
    return ModuloProblem(
        problem.dfg, problem.arch, plan,
        pinned=problem.pinned, regions=problem.regions, first=problem.first, banks=problem.banks,
        read=problem.structure,
    )  # fmt: skip


def _readers(problem: ModuloProblem) -> list[tuple[int, list[int]]]:
    """(graph node, edges that leave it for other nodes) for nodes that qualify."""
    dfg = problem.dfg
    pairs = [ends for e, ends in zip(problem.ties, problem.tie_ends, strict=True) if dfg.edges[e].kind == "pair"]
    tied = {n for ends in pairs for n in ends}
    operands = Counter(b for a, b in problem.ends if a != b)
    leaving: dict[int, list[int]] = {}
    for e, (a, b) in zip(problem.edges, problem.ends, strict=True):
        if a != b:
            leaving.setdefault(a, []).append(e)
    return [
        (k, leaving[n])
        for n, k in enumerate(problem.nodes)
        if dfg.nodes[k].op not in COMPUTED_ONCE
        and n not in tied
        and operands[n] <= _MOST_OPERANDS
        and len(leaving.get(n, ())) > 1
    ]
