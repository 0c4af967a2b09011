"""The critical path of a placed array, in the names of the array.

nextpnr names cells and nets after the Verilog they come from (``pe_0_1.pe.window.fire_TRELLIS_FF_Q``). The first part
is a unit of the array, the next ones are instances inside it, which this module turns into words. Steps that belong to
the same part are joined.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any, Final, NamedTuple

from gridloom.hardware.rtl.shapes import Unit
from gridloom.hardware.rtl.structure import Hardware

#: How the name of an instance or net inside a tile begins, and what it is; the first that fits counts.
_PARTS: Final[tuple[tuple[str, str], ...]] = (
    (r"(pe\.)?window", "firing window"),
    (r"pe\.constants", "values"),
    (r"pe\.(stream|operand\[(?P<n>\d+)\])", "operand {n}"),
    (r"pe\.", "operands"),
    (r"contexts|word\b|next\b|soon\b", "context"),
    (r"issue", "issue register"),
    (r"units\..*(product|products|multiplier)", "multiplier"),
    (r"units\..*(quotient|division|divided)", "divider"),
    (r"units", "function unit"),
    (r"decoder|controls", "decoder"),
    (r"output_register|out\b|done", "output register"),
    (r"file|held", "register file"),
    (r"memory", "memory port"),
    (r"chain|cfg", "configuration chain"),
    (r"(?P<n>(in|to|from)_?\d+\w*?)(_mux|_fifo|_\d+_late|_late|\b)", "wire {n}"),
    (r"arrived_(?P<n>\d+)", "wire in{n}"),
)


class PathStep(NamedTuple):
    """A part of the critical path: what it is in the array, nanoseconds inside it and on the way to the next."""

    place: str
    logic: float
    routing: float

    def __str__(self) -> str:
        return f"{self.place} ({self.logic:.2f} + {self.routing:.2f} ns)"


def critical_path(report: Mapping[str, Any], clock: str, hardware: Hardware) -> tuple[PathStep, ...]:
    """Return the longest path from register to register of a clock, from nextpnr's report; empty where it has none."""
    wanted = f"posedge {clock}"
    paths = [path["path"] for path in report["critical_paths"] if path["from"] == path["to"] == wanted]
    return join_steps(
        (place_of(piece["from"]["cell"], hardware), *_split(piece)) for piece in (paths[0] if paths else ())
    )


def _split(piece: Mapping[str, Any]) -> tuple[float, float]:
    """The delay of a piece of a path in logic and in routing."""
    delay = float(piece["delay"])
    return (0.0, delay) if piece["type"] == "routing" else (delay, 0.0)


def join_steps(pieces: Iterable[tuple[str, float, float]]) -> tuple[PathStep, ...]:
    """Return the steps of a path from pieces of (place, logic, routing), neighbours of one place joined."""
    steps: list[PathStep] = []
    for place, logic, routing in pieces:
        if steps and steps[-1].place == place:
            steps[-1] = PathStep(place, steps[-1].logic + logic, steps[-1].routing + routing)
        else:
            steps.append(PathStep(place, logic, routing))
    return tuple(steps)


def place_of(cell: str, hardware: Hardware) -> str:
    """Return what a cell of the netlist is in the array, in words.

    >>> from gridloom.archs.spec import build
    >>> place_of("pe_0_1.pe.window.fire_TRELLIS_FF_Q", Hardware(build("mesh:2x2")))
    'pe_0_1: firing window'
    >>> place_of("sequencer.left_CCU2C_S0", Hardware(build("mesh:2x2")))
    'sequencer'
    """
    path = cell.removeprefix("array.")
    units = {hardware.verilog_names[unit.name]: unit for unit in hardware.units}
    head, _, inner = path.partition(".")
    if head in units and inner:
        return _inside(units[head], inner, hardware)
    # A wire between units has the name of its resource.
    names = sorted(hardware.verilog_names.items(), key=lambda item: -len(item[1]))
    return next((name for name, verilog in names if path.startswith(verilog)), re.split(r"[.\[]|_[A-Z]", path)[0])


def _inside(unit: Unit, inner: str, hardware: Hardware) -> str:
    """What a cell inside a unit is; wires have the names of the array's resources."""
    resources = dict(zip((mux.name for mux in unit.shape.muxes), unit.wires))
    resources |= dict(zip(unit.shape.inputs, unit.inputs))
    for pattern, words in _PARTS:
        if found := re.match(pattern, inner):
            number = found.groupdict().get("n") or ""
            if words.startswith("wire"):
                local = words.removeprefix("wire ").format(n=number)
                return hardware.arch.resource_names[resources[local]] if local in resources else f"{unit.name}.{local}"
            return f"{unit.name}: {words.format(n=number or 0)}"
    # The outputs of a switch have names of their own, and so has the register behind an output.
    found = re.match(r"([a-z]\w*?)(_mux\b|_gate_\d+|_[A-Z])", inner)
    if found and found[1] in resources:
        return hardware.arch.resource_names[resources[found[1]]]
    return f"{unit.name}.out" if found and found[1] == "out" else unit.name
