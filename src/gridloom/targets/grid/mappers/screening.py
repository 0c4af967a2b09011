"""Reasons why a graph cannot go on a static grid, found by counting before any search.

Each reason is a necessary condition: what is refused here has no mapping at all, and the Failure says by how much the
array is too small and what would help. What passes may still have no mapping, since links and FIFOs are not counted.
The last test is a bipartite matching of nodes and tiles, which searches also use to make random placements
(:func:`match`); they rely on it, so a problem has to be screened before it is searched.
"""

from __future__ import annotations

import math
from collections import Counter

import numpy as np

from gridloom.archs.model import Arch
from gridloom.dfg.model import Dfg
from gridloom.mapping.model import Failure, as_proof
from gridloom.targets.grid.mappers.problem import StaticProblem, operand_count, usual_latency

# Ops that need a memory, in every form that a frontend or a transformation gives them.
_MEMORY_OPS = ("load", "store", "store_if", "load_address", "load_data", "store_address", "store_data")


def screen(problem: StaticProblem) -> Failure | None:
    """The first reason why no mapping exists; None when counting finds none. Linear, plus one bipartite matching.

    Reasons that are cheap to count and easy to act on come first: memory, tiles, op classes, operands, links into a
    tile, recurrences, and at last all nodes at once.
    """
    dfg, arch = problem.dfg, problem.arch
    return as_proof(
        _memory(dfg, arch)
        or _tiles(problem)
        or _classes(problem)
        or _operands(dfg, arch)
        or _incoming(problem)
        or _recurrence(problem)
        or _together(problem)
    )


def _plural(count: int, word: str) -> str:
    """A count with its word: ``1 tile``, ``2 tiles``."""
    return f"{count} {word}" if count == 1 else f"{count} {word}s"


def _memory(dfg: Dfg, arch: Arch) -> Failure | None:
    """Loads and stores: the static grids have no memory. In the domain ``opaque`` every op is a plain one."""
    if dfg.domain == "opaque":
        return None
    accesses = [node.id for node in dfg.nodes if node.op in _MEMORY_OPS]
    if not accesses:
        return None
    return Failure(
        constraint="memory",
        demand=f"{len(accesses)} loads and stores ({', '.join(accesses[:3])}{', ...' if len(accesses) > 3 else ''})",
        bound=f"no memory on {arch.name}",
        levers=("turn loads into streams", "an array with memory units (torus)"),
    )


def _tiles(problem: StaticProblem) -> Failure | None:
    """More nodes than tiles. The levers say how many rows or how many columns more would be enough."""
    arch = problem.arch
    if problem.size <= problem.tiles:
        return None
    rows = math.ceil(problem.size / arch.cols) - arch.rows
    cols = math.ceil(problem.size / arch.rows) - arch.cols
    return Failure(
        constraint="tiles",
        demand=_plural(problem.size, "tile"),
        bound=f"{problem.tiles} on {arch.name}",
        levers=(f"{_plural(rows, 'row')} more", f"{_plural(cols, 'column')} more"),
    )


def _classes(problem: StaticProblem) -> Failure | None:
    """An op class that more nodes need than tiles have it. A node may need several classes at the same tile."""
    dfg, arch = problem.dfg, problem.arch
    nodes = [dfg.nodes[k].id for k in problem.nodes.tolist()]
    demand = Counter(name for node in nodes for name in dfg.required_classes(node, results_leave=True))
    for op_class, count in demand.items():
        bound = len(arch.tiles_for(op_class))
        if count <= bound:
            found = _blocked(problem, op_class, count) or _too_slow(problem, op_class, count)
            if found is not None:
                return found
        if count > bound:
            lever = f"{_plural(count - bound, 'tile')} more with {op_class}"
            return Failure(
                constraint=f"op class {op_class}",
                demand=f"{_plural(count, 'tile')} with it",
                bound=f"{bound or 'none'} on {arch.name}",
                levers=(lever,),
            )
    return None


