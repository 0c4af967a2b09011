"""What dependences demand of an exact model over slots, whose cycles are known modulo the II only.

Nodes that are on no recurrence with each other can always be a period further apart, so that dependences between them
say nothing. The nodes of a recurrence keep bounded distances from a root, one of them. The distance of a node and the
slot of the root give the slot of the node, and each dependence forbids pairs of distances. All of that is clauses, so
that a SAT solver takes the model. What is said of a node that is computed more than once is said of its first issue.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from typing import Any

from gridloom.search.arrays import Int64s
from gridloom.targets.modulo.mappers.schedule.iterative import NONE, Dependence

# Recurrences whose nodes may be so many IIs apart are left out: they say little of slots, and take many clauses.
_WIDEST = 8


def add_precedence(
    model: Any,
    issues: Sequence[Sequence[tuple[int, int, Any]]],
    least: Int64s,
    dependences: Sequence[Dependence],
    ii: int,
) -> None:
    """Add the clauses; ``issues`` are (tile, slot, variable) of each node, ``least`` the least distances of issues.

    A refutation holds whatever is left out. Cost: for each node its distances times the II, and for each dependence
    within a recurrence the product of its ends' distances.
    """
    roots: dict[int, int] = {}
    distances: dict[int, dict[int, Any]] = {}
    for root in range(len(issues)):
        members = [n for n in range(len(issues)) if n != root and least[root, n] > NONE and least[n, root] > NONE]
        if root in roots or not members or _is_wide(least, root, members, ii):
            continue
        slots = _choose_slot(model, issues[root], ii)
        roots[root], distances[root] = root, {0: 1}
        for n in members:
            roots[n] = root
            distances[n] = {d: model.new_bool_var("") for d in range(int(least[root, n]), 1 - int(least[n, root]))}
            _tie_slots(model, slots, _choose_slot(model, issues[n], ii), distances[n], ii)
    for d in dependences:
        if d.source != d.target and roots.get(d.source, -1) == roots.get(d.target, -2):
            for apart, chosen in distances[d.source].items():
                first = apart + d.delay - ii * d.distance
                late = [choice for distance, choice in distances[d.target].items() if distance >= first]
                _imply(model, chosen, late)


def _is_wide(least: Int64s, root: int, members: Sequence[int], ii: int) -> bool:
    """Whether some node of a recurrence may be at too many distances from the root."""
    return any(-least[n, root] - least[root, n] >= _WIDEST * ii for n in members)


def _choose_slot(model: Any, issues: Sequence[tuple[int, int, Any]], ii: int) -> list[Any]:
    """For each slot a variable: the first issue of a node is in it."""
    here: dict[int, list[Any]] = defaultdict(list)
    for _, slot, literal in issues:
        here[slot].append(literal)
    choices = [model.new_bool_var("") for _ in range(ii)]
    model.add_exactly_one(choices)
    for slot, chosen in enumerate(choices):
        _imply(model, chosen, here[slot])
    return choices


def _tie_slots(model: Any, root: Sequence[Any], slots: Sequence[Any], distances: dict[int, Any], ii: int) -> None:
    """A node issues at one of the distances from its root, and in the slot that follows from the root's slot."""
    model.add_exactly_one(distances.values())
    for apart, chosen in distances.items():
        for slot, literal in enumerate(root):
            model.add_bool_or([chosen.negated(), literal.negated(), slots[(slot + apart) % ii]])


def _imply(model: Any, chosen: Any, any_of: Sequence[Any]) -> None:
    """Where ``chosen`` holds, one of the others does; each may be the constant 1."""
    if not any(isinstance(literal, int) for literal in any_of):
        model.add_bool_or([*(() if isinstance(chosen, int) else (chosen.negated(),)), *any_of])
