"""``hycube``: modulo-scheduled PEs on a mesh whose crossbars pass values over several links in one cycle.

A PE has a crossbar beside its function unit. What arrives on a link goes to an operand, to a register, or straight on
to another link in the same cycle, so that a value reaches a PE up to ``hops`` links away without a register on its way
and without taking the function units that it passes. Each link carries one value per cycle. The results of a function
unit wait in its output register; other values wait in a register at the input port at which they arrived, or, with
``regs``, in a file that links and results write.

The model is that of HyCUBE (Karunaratne et al., "HyCUBE: A CGRA with Reconfigurable Single-cycle Multi-hop
Interconnect", DAC 2017): 4 x 4 PEs without wrap-around links, loads and stores in the leftmost column, one register at
each of the four input ports. With ``hops=1`` it is the array with a conventional network to which HyCUBE is compared:
a value crosses one link per cycle and then waits in a register.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from gridloom.archs.model import Arch, ArchBuilder, Kind
from gridloom.archs.parts.crossbars import MAX_HOPS, Link, add_ports, add_ways
from gridloom.archs.parts.files import File, add_file
from gridloom.archs.spec import check_range, finish_array, parameters
from gridloom.targets.modulo.families.torus import TimeSharedParameters, add_memory, add_tiles, check_parameters


@dataclass(frozen=True, kw_only=True)
class HycubeParameters(TimeSharedParameters):
    """Parameters of ``hycube``."""

    #: Links that a value may cross in one cycle, 1 to 16.
    hops: int = 4
    #: Registers of a PE's file, which links and results write; null: one register at each input port, without a file.
    regs: int | None = None
    #: How many registers of a file rotate: ``free`` lets the mapping choose, a number fixes it.
    rotating: int | Literal["free"] = 0
    #: Whether what a link carries waits in a register at its beginning, as in VectorCGRA; needs ``hops`` 1.
    latched: bool = False
    #: Whether a value may also pass through a function unit, which takes its issue slot.
    moves: bool = True
    #: Which PEs access memory: a selector.
    memory: Any = field(default_factory=lambda: {"region": {"cols": [0, 0]}})


def build(spec: Mapping[str, Any]) -> Arch:
    """Return the array that a description names. Tiles are numbered row by row.

    ArchError for a parameter out of its range or a selector that does not fit the mesh.
    """
    p = parameters(HycubeParameters, spec)
    check_parameters(p, p.regs or 0)
    check_range(p, "hops", 1, 1 if p.latched else MAX_HOPS)
    builder = ArchBuilder()
    accesses = add_tiles(builder, p, moves=p.moves)
    links = _add_links(builder, p)
    for tile in range(len(builder.tiles)):
        near = [link for link in links if tile in link[:2]]
        if p.regs is None:
            add_ports(builder, tile, near)
        else:
            add_ways(builder, tile, near, _file(builder, p, tile), p.hops, latched=p.latched)
    if accesses:
        add_memory(builder, p.rows, p.bus, writes_registers=p.regs is not None)
    return finish_array(
        builder,
        spec,
        style="modulo",
        size=(p.rows, p.cols),
        free=frozenset({"const"}),
        data_memory=p.data_memory,
        route_uses_fu=p.moves,
        links_per_cycle=p.hops,
        traits=frozenset({"crossbars"} | ({"memory_access"} if accesses else set())) | p.controls,
        loop_levels=p.loop_levels,
    )


def _add_links(builder: ArchBuilder, p: HycubeParameters) -> list[Link]:
    """Add the links between neighbours, each driven by the output register of its tile; returns them in order."""
    links: list[Link] = []
    for tile, record in enumerate(list(builder.tiles)):
        position = 0
        for dr, dc in ((-1, 0), (0, -1), (0, 1), (1, 0)):
            row, col = record.row + dr, record.col + dc
            if 0 <= row < p.rows and 0 <= col < p.cols:
                link = builder.add(f"{record.name}>pe_{row}_{col}", Kind.LINK, tile, position=position)
                if p.latched:
                    builder.arc(builder.index[f"{record.name}.fu"], link, record.latency_of("route"))
                else:
                    builder.arc(builder.index[f"{record.name}.out"], link)
                links.append((tile, row * p.cols + col, link))
                position += 1
    return links


def _file(builder: ArchBuilder, p: HycubeParameters, tile: int) -> File | None:
    """Add the register file of a tile, which links and results write; None: it has no registers."""
    if not p.regs:
        return None
    return add_file(builder, builder.tiles[tile].name, tile, p.regs, [tile], rotating=p.fixed_rotation)
