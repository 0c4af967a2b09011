"""Each op of an integer loop in ops of the 24-bit ALU; ranges and demands say which of its bits have to be right.

The word of a node has the right low bits, as many as are asked for, at most 24. An extension or a mask that changes
none of them costs nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Final

from gridloom.dfg.model import Dfg, Node
from gridloom.errors import SourceError
from gridloom.targets.rows.words24.conditions import Conditions
from gridloom.targets.rows.words24.demand import WORD_BITS
from gridloom.targets.rows.words24.ranges import Range, inside
from gridloom.targets.rows.words24.words import Words

_SAME: Final = frozenset({"add", "sub", "or", "xor", "not"})
_EXTENSIONS: Final[Mapping[str, tuple[int, bool]]] = {
    "sext8": (8, True), "sext16": (16, True), "zext8": (8, False), "zext16": (16, False),
}  # fmt: skip
_COMPARISONS: Final = frozenset({"eq", "ne", "lt", "le", "gt", "ge", "ult", "ule"})


@dataclass(kw_only=True)
class WordLowering:
    """Turns the nodes of a loop into words one by one, in the order of dependences."""

    source: Dfg
    ranges: Mapping[str, Range]
    demands: Mapping[str, int]
    words: Words
    #: Node of the source -> its word.
    word: dict[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.conditions = Conditions(source=self.source, ranges=self.ranges, words=self.words, word=self.word)

    def run(self) -> Dfg:
        """Return the graph of words. Linear in the result."""
        for k in self.source.topological:
            node = self.source.nodes[k]
            read = node.op == "output" or self.demands[node.id] > 0
            # Of what no bit is read, any word will do.
            self.word[node.id] = self._lowered(node) if read else self.words.constant(0)
        self._add_liveouts()
        return self.words.build()

    def _add_liveouts(self) -> None:
        """A result of the loop is the last word of a stream: the array has no register that keeps it."""
        for node in self.source.nodes:
            if node.liveout is not None and node.op != "input":
                name = self.words.fresh(f"{node.liveout}_last")
                self._stored(Node(id=name, op="output", variable=node.liveout), self.word[node.id])

    def _stored(self, node: Node, word: str) -> str:
        """An output; what no op computes passes through an ALU, since ports and registers have no way to a store."""
        if self.words.nodes[word].op in ("const", "livein", "input"):
            word = self.words.op("nop", word, hint=node.id)
        return self.words.port(node, word)

    # -- one op -------------------------------------------------------------------------------------------------------

    def _operands(self, node: Node) -> list[str]:
        return [self.source.edges[e].source for e in self.source.operand_edges(node.id)]

    def _lowered(self, node: Node) -> str:
        if node.op in ("input", "livein"):
            return self.words.port(node)
        if node.op == "const":
            return self.words.constant(int(node.value or 0), min(self.demands[node.id], WORD_BITS))
        names = self._operands(node)
        if node.op == "output":
            return self._stored(node, self.word[names[0]])
        if node.op == "move":
            return self.word[names[0]]
        if node.op in _SAME:
            return self.words.op(node.op, *(self.word[name] for name in names), id=node.id)
        if node.op in _COMPARISONS:
            return self.conditions.bit(node.id)
        rule = _RULES.get(node.op)
        if rule is None:
            raise SourceError(
                f"value {node.id!r} is a {node.op}, which has no form in 24-bit words; rewrite it, or map the loop "
                "onto an array of 32-bit words",
                where=f"graph {self.source.name!r}",
            )
        return rule(self, node, names)

    def _number(self, name: str) -> int | None:
        """The value of a node that has only one; None for any other."""
        low, high = self.ranges[name]
        return low if low == high else None

    def _bits(self, node: Node) -> int:
        """How many low bits of the word have to be right."""
        return min(self.demands[node.id], WORD_BITS)

    def _product(self, node: Node, names: list[str]) -> str:
        a, b = names
        if (factor := self._number(b)) is not None:
            return self.words.product(self.word[a], factor, node.id, self._bits(node))
        if (factor := self._number(a)) is not None:
            return self.words.product(self.word[b], factor, node.id, self._bits(node))
        return self.words.times(self.word[a], self.word[b], node.id)

    def _square(self, node: Node, names: list[str]) -> str:
        return self.words.times(self.word[names[0]], self.word[names[0]], node.id)

    def _negation(self, node: Node, names: list[str]) -> str:
        return self.words.negated(self.word[names[0]], node.id)

    def _and(self, node: Node, names: list[str]) -> str:
        """A mask of low bits may change nothing that is read, or be two shifts; else it is an ``and``."""
        a, b = names
        mask = self._number(b)
        if mask is not None and mask & (mask + 1) == 0:
            bits = WORD_BITS if mask < 0 else mask.bit_length()
            return self.word[a] if bits >= self._bits(node) else self.words.masked(self.word[a], bits, node.id)
        return self.words.op("and", self.word[a], self.word[b], id=node.id)

    def _extension(self, node: Node, names: list[str]) -> str:
        bits, signed = _EXTENSIONS[node.op]
        inner = self.ranges[names[0]]
        limits = (-(1 << (bits - 1)), (1 << (bits - 1)) - 1) if signed else (0, (1 << bits) - 1)
        known = inside(inner, limits) and self.demands[names[0]] >= self._bits(node)
        if bits >= self._bits(node) or known:
            return self.word[names[0]]
        make = self.words.extended if signed else self.words.masked
        return make(self.word[names[0]], bits, node.id)

    def _shift_left(self, node: Node, names: list[str]) -> str:
        self._check_amount(node, names[1])
        return self.words.op("sl", self.word[names[0]], self._amount(names[1]), id=node.id)

    def _amount(self, name: str) -> str:
        number = self._number(name)
        return self.word[name] if number is None else self.words.constant(number & 31)

    def _check_amount(self, node: Node, amount: str) -> None:
        """SourceError for an amount that may be below 0 or above 31: of those, the source takes the low five bits."""
        if self._number(amount) is None and not inside(self.ranges[amount], (0, 31)):
            raise SourceError(
                f"value {node.id!r} shifts by {amount!r}, which may be below 0 or above 31; state its range, as in "
                f"--assume-range {amount}=0..15",
                where=f"graph {self.source.name!r}",
            )

    def _shift_right(self, node: Node, names: list[str]) -> str:
        """A shift to the right: with the sign where the value has one, else with zeros.

        Without a sign (``lshr``) a negative value has ones up to bit 31, which are read where more bits are asked for
        than lie between: those above are cleared.
        """
        self._check_amount(node, names[1])
        value, amount = self.word[names[0]], self._amount(names[1])
        low = self.ranges[names[0]][0]
        number = self._number(names[1])
        if low >= 0 or self.demands[names[0]] <= WORD_BITS:
            return self.words.op("sr", value, amount, id=node.id)
        if node.op == "shr":
            return self.words.op("sra", value, amount, id=node.id)
        if number is None:
            raise SourceError(
                f"value {node.id!r} shifts a value that may be negative without its sign; state its range with "
                "--assume-range",
                where=f"graph {self.source.name!r}",
            )
        kept = 32 - (number & 31)
        if kept >= self._bits(node):
            return self.words.op("sra", value, amount, id=node.id)
        return self.words.masked(self.words.op("sra", value, amount, hint=node.id), kept, node.id)

    def _rotation(self, node: Node, names: list[str]) -> str:
        """A rotation of a value without a sign that loses no bit is a shift; any other needs 32 bits."""
        number = self._number(names[1])
        low, high = self.ranges[names[0]]
        if number is None or low < 0 or high >= 1 << (32 - (number & 31)):
            raise SourceError(
                f"value {node.id!r} rotates 32 bits, which 24-bit words do not hold; map the loop onto an array of "
                "32-bit words",
                where=f"graph {self.source.name!r}",
            )
        return self.words.op("sl", self.word[names[0]], self.words.constant(number & 31), id=node.id)

    def _select(self, node: Node, names: list[str]) -> str:
        return self.conditions.select(node.id)

    def _extreme(self, node: Node, names: list[str]) -> str:
        return self.conditions.extreme(node.id)

    def _absolute(self, node: Node, names: list[str]) -> str:
        inner = self.ranges[names[0]]
        return self.word[names[0]] if inner[0] >= 0 else self.conditions.absolute(node.id)


_Rule = Callable[[WordLowering, Node, list[str]], str]

_RULES: Final[Mapping[str, _Rule]] = {
    "mul": WordLowering._product,
    "square": WordLowering._square,
    "neg": WordLowering._negation,
    "and": WordLowering._and,
    **dict.fromkeys(_EXTENSIONS, WordLowering._extension),
    "shl": WordLowering._shift_left,
    "shr": WordLowering._shift_right,
    "lshr": WordLowering._shift_right,
    "rotl": WordLowering._rotation,
    "select": WordLowering._select,
    **dict.fromkeys(("min", "max", "umin", "umax"), WordLowering._extreme),
    "abs": WordLowering._absolute,
}
