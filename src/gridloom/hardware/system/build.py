"""Verilated programs of systems, built once and kept by content in the user's cache."""

from __future__ import annotations

import hashlib
import os
import shutil
import tempfile
from collections.abc import Mapping
from importlib import resources
from pathlib import Path

from gridloom.errors import MissingExtra, SimulationError
from gridloom.hardware.programs import run_program

#: Part of a program's key: what the options of Verilator and the C++ compiler are.
_RECIPE = "1"


def simulation_text(name: str) -> str:
    """The text of a file beside the generated ones: the C++ around a module, or a module of the test system."""
    return (resources.files("gridloom.hardware.system") / "simulation" / name).read_text(encoding="utf-8")


def cache_folder() -> Path:
    """The folder in which built programs are kept."""
    return Path.home() / ".cache" / "gridloom" / "system"


def built(files: Mapping[str, str], top: str, main: str) -> Path:
    """The program that Verilator makes of a module and a C++ file; built where the cache has none of this content.

    MissingExtra without Verilator, SimulationError with its words where it refuses the files. A first build takes from
    half a minute to a few minutes.
    """
    text = "\0".join([_RECIPE, top, main, *(f"{name}\0{files[name]}" for name in sorted(files))])
    folder = cache_folder() / hashlib.sha256(text.encode()).hexdigest()[:24]
    program = folder / "simulation"
    if program.is_file():
        return program
    if shutil.which("verilator") is None:
        raise MissingExtra("the system is simulated by Verilator: apt-get install verilator")
    with tempfile.TemporaryDirectory(prefix="gridloom-system-") as name:
        work = Path(name)
        for file, content in files.items():
            (work / file).write_text(content, encoding="utf-8")
        (work / "main.cpp").write_text(main, encoding="utf-8")
        verilog = sorted(file for file in files if file.endswith(".v"))
        command = [
            "verilator", "--cc", "--exe", "--build", "-O3", "--x-assign", "fast", "--x-initial", "fast", "-Wno-fatal",
            "-Wno-lint", "-CFLAGS", "-O1 -std=c++17", "-j", "2", "--top-module", top, "-o", "simulation",
            "main.cpp", *verilog,
        ]  # fmt: skip
        done = run_program(command, work)
        if done.returncode:
            lines = [line for line in (done.stderr + done.stdout).splitlines() if "rror" in line]
            raise SimulationError(f"verilator: {lines[0] if lines else 'gave no program'}")
        folder.mkdir(parents=True, exist_ok=True)
        # Another process may build the same one; a file appears whole or not at all.
        shutil.copy2(work / "obj_dir" / "simulation", folder / f"simulation.{os.getpid()}")
        os.replace(folder / f"simulation.{os.getpid()}", program)
    return program
