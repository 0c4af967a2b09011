"""Mappings written by hand: a place and a cycle a node, a way an edge."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

from gridloom.archs import Arch, build
from gridloom.dfg import Dfg
from gridloom.mapping import Instance, Mapping, Route


def edge_number(dfg: Dfg, name: str) -> int:
    """The edge that ``"a->b"`` names, or ``"a->b.1"`` where the operand must be told."""
    ends, _, operand = name.partition(".")
    source, target = ends.split("->")
    found = [
        k
        for k, edge in enumerate(dfg.edges)
        if (edge.source, edge.target) == (source, target) and (not operand or edge.operand == int(operand))
    ]
    assert len(found) == 1, f"{name} names {len(found)} edges"
    return found[0]


def hops(text: str) -> tuple[tuple[str, int], ...]:
    """``"pe_0_0.out@1 pe_0_0>pe_0_1@1"`` as hops; without ``@`` the cycle is 0."""
    rows = [word.partition("@") for word in text.split()]
    return tuple((name, int(cycle or 0)) for name, _, cycle in rows)


def sketch(
    dfg: Dfg,
    arch: Arch | str,
    places: dict[str, tuple[str, int]],
    ways: dict[str, str | tuple[str, int]],
    *,
    ii: int = 1,
    settings: dict[str, Any] | None = None,
) -> Mapping:
    """A mapping; a way is its hops, or (hops, FIFO)."""
    routes = []
    for name, way in ways.items():
        text, fifo = way if isinstance(way, tuple) else (way, 0)
        routes.append(Route(edge=edge_number(dfg, name), hops=hops(text), fifo=fifo))
    return Mapping(
        dfg=dfg,
        arch=build(arch) if isinstance(arch, str) else arch,
        ii=ii,
        instances=tuple(Instance(node=node, place=place, cycle=cycle) for node, (place, cycle) in places.items()),
        routes=tuple(routes),
        settings=settings or {},
    )


def with_instance(mapping: Mapping, node: str, **changes: Any) -> Mapping:
    """The same mapping with the first instance of a node changed."""
    return replace(
        mapping,
        instances=tuple(replace(i, **changes) if (i.node, i.copy) == (node, 0) else i for i in mapping.instances),
    )


def with_route(mapping: Mapping, name: str, way: str | None = None, **changes: Any) -> Mapping:
    """The same mapping with the route of an edge changed."""
    number = edge_number(mapping.dfg, name)
    if way is not None:
        changes["hops"] = hops(way)
    return replace(mapping, routes=tuple(replace(r, **changes) if r.edge == number else r for r in mapping.routes))


def without_route(mapping: Mapping, name: str) -> Mapping:
    """The same mapping without the routes of an edge."""
    number = edge_number(mapping.dfg, name)
    return replace(mapping, routes=tuple(r for r in mapping.routes if r.edge != number))


def adding(mapping: Mapping, instances: Iterable[Instance] = (), routes: Iterable[Route] = ()) -> Mapping:
    """The same mapping with more in it."""
    return replace(mapping, instances=(*mapping.instances, *instances), routes=(*mapping.routes, *routes))
