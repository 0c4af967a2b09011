"""What the tiles of a described array share: buses, register files of several tiles, the data memory and its ports."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from gridloom.archs.described.draft import ArrayDraft, BankDraft, BusDraft, Cell, FileDraft, PortDraft
from gridloom.archs.described.keys import (
    count_at,
    entries_at,
    flag_at,
    join_keys,
    mapping_at,
    name_at,
    number_at,
    word_at,
)
from gridloom.archs.described.places import places
from gridloom.archs.described.tile_entries import MAX_CYCLES, PORT_COUNTS, ports_at, rotating_at
from gridloom.archs.parts.crossbars import MAX_HOPS
from gridloom.errors import ArchError

_BYPASS_KEYS: Final = ("hops", "ports")
_FILE_KEYS: Final = ("name", "count", "where", "rotating", *PORT_COUNTS)
_BUS_KEYS: Final = ("name", "where", "from", "along", "count")
_PORT_KEYS: Final = ("name", "where", "count")
_BANK_KEYS: Final = ("name", "where", "ports", "bytes", "latency")
_MEMORY_KEYS: Final = ("bytes", "ports", "banks")


def read_bypass(draft: ArrayDraft, value: Any, key: str) -> None:
    """Set how many links a value may cross in one cycle, and whether links end at ports with registers.

    A number alone says the links; null takes crossbars away that the extended array has.
    """
    if draft.style != "modulo":
        raise ArchError(f"{key}: values pass the tiles of a static array anyway; leave it out, or write style: modulo")
    if value is None:
        draft.hops, draft.port_registers = None, False
        return
    data = {"hops": value} if not isinstance(value, Mapping) else mapping_at(value, _BYPASS_KEYS, key, "a bypass")
    draft.hops = number_at(data.get("hops", draft.hops), join_keys(key, "hops"), 1, MAX_HOPS)
    if "ports" in data:
        draft.port_registers = flag_at(data["ports"], join_keys(key, "ports"))


def read_buses(draft: ArrayDraft, value: Any, key: str) -> None:
    """Set the buses; null takes those away that the extended array has."""
    if draft.style != "modulo":
        raise ArchError(
            f"{key}: a wire of a static array carries one value for the whole loop; write links: row or column, or "
            "style: modulo"
        )
    draft.buses = []
    for at, entry in entries_at(value, key) if value is not None else ():
        draft.buses += _buses_along(draft, entry, at) if _is_pattern(entry) else [_bus(draft, entry, at)]
    names: set[str] = set()
    for bus in draft.buses:
        if bus.name in names:
            raise ArchError(f"{key}: two buses are called {bus.name!r}")
        names.add(bus.name)


def _is_pattern(entry: Any) -> bool:
    """Return whether an entry stands for the buses of all rows or columns."""
    return not isinstance(entry, Mapping) or "along" in entry


def _buses_along(draft: ArrayDraft, entry: Any, key: str) -> list[BusDraft]:
    """Return the buses for all rows or for all columns, as many for each as an entry says."""
    data = mapping_at(entry, ("along", "count"), key, "buses along rows") if isinstance(entry, Mapping) else {}
    side = word_at(data["along"] if data else entry, join_keys(key, "along") if data else key, ("rows", "columns"))
    count = number_at(data.get("count", 1), join_keys(key, "count"), 1, 64)
    return parallel_buses(draft.rows, draft.cols, side, count)


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


def _bus(draft: ArrayDraft, entry: Any, key: str) -> BusDraft:
    """Return a single bus, with the tiles that drive it and those that read it."""
    data = mapping_at(entry, _BUS_KEYS, key, "a bus")
    if "count" in data:
        raise ArchError(
            f"{join_keys(key, 'count')}: only buses along rows or columns are counted; write several entries"
        )
    readers = places(data.get("where", "all"), draft.rows, draft.cols, join_keys(key, "where"))
    drivers = places(data["from"], draft.rows, draft.cols, join_keys(key, "from")) if "from" in data else readers
    return BusDraft(name=name_at(data.get("name"), join_keys(key, "name")), drivers=drivers, readers=readers)


def read_files(draft: ArrayDraft, value: Any, key: str) -> None:
    """Set the register files that several tiles share; a tile belongs to one of them at most."""
    if draft.style != "modulo":
        raise ArchError(f"{key}: a static array has no registers; leave it out, or write style: modulo")
    draft.files = []
    taken: dict[Cell, str] = {}
    for at, entry in entries_at(value, key):
        data = mapping_at(entry, _FILE_KEYS, at, "a register file")
        name = name_at(data.get("name"), join_keys(at, "name"))
        if name in [file.name for file in draft.files]:
            raise ArchError(f"{join_keys(at, 'name')}: two register files are called {name!r}")
        count = number_at(data.get("count"), join_keys(at, "count"), 1, 1024)
        rotating = rotating_at(data.get("rotating", "free"), join_keys(at, "rotating"))
        if rotating is not None and rotating > count:
            raise ArchError(f"{join_keys(at, 'rotating')}: {rotating} registers rotate, but the file has {count}")
        members = places(data.get("where", "all"), draft.rows, draft.cols, join_keys(at, "where"))
        for cell in members:
            if taken.setdefault(cell, name) != name:
                where = join_keys(at, "where")
                raise ArchError(f"{where}: tile {list(cell)} is in file {taken[cell]!r} already; a tile reads one file")
        ports = {port: ports_at(data.get(port), join_keys(at, port)) for port in PORT_COUNTS}
        draft.files.append(FileDraft(name=name, count=count, members=members, rotating=rotating, **ports))


def read_memory(draft: ArrayDraft, value: Any, key: str) -> None:
    """Set the size of the data memory and the ports through which tiles access it."""
    if draft.style != "modulo":
        raise ArchError(f"{key}: static arrays take their data from streams; leave it out, or write style: modulo")
    data = mapping_at(value, _MEMORY_KEYS, key, "the memory")
    if "bytes" in data:
        draft.data_memory = count_at(data["bytes"], join_keys(key, "bytes"), 0, 1 << 40, none="no limit")
    if "ports" in data:
        draft.ports = _ports(draft, data["ports"], join_keys(key, "ports"))
        draft.banks = []
    if "banks" in data:
        for name in ("bytes", "ports"):
            if name in data:
                raise ArchError(f"{join_keys(key, name)}: each bank has its own {name}; leave it out, or the banks")
        draft.banks = _banks(draft, data["banks"], join_keys(key, "banks"))
        draft.data_memory, draft.ports = None, "none"


def _ports(draft: ArrayDraft, value: Any, key: str) -> list[PortDraft] | str:
    """Return the memory ports: one for each row, column or tile, no limit, or a list of them."""
    if value is None or value in ("row", "column", "tile", "none"):
        return value or "none"
    if not isinstance(value, list):
        raise ArchError(f"{key}: expected row, column, tile, none or a list of ports, found {value!r}")
    ports: list[PortDraft] = []
    taken: dict[Cell, str] = {}
    for k, (at, entry) in enumerate(entries_at(value, key)):
        data = mapping_at(entry, _PORT_KEYS, at, "a memory port")
        name = name_at(data.get("name", f"bus_{k}"), join_keys(at, "name"))
        if name in [port.name for port in ports]:
            raise ArchError(f"{join_keys(at, 'name')}: two memory ports are called {name!r}")
        members = places(data.get("where", "all"), draft.rows, draft.cols, join_keys(at, "where"))
        for cell in members:
            if taken.setdefault(cell, name) != name:
                where = join_keys(at, "where")
                raise ArchError(f"{where}: tile {list(cell)} has port {taken[cell]!r} already; a tile has one port")
        capacity = number_at(data.get("count", 1), join_keys(at, "count"), 1, 1024)
        ports.append(PortDraft(name=name, members=members, capacity=capacity))
    return ports


def _banks(draft: ArrayDraft, value: Any, key: str) -> list[BankDraft]:
    """Return the memory banks; a tile may reach several of them."""
    banks: list[BankDraft] = []
    for k, (at, entry) in enumerate(entries_at(value, key)):
        data = mapping_at(entry, _BANK_KEYS, at, "a bank")
        name = name_at(data.get("name", f"bank_{k}"), join_keys(at, "name"))
        if name in [bank.name for bank in banks]:
            raise ArchError(f"{join_keys(at, 'name')}: two banks are called {name!r}")
        members = places(data.get("where", "all"), draft.rows, draft.cols, join_keys(at, "where"))
        latency = data.get("latency")
        banks.append(
            BankDraft(
                name=name,
                members=members,
                ports=number_at(data.get("ports", 1), join_keys(at, "ports"), 1, 1024),
                size=count_at(data.get("bytes"), join_keys(at, "bytes"), 4, 1 << 40, none="no limit"),
                latency=None if latency is None else number_at(latency, join_keys(at, "latency"), 1, MAX_CYCLES),
            )
        )
    return banks
