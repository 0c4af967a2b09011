"""How configuration and weights come into an array: streams from DRAM over the links that tokens use later.

Each unit has packets to get. They lie in the DRAM channels in turn, packet after packet and unit after unit, so that
all channels carry the same; those of one channel come through its interface that is nearest to the unit, along the
column of switches first and then along the row. What a unit gets from one interface is a *stream*: an input that sends,
and a node that takes. docs/dataflow-machine.md says which published descriptions this follows.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np

from gridloom.archs.model import Arch, Tile
from gridloom.archs.spec import parameters
from gridloom.sim.reading import edges_from, edges_into
from gridloom.targets.dataflow.families.rdu import RduParameters
from gridloom.targets.dataflow.machine.cold import ColdProgram
from gridloom.targets.dataflow.machine.fabric import PacketFabric
from gridloom.targets.dataflow.machine.firing_rates import count_tokens
from gridloom.targets.dataflow.program.model import TokenEdge, UnitGraph, UnitNode


@dataclass(frozen=True, kw_only=True)
class Loading:
    """A program that brings something from DRAM, placed: stream k is nodes 2 k and 2 k + 1 and edge k."""

    program: ColdProgram
    #: UnitNode -> tile.
    tiles: tuple[int, ...]
    #: Stream -> the links that its packets take, as resources of the array.
    paths: tuple[tuple[int, ...], ...]


def configuration(arch: Arch, fabric: PacketFabric, tiles: Sequence[int]) -> Loading | None:
    """Return the loading of the configuration of units on these tiles; None where it is empty.

    Linear in the links of the streams.
    """
    vectors = parameters(RduParameters, arch.spec).configure_vectors
    return _loading(arch, fabric, [(tile, vectors) for tile in tiles], stores=False)


def weights(
    arch: Arch, fabric: PacketFabric, dfg: UnitGraph, counts: Sequence[int], tiles: Sequence[int]
) -> Loading | None:
    """Return the loading of a section's weights, None where it has none.

    Weights are what memory units without inputs send for each block; they come once.
    """
    carried = count_tokens(dfg, counts)
    entering, leaving = edges_into(dfg), edges_from(dfg)
    wanted = []
    for k, node in enumerate(dfg.nodes):
        if node.op == "buffer" and not entering[k]:
            edges = [dfg.edges[e] for e in leaving[k]]
            parts = {(e.part, e.tokens, e.puts_every): carried[n] for e, n in zip(edges, leaving[k])}
            wanted.append((tiles[k], sum(parts.values())))
    return _loading(arch, fabric, wanted, stores=True)


def later(fabric: PacketFabric, cycles: int) -> PacketFabric:
    """Return the fabric as it is so many cycles later: its channels are in another phase of their refreshes."""
    every = np.maximum(fabric.rest_every, 1)
    return replace(fabric, rest_phase=np.where(fabric.rest_every > 0, (fabric.rest_phase + cycles) % every, 0))


def _loading(arch: Arch, fabric: PacketFabric, wanted: list[tuple[int, int]], *, stores: bool) -> Loading | None:
    """Return the streams that bring so many vectors to each tile."""
    p = parameters(RduParameters, arch.spec)
    most = p.packet or max(1, min(p.fifo, p.switch_buffer) // 2)
    channels = sorted(set(fabric.channel[fabric.channel >= 0].tolist()))
    nodes, edges, counts, tiles, inputs = [], [], [], [], []
    paths: list[tuple[int, ...]] = []
    first = 0
    for tile, vectors in wanted:
        size = max((d for d in range(1, most + 1) if vectors % d == 0), default=1)
        packets = vectors // size
        for k in range(min(len(channels), packets)):
            channel = (first + k) % len(channels)
            number = len(paths)
            interface = _nearest(arch, fabric, channels[channel], tile)
            share = len(range(k, packets, len(channels)))
            nodes.append(UnitNode(id=f"from{number}", op="input", work=size))
            nodes.append(UnitNode(id=f"to{number}", op="buffer" if stores else "elementwise"))
            room = share * size if stores else p.fifo
            edges.append(TokenEdge(source=f"from{number}", target=f"to{number}", tokens=size, room=room))
            counts += [share, share]
            tiles += [interface, tile]
            inputs.append(k)
            paths.append(_path(arch, arch.tiles[interface], arch.tiles[tile]))
        first = (first + packets) % len(channels)
    if not paths:
        return None
    dfg = UnitGraph(name="loading", nodes=tuple(nodes), edges=tuple(edges))
    program = ColdProgram(
        dfg=dfg, counts=counts, blocks=[1] * len(nodes), dropped=[0] * len(edges), inputs=inputs, stores=stores
    )
    return Loading(program=program, tiles=tuple(tiles), paths=tuple(paths))


def _nearest(arch: Arch, fabric: PacketFabric, channel: int, tile: int) -> int:
    """Return the interface of a channel that is nearest to a tile; the first of those that are equally near."""
    place = arch.tiles[tile]
    return min(
        np.flatnonzero(fabric.channel == channel).tolist(),
        key=lambda t: abs(arch.tiles[t].row - place.row) + abs(arch.tiles[t].col - place.col),
    )


def _path(arch: Arch, source: Tile, target: Tile) -> tuple[int, ...]:
    """Return the links from one unit to another by the nearest of their switches: along the column, then the row."""
    rows, cols = arch.rows, arch.cols
    (row, col), (goal_row, goal_col) = min(
        ((a, b) for a in _corners(source, rows, cols) for b in _corners(target, rows, cols)),
        key=lambda ends: abs(ends[0][0] - ends[1][0]) + abs(ends[0][1] - ends[1][1]),
    )
    way = [source.name, f"sw_{row}_{col}"]
    while (row, col) != (goal_row, goal_col):
        if row != goal_row:
            row += 1 if goal_row > row else -1
        else:
            col += 1 if goal_col > col else -1
        way.append(f"sw_{row}_{col}")
    return tuple(arch.resource_names.index(f"{a}>{b}") for a, b in pairwise([*way, target.name]))


def _corners(tile: Tile, rows: int, cols: int) -> list[tuple[int, int]]:
    """Return the switches beside a unit: four at the corners of units of the grid, two beside DRAM interfaces."""
    corners = [(tile.row + dr, tile.col + dc) for dr in (0, 1) for dc in (0, 1)]
    return [(r, c) for r, c in corners if 0 <= r <= rows and 0 <= c <= cols]
