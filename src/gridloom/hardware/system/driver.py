"""The Python driver of a system: the calls of the C driver, over anything that reads and writes registers.

An error of the system, and anything that does not end within the driver's limit, is a :class:`SystemFault` with a name
and a sentence.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Protocol

from gridloom.errors import SimulationError
from gridloom.hardware.system.image import MAGIC, with_sums
from gridloom.hardware.system.registers import (
    ADDRESS,
    CHANNEL_BYTES,
    ENABLED,
    ERRORS,
    FAILED,
    ID,
    LOADING,
    MOVING,
    PENDING,
    RUNNING,
    VERSION,
)

RESET, DRIVER = 12, 13
#: Reads of a status register before the driver gives up.
LIMIT: Final = 200_000


class RegisterAccess(Protocol):
    """What the driver talks to: a simulation, or a board."""

    def write(self, address: int, word: int) -> bool:
        """Write a register; False where there is none."""

    def read(self, address: int) -> int | None:
        """Read a register; None where there is none."""


class SystemFault(SimulationError):
    """An error of the system: ``code`` is its number in the register map, ``name`` its name."""

    def __init__(self, code: int) -> None:
        self.code = code
        self.name, meaning = ERRORS.get(code, ("UNKNOWN", f"error {code}"))
        super().__init__(f"{self.name}: {meaning}")


@dataclass(frozen=True)
class Pattern:
    """Elements in memory: ``rows`` rows of ``count`` elements of ``size`` bytes."""

    address: int
    count: int
    size: int = 4
    stride: int = 0
    rows: int = 1
    row_stride: int = 0
    signed: bool = True

    def words(self, place: int) -> list[int]:
        """The words of a descriptor."""
        kind = {1: 0, 2: 1, 4: 2}[self.size] | (4 if self.signed else 0)
        return [self.address, kind, self.count, self.stride or self.size, self.rows, self.row_stride, place]


class Driver:
    """Drives a system. :meth:`open` has to come first, also after a reset."""

    def __init__(self, registers: RegisterAccess, limit: int = LIMIT) -> None:
        self.registers, self.limit = registers, limit

    # -- registers ----------------------------------------------------------------------------------------------------

    def read(self, name: str, index: int = 0) -> int:
        """A register by name; of a list of registers, one of them."""
        found = self.registers.read(ADDRESS[name] + 4 * index)
        if found is None:
            raise SystemFault(DRIVER)
        return found

    def write(self, name: str, word: int, index: int = 0) -> None:
        """Write a register by name."""
        if not self.registers.write(ADDRESS[name] + 4 * index, word):
            raise SystemFault(DRIVER)

    def open(self) -> None:
        """Check that a system answers and enable it. SystemFault where the registers are another system's."""
        if self.read("ID") != ID or self.read("VERSION") != VERSION:
            raise SystemFault(DRIVER)
        self.write("ERROR", 0)
        self.write("CONTROL", 3)

    def stop(self) -> None:
        """Stop everything; what is on the bus is finished without an effect."""
        self.write("CONTROL", 4 | 1)

    # -- images -------------------------------------------------------------------------------------------------------

    def check_image(self, words: Sequence[int]) -> None:
        """SystemFault, as the hardware would name it, for an image that the hardware would refuse."""
        if len(words) < 10 or words[3] != len(words):
            raise SystemFault(4 if words and words[0] != MAGIC else 7)
        for code, found, expected in ((4, words[0], MAGIC), (5, words[1], VERSION), (6, words[2], self.read("ARRAY"))):
            if found != expected:
                raise SystemFault(code)
        if with_sums(words[:-2]) != list(words):
            raise SystemFault(8)

    def load(self, address: int, words: int, bank: int) -> None:
        """Begin to load an image from memory into a bank."""
        self.write("LOAD_ADDRESS", address)
        self.write("LOAD_WORDS", words)
        self.write("LOAD_BANK", bank)

    def wait_load(self) -> None:
        """Wait until no image is being loaded. SystemFault where the system refuses it."""
        self._wait(LOADING)

    # -- data ---------------------------------------------------------------------------------------------------------

    def start_read(self, channel: int, pattern: Pattern, place: int = 0) -> None:
        """Begin to read elements of memory, into the data memory from ``place`` on or into a stream."""
        self._describe("READ", channel, pattern, place)
        self.write("START", 1 << channel)

    def start_write(self, channel: int, pattern: Pattern, place: int = 0) -> None:
        """Begin to write elements to memory, from the data memory or from a stream."""
        self._describe("WRITE", channel, pattern, place)
        self.write("START", 1 << 16 + channel)

    def _describe(self, side: str, channel: int, pattern: Pattern, place: int) -> None:
        for k, word in enumerate(pattern.words(place)):
            self.write(side, word, channel * CHANNEL_BYTES // 4 + k)

    def wait_channels(self) -> None:
        """Wait until no channel is busy."""
        for _ in range(self.limit):
            self._check()
            if not self.read("CHANNELS"):
                self._check()
                return
        raise SystemFault(DRIVER)

    # -- launches -----------------------------------------------------------------------------------------------------

    def launch(self, bank: int, iterations: int, liveins: Sequence[int] = (), streams: int = 0) -> None:
        """Launch the image of a bank, and start the channels of ``streams`` (bits as in CHANNELS) with it.

        The launch waits for the one before it. Nothing of the next launch may be written before :meth:`wait_ready`.
        """
        for k, word in enumerate(liveins):
            self.write("LIVEIN", word, k)
        self.write("ITERATIONS", iterations)
        self.write("BANK", bank)
        self.write("STREAMS", streams)
        self.write("LAUNCH", 1)

    def wait_ready(self) -> None:
        """Wait until the live-ins and descriptors of the next launch may be written."""
        self._wait(PENDING)

    def wait_idle(self) -> None:
        """Wait until every launch has ended and no channel is busy."""
        self._wait(RUNNING | MOVING)

    def wait_launch(self) -> None:
        """Wait until the array has run."""
        self._wait(RUNNING)

    def liveout(self, number: int) -> int:
        """A live-out of the last launch, as a signed word."""
        word = self.read("LIVEOUT", number)
        return word - (1 << 32) if word >> 31 else word

    def counters(self) -> dict[str, int]:
        """The counters by name."""
        return {name.lower(): self.read(name) for name in
                ("BUSY", "STALLED", "CONFIGURING", "LOADING", "MOVING", "TRANSFER", "WAITING", "CYCLES")}  # fmt: skip

    # -- waiting ------------------------------------------------------------------------------------------------------

    def _check(self) -> int:
        """The status; SystemFault for an error, which is cleared, and for a system that was reset."""
        status = self.read("STATUS")
        if not status & ENABLED:
            raise SystemFault(RESET)
        if status & FAILED:
            self.write("ERROR", 0)
            raise SystemFault(status >> 8 & 255)
        return status

    def _wait(self, mask: int) -> None:
        for _ in range(self.limit):
            if not self._check() & mask:
                self._check()
                return
        raise SystemFault(DRIVER)
