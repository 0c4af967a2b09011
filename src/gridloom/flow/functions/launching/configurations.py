"""How long it takes to load the configurations of a function's loops, in words of the bitstream.

A packet brings one word of 32 bits, one per cycle. The first configuration sets every unit of the array; a later one is
a partial reconfiguration, which sends the words that differ from what is there. All loops share one hardware, just
large enough for each of them. For loops whose ops have no hardware (singles), the words of contexts and constants are
counted instead, and nothing is saved by what is there.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from gridloom.errors import ArchError, MappingError
from gridloom.mapping.configuration import Configuration

if TYPE_CHECKING:
    from gridloom.hardware.bitstream.packets import Packet
    from gridloom.hardware.rtl.structure import Hardware


@dataclass(frozen=True)
class Loads:
    """Cycles to load a configuration: ``first`` when the array holds none, ``switch[old][new]`` after another one."""

    first: tuple[int, ...]
    switch: tuple[tuple[int, ...], ...]

    @classmethod
    def whole(cls, words: Sequence[int]) -> Loads:
        """Configurations that are always loaded as a whole."""
        rows = tuple(tuple(0 if k == j else count for j, count in enumerate(words)) for k in range(len(words)))
        return cls(tuple(words), rows)

    def after(self, loaded: int, loop: int) -> int:
        """Cycles to load a loop's configuration after that of another one, or of none (-1)."""
        return self.first[loop] if loaded < 0 else self.switch[loaded][loop]


def loads_of(configurations: Sequence[Configuration]) -> Loads:
    """What it takes to load each of some configurations of one array. Costs up to a second for 64 tiles."""
    packets = _packets(configurations)
    words = [row if isinstance(row, int) else len(row) for row in packets]
    rows = [tuple(_between(old, new) for new in packets) for old in packets]
    return Loads(tuple(words), tuple(rows))


def _between(old: list[Packet] | int, new: list[Packet] | int) -> int:
    """Words to send for a configuration after another one."""
    from gridloom.hardware.bitstream.packets import difference

    if old is new:
        return 0
    if isinstance(new, int):
        return new
    return len(new) if isinstance(old, int) else len(difference(old, new))


def _packets(configurations: Sequence[Configuration]) -> list[list[Packet] | int]:
    """The packets of each configuration, or how many words it has where it has no packets."""
    from gridloom.hardware.bitstream.encode import encode
    from gridloom.hardware.bitstream.packets import pack

    hardware = _hardware(configurations)
    found: list[list[Packet] | int] = []
    for configuration in configurations:
        try:
            found.append(_words(configuration, None) if hardware is None
                         else pack(hardware, encode(configuration, hardware)))  # fmt: skip
        except MappingError:
            found.append(_words(configuration, hardware))
    return found


def _hardware(configurations: Sequence[Configuration]) -> Hardware | None:
    """Hardware that holds any of the configurations; None for an array that has none."""
    from gridloom.hardware.bitstream.encode import fit_parameters
    from gridloom.hardware.parameters import HardwareParameters
    from gridloom.hardware.rtl.structure import Hardware

    if not configurations:
        return None
    arch = configurations[0].arch
    parameters = HardwareParameters(width=arch.word)
    try:
        for configuration in configurations:
            parameters = fit_parameters(configuration, parameters)
    except MappingError:
        # A graph of another domain has no hardware, but the array's contexts are what they are.
        pass
    try:
        return Hardware(arch, parameters)
    except (ArchError, MappingError):
        return None


def _words(configuration: Configuration, hardware: Hardware | None) -> int:
    """Words of a configuration that no packets are made of: the contexts of every unit, and the constants.

    Without hardware, each issue slot and each multiplexer that is set counts as one word.
    """
    from gridloom.hardware.rtl.layout import context_layout

    if hardware is None:
        return len(configuration.slots) + int((configuration.driver >= 0).sum())
    contexts = sum(context_layout(unit.shape, hardware.parameters).chunks for unit in hardware.units)
    constants = sum(node.op == "const" for node in configuration.dfg.nodes)
    return contexts * configuration.ii + constants
