"""Live-ins: what a loop reads from before it, under names that the source has."""

from __future__ import annotations

from gridloom.errors import SourceError
from gridloom.frontend.c.address import Pointers
from gridloom.frontend.c.llvm.ir import Argument, Instruction, Value
from gridloom.frontend.c.lower import width
from gridloom.frontend.loops.body import Body
from gridloom.frontend.loops.operations import LiveIn, readable


class LiveIns:
    """The live-ins of a loop, made as they are asked for; ``values`` says by name which IR value each one is."""

    def __init__(self, body: Body, pointers: Pointers) -> None:
        self.body, self.pointers = body, pointers
        self.values: dict[str, Value] = {}

    def of(self, value: Argument | Instruction) -> LiveIn:
        """The live-in that a value from outside the loop becomes, with the range that its type gives it."""
        bits = width(value.type)
        name = next((name for name, known in self.values.items() if known is value), None)
        if name is None:
            name = self.name_of(value)
            self.values[name] = value
            self.body.reserved.add(name)
        livein = LiveIn(name)
        if bits < 32:
            unsigned = bits == 1 or (isinstance(value, Argument) and value.unsigned)
            self.body.ranges[livein] = (0, (1 << bits) - 1) if unsigned else (-(1 << (bits - 1)), (1 << (bits - 1)) - 1)
        return livein

    def name_of(self, value: Argument | Instruction) -> str:
        """The parameter's name; for a value read before the loop the element it was read from: ``c_3``.

        Names have to be stable and readable, since users give values to live-ins by name.
        """
        if isinstance(value, Argument):
            return readable(value.name)
        stem = self._element(value) or value.variable or readable(value.name)
        name, k = stem, 1
        while name in self.body.reserved or name in self.body.operations:
            k += 1
            name = f"{stem}_{k}"
        return name

    def _element(self, value: Value) -> str | None:
        """``array_index`` for a value that was loaded from a fixed element before the loop; None for any other."""
        while isinstance(value, Instruction) and value.opcode in ("sext", "zext", "trunc"):
            value = value.operands[0]
        if not (isinstance(value, Instruction) and value.opcode == "load"):
            return None
        try:
            place = self.pointers.resolve(value.operands[0])
            size = max(width(value.type), 8) // 8
        except SourceError:
            return None
        if place.bytes.terms or place.bytes.constant % size:
            return None
        return f"{readable(place.base.name)}_{place.bytes.constant // size}"

    def start_of(self, phi: Instruction) -> LiveIn:
        """A phi that is entered from several places starts from a live-in of its own."""
        name = f"{readable(phi.name)}_start"
        while name in self.body.reserved:
            name += "_"
        self.values[name] = phi
        self.body.reserved.add(name)
        return LiveIn(name)
