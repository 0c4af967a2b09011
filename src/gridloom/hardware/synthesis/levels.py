"""Critical path of a unit in logic levels, counted by Yosys on generic gates.

A level is a gate on the longest path from register to register. That is no delay in nanoseconds, for which a cell
library and wires would be needed. Between arrays made of the same units it ranks them, and exploration multiplies with
it.
"""

from __future__ import annotations

import re

from gridloom.errors import SimulationError
from gridloom.hardware.rtl.shapes import Shape
from gridloom.hardware.rtl.structure import Hardware
from gridloom.hardware.synthesis import yosys

_LENGTH = re.compile(r"Longest topological path in \S+ \(length=(\d+)\)")


def unit_levels(hardware: Hardware, shape: Shape) -> int:
    """Return the logic levels of one unit's longest path.

    Costs a synthesis; MissingExtra where Yosys is not installed.

    The result is not cached. SimulationError where Yosys fails or reports no path.
    """
    yosys.require()
    script = f"synth -flatten -top {yosys.UNIT}; opt_clean"
    text = yosys.report(yosys.unit_files(hardware, shape), script, "ltp -noff")
    length = _LENGTH.search(text)
    if length is None:
        raise SimulationError("yosys: ltp reports no longest path")
    return int(length.group(1))
