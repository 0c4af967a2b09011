"""Board files: the device of a board, its clock and which pins the scan chain is on.

A board file is JSON with the keys ``name``, ``device`` (the part's name), ``options`` (of nextpnr-ecp5), ``clock_mhz``,
``standard`` (of the pins) and ``pins`` (port of the board's module -> site).
:data:`BOARDS` lists those that are shipped.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from typing import Any, Final

from gridloom.errors import OptionError
from gridloom.text_file import read_text

BOARDS: Final = ("ulx3s-85f",)
_KEYS: Final = ("name", "device", "options", "clock_mhz", "standard", "pins")


@dataclass(frozen=True, kw_only=True)
class FpgaBoard:
    """A board: its FPGA, its clock and its pins."""

    name: str
    device: str
    #: Options of nextpnr-ecp5 that name the device, its package and its speed grade.
    options: tuple[str, ...]
    clock_mhz: float
    standard: str
    pins: Mapping[str, str]

    def constraints(self, ports: Sequence[str]) -> str:
        """Return pin constraints (LPF) for the ports of the board's module. OptionError for a port without a pin."""
        lines = [f'FREQUENCY PORT "clk" {self.clock_mhz:g} MHZ;']
        for port in ports:
            if port not in self.pins:
                raise OptionError(f"pins.{port}: board {self.name!r} has no pin for it")
            lines.append(f'LOCATE COMP "{port}" SITE "{self.pins[port]}";')
            lines.append(f'IOBUF PORT "{port}" IO_TYPE={self.standard};')
        return "\n".join(lines) + "\n"


def load_board(name: str) -> FpgaBoard:
    """Return a board that is shipped, by its name, or that of a JSON file. OptionError says what is wrong with it."""
    path = Path(name)
    if name in BOARDS:
        shipped = resources.files("gridloom.hardware.synthesis") / "board_files" / f"{name}.json"
        text = shipped.read_text(encoding="utf-8")
    elif path.suffix == ".json" and path.is_file():
        text = read_text(path)
    else:
        raise OptionError(f"no such board: {name!r}; known: {', '.join(BOARDS)}, or a JSON file", where="--board")
    try:
        data = json.loads(text)
    except json.JSONDecodeError as error:
        raise OptionError(f"{name}: line {error.lineno}: {error.msg}", where="--board") from None
    return _board(data, name)


def _board(data: Any, where: str) -> FpgaBoard:
    if not isinstance(data, dict) or sorted(data) != sorted(_KEYS):
        raise OptionError(f"{where}: expected an object with the keys {', '.join(_KEYS)}", where="--board")
    pins, options = data["pins"], data["options"]
    if not isinstance(pins, dict) or not isinstance(options, list) or not isinstance(data["clock_mhz"], int | float):
        raise OptionError(f"{where}: expected pins by port, a list of options and a clock in MHz", where="--board")
    return FpgaBoard(
        name=str(data["name"]),
        device=str(data["device"]),
        options=tuple(map(str, options)),
        clock_mhz=float(data["clock_mhz"]),
        standard=str(data["standard"]),
        pins={str(port): str(site) for port, site in pins.items()},
    )
