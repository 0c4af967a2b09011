"""Programs of several flows: each flow is read and mapped onto tiles of its own, and the whole is confirmed.

A program file (YAML):

    program: scaled
    flows:
      - {name: power, source: "kernel:dot_product", iterations: 16}
      - {name: scale, source: "kernel:axpy", iterations: 32, ii: 2}
    channels:
      - {kind: load, from: power.sum, to: scale.a}

``base``, ``tiles`` and ``ii`` of a flow are found where they are not given: tiles in proportion to the ops, from the
left; the lowest II that the mapper finds.

Each flow is mapped on a short array of its own width by an ordinary search and then moved to its place: tiles of the
streaming engine are all alike, so that a mapping stays legal when it is shifted. Flows share no tile, and values go
between them over channels. The whole is then checked and simulated together.
"""

from __future__ import annotations

from collections.abc import Mapping as MappingABC
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final, get_args

from gridloom.archs.model import Arch
from gridloom.archs.spec import build_spec
from gridloom.compiler.loops.source_name import check_saved_sources
from gridloom.compiler.loops.spec import Memory
from gridloom.dfg.model import Dfg
from gridloom.errors import GridloomError, OptionError
from gridloom.flow.inputs import ArchLike, memory_of, prepare, read_arch, read_source
from gridloom.flow.request import Request
from gridloom.flow.run import map_graph
from gridloom.mapping.model import Failure, Mapping
from gridloom.targets.streaming.machine.together import ProgramVerdict, simulate_program
from gridloom.targets.streaming.program.model import Channel, ChannelKind, Flow, Program, check_channels
from gridloom.targets.streaming.rules.program import legal_program
from gridloom.text_file import exists
from gridloom.verify.violation import Violation
from gridloom.yaml_text import parse_yaml, read_yaml_file

_FLOW_KEYS: Final = ("name", "source", "iterations", "ii", "base", "tiles")


@dataclass(frozen=True, kw_only=True)
class FlowSource:
    """A flow that is to be mapped. What is None is found by the mapper: II, base tile, number of tiles."""

    name: str
    dfg: Dfg
    iterations: int = 32
    ii: int | None = None
    base: int | None = None
    tiles: int | None = None


@dataclass(frozen=True, kw_only=True)
class ProgramSource:
    """Flows and channels before they have a place."""

    name: str
    flows: tuple[FlowSource, ...]
    channels: tuple[Channel, ...]


@dataclass(frozen=True, kw_only=True)
class ProgramResult:
    """The outcome of mapping a program; ``program`` is there exactly when it is legal and was simulated."""

    name: str
    arch: Arch
    program: Program | None = None
    failure: Failure | None = None
    #: The flow that the failure is of.
    flow: str | None = None
    violations: tuple[Violation, ...] = ()
    verdict: ProgramVerdict | None = None

    def to_json(self) -> dict[str, Any]:
        """Return the record that the command prints."""
        record: dict[str, Any] = {"status": "mapped" if self.program else "failed", "program": self.name,
                                  "arch": {"name": self.arch.name, "tiles": len(self.arch.tiles)}}  # fmt: skip
        legal = self.verdict is not None and not self.violations
        record["verified"] = {
            "legal": legal,
            "simulated": self.verdict is not None and self.verdict.ok,
            "compared_with": "graph",
        }
        if self.failure is not None:
            failure = self.failure
            record["failure"] = {"flow": self.flow, "constraint": failure.constraint, "demand": failure.demand,
                                 "bound": failure.bound, "levers": list(failure.levers)}  # fmt: skip
        if self.program is not None and self.verdict is not None:
            record["flows"] = [_flow_record(flow, self.verdict) for flow in self.program.flows]
            record["channels"] = [
                {**channel.to_dict(), "most_waiting": self.verdict.waiting.get(str(channel))}
                for channel in self.program.channels
            ]
            record["runs"] = [
                {"message_cycles": most, "cycles": cycles}
                for most, cycles in zip(self.verdict.latencies, self.verdict.cycles)
            ]
        return record


def _flow_record(flow: Flow, verdict: ProgramVerdict) -> dict[str, Any]:
    """Return a mapped flow as plain JSON data."""
    run = next(run for run in verdict.flows if run.flow == flow.name)
    mapping = flow.mapping
    tiles = {tile.name: tile for tile in mapping.arch.tiles}
    ends = [i.cycle + tiles[i.place].latency_of(mapping.dfg.op_class(i.node)) for i in mapping.instances]
    return {
        "name": flow.name, "base": flow.base, "tiles": flow.tiles, "ii": flow.ii, "iterations": flow.iterations,
        "nodes": len(mapping.instances), "latency": max(ends, default=0), "began": run.began, "ended": run.ended,
        "waited": run.waited,
    }  # fmt: skip


