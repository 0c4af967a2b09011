"""Address arithmetic of a region: linear forms become operations, pointers that move become carried values.

The index of an access is its form divided by the size of an element. The division is exact and done on the
coefficients here, not by the graph; a moving pointer is carried as a count of its unit, so that it is divided, too.
"""

from __future__ import annotations

from collections.abc import Callable

from gridloom.compiler.analysis.evolution import Form
from gridloom.compiler.c.address import Pointers
from gridloom.compiler.c.lower import width
from gridloom.compiler.c.predicates import Predicates
from gridloom.compiler.c.region import LoopRegion
from gridloom.compiler.ir.ir import Constant, Instruction, Value
from gridloom.compiler.loops.body import Body
from gridloom.compiler.loops.folding import wrap
from gridloom.compiler.loops.operations import CarriedValue, Const, Operand
from gridloom.errors import SourceError


class Indexing:
    """Emits what the accesses of a region compute to find their elements; equal symbols are computed once.

    ``value`` gives the operand of an IR value, ``runs`` the condition of a block, ``fresh`` the flag that the inner
    loop of a flattened nest begins again in this iteration, ``turned`` how far that loop is, where it is counted.
    """

    def __init__(
        self,
        body: Body,
        region: LoopRegion,
        pointers: Pointers,
        predicates: Predicates,
        value: Callable[[Value], Operand],
        runs: Callable[[str], Operand],
        fresh: Callable[[], Operand],
        turned: Callable[[], Operand | None],
    ) -> None:
        self.body, self.region, self.pointers, self.predicates = body, region, pointers, predicates
        self.value, self.runs, self.fresh, self._turned = value, runs, fresh, turned
        #: Pointers of the outer loop of a nest: carried value -> what an iteration of that adds, in units.
        self.counters: dict[str, int] = {}
        self._moved: dict[Value, Operand] = {}
        self._carried: dict[Instruction, CarriedValue] = {}

    def linear(self, form: Form, unit: int) -> Operand:
        """A form divided by a unit, as operations: the operand that holds the quotient.

        Terms are added in the order of the form, the constant last. A form whose terms are no multiples of a power of
        two is computed in bytes and shifted. SourceError for a form that is no multiple of any other unit.
        """
        if any(c * self.pointers.unit(s) % unit for s, c in form.terms.items()) or form.constant % unit:
            form = self.pointers.expand(form)
        if any(c * self.pointers.unit(s) % unit for s, c in form.terms.items()) and unit & (unit - 1) == 0:
            return self.body.emit("lshr", self.linear(form, 1), Const(unit.bit_length() - 1))
        total: Operand | None = None
        for symbol, coefficient in form.terms.items():
            factor, rest = divmod(coefficient * self.pointers.unit(symbol), unit)
            if rest:
                raise SourceError(f"an address moves by {coefficient} bytes, which is no multiple of {unit}")
            term = self._symbol(symbol)
            # a - b is one op where a + (-1) * b would be two.
            if total is not None and factor == -1:
                total = self.body.emit("sub", total, term)
                continue
            product = scale_term(self.body, term, factor)
            total = product if total is None else self.body.emit("add", total, product)
        if form.constant % unit:
            raise SourceError(f"an address is {form.constant % unit} bytes off its elements of {unit} bytes")
        offset = Const(wrap(form.constant // unit))
        return offset if total is None else self.body.emit("add", total, offset)

    def _symbol(self, symbol: Value) -> Operand:
        """The operand of a symbol: an integer value, or what a pointer has moved, in its units."""
        if symbol.type != "ptr":
            # LLVM extends narrow indices with their sign; a condition that chooses between numbers counts 0 or 1.
            bits = 32 if symbol.type == "i1" else width(symbol.type)
            return self.body.extend(self.value(symbol), bits, True)
        if symbol not in self._moved:
            assert isinstance(symbol, Instruction)
            self._moved[symbol] = self._pointer_phi(symbol) if self.region.owner(symbol) else self._choice(symbol)
        return self._moved[symbol]

    def close(self) -> None:
        """Tie every pointer that the loop moves to where an iteration leaves it. Called once all blocks are done."""
        for symbol in list(self._moved):
            if isinstance(symbol, Instruction) and symbol in self._carried:
                self._close_pointer(symbol)

    def _pointer_phi(self, phi: Instruction) -> Operand:
        """What a pointer that the loop moves has moved so far."""
        move = self._fixed_move(phi)
        count = self._turned()
        if count is not None and move is not None and self.region.inner and phi.block == self.region.inner.header:
            return scale_term(self.body, count, move)
        carried = self.body.recur(phi.name, 0)
        self._carried[phi] = carried
        if self.region.inner and phi.block == self.region.inner.header:
            return self.body.select(self.fresh(), Const(0), carried, phi.name)
        return carried

    def _fixed_move(self, phi: Instruction) -> int | None:
        """What an iteration moves a pointer by, in its units; None where that is not fixed."""
        loop = self.region.owner(phi)
        move = None if loop is None else self.pointers.evolution(loop).step_of(phi)
        return None if move is None else move // self.pointers.unit(phi)

    def _close_pointer(self, phi: Instruction) -> None:
        """Tie one moving pointer to where the iteration leaves it."""
        move = self._fixed_move(phi)
        if self._turned() is not None and move is not None and phi.block == self.region.loop.header:
            # A select behind the addition would be part of the recurrence.
            amount = self.body.select(self.runs(self.region.loop.latches[0]), Const(wrap(move)), Const(0))
            self.body.carried[self._carried[phi].name].next = self.body.emit("add", self._moved[phi], amount)
            self.counters[self._carried[phi].name] = wrap(move)
            return
        after = self.linear(self.pointers.moves(phi)[0], self.pointers.unit(phi))
        if self.region.inner and phi.block == self.region.loop.header:
            after = self.body.select(self.runs(self.region.loop.latches[0]), after, self._moved[phi])
        self.body.carried[self._carried[phi].name].next = after

    def _choice(self, item: Instruction) -> Operand:
        """What a pointer that is chosen by a condition adds: a choice between the alternatives.

        A ``select`` of the IR stays one; a phi becomes a chain of selects over the conditions of its blocks.
        """
        unit = self.pointers.unit(item)
        forms = iter(self.pointers.choices[item])
        operands = item.operands[1:] if item.opcode == "select" else item.operands
        alternatives = [
            None if isinstance(o, Constant) and o.undefined else self.linear(next(forms), unit) for o in operands
        ]
        if item.opcode == "select":
            yes, no = (value if value is not None else Const(0) for value in alternatives)
            return self.body.select(self.value(item.operands[0]), yes, no)
        return self.predicates.merge(item.block, list(zip(item.incoming, alternatives)), item.name)


def scale_term(body: Body, term: Operand, factor: int) -> Operand:
    """A term times a constant: a shift where that is enough."""
    if factor == 1:
        return term
    if factor > 0 and factor & (factor - 1) == 0:
        return body.emit("shl", term, Const(factor.bit_length() - 1))
    return body.emit("mul", term, Const(wrap(factor)))
