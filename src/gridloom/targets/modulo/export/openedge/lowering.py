"""The graph of a loop as OpenEdgeCGRA can run it, computing the same.

0. Chains and masks become shorter (:mod:`.peephole`).
1. Streams become accesses, and conditional stores store what was there where the condition is 0.
2. Ops that the machine has not become ones that it has; comparisons become flags of selects (:mod:`.comparisons`).
3. Indices become pointers (:mod:`.addresses`).
4. Constants beyond 13 bits, and a second one of an instruction, become values that registers keep (:mod:`.drafts`).
5. A counter and a branch end the loop: ``loop_count``, whose first value the program sets, and ``loop_branch``.

What nothing needs any more is left out. Ops without a rule stay: the array lacks them, which the mapper reports. Linear
in the graph.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Final

from gridloom.archs.model import Arch
from gridloom.dfg.model import Dfg, Edge, Node
from gridloom.dfg.ops import FUSED
from gridloom.targets.modulo.export.openedge.addresses import PointerTable
from gridloom.targets.modulo.export.openedge.comparisons import COMPARISONS, Flag, as_value, choose, compare
from gridloom.targets.modulo.export.openedge.drafts import LoweredDraft, Ref
from gridloom.targets.modulo.export.openedge.peephole import shorten
from gridloom.transform.streams import streams_to_memory

#: Op -> the comparison of its operands, and the operand that it takes where that holds.
_EXTREMES: Final = {"min": ("lt", 0), "max": ("lt", 1), "umin": ("ult", 0), "umax": ("ult", 1)}
#: Steps of a count of ones: shift, mask of the fields that are added.
_FIELDS: Final = ((1, 0x55555555), (2, 0x33333333), (4, 0x0F0F0F0F))
_ONES: Final = 0x01010101


def lower(dfg: Dfg, arch: Arch) -> Dfg:
    """Return the graph that OpenEdgeCGRA runs; graphs without integers, or of split accesses, stay as they are."""
    split = any(edge.kind in ("pair", "async") for edge in dfg.edges)
    if dfg.domain != "i32" or split or any(node.op == "ne" and node.id == "loop_branch" for node in dfg.nodes):
        return dfg
    return _Lowering(shorten(streams_to_memory(dfg))).result()


class _Lowering:
    """Lowers one graph, node by node in program order. What stands for a node of the graph has its name."""

    def __init__(self, dfg: Dfg) -> None:
        self.dfg = dfg
        self.draft = LoweredDraft(dfg)
        self.pointers = PointerTable(self.draft)
        self.flags: dict[str, Flag] = {}

    def result(self) -> Dfg:
        """The lowered graph."""
        for k in self.dfg.topological:
            node = self.dfg.nodes[k]
            self._lower(node, [self._settled(ref) for ref in self.pointers.refs(node.id)])
        for edge in self.dfg.edges:
            if edge.kind == "order":
                self._order(edge)
        draft, name = self.draft, self.draft.fresh("loop_count")
        draft.add("add", Ref(name, 1, (0,)), draft.const(-1), id=name)
        draft.put(Node(id=draft.fresh("loop_branch"), op="ne"), Ref(name), draft.const(0))
        return draft.finish()

    def _settled(self, ref: Ref) -> Ref:
        """An operand, with constants of the graph as those of the draft."""
        node = self.dfg.node(ref.source)
        return self.draft.const(int(node.value or 0)) if node.op == "const" else ref

    def _order(self, edge: Edge) -> None:
        """Keep an order of accesses; those of one instruction have none."""
        kept = replace(edge, delay=max(1, edge.delay))
        self.draft.order.append(kept)
        if self.dfg.node(edge.target).op == "store_if":
            self.draft.order.append(replace(kept, target=self._old(edge.target)))

    def _old(self, store: str) -> str:
        """The load of what a conditional store finds."""
        return f"{store}_old"

    def _lower(self, node: Node, refs: list[Ref]) -> None:
        """Add what stands for a node."""
        draft, name, op = self.draft, node.id, node.op
        if op == "const":
            return
        if op in ("load", "store", "store_if"):
            self._access(node, refs)
        elif op in COMPARISONS:
            self.flags[name] = compare(draft, op, *refs)
            as_value(draft, self.flags[name], name)
        elif op == "select":
            choose(draft, self._flag(refs[0]), refs[1], refs[2], id=name)
        elif op in _EXTREMES:
            order, taken = _EXTREMES[op]
            choose(draft, compare(draft, order, *refs), refs[taken], refs[1 - taken], id=name)
        elif op in FUSED or op in ("mul_add", "mul_sub", "shl_add"):
            first, second, at = FUSED[op]
            inner = draft.add(first, *refs[:2])
            draft.add(second, *((refs[2], inner) if at else (inner, refs[2])), id=name)
        elif op in _RULES:
            _RULES[op](draft, name, *refs)
        else:
            draft.put(node, *refs) if op == "livein" else draft.add(op, *refs, id=name)

    def _flag(self, ref: Ref) -> Flag:
        """The flag of a condition: that of a comparison, or that of a value that is not 0."""
        if ref.source in self.flags and not ref.distance:
            return self.flags[ref.source]
        return Flag("zero", ref, opposite=True)

    def _access(self, node: Node, refs: list[Ref]) -> None:
        """A load or a store by a pointer."""
        draft, array = self.draft, node.array or ""
        index = self.pointers.refs(node.id)[0]
        pointer = self.pointers.pointer(index, array)
        if node.op == "load":
            draft.put(Node(id=node.id, op="load", array=array), pointer)
            return
        value = refs[1]
        if node.op == "store_if":
            old = draft.put(Node(id=self._old(node.id), op="load", array=array), pointer)
            affine = self.pointers.affine_ref(index)
            if affine is None or affine[1] == 0:
                # The next iteration may find what this one stores.
                draft.order.append(Edge(source=node.id, target=old.source, kind="order", distance=1))
            value = choose(draft, self._flag(refs[2]), refs[1], old)
        draft.put(Node(id=node.id, op="store", array=array), pointer, value)


# -- ops of one value -------------------------------------------------------------------------------------------------


def _negate(draft: LoweredDraft, name: str, x: Ref) -> None:
    """Subtract from 0."""
    draft.add("sub", draft.const(0), x, id=name)


def _invert(draft: LoweredDraft, name: str, x: Ref) -> None:
    """Exclusive or with ones."""
    draft.add("xor", x, draft.const(-1), id=name)


def _absolute(draft: LoweredDraft, name: str, x: Ref) -> None:
    """The opposite of a negative value."""
    choose(draft, Flag("sign", x), draft.add("sub", draft.const(0), x), x, id=name)


def _square(draft: LoweredDraft, name: str, x: Ref) -> None:
    """A product of a value and itself."""
    draft.add("mul", x, x, id=name)


def _rotate(draft: LoweredDraft, name: str, x: Ref, count: Ref) -> None:
    """Both shifts; counts are taken modulo 32."""
    rest = draft.add("sub", draft.const(0), count)
    low = draft.add("lshr", x, draft.add("and", rest, draft.const(31)) if draft.value_of(rest) is not None else rest)
    draft.add("or", draft.add("shl", x, count), low, id=name)


def _extend(bits: int, last: str) -> Callable[..., None]:
    """Return what shifts a part of a word up and down again."""

    def extend(draft: LoweredDraft, name: str, x: Ref) -> None:
        rest = draft.const(32 - bits)
        draft.add(last, draft.add("shl", x, rest), rest, id=name)

    return extend


def _low_byte(draft: LoweredDraft, name: str, x: Ref) -> None:
    """The mask of a byte is an immediate."""
    draft.add("and", x, draft.const(255), id=name)


def _least_with_tag(draft: LoweredDraft, name: str, x: Ref, y: Ref) -> None:
    """The lesser of two values, with bit 0 set where it is the second."""
    one = draft.const(1)
    first, second = draft.add("or", x, one), draft.add("or", y, one)
    choose(draft, compare(draft, "lt", second, first), second, draft.add("and", x, draft.const(-2)), id=name)


def _select_by_tag(draft: LoweredDraft, name: str, tag: Ref, x: Ref, y: Ref) -> None:
    """The second operand where bit 0 of the first is set, else the third."""
    choose(draft, Flag("zero", draft.add("and", tag, draft.const(1)), opposite=True), x, y, id=name)


def _count_ones(draft: LoweredDraft, name: str, x: Ref) -> None:
    """Add neighbouring fields, in parallel, and the bytes by a multiplication."""
    for shift, mask in _FIELDS:
        fields = draft.const(mask)
        high = draft.add("and", draft.add("lshr", x, draft.const(shift)), fields)
        x = draft.add("add", draft.add("and", x, fields), high)
    draft.add("lshr", draft.add("mul", x, draft.const(_ONES)), draft.const(24), id=name)


_RULES: Final[dict[str, Callable[..., None]]] = {
    "neg": _negate, "not": _invert, "abs": _absolute, "square": _square, "rotl": _rotate,
    "min_tag": _least_with_tag, "select_tag": _select_by_tag, "popcount": _count_ones,
    "sext8": _extend(8, "shr"), "sext16": _extend(16, "shr"), "zext8": _low_byte, "zext16": _extend(16, "lshr"),
}  # fmt: skip
