"""What grids of processing elements with output registers are made of, whether ops share them in time or not."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Protocol

from gridloom.archs.model import ArchBuilder, Kind, Tile


class PeParameters(Protocol):
    """What the parameters of every such grid say about a PE."""

    @property
    def latency(self) -> dict[str, int]:
        """Op latency by op class; ``"*"`` is the rest."""
        ...

    @property
    def operands(self) -> int:
        """Operands of a function unit."""
        ...


def add_pe(
    builder: ArchBuilder, p: PeParameters, row: int, col: int, classes: Iterable[str], *, moves: bool, **fields: Any
) -> None:
    """Add the PE ``pe_ROW_COL``: a function unit, its output register, and operands that also read the own output.

    With ``moves``, a value can pass through the function unit by operand 0, in the latency of a route; ``fields`` are
    further fields of the tile. Without it, the latency 1 of the arc from unit to output says only that the output is
    registered: an op's result leaves the unit after the latency of its class, and nothing else passes through.
    """
    name = f"pe_{row}_{col}"
    latency = {"*": 1, **p.latency}
    pe = Tile(name=name, row=row, col=col, classes=frozenset(classes), latency=latency, operands=p.operands, **fields)
    tile = builder.add_tile(pe)
    unit = builder.add(f"{name}.fu", Kind.FU, tile)
    out = builder.add(f"{name}.out", Kind.OUT, tile)
    builder.arc(unit, out, pe.latency_of("route") if moves else 1)
    for k in range(p.operands):
        operand = builder.add(f"{name}.in{k}", Kind.IN, tile, position=k)
        builder.arc(out, operand)
        if moves and k == 0:
            builder.arc(operand, unit)


def add_spill(builder: ArchBuilder, memory: int, k: int, registers: Iterable[int]) -> None:
    """Let tile k load values from the memory and store them there, in the issue slot of its function unit.

    A loaded value goes to the output register, and may go to ``registers``.
    """
    tile = builder.tiles[k]
    unit, cycles = builder.index[f"{tile.name}.fu"], tile.latency_of("mem")
    load = builder.add(f"{tile.name}.load", Kind.LOAD, k, group=unit)
    store = builder.add(f"{tile.name}.store", Kind.STORE, k, group=unit)
    builder.arc(memory, load)
    builder.arc(load, builder.index[f"{tile.name}.out"], cycles)
    builder.arc(builder.index[f"{tile.name}.in0"], store)
    builder.arc(store, memory, 1)
    for register in registers:
        builder.arc(load, register, cycles)


_CROSS = ((-1, 0), (0, -1), (0, 1), (1, 0))
_JUMP = ((-2, 0), (0, -2), (0, 2), (2, 0))


def neighbours(family: str, row: int, col: int, rows: int, cols: int) -> list[tuple[int, int]]:
    """Return the cells that have a link with (row, col), in reading order.

    In ``chess`` a jump of two keeps the colour of a cell, so that jumps join white cells only.

    >>> neighbours("hex", 1, 1, 3, 3)
    [(0, 1), (0, 2), (1, 0), (1, 2), (2, 1), (2, 2)]
    >>> neighbours("onehop", 0, 0, 3, 3)
    [(0, 1), (0, 2), (1, 0), (2, 0)]
    """
    if family == "hex":
        side = -1 if row % 2 == 0 else 0
        steps: tuple[tuple[int, int], ...] = (
            (-1, side), (-1, side + 1), (0, -1), (0, 1), (1, side), (1, side + 1),
        )  # fmt: skip
    elif family == "onehop" or (family == "chess" and (row + col) % 2 == 0):
        steps = _CROSS + _JUMP
    else:
        steps = _CROSS
    cells = [(row + dr, col + dc) for dr, dc in steps]
    return sorted((r, c) for r, c in cells if 0 <= r < rows and 0 <= c < cols)
