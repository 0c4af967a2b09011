"""A graph of 24-bit words under construction: ops, constants that the registers of the array hold, and products.

A constant register holds 17 bits with their sign. Other constants are put together from a shifted one, or from two.
Where the ALUs do not multiply, a product with a constant is a sum of shifted operands: the constant's signed digits, of
which no two neighbours are set, so that there are few.
"""

from __future__ import annotations

from collections.abc import Container
from dataclasses import dataclass, field
from typing import Final

from gridloom.dfg.model import Dfg, Edge, Node
from gridloom.errors import SourceError
from gridloom.targets.rows.words24.demand import WORD_BITS
from gridloom.targets.rows.words24.ranges import REGISTER, inside

#: Bits of the lower of two constants that a wide one is put together from.
_LOW_BITS: Final = 12


@dataclass(kw_only=True)
class Words:
    """Collects the nodes of a graph; :meth:`build` leaves out those that no output needs."""

    name: str
    #: Ids of the source's nodes: what a node is made for keeps its id, and nothing else takes it.
    reserved: Container[str]
    multiplies: bool
    #: Constants are limited to the 17 bits of a register.
    registers: bool
    notes: str = ""
    nodes: dict[str, Node] = field(default_factory=dict)
    operands: dict[str, tuple[str, ...]] = field(default_factory=dict)
    _constants: dict[int, str] = field(default_factory=dict)
    _shared: dict[tuple[str, tuple[str, ...]], str] = field(default_factory=dict)

    def fresh(self, stem: str) -> str:
        """Return an id that neither this graph nor the source has."""
        k, name = 1, stem
        while name in self.nodes or name in self.reserved:
            k, name = k + 1, f"{stem}_{k}"
        return name

    def port(self, node: Node, *operands: str) -> str:
        """Add an input, an output or a live-in as the source has it."""
        self.nodes[node.id], self.operands[node.id] = node, operands
        return node.id

    def op(self, op: str, *operands: str, id: str = "", hint: str = "") -> str:
        """Add an op and return its node, or the node of an equal one that was made before.

        ``id`` is the node of the source that the result stands for; steps on the way to it have a ``hint``.
        """
        key = (op, operands)
        if key not in self._shared:
            name = id if id and id not in self.nodes else self.fresh(f"{hint or id or 'word'}.{op}")
            self.nodes[name], self.operands[name] = Node(id=name, op=op), operands
            self._shared[key] = name
        return self._shared[key]

    # -- constants ----------------------------------------------------------------------------------------------------

    def constant(self, value: int, bits: int = WORD_BITS) -> str:
        """Return a node whose low ``bits`` are those of a number: a constant register, or ops over some.

        >>> words = Words(name="g", reserved=(), multiplies=True, registers=True)
        >>> words.nodes[words.constant(0x120000)].op, words.nodes[words.constant(0x120000, 16)].value
        ('sl', 0)
        """
        word = _signed(value, WORD_BITS)
        if bits <= 17:
            word = _signed(value, 17)
        if not self.registers or inside((word, word), REGISTER):
            return self._register(word)
        zeros = (word & -word).bit_length() - 1
        if inside((word >> zeros, word >> zeros), REGISTER):
            return self.op("sl", self._register(word >> zeros), self._register(zeros), hint="constant")
        high, low = word >> _LOW_BITS, word & ((1 << _LOW_BITS) - 1)
        shifted = self.op("sl", self._register(high), self._register(_LOW_BITS), hint="constant")
        return self.op("or", shifted, self._register(low), hint="constant")

    def _register(self, value: int) -> str:
        if value not in self._constants:
            name = self.fresh(f"c{value}" if value >= 0 else f"m{-value}")
            self.nodes[name], self.operands[name] = Node(id=name, op="const", value=value), ()
            self._constants[value] = name
        return self._constants[value]

    # -- ops that are made of several ---------------------------------------------------------------------------------

    def masked(self, source: str, bits: int, id: str) -> str:
        """Return the low bits of a word, with zeros above: a mask, or two shifts where a register does not hold it."""
        if bits >= WORD_BITS:
            return source
        if not self.registers or bits <= 16:
            return self.op("and", source, self.constant((1 << bits) - 1), id=id)
        amount = self.constant(WORD_BITS - bits)
        return self.op("sr", self.op("sl", source, amount, hint=id), amount, id=id)

    def extended(self, source: str, bits: int, id: str) -> str:
        """Return the low bits of a word with their sign above."""
        amount = self.constant(WORD_BITS - bits)
        return self.op("sra", self.op("sl", source, amount, hint=id), amount, id=id)

    def negated(self, source: str, id: str) -> str:
        """Return 0 less a word."""
        return self.op("sub", self.constant(0), source, id=id)

    def product(self, source: str, factor: int, id: str, bits: int = WORD_BITS) -> str:
        """Return the product with a constant: a shift, a multiplication, or shifts and sums where there is none."""
        factor = _signed(factor, WORD_BITS)
        if factor == 0:
            return self.constant(0)
        if factor > 0 and factor & (factor - 1) == 0:
            return self._shifted(source, factor.bit_length() - 1, id)
        if self.multiplies:
            return self.op("mult", source, self.constant(factor, bits), id=id)
        digits = signed_digits(factor)
        # A positive digit comes first, so that the first sum needs no negation.
        digits.sort(key=lambda digit: (digit[1] < 0, digit[0]))
        shift, sign = digits[0]
        total = self._shifted(source, shift, "" if len(digits) > 1 else id, hint=id)
        if sign < 0:
            total = self.negated(total, "" if len(digits) > 1 else id)
        for k, (shift, sign) in enumerate(digits[1:], 2):
            step = self._shifted(source, shift, "", hint=id)
            last = id if k == len(digits) else ""
            total = self.op("add" if sign > 0 else "sub", total, step, id=last, hint=id)
        return total

    def _shifted(self, source: str, amount: int, id: str, hint: str = "") -> str:
        return source if amount == 0 else self.op("sl", source, self.constant(amount), id=id, hint=hint)

    def times(self, first: str, second: str, id: str) -> str:
        """Return the product of two words. SourceError where the ALUs do not multiply."""
        if not self.multiplies:
            raise SourceError(
                f"value {id!r} is a product of two values, and the ALUs of the array do not multiply; only products "
                "with constants become shifts and sums",
                where=f"graph {self.name!r}",
            )
        return self.op("mult", first, second, id=id)

    # -- the graph ----------------------------------------------------------------------------------------------------

    def build(self) -> Dfg:
        """Return the graph of what the outputs need, in the order in which it was made. Linear."""
        alive: set[str] = set()
        work = [name for name, node in self.nodes.items() if node.op == "output"]
        while work:
            name = work.pop()
            if name not in alive:
                alive.add(name)
                work += self.operands[name]
        edges = tuple(
            Edge(source=source, target=name, operand=k)
            for name in self.nodes
            if name in alive
            for k, source in enumerate(self.operands[name])
        )
        nodes = tuple(node for name, node in self.nodes.items() if name in alive)
        return Dfg(name=self.name, domain="cma24", nodes=nodes, edges=edges, notes=self.notes)


def signed_digits(factor: int) -> list[tuple[int, int]]:
    """Return a number as a sum of few powers of two: (exponent, 1 or -1) from the lowest on.

    >>> signed_digits(15), signed_digits(-6)
    ([(0, -1), (4, 1)], [(1, 1), (3, -1)])
    """
    digits: list[tuple[int, int]] = []
    exponent = 0
    while factor:
        if factor & 1:
            digit = 2 - (factor & 3)
            digits.append((exponent, digit))
            factor -= digit
        factor >>= 1
        exponent += 1
    return digits


def _signed(value: int, bits: int) -> int:
    """The number that the low bits stand for when the highest of them is a sign."""
    half = 1 << (bits - 1)
    return ((value + half) & ((1 << bits) - 1)) - half
