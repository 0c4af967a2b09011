"""Copies of a mapping side by side: the unrolled graph, and the mapping in which every copy has its own columns.

Copy k of a mapping that keeps to the first w columns sits w * k columns to the east. Constants are not copied: a row's
constant registers reach all its columns, and equal copies read equal constants.

This works where all columns are alike: a mapping that keeps to w columns is then legal wherever it is shifted to, and
nothing has to be mapped anew. The result is checked all the same.
"""

from __future__ import annotations

from collections.abc import Mapping as MappingABC
from dataclasses import replace

from gridloom.archs.model import Arch
from gridloom.dfg.model import Dfg, Edge, Node
from gridloom.mapping.model import Instance, Mapping, Route


def copy_name(name: str, k: int) -> str:
    """Return what a node is called in copy k.

    >>> copy_name("sum", 1)
    'sum@1'
    """
    return f"{name}@{k}"


def copy_graph(dfg: Dfg, copies: int) -> Dfg:
    """Return the graph with every node but constants and live-ins ``copies`` times. Linear in the result."""
    shared = {node.id for node, op in zip(dfg.nodes, dfg.ops, strict=True) if op.timeless}
    nodes = [node for node in dfg.nodes if node.id in shared]
    edges: list[Edge] = []
    for k in range(copies):
        nodes += [_copied(node, k) for node in dfg.nodes if node.id not in shared]
        for edge in dfg.edges:
            source = edge.source if edge.source in shared else copy_name(edge.source, k)
            edges.append(replace(edge, source=source, target=copy_name(edge.target, k)))
    return Dfg(name=f"{dfg.name} x{copies}", domain=dfg.domain, nodes=tuple(nodes), edges=tuple(edges))


def _copied(node: Node, k: int) -> Node:
    """Return a node as copy k has it; its variable, which names a stream, is its own."""
    variable = None if node.variable is None else copy_name(node.variable, k)
    return replace(node, id=copy_name(node.id, k), variable=variable)


def side_by_side(mapping: Mapping, copies: int) -> Mapping:
    """Return the mapping of the unrolled graph: copy k sits k times the mapping's width to the east.

    Linear in the hops of the result.
    """
    dfg, arch = mapping.dfg, mapping.arch
    width = width_of(mapping)
    shared = {node.id for node, op in zip(dfg.nodes, dfg.ops, strict=True) if op.timeless}
    instances = [item for item in mapping.instances if item.node in shared]
    routes: list[Route] = []
    for k in range(copies):
        tiles, resources = _shifted(arch, k * width)
        instances += [
            Instance(node=copy_name(item.node, k), place=tiles[item.place], cycle=item.cycle, copy=item.copy)
            for item in mapping.instances
            if item.node not in shared
        ]
        routes += [
            replace(
                route,
                edge=route.edge + k * len(dfg.edges),
                hops=tuple((resources[name], cycle) for name, cycle in route.hops),
            )
            for route in mapping.routes
        ]
    return replace(mapping, dfg=copy_graph(dfg, copies), instances=tuple(instances), routes=tuple(routes))


def width_of(mapping: Mapping) -> int:
    """Return how many columns the mapping keeps to: one more than the easternmost that anything uses.

    Columns are counted from column 0 on, whether or not the first ones are used.
    """
    arch = mapping.arch
    used = {arch.tile_index[item.place] for item in mapping.instances}
    used |= {int(arch.tile[arch.resource(name)]) for route in mapping.routes for name, _ in route.hops}
    return 1 + max(arch.tiles[tile].col for tile in used)


def _shifted(arch: Arch, columns: int) -> tuple[MappingABC[str, str], MappingABC[str, str]]:
    """Return for tile and resource names those so many columns to the east; constant registers stay."""
    at = {(tile.kind, tile.row, tile.col): tile.name for tile in arch.tiles if tile.kind != "const"}
    tiles = {
        tile.name: tile.name if tile.kind == "const" else at.get((tile.kind, tile.row, tile.col + columns), "")
        for tile in arch.tiles
    }
    resources = {}
    for r, name in enumerate(arch.resource_names):
        home = arch.tiles[int(arch.tile[r])].name
        resources[name] = tiles[home] + name[len(home) :]
    return tiles, resources
