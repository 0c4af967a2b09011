"""Numbers and states of a Python kernel: computed when the kernel is run, written down when it is traced.

Integers are 32 bits wide and wrap around; 8- and 16-bit types say what an array element or a parameter holds, and what
a cast cuts off, as in C. ``float32`` rounds every operation once. Comparisons give 0 or 1.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from gridloom.compiler.loops.folding import WORD, wrap
from gridloom.compiler.loops.operations import CarriedValue, Const, LiveIn, Operand
from gridloom.compiler.python.computing import COMPUTE, FLOAT_RESULTS, bits_of
from gridloom.compiler.python.trace import ACTIVE, KernelTrace, TracedLinear
from gridloom.errors import SourceError

DEFAULT_LENGTH: Final = 1024


class Type:
    """A number's type. Called, it casts: ``int8(x)`` keeps the low 8 bits and their sign."""

    def __init__(self, name: str, bits: int, signed: bool, is_float: bool = False) -> None:
        self.name = name
        self.bits = bits
        self.signed = signed
        self.is_float = is_float
        self.__doc__ = f"{name}: {'single precision' if is_float else f'{bits}-bit integer'}; called, it casts."

    def __repr__(self) -> str:
        return self.name

    def __call__(self, value: Any) -> Value:
        """The value as this type has it. Floats are cut to whole numbers towards 0 and clamped to 32 bits first."""
        number = lift(value)
        if self.is_float:
            return number if number.is_float else apply("int_to_float", number)
        whole = apply("float_to_int", number) if number.is_float else number
        return extend(whole, self.bits, self.signed)

    @property
    def range(self) -> tuple[int, int]:
        """The least and the greatest number."""
        if self.is_float or self.bits == 32:
            return WORD
        return (-(1 << (self.bits - 1)), (1 << (self.bits - 1)) - 1) if self.signed else (0, (1 << self.bits) - 1)


int8: Final = Type("int8", 8, True)
int16: Final = Type("int16", 16, True)
int32: Final = Type("int32", 32, True)
uint8: Final = Type("uint8", 8, False)
uint16: Final = Type("uint16", 16, False)
float32: Final = Type("float32", 32, True, is_float=True)


@dataclass(frozen=True)
class ArrayType:
    """What ``Array[int16, 64]`` says: the type of the elements, and how many there are."""

    element: Type
    length: int = DEFAULT_LENGTH


class Array:
    """The type of a kernel's array parameter: ``Array[int16]``, ``Array[int16, 64]``."""

    def __class_getitem__(cls, key: Any) -> ArrayType:
        element, length = key if isinstance(key, tuple) and len(key) == 2 else (key, DEFAULT_LENGTH)
        if not isinstance(element, Type) or not isinstance(length, int) or length < 1:
            raise SourceError(f"Array[{key!r}]: expected a type and a length, as in Array[int16, 64]")
        return ArrayType(element, length)


# -- numbers --------------------------------------------------------------------------------------------------------


def _binary(op: str, float_op: str | None = None) -> Callable[[Value, Any], Value]:
    """The method of an operator."""

    def method(self: Value, other: Any) -> Value:
        return arithmetic(op, float_op, self, other)

    return method


def _reflected(op: str, float_op: str | None = None) -> Callable[[Value, Any], Value]:
    """The method of an operator whose left operand is a plain number."""

    def method(self: Value, other: Any) -> Value:
        return arithmetic(op, float_op, other, self)

    return method


