"""What the two parts of a cut cost by counting, without building their graphs.

Every cut that the seeds lead to is judged by the columns that counting gives its parts. Building the two graphs of each
cut costs more than finding the cut, and all that is asked of them is a few counts.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from gridloom.archs.model import Arch
from gridloom.dfg.model import Dfg
from gridloom.partition import split
from gridloom.partition.split import is_op
from gridloom.partition.width_estimate import Demand, WidthEstimate, bound_estimate


@dataclass(frozen=True, kw_only=True)
class CutCosts:
    """The costs of cuts of one graph, with the widths of counting as those of the parts."""

    dfg: Dfg
    arch: Arch
    #: The cost of a part of which so many copies are placed.
    price: Callable[[int], float]

    def of(self, assignment: Mapping[str, int]) -> float:
        """Return what the parts of a cut cost. ``assignment`` gives each op side 0 or 1; both sides have ops.

        What does not fit even by counting has to be split again: it costs as many times as its share of the array.
        """
        columns = self.arch.cols
        if self._plain:
            registers = sum(tile.kind == "const" for tile in self.arch.tiles)
            total = 0.0
            for need in demands(self.dfg, assignment):
                bound = max(1, -(-need.ops // self.arch.rows), need.loads, need.stores)
                fits = need.constants <= registers and bound <= columns
                total += self._cost(bound, fits=fits)
            return round(total, 9)
        guesses: list[WidthEstimate] = [bound_estimate(part.dfg, self.arch) for part in split(self.dfg, assignment)]
        return round(sum(self._cost(guess.bound, fits=guess.width is not None) for guess in guesses), 9)

    def _cost(self, bound: int, *, fits: bool) -> float:
        columns = self.arch.cols
        return self.price(columns // bound) if fits else (bound / columns + 1) * self.price(1)

    @property
    def _plain(self) -> bool:
        """Whether numbers of nodes are all that counting looks at in the parts of this graph."""
        if self.arch.free or self.arch.has("partial"):
            return False
        if any(edge.kind != "data" or edge.distance for edge in self.dfg.edges):
            return False
        classes = frozenset.union(*(tile.classes for tile in self.arch.tiles))
        return all(self.dfg.required_classes(node.id) <= classes for node in self.dfg.nodes)


def demands(dfg: Dfg, assignment: Mapping[str, int]) -> tuple[Demand, Demand]:
    """Return what the two parts of a graph of plain data edges ask of an array, as ``split`` would make them.

    A value that crosses is stored once, by the output that the graph has of it or by a new one, and loaded by the other
    part; inputs and constants are in every part that reads them, those that nothing reads in the first.
    """
    home = {node.id: assignment[node.id] for k, node in enumerate(dfg.nodes) if is_op(dfg, k)}
    stores, read = [0, 0], (set[str](), set[str]())
    stored: set[str] = set()
    for edge in dfg.edges:
        if edge.target not in home:  # an output goes with what it stores
            side = home.get(edge.source, 0)
            stores[side] += 1
            stored.add(edge.source)
        else:
            side = home[edge.target]
        read[side].add(edge.source)
    timeless = {node.id: op.timeless for node, op in zip(dfg.nodes, dfg.ops, strict=True)}
    idle = [node.id for k, node in enumerate(dfg.nodes) if not dfg.out_edges[k] and node.op != "output"]
    read[0].update(name for name in idle if name not in home)
    ops, constants, loads = [0, 0], [0, 0], [0, 0]
    for side in home.values():
        ops[side] += 1
    crossing: set[str] = set()
    for side in (0, 1):
        for name in read[side]:
            if timeless[name]:
                constants[side] += 1
            elif home.get(name) != side:
                loads[side] += 1
                crossing.add(name)
    for name in crossing:
        if name in home and name not in stored:
            stores[home[name]] += 1
    first, second = (
        Demand(ops=ops[side], constants=constants[side], loads=loads[side], stores=stores[side]) for side in (0, 1)
    )
    return first, second
