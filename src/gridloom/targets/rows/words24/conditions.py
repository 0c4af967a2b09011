"""Comparisons, choices, minima and maxima in ops of an ALU whose comparisons leave a carry.

The sign of a difference says which of two values is less, and shifted over the word it is a mask of ones or zeros, with
which a choice is made bit by bit. Equality leaves a carry that ``sel`` reads: ``sel(eql(a, b), y)`` is y where a equals
b, else 0. Values without a sign are chosen by ``sel`` alone: ``sel(gt(a, b), b)`` is the lesser one.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from gridloom.dfg.model import Dfg
from gridloom.errors import SourceError
from gridloom.targets.rows.words24.demand import WORD_BITS
from gridloom.targets.rows.words24.ranges import SIGNED, UNSIGNED, Range, inside
from gridloom.targets.rows.words24.words import Words

#: Order -> whether its operands are exchanged, and whether the result is turned over, to make it of "less".
_ORDERS: Final[Mapping[str, tuple[bool, bool]]] = {
    "lt": (False, False), "gt": (True, False), "ge": (False, True), "le": (True, True),
    "ult": (False, False), "ule": (True, True),
}  # fmt: skip
_SIGN: Final = WORD_BITS - 1


@dataclass(kw_only=True)
class Conditions:
    """Makes the nodes of conditions over the words of a graph; ``words`` of a source node come from ``word``."""

    source: Dfg
    ranges: Mapping[str, Range]
    words: Words
    #: Node of the source -> its word.
    word: Mapping[str, str]
    _masks: dict[str, tuple[str, bool]] = field(default_factory=dict)

    def _operands(self, node: str) -> list[str]:
        return [self.source.edges[e].source for e in self.source.operand_edges(node)]

    def _constant(self, node: str) -> int | None:
        low, high = self.ranges[node]
        return low if low == high else None

    def _equal(self, node: str) -> str:
        """A word with a carry where both operands are equal; 0 where they are not."""
        a, b = self._operands(node)
        if not (inside(self.ranges[a], UNSIGNED) and inside(self.ranges[b], UNSIGNED)):
            self._same_sign(node, a, b)
        return self.words.op("eql", self.word[a], self.word[b], hint=node)

    # -- a comparison as 0 or 1 ---------------------------------------------------------------------------------------

    def bit(self, node: str) -> str:
        """Return 1 where a comparison holds, else 0."""
        op, words = self.source.node(node).op, self.words
        if op in ("eq", "ne"):
            equal = words.op("sel", self._equal(node), words.constant(1), id=node if op == "eq" else "", hint=node)
            return equal if op == "eq" else words.op("xor", equal, words.constant(1), id=node)
        carrier, inverted = self._less(node)
        less = words.op("sr", carrier, words.constant(_SIGN), id="" if inverted else node, hint=node)
        return words.op("xor", less, words.constant(1), id=node) if inverted else less

    def _less(self, node: str) -> tuple[str, bool]:
        """A word whose highest bit is set where an order holds, or, with True, where it does not."""
        op = self.source.node(node).op
        swapped, inverted = _ORDERS[op]
        names = self._operands(node)
        a, b = reversed(names) if swapped else names
        if op in ("ult", "ule") and not (self.ranges[a][0] >= 0 and self.ranges[b][0] >= 0):
            self._same_sign(node, a, b)
            return self._carried(node, self.word[a], self.word[b]), inverted
        return self._difference(node, a, b), inverted

    def _same_sign(self, node: str, a: str, b: str) -> None:
        """SourceError unless both of two words are read with a sign, so that equal words are equal values."""
        if not (inside(self.ranges[a], SIGNED) and inside(self.ranges[b], SIGNED)):
            raise SourceError(
                f"value {node!r} compares numbers of which one may be negative and the other above {SIGNED[1]}; state "
                "their ranges with --assume-range",
                where=f"graph {self.source.name!r}",
            )

    def _difference(self, node: str, a: str, b: str) -> str:
        """A word whose highest bit is set where a is less than b."""
        (low, high), (least, most) = self.ranges[a], self.ranges[b]
        if self._constant(b) == 0 and low >= SIGNED[0] and high <= SIGNED[1]:
            return self._sign_of(a)
        if inside((low - most, high - least), SIGNED):
            return self.words.op("sub", self.word[a], self.word[b], hint=node)
        first, second = self.word[a], self.word[b]
        if low < 0 or least < 0:
            self._same_sign(node, a, b)
            # With the highest bit turned over, numbers with a sign are ordered as those without one.
            top = self.words.constant(1 << _SIGN)
            first, second = (self.words.op("xor", word, top, hint=node) for word in (first, second))
        return self._carried(node, first, second)

    def _sign_of(self, node: str) -> str:
        """A word whose highest bit is the sign of a value: of an extension, the shifted word suffices."""
        record = self.source.node(node)
        if record.op in ("sext8", "sext16"):
            operand = self._operands(node)[0]
            if self.word[node] != self.word[operand]:
                bits = 8 if record.op == "sext8" else 16
                return self.words.op("sl", self.word[operand], self.words.constant(WORD_BITS - bits), hint=node)
        return self.word[node]

    def _carried(self, node: str, a: str, b: str) -> str:
        """A word whose highest bit is set where a is less than b, both read without a sign, by way of the carry.

        ``gt(b, a)`` is b with a carry where it is greater; ``sel`` then takes b + 1, and the difference to b is 1.
        """
        words = self.words
        more = words.op("add", b, words.constant(1), hint=node)
        chosen = words.op("sel", words.op("gt", b, a, hint=node), more, hint=node)
        return words.op("sub", b, chosen, hint=node)

    # -- masks --------------------------------------------------------------------------------------------------------

    def mask(self, node: str) -> tuple[str, bool]:
        """Return a word of ones where a condition is not 0, else of zeros; with True, the other way round."""
        if node not in self._masks:
            self._masks[node] = self._made_mask(node)
        return self._masks[node]

    def _made_mask(self, node: str) -> tuple[str, bool]:
        op, words = self.source.node(node).op, self.words
        if op in ("eq", "ne"):
            return words.op("sel", self._equal(node), words.constant(-1), hint=node), op == "ne"
        if op in _ORDERS:
            carrier, inverted = self._less(node)
            return words.op("sra", carrier, words.constant(_SIGN), hint=node), inverted
        if op in ("and", "or", "xor") and (joined := self._joined(node, op)) is not None:
            return joined
        if inside(self.ranges[node], (0, 1)):
            return words.negated(self.word[node], ""), False
        zero = words.op("eql", self.word[node], words.constant(0), hint=node)
        return words.op("sel", zero, words.constant(-1), hint=node), True

    def _joined(self, node: str, op: str) -> tuple[str, bool] | None:
        """The mask of logic over conditions: that of one turned over, or the logic of both masks."""
        a, b = self._operands(node)
        if not (inside(self.ranges[a], (0, 1)) and inside(self.ranges[b], (0, 1))):
            return None
        if op == "xor":
            if self._constant(b) != 1:
                return None
            mask, inverted = self.mask(a)
            return mask, not inverted
        (first, turned), (second, other) = self.mask(a), self.mask(b)
        if turned != other:
            second, other = self.words.op("not", second, hint=node), turned
        # Both turned over: not a and not b is not (a or b).
        dual = {"and": "or", "or": "and"}[op] if turned else op
        return self.words.op(dual, first, second, hint=node), turned

    # -- choices ------------------------------------------------------------------------------------------------------

    def select(self, node: str) -> str:
        """Return the second operand where the first is not 0, else the third."""
        condition, yes, no = self._operands(node)
        words = self.words
        if self.word[yes] == self.word[no]:
            return self.word[yes]
        record = self.source.node(condition)
        if record.op in ("eq", "ne"):
            if record.op == "ne":
                yes, no = no, yes
            return self._where_equal(node, self._equal(condition), yes, no)
        mask, inverted = self.mask(condition)
        if inverted:
            yes, no = no, yes
        if self._constant(no) == 0:
            return words.op("and", self.word[yes], mask, id=node)
        if self._constant(yes) == 0:
            return words.op("sub", self.word[no], words.op("and", self.word[no], mask, hint=node), id=node)
        turn = words.op("and", self._turn(node, yes, no), mask, hint=node)
        return words.op("xor", self.word[no], turn, id=node)

    def _where_equal(self, node: str, equal: str, yes: str, no: str) -> str:
        """The choice by equality: ``sel`` gives 0 where it does not hold."""
        words = self.words
        if self._constant(no) == 0:
            return words.op("sel", equal, self.word[yes], id=node)
        return words.op("xor", self.word[no], words.op("sel", equal, self._turn(node, yes, no), hint=node), id=node)

    def _turn(self, node: str, yes: str, no: str) -> str:
        """The bits in which two values differ."""
        first, second = self._constant(yes), self._constant(no)
        if first is not None and second is not None:
            return self.words.constant(first ^ second)
        if second == 0:
            return self.word[yes]
        return self.word[no] if first == 0 else self.words.op("xor", self.word[yes], self.word[no], hint=node)

    def extreme(self, node: str) -> str:
        """Return the lesser or the greater of two values."""
        op, words = self.source.node(node).op, self.words
        a, b = self._operands(node)
        if op in ("umin", "umax"):
            if not (self.ranges[a][0] >= 0 and self.ranges[b][0] >= 0):
                self._same_sign(node, a, b)
            return self._chosen(node, self.word[a], self.word[b], op == "umin")
        if inside(self.ranges[a], UNSIGNED) and inside(self.ranges[b], UNSIGNED):
            return self._chosen(node, self.word[a], self.word[b], op == "min")
        (low, high), (least, most) = self.ranges[a], self.ranges[b]
        if inside((low - most, high - least), SIGNED):
            return self._by_difference(node, a, b, op == "min")
        self._same_sign(node, a, b)
        top = words.constant(1 << _SIGN)
        first, second = (words.op("xor", self.word[name], top, hint=node) for name in (a, b))
        return words.op("xor", self._chosen("", first, second, op == "min"), top, id=node)

    def _chosen(self, node: str, a: str, b: str, least: bool) -> str:
        """The lesser or the greater of two words without a sign."""
        return self.words.op("sel", self.words.op("gt" if least else "lt", a, b, hint=node), b, id=node)

    def _by_difference(self, node: str, a: str, b: str, least: bool) -> str:
        """The lesser or the greater of two values whose difference fits: a negative difference is added or taken."""
        words = self.words
        zero = self._constant(b) == 0
        difference = self.word[a] if zero else words.op("sub", self.word[a], self.word[b], hint=node)
        mask = words.op("sra", difference, words.constant(_SIGN), hint=node)
        negative = words.op("and", difference, mask, id=node if zero and least else "", hint=node)
        if not least:
            return words.op("sub", self.word[a], negative, id=node)
        return negative if zero else words.op("add", self.word[b], negative, id=node)

    def absolute(self, node: str) -> str:
        """Return a value without its sign: turned over and one more where it is negative."""
        words, value = self.words, self.word[self._operands(node)[0]]
        mask = words.op("sra", value, words.constant(_SIGN), hint=node)
        return words.op("sub", words.op("xor", value, mask, hint=node), mask, id=node)
