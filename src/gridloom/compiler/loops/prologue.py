"""What whoever starts a loop computes first: live-ins that are made of other live-ins and of memory.

Hoisted values, the starts of address counters and the elements that the first iterations read are not the loop's work.
They are kept as operations over live-ins and constants, in an order in which each reads only what stands before it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Final

from gridloom.compiler.loops.affine import LinearForm
from gridloom.compiler.loops.operations import (
    CarriedValue,
    Const,
    LiveIn,
    LoopOperation,
    Operand,
    OperationResult,
    readable,
)

if TYPE_CHECKING:
    from gridloom.compiler.loops.body import Body

_SIGNS: Final = {"add": "+", "sub": "-", "mul": "*", "shl": "<<", "shr": ">>", "and": "&", "or": "|", "xor": "^"}


def prologue_values(
    operations: Mapping[str, LoopOperation], liveins: Mapping[str, int], element: Callable[[str, int], int]
) -> dict[str, int]:
    """The values of a loop's computed live-ins, from the given ones and from the arrays before the loop.

    ``element`` gives a word of an array by its index; an index outside the array has to yield a number, too, since it
    stands for an iteration that a short run does not have. KeyError for a live-in that is missing. Linear in the
    operations.
    """
    known = dict(liveins)
    for name, made in operations.items():
        words = [
            o.value if isinstance(o, Const) else known[o.name] for o in made.operands if isinstance(o, Const | LiveIn)
        ]
        if made.op == "load":
            known[name] = element(made.array or "", words[0])
        else:
            known[name] = _computed(made.op, words)
    return {name: known[name] for name in operations}


def elements_of(memory: Mapping[str, Sequence[int]]) -> Callable[[str, int], int]:
    """The words of some arrays by name and index; 0 outside."""

    def element(name: str, index: int) -> int:
        words = memory[name]
        return int(words[index]) if 0 <= index < len(words) else 0

    return element


def select_operations(operations: Mapping[str, LoopOperation], roots: Sequence[str]) -> dict[str, LoopOperation]:
    """The operations that some live-ins are made of, in their order."""
    wanted = set(roots)
    for name in reversed(list(operations)):
        if name in wanted:
            wanted |= {operand.name for operand in operations[name].operands if isinstance(operand, LiveIn)}
    return {name: made for name, made in operations.items() if name in wanted}


def text(operations: Mapping[str, LoopOperation], name: str) -> str:
    """A computed live-in in the source's terms: ``x[i + 3]``, ``(y - 1) * w``."""
    spoken = _spoken(operations, LiveIn(name))
    return spoken[1:-1] if spoken.startswith("(") else spoken


def _spoken(operations: Mapping[str, LoopOperation], operand: Operand) -> str:
    """An operand of the prologue as an expression, in brackets where it has a sign."""
    if isinstance(operand, Const):
        return str(operand.value)
    if not isinstance(operand, LiveIn) or operand.name not in operations:
        return str(getattr(operand, "name", operand))
    made = operations[operand.name]
    parts = [_spoken(operations, o) for o in made.operands]
    if made.op == "load":
        return f"{made.array}[{parts[0][1:-1] if parts[0].startswith('(') else parts[0]}]"
    if made.op in _SIGNS and len(parts) == 2:
        return f"({parts[0]} {_SIGNS[made.op]} {parts[1]})"
    return f"{made.op}({', '.join(parts)})"


def _computed(op: str, words: list[int]) -> int:
    """The value of an operation on words, as the graph's own semantics have it."""
    import numpy as np

    from gridloom.dfg.ops import lookup
    from gridloom.dfg.semantics import DOMAIN_CODE, evaluate

    return int(
        evaluate(DOMAIN_CODE["i32"], lookup("i32", op).code, 0, np.array([*words, 0], dtype=np.int64), len(words))
    )


class Prologue:
    """Adds computed live-ins to a body; equal ones are made once."""

    def __init__(self, body: Body) -> None:
        self.body = body
        self._made: dict[tuple[str, str | None, tuple[Operand, ...]], LiveIn] = {}

    def emit(self, op: str, *operands: Operand, array: str | None = None, hint: str = "") -> Operand:
        """The live-in or constant that holds an operation on live-ins and constants."""
        from gridloom.compiler.loops.folding import fold_constants, simplify_operation

        constants = [operand.value if isinstance(operand, Const) else None for operand in operands]
        value = fold_constants(op, constants) if array is None else None
        if value is not None:
            return Const(value)
        kept = simplify_operation(op, constants, operands) if array is None else None
        if kept is not None:
            return operands[kept] if kept >= 0 else Const(-1 - kept)
        key = (op, array, operands)
        if key not in self._made:
            name = self._free(hint or op)
            self.body.reserved.add(name)
            self.body.prologue[name] = LoopOperation(op, operands, array)
            self._made[key] = LiveIn(name)
        return self._made[key]

    def _free(self, hint: str) -> str:
        """A name that no operation and no live-in has."""
        stem = name = readable(hint)
        k = 1
        while name in self.body.operations or name in self.body.reserved or name in self.body.prologue:
            k += 1
            name = f"{stem}_{k}"
        return name

    def hoisted(self, operand: Operand) -> Operand:
        """A value that no iteration changes, as a live-in or a constant."""
        if isinstance(operand, CarriedValue):
            # A carried value that no iteration changes is what it starts from.
            first = self.body.carried[operand.name].initial
            return LiveIn(first) if isinstance(first, str) else Const(first)
        if not isinstance(operand, OperationResult):
            return operand
        made = self.body.operations[operand.id]
        operands = [self.hoisted(o) for o in made.operands]
        if made.op == "load":
            return self.element(made.array or "", operands[0])
        if made.op == "move":
            return operands[0]
        return self.emit(made.op, *operands, hint=operand.id)

    def element(self, array: str, index: Operand) -> Operand:
        """The live-in that holds an element of an array before the loop."""
        hint = f"{array}_{index.value}" if isinstance(index, Const) and index.value >= 0 else f"{array}_first"
        return self.emit("load", index, array=array, hint=hint)

    def linear(self, form: LinearForm, hint: str = "") -> Operand:
        """A linear form over fixed values, as a live-in or a constant."""
        total: Operand = Const(form.constant) if not form.terms else Const(0)
        for atom, coefficient in form.terms:
            value = self.hoisted(atom)
            if coefficient == -1:
                total = self.emit("sub", total, value, hint=hint)
                continue
            power = coefficient > 0 and coefficient & (coefficient - 1) == 0
            amount = Const(coefficient.bit_length() - 1)
            scale = ("shl", amount) if power else ("mul", Const(coefficient))
            scaled = self.emit(scale[0], value, scale[1], hint=hint)
            total = scaled if total == Const(0) else self.emit("add", total, scaled, hint=hint)
        return total if not form.terms else self.emit("add", total, Const(form.constant), hint=hint)
