"""The loop and the arrays of a Python kernel, for running it and for tracing it.

A known array checks every index against the length of its data. A traced one makes a load or a store of the graph from
each access, or a stream where the kernel is read with ``memory=streams``.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from gridloom.compiler.loops.folding import wrap
from gridloom.compiler.loops.operations import Const, LiveIn, Operand
from gridloom.compiler.python.numbers import ArrayType, Type, Value, lift
from gridloom.compiler.python.trace import ACTIVE, EXCERPT, KernelTrace, TracedLinear
from gridloom.errors import SourceError


def loop(*bounds: Any) -> Iterator[Value]:
    """The kernel's loop: ``loop(stop)``, ``loop(start, stop)``, ``loop(start, stop, step)``, as ``range``.

    When the kernel runs, it yields each index. When it is traced, it yields one symbol, and the body runs once. A
    kernel has one such loop; inner ones are unrolled by Python's ``range``.
    """
    if not 1 <= len(bounds) <= 3:
        raise SourceError(f"calls loop with {len(bounds)} numbers; expected 1 to 3, as range does")
    start, stop, step = (0, *bounds, 1) if len(bounds) == 1 else (*bounds, 1) if len(bounds) == 2 else bounds
    trace = ACTIVE.get()
    if trace is None:
        indices, excerpt = range(int(lift(start)), int(lift(stop)), int(lift(step))), EXCERPT.get()
        for k in indices if excerpt is None else excerpt.of(indices):
            yield Value(wrap(k), False)
        return
    yield from _traced_loop(trace, lift(start), lift(step))


def _traced_loop(trace: KernelTrace, start: Value, step: Value) -> Iterator[Value]:
    """Yield the loop variable once, as a symbol, between opening and closing the loop of the trace.

    The counter is a carried value that starts at ``start`` where that is known, or at 0 with a live-in added to it
    outside the recurrence. The stop is not used: how often the loop runs is not part of the graph.
    """
    # The graph is one loop; a second one would need a graph of its own.
    if trace.phase != "before":
        raise SourceError("has more than one gridloom.loop; unroll inner ones with Python's range")
    if not step.number:
        raise SourceError("steps its loop by a value that is not known; use a constant other than 0")
    body = trace.body
    first = start.number if start.number is not None else 0
    counter = body.recur("i", int(first))
    body.carried[counter.name].next = body.emit("add", counter, Const(int(step.number)), hint="i")
    trace.varying |= {counter}
    linear = TracedLinear(int(first), int(step.number))
    operand: Operand = counter
    if start.number is None:
        operand = body.emit("add", counter, start.operand)
        trace.varying.add(operand)
        linear = linear.plus(start.linear)
    trace.phase = "inside"
    yield Value(None, False, operand, linear)
    trace.phase = "after"


class KnownArray:
    """An array parameter while the kernel runs: checks indices, wraps what is stored.

    ``data`` is the caller's own object and is changed in place. IndexError for an index outside it: negative indices
    do not count from the end, since the array has no such thing.
    """

    def __init__(self, name: str, kind: ArrayType, data: Any) -> None:
        self.name = name
        self.kind = kind
        self.data = data

    def _index(self, index: Any) -> int:
        k = int(lift(index))
        if not 0 <= k < len(self.data):
            raise IndexError(f"{self.name}[{k}]: it has {len(self.data)} elements")
        return k

    def __len__(self) -> int:
        return len(self.data)

    def __getitem__(self, index: Any) -> Value:
        return self.kind.element(self.data[self._index(index)])

    def __setitem__(self, index: Any, value: Any) -> None:
        self.put(index, value)

    def put(self, index: Any, value: Any, *, when: Any = 1) -> None:
        """Store an element where the condition holds."""
        if lift(when):
            number = _stored(self.name, self.kind.element, value).number
            self.data[self._index(index)] = number


class TracedArray:
    """An array parameter while the kernel is traced.

    Reading makes a load, or an input where memory is streams; writing makes a store, a conditional store or an
    output. Nothing is read from actual data.
    """

    def __init__(self, name: str, kind: ArrayType, trace: KernelTrace) -> None:
        self.name = name
        self.kind = kind
        self.trace = trace

    def __len__(self) -> int:
        return self.kind.length

    def __getitem__(self, index: Any) -> Value:
        """The element at an index: a load, an input stream, or a live-in for an element that never moves."""
        at = self._at(index)
        trace, kind = self.trace, self.kind.element
        if trace.streams:
            variable = self._stream(at, "reads")
            made = trace.body.stream("input", variable, hint=f"{self.name}_in") if variable else LiveIn(self._fixed(at))
        else:
            made = trace.body.access("load", self.name, at.operand, hint=f"load_{self.name}")
        if isinstance(made, LiveIn):
            trace.body.reserved.add(made.name)
        else:
            trace.touch(self.name, made.id, False, at)
            trace.varying.add(made)
        trace.body.ranges[made] = kind.range
        if trace.streams:
            trace.places[made.name if isinstance(made, LiveIn) else made.id] = (self.name, at.linear)
        return Value(None, kind.is_float, made)

    def __setitem__(self, index: Any, value: Any) -> None:
        self.put(index, value)

    def put(self, index: Any, value: Any, *, when: Any = 1) -> None:
        """Store an element where the condition holds.

        A condition that is known to be 0 stores nothing; any other known one stores always. SourceError for a place
        that is no stream, where memory is streams.
        """
        at, trace = self._at(index), self.trace
        word = _stored(self.name, self.kind.element, value).operand
        condition = lift(when)
        if condition.number is not None and not condition.number:
            return
        if trace.streams:
            variable = self._stream(at, "writes")
            if variable is None:
                raise SourceError(f"stores to one place of {self.name}, so that is no stream; use memory units")
            if condition.number is None:
                # A stream writes in every iteration: where nothing is stored, what it wrote over comes back.
                old = trace.body.stream("input", variable, hint=f"{self.name}_in")
                trace.body.ranges[old] = self.kind.element.range
                trace.places[old.id] = (self.name, at.linear)
                trace.varying.add(old)
                word = trace.body.select(condition.operand, word, old)
            made = trace.body.stream("output", variable, word, hint=f"{self.name}_out")
            trace.places[made.id] = (self.name, at.linear)
            trace.body.ranges[made] = self.kind.element.range
        elif condition.number is not None:
            made = trace.body.access("store", self.name, at.operand, word, hint=f"store_{self.name}")
        else:
            made = trace.body.access(
                "store_if", self.name, at.operand, word, condition.operand, hint=f"store_{self.name}"
            )
        trace.touch(self.name, made.id, True, at)

    def _at(self, index: Any) -> Value:
        """The index as a Value.

        SourceError outside the loop, for a float, and for a known index that the array does not have.
        """
        if self.trace.phase != "inside":
            raise SourceError(f"uses {self.name} outside its loop")
        self.trace.locate()
        lifted = lift(index)
        if lifted.is_float:
            raise SourceError(f"indexes {self.name} with a float; cast it with gridloom.int32")
        if lifted.number is not None and not 0 <= int(lifted.number) < self.kind.length:
            raise SourceError(f"uses {self.name}[{lifted.number}]; it has {self.kind.length} elements")
        return lifted

    def _stream(self, at: Value, verb: str) -> str | None:
        """The name of the stream; None for a place that does not move."""
        moves = self.trace.motion(at.linear)
        if moves.varying.terms:
            raise SourceError(f"{verb} {self.name} where the data say, so that is no stream; use memory units")
        step, start = moves.step.constant, moves.start.constant
        if not step:
            return None
        return f"{self.name}[{step}i{start:+d}]" if start else self.name

    def _fixed(self, at: Value) -> str:
        """The name of the live-in for an element that never moves.

        It is made of the array's name, the constant part of the index and the live-ins in it.
        """
        fixed = "".join(f"_{operand.name}" for operand, _ in at.linear.terms if isinstance(operand, LiveIn))
        return f"{self.name}_{at.linear.constant}{fixed}"


def _stored(name: str, kind: Type, value: Any) -> Value:
    """The value cast to an element's type. SourceError for a float that would become an integer silently."""
    lifted = lift(value)
    if lifted.is_float and not kind.is_float:
        raise SourceError(f"stores a float in {name}, an array of {kind}; cast it with gridloom.int32")
    return kind(lifted)