def _blocked(problem: StaticProblem, op_class: str, count: int) -> Failure | None:
    """The failure for an op class whose tiles are kept for longer than the one cycle between two iterations."""
    arch = problem.arch
    bound = sum(1 for t in arch.tiles_for(op_class) if arch.tiles[t].occupancy_of(op_class) == 1)
    if count <= bound:
        return None
    return Failure(
        constraint=f"op class {op_class} on units that take an op in each cycle",
        demand=_plural(count, "tile"),
        bound=f"{bound or 'none'} on {problem.arch.name}, whose iterations start in each cycle",
        levers=(f"occupancy 1 for {op_class}", "an array of style modulo"),
    )


def _too_slow(problem: StaticProblem, op_class: str, count: int) -> Failure | None:
    """The failure for an op class that too few tiles run in the latency that most of them have."""
    arch, usual = problem.arch, usual_latency(problem.arch, op_class)
    bound = sum(1 for t in arch.tiles_for(op_class) if arch.tiles[t].latency_of(op_class) == usual)
    if count <= bound:
        return None
    return Failure(
        constraint=f"op class {op_class} on tiles of one latency",
        demand=_plural(count, "tile"),
        bound=f"{bound} of latency {usual} on {arch.name}",
        levers=(f"the same latency of {op_class} on all tiles",),
    )


def _operands(dfg: Dfg, arch: Arch) -> Failure | None:
    """A node with more operands than any tile takes."""
    bound = max(tile.operands for tile in arch.tiles)
    for k, node in enumerate(dfg.nodes):
        count = operand_count(dfg, k)
        if count > bound:
            return Failure(
                constraint=f"operands of node {node.id!r}",
                demand=str(count),
                bound=f"{bound} a tile on {arch.name}",
                levers=(f"operands={count}", "split the node into a tree"),
            )
    return None


def _incoming(problem: StaticProblem) -> Failure | None:
    """A node whose class and operands some tile has, but which takes more signals than links enter any such tile.

    Classes and operands were counted one by one before. A node that needs several of them on one tile, where no tile
    has them together, is also told here, although links are not what it lacks.
    """
    dfg, arch = problem.dfg, problem.arch
    for node, kind in enumerate(problem.kind.tolist()):
        if problem.allowed[kind].any():
            continue
        k = int(problem.nodes[node])
        sources = {dfg.edges[e].source for e in dfg.in_edges[k] if dfg.edges[e].kind == "data"}
        sources -= {dfg.nodes[k].id}
        count = operand_count(dfg, k)
        signals = sum(1 for source in sources if problem.number[dfg.index[source]] >= 0)
        entering = np.bincount([b for _, b, _ in arch.links], minlength=problem.tiles)
        able = [t for t in arch.tiles_for(dfg.op_class(dfg.nodes[k].id)) if arch.tiles[t].operands >= count]
        return Failure(
            constraint=f"links into the tile of node {dfg.nodes[k].id!r}",
            demand=str(signals),
            bound=f"{max((int(entering[t]) for t in able), default=0)} on {arch.name}",
            levers=("a topology with more links (onehop)", "a larger array", "split the node into a tree"),
        )
    return None


