"""The register map of a system: the one table behind the Verilog, the C header, the Python driver and the page."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, NamedTuple

#: What the register ID holds: "GLSY".
ID: Final = 0x59534C47
#: Version of registers and images.
VERSION: Final = 2


class Register(NamedTuple):
    """A register: its name, its address in bytes, who may do what, and what it means."""

    name: str
    address: int
    access: str
    meaning: str


REGISTERS: Final = (
    Register("ID", 0x000, "read", "0x59534C47, the letters GLSY"),
    Register("VERSION", 0x004, "read", "version of the registers and of images"),
    Register("ARRAY", 0x008, "read", "number of the array; images carry it"),
    Register("SHAPE", 0x00C, "read", "banks, live-outs, read channels, write channels: a byte each, the first lowest"),
    Register("MEMORY", 0x010, "read", "words of the array's data memory; 0 without one"),
    Register("CONTROL", 0x014, "read, write", "bit 0 enables the system (0 after a reset); writing 1 to bit 1 clears "
             "the counters, to bit 2 stops everything"),
    Register("STATUS", 0x018, "read", "bit 0 enabled, 1 launching or running, 2 configuring, 3 loading an image, "
             "4 stopped with answers of the bus outstanding, 5 error, 6 a launch waits or is set up, "
             "7 a channel is busy; bits 15:8 the error"),
    Register("CHANNELS", 0x01C, "read", "busy channels: bit c read channel c, bit 16 + c write channel c"),
    Register("ERROR", 0x020, "read, write", "the first error since it was cleared; any write clears it"),
    Register("IRQ_ENABLE", 0x024, "read, write", "bit 0 launch done, 1 image loaded, 2 channels idle, 3 error"),
    Register("IRQ", 0x028, "read, write", "pending interrupts; writing 1 clears one"),
    Register("TIMEOUT", 0x02C, "read, write", "cycles without an answer of the bus, or of a stream, that are an error; "
             "0: never"),
    Register("ITERATIONS", 0x030, "read, write", "iterations of the next launch, at least 1"),
    Register("BANK", 0x034, "read, write", "bank of the image of the next launch"),
    Register("LAUNCH", 0x038, "write", "1 launches the array, at once or as soon as the launch before has ended"),
    Register("LOAD_ADDRESS", 0x03C, "read, write", "address of an image in memory"),
    Register("LOAD_WORDS", 0x040, "read, write", "its words"),
    Register("LOAD_BANK", 0x044, "read, write", "a write loads the image into this bank, also while the array runs"),
    Register("VALID", 0x048, "read", "bit b: bank b holds a valid image"),
    Register("START", 0x04C, "write", "starts channels; bits as in CHANNELS"),
    Register("BUSY", 0x050, "read", "cycles in which the array ran"),
    Register("STALLED", 0x054, "read", "cycles in which the array waited for a stream"),
    Register("CONFIGURING", 0x058, "read", "cycles in which the array was configured"),
    Register("LOADING", 0x05C, "read", "cycles in which an image was loaded, and the array neither ran nor was "
             "configured"),
    Register("MOVING", 0x060, "read", "cycles in which a channel was busy"),
    Register("CYCLES", 0x064, "read", "cycles since the counters were cleared"),
    Register("TRANSFER", 0x068, "read", "cycles in which a channel was busy, and the array neither ran nor was "
             "configured"),
    Register("WAITING", 0x06C, "read", "cycles in which the core did nothing but read a busy STATUS"),
    Register("STREAMS", 0x070, "read, write", "channels that each launch starts; bits as in CHANNELS"),
    Register("LIVEIN", 0x100, "read, write", "32 words: live-ins of the next launch"),
    Register("LIVEOUT", 0x180, "read", "one word for each live-out of the last launch"),
    Register("READ", 0x400, "read, write", "32 bytes for each read channel: its descriptor"),
    Register("WRITE", 0x600, "read, write", "32 bytes for each write channel: its descriptor"),
)  # fmt: skip

#: The words of a channel's descriptor, in their order.
DESCRIPTOR: Final = (
    ("ADDRESS", "address of the first element in memory"),
    ("FORMAT", "0, 1, 2: elements of 1, 2, 4 bytes; plus 4: they have a sign"),
    ("COUNT", "elements of a row"),
    ("STRIDE", "bytes from one element to the next"),
    ("ROWS", "rows"),
    ("ROW_STRIDE", "bytes from one row to the next"),
    ("PLACE", "first word in the array's data memory; a stream ignores it"),
)

#: Number of an error -> its name and what it means.
ERRORS: Final = {
    1: ("BUS_READ", "the bus answered a read with an error"),
    2: ("BUS_WRITE", "the bus answered a write with an error"),
    3: ("TIMEOUT", "the bus, or a stream of the array, did not answer in time"),
    4: ("IMAGE_MAGIC", "the image is no configuration image"),
    5: ("IMAGE_VERSION", "the image has another version than the hardware"),
    6: ("IMAGE_ARRAY", "the image is for another array"),
    7: ("IMAGE_LENGTH", "the image is truncated, or longer than it says"),
    8: ("IMAGE_CHECKSUM", "the checksum of the image is wrong"),
    9: ("LAUNCH", "the launch or the load was refused: busy, not enabled, no valid image, or no iterations"),
    10: ("DESCRIPTOR", "a channel was busy, or its elements are not aligned to their size"),
    11: ("MEMORY", "a transfer went beyond the array's data memory"),
    12: ("RESET", "the system was reset"),
    13: ("DRIVER", "the driver waited longer than its limit"),
}

IRQ_LAUNCH, IRQ_LOAD, IRQ_CHANNELS, IRQ_ERROR = 1, 2, 4, 8
ENABLED, RUNNING, CONFIGURING, LOADING, DRAINING, FAILED, PENDING, MOVING = 1, 2, 4, 8, 16, 32, 64, 128


@dataclass(frozen=True)
class _Addresses:
    """Addresses by name."""

    table: dict[str, int]

    def __getitem__(self, name: str) -> int:
        return self.table[name]


ADDRESS: Final = _Addresses({register.name: register.address for register in REGISTERS})
#: Bytes of a channel's registers.
CHANNEL_BYTES: Final = 32
