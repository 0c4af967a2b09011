"""What the tiles of a described array share: buses, register files of several tiles, the data memory and its ports."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field, model_validator

from gridloom.archs.described.draft import ArrayDraft, BusDraft
from gridloom.archs.described.keys import (
    NO_LIMIT,
    UNSET,
    Choice,
    Clause,
    Expected,
    Flag,
    Name,
    Several,
    Short,
    Whole,
    modulo_only,
    none_twice,
    refuse,
)
from gridloom.archs.described.places import ALL, Places
from gridloom.archs.described.tile_entries import MAX_CYCLES, Ports, Rotating
from gridloom.archs.parts.crossbars import MAX_HOPS


class BypassEntry(Clause, what="a bypass"):
    """How many links a value may cross in one cycle, and whether links end at ports with registers."""

    hops: Annotated[int, Whole(1, MAX_HOPS)] = UNSET
    ports: Flag = UNSET


class FileEntry(Clause, what="a register file"):
    """A register file that several tiles share."""

    name: Name
    count: Annotated[int, Whole(1, 1024)]
    where: Places = ALL
    rotating: Rotating = UNSET
    reads: Ports = None
    writes: Ports = None

    @model_validator(mode="after")
    def _check_rotating(self) -> FileEntry:
        """Refuse more registers that rotate than there are."""
        rotating: Any = self.rotating
        if rotating is not None and rotating > self.count:
            raise refuse(f"{rotating} registers rotate, but the file has {self.count}", "rotating")
        return self


def _refuse_count(value: Any) -> Any:
    """Refuse a number of single buses."""
    raise refuse("only buses along rows or columns are counted; write several entries")


class BusEntry(Clause, what="a bus"):
    """A single bus, with the tiles that drive it and those that read it."""

    name: Name
    where: Places = ALL
    drivers: Places = Field(UNSET, alias="from")
    count: Annotated[None, BeforeValidator(_refuse_count)] = None


class BusesAlong(Clause, what="buses along rows"):
    """The buses of all rows or of all columns, as many for each."""

    along: Literal["rows", "columns"]
    count: Annotated[int, Whole(1, 64)] = 1


class PortEntry(Clause, what="a memory port"):
    """A memory port that several tiles share: so many of them access memory through it in one cycle."""

    name: Name = UNSET
    where: Places = ALL
    count: Annotated[int, Whole(1, 1024)] = 1


class BankEntry(Clause, what="a bank"):
    """A memory bank and the tiles that reach it. Without a latency, an access takes what the tiles say."""

    name: Name = UNSET
    where: Places = ALL
    ports: Annotated[int, Whole(1, 1024)] = 1
    bytes: Annotated[int | None, Whole(4, 1 << 40, NO_LIMIT)] = None
    latency: Annotated[int, Whole(1, MAX_CYCLES)] | None = None


class MemoryEntry(Clause, what="the memory"):
    """The data memory, and the ports through which tiles access it, or its banks."""

    bytes: Annotated[int | None, Whole(0, 1 << 40, NO_LIMIT)] = None
    ports: Annotated[
        Annotated[
            list[PortEntry],
            none_twice("memory ports", default="bus_", shared="has port {!r} already; a tile has one port"),
        ]
        | Annotated[
            Literal["row", "column", "tile", "none"] | None, Expected("row, column, tile, none or a list of ports")
        ],
        Choice(lambda ports: isinstance(ports, list)),
    ] = None
    banks: Annotated[Several[BankEntry], none_twice("banks", default="bank_")] = []

    @model_validator(mode="after")
    def _check_banks(self) -> MemoryEntry:
        """Refuse banks beside what each of them has."""
        for name in ("bytes", "ports"):
            if {name, "banks"} <= self.model_fields_set:
                raise refuse(f"each bank has its own {name}; leave it out, or the banks", name)
        return self


Files = Annotated[
    Several[FileEntry],
    none_twice("register files", shared="is in file {!r} already; a tile reads one file"),
    modulo_only("a static array has no registers; leave it out, or write style: modulo"),
]
_IS_ALONG = Choice(lambda entry: not isinstance(entry, dict) or "along" in entry)
Buses = Annotated[
    Several[Annotated[Annotated[BusesAlong, Short("along")] | BusEntry, _IS_ALONG]] | None,
    modulo_only(
        "a wire of a static array carries one value for the whole loop; write links: row or column, or style: modulo"
    ),
]
Memory = Annotated[
    MemoryEntry,
    modulo_only("static arrays take their data from streams; leave it out, or write style: modulo"),
]
Bypass = Annotated[
    Annotated[BypassEntry, Short("hops")] | None,
    modulo_only("values pass the tiles of a static array anyway; leave it out, or write style: modulo"),
]


def set_bypass(draft: ArrayDraft, entry: BypassEntry | None) -> None:
    """Set the crossbars; None takes those away that the extended array has."""
    if entry is None:
        draft.hops, draft.port_registers = None, False
        return
    draft.hops = entry.hops or draft.hops
    if draft.hops is None:
        raise refuse(f"expected a whole number from 1 to {MAX_HOPS}, found None", "bypass", "hops")
    if entry.ports is not None:
        draft.port_registers = entry.ports


def set_buses(draft: ArrayDraft, entries: list[Any] | None) -> None:
    """Set the buses; None takes those away that the extended array has."""
    draft.buses = []
    for entry in entries or ():
        if isinstance(entry, BusEntry):
            draft.buses.append(BusDraft(name=entry.name, drivers=entry.drivers or entry.where, readers=entry.where))
        else:
            draft.buses += parallel_buses(draft.rows, draft.cols, entry.along, entry.count)
    names = [bus.name for bus in draft.buses]
    for k, name in enumerate(names):
        if name in names[:k]:
            raise refuse(f"two buses are called {name!r}", "buses")


def parallel_buses(rows: int, cols: int, side: str, count: int) -> list[BusDraft]:
    """Return so many buses for each row (``side`` is ``rows``) or for each column (``columns``) of a grid.

    >>> [bus.name for bus in parallel_buses(2, 3, "rows", 2)]
    ['row_0', 'row_0_1', 'row_1', 'row_1_1']
    """
    lines = [[(r, c) for c in range(cols)] for r in range(rows)]
    if side == "columns":
        lines = [[(r, c) for r in range(rows)] for c in range(cols)]
    return [
        BusDraft(name=f"{side[:3]}_{number}" + (f"_{k}" if k else ""), drivers=cells, readers=cells)
        for number, cells in enumerate(lines)
        for k in range(count)
    ]


def set_memory(draft: ArrayDraft, memory: MemoryEntry) -> None:
    """Set the size of the data memory, and the ports through which tiles access it, or its banks."""
    given = memory.given()
    if "bytes" in given:
        draft.data_memory = memory.bytes
    if "ports" in given:
        draft.ports, draft.banks = memory.ports or "none", []
    if "banks" in given:
        draft.banks, draft.data_memory, draft.ports = memory.banks, None, "none"
