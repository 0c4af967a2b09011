"""A graph in the making: nodes of the ops that OpenEdgeCGRA has, with constants folded and kept where they fit."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Final

from gridloom.dfg.model import Dfg, Edge, Initial, Node
from gridloom.dfg.words import evaluate_word
from gridloom.targets.modulo.export.openedge.words import MOST


@dataclass(frozen=True, slots=True)
class Ref:
    """A value that an operand reads: a node, how many iterations ago, and what the first iterations read."""

    source: str
    distance: int = 0
    initial: tuple[Initial, ...] = ()


#: Ops whose constants are folded.
_FOLDED: Final = frozenset({"add", "sub", "mul", "shl", "shr", "lshr", "and", "or", "xor"})


class LoweredDraft:
    """Nodes and edges that a pass collects; :meth:`finish` gives the graph."""

    def __init__(self, dfg: Dfg) -> None:
        self.dfg = dfg
        self.nodes: dict[str, Node] = {}
        self.operands: dict[str, list[Ref]] = {}
        self.order: list[Edge] = []
        self._taken = set(dfg.index)
        self._constants: dict[tuple[int, str], str] = {}

    def fresh(self, stem: str) -> str:
        """Return an id that no node has."""
        name, k = stem, 1
        while name in self._taken:
            name, k = f"{stem}_{k}", k + 1
        self._taken.add(name)
        return name

    def const(self, value: int, *, role: str = "", most: int = MOST) -> Ref:
        """Return a constant: an immediate, or one that a register keeps where a ``role`` or its size asks for it.

        Constants with different roles do not share a node.
        """
        value = (value + (1 << 31)) % (1 << 32) - (1 << 31)
        role = role or ("" if -most - 1 <= value <= most else "large")
        if (value, role) not in self._constants:
            name = self._constants[value, role] = self.fresh(f"c{value}")
            self.nodes[name] = Node(id=name, op="const", value=value, op_class="livein" if role else None)
            self.operands[name] = []
        return Ref(self._constants[value, role])

    def value_of(self, ref: Ref) -> int | None:
        """Return the number that a constant is; None for anything else."""
        node = self.nodes.get(ref.source)
        return int(node.value or 0) if node is not None and node.op == "const" else None

    def add(self, op: str, *refs: Ref, id: str | None = None) -> Ref:
        """Return a value that an op computes; constants are folded. ``id`` is the node of the graph that it stands for.

        A node that stands for one of the graph is there whatever it computes: edges of later iterations may name it.
        """
        numbers = [self.value_of(ref) for ref in refs]
        if op in _FOLDED and None not in numbers:
            folded = self.const(evaluate_word(op, 32, *(number or 0 for number in numbers)))
            return folded if id is None else self.put(Node(id=id, op="move"), folded)
        return self.put(Node(id=id or self.fresh(op), op=op), *self._with_one_immediate(refs))

    def put(self, node: Node, *refs: Ref) -> Ref:
        """Add a node as it is. Attributes of the graph's node of this name stay with it."""
        if node.id in self.dfg.index:
            node = replace(node, liveout=self.dfg.node(node.id).liveout, label=self.dfg.node(node.id).label)
        self.nodes[node.id] = node
        self.operands[node.id] = list(refs)
        return Ref(node.id)

    def _with_one_immediate(self, refs: tuple[Ref, ...]) -> tuple[Ref, ...]:
        """Return operands of which all but one that are immediates other than 0 are kept in registers."""
        seen: set[int] = set()
        found = []
        for ref in refs:
            value = self.value_of(ref)
            if value and self.nodes[ref.source].op_class is None:
                seen.add(value)
                ref = self.const(value, role="second") if len(seen) > 1 else ref
            found.append(ref)
        return tuple(found)

    # -- the graph ----------------------------------------------------------------------------------------------------

    def finish(self) -> Dfg:
        """Return the graph of what the draft's stores, live-outs and branch need."""
        self._part_initials()
        kept = self._needed()
        edges = [edge for name in kept for edge in self._edges(name)]
        edges += [edge for edge in self.order if edge.source in kept and edge.target in kept]
        nodes = tuple(self.nodes[name] for name in kept)
        return replace(self.dfg, nodes=nodes, edges=tuple(edges))

    def _edges(self, name: str) -> Iterator[Edge]:
        """The edges into a node."""
        for operand, ref in enumerate(self.operands[name]):
            yield Edge(source=ref.source, target=name, operand=operand, distance=ref.distance, initial=_padded(ref))

    def _needed(self) -> list[str]:
        """The nodes that something outside of the loop depends on, in the order in which they were added."""
        roots = [name for name, node in self.nodes.items() if node.op in ("store", "ne") or node.liveout]
        seen: set[str] = set()
        while roots:
            name = roots.pop()
            if name not in seen:
                seen.add(name)
                roots += [ref.source for ref in self.operands[name]]
        return [name for name in self.nodes if name in seen]

    def _part_initials(self) -> None:
        """Let a result have one value in each iteration before the first; readers of another one read a move."""
        versions: dict[str, list[tuple[str, dict[int, Initial]]]] = {}
        for name in self._needed():
            for operand, ref in enumerate(self.operands[name]):
                if ref.distance:
                    source = self._version(versions.setdefault(ref.source, [(ref.source, {})]), ref)
                    self.operands[name][operand] = replace(ref, source=source)

    def _version(self, known: list[tuple[str, dict[int, Initial]]], ref: Ref) -> str:
        """Return the first node that has, or can have, what a reader sees before the first iteration."""
        wanted = dict(zip(range(-ref.distance, 0), _padded(ref)))
        for name, values in known:
            if all(values.get(iteration, value) == value for iteration, value in wanted.items()):
                values.update(wanted)
                return name
        copy = self.put(Node(id=self.fresh(f"{ref.source}_again"), op="move"), Ref(ref.source)).source
        known.append((copy, wanted))
        return copy


def _padded(ref: Ref) -> tuple[Initial, ...]:
    """Return what the first iterations read; values that are not given are 0."""
    return ref.initial + (0,) * (ref.distance - len(ref.initial))
