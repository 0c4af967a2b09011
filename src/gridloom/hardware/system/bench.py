"""The system in Verilator with a memory behind its bus: a process that takes commands and answers them.

The memory can be slow, wait at random, answer with errors and stop answering, which is how faults are tried.
"""

from __future__ import annotations

import contextlib
import subprocess
from collections.abc import Sequence
from types import TracebackType
from typing import Final

from gridloom.errors import SimulationError
from gridloom.hardware.system.parameters import System
from gridloom.hardware.system.top import SYSTEM, simulation_text, system_files
from gridloom.hardware.verilated import build_program

#: Where the memory begins.
BASE: Final = 0x40000000


class SystemBench:
    """A running simulation of a system: registers, memory, time and faults. Use it as a context manager.

    The first one of a system builds it, which takes up to some minutes; later ones start at once.
    """

    def __init__(self, system: System, memory_bytes: int = 1 << 20) -> None:
        program = build_program(system_files(system), SYSTEM, simulation_text("bench.cpp"))
        self.system, self.memory_bytes = system, memory_bytes
        self._process = subprocess.Popen(
            [str(program), str(memory_bytes)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )

    def __enter__(self) -> SystemBench:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()

    def close(self) -> None:
        """End the simulation."""
        with contextlib.suppress(BrokenPipeError):
            self._process.communicate("", timeout=10)

    def _ask(self, line: str) -> str:
        """Send a command and return the answer. SimulationError where the simulation has ended."""
        assert self._process.stdin is not None and self._process.stdout is not None
        try:
            self._process.stdin.write(line + "\n")
            self._process.stdin.flush()
            answer = self._process.stdout.readline()
        except BrokenPipeError:
            answer = ""
        if not answer:
            raise SimulationError(f"the simulation of the system ended at {line.split()[0]!r}")
        return answer.strip()

    def write(self, address: int, word: int) -> bool:
        """Write a register; False where the system refuses the address."""
        return self._ask(f"w {address:x} {word & 0xFFFFFFFF:x}") == "ok"

    def read(self, address: int) -> int | None:
        """Read a register; None where the system refuses the address."""
        answer = self._ask(f"r {address:x}")
        return None if answer == "refused" else int(answer, 16)

    def store(self, address: int, contents: bytes) -> None:
        """Put bytes into memory, in no time."""
        for first in range(0, len(contents), 4096):
            self._ask(f"m {address + first:x} {contents[first : first + 4096].hex()}")

    def fetch(self, address: int, count: int) -> bytes:
        """Bytes of memory, in no time."""
        return bytes.fromhex(self._ask(f"d {address:x} {count:x}")) if count else b""

    def store_words(self, address: int, words: Sequence[int]) -> None:
        """Put 32-bit words into memory."""
        self.store(address, b"".join((word & 0xFFFFFFFF).to_bytes(4, "little") for word in words))

    def tick(self, cycles: int = 1) -> None:
        """Let some cycles pass."""
        self._ask(f"t {cycles}")

    def reset(self) -> None:
        """Reset the system, and what is under way on the bus."""
        self._ask("x")

    @property
    def cycles(self) -> int:
        """Cycles since the simulation began."""
        return int(self._ask("c"))

    @property
    def interrupt(self) -> bool:
        """The interrupt line."""
        return self._ask("i") == "1"

    def answer_errors(self, low: int, high: int) -> None:
        """Let the memory answer accesses from ``low`` to ``high`` with an error; none where ``low`` is above."""
        self._ask(f"errors {low:x} {high:x}")

    def hang(self, on: bool) -> None:
        """Let the memory stop answering, or answer again."""
        self._ask(f"hang {int(on)}")

    def wait_at_random(self, seed: int) -> None:
        """Let the memory wait in random cycles; 0: never."""
        self._ask(f"noise {seed}")
