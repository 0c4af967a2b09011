"""The cost of an array without a synthesis: area and logic levels from a linear model of its units.

The weights are fitted to syntheses with Yosys (``hardware_model.json`` names the command and the errors on units left
out of the fit). Area is in NAND2 equivalents, the critical path in logic levels. What joins the tiles is priced by the
same weights: multiplexers of buses and banks, the switch that lets one memory answer all its ports in a cycle, the
multiplexers before shared and ported register files, and those that a value passes where it crosses several links, a
bus or a read port in a cycle. The energy of a mapping comes from what switches in it
(:mod:`gridloom.hardware.energy`), not from here.
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
    from gridloom.hardware.rtl.shapes import Shape
    from gridloom.hardware.rtl.structure import Hardware

#: Ops that the hardware of an exploration has; the last three are those of VPCMA for ``mul``, ``shl`` and ``lshr``.
OPS: Final = ("add", "sub", "mul", "and", "or", "xor", "shl", "lshr", "mult", "sl", "sr")
LEVEL_FEATURES: Final = ("unit", "operand multiplexer levels", "adder bits", "multiplier bits")


@dataclass(frozen=True, slots=True)
class Cost:
    """Area in NAND2 equivalents and the longest path in logic levels; on an FPGA LUTs and MHz.

    The last two are None for arrays of a kind that the model of LUTs and clock was not fitted to.
    """

    area: float
    levels: float
    luts: float | None = None
    mhz: float | None = None


def cost(arch: Arch, *, width: int = 32) -> Cost | None:
    """Return the cost of an array by the fitted model; None where the generator has no hardware for it.

    None for SIMD lanes, too: the model was fitted to arrays of one lane and does not know what lanes share.

    Linear in the array's tiles and links.
    """
    from gridloom.explore.clock import clock
    from gridloom.hardware.synthesis.area import FEATURES, modelled_area

    try:
        hardware = hardware_of(arch, width)
    # The generator covers some families only; an array without hardware has no area and is still compared otherwise.
    except GridloomError:
        return None
    if hardware.simd_lanes > 1:
        return None
    model = load_hardware_model()
    area = modelled_area(model["area"]["weights"], hardware)
    multiplexers = memory_multiplexer_bits(hardware) + file_multiplexer_bits(hardware)
    area += model["area"]["weights"][FEATURES.index("multiplexer bits")] * multiplexers
    levels = max(
        float(np.dot(model["levels"]["weights"], level_features(hardware, shape))) for shape in hardware.places
    )
    levels += model["levels"]["weights"][LEVEL_FEATURES.index("operand multiplexer levels")] * chain_levels(hardware)
    placed = clock(hardware)
    return Cost(area, levels, *((placed.luts, placed.mhz) if placed else ()))


def hardware_of(arch: Arch, width: int) -> Hardware:
    """Return the hardware that explorations price: eight ops, few values and short start stages."""
    from gridloom.hardware.parameters import HardwareParameters
    from gridloom.hardware.rtl.structure import Hardware

    return Hardware(arch, HardwareParameters(width=width, values=2, stages=15, ops=OPS))


def memory_multiplexer_bits(hardware: Hardware) -> int:
    """Return the bits of two-input multiplexers between the tiles and the data memory.

    A bus of n tiles chooses one request (address, word, store) of n. Ports of banks end there. One memory that answers
    p ports in a cycle is p banks behind a switch: each bank chooses one of p requests, each port one of p answers.
    """
    request = hardware.address_bits + hardware.width + 1
    bits = sum((len(bus.units) - 1) * request for bus in hardware.buses)
    ports = 0 if hardware.arch.banks else len(hardware.buses)
    return bits + ports * (ports - 1) * (request + hardware.width)


def file_multiplexer_bits(hardware: Hardware) -> int:
    """Return the bits of two-input multiplexers before the registers of shared files and of files with write ports.

    A register of a shared file chooses one of its writers. With ports, each port does, and the register one port.
    """
    inputs = 0
    for shape, units in hardware.places.items():
        ports = range(len(shape.write_ports))
        if ports:
            inputs += len(units) * (sum(shape.port_choices(k) - 1 for k in ports) + shape.registers * (len(ports) - 1))
        elif shape.kind == "file":
            inputs += len(units) * shape.registers * (shape.writers - 1)
    return inputs * hardware.width


def chain_levels(hardware: Hardware) -> float:
    """Return the levels of two-input multiplexers that a value passes on the most wires of one cycle.

    Each link has a multiplexer, and the port at its end where there are ports; so has a bus, and a read port.
    """
    hops = hardware.arch.links_per_cycle or 0
    rings = [mux for shape in hardware.places for mux in shape.muxes if mux.ring]
    widest = {
        link: max((len(mux.sources) + mux.idle for mux in rings if mux.name.startswith("to_") == link), default=1)
        for link in (True, False)
    }
    between = [mux for shape in hardware.places for mux in shape.muxes if mux.idle and not mux.ring]
    wires = max((len(mux.sources) + 1 for mux in between), default=1) if hardware.arch.has("crossbars") else 1
    return hops * sum(math.log2(inputs) for inputs in widest.values()) + math.log2(wires)


@cache
def load_hardware_model() -> dict[str, Any]:
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
