"""From an Arch to its description: tile by tile where that says all of it, else resource by resource.

A description by tile is built and compared with the array before it is given out: whatever the array has beyond tiles,
links, registers and memory ports makes the fingerprints differ, and the array is described by its resources instead.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from typing import Any, Final

import numpy as np

from gridloom.archs.described.draft import COMPUTES, MEMORY, PORTS, BusDraft, Cell
from gridloom.archs.described.links import PATTERNS, Link
from gridloom.archs.described.places import mask
from gridloom.archs.described.sharing import parallel_buses
from gridloom.archs.described.tile_entries import MEMBERS
from gridloom.archs.model import Arch, Bank, Kind, Pool, RegisterFile, Tile
from gridloom.errors import ArchError

_ORDER: Final = (*COMPUTES, *MEMORY, *PORTS)
#: In this order patterns are tried: the first that has all links of an array names them.
_NAMED: Final = ("mesh", "torus", "onehop", "hex", "chess", "diagonal", "row", "column")


def describe(arch: Arch) -> dict[str, Any]:
    """Return a description that is built into the same resource graph: by tile, by resource, or by its parameters.

    Arrays that no description of parts says all of are described by the parameters of their family: elastic ones, and
    those whose tiles lack single ops. Costs as much as building the array.
    """
    from gridloom.archs.described.graph_form import describe_graph

    described = describe_by_tile(arch)
    if described is None and (arch.style == "elastic" or any(tile.lacks for tile in arch.tiles)):
        described = dict(arch.spec)
    described = described or describe_graph(arch)
    return {**({} if arch.name == _plain_name(arch) else {"name": arch.name}), **described}


def _plain_name(arch: Arch) -> str:
    """Return the name that the description alone would give the array."""
    return f"array:{arch.rows}x{arch.cols}"


def describe_by_tile(arch: Arch) -> dict[str, Any] | None:
    """Return the description of an array by tile, without a name; None where it would not say all of the array."""
    from gridloom.archs.described.family import build

    if arch.style == "elastic" or not _is_grid(arch):
        return None
    described: dict[str, Any] = {"family": "array", "style": arch.style, "rows": arch.rows, "cols": arch.cols}
    described["links"] = _links(arch)
    described["tiles"] = _tile_entries(arch)
    if arch.style == "modulo":
        buses = _buses(arch)
        described |= ({"buses": buses} if buses else {}) | _shared(arch)
        if "livein" in arch.free:
            described["live_ins"] = "immediate"
        if arch.links_per_cycle is not None:
            ports = {"ports": True} if _named_wires(arch, "p") else {}
            described["bypass"] = {"hops": arch.links_per_cycle, **ports}
    elif arch.inputs != "aligned":
        described["inputs"] = arch.inputs
    if arch.word != Arch.word:
        described["word"] = arch.word
    if arch.loop_levels:
        described["loop_levels"] = arch.loop_levels
    try:
        same = build(described).fingerprint == arch.fingerprint
    except ArchError:
        return None
    return described if same else None


def _is_grid(arch: Arch) -> bool:
    """Return whether the tiles stand row by row and are named after their places."""
    names = [f"pe_{r}_{c}" for r in range(arch.rows) for c in range(arch.cols)]
    return [tile.name for tile in arch.tiles] == names


def _cell(tile: Tile) -> Cell:
    """Return the place of a tile."""
    return tile.row, tile.col


# -- links ------------------------------------------------------------------------------------------------------------


def _links(arch: Arch) -> Any:
    """Return the links as a sum of patterns, as far as patterns cover them, and single links for the rest."""
    wanted = {(_cell(arch.tiles[a]), _cell(arch.tiles[b])) for a, b, _ in arch.links}
    if not wanted:
        return "none"
    entries: list[Any] = []
    covered: set[Link] = set()
    for entry, links in _candidates(arch):
        if links <= wanted and links - covered:
            entries.append(entry)
            covered |= links
    entries += _single_links(wanted - covered)
    return entries[0] if len(entries) == 1 else entries


def _candidates(arch: Arch) -> list[tuple[Any, set[Link]]]:
    """Return the patterns with their links: those of the array's traits first, then those with the most links.

    A pattern that would give the array a trait that it does not have is left out.
    """
    told = {"torus": "wraps", "hex": "hexagonal"}
    fitting = [name for name, trait in told.items() if arch.has(trait)]
    whole = {name: PATTERNS[name](arch.rows, arch.cols) for name in _NAMED}
    rest = sorted((n for n in _NAMED if n not in told), key=lambda n: (-len(whole[n]), _NAMED.index(n)))
    found: list[tuple[Any, set[Link]]] = [(name, whole[name]) for name in fitting + rest]
    for name in ("torus", "onehop", "mesh"):
        for side, along in enumerate(("rows", "cols")):
            part = {(a, b) for a, b in whole[name] if a[side] == b[side]}
            found.append(({"pattern": name, "along": along}, part))
    return found


def _single_links(links: set[Link]) -> list[dict[str, Any]]:
    """Return an entry for each link, or one for both directions where both are there."""
    entries: list[dict[str, Any]] = []
    for a, b in sorted(links):
        back = (b, a) in links
        if back and b < a:
            continue
        entries.append({"from": list(a), "to": list(b), **({"both": True} if back else {})})
    return entries


# -- tiles ------------------------------------------------------------------------------------------------------------


def _tile_entries(arch: Arch) -> list[dict[str, Any]]:
    """Return the entries about tiles: one for all of them, then one for each set of tiles that differ in something.

    Keys that differ in the same tiles are said together.
    """
    facts = _facts(arch)
    first: dict[str, Any] = {}
    differing: dict[tuple[Cell, ...], dict[str, Any]] = {}
    for key in next(iter(facts.values())):
        spelled = {cell: repr(fact[key]) for cell, fact in facts.items()}
        values = {repr(fact[key]): fact[key] for fact in facts.values()}
        common = Counter(spelled.values()).most_common(1)[0][0]
        if values[common] != _DEFAULTS[arch.style].get(key, object()) or len(values) > 1:
            first[key] = _beside(values[common], 1)
        for text, value in values.items():
            if text != common:
                cells = tuple(cell for cell in facts if spelled[cell] == text)
                differing.setdefault(cells, {})[key] = _beside(value, values[common])
    entries = [first] if first else []
    for cells, entry in sorted(differing.items()):
        entries.append({"where": selector(list(cells), arch.rows, arch.cols), **entry})
    return entries


def _beside(value: Any, common: Any) -> Any:
    """Return cycles by op class without ``"*"`` where an earlier entry, or the default, has said that already."""
    if isinstance(value, dict) and "*" in value and value["*"] == common:
        return {name: cycles for name, cycles in value.items() if name != "*"}
    return value


#: What need not be said, since it is the default of the style.
_DEFAULTS: Final[dict[str, dict[str, Any]]] = {
    "static": {"latency": 1, "occupancy": 1, "operands": 3, "fifo": None, "constants": None},
    "modulo": {
        "latency": 1, "occupancy": 1, "operands": 3, "registers": 0, "hold": "until-write", "moves": True,
        "contexts": None, "constants": None,
    },
}  # fmt: skip


def _facts(arch: Arch) -> dict[Cell, dict[str, Any]]:
    """Return for each place what entries say of its tile, by their keys."""
    files = _own_files(arch)
    holding = set(arch.arc_source[arch.arc_source == arch.arc_target].tolist())
    table = {}
    for k, tile in enumerate(arch.tiles):
        facts: dict[str, Any] = {
            "ops": [name for op_class in _ORDER if op_class in tile.classes for name in _ops(tile, op_class)],
            "latency": _cycles(tile.latency),
            "occupancy": _cycles({name: n for name, n in tile.occupancy.items() if name != "route"}),
            "operands": tile.operands,
        }
        if arch.style == "static":
            facts["fifo"] = list(tile.fifos) or tile.fifo
        else:
            facts["registers"] = _registers(files.get(tile.name))
            facts["hold"] = "until-write" if int(arch.out[k]) in holding else "next"
            facts["moves"] = "route" in tile.classes
            facts["contexts"] = tile.contexts
        facts["constants"] = tile.constants
        table[_cell(tile)] = facts
    return table


def _ops(tile: Tile, op_class: str) -> list[str]:
    """Return an op class of a tile as an entry says it: by its name, or by the ops that the tile has of it."""
    members = MEMBERS.get(op_class, ())
    if not tile.lacks & set(members):
        return [op_class]
    return [name for name in members if name not in tile.lacks]


def _cycles(numbers: Mapping[str, int]) -> int | dict[str, int]:
    """Return cycles by op class as an entry says them: one number where it is the same for all classes."""
    rest = {name: cycles for name, cycles in sorted(numbers.items()) if name != "*"}
    usual = numbers.get("*", 1)
    return {"*": usual, **rest} if rest else usual


def _own_files(arch: Arch) -> dict[str, dict[str, Any]]:
    """Return for each tile with registers of its own what there is to say of them.

    What one file says beside its size all of them say, since an entry leaves what it does not name as it was.
    """
    own = [file for file in arch.register_files if file.name in arch.tile_index]
    said = {file.name: _rotation_and_ports(arch, file) for file in own}
    usual = {key: "free" if key == "rotating" else None for facts in said.values() for key in facts}
    return {file.name: {"count": len(file.registers), **usual, **said[file.name]} for file in own}


def _registers(facts: dict[str, Any] | None) -> int | dict[str, Any]:
    """Return a tile's own registers as an entry says them."""
    if facts is None:
        return 0
    count: int = facts["count"]
    return count if len(facts) == 1 else facts


