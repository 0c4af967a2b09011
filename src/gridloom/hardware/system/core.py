"""The core of the test system without Verilog: runs the same binaries, and says how many cycles they take.

:class:`CoreRun` has memory, registers and time; :mod:`gridloom.hardware.system.core_kernel` runs instructions. Accesses
outside of memory go to devices: the cycle counter, letters and the end of a program, and the system of the array where
there is one.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final, Protocol

import numpy as np

from gridloom.errors import SimulationError
from gridloom.hardware.system.soc import ProgramRun, read_report

#: Registers of the test system: time, a letter, the end, a word in hexadecimal.
HOST: Final = 0xF0010000
#: Registers of the array's system.
SYSTEM: Final = 0xF0000000
#: Bytes of memory, as the test system has them.
MEMORY_BYTES: Final = 1 << 24
#: Cycles from the issue of a load until a device has its answer there, and of a store until the bus has it.
HOST_READ: Final = 5
HOST_WRITE: Final = 1


class Device(Protocol):
    """What answers loads and stores of the core besides memory."""

    def read(self, address: int, cycle: int) -> tuple[int, int]:
        """The word at an address, and the cycle in which the core has it."""
        ...

    def write(self, address: int, word: int, cycle: int) -> int:
        """Store a word; returns the cycle from which on the core goes on."""
        ...


@dataclass(frozen=True)
class CoreProfile:
    """How often each word of the code ran, and the cycles that it took, by address."""

    counts: np.ndarray[Any, Any]
    spent: np.ndarray[Any, Any]


class CoreRun:
    """A program on the core. ``device`` is the system of the array."""

    def __init__(
        self, binary: bytes, *, device: Callable[[CoreRun], Device] | None = None, profiled: bool = False,
        memory_bytes: int = MEMORY_BYTES,
    ) -> None:  # fmt: skip
        from gridloom.hardware.system.core_kernel import BASE, LIMIT_AT, PC, STATE_WORDS

        words = memory_bytes // 4
        self.memory: np.ndarray[Any, np.dtype[np.uint32]] = np.zeros(words, np.uint32)
        padded = binary + bytes(-len(binary) % 4)
        if len(padded) > memory_bytes:
            raise SimulationError(f"the program has {len(padded)} bytes, the memory of the core {memory_bytes}")
        self.memory[: len(padded) // 4] = np.frombuffer(padded, "<u4")
        self.state = np.zeros(STATE_WORDS, np.int64)
        self.state[PC], self.state[LIMIT_AT] = BASE, 1 << 62
        self.registers, self.ready = np.zeros(32, np.int64), np.zeros(32, np.int64)
        self.lines = np.full(128, -1, np.int64), np.full(128, -1, np.int64)
        size = words if profiled else 0
        self.profile = CoreProfile(np.zeros(size, np.int64), np.zeros(size, np.int64))
        self.output: list[str] = []
        #: What the program marked: (word, cycle).
        self.laps: list[tuple[int, int]] = []
        self.status: int | None = None
        self.device = device(self) if device is not None else None

    @property
    def cycle(self) -> int:
        """The cycle of the core."""
        from gridloom.hardware.system.core_kernel import CYCLE

        return int(self.state[CYCLE])

    def run(self, limit: int = 1 << 40) -> ProgramRun:
        """Run to the end; the status is None where the program does not end within so many cycles.

        SimulationError for an instruction or an address that the core does not have.
        """
        from gridloom.hardware.system import core_kernel as kernel

        state = self.state
        state[kernel.LIMIT_AT] = limit
        while self.status is None:
            profile = self.profile
            reason = kernel.run_core(
                state, self.registers, self.ready, self.memory, *self.lines, profile.counts, profile.spent
            )
            if reason == kernel.LATE:
                break
            if reason == kernel.LOAD_OUTSIDE:
                self._load(kernel)
            elif reason == kernel.STORE_OUTSIDE:
                self._store(kernel)
            else:
                raise SimulationError(f"the program stopped at {int(state[kernel.PC]):#x}: no instruction of the core")
        return read_report("".join(self.output), self.status)

    def _load(self, kernel: Any) -> None:
        """Answer a load that is none of memory."""
        state = self.state
        address, issue, target = (int(state[k]) for k in (kernel.ADDRESS, kernel.FETCHED, kernel.TARGET))
        word, done = self._read(address, issue)
        if target:
            self.registers[target] = word & 0xFFFFFFFF
            self.ready[target] = done
        state[kernel.CYCLE] = max(int(state[kernel.CYCLE]), done - 2)

    def _store(self, kernel: Any) -> None:
        """Take a store that is none of memory."""
        state = self.state
        address, issue, word = (int(state[k]) for k in (kernel.ADDRESS, kernel.FETCHED, kernel.VALUE))
        state[kernel.CYCLE] = max(int(state[kernel.CYCLE]), self._write(address, word, issue))

    def _read(self, address: int, issue: int) -> tuple[int, int]:
        if address >= HOST:
            return issue + 4, issue + HOST_READ
        return self._system(address).read(address - SYSTEM, issue)

    def _write(self, address: int, word: int, issue: int) -> int:
        if address < HOST:
            return self._system(address).write(address - SYSTEM, word, issue)
        number = (address - HOST) // 4
        if number == 1:
            self.output.append(chr(word & 255))
        elif number == 2:
            self.status = word
        elif number == 3:
            self.output.append(f"{word:08x}")
        elif number == 4:
            self.laps.append((word, issue))
        return issue + HOST_WRITE

    def _system(self, address: int) -> Device:
        """The system of the array. SimulationError for any other address."""
        if self.device is None or not SYSTEM <= address < SYSTEM + 0x10000:
            raise SimulationError(f"the program accesses address {address:#x}, where nothing is")
        return self.device
