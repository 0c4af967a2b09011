"""The cost of an array without a synthesis: area, logic levels and energy from a linear model of its units.

The weights are fitted to syntheses with Yosys (``hardware_model.json`` names the command and the errors on units left
out of the fit). Area is in NAND2 equivalents, the critical path in logic levels. What joins the tiles is priced by the
same weights: multiplexers of buses and banks, the switch that lets one memory answer all its ports in a cycle, and the
multiplexers that a value passes where it crosses several links in a cycle. Energy is power times cycles times
critical path, as the evaluation of RAMP computes it. Power is taken as proportional to area, so energy is in units of
its own (NAND2 x levels): it compares arrays with each other and nothing else.
"""

from __future__ import annotations

import json
import math
from dataclasses import dataclass
from functools import cache
from importlib import resources
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from gridloom.errors import GridloomError

if TYPE_CHECKING:
    from gridloom.archs.model import Arch
    from gridloom.hardware.rtl.structure import Hardware, Shape

#: Ops that the hardware of an exploration has; the last three are those of VPCMA for ``mul``, ``shl`` and ``lshr``.
OPS: Final = ("add", "sub", "mul", "and", "or", "xor", "shl", "lshr", "mult", "sl", "sr")
LEVEL_FEATURES: Final = ("unit", "operand multiplexer levels", "adder bits", "multiplier bits")


@dataclass(frozen=True, slots=True)
class Cost:
    """Area in NAND2 equivalents and the longest path in logic levels."""

    area: float
    levels: float

    def energy(self, cycles: float) -> float:
        """Return the energy of a run of so many cycles, in NAND2 x levels x cycles."""
        return self.area * self.levels * cycles


def cost(arch: Arch, *, width: int = 32) -> Cost | None:
    """Return the cost of an array by the fitted model; None where the generator has no hardware for it.

    Linear in the array's tiles and links.
    """
    from gridloom.hardware.parameters import HardwareParameters
    from gridloom.hardware.rtl.structure import Hardware
    from gridloom.hardware.synthesis.area import FEATURES, modelled_area

    try:
        hardware = Hardware(arch, HardwareParameters(width=width, values=2, stages=15, ops=OPS))
    # The generator covers some families only; an array without hardware has no area and is still compared otherwise.
    except GridloomError:
        return None
    model = fitted()
    area = modelled_area(model["area"]["weights"], hardware)
    area += model["area"]["weights"][FEATURES.index("multiplexer bits")] * memory_multiplexer_bits(hardware)
    levels = max(
        float(np.dot(model["levels"]["weights"], level_features(hardware, shape))) for shape in hardware.places
    )
    levels += model["levels"]["weights"][LEVEL_FEATURES.index("operand multiplexer levels")] * chain_levels(hardware)
    return Cost(area, levels)


def memory_multiplexer_bits(hardware: Hardware) -> int:
    """Return the bits of two-input multiplexers between the tiles and the data memory.

    A bus of n tiles chooses one request (address, word, store) of n. Ports of banks end there. One memory that answers
    p ports in a cycle is p banks behind a switch: each bank chooses one of p requests, each port one of p answers.
    """
    request = hardware.address_bits + hardware.width + 1
    bits = sum((len(bus.units) - 1) * request for bus in hardware.buses)
    ports = 0 if hardware.arch.banks else len(hardware.buses)
    return bits + ports * (ports - 1) * (request + hardware.width)


def chain_levels(hardware: Hardware) -> float:
    """Return the levels of two-input multiplexers that a value passes on the most links of one cycle.

    Each link has a multiplexer, and the port at its end where there are ports.
    """
    hops = hardware.arch.links_per_cycle or 0
    rings = [mux for shape in hardware.places for mux in shape.muxes if mux.ring]
    widest = {
        link: max((len(mux.sources) + mux.idle for mux in rings if mux.name.startswith("to_") == link), default=1)
        for link in (True, False)
    }
    return hops * sum(math.log2(inputs) for inputs in widest.values())


@cache
def fitted() -> dict[str, Any]:
    """Return the shipped model: weights, errors and the command that made them. It is read once per process."""
    text = (resources.files("gridloom") / "explore" / "hardware_model.json").read_text(encoding="utf-8")
    model: dict[str, Any] = json.loads(text)
    return model


def level_features(hardware: Hardware, shape: Shape) -> list[float]:
    """Return what the longest path of a unit depends on (``LEVEL_FEATURES``), as far as it is linear.

    Operand multiplexers grow with the logarithm of their inputs; adders and multipliers with the width of a word. The
    weights are in ``hardware_model.json``.
    """
    widest = max((len(mux.sources) + mux.idle for mux in shape.muxes), default=1)
    is_pe = shape.kind == "pe"
    return [
        1.0,
        math.log2(max(widest, 1)),
        float(hardware.width) if is_pe else 0.0,
        float(hardware.width) if hardware.multiplies(shape) else 0.0,
    ]