def _rotation_and_ports(arch: Arch, file: RegisterFile) -> dict[str, Any]:
    """Return how many registers of a file rotate, and its ports, where they are not the default."""
    facts: dict[str, Any] = {} if file.adjustable else {"rotating": file.rotating}
    for key, end in (("reads", "read"), ("writes", "write")):
        ports = [name for name in _named_wires(arch, end) if name.rpartition(".")[0] == file.name]
        if ports:
            facts[key] = len(ports)
    return facts


def _named_wires(arch: Arch, end: str) -> list[str]:
    """Return the switches whose names end in this word and a number: buses, ports of links or of register files."""
    names = [arch.resource_names[r] for r in np.flatnonzero(arch.kind == Kind.SWITCH)]
    ends = [(name, name.rpartition(".")[2]) for name in names]
    return [name for name, last in ends if last.startswith(end) and last[len(end) :].isdigit()]


# -- what tiles share -------------------------------------------------------------------------------------------------


def _shared(arch: Arch) -> dict[str, Any]:
    """Return the shared register files, and the memory where tiles access it."""
    described: dict[str, Any] = {}
    files = [_shared_file(arch, file) for file in arch.register_files if arch.tile[file.registers[0]] < 0]
    if files:
        described["files"] = files
    if arch.banks:
        described["memory"] = {"banks": [_bank(arch, bank) for bank in arch.banks]}
    elif any("mem" in tile.classes for tile in arch.tiles):
        ports = _ports(arch)
        bytes_ = {} if arch.data_memory is None else {"bytes": arch.data_memory}
        described["memory"] = {**bytes_, "ports": ports}
    elif arch.data_memory is not None:
        described["memory"] = {"bytes": arch.data_memory}
    return described