def read_program(path: Path, arch: ArchLike, named: Sequence[str] = ()) -> ProgramSource:
    """Return the program that a YAML file describes, for an array; sources are relative to the file.

    OptionError names the key that is wrong, or a Python file that the user has not ``named``. Costs one run of the
    front end for each flow.
    """
    memory = memory_of(read_arch(arch))
    data = parse_yaml(read_yaml_file(path), str(path))
    unknown = set(data) - {"program", "flows", "channels"}
    if unknown:
        raise OptionError(f"unknown key {min(unknown)!r}; expected program, flows, channels", where=str(path))
    flows = tuple(_flow_source(row, path, k, memory, named) for k, row in enumerate(_rows(data, "flows", path)))
    if not flows:
        raise OptionError("flows: expected at least one", where=str(path))
    if len({flow.name for flow in flows}) < len(flows):
        raise OptionError("flows: two of them have the same name", where=str(path))
    channels = tuple(_channel(row, path, k) for k, row in enumerate(_rows(data, "channels", path)))
    return ProgramSource(name=str(data.get("program", path.stem)), flows=flows, channels=channels)


def _rows(data: MappingABC[str, Any], key: str, path: Path) -> list[dict[str, Any]]:
    """Return the list under a key of the file; OptionError for anything else."""
    rows = data.get(key, [])
    if not isinstance(rows, list) or not all(isinstance(row, dict) for row in rows):
        raise OptionError(f"{key}: expected a list of keys and values", where=str(path))
    return rows


def _flow_source(row: dict[str, Any], path: Path, k: int, memory: Memory, named: Sequence[str]) -> FlowSource:
    """Return a flow of the file with its graph; errors name the flow's number in the list."""
    where = f"{path}: flows.{k}"
    for key in row:
        if key not in _FLOW_KEYS:
            raise OptionError(f"unknown key {key!r}; expected {', '.join(_FLOW_KEYS)}", where=where)
    for key in ("name", "source"):
        if not isinstance(row.get(key), str):
            raise OptionError(f"{key}: expected text, found {row.get(key)!r}", where=where)
    least = {"iterations": 1, "ii": 1, "base": 0, "tiles": 1}
    numbers = {key: row[key] for key in least if key in row}
    for key, number in numbers.items():
        if not isinstance(number, int) or isinstance(number, bool) or not least[key] <= number <= 100_000:
            raise OptionError(f"{key}: expected a number from {least[key]} on, found {number!r}", where=where)
    source = row["source"]
    beside = path.parent / source
    if not source.startswith("kernel:") and exists(beside):
        source = str(beside)
    check_saved_sources([source], named, where)
    try:
        dfg = read_source(source, memory)
    except GridloomError as error:
        raise error.at(where) from None
    return FlowSource(name=row["name"], dfg=dfg, **numbers)


def _channel(row: dict[str, Any], path: Path, k: int) -> Channel:
    """Return a channel of the file; OptionError for a wrong kind or wrong ends."""
    where = f"{path}: channels.{k}"
    kinds = get_args(ChannelKind)
    if row.get("kind") not in kinds:
        raise OptionError(f"kind: expected {', '.join(kinds)}, found {row.get('kind')!r}", where=where)
    extra = {"kind", "from", "to", "when", "unless", "capacity"}
    if not {"kind", "from", "to"} <= set(row) <= extra or not all(isinstance(row[key], str) for key in ("from", "to")):
        raise OptionError("expected the keys kind, from and to (FLOW.NAME, or FLOW for a start)", where=where)
    capacity = row.get("capacity")
    if capacity is not None and (type(capacity) is not int or capacity < 1):
        raise OptionError(f"capacity: expected a number from 1 on, found {capacity!r}", where=where)
    source, _, value = row["from"].partition(".")
    target, _, into = row["to"].partition(".")
    return Channel(kind=row["kind"], source=source, target=target, value=value or None, into=into or None,
                   when=row.get("when"), unless=row.get("unless"), capacity=capacity)  # fmt: skip


def map_program(source: ProgramSource, request: Request) -> ProgramResult:
    """Map the flows of a program one by one, put them side by side, check and simulate them together.

    ``request`` gives the array and, for each flow, mapper and budget. Costs a search for each flow.

    OptionError for an array without flows, for channels that are not sound and for a given ``base`` and ``tiles`` that
    do not lie on the array; that a flow finds no mapping is a result with a failure.
    """
    arch = read_arch(request.arch)
    if not arch.has("spokes"):
        raise OptionError(f"array {arch.name!r} has no flows; programs run on the family streaming-engine")
    flows = [replace(flow, dfg=prepare(flow.dfg, arch).dfg) for flow in source.flows]
    graphs = {flow.name: flow.dfg for flow in flows}
    check_channels(graphs, {flow.name: flow.iterations for flow in flows}, source.channels)
    result = ProgramResult(name=source.name, arch=arch)
    places = windows(flows, arch)
    if isinstance(places, Failure):
        return replace(result, failure=places)
    mapped = []
    for flow, (base, tiles) in zip(flows, places):
        # A row of just these tiles keeps the search from leaving the window of the flow.
        small = build_spec({**arch.spec, "tiles": tiles}, f"flow {flow.name}")
        outcome = map_graph(replace(request, source=flow.dfg, arch=small, ii=flow.ii), flow.dfg, small)
        if outcome.mapping is None:
            return replace(result, failure=outcome.failure, flow=flow.name)
        mapping = shift_mapping(outcome.mapping, arch, base)
        mapped.append(Flow(name=flow.name, iterations=flow.iterations, base=base, tiles=tiles, mapping=mapping))
    program = Program(name=source.name, arch=arch, flows=tuple(mapped), channels=source.channels)
    violations = tuple(legal_program(program))
    verdict = simulate_program(program, seed=request.seed)
    sound = program if verdict.ok and not violations else None
    return replace(result, program=sound, violations=violations, verdict=verdict)


