"""A trace: what one iteration of a Python kernel does, written down while the kernel is called with symbols.

The kernel's function runs once as ordinary Python, with values that record operations in place of numbers. The trace
that is under way is in the context variable :data:`ACTIVE`, so that operators of values find it without an argument
and two threads may trace at the same time. Beside each integer travels its linear form, from which the order of
memory accesses is proved as in the C front end (:mod:`gridloom.compiler.analysis.dependence`).
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from contextvars import ContextVar
from dataclasses import dataclass, field
from types import CodeType, FrameType
from typing import TYPE_CHECKING, Final

from gridloom.compiler.analysis.dependence import DistanceSolver, Motion
from gridloom.compiler.analysis.evolution import Form
from gridloom.compiler.loops.body import Body
from gridloom.compiler.loops.folding import wrap
from gridloom.compiler.loops.operations import Operand, order
from gridloom.errors import SourceError

if TYPE_CHECKING:
    from gridloom.compiler.python.numbers import StateType, Value


@dataclass(frozen=True, slots=True)
class TracedLinear:
    """An integer as constant + step * iteration + coefficients of operands: what distances are proved with.

    Integers wrap around at 32 bits, and so do the numbers of a form: forms that are equal modulo 2**32 are equal.
    """

    constant: int = 0
    step: int = 0
    terms: tuple[tuple[Operand, int], ...] = ()

    def plus(self, other: TracedLinear, factor: int = 1) -> TracedLinear:
        """This one plus a multiple of another. Terms are kept sorted, so that equal forms compare equal.

        >>> TracedLinear(1, 2).plus(TracedLinear(3, 1), -1)
        TracedLinear(constant=-2, step=1, terms=())
        """
        terms = dict(self.terms)
        for operand, coefficient in other.terms:
            terms[operand] = wrap(terms.get(operand, 0) + factor * coefficient)
        # Operands of different classes have no order of their own; their texts have one.
        kept = tuple(sorted(((o, c) for o, c in terms.items() if c), key=repr))
        return TracedLinear(wrap(self.constant + factor * other.constant), wrap(self.step + factor * other.step), kept)


@dataclass(frozen=True, slots=True)
class _Access:
    """One load or store of the traced body, and how its place moves."""

    array: str
    node: str
    is_store: bool
    place: Motion


@dataclass
class KernelTrace:
    """A kernel being traced: its body, and where in the function the trace is.

    ``phase`` is ``before``, ``inside`` or ``after`` the loop. States are made before it, accesses happen inside, and
    after it values may only be returned.
    """

    body: Body
    streams: bool = False
    phase: str = "before"
    #: Operands that may differ from one iteration to the next.
    varying: set[Operand] = field(default_factory=set)
    states: list[StateType] = field(default_factory=list)
    accesses: list[_Access] = field(default_factory=list)
    #: Stream, or live-in for an element that never moves -> its array and its index.
    places: dict[str, tuple[str, TracedLinear]] = field(default_factory=dict)
    #: The code of the kernel's function, whose lines the operations come from.
    code: CodeType | None = None

    def locate(self) -> None:
        """Tell the body which line of the kernel is running."""
        frame: FrameType | None = sys._getframe(1)
        while frame is not None and frame.f_code is not self.code:
            frame = frame.f_back
        self.body.line = frame.f_lineno if frame is not None else 0

    def emit(self, op: str, operands: Sequence[Operand]) -> Operand:
        """An operation; none may follow the loop."""
        if self.phase == "after":
            raise SourceError("computes after its loop; return the loop's values and compute outside the kernel")
        self.locate()
        made = self.body.emit(op, *operands)
        if any(operand in self.varying for operand in operands):
            self.varying.add(made)
        return made

    def motion(self, linear: TracedLinear) -> Motion:
        """How a place moves over the iterations."""
        varying = {operand: c for operand, c in linear.terms if operand in self.varying}
        fixed = {operand: c for operand, c in linear.terms if operand not in varying}
        return Motion(Form(linear.constant, fixed), Form(linear.step), Form(0, varying))

    def touch(self, array: str, node: str, is_store: bool, index: Value) -> None:
        """Remember an access, so that :meth:`finish` can order it."""
        self.accesses.append(_Access(array, node, is_store, self.motion(index.linear)))

    def finish(self) -> None:
        """Close the states and order the accesses. Quadratic in the accesses of each array.

        Different array parameters are taken to be different memory, as with ``restrict`` in C.
        """
        for state in self.states:
            state.close()
        for k, first in enumerate(self.accesses):
            for second in self.accesses[k + 1 :]:
                if first.array == second.array and (first.is_store or second.is_store):
                    self._order(first, second)

    def _order(self, first: _Access, second: _Access) -> None:
        """Add the order edges of two accesses; streams refuse accesses that may meet."""
        for forward, distance in DistanceSolver().meetings(first.place, second.place):
            source, target = (first, second) if forward else (second, first)
            if self.streams and source.is_store:
                what = "stores twice to elements of" if target.is_store else "reads what it stored in"
                raise SourceError(f"{what} {first.array}, so that is no stream; use an array with memory units")
            if not self.streams:
                self.body.add_order(order(source.node, target.node, distance, source.is_store))


ACTIVE: Final[ContextVar[KernelTrace | None]] = ContextVar("gridloom_trace", default=None)


@dataclass
class Excerpt:
    """The first iterations of a kernel that runs: at most ``most``, and a whole multiple of some number."""

    most: int
    multiple: int = 1
    #: Iterations of the loop that ran last.
    iterations: int = 0

    def of(self, indices: range) -> range:
        """The indices that the loop takes."""
        count = min(len(indices), self.most)
        self.iterations = count - count % self.multiple
        return indices[: self.iterations]


#: Set while a kernel is run for its first iterations only.
EXCERPT: Final[ContextVar[Excerpt | None]] = ContextVar("gridloom_excerpt", default=None)
