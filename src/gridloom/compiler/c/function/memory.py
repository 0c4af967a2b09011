"""The memory of a run: one 32-bit address space of bytes with objects in it, as the fixed target sees it.

Objects (arguments, globals, the stack) lie apart, so that an access beside one of them is found. For each access size
a table says at which addresses such an access is whole and aligned; generated code asks the table and reads a typed
view, and everything else goes through :meth:`Memory.load` and :meth:`Memory.store`, which say what is wrong.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from gridloom.errors import SourceError

#: Addresses below are never given out: a null pointer and small offsets from it lead nowhere.
FIRST_ADDRESS: Final = 4096
_ALIGNMENT: Final = 64
_GAP: Final = 64
_SIZES: Final = (1, 2, 4, 8)
_FORMATS: Final[dict[str, Any]] = {"i8": "b", "i16": "h", "i32": "i", "i64": "q", "float": "f", "double": "d"}


@dataclass(frozen=True, slots=True)
class MemoryObject:
    """An object in memory."""

    name: str
    address: int
    size: int


class Memory:
    """Bytes with objects in it. ``objects`` gives the contents of each by name; ``stack`` bytes are kept for calls.

    Costs a few bytes of tables for each byte of the objects.
    """

    def __init__(self, objects: Mapping[str, bytes], stack: int = 0) -> None:
        self.objects: dict[str, MemoryObject] = {}
        address = FIRST_ADDRESS
        for name, contents in objects.items():
            self.objects[name] = MemoryObject(name, address, len(contents))
            address += -(-(len(contents) + _GAP) // _ALIGNMENT) * _ALIGNMENT
        self._stack_start = self._stack = address
        self._stack_end = address + stack
        self.bytes = bytearray(self._stack_end + _GAP)
        self.whole = {size: bytearray(len(self.bytes)) for size in _SIZES}
        whole = memoryview(self.bytes)
        self.views: dict[str, Any] = {kind: whole.cast(code) for kind, code in _FORMATS.items()}
        self.array = np.frombuffer(self.bytes, np.uint8)
        for name, contents in objects.items():
            placed = self.objects[name]
            self.bytes[placed.address : placed.address + placed.size] = contents
            self._mark(placed.address, placed.size, 1)

    def _mark(self, address: int, size: int, value: int) -> None:
        """Note that the bytes of an object exist (1), or no longer do (0)."""
        for width, table in self.whole.items():
            count = size // width
            if count:
                table[address : address + count * width : width] = bytes([value]) * count

    def contents(self, name: str) -> bytes:
        """The bytes of an object as they stand."""
        placed = self.objects[name]
        return bytes(self.bytes[placed.address : placed.address + placed.size])

    def find(self, address: int) -> MemoryObject | None:
        """The object that an address lies in or right behind; None where there is none."""
        for placed in self.objects.values():
            if placed.address <= address <= placed.address + placed.size:
                return placed
        return None

    # -- the stack --------------------------------------------------------------------------------------------------

    def push(self, size: int) -> int:
        """The address of a new object on the stack. SourceError when the stack is full."""
        address = self._stack
        room = -(-(max(size, 1) + _GAP) // _ALIGNMENT) * _ALIGNMENT
        if address + room > self._stack_end:
            raise SourceError(
                f"the local arrays and calls take more than the {self._stack_end - self._stack_start} bytes of stack"
            )
        self._stack += room
        self.bytes[address : address + size] = bytes(size)
        self._mark(address, size, 1)
        # Objects of the stack are named by their address only: they are nobody's data.
        self.objects[f"stack {address:#x}"] = MemoryObject("a local array", address, size)
        return address

    @property
    def mark(self) -> int:
        """Where the stack ends, to give to :meth:`release`."""
        return self._stack

    def release(self, mark: int) -> None:
        """Remove what was pushed since a mark."""
        for key in [key for key, placed in self.objects.items() if key.startswith("stack ") and placed.address >= mark]:
            placed = self.objects.pop(key)
            self._mark(placed.address, placed.size, 0)
        self._stack = mark

    # -- accesses that are not whole and aligned --------------------------------------------------------------------

    def load(self, address: int, kind: str, line: int) -> Any:
        """What stands at an address that is not aligned. SourceError with the line for one outside its object."""
        size = self.views[kind].itemsize
        self._check(address, size, line, "reads")
        return memoryview(bytes(self.bytes[address : address + size])).cast(_FORMATS[kind])[0]

    def store(self, address: int, value: Any, kind: str, line: int) -> None:
        """Write at an address that is not aligned. SourceError with the line for one outside its object."""
        size = self.views[kind].itemsize
        self._check(address, size, line, "writes")
        word = bytearray(size)
        memoryview(word).cast(_FORMATS[kind])[0] = value
        self.bytes[address : address + size] = word

    def _check(self, address: int, size: int, line: int, what: str) -> None:
        """Raise SourceError unless all bytes of an access are in one object."""
        placed = self.find(address)
        if placed is not None and address + size <= placed.address + placed.size:
            return
        where = f"line {line}" if line else "the function"
        near = placed or self._nearest(address)
        if address < FIRST_ADDRESS or near is None:
            raise SourceError(f"{where} {what} at address {address}, through a pointer that leads nowhere")
        raise SourceError(
            f"{where} {what} {size} byte{'s' if size > 1 else ''} at byte {address - near.address} of {near.name}, "
            f"which has {near.size}; give a longer array, or smaller arguments"
        )

    def _nearest(self, address: int) -> MemoryObject | None:
        """The object that begins or ends next to an address."""

        def distance(placed: MemoryObject) -> int:
            return min(abs(placed.address - address), abs(placed.address + placed.size - address))

        return min(self.objects.values(), key=distance, default=None)

    def span(self, address: int, size: int, line: int, what: str) -> slice:
        """The bytes from an address on, for block moves. SourceError where they are not of one object."""
        if size:
            self._check(address, size, line, what)
        return slice(address, address + size)