def windows(flows: list[FlowSource], arch: Arch) -> list[tuple[int, int]] | Failure:
    """Return the base tile and the number of tiles of each flow, or why there are too few tiles.

    What a flow does not give is in proportion to its ops; windows are filled from the left and do not overlap, unless
    the bases that were given do. Every flow gets at least one tile. OptionError for a flow whose given base and tiles
    do not lie on the array.
    """
    count = len(arch.tiles)
    ops = {flow.name: sum(flow.dfg.op_class(node.id) not in arch.free for node in flow.dfg.nodes) for flow in flows}
    # Flows that leave their number of tiles open get one each, and share what is left by their ops.
    fixed = sum(flow.tiles or 0 for flow in flows)
    weight = sum(ops[flow.name] for flow in flows if flow.tiles is None)
    free = count - fixed - sum(flow.tiles is None for flow in flows)
    if free < 0:
        return Failure(
            constraint="tiles of the flows together", demand=f"{count - free} tiles", bound=f"{count}",
            levers=(f"tiles={count - free}", "fewer tiles for a flow"),
        )  # fmt: skip
    widths = [flow.tiles or 1 + free * ops[flow.name] // max(1, weight) for flow in flows]
    widths = [_on_the_array(flow, width, arch) for flow, width in zip(flows, widths)]
    taken = sorted((f.base, f.base + w) for f, w in zip(flows, widths) if f.base is not None)
    places = []
    for flow, width in zip(flows, widths):
        place = (flow.base, width) if flow.base is not None else _gap(width, flow.tiles is None, taken, count)
        if place is None:
            return Failure(
                constraint=f"tiles side by side for flow {flow.name}", demand=f"{width}", bound="none are left",
                levers=("a larger array", "other base tiles", "fewer tiles for a flow"),
            )  # fmt: skip
        if flow.base is None:
            taken = sorted([*taken, (place[0], sum(place))])
        places.append(place)
    return places


def _on_the_array(flow: FlowSource, width: int, arch: Arch) -> int:
    """Return the width of a flow, cut at the end of the array unless its number of tiles was given.

    OptionError where the base, or the tiles that were given, lie beyond the array.
    """
    count = len(arch.tiles)
    if flow.base is None or flow.base + width <= count:
        return width
    if flow.tiles is None and flow.base < count:
        return count - flow.base
    wanted = f"base {flow.base} lies" if flow.tiles is None else f"base {flow.base} and tiles {flow.tiles} lie"
    raise OptionError(
        f"{wanted} beyond array {arch.name!r}, whose tiles are 0 to {count - 1}", where=f"flow {flow.name}"
    )


def _gap(width: int, shrinks: bool, taken: list[tuple[int, int]], count: int) -> tuple[int, int] | None:
    """Return the first tile and the width of the leftmost gap that is wide enough.

    Where there is none, a flow that ``shrinks`` takes the widest gap.
    """
    ends = [0, *(end for _, end in taken)]
    gaps = [(first, end - first) for first, end in zip(ends, [*(first for first, _ in taken), count]) if end > first]
    wide = [first for first, room in gaps if room >= width]
    if wide:
        return wide[0], width
    return max(gaps, key=lambda gap: gap[1]) if shrinks and gaps else None


def shift_mapping(mapping: Mapping, arch: Arch, base: int) -> Mapping:
    """Return the mapping ``base`` tiles further to the right, on a longer row of the same tiles.

    The two arrays differ in their number of tiles only. A resource is recognised by its tile, kind and position.
    """
    small = mapping.arch
    tiles = {tile.name: arch.tiles[k + base].name for k, tile in enumerate(small.tiles)}
    there = dict(zip(_parts(arch, 0), arch.resource_names))
    resources = {name: there[part] for part, name in zip(_parts(small, base), small.resource_names)}
    return replace(
        mapping,
        arch=arch,
        instances=tuple(replace(instance, place=tiles[instance.place]) for instance in mapping.instances),
        routes=tuple(
            replace(route, hops=tuple((resources[resource], cycle) for resource, cycle in route.hops))
            for route in mapping.routes
        ),
    )


def _parts(arch: Arch, base: int) -> list[tuple[int, int, int]]:
    """Return for each resource its tile, moved by ``base``, its kind and its position within that kind."""
    return [(t + base, k, p) for t, k, p in zip(arch.tile.tolist(), arch.kind.tolist(), arch.position.tolist())]
