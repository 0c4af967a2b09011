"""``bisect``: two parts of a graph, the first of which needs nothing from the second.

``kl`` is the published way: Kernighan-Lin on the undirected graph from many seeds, each result made acyclic by moving
ops until all dependences run one way, the most balanced one kept (Kojima et al., mappability estimation for static
CGRAs). ``multilevel`` starts from METIS bisections with several seeds and tolerances and from cuts of topological
orders, makes them acyclic, and improves them by moves that keep them so; the one with the fewest loads and stores
within the tolerance is kept.

Every candidate goes through ``acyclic.one_way``, so that all that is returned can be split. Results are the same for
the same seed: seeds number the runs, and ties are broken by the assignment itself.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from gridloom.dfg.model import Dfg
from gridloom.errors import DfgError, MissingExtra, OptionError, install_hint
from gridloom.partition.acyclic import ClusterGraph, cluster, one_way, refine, transfers
from gridloom.partition.split import is_op


@dataclass(frozen=True, kw_only=True)
class BisectionConfig:
    """Settings of ``bisect``."""

    #: ``kl``: as published. ``multilevel``: METIS and acyclic refinement; needs the extra ``partition``.
    method: Literal["kl", "multilevel"] = "kl"
    #: Number of runs, each with a seed of its own.
    seeds: int = 20
    seed: int = 0
    #: ``multilevel``: how much larger than the other the larger part may be, as a share of all ops.
    tolerance: float = 0.1

    def __post_init__(self) -> None:
        if self.method not in ("kl", "multilevel"):
            raise OptionError(f"method: expected kl or multilevel, found {self.method!r}")
        if self.seeds < 1:
            raise OptionError(f"seeds: expected at least 1, found {self.seeds}")
        if not 0 <= self.tolerance <= 1:
            raise OptionError(f"tolerance: expected 0 to 1, found {self.tolerance}")


@dataclass(frozen=True, kw_only=True)
class Bisection:
    """Two parts: op -> 0 or 1, what ``split`` takes.

    No value flows from part 1 to part 0, and neither part is empty.
    """

    assignment: Mapping[str, int]
    #: Ops of the parts.
    sizes: tuple[int, int]
    #: Loads and stores that the cut adds.
    transfers: int


def bisect(dfg: Dfg, config: BisectionConfig | None = None) -> Bisection:
    """The best bisection found; the same for the same configuration.

    DfgError for a graph that cannot be cut: fewer than two ops, or all of them tied together by loop-carried values or
    a memory. Costs O(seeds * ops * edges) for ``kl``.
    """
    config = config or BisectionConfig()
    ops = sum(is_op(dfg, k) for k in range(len(dfg.nodes)))
    limit = int(config.tolerance * ops)
    return min(bisections(dfg, config), key=lambda cut: _rank(cut, config.method, limit))


def _rank(cut: Bisection, method: str, limit: int) -> tuple[object, ...]:
    """What is kept: ``kl`` the most balanced, ``multilevel`` the fewest loads and stores within the tolerance."""
    difference = abs(cut.sizes[0] - cut.sizes[1])
    sides = tuple(cut.assignment.values())
    if method == "kl":
        return difference, cut.transfers, sides
    return max(0, difference - limit), cut.transfers, difference, sides


def bisections(dfg: Dfg, config: BisectionConfig | None = None) -> tuple[Bisection, ...]:
    """All different bisections that the seeds lead to, for a caller with a measure of its own.

    They come in the order in which they are found, each once. DfgError for a graph that cannot be cut.
    """
    config = config or BisectionConfig()
    graph = cluster(dfg)
    if graph.size < 2:
        raise DfgError(
            f"cannot be cut: it has {sum(graph.weight)} ops, all tied together; expected at least two that are not",
            where=f"graph {dfg.name!r}",
        )
    limit = int(config.tolerance * sum(graph.weight))
    sides = _published(graph, config) if config.method == "kl" else _multilevel(graph, config, limit)
    # A dictionary keeps the first of equal bisections, in the order in which they were found; a set would not.
    return tuple(_bisection(graph, side) for side in dict.fromkeys(map(tuple, sides)))


def _bisection(graph: ClusterGraph, side: Sequence[int]) -> Bisection:
    """The record of a bisection of clusters."""
    sizes = tuple(sum(w for w, s in zip(graph.weight, side) if s == part) for part in (0, 1))
    return Bisection(
        assignment={name: side[k] for k, ops in enumerate(graph.members) for name in ops},
        sizes=(sizes[0], sizes[1]),
        transfers=transfers(graph, side),
    )


def _both(graph: ClusterGraph, sides: Iterator[list[int]]) -> Iterator[list[int]]:
    """The bisections with something on either side; where there is none, the first op of an order against the rest."""
    any_side = False
    for side in sides:
        if 0 < sum(side) < graph.size:
            any_side = True
            yield side
    if not any_side:
        yield [int(k != graph.order[0]) for k in range(graph.size)]


def _published(graph: ClusterGraph, config: BisectionConfig) -> Iterator[list[int]]:
    """Kernighan-Lin from each seed, each result made to run one way."""
    import networkx

    plain = networkx.Graph()
    plain.add_nodes_from(range(graph.size))
    plain.add_edges_from((a, b) for a, row in enumerate(graph.successors) for b in row)

    def sides() -> Iterator[list[int]]:
        for k in range(config.seeds):
            second = networkx.community.kernighan_lin_bisection(plain, seed=config.seed * config.seeds + k)[1]
            yield from one_way(graph, [int(c in second) for c in range(graph.size)])

    return _both(graph, sides())


def _multilevel(graph: ClusterGraph, config: BisectionConfig, limit: int) -> Iterator[list[int]]:
    """Starts from METIS and from cuts of topological orders, made to run one way and refined.

    METIS sees the undirected cluster graph with ops as weights. Its tolerance of imbalance cycles through four values
    over the seeds, so that the starts differ.
    """
    metis = _metis()
    neighbours = [sorted({*a, *b}) for a, b in zip(graph.successors, graph.predecessors)]

    def starts() -> Iterator[list[int]]:
        for k in range(config.seeds):
            options = metis.Options(seed=config.seed * config.seeds + k, ufactor=1 + 30 * (k % 4))
            _, membership = metis.part_graph(
                2, adjacency=neighbours, vweights=list(graph.weight), options=options, recursive=True
            )
            yield from one_way(graph, [int(part) for part in membership])
        yield from _order_cuts(graph, config)

    refined = (refine(graph, side, limit) for side in _both(graph, starts()))
    return _both(graph, refined)


def _order_cuts(graph: ClusterGraph, config: BisectionConfig) -> Iterator[list[int]]:
    """Halves of random depth-first orders: one way from the start.

    Depth first means that a cluster is followed by what it alone was holding back, so that chains stay on one side.
    """
    for k in range(config.seeds):
        rng = random.Random(config.seed * config.seeds + k)
        waiting = [len(row) for row in graph.predecessors]
        ready = [c for c, count in enumerate(waiting) if count == 0]
        rng.shuffle(ready)
        side = [1] * graph.size
        total = 0
        while ready and 2 * total < sum(graph.weight):
            c = ready.pop()
            side[c] = 0
            total += graph.weight[c]
            opened = [j for j in graph.successors[c] if waiting[j] == 1]
            for j in graph.successors[c]:
                waiting[j] -= 1
            rng.shuffle(opened)
            ready += opened
        yield side


def _metis() -> Any:
    """The module of METIS; MissingExtra where it is not installed."""
    try:
        import pymetis
    except ImportError:
        raise MissingExtra(f"method 'multilevel' needs pymetis; install it with: {install_hint('partition')}") from None
    return pymetis
