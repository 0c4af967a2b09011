"""One register for each result, on arrays whose instructions name just one.

Routes of one value may enter different registers of a tile in the same cycle. They all have the value from that cycle
on, so that the one that holds it for longest serves them all. Linear in the hops.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

from gridloom.archs.model import Arch, Kind
from gridloom.dfg.model import Dfg
from gridloom.mapping.model import Route


class _Stay(NamedTuple):
    """A value that rests in a register: the hops of its route, and the value, the tile and the cycle of the write."""

    first: int
    end: int
    value: tuple[str, int, int, int]


def share_registers(routes: Sequence[Route], dfg: Dfg, arch: Arch) -> list[Route]:
    """Return the routes with one register for everything that is written in one cycle."""
    stays = [_stays(route, dfg, arch) for route in routes]
    longest: dict[tuple[str, int, int, int], tuple[int, str]] = {}
    for route, mine in zip(routes, stays, strict=True):
        for stay in mine:
            entry = (stay.end - stay.first, route.hops[stay.first][0])
            longest[stay.value] = max(longest.get(stay.value, entry), entry)
    found = []
    for route, mine in zip(routes, stays, strict=True):
        hops = list(route.hops)
        for stay in mine:
            hops[stay.first : stay.end] = [
                (longest[stay.value][1], cycle) for _, cycle in hops[stay.first : stay.end]
            ]  # fmt: skip
        found.append(replace(route, hops=tuple(hops)))
    return found


def _stays(route: Route, dfg: Dfg, arch: Arch) -> list[_Stay]:
    """The registers that a route passes through, but for those that keep a live-in."""
    source = dfg.edges[route.edge].source
    kinds = [Kind(arch.kind[arch.resource_index[name]]) for name, _ in route.hops]
    starts = [k for k, kind in enumerate(kinds) if kind == Kind.REG and (k == 0 or kinds[k - 1] != Kind.REG)]
    found = []
    for k in starts:
        if dfg.op(source).timeless:
            continue
        end = next((e for e in range(k, len(kinds)) if kinds[e] != Kind.REG), len(kinds))
        name, cycle = route.hops[k]
        tile = int(arch.tile[arch.resource_index[name]])
        found.append(_Stay(k, end, (source, route.source_copy, tile, cycle)))
    return found
