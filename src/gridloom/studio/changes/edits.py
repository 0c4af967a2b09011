"""Changes by hand: a node moved, an II set, a route led through tiles; the result is a mapping like any other.

Each change gives a new mapping, so that undoing is going back to the one before. Routes that a change breaks are led
anew where a free way is found (:mod:`gridloom.studio.changes.routing`); where none is, the edge has no route and the
checker names it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from gridloom.errors import OptionError
from gridloom.mapping.model import Instance, Mapping, Route
from gridloom.studio.changes.routing import FreePlaces
from gridloom.verify import legal

#: Instances beyond which a move is tried in one cycle only.
_SMALL: Final = 400
#: Cycles around the old one in which a moved node is tried.
_NEARBY: Final = 4
_MOST_II: Final = 10_000


@dataclass(frozen=True, kw_only=True)
class MappingChange:
    """One change as the page asks for it."""

    kind: str
    node: str = ""
    tile: str = ""
    cycle: int | None = None
    ii: int = 0
    edge: int = -1
    via: tuple[str, ...] = ()

    @classmethod
    def of(cls, data: Any) -> MappingChange:
        """The change in a request; OptionError where it is none."""
        if not isinstance(data, dict) or data.get("kind") not in ("move", "ii", "route", "drop"):
            raise OptionError("a change is an object with a kind: move, ii, route or drop")
        types: dict[str, tuple[type, ...]] = {
            "node": (str,),
            "tile": (str,),
            "cycle": (int, type(None)),
            "ii": (int,),
            "edge": (int,),
        }
        fields = {}
        for name, kinds in types.items():
            if name in data:
                if not isinstance(data[name], kinds) or isinstance(data[name], bool):
                    raise OptionError(f"{name}: found {str(data[name])[:60]!r}")
                fields[name] = data[name]
        via = data.get("via", ())
        if not isinstance(via, list | tuple) or not all(isinstance(tile, str) for tile in via) or len(via) > 16:
            raise OptionError("via: expected up to 16 names of tiles")
        return cls(kind=data["kind"], via=tuple(via), **fields)


def apply_change(mapping: Mapping, change: MappingChange) -> Mapping:
    """The mapping after a change; OptionError for names that graph and array do not have.

    Costs a check of the mapping for each cycle that is tried: a moved node takes the cycle near its old one with the
    fewest violations, or the one that the change names.
    """
    if change.kind == "ii":
        return _noted(_with_ii(mapping, change.ii), f"II set to {change.ii}")
    if change.kind == "move":
        return _noted(_moved(mapping, change), f"{change.node} moved to {change.tile}")
    if not 0 <= change.edge < len(mapping.dfg.edges):
        raise OptionError(f"the graph has no edge {change.edge}; it has 0 to {len(mapping.dfg.edges) - 1}")
    edge = mapping.dfg.edges[change.edge]
    name = f"{edge.source} -> {edge.target}"
    if change.kind == "drop":
        return _noted(_without_routes(mapping, {change.edge}), f"route of {name} dropped")
    return _noted(
        _routed(mapping, change), f"route of {name} led through {', '.join(change.via) or 'the shortest way'}"
    )


def _noted(mapping: Mapping, words: str) -> Mapping:
    """The mapping with a line about the change where it says where it came from."""
    edits = [*mapping.provenance.get("edited by hand", []), words]
    return replace(mapping, provenance={**mapping.provenance, "edited by hand": edits[-50:], "optimal": False})


def _with_ii(mapping: Mapping, ii: int) -> Mapping:
    """The same issues and routes at another II; what no longer fits is for the checker to name."""
    if mapping.arch.style != "modulo":
        raise OptionError(f"array {mapping.arch.name!r} has no II to set")
    if not 1 <= ii <= _MOST_II:
        raise OptionError(f"II: expected 1 to {_MOST_II}, found {ii}")
    return replace(mapping, ii=ii)


def _without_routes(mapping: Mapping, edges: set[int]) -> Mapping:
    return replace(mapping, routes=tuple(route for route in mapping.routes if route.edge not in edges))


def _moved(mapping: Mapping, change: MappingChange) -> Mapping:
    """The mapping with a node on another tile, and its edges routed anew."""
    arch = mapping.arch
    instance = mapping.instance_of.get((change.node, 0))
    if instance is None or instance.place not in arch.tile_index:
        raise OptionError(f"node {change.node[:60]!r} does not sit on a tile")
    if change.tile not in arch.tile_index:
        raise OptionError(f"array {arch.name!r} has no tile {change.tile[:60]!r}")
    tries = [
        _placed(mapping, instance, replace(instance, place=change.tile, cycle=cycle))
        for cycle in _cycles(mapping, instance, change)
    ]
    if len(tries) == 1:
        return tries[0]
    return min(tries, key=lambda tried: len(legal(tried)))


def _cycles(mapping: Mapping, instance: Instance, change: MappingChange) -> Sequence[int]:
    """The cycles in which a moved node is tried, the nearest first.

    A cycle that the change names decides on the slot: other rounds of it are tried as well.
    """
    if not mapping.arch.is_timed:
        return [instance.cycle]
    wanted = instance.cycle if change.cycle is None else change.cycle
    if len(mapping.instances) > _SMALL:
        return [max(wanted, 0)]
    step = mapping.ii if change.cycle is not None else 1
    nearby = [wanted + k * step for k in sorted(range(-_NEARBY, _NEARBY + 1), key=lambda k: (abs(k), k))]
    return [cycle for cycle in nearby if cycle >= 0] or [max(wanted, 0)]


def _placed(mapping: Mapping, old: Instance, new: Instance) -> Mapping:
    """The mapping with one instance in another place and cycle, and the edges at it routed anew."""
    instances = tuple(new if instance is old else instance for instance in mapping.instances)
    touched = {e for e, edge in enumerate(mapping.dfg.edges) if new.node in (edge.source, edge.target)}
    lost = [*(route for route in mapping.routes if route.edge in touched), *_unrouted(mapping, touched)]
    bare = replace(_without_routes(mapping, touched), instances=instances)
    if not mapping.arch.is_timed:
        return replace(bare, routes=(*bare.routes, *_token_ways(bare, lost)))
    ways = FreePlaces(bare, touched)
    found = []
    for route in lost:
        way = ways.route(route.edge, route.copy, route.source_copy)
        if way is not None:
            ways.add(way)
            found.append(way)
    routes = sorted((*bare.routes, *found), key=lambda route: (route.edge, route.copy))
    return replace(bare, routes=tuple(routes))


def _unrouted(mapping: Mapping, edges: set[int]) -> Iterator[Route]:
    """Routes without hops for the edges that carry a value between placed nodes and have none: they are tried again."""
    routed = {route.edge for route in mapping.routes}
    for e in sorted(edges - routed):
        edge = mapping.dfg.edges[e]
        ends = (edge.source, 0) in mapping.instance_of and (edge.target, 0) in mapping.instance_of
        if edge.kind == "data" and ends:
            yield Route(edge=e, hops=())


def _token_ways(mapping: Mapping, lost: Sequence[Route]) -> Iterator[Route]:
    """Shortest ways of tokens from tile to tile; elastic arrays have no cycles that could conflict."""
    arch = mapping.arch
    after: dict[int, list[tuple[int, int]]] = {}
    for a, b, link in arch.links:
        after.setdefault(a, []).append((b, link))
    for route in lost:
        edge = mapping.dfg.edges[route.edge]
        source, target = mapping.instance_of[edge.source, 0], mapping.instance_of[edge.target, 0]
        start, goal = arch.tile_index[source.place], arch.tile_index[target.place]
        came: dict[int, tuple[int, int] | None] = {start: None}
        queue = [start]
        for at in queue:
            # Tokens pass switches only: units in between would take them.
            for b, link in after.get(at, []) if at == start or arch.tiles[at].kind == "switch" else []:
                if b not in came:
                    came[b] = (at, link)
                    queue.append(b)
        links: list[int] = []
        step = came.get(goal)
        while step is not None:
            links.insert(0, step[1])
            step = came[step[0]]
        if links:
            tail = route.hops[len(_links(mapping, route)) :]
            names = [(arch.resource_names[link], 0) for link in links]
            yield replace(route, hops=(*names, *((_same_input(target, hop), 0) for hop, _ in tail)))


def _links(mapping: Mapping, route: Route) -> list[str]:
    """The hops of a route that are links."""
    known = {mapping.arch.resource_names[link] for _, _, link in mapping.arch.links}
    return [name for name, _ in route.hops if name in known]


def _same_input(target: Instance, hop: str) -> str:
    """The resource of another tile that has the same place there: its operand input."""
    return f"{target.place}.{hop.rpartition('.')[2]}"


def _routed(mapping: Mapping, change: MappingChange) -> Mapping:
    """The mapping with one edge led through some tiles; OptionError where there is no free way."""
    if not mapping.arch.is_timed:
        raise OptionError("routes of tokens follow the placement; move a node instead")
    for tile in change.via:
        if tile not in mapping.arch.tile_index:
            raise OptionError(f"array {mapping.arch.name!r} has no tile {tile[:60]!r}")
    ways = FreePlaces(mapping, {change.edge})
    via = [mapping.arch.tile_index[tile] for tile in change.via]
    copies = [(route.copy, route.source_copy) for route in mapping.routes if route.edge == change.edge] or [(0, 0)]
    found = [ways.route(change.edge, copy, source, via) for copy, source in copies]
    if any(way is None for way in found):
        through = f" through {', '.join(change.via)}" if change.via else ""
        raise OptionError(f"no free way for edge {change.edge}{through} in the cycles between its ends")
    rest = _without_routes(mapping, {change.edge}).routes
    routes = sorted((*rest, *(way for way in found if way)), key=lambda route: (route.edge, route.copy))
    return replace(mapping, routes=tuple(routes))
