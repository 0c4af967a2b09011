"""Sizes of a system around an array."""

from __future__ import annotations

import json
import zlib
from dataclasses import dataclass, field, fields
from typing import Final

from gridloom.errors import OptionError
from gridloom.hardware.parameters import bits_for
from gridloom.hardware.rtl.structure import Hardware
from gridloom.hardware.rtl.testbench import stream_ports

#: Words that wait in the queue of a channel, and the bits of their number.
QUEUE: Final = 64
LEVEL_BITS: Final = 7
#: Live-in registers.
LIVEINS: Final = 32


@dataclass(frozen=True, kw_only=True)
class SystemParameters:
    """Sizes of a system. OptionError for a number outside the range that the field's metadata names."""

    #: Images that the system holds; two are enough to load one while another runs.
    banks: int = field(default=2, metadata={"range": (2, 16)})
    #: Rows of 64 bits for each image.
    rows: int = field(default=1024, metadata={"range": (16, 32768)})
    #: Live-out registers.
    liveouts: int = field(default=16, metadata={"range": (1, 32)})
    #: DMA channels that feed streams of the array, where it has some.
    feeds: int = field(default=6, metadata={"range": (1, 14)})
    #: DMA channels that drain streams of the array.
    drains: int = field(default=4, metadata={"range": (1, 14)})

    def __post_init__(self) -> None:
        for parameter in fields(self):
            low, high = parameter.metadata["range"]
            value = getattr(self, parameter.name)
            if type(value) is not int or not low <= value <= high:
                raise OptionError(f"{parameter.name}: expected {low} to {high}, found {value!r}")

    @property
    def bank_bits(self) -> int:
        """Bits of the number of a bank."""
        return max(1, bits_for(self.banks))

    @property
    def row_bits(self) -> int:
        """Bits of the number of a row."""
        return bits_for(self.rows)


@dataclass(frozen=True)
class System:
    """An array with a system around it: what the generator, the images and the drivers all read."""

    hardware: Hardware
    parameters: SystemParameters = SystemParameters()

    def __post_init__(self) -> None:
        if self.hardware.width > 32:
            raise OptionError(f"width: a system moves words of up to 32 bits, found {self.hardware.width}")
        if self.hardware.simd_lanes > 1:
            raise OptionError(f"simd: a system moves one word at a time, found {self.hardware.simd_lanes} SIMD lanes")

    @property
    def has_memory(self) -> bool:
        """True where the array loads and stores."""
        return bool(self.hardware.buses)

    @property
    def feeds(self) -> int:
        """Channels that feed streams; none where the array reads none."""
        return self.parameters.feeds if stream_ports(self.hardware) else 0

    @property
    def drains(self) -> int:
        """Channels that drain streams; arrays without input streams have no output streams either."""
        return self.parameters.drains if self.feeds else 0

    @property
    def reads(self) -> int:
        """Read channels that have registers: that of the memory first, then those of streams."""
        return int(self.has_memory) + self.feeds

    @property
    def writes(self) -> int:
        """Write channels that have registers."""
        return int(self.has_memory) + self.drains

    @property
    def memory_words(self) -> int:
        """Words of the data memory."""
        return 1 << self.hardware.address_bits if self.has_memory else 0

    @property
    def emitters(self) -> list[str]:
        """Verilog names of the tiles with an output port, in the order of port numbers."""
        names = self.hardware.verilog_names
        return [names[unit.name] for unit in self.hardware.units if unit.shape.emits]

    @property
    def selectors(self) -> int:
        """Things that listen to a port of the array: live-outs, then feeds, then drains."""
        return self.parameters.liveouts + self.feeds + self.drains

    @property
    def array_id(self) -> int:
        """A number that names array and sizes; an image for another array is refused by it."""
        parameters = json.dumps(self.hardware.parameters.to_json(), sort_keys=True)
        text = f"{self.hardware.arch.fingerprint} {parameters} {self.parameters}"
        return zlib.crc32(text.encode())

    @property
    def shape(self) -> int:
        """The register SHAPE: banks, live-outs, read channels, write channels, from the low byte upwards."""
        return self.parameters.banks | self.parameters.liveouts << 8 | self.reads << 16 | self.writes << 24
