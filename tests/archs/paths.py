"""Ways through a resource graph, found without any router."""

from __future__ import annotations

import heapq
from typing import Any

import numpy as np
import rustworkx

from gridloom.archs import Arch


def drivers(arch: Arch, resource: str) -> list[str]:
    """The resources with an arc into one: the inputs of its multiplexer."""
    into = arch.arc_target == arch.resource(resource)
    return sorted(arch.resource_names[r] for r in arch.arc_source[into])


def followers(arch: Arch, resource: str) -> list[str]:
    """The resources that one has an arc to."""
    out_of = arch.arc_source == arch.resource(resource)
    return sorted(arch.resource_names[r] for r in arch.arc_target[out_of])


def earliest(arch: Arch, start: str, settings: dict[str, Any] | None = None) -> dict[str, int]:
    """The least cycles from one resource to each that it reaches (Dijkstra over the graph of II 1)."""
    graph = arch.unroll(1, settings)
    source = arch.resource(start)
    best = {source: 0}
    queue = [(0, source)]
    while queue:
        cycles, node = heapq.heappop(queue)
        if cycles > best[node]:
            continue
        for k in range(graph.indptr[node], graph.indptr[node + 1]):
            target, total = int(graph.target[k]), cycles + int(graph.latency[k])
            if total < best.get(target, 1 << 30):
                best[target] = total
                heapq.heappush(queue, (total, target))
    return {arch.resource_names[node]: cycles for node, cycles in best.items()}


def reached_tiles(arch: Arch) -> np.ndarray:
    """[tile, tile] -> True when a value of the first can get to an operand of the second."""
    graph = rustworkx.PyDiGraph(multigraph=False)
    graph.add_nodes_from(range(len(arch.kind)))
    graph.add_edges_from_no_data(list(zip(arch.arc_source.tolist(), arch.arc_target.tolist(), strict=True)))
    operand_of = {int(r): k for k, row in enumerate(arch.operand_inputs) for r in row if r >= 0}
    table = np.zeros((len(arch.tiles), len(arch.tiles)), dtype=bool)
    for k, fu in enumerate(arch.fu.tolist()):
        if fu >= 0:
            table[k, [operand_of[r] for r in rustworkx.descendants(graph, fu) if r in operand_of]] = True
    return table
