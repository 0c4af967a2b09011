"""What the tiles of a described array share: register files of several tiles, the data memory and its ports."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from gridloom.archs.described.draft import BankDraft, Cell, Draft, FileDraft, PortDraft
from gridloom.archs.described.keys import count_at, entries_at, flag_at, joined, mapping_at, name_at, number_at
from gridloom.archs.described.places import places
from gridloom.archs.described.tile_entries import MAX_CYCLES, rotating_at
from gridloom.archs.families.crossbar_parts import MAX_HOPS
from gridloom.errors import ArchError

_BYPASS_KEYS: Final = ("hops", "ports")
_FILE_KEYS: Final = ("name", "count", "where", "rotating")
_PORT_KEYS: Final = ("name", "where", "count")
_BANK_KEYS: Final = ("name", "where", "ports", "bytes", "latency")
_MEMORY_KEYS: Final = ("bytes", "ports", "banks")


def read_bypass(draft: Draft, value: Any, key: str) -> None:
    """Set how many links a value may cross in one cycle, and whether links end at ports with registers.

    A number alone says the links; null takes crossbars away that the extended array has.
    """
    if draft.style != "modulo":
        raise ArchError(f"{key}: values pass the tiles of a static array anyway; leave it out, or write style: modulo")
    if value is None:
        draft.hops, draft.port_registers = None, False
        return
    data = {"hops": value} if not isinstance(value, Mapping) else mapping_at(value, _BYPASS_KEYS, key, "a bypass")
    draft.hops = number_at(data.get("hops", draft.hops), joined(key, "hops"), 1, MAX_HOPS)
    if "ports" in data:
        draft.port_registers = flag_at(data["ports"], joined(key, "ports"))


def read_files(draft: Draft, value: Any, key: str) -> None:
    """Set the register files that several tiles share; a tile belongs to one of them at most."""
    if draft.style != "modulo":
        raise ArchError(f"{key}: a static array has no registers; leave it out, or write style: modulo")
    draft.files = []
    taken: dict[Cell, str] = {}
    for at, entry in entries_at(value, key):
        data = mapping_at(entry, _FILE_KEYS, at, "a register file")
        name = name_at(data.get("name"), joined(at, "name"))
        if name in [file.name for file in draft.files]:
            raise ArchError(f"{joined(at, 'name')}: two register files are called {name!r}")
        count = number_at(data.get("count"), joined(at, "count"), 1, 1024)
        rotating = rotating_at(data.get("rotating", "free"), joined(at, "rotating"))
        if rotating is not None and rotating > count:
            raise ArchError(f"{joined(at, 'rotating')}: {rotating} registers rotate, but the file has {count}")
        members = places(data.get("where", "all"), draft.rows, draft.cols, joined(at, "where"))
        for cell in members:
            if taken.setdefault(cell, name) != name:
                where = joined(at, "where")
                raise ArchError(f"{where}: tile {list(cell)} is in file {taken[cell]!r} already; a tile reads one file")
        draft.files.append(FileDraft(name=name, count=count, members=members, rotating=rotating))


def read_memory(draft: Draft, value: Any, key: str) -> None:
    """Set the size of the data memory and the ports through which tiles access it."""
    if draft.style != "modulo":
        raise ArchError(f"{key}: static arrays take their data from streams; leave it out, or write style: modulo")
    data = mapping_at(value, _MEMORY_KEYS, key, "the memory")
    if "bytes" in data:
        draft.data_memory = count_at(data["bytes"], joined(key, "bytes"), 0, 1 << 40, none="no limit")
    if "ports" in data:
        draft.ports = _ports(draft, data["ports"], joined(key, "ports"))
        draft.banks = []
    if "banks" in data:
        for name in ("bytes", "ports"):
            if name in data:
                raise ArchError(f"{joined(key, name)}: each bank has its own {name}; leave it out, or the banks")
        draft.banks = _banks(draft, data["banks"], joined(key, "banks"))
        draft.data_memory, draft.ports = None, "none"


def _ports(draft: Draft, value: Any, key: str) -> list[PortDraft] | str:
    """Return the memory ports: one for each row, column or tile, no limit, or a list of them."""
    if value is None or value in ("row", "column", "tile", "none"):
        return value or "none"
    if not isinstance(value, list):
        raise ArchError(f"{key}: expected row, column, tile, none or a list of ports, found {value!r}")
    ports: list[PortDraft] = []
    taken: dict[Cell, str] = {}
    for k, (at, entry) in enumerate(entries_at(value, key)):
        data = mapping_at(entry, _PORT_KEYS, at, "a memory port")
        name = name_at(data.get("name", f"bus_{k}"), joined(at, "name"))
        if name in [port.name for port in ports]:
            raise ArchError(f"{joined(at, 'name')}: two memory ports are called {name!r}")
        members = places(data.get("where", "all"), draft.rows, draft.cols, joined(at, "where"))
        for cell in members:
            if taken.setdefault(cell, name) != name:
                where = joined(at, "where")
                raise ArchError(f"{where}: tile {list(cell)} has port {taken[cell]!r} already; a tile has one port")
        capacity = number_at(data.get("count", 1), joined(at, "count"), 1, 1024)
        ports.append(PortDraft(name=name, members=members, capacity=capacity))
    return ports


def _banks(draft: Draft, value: Any, key: str) -> list[BankDraft]:
    """Return the memory banks; a tile may reach several of them."""
    banks: list[BankDraft] = []
    for k, (at, entry) in enumerate(entries_at(value, key)):
        data = mapping_at(entry, _BANK_KEYS, at, "a bank")
        name = name_at(data.get("name", f"bank_{k}"), joined(at, "name"))
        if name in [bank.name for bank in banks]:
            raise ArchError(f"{joined(at, 'name')}: two banks are called {name!r}")
        members = places(data.get("where", "all"), draft.rows, draft.cols, joined(at, "where"))
        latency = data.get("latency")
        banks.append(
            BankDraft(
                name=name,
                members=members,
                ports=number_at(data.get("ports", 1), joined(at, "ports"), 1, 1024),
                size=count_at(data.get("bytes"), joined(at, "bytes"), 4, 1 << 40, none="no limit"),
                latency=None if latency is None else number_at(latency, joined(at, "latency"), 1, MAX_CYCLES),
            )
        )
    return banks
