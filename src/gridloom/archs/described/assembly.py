"""From the draft of an array to the Arch: tiles, then links, registers, memory and its ports.

Resources are added in the order in which the built-in grids add theirs, so that an array that is written as a
description and read back has the same fingerprint.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Any

from gridloom.archs.described.draft import ArrayDraft, Cell, TileDraft
from gridloom.archs.model import Arch, ArchBuilder, Bank, Kind, Pool
from gridloom.archs.parts.crossbars import Link, add_ports, add_ways
from gridloom.archs.parts.files import File, add_bus, add_file
from gridloom.archs.parts.grid import add_pe, add_spill
from gridloom.errors import ArchError


def assemble(draft: ArrayDraft, name: str, spec: Mapping[str, Any]) -> Arch:
    """Return the array of a draft. Linear in its arcs; ArchError where tiles contradict each other."""
    builder = ArchBuilder()
    _settle_banks(draft)
    number = {cell: k for k, cell in enumerate(draft.cells)}
    for cell in draft.cells:
        _add_tile(builder, draft, cell)
    links = _add_links(builder, draft, number)
    static = draft.style == "static"
    files: dict[Cell, File] = {}
    if not static:
        _add_buses(builder, draft, number)
        if draft.port_registers:
            _add_ports_of_links(builder, draft, links)
        files = _add_registers(builder, draft, number)
        if draft.hops is not None and not draft.port_registers:
            _add_crossbars(builder, draft, links, files)
    if draft.banks:
        _add_banks(builder, draft, number)
    elif not static:
        _add_memory(builder, draft, files)
    accesses = not static and any("mem" in tile.classes for tile in builder.tiles)
    contested = draft.hops is not None or any(kind == Kind.SWITCH for kind, *_ in builder.columns)
    traits = {"grid"} if static else {"crossbars" if contested else "registers"}
    traits |= {"loop_controller"} if draft.loop_levels else set()
    return builder.build(
        name=name,
        style=draft.style,
        rows=draft.rows,
        cols=draft.cols,
        spec=dict(spec),
        free=frozenset({"const"} | ({"livein"} if draft.live_ins == "immediate" else set())),
        inputs=draft.inputs,
        data_memory=draft.data_memory,
        route_uses_fu=not static,
        word=draft.word,
        links_per_cycle=draft.hops,
        loop_levels=draft.loop_levels,
        traits=frozenset(traits | draft.traits | ({"memory_access"} if accesses else set())) | traits_of(builder),
    )


def traits_of(builder: ArchBuilder) -> frozenset[str]:
    """Return the traits that follow from what tiles and memory are, however the tiles are joined."""
    blocking = any(tile.occupancy_of(name) > 1 for tile in builder.tiles for name in tile.classes)
    partial = any(tile.lacks for tile in builder.tiles)
    stores = any(tile.constants is not None for tile in builder.tiles)
    found = {"blocking": blocking, "partial": partial, "banks": bool(builder.banks), "constant_stores": stores}
    return frozenset(name for name, holds in found.items() if holds)


def _settle_banks(draft: ArrayDraft) -> None:
    """Give tiles the latency of the slowest bank that they reach; ArchError for tiles that contradict the banks."""
    for cell, tile in draft.tiles.items():
        if not draft.banks or "mem" not in tile.classes:
            continue
        reached = [bank for bank in draft.banks if cell in bank.where]
        if not reached:
            raise ArchError(
                f"memory.banks: tile {list(cell)} accesses memory but reaches no bank; add it to the 'where' of one, "
                "or remove memory from its ops"
            )
        cycles = max((bank.latency for bank in reached if bank.latency is not None), default=None)
        if cycles is None:
            continue
        said = tile.latency.get("mem")
        if said is not None and said != cycles:
            raise ArchError(
                f"memory.banks: tile {list(cell)} has latency {said} for mem, and bank {reached[0].name!r} says "
                f"{cycles}; leave one of them out"
            )
        tile.latency = {**tile.latency, "mem": cycles, "mem_data": cycles}


def _add_banks(builder: ArchBuilder, draft: ArrayDraft, number: dict[Cell, int]) -> None:
    """Add the memory banks, each with the tiles that have memory access and reach it."""
    for bank in draft.banks:
        tiles = tuple(number[cell] for cell in bank.where if "mem" in draft.tiles[cell].classes)
        if not tiles:
            raise ArchError(
                f"memory.banks: no tile with memory access reaches bank {bank.name!r}; add memory to its ops"
            )
        builder.banks.append(Bank(name=bank.name, tiles=tiles, ports=bank.ports, size=bank.bytes))


def _tile_name(cell: Cell) -> str:
    """Return the name of the tile at a place."""
    return f"pe_{cell[0]}_{cell[1]}"


def _add_tile(builder: ArchBuilder, draft: ArrayDraft, cell: Cell) -> None:
    """Add the tile of a place, with an output register that holds its value where the draft says so."""
    tile = draft.tiles[cell]
    classes = {*tile.classes, *(["route"] if tile.moves else [])}
    # Moves share the unit with ops, whatever these take: they are through in a cycle.
    occupancy = tile.occupancy if tile.occupancy["*"] == 1 else {**tile.occupancy, "route": 1}
    fields: dict[str, Any] = {"contexts": tile.contexts, "lacks": frozenset(tile.lacks), "constants": tile.constants}
    fields |= _fifos(tile, cell)
    add_pe(builder, tile, *cell, classes, moves=draft.style == "modulo", occupancy=occupancy, **fields)
    if tile.hold == "until-write":
        out = builder.index[f"{_tile_name(cell)}.out"]
        builder.arc(out, out, 1)


def _fifos(tile: TileDraft, cell: Cell) -> dict[str, Any]:
    """Return the depth of the FIFOs of a tile, and of each where they differ; ArchError for another number of them."""
    if not isinstance(tile.fifo, list):
        return {"fifo": tile.fifo}
    if len(tile.fifo) != tile.operands:
        raise ArchError(
            f"tiles: tile {list(cell)} has {tile.operands} operands and {len(tile.fifo)} numbers for fifo; write one "
            "for each operand, or one for all"
        )
    if len(set(tile.fifo)) == 1:
        return {"fifo": tile.fifo[0]}
    deepest = None if None in tile.fifo else max(depth for depth in tile.fifo if depth is not None)
    return {"fifo": deepest, "fifos": tuple(tile.fifo)}


def _add_buses(builder: ArchBuilder, draft: ArrayDraft, number: dict[Cell, int]) -> None:
    """Add the buses; those that belong to one tile are numbered."""
    owned: Counter[Cell] = Counter()
    for bus in draft.buses:
        home = bus.drivers[0]
        drivers, readers = ([number[cell] for cell in cells] for cells in (bus.drivers, bus.readers))
        add_bus(builder, bus.name, owned[home], drivers, readers)
        owned[home] += 1


def _add_links(builder: ArchBuilder, draft: ArrayDraft, number: dict[Cell, int]) -> list[Link]:
    """Add the links; on static arrays also the crossbar arcs, which lead on to every tile but the one before.

    On modulo arrays with crossbars the links end at those.
    """
    leaving: dict[Cell, list[tuple[Cell, int]]] = {cell: [] for cell in draft.cells}
    links: list[Link] = []
    for a, b in sorted(draft.links):
        link = builder.add(f"{_tile_name(a)}>{_tile_name(b)}", Kind.LINK, number[a], position=len(leaving[a]))
        leaving[a].append((b, link))
        links.append((number[a], number[b], link))
        builder.arc(builder.index[f"{_tile_name(a)}.out"], link)
        for k in range(draft.tiles[b].operands) if draft.hops is None else ():
            builder.arc(link, builder.index[f"{_tile_name(b)}.in{k}"])
    if draft.style == "modulo":
        return links
    for a in draft.cells:
        for b, link in leaving[a]:
            for c, onward in leaving[b]:
                if c != a:
                    builder.arc(link, onward, 1)
    return links


def _add_ports_of_links(builder: ArchBuilder, draft: ArrayDraft, links: list[Link]) -> None:
    """Add a port with a register at the end of each link; ArchError for tiles that have a file beside them."""
    shared = {cell for file in draft.files for cell in file.where}
    for cell in draft.cells:
        if draft.tiles[cell].registers or cell in shared:
            raise ArchError(
                f"bypass.ports: tile {list(cell)} has registers of its own or in a file; a tile keeps values at its "
                "ports or in a file: write registers: 0 for it, or leave ports out"
            )
    for tile in range(len(builder.tiles)):
        add_ports(builder, tile, [link for link in links if tile in link[:2]])


def _add_crossbars(builder: ArchBuilder, draft: ArrayDraft, links: list[Link], files: dict[Cell, File]) -> None:
    """Add the crossbars: links lead to operands, to the tile's own registers and to other links."""
    shared = {cell for file in draft.files for cell in file.where}
    for tile, cell in enumerate(draft.cells):
        near = [link for link in links if tile in link[:2]]
        add_ways(builder, tile, near, None if cell in shared else files.get(cell), draft.hops or 1)


