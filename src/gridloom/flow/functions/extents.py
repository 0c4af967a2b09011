"""How long random arrays have to be: as long as the function reaches with the numbers that it is given.

The function runs once on arrays with room to spare, and every access notes how far it went. So sizes come from what
counts: declarations, bounds of loops and arguments alike. Longer arrays would move data that nobody touches.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

from gridloom.compiler.c.function.memory import Memory, MemoryObject
from gridloom.errors import SourceError
from gridloom.flow.functions.data import RANDOM_ELEMENTS, Arguments, read_arguments
from gridloom.limits import TimeUp, deadline

if TYPE_CHECKING:
    from gridloom.flow.functions.compile import Compiled

#: Elements that are tried where fewer are too few.
_MORE: Final = (RANDOM_ELEMENTS, 16 * RANDOM_ELEMENTS, 256 * RANDOM_ELEMENTS)
#: Accesses and seconds after which the arrays stay as long as they are.
_MOST_ACCESSES: Final = 2_000_000
_SECONDS: Final = 5.0


class _EnoughAccesses(Exception):
    """As many accesses as are followed."""


class ExtentMemory(Memory):
    """A memory that notes the last byte that is reached in each object."""

    def __init__(self, objects: Mapping[str, bytes], stack: int = 0) -> None:
        super().__init__(objects, stack)
        self.reached = dict.fromkeys(objects, 0)
        self.left = _MOST_ACCESSES
        for placed in self.objects.values():
            if not placed.name.startswith("@"):
                # No access is known to be whole, so that each one is checked, and noted.
                self._mark(placed.address, placed.size, 0)

    def _check(self, address: int, size: int, line: int, what: str) -> None:
        super()._check(address, size, line, what)
        placed: MemoryObject | None = self.find(address)
        if placed is not None and placed.name in self.reached:
            self.reached[placed.name] = max(self.reached[placed.name], address + size - placed.address)
        self.left -= 1
        if self.left < 0:
            raise _EnoughAccesses


def fit_arguments(compiled: Compiled, given: Mapping[str, Any], seed: int | None) -> Arguments:
    """The arguments of a run; random arrays are as long as the function needs them. See :func:`read_arguments`.

    With random arrays it costs a run on the host, some microseconds for each access.
    """
    made_up = [p.name for p in compiled.signature.parameters if p.type.pointer and p.name not in given]
    if seed is None or not made_up:
        return read_arguments(compiled.signature, given, seed)
    for elements in _MORE:
        arguments = read_arguments(compiled.signature, given, seed, dict.fromkeys(made_up, elements))
        try:
            reached = _reached(compiled, arguments)
        except SourceError:
            continue
        except (_EnoughAccesses, TimeUp):
            return arguments
        sizes = {parameter.name: parameter.type.dtype.itemsize for parameter in compiled.signature.parameters}
        needed = {name: max(1, -(-reached[name] // sizes[name])) for name in made_up if name in reached}
        return read_arguments(compiled.signature, given, seed, needed)
    return read_arguments(compiled.signature, given, seed)


def _reached(compiled: Compiled, arguments: Arguments) -> Mapping[str, int]:
    """The bytes of each object that the function reaches. SourceError where it reaches farther."""
    from gridloom.flow.functions.run import LIMIT, _values

    host = compiled.plain_host
    memory = ExtentMemory({**host.contents(), **arguments.objects}, host.stack)
    with deadline(_SECONDS, "measuring arrays"):
        host.run(memory, compiled.program.function, _values(compiled, arguments, memory), {}, LIMIT, [])
    return memory.reached
