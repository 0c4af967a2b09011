"""``rdu``: an elastic grid of compute and memory units between switches, with time-shared vector links.

Units stand in a checkerboard (compute where row + col is even) with a switch at each corner. Every unit has a link to
and from its four corner switches, neighbouring switches have ``channels`` links each way, and DRAM interfaces sit at
the left and right side. A mapping has no cycles: tokens move when there is room.

The array follows reconfigurable dataflow units such as Plasticine (Prabhakar et al., ISCA 2017) and the SN10: a compute
unit is a pipeline of vector stages, a memory unit a scratchpad, DRAM interfaces share DDR channels. Where each number
comes from, and how packets, credits, banks and DRAM behave, is in docs/dataflow-machine.md. What the units take for a
firing is written at the nodes of the graph (``UnitNode.work``), which ``lowering`` computes from the parameters here.
The mapping itself sees units, input buffers and links only.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from gridloom.archs.model import Arch, ArchBuilder, Kind, Tile
from gridloom.archs.spec import check_range, check_size, finish_array, parameters

_COMPUTE = frozenset({"gemm", "vector"})
_MEMORY = frozenset({"buffer"})


@dataclass(frozen=True, kw_only=True)
class RduParameters:
    """Parameters of the grid."""

    #: Rows of units, 1 to 128.
    rows: int
    #: Columns of units, 1 to 128.
    cols: int
    #: Links each way between neighbouring switches, 1 to 16.
    channels: int = 1
    #: Vectors that an input FIFO holds.
    fifo: int = 16
    #: Vectors that travel together at the most, which lowering makes packets of; 0: lowering chooses.
    packet: int = 0
    #: Vectors that the buffer at the end of a link holds.
    switch_buffer: int = 8
    #: Bytes of a memory unit; it buffers ``memory_bytes // vector_bytes`` vectors.
    memory_bytes: int = 262144
    #: Bytes of a vector.
    vector_bytes: int = 64
    #: Inputs of a unit, 1 to 16.
    operands: int = 6
    #: DRAM interfaces at each of the two sides: one every so many rows.
    dram_every: int = 2
    #: Channels of the DRAM, 1 to 64, which the interfaces share in turn: interface k uses channel k modulo these.
    dram_channels: int = 6
    #: Cycles that a vector takes in a DRAM channel, 1 to 1024.
    dram_cycles: int = 3
    #: Cycles from the end of a read in its channel to its interface, 0 to 4096.
    dram_latency: int = 100
    #: Vectors of reads under way that an interface has room for.
    dram_queue: int = 64
    #: Vectors in a row of a DRAM bank, up to 1048576; 0: DRAM has no rows, and every access takes the same.
    dram_row: int = 0
    #: Banks of a DRAM channel, 1 to 64, each with one open row; only with ``dram_row``.
    dram_banks: int = 16
    #: Cycles in which a channel closes a row of a bank and opens another, 0 to 4096; only with ``dram_row``.
    row_cycles: int = 29
    #: Every so many cycles a DRAM channel is refreshed, 1 to 1048576.
    refresh_every: int = 7800
    #: Cycles that a refresh takes, in which its channel begins nothing; 0: there is no refresh.
    refresh_cycles: int = 350
    #: Banks of a memory unit, 1 to 16: each reads and writes a vector per cycle. Input k writes bank k modulo these.
    memory_ports: int = 1
    #: Vectors of the configuration of a unit, which come from DRAM before a section runs, 0 to 65536.
    configure_vectors: int = 32
    #: Lanes of a compute unit, 1 to 256: multiply-accumulates per cycle.
    lanes: int = 16
    #: Stages of a compute unit's pipeline, 1 to 64: elementwise steps that it does in one pass.
    stages: int = 6
    #: Rows of a matrix product that a compute unit works on at once, 1 to 64: how often it uses a weight vector.
    block_rows: int = 1


def build(spec: Mapping[str, Any]) -> Arch:
    """Return the grid that a description names.

    Links and outputs have no capacity limit (they are shared in time), function units and operand inputs have 1. Tiles
    are numbered: units row by row, DRAM interfaces, switches.
    """
    p = parameters(RduParameters, spec)
    check_size(p.rows, p.cols)
    large = 1 << 40
    for key, high in (
        ("channels", 16),
        ("operands", 16),
        ("fifo", large),
        ("dram_every", large),
        ("vector_bytes", large),
        ("dram_channels", 64),
        ("dram_cycles", 1024),
        ("dram_banks", 64),
        ("refresh_every", 1 << 20),
        ("memory_ports", 16),
        ("lanes", 256),
        ("stages", 64),
        ("block_rows", 64),
    ):
        check_range(p, key, 1, high)
    check_range(p, "memory_bytes", p.vector_bytes, large)
    check_range(p, "switch_buffer", 1, 4096)
    check_range(p, "packet", 0, min(p.fifo, p.switch_buffer))
    check_range(p, "dram_queue", p.switch_buffer, 4096)
    check_range(p, "dram_latency", 0, 4096)
    check_range(p, "dram_row", 0, 1 << 20)
    check_range(p, "row_cycles", 0, 4096)
    check_range(p, "refresh_cycles", 0, p.refresh_every - 1)
    check_range(p, "configure_vectors", 0, 65536)
    builder = ArchBuilder()
    ends = _add_units(builder, p)
    _add_switches(builder, p)
    pairs = _link_pairs(p, ends)
    arriving: dict[str, list[tuple[str, int]]] = {}
    leaving: dict[str, list[tuple[str, int]]] = {}
    number = {tile.name: k for k, tile in enumerate(builder.tiles)}
    for source, target, channel in pairs:
        suffix = f"#{channel}" if channel else ""
        link = builder.add(f"{source}>{target}{suffix}", Kind.LINK, number[source], position=channel, capacity=0)
        leaving.setdefault(source, []).append((target, link))
        arriving.setdefault(target, []).append((source, link))
    _connect(builder, p, ends, arriving, leaving)
    return finish_array(
        builder,
        spec,
        style="elastic",
        size=(p.rows, p.cols),
        free=frozenset({"const", "livein"}),
        traits=frozenset({"switches"}),
    )


def _add_units(builder: ArchBuilder, p: RduParameters) -> list[str]:
    """Add compute and memory units in a checkerboard and the DRAM interfaces; return the names of all."""
    names = []
    capacity = p.memory_bytes // p.vector_bytes
    for row in range(p.rows):
        for col in range(p.cols):
            compute = (row + col) % 2 == 0
            name = f"{'cu' if compute else 'mu'}_{row}_{col}"
            names.append(name)
            _add_unit(builder, p, name, row, col, "cu" if compute else "mu", _COMPUTE if compute else _MEMORY,
                      p.fifo if compute else capacity)  # fmt: skip
    for row in range(0, p.rows, p.dram_every):
        for col, side in ((-1, "left"), (p.cols, "right")):
            name = f"dram_{side}_{row}"
            names.append(name)
            _add_unit(builder, p, name, row, col, "dram", frozenset({"dram"}), p.fifo)
    return names


def _add_unit(
    builder: ArchBuilder, p: RduParameters, name: str, row: int, col: int, kind: str, classes: frozenset[str], room: int
) -> None:
    """Add one unit with its function unit, its output and its operand inputs."""
    tile = builder.add_tile(
        Tile(name=name, row=row, col=col, kind=kind, classes=classes, operands=p.operands, fifo=p.fifo, buffer=room)
    )
    fu = builder.add(f"{name}.fu", Kind.FU, tile)
    out = builder.add(f"{name}.out", Kind.OUT, tile, capacity=0)
    builder.arc(fu, out, 1)
    for k in range(p.operands):
        builder.add(f"{name}.in{k}", Kind.IN, tile, position=k)


def _add_switches(builder: ArchBuilder, p: RduParameters) -> None:
    """Add the switches, one at each corner of the grid."""
    for row in range(p.rows + 1):
        for col in range(p.cols + 1):
            builder.add_tile(
                Tile(name=f"sw_{row}_{col}", row=row, col=col, kind="switch", classes=frozenset(), operands=0)
            )


def _link_pairs(p: RduParameters, ends: list[str]) -> list[tuple[str, str, int]]:
    """Return the source, the target and the channel of every link.

    Units have a link each way with their four corner switches, DRAM interfaces with the two that stand beside them, and
    neighbouring switches have ``channels`` links each way.
    """
    pairs: list[tuple[str, str, int]] = []
    for row in range(p.rows + 1):
        for col in range(p.cols + 1):
            for r, c in ((row, col + 1), (row + 1, col)):
                if r <= p.rows and c <= p.cols:
                    for channel in range(p.channels):
                        pairs.append((f"sw_{row}_{col}", f"sw_{r}_{c}", channel))
                        pairs.append((f"sw_{r}_{c}", f"sw_{row}_{col}", channel))
    for name in ends:
        kind, *place = name.split("_")
        if kind == "dram":
            row, col = int(place[1]), 0 if place[0] == "left" else p.cols
            corners = [(row, col), (row + 1, col)]
        else:
            row, col = int(place[0]), int(place[1])
            corners = [(row + dr, col + dc) for dr in (0, 1) for dc in (0, 1)]
        for r, c in corners:
            pairs += [(name, f"sw_{r}_{c}", 0), (f"sw_{r}_{c}", name, 0)]
    return pairs


def _connect(
    builder: ArchBuilder,
    p: RduParameters,
    ends: list[str],
    arriving: dict[str, list[tuple[str, int]]],
    leaving: dict[str, list[tuple[str, int]]],
) -> None:
    """Add the arcs: from outputs to links, from links to operands, and through switches to links that lead on.

    A value never turns back to where it came from. Passing a switch and entering an operand cost a cycle each.
    """
    units = set(ends)
    for name in ends:
        for _, link in leaving[name]:
            builder.arc(builder.index[f"{name}.out"], link, 0)
        for _, link in arriving[name]:
            for k in range(p.operands):
                builder.arc(link, builder.index[f"{name}.in{k}"], 1)
    for name, incoming in arriving.items():
        if name in units:
            continue
        for source, link in incoming:
            for target, onward in leaving[name]:
                if target != source:
                    builder.arc(link, onward, 1)
