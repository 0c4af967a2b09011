"""What arrays of combinational rows are made of: ALUs, load and store ports, constant registers.

Nothing here takes a cycle: a family adds the multiplexers between these parts and the boundaries that are registered.

Tiles made here have latency 0 for every op class, no FIFO and one context. Ports and constant registers stand outside
the grid, at rows or columns below 0, so that the extent of a mapping counts PEs only.
"""

from __future__ import annotations

from typing import Any, Final

from gridloom.archs.model import ArchBuilder, Kind, Tile

_UNTIMED: Final[dict[str, Any]] = {"latency": {"*": 0}, "fifo": 0, "contexts": 1}


def add_alu(
    builder: ArchBuilder,
    row: int,
    col: int,
    classes: frozenset[str],
    *,
    routes: bool,
    lacks: frozenset[str] = frozenset(),
) -> int:
    """Add the PE ``pe_ROW_COL`` with an ALU of two operands and return its tile.

    With ``routes``, an unused ALU can pass operand 0 on; ``lacks`` are ops of its classes that it does not have.
    """
    name = f"pe_{row}_{col}"
    tile = builder.add_tile(Tile(name=name, row=row, col=col, classes=classes, operands=2, lacks=lacks, **_UNTIMED))
    unit = builder.add(f"{name}.fu", Kind.FU, tile)
    builder.arc(unit, builder.add(f"{name}.out", Kind.OUT, tile))
    for k in range(2):
        operand = builder.add(f"{name}.in{k}", Kind.IN, tile, position=k)
        if k == 0 and routes:
            builder.arc(operand, unit)
    return tile


def add_load_port(builder: ArchBuilder, k: int, row: int, col: int) -> int:
    """Add ``load_K``, where an input stream enters, and return its tile."""
    name = f"load_{k}"
    port = Tile(name=name, row=row, col=col, kind="load", classes=frozenset({"input"}), operands=0, **_UNTIMED)
    tile = builder.add_tile(port)
    builder.arc(builder.add(f"{name}.fu", Kind.FU, tile), builder.add(f"{name}.out", Kind.OUT, tile))
    return tile


def add_store_port(builder: ArchBuilder, k: int, row: int, col: int) -> int:
    """Add ``store_K``, where an output stream leaves, and return its tile."""
    name = f"store_{k}"
    port = Tile(name=name, row=row, col=col, kind="store", classes=frozenset({"output"}), operands=1, **_UNTIMED)
    tile = builder.add_tile(port)
    builder.add(f"{name}.fu", Kind.FU, tile)
    builder.add(f"{name}.in0", Kind.IN, tile)
    return tile


def add_constant_register(builder: ArchBuilder, k: int, rows: int) -> None:
    """Add ``const_K`` beside row ``k % rows``, which reads it; those of a second round stand one column further."""
    row, col = k % rows, -1 - k // rows
    holds = frozenset({"const", "livein"})
    register = Tile(name=f"const_{k}", row=row, col=col, kind="const", classes=holds, latency={"*": 0}, operands=0)
    builder.add(f"const_{k}.fu", Kind.CONST, builder.add_tile(register))
