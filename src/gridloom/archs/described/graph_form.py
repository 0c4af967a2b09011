"""Arrays that are described resource by resource: what no entry about tiles can say is still data.

``graph`` lists the tiles, the resources with their kind, tile, position, capacity and group, and the arcs between them,
as :mod:`gridloom.archs.model` defines them. ``gridloom show ARCH --yaml`` writes arrays this way whose tiles are joined
by more than links: rows of ALUs between switches, tiles with spokes.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Final, Literal

from pydantic import BeforeValidator, Field

from gridloom import registry
from gridloom.archs.described.assembly import traits_of
from gridloom.archs.described.keys import NO_LIMIT, Clause, Flag, Name, OneOf, Several, Whole, refuse, suggestion
from gridloom.archs.model import Arch, ArchBuilder, Bank, Kind, Pool, RegisterFile, Setting, Tile
from gridloom.archs.parts.crossbars import MAX_HOPS
from gridloom.archs.spec import WIDTHS, check_simd
from gridloom.dfg.ops import OP_CLASSES
from gridloom.errors import ArchError

_LARGE: Final = 1 << 40
_RULES: Final = (
    "outputs_together", "constants_17_bits", "tile_memory_shared", "flow_starts_apart", "siblings_apart",
    "instruction_ram",
)  # fmt: skip

_OpClasses = Several[Annotated[str, OneOf(tuple(OP_CLASSES), "{} is not known")]]
_Limit = Annotated[int | None, Whole(0, _LARGE, NO_LIMIT)]
_Slots = Annotated[int | None, Whole(1, _LARGE, NO_LIMIT)]
_Count = Annotated[int, Whole(1, 1 << 20)]
_Number = Annotated[int, Whole(0, 1 << 20)]
_Place = Annotated[int, Whole(-1024, 2048)]
_Cycles = Annotated[int, Whole(0, 1024)]


def _pad_arc(value: Any) -> Any:
    """Return source, target, latency and settings bit of an arc."""
    if not isinstance(value, list) or not 2 <= len(value) <= 4:
        raise refuse(f"expected [source, target, latency, settings bit], found {value!r}")
    return [*value, 0, None][:4] if len(value) == 2 else [*value, None][:4]


class TileForm(Clause, what="a tile"):
    """A tile, with the fields of the model's."""

    name: Name
    row: _Place
    col: _Place
    classes: _OpClasses = Field([], alias="ops")
    kind: Literal["pe", "load", "store", "const"] = "pe"
    latency: dict[Annotated[str, OneOf(("*", *OP_CLASSES), "latency has no key {}")], _Cycles] = {"*": 1}
    occupancy: dict[
        Annotated[str, OneOf(("*", *OP_CLASSES), "occupancy has no key {}")], Annotated[int, Whole(1, 1024)]
    ] = {"*": 1}
    operands: Annotated[int, Whole(0, 64)] = 3
    fifo: _Limit = 0
    delays: _Limit = None
    contexts: _Slots = None
    instructions: _Slots = None
    constants: _Limit = None
    buffer: Annotated[int, Whole(0, _LARGE)] = 0
    fifos: Several[_Limit] = []


class ResourceForm(Clause, what="a resource"):
    """A resource; ``tile`` and ``group`` are names."""

    name: Name
    kind: Literal["fu", "in", "out", "link", "reg", "switch", "const", "mem", "load", "store"]
    tile: Any = None
    position: _Number = 0
    capacity: _Number = 1
    group: Any = None


class PoolForm(Clause, what="a pool"):
    """A pool."""

    name: Name
    capacity: _Count
    tiles: Several[Any] = []
    classes: _OpClasses = []


class RegisterFileForm(Clause, what="a register file"):
    """A register file."""

    name: Name
    registers: Several[Any] = []
    rotating: _Number = 0
    adjustable: Flag = True


class BankForm(Clause, what="a bank"):
    """A memory bank."""

    name: Name
    tiles: Several[Any] = []
    ports: _Count = 1
    size: Annotated[int | None, Whole(4, _LARGE, NO_LIMIT)] = None


class SettingForm(Clause, what="a setting"):
    """A setting."""

    name: Name
    length: _Number
    summary: Any = ""


class GraphForm(Clause, what="the graph of an array"):
    """The tiles and resources of an array, and all that is said of them."""

    tiles: Several[TileForm] = []
    resources: Several[ResourceForm] = []
    arcs: list[
        Annotated[tuple[Any, Any, _Cycles, Annotated[int, Whole(0, _LARGE)] | None], BeforeValidator(_pad_arc)]
    ] = []
    pools: Several[PoolForm] = []
    register_files: Several[RegisterFileForm] = []
    banks: Several[BankForm] = []
    settings: Several[SettingForm] = []
    free: _OpClasses = ["const", "livein"]
    rules: Several[Annotated[str, OneOf(_RULES, "{} is not known")]] = []
    traits: Several[Any] = []
    data_memory: _Limit = None
    route_uses_fu: Flag = False
    links_per_cycle: Annotated[int | None, Whole(1, MAX_HOPS, NO_LIMIT)] = None
    simd: Annotated[int | None, Whole(*WIDTHS, "one lane")] = None


