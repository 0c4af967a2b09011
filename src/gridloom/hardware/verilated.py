"""Programs that Verilator makes of Verilog, built once and kept by content in the user's cache."""

from __future__ import annotations

import hashlib
import os
import shutil
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from gridloom.errors import MissingExtra, SimulationError
from gridloom.hardware.programs import run_program

#: Part of a program's key: what the options of Verilator and the C++ compiler are.
_RECIPE: Final = "2"
_COMMON: Final = ("-O3", "-Wno-fatal", "-Wno-lint", "-Wno-style", "-Wno-STMTDLY", "-j", "2", "-o", "simulation")
_WITH_MAIN: Final = (
    "--cc", "--exe", "--build", "--x-assign", "fast", "--x-initial", "fast", "-CFLAGS", "-O1 -std=c++17", "main.cpp"
)  # fmt: skip
#: A testbench in Verilog has delays. What a register holds before it is written is a random word.
_TESTBENCH: Final = ("--binary", "--timing", "--x-initial", "unique")


def cache_folder() -> Path:
    """The folder in which built programs are kept."""
    return Path.home() / ".cache" / "gridloom" / "verilated"


def build_program(files: Mapping[str, str], top: str, main: str = "") -> Path:
    """Return the program that Verilator makes of a module; it is built where the cache has none of this content.

    ``main`` is the C++ that drives the module; without it the module is a testbench that runs by itself.
    MissingExtra without Verilator, SimulationError with its words where it refuses the files. A first build takes from
    half a minute to a few minutes.
    """
    text = "\0".join([_RECIPE, top, main, *(f"{name}\0{files[name]}" for name in sorted(files))])
    folder = cache_folder() / hashlib.sha256(text.encode()).hexdigest()[:24]
    program = folder / "simulation"
    if program.is_file():
        return program
    if shutil.which("verilator") is None:
        raise MissingExtra("verilator is not installed: apt-get install verilator")
    with tempfile.TemporaryDirectory(prefix="gridloom-verilated-") as name:
        work = Path(name)
        for file, content in (dict(files) | ({"main.cpp": main} if main else {})).items():
            (work / file).write_text(content, encoding="utf-8")
        verilog = sorted(file for file in files if file.endswith(".v"))
        options = [*(_WITH_MAIN if main else _TESTBENCH), *_COMMON]
        done = run_program(["verilator", *options, "--top-module", top, *verilog], work)
        if done.returncode:
            lines = [line for line in (done.stderr + done.stdout).splitlines() if "rror" in line]
            raise SimulationError(f"verilator: {lines[0] if lines else 'gave no program'}")
        folder.mkdir(parents=True, exist_ok=True)
        # Another process may build the same one; a file appears whole or not at all.
        shutil.copy2(work / "obj_dir" / "simulation", folder / f"simulation.{os.getpid()}")
        os.replace(folder / f"simulation.{os.getpid()}", program)
    return program