class Value:
    """A number of a kernel: known (``number``) when the kernel runs, an operand of the graph when it is traced.

    Operators compute or record by :func:`apply`. Values have no hash and no truth value while they are traced, so
    that a Python ``if`` or a dictionary cannot silently depend on a value of the loop. ``linear`` is the integer as a
    linear form.
    """

    __slots__ = ("_number", "_operand", "is_float", "linear")
    # An equality makes an op of the graph, so that no dictionary could use it.
    __hash__ = None  # type: ignore[assignment]

    def __init__(
        self,
        number: int | np.float32 | None,
        is_float: bool,
        operand: Operand | None = None,
        linear: TracedLinear | None = None,
    ) -> None:
        self._number = number
        self._operand = operand
        self.is_float = is_float
        if linear is None:
            linear = (
                TracedLinear(int(number))
                if number is not None and not is_float
                else TracedLinear(0, 0, ((operand, 1),))  # type: ignore[arg-type]
            )
        self.linear = linear

    @property
    def number(self) -> int | np.float32 | None:
        """The number, where it is known."""
        return self._number

    @property
    def operand(self) -> Operand:
        """What the graph reads; a known number is a constant."""
        if self._operand is not None:
            return self._operand
        return Const(bits_of(self.number)) if self.is_float else Const(int(self.number or 0))

    __add__, __radd__ = _binary("add", "fadd"), _reflected("add", "fadd")
    __sub__, __rsub__ = _binary("sub", "fsub"), _reflected("sub", "fsub")
    __mul__, __rmul__ = _binary("mul", "fmul"), _reflected("mul", "fmul")
    __and__, __rand__ = _binary("and"), _reflected("and")
    __or__, __ror__ = _binary("or"), _reflected("or")
    __xor__, __rxor__ = _binary("xor"), _reflected("xor")
    __lshift__, __rlshift__ = _binary("shl"), _reflected("shl")
    __rshift__, __rrshift__ = _binary("shr"), _reflected("shr")
    __lt__, __le__ = _binary("lt", "flt"), _binary("le", "fle")

    def __gt__(self, other: Any) -> Value:
        return arithmetic("lt", "flt", other, self)

    def __ge__(self, other: Any) -> Value:
        return arithmetic("le", "fle", other, self)

    def __eq__(self, other: object) -> Value:  # type: ignore[override]
        return arithmetic("eq", "feq", self, other)

    def __ne__(self, other: object) -> Value:  # type: ignore[override]
        return arithmetic("eq", "feq", self, other) ^ 1

    def __truediv__(self, other: Any) -> Value:
        return arithmetic(None, "fdiv", self, other)

    def __rtruediv__(self, other: Any) -> Value:
        return arithmetic(None, "fdiv", other, self)

    def __floordiv__(self, other: Any) -> Value:
        return _floor(self, other)[0]

    def __rfloordiv__(self, other: Any) -> Value:
        return _floor(other, self)[0]

    def __mod__(self, other: Any) -> Value:
        return _floor(self, other)[1]

    def __rmod__(self, other: Any) -> Value:
        return _floor(other, self)[1]

    def __neg__(self) -> Value:
        return apply("fneg", self) if self.is_float else 0 - self

    def __pos__(self) -> Value:
        return self

    def __invert__(self) -> Value:
        return self ^ -1

    def __abs__(self) -> Value:
        return apply("fabs" if self.is_float else "abs", self)

    def __bool__(self) -> bool:
        if self.number is None:
            raise SourceError("branches on a value of the loop; use gridloom.select, or store with when=")
        return bool(self.number)

    def __index__(self) -> int:
        if self.number is None:
            raise SourceError("needs a number that is known while tracing; use gridloom.loop, or an Array parameter")
        return int(self.number)

    def __int__(self) -> int:
        return self.__index__()

    def __float__(self) -> float:
        if self.number is None:
            raise SourceError("turns a value of the loop into a Python number; use gridloom.float32")
        return float(self.number)

    def __repr__(self) -> str:
        return repr(self.number) if self.number is not None else f"<{self.operand}>"


def lift(value: Any) -> Value:
    """A Python or NumPy number as a Value; a state gives the value that it has at this point.

    Integers wrap to 32 bits, floats round to single precision. SourceError for anything else.
    """
    if isinstance(value, Value):
        return value.current if isinstance(value, StateType) else value
    if isinstance(value, bool | np.bool_ | int | np.integer):
        return Value(wrap(int(value)), False)
    if isinstance(value, float | np.floating):
        return Value(np.float32(value), True)
    raise SourceError(f"computes with {type(value).__name__} {value!r:.40}; expected numbers of the kernel")


