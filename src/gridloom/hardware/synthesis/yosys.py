"""Runs of Yosys over generated Verilog, each in a folder of its own.

Each run has a temporary folder; the script and the reporting command are those of the caller. ``tee`` writes the report
to a file of its own, since Yosys mixes its messages into the standard output.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from gridloom.errors import MissingExtra, SimulationError
from gridloom.hardware.programs import run_program
from gridloom.hardware.rtl.generate import primitive, used_primitives
from gridloom.hardware.rtl.shapes import Shape
from gridloom.hardware.rtl.structure import Hardware
from gridloom.hardware.rtl.unit_module import unit_module

#: The name under which the module of a unit is synthesised, whatever it is called in its array.
UNIT: Final = "unit"
_REPORT: Final = "report.txt"


def available() -> bool:
    """Return True when Yosys is installed."""
    return shutil.which("yosys") is not None


def require() -> None:
    """Raise MissingExtra, which names the package, when Yosys is not installed."""
    if not available():
        raise MissingExtra(
            "yosys is not installed; install the package 'yosys', for instance with apt-get install yosys"
        )


def version() -> str:
    """Return what ``yosys -V`` prints. Needs Yosys."""
    return subprocess.run(["yosys", "-V"], capture_output=True, text=True, check=True).stdout.strip()


def unit_files(hardware: Hardware, shape: Shape) -> dict[str, str]:
    """Return file name -> Verilog of one unit and of all primitives that its array uses.

    Comments and the module's own name are taken out: they do not change the circuit, so units of arrays of other sizes
    have equal texts.
    """
    name = hardware.variants[shape]
    text = re.sub(rf"\b{name}\b", UNIT, re.sub(r"//[^\n]*", "", unit_module(hardware, shape)))
    return {f"{p}.v": primitive(p) for p in used_primitives(hardware)} | {f"{UNIT}.v": text}


def report(files: Mapping[str, str], script: str, command: str) -> str:
    """Read Verilog files, run a script of Yosys over them and return what one last command reports.

    Needs Yosys. SimulationError with the last lines of its messages where it fails. A synthesis takes seconds.
    """
    with tempfile.TemporaryDirectory(prefix="gridloom-yosys-") as place:
        folder = Path(place)
        for name, text in files.items():
            (folder / name).write_text(text, encoding="utf-8")
        commands = f"read_verilog -sv -defer {' '.join(sorted(files))}; {script}; tee -q -o {_REPORT} {command}"
        done = run_program(["yosys", "-q", "-p", commands], folder)
        if done.returncode:
            raise SimulationError("yosys: " + "\n".join(done.stderr.strip().splitlines()[-5:]))
        return (folder / _REPORT).read_text(encoding="utf-8")