def _shared_file(arch: Arch, file: RegisterFile) -> dict[str, Any]:
    """Return the entry of a register file that several tiles write."""
    written = arch.resource_index.get(f"{file.name}.write0", file.registers[0])
    writers = arch.arc_source[(arch.arc_target == written) & (arch.kind[arch.arc_source] == Kind.FU)]
    cells = sorted(_cell(arch.tiles[arch.tile[r]]) for r in writers)
    facts = _rotation_and_ports(arch, file)
    return {"name": file.name, "count": len(file.registers), **_where(arch, cells), **facts}


def _where(arch: Arch, cells: list[Cell]) -> dict[str, Any]:
    """Return what an entry says of the tiles that it is about: nothing where these are all."""
    return {} if len(cells) == len(arch.tiles) else {"where": selector(cells, arch.rows, arch.cols)}


def _buses(arch: Arch) -> list[Any]:
    """Return the buses: a word where each row or column has one, an entry with their number, or one for each bus."""
    left = [_bus(arch, name) for name in _named_wires(arch, "bus")]
    entries: list[Any] = []
    while left:
        for side in ("rows", "columns"):
            count = sum(bus.name == f"{side[:3]}_0" or bus.name.startswith(f"{side[:3]}_0_") for bus in left)
            expected = parallel_buses(arch.rows, arch.cols, side, count)
            if count and left[: len(expected)] == expected:
                entries.append(side if count == 1 else {"along": side, "count": count})
                left = left[len(expected) :]
                break
        else:
            entries.append(_bus_entry(arch, left.pop(0)))
    return entries