def arithmetic(op: str | None, float_op: str | None, a: Any, b: Any) -> Value:
    """An operation on two numbers; an integer that meets a float becomes one.

    ``op`` is for integers, ``float_op`` for floats; None where there is no such op, which is a SourceError that says
    what to write instead.
    """
    x, y = lift(a), lift(b)
    if x.is_float or y.is_float:
        if float_op is None:
            raise SourceError(f"uses {op} on a float; cast it with gridloom.int32 first")
        x, y = float32(x), float32(y)
        return apply(float_op, x, y)
    if op is None:
        raise SourceError("divides integers with /; use // for whole numbers, or gridloom.float32(x) / y")
    return apply(op, x, y)


def apply(op: str, *values: Value) -> Value:
    """An operation on Values: computed where all are known, else written into the trace.

    A result of the trace keeps its linear form where the op is linear, so that distances of accesses can be proved.
    """
    is_float = op in FLOAT_RESULTS
    if all(value.number is not None for value in values):
        return Value(COMPUTE[op](*(value.number for value in values)), is_float)
    trace = ACTIVE.get()
    if trace is None:
        raise SourceError("uses a value of a traced kernel outside its trace")
    operand = trace.emit(op, [value.operand for value in values])
    return Value(None, is_float, operand, None if is_float else _linear(op, values, operand))


def _linear(op: str, values: Sequence[Value], result: Operand) -> TracedLinear:
    """The result of an integer op as a linear form, where it is one; else a symbol of its own.

    Forms are over exact integers: that an index may wrap around is not taken into account.
    """
    if op in ("add", "sub"):
        return values[0].linear.plus(values[1].linear, 1 if op == "add" else -1)
    known = [value.number for value in values]
    if op == "mul" and known[1] is not None:
        return TracedLinear().plus(values[0].linear, int(known[1]))
    if op == "mul" and known[0] is not None:
        return TracedLinear().plus(values[1].linear, int(known[0]))
    if op == "shl" and known[1] is not None:
        return TracedLinear().plus(values[0].linear, 1 << (int(known[1]) & 31))
    return TracedLinear(0, 0, ((result, 1),))


def extend(value: Value, bits: int, signed: bool) -> Value:
    """The low bits of an integer with their sign, or without.

    Costs no op where the range of the value is known to fit. SourceError after the loop, where nothing may be computed.
    """
    if bits == 32:
        return value
    if value.number is not None:
        low = int(value.number) & ((1 << bits) - 1)
        return Value(low - (1 << bits) if signed and low >> (bits - 1) else low, False)
    trace = ACTIVE.get()
    if trace is None or trace.phase == "after":
        raise SourceError("casts a value of the loop after it")
    operand = trace.body.extend(value.operand, bits, signed)
    if operand == value.operand:
        return value
    if value.operand in trace.varying:
        trace.varying.add(operand)
    return Value(None, False, operand)


def _floor(a: Any, b: Any) -> tuple[Value, Value]:
    """Python's // and %: towards minus infinity, where the array's division goes towards 0.

    Costs a division, a remainder, three ops to see whether they have to be corrected, and the corrections.
    """
    x, y = lift(a), lift(b)
    if x.is_float or y.is_float:
        raise SourceError("uses // or % on a float; use / and gridloom.int32")
    quotient, rest = apply("div", x, y), apply("rem", x, y)
    # Rounding differs only where the rest is not 0 and has another sign than the divisor.
    back = (rest != 0) & ((rest ^ y) < 0)
    return quotient - back, select(back, rest + y, rest)


def select(condition: Any, yes: Any, no: Any) -> Value:
    """``yes`` where the condition is not 0, else ``no``: a kernel's if.

    Both alternatives are computed in every iteration. Where one of them is a float, both are.

    >>> select(1, 5, 7), float(select(0, 5, 2.5))
    (5, 2.5)
    """
    c, a, b = lift(condition), lift(yes), lift(no)
    if a.is_float or b.is_float:
        a, b = float32(a), float32(b)
    if c.number is not None:
        return a if c.number else b
    operand = _active().emit("select", [c.operand, a.operand, b.operand])
    return Value(None, a.is_float, operand)


def minimum(a: Any, b: Any) -> Value:
    """The smaller of two numbers."""
    return arithmetic("min", "fmin", a, b)


