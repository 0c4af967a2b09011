"""Arrays that are described resource by resource: what no entry about tiles can say is still data.

``graph`` lists the tiles, the resources with their kind, tile, position, capacity and group, and the arcs between them,
as :mod:`gridloom.archs.model` defines them. ``gridloom show ARCH --yaml`` writes arrays this way whose tiles are joined
by more than links: rows of ALUs between switches, tiles with spokes.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import MISSING, fields
from typing import Any, Final

from gridloom import registry
from gridloom.archs.described.assembly import traits_of
from gridloom.archs.described.keys import (
    count_at,
    entries_at,
    flag_at,
    join_keys,
    mapping_at,
    name_at,
    number_at,
    suggestion,
    word_at,
)
from gridloom.archs.model import Arch, ArchBuilder, Bank, Kind, Pool, RegisterFile, Setting, Tile
from gridloom.archs.parts.crossbars import MAX_HOPS
from gridloom.archs.spec import WIDTHS, check_simd
from gridloom.dfg.ops import OP_CLASSES
from gridloom.errors import ArchError

_LARGE: Final = 1 << 40
_KINDS: Final = {kind.name.lower(): kind for kind in Kind}
_TILE_KINDS: Final = ("pe", "load", "store", "const")
_BOUNDS: Final = {
    "operands": (0, 64), "fifo": (0, _LARGE), "delays": (0, _LARGE), "contexts": (1, _LARGE),
    "instructions": (1, _LARGE), "constants": (0, _LARGE),
}  # fmt: skip
_TILE_KEYS: Final = ("name", "row", "col", "ops", "kind", "latency", "occupancy", *_BOUNDS, "buffer", "fifos")
_RESOURCE_KEYS: Final = ("name", "kind", "tile", "position", "capacity", "group")
_GRAPH_KEYS: Final = (
    "tiles", "resources", "arcs", "pools", "register_files", "banks", "settings", "free", "rules", "traits",
    "data_memory", "route_uses_fu", "links_per_cycle", "simd",
)  # fmt: skip
_RULES: Final = (
    "outputs_together", "constants_17_bits", "tile_memory_shared", "flow_starts_apart", "siblings_apart",
    "instruction_ram",
)  # fmt: skip


# -- writing ----------------------------------------------------------------------------------------------------------


def describe_graph(arch: Arch) -> dict[str, Any]:
    """Return the description of an array by its resources. Linear in resources and arcs."""
    names = arch.resource_names
    graph: dict[str, Any] = {"tiles": [_tile_record(tile) for tile in arch.tiles]}
    graph["resources"] = [_resource_record(arch, r) for r in range(len(names))]
    columns = (arch.arc_source, arch.arc_target, arch.arc_latency, arch.arc_gate)
    graph["arcs"] = [
        [names[a], names[b], *([latency] if latency or gate >= 0 else []), *([gate] if gate >= 0 else [])]
        for a, b, latency, gate in zip(*(column.tolist() for column in columns), strict=True)
    ]
    graph |= _rest(arch)
    described = {"family": "array", "style": arch.style, "rows": arch.rows, "cols": arch.cols}
    levels = {"loop_levels": arch.loop_levels} if arch.loop_levels else {}
    return {**described, "inputs": arch.inputs, **levels, "graph": graph}


def _rest(arch: Arch) -> dict[str, Any]:
    """Return what an array has beside tiles, resources and arcs, as far as it has it."""
    rest: dict[str, Any] = {
        "pools": [
            {"name": p.name, "capacity": p.capacity, "tiles": [arch.tiles[k].name for k in p.tiles],
             "classes": sorted(p.classes)}
            for p in arch.pools
        ],
        "register_files": [
            {"name": f.name, "registers": [arch.resource_names[r] for r in f.registers], "rotating": f.rotating,
             "adjustable": f.adjustable}
            for f in arch.register_files
        ],
        "banks": [
            {"name": b.name, "tiles": [arch.tiles[k].name for k in b.tiles], "ports": b.ports, "size": b.size}
            for b in arch.banks
        ],
        "settings": [{"name": s.name, "length": s.length, "summary": s.summary} for s in arch.settings],
        "rules": list(arch.rules),
        "data_memory": arch.data_memory,
        "links_per_cycle": arch.links_per_cycle,
        "simd": arch.simd,
    }  # fmt: skip
    rest = {key: value for key, value in rest.items() if value not in ([], None)}
    return {**rest, "free": sorted(arch.free), "traits": sorted(arch.traits), "route_uses_fu": arch.route_uses_fu}


def _tile_record(tile: Tile) -> dict[str, Any]:
    """Return a tile as an entry; fields that have their default are left out."""
    usual = {f.name: f.default if f.default is not MISSING else {"*": 1} for f in fields(Tile)}
    record: dict[str, Any] = {"name": tile.name, "row": tile.row, "col": tile.col, "ops": sorted(tile.classes)}
    for name in ("kind", "latency", "occupancy", *_BOUNDS, "buffer"):
        value = getattr(tile, name)
        if value != usual[name]:
            record[name] = dict(sorted(value.items())) if isinstance(value, Mapping) else value
    if tile.fifos:
        record["fifos"] = list(tile.fifos)
    return record


def _resource_record(arch: Arch, r: int) -> dict[str, Any]:
    """Return a resource as an entry; what has its default is left out."""
    record: dict[str, Any] = {"name": arch.resource_names[r], "kind": Kind(int(arch.kind[r])).name.lower()}
    if arch.tile[r] >= 0:
        record["tile"] = arch.tiles[arch.tile[r]].name
    if arch.position[r]:
        record["position"] = int(arch.position[r])
    if arch.capacity[r] != 1:
        record["capacity"] = int(arch.capacity[r])
    if arch.group[r] != r:
        record["group"] = arch.resource_names[arch.group[r]]
    return record


# -- reading ----------------------------------------------------------------------------------------------------------


def build_graph(data: dict[str, Any], spec: Mapping[str, Any]) -> Arch:
    """Return the array that a description by resources says; ArchError names the key that is wrong."""
    for key in data:
        if key not in ("style", "rows", "cols", "inputs", "loop_levels", "graph"):
            raise ArchError(f"{key}: an array is described by tile or by resource; leave this key out, or 'graph'")
    graph = mapping_at(data["graph"], _GRAPH_KEYS, "graph", "the graph of an array")
    style = word_at(data.get("style"), "style", ("static", "modulo"))
    rows, cols = (number_at(data.get(side), side, 1, 1024) for side in ("rows", "cols"))
    builder = ArchBuilder()
    for at, entry in entries_at(graph.get("tiles", []), "graph.tiles"):
        builder.add_tile(_tile(entry, at))
    tiles = {tile.name: k for k, tile in enumerate(builder.tiles)}
    if len(tiles) != len(builder.tiles):
        raise ArchError("graph.tiles: two tiles have the same name")
    for at, entry in entries_at(graph.get("resources", []), "graph.resources"):
        _add_resource(builder, tiles, entry, at)
    settings = tuple(_setting(entry, at) for at, entry in entries_at(graph.get("settings", []), "graph.settings"))
    bits = sum(setting.length for setting in settings)
    for at, entry in entries_at(graph.get("arcs", []), "graph.arcs"):
        _add_arc(builder, entry, at, bits)
    _add_shared(builder, tiles, graph)
    return builder.build(
        name=f"array:{rows}x{cols}",
        style=style,
        rows=rows,
        cols=cols,
        spec=dict(spec),
        settings=settings,
        free=frozenset(_words(graph.get("free", ["const", "livein"]), "graph.free", OP_CLASSES)),
        inputs=word_at(data.get("inputs", "free"), "inputs", ("aligned", "skewed", "free")),
        rules=tuple(_words(graph.get("rules", []), "graph.rules", _RULES)),
        data_memory=count_at(graph.get("data_memory"), "graph.data_memory", 0, _LARGE, none="no limit"),
        route_uses_fu=flag_at(graph.get("route_uses_fu", False), "graph.route_uses_fu"),
        links_per_cycle=count_at(graph.get("links_per_cycle"), "graph.links_per_cycle", 1, MAX_HOPS, none="no limit"),
        loop_levels=number_at(data.get("loop_levels", 0), "loop_levels", 0, 8),
        simd=check_simd(count_at(graph.get("simd"), "graph.simd", *WIDTHS, none="one lane"), "graph.simd"),
        traits=frozenset(_words(graph.get("traits", []), "graph.traits", registry.traits())) | traits_of(builder),
    )


def _words(value: Any, key: str, known: Any) -> list[str]:
    """Return a list of words, all of which are known."""
    for at, word in entries_at(value, key):
        if not isinstance(word, str) or word not in known:
            raise ArchError(f"{at}: {word!r} is not known; {suggestion(word, known)}")
    return list(value)


def _tile(entry: Any, key: str) -> Tile:
    """Return the tile of an entry."""
    data = mapping_at(entry, _TILE_KEYS, key, "a tile")
    record: dict[str, Any] = {"name": name_at(data.get("name"), join_keys(key, "name"))}
    for side in ("row", "col"):
        record[side] = number_at(data.get(side), join_keys(key, side), -1024, 2048)
    record["classes"] = frozenset(_words(data.get("ops", []), join_keys(key, "ops"), OP_CLASSES))
    if "kind" in data:
        record["kind"] = word_at(data["kind"], join_keys(key, "kind"), _TILE_KINDS)
    for name, low in (("latency", 0), ("occupancy", 1)):
        if name in data:
            table = mapping_at(data[name], ("*", *OP_CLASSES), join_keys(key, name), name)
            record[name] = {k: number_at(v, join_keys(join_keys(key, name), k), low, 1024) for k, v in table.items()}
    for name, (low, high) in _BOUNDS.items():
        if name in data:
            limited = None if name == "operands" else "no limit"
            record[name] = count_at(data[name], join_keys(key, name), low, high, none=limited)
    if "fifos" in data:
        listed = entries_at(data["fifos"], join_keys(key, "fifos"))
        record["fifos"] = tuple(count_at(depth, at, 0, _LARGE, none="no limit") for at, depth in listed)
    if "buffer" in data:
        record["buffer"] = number_at(data["buffer"], join_keys(key, "buffer"), 0, _LARGE)
    return Tile(**record)


def _add_resource(builder: ArchBuilder, tiles: dict[str, int], entry: Any, key: str) -> None:
    """Add the resource of an entry."""
    data = mapping_at(entry, _RESOURCE_KEYS, key, "a resource")
    tile = data.get("tile")
    if tile is not None and tile not in tiles:
        raise ArchError(f"{join_keys(key, 'tile')}: no tile is called {tile!r}; {suggestion(tile, tiles)}")
    group = data.get("group")
    try:
        builder.add(
            name_at(data.get("name"), join_keys(key, "name")),
            _KINDS[word_at(data.get("kind"), join_keys(key, "kind"), _KINDS)],
            -1 if tile is None else tiles[tile],
            position=number_at(data.get("position", 0), join_keys(key, "position"), 0, 1 << 20),
            capacity=number_at(data.get("capacity", 1), join_keys(key, "capacity"), 0, 1 << 20),
            group=None if group is None else _resource(builder, group, join_keys(key, "group")),
        )
    except ArchError as error:
        raise error if error.message.startswith(key) else ArchError(f"{key}: {error.message}") from None


def _resource(builder: ArchBuilder, name: Any, key: str) -> int:
    """Return the index of a resource that is there already."""
    if not isinstance(name, str) or name not in builder.index:
        raise ArchError(f"{key}: no resource is called {name!r}; resources are listed under graph.resources")
    return builder.index[name]


def _add_arc(builder: ArchBuilder, entry: Any, key: str, bits: int) -> None:
    """Add the arc of an entry: source, target, and where they are not 0 the latency and the settings bit."""
    if not isinstance(entry, list) or not 2 <= len(entry) <= 4:
        raise ArchError(f"{key}: expected [source, target, latency, settings bit], found {entry!r}")
    source, target = (_resource(builder, name, key) for name in entry[:2])
    latency = number_at(entry[2] if len(entry) > 2 else 0, key, 0, 1024)
    gate = number_at(entry[3], key, 0, max(bits - 1, 0)) if len(entry) > 3 else -1
    if gate >= 0 and not bits:
        raise ArchError(f"{key}: the array has no settings, found settings bit {gate}")
    builder.arc(source, target, latency, gate)


def _setting(entry: Any, key: str) -> Setting:
    """Return the setting of an entry."""
    data = mapping_at(entry, ("name", "length", "summary"), key, "a setting")
    return Setting(
        name=name_at(data.get("name"), join_keys(key, "name")),
        length=number_at(data.get("length"), join_keys(key, "length"), 0, 1 << 20),
        summary=str(data.get("summary", "")),
    )


def _add_shared(builder: ArchBuilder, tiles: dict[str, int], graph: dict[str, Any]) -> None:
    """Add the pools, the banks and the register files."""
    for at, entry in entries_at(graph.get("pools", []), "graph.pools"):
        data = mapping_at(entry, ("name", "capacity", "tiles", "classes"), at, "a pool")
        members = _words(data.get("tiles", []), join_keys(at, "tiles"), tiles)
        builder.pools.append(
            Pool(
                name=name_at(data.get("name"), join_keys(at, "name")),
                capacity=number_at(data.get("capacity"), join_keys(at, "capacity"), 1, 1 << 20),
                tiles=tuple(tiles[name] for name in members),
                classes=frozenset(_words(data.get("classes", []), join_keys(at, "classes"), OP_CLASSES)),
            )
        )
    for at, entry in entries_at(graph.get("banks", []), "graph.banks"):
        data = mapping_at(entry, ("name", "tiles", "ports", "size"), at, "a bank")
        members = _words(data.get("tiles", []), join_keys(at, "tiles"), tiles)
        builder.banks.append(
            Bank(
                name=name_at(data.get("name"), join_keys(at, "name")),
                tiles=tuple(tiles[name] for name in members),
                ports=number_at(data.get("ports", 1), join_keys(at, "ports"), 1, 1 << 20),
                size=count_at(data.get("size"), join_keys(at, "size"), 4, _LARGE, none="no limit"),
            )
        )
    for at, entry in entries_at(graph.get("register_files", []), "graph.register_files"):
        data = mapping_at(entry, ("name", "registers", "rotating", "adjustable"), at, "a register file")
        listed = entries_at(data.get("registers", []), join_keys(at, "registers"))
        registers = tuple(_resource(builder, name, where) for where, name in listed)
        builder.register_files.append(
            RegisterFile(
                name=name_at(data.get("name"), join_keys(at, "name")),
                registers=registers,
                rotating=number_at(data.get("rotating", 0), join_keys(at, "rotating"), 0, len(registers)),
                adjustable=flag_at(data.get("adjustable", True), join_keys(at, "adjustable")),
            )
        )
