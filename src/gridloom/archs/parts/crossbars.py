"""What crossbars are made of that pass values on from link to link within a cycle: ports with registers, and ways.

Nothing goes back to where it came from: that would only fill a link.
"""

from __future__ import annotations

from collections.abc import Sequence

from gridloom.archs.model import ArchBuilder, Kind, RegisterFile
from gridloom.archs.parts.files import File

#: The most links that a value may cross in one cycle: a longer chain of multiplexers is no single cycle of any clock.
MAX_HOPS = 16

#: (source tile, target tile, resource) of a link.
Link = tuple[int, int, int]


def add_ports(builder: ArchBuilder, tile: int, links: Sequence[Link]) -> None:
    """Add an input port with one register for each link that arrives at a tile: it carries the link or the register.

    A port is one input of the crossbar, so that what waits in its register and what passes by it exclude each other in
    a cycle. It leads to the operands of the tile and to the links that leave it.
    """
    name = builder.tiles[tile].name
    for k, (source, _, link) in enumerate(link for link in links if link[1] == tile):
        port = builder.add(f"{name}.p{k}", Kind.SWITCH, tile, position=k)
        register = builder.add(f"{name}.r{k}", Kind.REG, tile, position=k)
        builder.arc(register, register, 1)
        builder.arc(link, register, 1)
        builder.arc(register, port)
        builder.arc(link, port)
        for target in (*_operands(builder, tile), *_onward(links, tile, source)):
            builder.arc(port, target)
        builder.register_files.append(RegisterFile(name=f"{name}.p{k}", registers=(register,), adjustable=False))


def add_ways(
    builder: ArchBuilder, tile: int, links: Sequence[Link], file: File | None, hops: int, *, latched: bool = False
) -> None:
    """Add the ways of a crossbar without ports: from links to operands, registers and, with ``hops``, other links.

    ``file`` is the tile's own register file, which links write as results do, and which drives links as well. What
    enters a ``latched`` link is on it in the next cycle, and may also go back.
    """
    for source, target, link in links:
        if source == tile:
            for register in file.exits if file else ():
                builder.arc(register, link, int(latched))
        elif target == tile:
            for operand in _operands(builder, tile):
                builder.arc(link, operand)
            for register in file.entries if file else ():
                builder.arc(link, register, 1)
            for onward in _onward(links, tile, -1 if latched else source) if hops > 1 or latched else ():
                builder.arc(link, onward, int(latched))


def _operands(builder: ArchBuilder, tile: int) -> list[int]:
    """Return the operand inputs of a tile."""
    record = builder.tiles[tile]
    return [builder.index[f"{record.name}.in{k}"] for k in range(record.operands)]


def _onward(links: Sequence[Link], tile: int, source: int) -> list[int]:
    """Return the links that leave a tile for another one than a value comes from."""
    return [link for a, b, link in links if a == tile and b != source]
