"""Indices become pointers: chains of nodes that OpenEdgeCGRA computes with byte addresses.

In the graph a pointer is still an index, so that the graph means what it meant. Its nodes are apart from those that
compute values, and on the machine each of them is the address of a word: :mod:`.scaling` finds them by where they lead.

- An index that is affine in the iteration is a pointer of its own, which adds its step: an add per pointer.
- An index that adds an affine one and something else adds the two as a pointer and an offset.
- Any other index is shifted (``shl`` by 0 here, by 2 there) and added to the address of an element of its array.
"""

from __future__ import annotations

from gridloom.dfg.model import Dfg, Node
from gridloom.targets.modulo.export.openedge.drafts import LoweredDraft, Ref

#: The value in iteration 0 and the step.
Affine = tuple[int, int]
#: The greatest offset in words that fits an immediate in bytes.
_MOST_WORDS = 1023


class PointerTable:
    """Makes the pointers of a draft; equal ones are shared."""

    def __init__(self, draft: LoweredDraft) -> None:
        self.draft = draft
        self.dfg: Dfg = draft.dfg
        self._affine: dict[str, Affine | None] = {}
        self._made: dict[tuple[object, ...], Ref] = {}

    def pointer(self, ref: Ref, array: str) -> Ref:
        """Return the pointer to the element of an array that an index names."""
        affine = self.affine_ref(ref)
        if affine is not None:
            return self._affine_pointer(array, *affine)
        key = (array, ref.source)
        if key not in self._made:
            # A recurrence reads itself, so that its pointer is known before it is made.
            self._made[key] = Ref(self.draft.fresh(f"{ref.source}_in_{array}"))
            self._made[key] = self._pointer_of(ref.source, array, self._made[key].source)
        made = self._made[key]
        return Ref(made.source, ref.distance, ref.initial) if ref.distance else made

    def _affine_pointer(self, array: str, first: int, step: int) -> Ref:
        """A pointer that adds its step in every iteration, or the constant address of an element."""
        if step == 0:
            return self.draft.const(first, role=f"address of {array}")
        key = (array, first, step)
        if key not in self._made:
            name = self.draft.fresh(f"{array}_pointer")
            self._made[key] = Ref(name)
            self.draft.add("add", Ref(name, 1, (first - step,)), self.draft.const(step, most=_MOST_WORDS), id=name)
        return self._made[key]

    def _pointer_of(self, source: str, array: str, name: str) -> Ref:
        """The pointer of a node's value: a sum with a pointer in it, or an element and an offset."""
        node, refs = self.dfg.node(source), self.refs(source)
        if node.op == "add":
            for one, other in (refs, refs[::-1]):
                if one.source == source or (self.affine_ref(one) and self.affine_ref(one)[1]):  # type: ignore[index]
                    return self.draft.add("add", self.pointer(one, array), self._offset(other), id=name)
                known = self._number(other)
                if known is not None and one.distance == 0:
                    return self._element(one, array, known, name)
        return self._element(Ref(source), array, 0, name)

    def _element(self, ref: Ref, array: str, number: int, name: str) -> Ref:
        """The address of an element that a number of a constant index away from another is."""
        base = self.draft.const(number, role=f"address of {array}")
        return self.draft.put(Node(id=name, op="add"), base, self._offset(ref))

    def _offset(self, ref: Ref) -> Ref:
        """A value as an offset in bytes."""
        known = self._number(ref)
        if known is not None:
            return self.draft.const(known, most=_MOST_WORDS, role="" if abs(known) <= _MOST_WORDS else "offset")
        key = ("offset", ref)
        if key not in self._made:
            name = self.draft.fresh(f"{ref.source}_bytes")
            self._made[key] = self.draft.put(Node(id=name, op="shl"), ref, self.draft.const(0))
        return self._made[key]

    # -- what the graph says of a value -------------------------------------------------------------------------------

    def refs(self, source: str) -> list[Ref]:
        """The operands of a node of the graph."""
        edges = (self.dfg.edges[e] for e in self.dfg.operand_edges(source))
        return [Ref(edge.source, edge.distance, edge.initial) for edge in edges]

    def _number(self, ref: Ref) -> int | None:
        """The number that a value always is."""
        affine = self.affine_ref(ref)
        return affine[0] if affine is not None and affine[1] == 0 else None

    def affine_ref(self, ref: Ref) -> Affine | None:
        """First value and step of what an operand reads, where these are known numbers."""
        affine = self._affine_of(ref.source)
        if affine is None or ref.distance == 0:
            return affine
        first, step = affine[0] - ref.distance * affine[1], affine[1]
        early = ref.initial + (0,) * (ref.distance - len(ref.initial))
        return (first, step) if early == tuple(first + k * step for k in range(ref.distance)) else None

    def _affine_of(self, source: str) -> Affine | None:
        """First value and step of a node."""
        if source not in self._affine:
            self._affine[source] = None
            self._affine[source] = self._counter(source) or self._derived(source)
        return self._affine[source]

    def _counter(self, source: str) -> Affine | None:
        """First value and step of a node that adds a constant to itself."""
        node = self.dfg.nodes[self.dfg.index[source]] if source in self.dfg.index else None
        if node is None or node.op not in ("add", "sub"):
            return None
        refs = self.refs(source)
        for one, other in (refs, refs[::-1]) if node.op == "add" else (refs,):
            step = self.dfg.node(other.source)
            first = (*one.initial, 0)[0]
            if one.source == source and one.distance == 1 and step.op == "const" and isinstance(first, int):
                amount = int(step.value or 0) * (1 if node.op == "add" else -1)
                return first + amount, amount
        return None

    def _derived(self, source: str) -> Affine | None:
        """First value and step of a node that computes with affine values."""
        if source not in self.dfg.index:
            return None
        node = self.dfg.node(source)
        if node.op == "const":
            return int(node.value or 0), 0
        if node.op not in ("add", "sub", "mul", "shl", "move"):
            return None
        found = [self.affine_ref(ref) for ref in self.refs(source)]
        if any(affine is None for affine in found):
            return None
        (a, s), (b, t) = ([affine for affine in found if affine is not None] + [(0, 0)])[:2]
        if node.op in ("mul", "shl"):
            factor = b if node.op == "mul" else 1 << (b & 31)
            return (a * factor, s * factor) if t == 0 else (b * a, t * a) if s == 0 and node.op == "mul" else None
        sign = -1 if node.op == "sub" else 1
        return a + sign * b, s + sign * t