class GraphArray(Clause, what="an array"):
    """The description of an array by resource."""

    style: Literal["static", "modulo"]
    rows: Annotated[int, Whole(1, 1024)]
    cols: Annotated[int, Whole(1, 1024)]
    inputs: Literal["aligned", "skewed", "free"] = "free"
    loop_levels: Annotated[int, Whole(0, 8)] = 0
    graph: GraphForm


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
    record: dict[str, Any] = {"name": tile.name, "row": tile.row, "col": tile.col, "ops": sorted(tile.classes)}
    for name, field in list(TileForm.model_fields.items())[4:]:
        value = getattr(tile, name)
        value = list(value) if isinstance(value, tuple) else value
        if value != field.default:
            record[name] = dict(sorted(value.items())) if isinstance(value, Mapping) else value
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
    """Return the array that a description by resources says, refusing what does not fit together."""
    for key in data:
        if key not in GraphArray.model_fields:
            raise refuse("an array is described by tile or by resource; leave this key out, or 'graph'", key)
    form = GraphArray.model_validate(data)
    graph, builder = form.graph, ArchBuilder()
    for tile in graph.tiles:
        lists = {"classes": frozenset(tile.classes), "fifos": tuple(tile.fifos)}
        builder.add_tile(Tile(**{**tile.given(), **lists}))
    tiles = {tile.name: k for k, tile in enumerate(builder.tiles)}
    if len(tiles) != len(builder.tiles):
        raise refuse("two tiles have the same name", "graph", "tiles")
    for k, resource in enumerate(graph.resources):
        _add_resource(builder, tiles, resource, k)
    settings = tuple(Setting(name=s.name, length=s.length, summary=str(s.summary)) for s in graph.settings)
    _add_arcs(builder, graph, sum(setting.length for setting in settings))
    _add_shared(builder, tiles, graph)
    _find(graph.traits, dict.fromkeys(registry.traits(), 0), "graph", "traits")
    return builder.build(
        name=f"array:{form.rows}x{form.cols}",
        style=form.style,
        rows=form.rows,
        cols=form.cols,
        spec=dict(spec),
        settings=settings,
        free=frozenset(graph.free),
        inputs=form.inputs,
        rules=tuple(graph.rules),
        data_memory=graph.data_memory,
        route_uses_fu=graph.route_uses_fu,
        links_per_cycle=graph.links_per_cycle,
        loop_levels=form.loop_levels,
        simd=check_simd(graph.simd, "graph.simd"),
        traits=frozenset(graph.traits) | traits_of(builder),
    )


def _find(names: list[Any], known: Mapping[str, int], *at: str | int) -> tuple[int, ...]:
    """Return what names stand for."""
    for k, name in enumerate(names):
        if not isinstance(name, str) or name not in known:
            raise refuse(f"{name!r} is not known; {suggestion(name, known)}", *at, k)
    return tuple(known[name] for name in names)


def _resource(builder: ArchBuilder, name: Any, *at: str | int) -> int:
    """Return the index of a resource that is there already."""
    if not isinstance(name, str) or name not in builder.index:
        raise refuse(f"no resource is called {name!r}; resources are listed under graph.resources", "graph", *at)
    return builder.index[name]


def _add_resource(builder: ArchBuilder, tiles: dict[str, int], form: ResourceForm, k: int) -> None:
    """Add a resource."""
    if form.tile is not None and form.tile not in tiles:
        raise refuse(
            f"no tile is called {form.tile!r}; {suggestion(form.tile, tiles)}", "graph", "resources", k, "tile"
        )
    group = None if form.group is None else _resource(builder, form.group, "resources", k, "group")
    tile = -1 if form.tile is None else tiles[form.tile]
    try:
        builder.add(
            form.name, Kind[form.kind.upper()], tile, position=form.position, capacity=form.capacity, group=group
        )
    except ArchError as error:
        raise refuse(error.message, "graph", "resources", k) from None


def _add_arcs(builder: ArchBuilder, graph: GraphForm, bits: int) -> None:
    """Add the arcs, whose settings bit is one of so many."""
    for k, (source, target, latency, gate) in enumerate(graph.arcs):
        a, b = (_resource(builder, name, "arcs", k) for name in (source, target))
        if gate is not None and gate >= bits:
            text = f"expected a whole number from 0 to {bits - 1}" if bits else "the array has no settings"
            raise refuse(f"{text}, found {gate if bits else f'settings bit {gate}'}", "graph", "arcs", k)
        builder.arc(a, b, latency, -1 if gate is None else gate)


def _add_shared(builder: ArchBuilder, tiles: dict[str, int], graph: GraphForm) -> None:
    """Add the pools, the banks and the register files."""
    for k, pool in enumerate(graph.pools):
        members = _find(pool.tiles, tiles, "graph", "pools", k, "tiles")
        builder.pools.append(
            Pool(name=pool.name, capacity=pool.capacity, tiles=members, classes=frozenset(pool.classes))
        )
    for k, bank in enumerate(graph.banks):
        members = _find(bank.tiles, tiles, "graph", "banks", k, "tiles")
        builder.banks.append(Bank(name=bank.name, tiles=members, ports=bank.ports, size=bank.size))
    for k, file in enumerate(graph.register_files):
        at = "register_files", k
        registers = tuple(_resource(builder, name, *at, "registers", j) for j, name in enumerate(file.registers))
        if file.rotating > len(registers):
            text = f"expected a whole number from 0 to {len(registers)}, found {file.rotating}"
            raise refuse(text, "graph", *at, "rotating")
        builder.register_files.append(
            RegisterFile(name=file.name, registers=registers, rotating=file.rotating, adjustable=file.adjustable)
        )