def _recurrence(problem: StaticProblem) -> Failure | None:
    """A cycle whose least latency is more than its distance: at II 1 nothing can make it faster.

    Each edge has the length ``distance - cycles``, with one link at best, so that such a cycle of edges is a negative
    one. Bellman-Ford finds one, O(nodes * edges).
    """
    import rustworkx

    dfg, number = problem.dfg, problem.number
    graph: rustworkx.PyDiGraph = rustworkx.PyDiGraph()
    graph.add_nodes_from(range(problem.size))
    for edge in dfg.edges:
        a, b = int(number[dfg.index[edge.source]]), int(number[dfg.index[edge.target]])
        if edge.kind != "async" and a >= 0 and b >= 0:
            cycles = int((problem.latency if a == b else problem.reach)[a]) if edge.kind == "data" else edge.delay
            graph.add_edge(a, b, (cycles, edge.distance))
    try:
        ring = [int(k) for k in rustworkx.find_negative_cycle(graph, lambda rule: float(rule[1] - rule[0]))]
    except ValueError:
        return None
    steps = list(zip(ring, ring[1:] if ring[0] == ring[-1] else ring[1:] + ring[:1]))
    rules = [max(graph.get_all_edge_data(a, b), key=lambda rule: rule[0] - rule[1]) for a, b in steps]
    cycles, distance = sum(rule[0] for rule in rules), sum(rule[1] for rule in rules)
    names = [dfg.nodes[problem.nodes[a]].id for a, _ in steps]
    ii = math.ceil(cycles / distance) if distance else cycles
    return Failure(
        constraint=f"recurrence {' -> '.join([*names, names[0]])}",
        demand=_plural(cycles, "cycle"),
        bound=f"{distance} (its distance, at II 1)",
        levers=(f"a modulo-scheduled array (torus) with II {ii}",),
    )


def _together(problem: StaticProblem) -> Failure | None:
    """Nodes that fit class by class, but not all at once: there is no matching of all nodes and tiles."""
    matched = match(problem, range(problem.size), [np.flatnonzero(row) for row in problem.allowed], {})
    if matched is not None:
        return None
    return Failure(
        constraint="op classes together",
        demand=f"a tile of its own for each of {problem.size} nodes",
        bound=f"fewer on {problem.arch.name}: classes compete for the same tiles",
        levers=("a larger array", "tiles with more op classes"),
    )


def match(
    problem: StaticProblem, order: range | list[int], tiles_of: list[np.ndarray], taken: dict[int, int]
) -> np.ndarray | None:
    """A tile for each node, by augmenting paths; ``taken`` are tiles that keep their node. None: there is none.

    Nodes are tried in ``order``, tiles of a kind in the order of ``tiles_of[kind]``: shuffled, they give a random
    placement. A node first takes the next free tile of its kind, and a path is only searched for when there is none
    left; nodes of rare kinds should therefore come first in ``order``. Near linear where tiles are plenty, O(nodes *
    nodes * tiles) at worst.
    """
    position = np.full(problem.size, -1, dtype=np.int32)
    occupant = np.full(problem.tiles, -1, dtype=np.int32)
    for node, tile in taken.items():
        position[node], occupant[tile] = tile, node
    cursor = [0] * len(tiles_of)
    for node in order:
        if position[node] >= 0:
            continue
        kind = problem.kind[node]
        row = tiles_of[kind]
        while cursor[kind] < len(row) and occupant[row[cursor[kind]]] >= 0:
            cursor[kind] += 1
        if cursor[kind] < len(row):
            position[node], occupant[row[cursor[kind]]] = row[cursor[kind]], node
        elif not _augment(problem, node, tiles_of, taken, position, occupant):
            return None
    return position


def _augment(
    problem: StaticProblem,
    node: int,
    tiles_of: list[np.ndarray],
    taken: dict[int, int],
    position: np.ndarray,
    occupant: np.ndarray,
) -> bool:
    """Find a tile for a node by moving others; False: there is no way, and nothing was moved.

    Breadth first over who could give up a tile for whom: ``came[tile]`` is the node that would take the tile. At a free
    tile the chain is walked back, and each node on it moves to the tile that it asked for.
    """
    came: dict[int, int] = {}
    queue = [node]
    for current in queue:
        for tile in tiles_of[problem.kind[current]].tolist():
            if tile in came:
                continue
            came[tile] = current
            other = int(occupant[tile])
            if other < 0:
                while True:
                    giver = came[tile]
                    left = int(position[giver])
                    position[giver], occupant[tile] = tile, giver
                    if giver == node:
                        return True
                    tile = left
            if other not in taken:
                queue.append(other)
    return False
