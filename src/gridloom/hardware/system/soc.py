"""A RISC-V core, memory and the system in Verilator: runs a program and returns what it printed.

The core is VexRiscv as the PyPI package ``pythondata-cpu-vexriscv`` brings it: five stages, caches of 4 KB for
instructions and data, products and shifts in one cycle. It is read from the package and not copied.
"""

from __future__ import annotations

import re
import tempfile
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path
from typing import Final

from gridloom.errors import MissingExtra, SimulationError, install_hint
from gridloom.hardware.programs import run_program
from gridloom.hardware.system.parameters import System
from gridloom.hardware.system.top import simulation_text, system_files
from gridloom.hardware.verilated import build_program

#: Cycles after which a program is ended.
LIMIT: Final = 100_000_000


@dataclass(frozen=True)
class Faults:
    """What goes wrong while a program runs: addresses that answer with errors, a bus that stops answering, a reset.

    ``hang`` and ``reset`` are cycles of the simulation; None: never.
    """

    errors: tuple[int, int] | None = None
    hang: int | None = None
    reset: int | None = None

    def options(self) -> list[str]:
        """The options of the simulation."""
        words = [f"+error_low={self.errors[0]:x}", f"+error_high={self.errors[1]:x}"] if self.errors else []
        words += [f"+hang={self.hang}"] if self.hang is not None else []
        return words + ([f"+reset={self.reset}"] if self.reset is not None else [])


@dataclass(frozen=True)
class ProgramRun:
    """What a program printed, how it ended, and the numbers that it reported."""

    output: str
    #: The program's status; None where it did not end within the limit.
    status: int | None
    numbers: dict[str, int] = field(default_factory=dict)


def core_text() -> str:
    """The Verilog of the core. MissingExtra where its package is not installed."""
    spec = find_spec("pythondata_cpu_vexriscv")
    for folder in (spec.submodule_search_locations or []) if spec else []:
        path = Path(folder) / "verilog" / "VexRiscv.v"
        if path.is_file():
            return path.read_text(encoding="utf-8")
    raise MissingExtra(f"the core needs pythondata-cpu-vexriscv, which is not installed: {install_hint('system')}")


def soc_program(system: System) -> Path:
    """The simulation of core, memory and system; built on first use, which takes up to some minutes."""
    files = system_files(system) | {"soc.v": simulation_text("soc.v"), "VexRiscv.v": core_text()}
    return build_program(files, "gridloom_soc", simulation_text("soc.cpp"))


def run_soc(program: Path, binary: bytes, *, faults: Faults | None = None, limit: int = LIMIT) -> ProgramRun:
    """Run the binary of a program. SimulationError where the simulation itself fails."""
    with tempfile.TemporaryDirectory(prefix="gridloom-soc-") as name:
        folder = Path(name)
        padded = binary + bytes(-len(binary) % 4)
        words = [int.from_bytes(padded[k : k + 4], "little") for k in range(0, len(padded), 4)]
        (folder / "program.hex").write_text("\n".join(f"{word:08x}" for word in words) + "\n", encoding="utf-8")
        options = (faults or Faults()).options()
        done = run_program([str(program), "+program=program.hex", f"+limit={limit}", *options], folder)
    if "exit " not in done.stdout:
        raise SimulationError(f"the simulation of the program failed: {(done.stderr or done.stdout)[-300:]}")
    text, _, ending = done.stdout.rpartition("exit ")
    status = ending.split()[0]
    return read_report(text, None if status == "limit" else int(status))


def read_report(text: str, status: int | None) -> ProgramRun:
    """What a program printed, without the numbers that it reported, and those."""
    numbers = {m[1]: int(m[2], 16) for m in re.finditer(r"^#(\w+) ([0-9a-f]{8})$", text, re.M)}
    output = "\n".join(line for line in text.splitlines() if not re.match(r"#\w+ [0-9a-f]{8}$", line))
    return ProgramRun(output, status, numbers)
