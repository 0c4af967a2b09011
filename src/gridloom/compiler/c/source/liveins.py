"""Live-ins: what a loop reads from before it, under names that the source has."""

from __future__ import annotations

from typing import Final

from gridloom.compiler.c.address import Pointers
from gridloom.compiler.c.lower import width
from gridloom.compiler.ir.ir import Constant, Instruction, IrParameter, Value
from gridloom.compiler.loops.body import Body
from gridloom.compiler.loops.operations import LiveIn, readable
from gridloom.errors import SourceError


class LiveIns:
    """The live-ins of a loop, made as they are asked for; ``values`` says by name which IR value each one is.

    A value of 64 bits is two live-ins: ``high_words`` gives the name of its high word by that of its low word.
    """

    def __init__(self, body: Body, pointers: Pointers) -> None:
        self.body, self.pointers = body, pointers
        self.values: dict[str, Value] = {}
        self.high_words: dict[str, str] = {}

    def high(self, name: str) -> list[str]:
        """The name of a value's high word, if it has one."""
        return [self.high_words[name]] if name in self.high_words else []

    def of(self, value: IrParameter | Instruction) -> LiveIn:
        """The live-in that a value from outside the loop becomes, with the range that its type gives it."""
        bits = width(value.type)
        livein = LiveIn(self._named(value))
        if bits < 32:
            unsigned = bits == 1 or (isinstance(value, IrParameter) and value.unsigned)
            self.body.ranges[livein] = (0, (1 << bits) - 1) if unsigned else (-(1 << (bits - 1)), (1 << (bits - 1)) - 1)
        return livein

    def _named(self, value: IrParameter | Instruction) -> str:
        """The name of a value, which it gets when it is first asked for."""
        name = next((name for name, known in self.values.items() if known is value), None)
        if name is None:
            name = self.name_of(value)
            self.values[name] = value
            self.body.reserved.add(name)
        return name

    def pair_of(self, value: IrParameter | Instruction) -> tuple[LiveIn, LiveIn]:
        """The two live-ins that a value of 64 bits from outside the loop becomes."""
        return self._with_high(self._named(value))

    def start_pair(self, phi: Instruction) -> tuple[LiveIn, LiveIn]:
        """The two words that a 64-bit phi which is entered from several places starts from."""
        return self._with_high(self.start_of(phi).name)

    def _with_high(self, name: str) -> tuple[LiveIn, LiveIn]:
        """The live-ins of both words."""
        if name not in self.high_words:
            high = f"{name}_high"
            while high in self.body.reserved:
                high += "_"
            self.body.reserved.add(high)
            self.high_words[name] = high
        return LiveIn(name), LiveIn(self.high_words[name])

    def name_of(self, value: IrParameter | Instruction) -> str:
        """The parameter's name; for a value read before the loop the element it was read from: ``c_3``.

        Where no variable holds a value, the name says how it is computed: ``i_times_m``.

        Names have to be stable and readable, since users give values to live-ins by name.
        """
        if isinstance(value, IrParameter):
            return readable(value.name)
        stem = self._element(value) or value.variable or _expression(value) or readable(value.name)
        name, k = stem, 1
        while name in self.body.reserved or name in self.body.operations:
            k += 1
            name = f"{stem}_{k}"
        return name

    def _element(self, value: Value) -> str | None:
        """``array_index`` for a value that was loaded before the loop; None where its address has no such name."""
        while isinstance(value, Instruction) and value.opcode in ("sext", "zext", "trunc"):
            value = value.operands[0]
        if not (isinstance(value, Instruction) and value.opcode == "load"):
            return None
        try:
            place = self.pointers.resolve(value.operands[0])
            size = max(width(value.type), 8) // 8
        except SourceError:
            return None
        if place.bytes.constant % size:
            return None
        if not place.bytes.terms:
            return f"{readable(place.base.name)}_{place.bytes.constant // size}"
        if value.variable:
            return None
        address = value.operands[0]
        index = address.operands[-1] if isinstance(address, Instruction) and address.operands else address
        name = _expression(index)
        return None if name is None else f"{readable(place.base.name)}_{name}"

    def start_of(self, phi: Instruction) -> LiveIn:
        """A phi that is entered from several places starts from a live-in of its own."""
        name = f"{phi.variable or readable(phi.name)}_start"
        while name in self.body.reserved:
            name += "_"
        self.values[name] = phi
        self.body.reserved.add(name)
        return LiveIn(name)


#: Instructions whose value is named by what it is computed from, and the longest such name.
_WORDS: Final = {"add": "plus", "sub": "minus", "mul": "times", "sdiv": "over", "udiv": "over", "shl": "shl"}
_LONGEST: Final = 32


def _expression(value: Value, depth: int = 2) -> str | None:
    """A name in words of C variables and numbers; None for a value without one, or with one that is too long."""
    while isinstance(value, Instruction) and not value.variable and value.opcode in ("sext", "zext", "trunc"):
        value = value.operands[0]
    if isinstance(value, IrParameter):
        return readable(value.name)
    if isinstance(value, Constant):
        return str(value.value) if value.value >= 0 else f"minus{-value.value}"
    if not isinstance(value, Instruction):
        return None
    if value.variable or value.opcode == "phi":
        return value.variable or readable(value.name)
    if value.opcode not in _WORDS or not depth:
        return None
    parts = [_expression(operand, depth - 1) for operand in value.operands[:2]]
    name = f"_{_WORDS[value.opcode]}_".join(part for part in parts if part is not None)
    return name if None not in parts and len(name) <= _LONGEST and not name[:1].isdigit() else None