def _bus(arch: Arch, name: str) -> BusDraft:
    """Return a bus as it was described."""
    r = arch.resource_index[name]
    before, after = arch.arc_source[arch.arc_target == r], arch.arc_target[arch.arc_source == r]
    drivers, readers = (
        [_cell(arch.tiles[k]) for k in sorted(set(arch.tile[ends].tolist()))] for ends in (before, after)
    )
    return BusDraft(name=name.rpartition(".")[0], drivers=drivers, readers=readers)


def _bus_entry(arch: Arch, bus: BusDraft) -> dict[str, Any]:
    """Return the entry of one bus."""
    drivers = {} if bus.drivers == bus.readers else {"from": selector(bus.drivers, arch.rows, arch.cols)}
    return {"name": bus.name, **_where(arch, bus.readers), **drivers}


def _bank(arch: Arch, bank: Bank) -> dict[str, Any]:
    """Return the entry of one bank; its latency is that of its tiles."""
    where = _where(arch, [_cell(arch.tiles[k]) for k in bank.tiles])
    return {"name": bank.name, **where, "ports": bank.ports, **({} if bank.size is None else {"bytes": bank.size})}


def _ports(arch: Arch) -> Any:
    """Return the memory ports: a word where there is one for each row, column or tile, else a list."""
    usual: dict[str, Callable[[Tile], str]] = {
        "row": lambda tile: f"bus_{tile.row}",
        "column": lambda tile: f"bus_col_{tile.col}",
        "tile": lambda tile: f"bus_{tile.name}",
    }
    if not arch.pools:
        return "none"
    members = [tile for tile in arch.tiles if "mem" in tile.classes]
    for word, name_of in usual.items():
        names = {name_of(tile) for tile in members}
        expected = {n: tuple(arch.tile_index[t.name] for t in members if name_of(t) == n) for n in names}
        if {p.name: p.tiles for p in arch.pools} == expected and all(p.capacity == 1 for p in arch.pools):
            return word
    return [_port(arch, pool) for pool in arch.pools]


def _port(arch: Arch, pool: Pool) -> dict[str, Any]:
    """Return the entry of one memory port."""
    where = selector([_cell(arch.tiles[k]) for k in pool.tiles], arch.rows, arch.cols)
    return {"name": pool.name, "where": where, **({"count": pool.capacity} if pool.capacity != 1 else {})}


_NAMES = ("all", "borders", "inner", "corners", "checkerboard", "columns")
#: Sets of more tiles are drawn; smaller ones are listed.
_LISTED = 4


def selector(cells: list[Cell], rows: int, cols: int) -> Any:
    """Return a short selector of exactly these tiles: a name, a tile, a rectangle, what is left of one, a drawing.

    >>> selector([(0, 1), (1, 1), (2, 1)], 3, 4), selector([(2, 3)], 3, 4)
    ({'col': 1}, [2, 3])
    """
    wanted = np.zeros((rows, cols), dtype=bool)
    for row, col in cells:
        wanted[row, col] = True
    if len(cells) == 1 and rows * cols > 1:
        return list(cells[0])
    for name in _NAMES:
        if (mask(name, rows, cols, "") == wanted).all():
            return name
    inside = _rectangle(wanted)
    if inside is not None:
        return inside
    outside = _rectangle(~wanted)
    if outside is not None:
        return {"not": outside}
    if len(cells) <= _LISTED:
        return {"tiles": [list(cell) for cell in cells]}
    return {"layout": ["".join("#" if mark else "." for mark in row) for row in wanted.tolist()]}


def _rectangle(wanted: Any) -> dict[str, Any] | None:
    """Return the selector of a rectangle; None where the tiles are none."""
    rows, cols = np.flatnonzero(wanted.any(axis=1)), np.flatnonzero(wanted.any(axis=0))
    if not len(rows):
        return None
    (top, bottom), (left, right) = (rows[0], rows[-1]), (cols[0], cols[-1])
    if not wanted[top : bottom + 1, left : right + 1].all() or wanted.sum() != len(rows) * len(cols):
        return None
    spans: dict[str, Any] = {}
    for name, first, last, count in (("row", top, bottom, wanted.shape[0]), ("col", left, right, wanted.shape[1])):
        if first == last:
            spans[name] = int(first)
        elif (first, last) != (0, count - 1):
            spans[f"{name}s"] = [int(first), int(last)]
    if len(spans) > 1:
        # Two sides are written in the plural: {rows: 0, cols: [2, 3]}.
        return {f"{name[:3]}s": span for name, span in spans.items()}
    return spans