def _add_registers(builder: ArchBuilder, draft: ArrayDraft, number: dict[Cell, int]) -> dict[Cell, File]:
    """Add the register files, those that tiles share, then those of single tiles; return that of each place."""
    shared = {cell: file.name for file in draft.files for cell in file.where}
    files: dict[Cell, File] = {}
    for file in draft.files:
        members = [number[cell] for cell in file.where]
        fields: dict[str, Any] = {"rotating": file.rotating, "reads": file.reads, "writes": file.writes}
        files |= dict.fromkeys(file.where, add_file(builder, file.name, -1, file.count, members, **fields))
    for cell in draft.cells:
        tile = draft.tiles[cell]
        if tile.registers and cell in shared:
            raise ArchError(
                f"files: tile {list(cell)} is in file {shared[cell]!r} and has {tile.registers} registers of its own; "
                "a tile reads one file: write registers: 0 for it, or leave it out of the file"
            )
        if tile.registers and tile.rotating is not None and tile.rotating > tile.registers:
            raise ArchError(
                f"tiles: tile {list(cell)} has {tile.registers} registers, of which {tile.rotating} rotate; "
                "write a smaller number for rotating"
            )
        if tile.registers:
            own = number[cell]
            fields = {"rotating": tile.rotating, "reads": tile.reads, "writes": tile.writes}
            files[cell] = add_file(builder, _tile_name(cell), own, tile.registers, [own], **fields)
    return files


