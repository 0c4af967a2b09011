"""A draft of an array: what a description has said of it so far. Later entries change it, and ``assembly`` builds it.

A draft is a grid of tile drafts, a set of links and what the tiles share. It knows nothing of resources and arcs.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from gridloom.archs.described.sharing import BankEntry, FileEntry, PortEntry

Cell = tuple[int, int]

#: What a tile computes unless its description says otherwise.
COMPUTES = ("alu", "mul", "div", "fp")
MEMORY = ("mem", "mem_data")
PORTS = ("input", "output")


@dataclass(slots=True)
class TileDraft:
    """What a description has said of one tile so far."""

    classes: set[str] = field(default_factory=set)
    #: Ops of these classes that it does not have.
    lacks: set[str] = field(default_factory=set)
    latency: dict[str, int] = field(default_factory=lambda: {"*": 1})
    occupancy: dict[str, int] = field(default_factory=lambda: {"*": 1})
    operands: int = 3
    #: One depth for all operands, or a list of them.
    fifo: int | list[int | None] | None = 0
    #: Registers of its own file, and how many rotate; None: the mapping chooses.
    registers: int = 0
    rotating: int | None = None
    #: Read and write ports of that file; None: all operands read and all results are written at once.
    reads: int | None = None
    writes: int | None = None
    #: How long its output register keeps a value.
    hold: str = "until-write"
    #: Whether a value can pass through its function unit.
    moves: bool = True
    contexts: int | None = None
    #: Words of its constant store; None: no limit.
    constants: int | None = None


@dataclass(slots=True, kw_only=True)
class BusDraft:
    """A bus: in each cycle the output of one of its drivers, which the operands of all its readers may take."""

    name: str
    drivers: list[Cell]
    readers: list[Cell]


@dataclass(slots=True, kw_only=True)
class ArrayDraft:
    """What a description has said of an array so far."""

    style: Literal["static", "modulo"]
    rows: int
    cols: int
    tiles: dict[Cell, TileDraft]
    links: set[tuple[Cell, Cell]] = field(default_factory=set)
    #: Traits that follow from the patterns of the links: what drawings need to know.
    traits: set[str] = field(default_factory=set)
    files: list[FileEntry] = field(default_factory=list)
    buses: list[BusDraft] = field(default_factory=list)
    #: The memory ports, or for what there is one port each: ``row``, ``column``, ``tile``; ``none``: no limit.
    ports: list[PortEntry] | str = "row"
    banks: list[BankEntry] = field(default_factory=list)
    inputs: Literal["aligned", "skewed", "free"] = "free"
    live_ins: Literal["immediate", "registers"] = "registers"
    #: Links that a value may cross in one cycle through crossbars; None: tiles pass values on by moves only.
    hops: int | None = None
    #: Whether each link ends at a port with a register of its own.
    port_registers: bool = False
    data_memory: int | None = None
    word: int = 32
    #: Loops around a launched one that a loop controller restarts it for.
    loop_levels: int = 0

    @property
    def cells(self) -> list[Cell]:
        """The places of the grid, row by row."""
        return [(r, c) for r in range(self.rows) for c in range(self.cols)]


def empty_draft(style: Literal["static", "modulo"], rows: int, cols: int) -> ArrayDraft:
    """Return a draft without links, whose tiles have everything that a tile of the style has by default."""
    static = style == "static"
    classes = {*COMPUTES, *MEMORY, *(PORTS if static else ())}
    fields = {"fifo": None, "moves": False, "hold": "next", "contexts": 1} if static else {}
    tiles = {
        (r, c): TileDraft(classes=set(classes), **fields)  # type: ignore[arg-type]
        for r in range(rows)
        for c in range(cols)
    }
    return ArrayDraft(
        style=style,
        rows=rows,
        cols=cols,
        tiles=tiles,
        inputs="aligned" if static else "free",
        live_ins="immediate" if static else "registers",
    )
