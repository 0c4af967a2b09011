"""The clock that commands print times at: the model of ``gridloom explore`` for the generated hardware of an array."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gridloom.errors import GridloomError

if TYPE_CHECKING:
    from gridloom.archs.model import Arch


def array_clock(arch: Arch) -> float | None:
    """The estimated clock of an array on an FPGA in MHz; None where no hardware is generated for it."""
    from gridloom.explore.clock import clock
    from gridloom.explore.hardware import hardware_of

    try:
        estimate = clock(hardware_of(arch, arch.word))
    except (GridloomError, ValueError):
        return None
    return None if estimate is None else estimate.mhz
