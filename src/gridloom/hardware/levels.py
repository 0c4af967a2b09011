"""Critical path of a unit in logic levels, counted by Yosys on generic gates.

A level is a gate on the longest way from register to register. That is no delay in nanoseconds, for which a library
and wires would be needed; between arrays made of the same units it ranks, and exploration multiplies with it.
"""

from __future__ import annotations

import re
import subprocess
import tempfile
from pathlib import Path

from gridloom.errors import MissingExtra, SimulationError
from gridloom.hardware.area import available
from gridloom.hardware.rtl.generate import primitive, used_primitives
from gridloom.hardware.rtl.structure import Hardware, Shape
from gridloom.hardware.rtl.unit_module import unit_module

_LENGTH = re.compile(r"Longest topological path in \S+ \(length=(\d+)\)")


def unit_levels(hardware: Hardware, shape: Shape) -> int:
    """Logic levels of one unit's longest path. Costs a synthesis; MissingExtra where Yosys is not installed."""
    if not available():
        raise MissingExtra(
            "yosys is not installed; install the package 'yosys', for instance with apt-get install yosys"
        )
    name = hardware.variants[shape]
    texts = {f"{p}.v": primitive(p) for p in used_primitives(hardware)} | {"unit.v": unit_module(hardware, shape)}
    with tempfile.TemporaryDirectory(prefix="gridloom-levels-") as place:
        for file, text in texts.items():
            (Path(place) / file).write_text(text, encoding="utf-8")
        script = f"read_verilog -sv {' '.join(sorted(texts))}; synth -flatten -top {name}; opt_clean; ltp -noff"
        done = subprocess.run(["yosys", "-p", script], cwd=place, capture_output=True, text=True, check=False)
    found = _LENGTH.search(done.stdout)
    if done.returncode or found is None:
        raise SimulationError("yosys: " + "\n".join(done.stderr.strip().splitlines()[-5:]))
    return int(found.group(1))
