"""Rules of OpenEdgeCGRA that the resources of the array do not say.

- ``one-register``: a result goes to the output register and to one register at most.
- ``one-immediate``: the constants of an instruction, but for 0, are one number of 13 bits. Constants of sums that are
  addresses stand for four times as many bytes.
- ``loop-branch``: one node compares for the branch that ends the loop.

A graph without a branch is no program for the machine, and only the first rule holds for it.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from gridloom.archs.model import Kind
from gridloom.dfg.model import Node
from gridloom.verify.subject import Signal, Subject
from gridloom.verify.violation import Violation

_LEAST, _MOST = -4096, 4095


def check_registers(subject: Subject) -> Iterator[Violation]:
    """A result goes to one register at most."""
    written: dict[tuple[int, Signal], set[str]] = {}
    for path in subject.paths:
        tile, before = path.source.tile, int(Kind.FU)
        for resource, cycle in path.hops:
            kind = subject.kind(resource)
            if kind == Kind.REG and before == Kind.FU and not path.source.timeless:
                written.setdefault((tile, path.signal(cycle)), set()).add(subject.arch.resource_names[resource])
            if kind == Kind.FU:
                tile = subject.resource_tile[resource]
            before = kind
    for (owner, (node, _, ready)), names in sorted(written.items(), key=str):
        if len(names) > 1:
            where = f"{node} at {ready} on {subject.arch.tiles[owner].name}"
            yield Violation("one-register", where, ", ".join(sorted(names)), "one register")


def check_immediates(subject: Subject) -> Iterator[Violation]:
    """The constants of an instruction, but for 0, are one number that fits."""
    if not _branches(subject):
        return
    addresses = _addresses(subject)
    for node in subject.dfg.nodes:
        numbers: set[int] = set()
        for edge in subject.dfg.edges:
            source = subject.nodes[edge.source]
            if edge.target == node.id and source.op == "const" and subject.is_free(source.id):
                numbers.add(int(source.value or 0) * (4 if node.id in addresses and node.op == "add" else 1))
        numbers.discard(0)
        if len(numbers) > 1 or any(not _LEAST <= number <= _MOST for number in numbers):
            found = ", ".join(map(str, sorted(numbers)))
            yield Violation("one-immediate", node.id, found, f"one number from {_LEAST} to {_MOST}")


def check_branch(subject: Subject) -> Iterator[Violation]:
    """A loop has one branch."""
    found = _branches(subject)
    if len(found) > 1:
        yield Violation("loop-branch", ", ".join(sorted(node.id for node in found)), f"{len(found)} branches", "one")


def _branches(subject: Subject) -> list[Node]:
    """The nodes that compare for a branch."""
    return [node for node in subject.dfg.nodes if node.op == "ne" and subject.dfg.domain == "i32"]


def _addresses(subject: Subject) -> set[str]:
    """The nodes from which an access takes its index, and those that hand one on to such a node."""
    first = {edge.target: edge.source for edge in subject.dfg.edges if edge.carries_value and edge.operand == 0}
    found: set[str] = set()
    for node in subject.dfg.nodes:
        at = first.get(node.id, "") if node.op in ("load", "store") else ""
        while at and at not in found:
            found.add(at)
            at = first.get(at, "") if subject.nodes[at].op in ("add", "move") else ""
    return found


RULES: Final = (check_registers, check_immediates, check_branch)
