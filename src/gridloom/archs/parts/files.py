"""Register files of processing elements, and the ports through which they are read and written.

Without ports, every operand reads every register at no cost, and every result can be written beside its output
register. A *read port* is a wire that carries one register of the file in a cycle, and a *write port* one that brings
one value to the registers: with ports, whatever reads or writes the file competes for them.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from gridloom.archs.model import ArchBuilder, Kind, RegisterFile


class File(NamedTuple):
    """A register file that has been added: its registers, where values enter it and where they leave it."""

    registers: tuple[int, ...]
    #: What results, loads and links write: the registers, or the write ports.
    entries: tuple[int, ...]
    #: What operands and links read: the registers, or the read ports.
    exits: tuple[int, ...]


def add_file(
    builder: ArchBuilder,
    name: str,
    owner: int,
    count: int,
    members: Iterable[int],
    *,
    rotating: int | None = None,
    reads: int | None = None,
    writes: int | None = None,
) -> File:
    """Add a register file that the tiles ``members`` read and write; ``rotating`` None: the mapping chooses.

    ``owner`` is the tile whose file it is, -1 where tiles share it. ``reads`` and ``writes`` are numbers of ports; None
    stands for as many as there are readers and writers. The read ports of a shared file stand in its first tile. The
    self-arc of a register holds its value for one cycle; :mod:`gridloom.archs.unroll` turns those that rotate.
    """
    tiles = list(members)
    registers = tuple(builder.add(f"{name}.r{k}", Kind.REG, owner, position=k) for k in range(count))
    for register in registers:
        builder.arc(register, register, 1)
    exits, entries = registers, registers
    if reads is not None:
        home = owner if owner >= 0 else tiles[0]
        exits = tuple(builder.add(f"{name}.read{k}", Kind.SWITCH, home, position=k) for k in range(reads))
        _join(builder, registers, exits)
    if writes is not None:
        entries = tuple(builder.add(f"{name}.write{k}", Kind.SWITCH, owner, position=k) for k in range(writes))
        _join(builder, entries, registers)
    for tile in tiles:
        record = builder.tiles[tile]
        unit, cycles = builder.index[f"{record.name}.fu"], record.latency_of("route")
        for entry in entries:
            builder.arc(unit, entry, cycles)
        _join(builder, exits, [builder.index[f"{record.name}.in{k}"] for k in range(record.operands)])
    builder.register_files.append(
        RegisterFile(name=name, registers=registers, rotating=rotating or 0, adjustable=rotating is None)
    )
    return File(registers, entries, exits)


def _join(builder: ArchBuilder, sources: Iterable[int], targets: Iterable[int]) -> None:
    """Add an arc without delay from each source to each target."""
    ends = tuple(targets)
    for source in sources:
        for target in ends:
            builder.arc(source, target)


def add_bus(builder: ArchBuilder, name: str, number: int, drivers: Sequence[int], readers: Iterable[int]) -> None:
    """Add a bus: in each cycle it carries the output of one driver, which the operands of all readers may take.

    It belongs to its first driver; ``number`` tells the buses of that tile apart.
    """
    bus = builder.add(f"{name}.bus{number}", Kind.SWITCH, drivers[0], position=number)
    _join(builder, [builder.index[f"{builder.tiles[k].name}.out"] for k in drivers], [bus])
    for tile in readers:
        record = builder.tiles[tile]
        _join(builder, [bus], [builder.index[f"{record.name}.in{k}"] for k in range(record.operands)])