def _add_memory(builder: ArchBuilder, draft: ArrayDraft, files: dict[Cell, File]) -> None:
    """Add the memory to which values are spilled, the slots that load and store them, and the memory ports."""
    members = [k for k, tile in enumerate(builder.tiles) if "mem" in tile.classes]
    if not members:
        return
    memory = builder.add("mem", Kind.MEM, capacity=0)
    builder.arc(memory, memory, 1)
    for k in members:
        file = files.get((builder.tiles[k].row, builder.tiles[k].col))
        add_spill(builder, memory, k, file.entries if file else ())
    _add_ports(builder, draft, members)


def _add_ports(builder: ArchBuilder, draft: ArrayDraft, members: list[int]) -> None:
    """Add a pool for each memory port, which says how many tiles access memory through it in one cycle."""
    for name, capacity, cells in _ports(draft):
        tiles = tuple(k for k in members if (builder.tiles[k].row, builder.tiles[k].col) in cells)
        if tiles:
            builder.pools.append(Pool(name=name, capacity=capacity, tiles=tiles, classes=frozenset({"mem"})))


def _ports(draft: ArrayDraft) -> list[tuple[str, int, set[Cell]]]:
    """Return the name, the capacity and the places of every memory port."""
    if not isinstance(draft.ports, str):
        return [(port.name, port.count, set(port.where)) for port in draft.ports]
    if draft.ports == "row":
        return [(f"bus_{r}", 1, {(r, c) for c in range(draft.cols)}) for r in range(draft.rows)]
    if draft.ports == "column":
        return [(f"bus_col_{c}", 1, {(r, c) for r in range(draft.rows)}) for c in range(draft.cols)]
    if draft.ports == "tile":
        return [(f"bus_{_tile_name(cell)}", 1, {cell}) for cell in draft.cells]
    return []