def maximum(a: Any, b: Any) -> Value:
    """The greater of two numbers."""
    return arithmetic("max", "fmax", a, b)


def _active() -> KernelTrace:
    """The trace that is under way. SourceError where there is none."""
    trace = ACTIVE.get()
    if trace is None:
        raise SourceError("uses a value of a traced kernel outside its trace")
    return trace


# -- state ----------------------------------------------------------------------------------------------------------


class StateType(Value):
    """A value that an iteration leaves for the next: read it like a number, and ``set`` it.

    ``+=``, ``-=``, ``*=`` and ``^=`` set it, too. Other operators with an assignment (``|=``, ``<<=``) are not
    defined: Python would bind the name to a plain value, and the state would keep what it had. Write ``s.set(s |
    x)``.
    """

    __slots__ = ("carried", "current")

    def __init__(self, initial: Any) -> None:
        start = lift(initial)
        self.current = start
        self.carried: CarriedValue | None = None
        trace = ACTIVE.get()
        if trace is not None:
            if trace.phase != "before":
                raise SourceError("makes a state inside its loop; make it before")
            self._begin(trace, start)
        super().__init__(None, start.is_float, Const(0))

    def _begin(self, trace: KernelTrace, start: Value) -> None:
        """Announce the carried value in the trace; a start that is computed is chosen in the first iteration.

        The choice is a select by the flag that :meth:`~gridloom.compiler.loops.body.Body.started` makes; it is part
        of the recurrence and costs it one op.
        """
        known = start.number is not None or isinstance(start.operand, LiveIn)
        first = start.operand.value if isinstance(start.operand, Const) else 0
        self.carried = trace.body.recur("state", start.operand if isinstance(start.operand, LiveIn) else first)
        operand: Operand = self.carried
        trace.varying.add(operand)
        if not known:
            flag = trace.body.started()
            trace.varying.add(flag)
            operand = trace.body.select(flag, self.carried, start.operand)
            trace.varying.add(operand)
        trace.states.append(self)
        self.current = Value(None, start.is_float, operand)

    @property
    def number(self) -> int | np.float32 | None:
        """The number, where the kernel runs."""
        return self.current.number

    @property
    def operand(self) -> Operand:
        """What the state is at this point of the iteration."""
        return self.current.operand

    def set(self, value: Any) -> None:
        """Change the state; reads that follow see the new value."""
        trace = ACTIVE.get()
        if trace is not None and trace.phase != "inside":
            raise SourceError("sets a state outside its loop")
        lifted = lift(value)
        self.current = float32(lifted) if self.is_float else lifted
        if lifted.is_float and not self.is_float:
            raise SourceError("sets a whole-number state to a float; start it from a float, or cast with int32")

    def close(self) -> None:
        """Tie the carried value to what the iteration left."""
        assert self.carried is not None
        _active().body.carried[self.carried.name].next = self.current.operand

    def _updated(self, value: Any) -> StateType:
        """Set the state and return it: what every operator with ``=`` does, so that the name stays the state's."""
        self.set(value)
        return self

    def __iadd__(self, other: Any) -> StateType:
        return self._updated(self.current + other)

    def __isub__(self, other: Any) -> StateType:
        return self._updated(self.current - other)

    def __imul__(self, other: Any) -> StateType:
        return self._updated(self.current * other)

    def __itruediv__(self, other: Any) -> StateType:
        return self._updated(self.current / other)

    def __ifloordiv__(self, other: Any) -> StateType:
        return self._updated(self.current // other)

    def __imod__(self, other: Any) -> StateType:
        return self._updated(self.current % other)

    def __iand__(self, other: Any) -> StateType:
        return self._updated(self.current & other)

    def __ior__(self, other: Any) -> StateType:
        return self._updated(self.current | other)

    def __ixor__(self, other: Any) -> StateType:
        return self._updated(self.current ^ other)

    def __ilshift__(self, other: Any) -> StateType:
        return self._updated(self.current << other)

    def __irshift__(self, other: Any) -> StateType:
        return self._updated(self.current >> other)


def state(initial: Any) -> StateType:
    """A carried value that starts from a number or a parameter; make it before the loop."""
    return StateType(initial)
