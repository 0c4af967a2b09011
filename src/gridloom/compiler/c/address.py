"""Pointers of a loop as base + bytes: what array an access touches, and where in it, as a linear form.

A form is a constant plus coefficients of symbols. Symbols are integer values of the IR, and pointers that move: a
pointer phi counts the bytes it has moved since the loop began, a pointer that is chosen by a condition stands for the
bytes that the choice adds. The bytes of such symbols come in units (an element, a row), found as a greatest common
divisor, so that the graph counts elements and never divides.

A form is exact: ``p[2 * i + 3]`` of 4-byte elements is ``12 + 8 i`` over the symbol ``i``. What is not linear, such
as ``i * j`` or a loaded index, is a symbol of its own, so every integer has a form and only pointers can fail to have
one.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

from gridloom.compiler.analysis.evolution import Evolution, Form, indexed_bytes, linear_form
from gridloom.compiler.analysis.loops import NaturalLoop
from gridloom.compiler.ir.ir import Constant, Global, GlobalAddress, Instruction, IrParameter, Value
from gridloom.compiler.ir.layout import DataLayout
from gridloom.errors import SourceError

Base = IrParameter | Global | Instruction


@dataclass(frozen=True)
class Address:
    """A place: an array's start plus bytes.

    ``base`` is a parameter, a global variable, or an instruction before the loop whose pointer is taken as it is.
    """

    base: Base
    bytes: Form


class Pointers:
    """Resolves the pointers that a region uses.

    ``inside`` tells whether a value is an instruction of the region, ``is_carried`` whether a phi is one of its
    headers'; ``initial`` and ``following`` give what such a phi starts from and what an iteration leaves in it.
    Answers are kept, so that each pointer is resolved once.
    """

    def __init__(
        self,
        layout: DataLayout,
        inside: Callable[[Value], bool],
        initial: Callable[[Instruction], Value | None],
        following: Callable[[Instruction], Value],
        is_carried: Callable[[Instruction], bool],
        where: Callable[[Instruction], str],
    ) -> None:
        self.layout = layout
        self.inside = inside
        self.initial = initial
        self.following = following
        self.is_carried = is_carried
        self.where = where
        self._known: dict[Value, Address] = {}
        #: A chosen pointer -> what each of its operands adds to what they share.
        self.choices: dict[Instruction, list[Form]] = {}
        self._units: dict[Value, int] = {}
        self._evolutions: dict[int, Evolution] = {}

    def evolution(self, loop: NaturalLoop) -> Evolution:
        """The evolution of values in a loop of the region."""
        return self._evolutions.setdefault(id(loop), Evolution(loop, self.layout))

    def resolve(self, value: Value) -> Address:
        """The place that a pointer means. SourceError for pointers that are loaded, cast or of several arrays."""
        if value not in self._known:
            self._known[value] = self._resolve(value)
        return self._known[value]

    def _resolve(self, value: Value) -> Address:
        """The place of :meth:`resolve`, computed anew."""
        if isinstance(value, IrParameter | Global):
            return Address(value, Form())
        if isinstance(value, GlobalAddress):
            return Address(value.base, Form(value.offset))
        if not isinstance(value, Instruction):
            raise SourceError("an address is a plain number; take arrays as parameters or globals")
        if value.opcode == "getelementptr":
            start = self.resolve(value.operands[0])
            return Address(start.base, start.bytes + indexed_bytes(value, self.layout, self._index))
        # A pointer that was computed before the loop stays where it is: it starts an array of its own.
        if not self.inside(value):
            return Address(value, Form())
        if value.opcode == "freeze":
            return self.resolve(value.operands[0])
        if value.opcode == "phi" and self.is_carried(value):
            return self._moving(value)
        if value.opcode in ("phi", "select"):
            return self._chosen(value)
        what = "loads a pointer" if value.opcode == "load" else f"makes a pointer by {value.opcode!r}"
        raise SourceError(
            f"the loop {what}; only arrays that are fixed before the loop are taken", where=self.where(value)
        )

    def _moving(self, phi: Instruction) -> Address:
        """The place of a pointer phi: its start, plus a symbol for the bytes that it has moved."""
        first = self.initial(phi)
        if first is None:
            raise SourceError("a pointer starts from one of several places", where=self.where(phi))
        start = self.resolve(first)
        return Address(start.base, start.bytes + Form(0, {phi: 1}))

    def _chosen(self, value: Instruction) -> Address:
        """The place of a chosen pointer: what all alternatives share, plus a symbol for the rest.

        What the alternatives add to the shared part is kept in ``choices``; the graph selects between these numbers.
        All alternatives must be places of one array, since an access of the graph names its array.
        """
        operands = value.operands[1:] if value.opcode == "select" else value.operands
        places = [self.resolve(o) for o in operands if not (isinstance(o, Constant) and o.undefined)]
        if len({id(place.base) for place in places}) != 1:
            raise SourceError(
                "a pointer is one of several arrays, chosen in the loop; index one array, or choose between values",
                where=self.where(value),
            )
        shared = dict(places[0].bytes.terms)
        for place in places[1:]:
            shared = {s: c for s, c in shared.items() if place.bytes.terms.get(s) == c}
        common = Form(0, shared)
        self.choices[value] = [place.bytes.minus(common) for place in places]
        return Address(places[0].base, common + Form(0, {value: 1}))

    def _index(self, value: Value) -> Form:
        return self.integer(value, shallow=True)

    # -- integers ---------------------------------------------------------------------------------------------------

    def integer(self, value: Value, *, shallow: bool = False) -> Form:
        """An index as a form. ``shallow`` keeps each instruction a symbol, so that the graph shares it."""
        if isinstance(value, Constant):
            return Form(value.value)
        # A narrower integer may wrap around before it is extended, so that it is linear only as itself.
        if shallow or not isinstance(value, Instruction) or value.type != "i32":
            return Form(0, {value: 1})
        return linear_form(value)

    def expand(self, form: Form) -> Form:
        """The form over the innermost symbols: what distances are proved with."""
        total = Form(form.constant)
        for symbol, coefficient in form.terms.items():
            total += (Form(0, {symbol: 1}) if symbol.type == "ptr" else self.integer(symbol)).times(coefficient)
        return total

    # -- units ------------------------------------------------------------------------------------------------------

    def moves(self, symbol: Value) -> list[Form]:
        """What a pointer symbol is made of: the next bytes of a phi, each alternative of a choice."""
        if not isinstance(symbol, Instruction):
            return []
        if symbol in self.choices:
            return self.choices[symbol]
        start, after = self.resolve(symbol), self.resolve(self.following(symbol))
        if after.base is not start.base:
            raise SourceError("a pointer moves from one array to another in the loop", where=self.where(symbol))
        return [after.bytes.minus(start.bytes) + Form(0, {symbol: 1})]

    def unit(self, symbol: Value) -> int:
        """Bytes that one step of a pointer symbol counts; 1 for integers."""
        if symbol.type != "ptr":
            return 1
        if symbol not in self._units:
            self._settle(symbol)
        return self._units[symbol]

    def _settle(self, symbol: Value) -> None:
        """Compute the units of a pointer symbol and of all that it is made of.

        The unit of a symbol divides everything that is ever added to it. Symbols may depend on each other (two
        pointers that are exchanged in every iteration), so greatest common divisors are taken until none changes. A
        unit starts at 0, the neutral element of the gcd; after its first number it only shrinks, so the iteration
        ends.
        """
        reached: dict[Value, list[Form]] = {}
        work = [symbol]
        while work:
            item = work.pop()
            if item not in reached:
                reached[item] = [self.expand(form) for form in self.moves(item)]
                work += [s for form in reached[item] for s in form.terms if s.type == "ptr"]
        units = dict.fromkeys(reached, 0)
        changed = True
        while changed:
            changed = False
            for item, forms in reached.items():
                unit = units[item]
                for form in forms:
                    parts = (c * units[s] if s.type == "ptr" else c for s, c in form.terms.items())
                    unit = math.gcd(unit, form.constant, *parts)
                if unit != units[item]:
                    units[item] = unit
                    changed = True
        self._units.update({item: unit or 1 for item, unit in units.items()})
