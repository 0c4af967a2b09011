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

from gridloom.archs.families.crossbar_parts import MAX_HOPS, Link, add_ports, add_ways
from gridloom.archs.families.grid_parts import add_pe
from gridloom.archs.families.torus import MEMORY_CLASSES, Bus, add_memory
from gridloom.archs.model import Arch, ArchBuilder, Kind, RegisterFile
from gridloom.archs.selectors import select
from gridloom.archs.spec import build_described, check_latency, check_range, check_size, parameters
from gridloom.errors import ArchError


@dataclass(frozen=True, kw_only=True)
class HycubeParameters:
    """Parameters of ``hycube``."""

    #: Rows of the mesh, 1 to 128.
    rows: int
    #: Columns of the mesh, 1 to 128.
    cols: int
    #: Links that a value may cross in one cycle, 1 to 16.
    hops: int = 4
    #: Registers of a PE's file, which links and results write; null: one register at each input port, without a file.
    regs: int | None = None
    #: How many registers of a file rotate: ``free`` lets the mapping choose, a number fixes it.
    rotating: int | Literal["free"] = 0
    #: How long an output register keeps its value: until the next write, or one cycle.
    hold: Literal["until-write", "next"] = "until-write"
    #: Whether a value may also pass through a function unit, which takes its issue slot.
    moves: bool = True
    #: Which PEs access memory: a selector.
    memory: Any = field(default_factory=lambda: {"region": {"cols": [0, 0]}})
    #: ``row``: the PEs of a row share one bus; ``dedicated``: each memory PE has its own; null: no limit.
    bus: Bus = "row"
    #: Which PEs multiply: a selector.
    mul: Any = "all"
    #: Op latency by op class; ``"*"`` is the rest. At least 1: the output register.
    latency: dict[str, int] = field(default_factory=lambda: {"*": 1})
    #: Bytes of data memory; null: no limit.
    data_memory: int | None = None
    #: Slots of a context memory; null: no limit.
    contexts: int | None = None
    #: Operands of a function unit, 1 to 8.
    operands: int = 3


def build(spec: Mapping[str, Any]) -> Arch:
    """Return the array that a description names. Tiles are numbered row by row.

    ArchError for a parameter out of its range or a selector that does not fit the mesh.
    """
    p = parameters(HycubeParameters, spec)
    check_size(p.rows, p.cols)
    _check(p)
    builder = ArchBuilder()
    memory = select(p.memory, p.rows, p.cols, "memory")
    multiply = select(p.mul, p.rows, p.cols, "mul")
    for row in range(p.rows):
        for col in range(p.cols):
            _add_tile(builder, p, row, col, bool(memory[row, col]), bool(multiply[row, col]))
    links = _add_links(builder, p)
    for tile in range(len(builder.tiles)):
        near = [link for link in links if tile in link[:2]]
        if p.regs is None:
            add_ports(builder, tile, near)
        else:
            _add_file(builder, p, tile, near)
    if memory.any():
        add_memory(builder, p.rows, p.bus, writes_registers=p.regs is not None)
    return build_described(
        builder,
        spec,
        style="modulo",
        size=(p.rows, p.cols),
        free=frozenset({"const"}),
        data_memory=p.data_memory,
        route_uses_fu=p.moves,
        links_per_cycle=p.hops,
        traits=frozenset({"crossbars"} | ({"memory_access"} if memory.any() else set())),
    )


def _check(p: HycubeParameters) -> None:
    """Raise ArchError for a parameter out of its range."""
    for key, low, high in (
        ("hops", 1, MAX_HOPS),
        ("regs", 0, 1024),
        ("operands", 1, 8),
        ("data_memory", 0, 1 << 40),
        ("contexts", 1, 1 << 20),
    ):
        check_range(p, key, low, high)
    check_latency(p.latency)
    most = p.regs or 0
    if isinstance(p.rotating, int) and not 0 <= p.rotating <= most:
        raise ArchError(f"rotating: expected 0 to regs ({most}) or 'free', found {p.rotating}")


def _add_tile(builder: ArchBuilder, p: HycubeParameters, row: int, col: int, memory: bool, multiply: bool) -> None:
    """Add one PE with its op classes."""
    classes = {"alu", "div", "fp"} | (MEMORY_CLASSES if memory else set()) | ({"mul"} if multiply else set())
    if p.moves:
        classes.add("route")
    add_pe(builder, p, row, col, classes, moves=p.moves, fifo=0, contexts=p.contexts)
    if p.hold == "until-write":
        out = builder.index[f"pe_{row}_{col}.out"]
        builder.arc(out, out, 1)


def _add_links(builder: ArchBuilder, p: HycubeParameters) -> list[Link]:
    """Add the links between neighbours, each driven by the output register of its tile; returns them in order."""
    links: list[Link] = []
    for tile, record in enumerate(list(builder.tiles)):
        position = 0
        for dr, dc in ((-1, 0), (0, -1), (0, 1), (1, 0)):
            row, col = record.row + dr, record.col + dc
            if 0 <= row < p.rows and 0 <= col < p.cols:
                link = builder.add(f"{record.name}>pe_{row}_{col}", Kind.LINK, tile, position=position)
                builder.arc(builder.index[f"{record.name}.out"], link)
                links.append((tile, row * p.cols + col, link))
                position += 1
    return links


def _add_file(builder: ArchBuilder, p: HycubeParameters, tile: int, links: list[Link]) -> None:
    """Add a register file that links and results write, and the ways of the crossbar around it."""
    record = builder.tiles[tile]
    registers = [builder.add(f"{record.name}.r{k}", Kind.REG, tile, position=k) for k in range(p.regs or 0)]
    for register in registers:
        builder.arc(register, register, 1)
        builder.arc(builder.index[f"{record.name}.fu"], register, record.latency_of("route"))
        for k in range(record.operands):
            builder.arc(register, builder.index[f"{record.name}.in{k}"])
    add_ways(builder, tile, links, registers, p.hops)
    if registers:
        rotating = 0 if p.rotating == "free" else p.rotating
        free = p.rotating == "free"
        builder.register_files.append(
            RegisterFile(name=record.name, registers=tuple(registers), rotating=rotating, adjustable=free)
        )
