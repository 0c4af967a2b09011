"""Which parts a graph is cut into: it is split until every part is expected to map, and on while throughput improves.

A part is a set of ops of the whole graph. A part that maps on w of W columns is unrolled floor(W / w) times, and parts
run one after the other, so that 1 / throughput is the sum of 1 / floor(W / w). What is not mappable costs without end.
For a known number of iterations the cost is the execution time instead, in which every part has a price of its own.

The search grows a binary tree. A branch is a set of ops, its children the two sides of its best bisection. Widths are
those of the estimator until a mapper has spoken; then the tree is looked at again with the new widths. Branches are
remembered by their ops, so that nothing is estimated or cut twice.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Final, Literal

from gridloom.archs.model import Arch
from gridloom.dfg.model import Dfg
from gridloom.errors import DfgError
from gridloom.flow.partition.counting import CutCosts
from gridloom.partition import Bisection, BisectionConfig, Part, bisect, bisections
from gridloom.partition.split import is_op, part_of
from gridloom.partition.width_estimate import WidthEstimate

Ops = frozenset[str]


@dataclass(frozen=True, kw_only=True)
class PartPrice:
    """What a part costs: cycles per iteration, or the cycles of a number of iterations (equation 6 of the paper)."""

    columns: int
    #: None: so many that only the throughput counts.
    iterations: int | None = None
    #: Cycles that each part takes beside its iterations: its configuration and its latency.
    overhead: int = 0

    def of_copies(self, copies: int) -> float:
        """Return the cost of a part of which so many copies are placed; infinite for none.

        >>> [PartPrice(columns=12, iterations=64, overhead=113).of_copies(n) for n in (0, 1, 3)]
        [inf, 177, 135]
        """
        if copies == 0:
            return math.inf
        return 1 / copies if self.iterations is None else -(-self.iterations // copies) + self.overhead

    def room_for(self, width: int) -> int:
        """Return the columns that each copy may take at the cost that a part of that width has.

        >>> [PartPrice(columns=12).room_for(width) for width in (1, 4, 5, 7)]
        [1, 4, 6, 12]
        >>> [PartPrice(columns=12, iterations=4).room_for(width) for width in (1, 4)]
        [3, 6]
        """
        cost = self.of_copies(self.columns // width)
        return self.room_below(cost + 1e-9)

    def next_room(self, room: int) -> int | None:
        """Return the fewest columns above ``room`` that go with another cost; None: there are no more.

        >>> PartPrice(columns=12).next_room(6), PartPrice(columns=12).next_room(12)
        (12, None)
        """
        return self.room_for(room + 1) if room < self.columns else None

    def room_below(self, cost: float) -> int:
        """Return the most columns on which a part costs less than that; 0: none do.

        >>> PartPrice(columns=12).room_below(0.5), PartPrice(columns=12, iterations=9).room_below(1)
        (4, 0)
        """
        # Sums of a few fractions: a difference of the last digit is none.
        return next((self.columns // n for n in range(1, self.columns + 1) if self.of_copies(n) < cost - 1e-12), 0)


#: How unequal the parts of a cut may be: where few values cross is not always in the middle.
TOLERANCES: Final = (0.1, 0.6)
Verdict = Literal["estimated", "mapped", "refused"]


@dataclass(kw_only=True, eq=False)
class Branch:
    """A graph that the search looked at: its place in the tree, what was expected of it and what became of it."""

    part: Part
    ops: Ops
    #: What the estimator said, first and last: a mapper that disagrees is believed.
    expected: WidthEstimate
    width: int | None
    verdict: Verdict = "estimated"
    children: tuple[Branch, Branch] | None = None
    #: True in the partition that was chosen.
    chosen: bool = False

    def unroll(self, columns: int) -> int:
        """Return how many copies fit side by side; 0 when the graph is not mappable."""
        return 0 if self.width is None else columns // self.width

    def cost(self, price: PartPrice) -> float:
        """Return what the graph costs as a part; infinite when it is not mappable."""
        return price.of_copies(self.unroll(price.columns))


@dataclass(kw_only=True)
class Spent:
    """CPU seconds by what they went to."""

    cut: float = 0.0
    estimate: float = 0.0
    map: float = 0.0
    #: The share of ``map`` in searches that found nothing: what an estimator that knew all answers would save.
    in_vain: float = 0.0


@dataclass(kw_only=True)
class PartitionSearch:
    """The tree of parts of one graph, grown as far as it pays.

    ``grow`` and ``leaves`` may be called again after widths have changed; ``branches`` keeps what was looked at.
    """

    dfg: Dfg
    arch: Arch
    estimate: Callable[[Dfg], WidthEstimate]
    cuts: BisectionConfig
    price: PartPrice
    #: Splits in a row that may fail to improve the throughput before a branch is given up.
    patience: int = 1
    spent: Spent = field(default_factory=Spent)
    branches: dict[Ops, Branch] = field(default_factory=dict)

    def root(self) -> Branch:
        """Return the whole graph."""
        return self.branch(frozenset(node.id for k, node in enumerate(self.dfg.nodes) if is_op(self.dfg, k)))

    def branch(self, ops: Ops) -> Branch:
        """Return the branch of some ops, looked at once."""
        if ops not in self.branches:
            part = self._part(ops)
            began = time.process_time()
            expected = self.estimate(part.dfg)
            self.spent.estimate += time.process_time() - began
            self.branches[ops] = Branch(part=part, ops=ops, expected=expected, width=expected.width)
        return self.branches[ops]

    def _part(self, ops: Ops) -> Part:
        """Return the graph of some ops with the loads and stores that it needs as a part.

        The whole graph is split into what the ops need, the ops themselves, and the rest. The ops must be closed under
        the cuts that led to them: no value may leave them and come back.
        """
        below = self._below(ops)
        names = [node.id for k, node in enumerate(self.dfg.nodes) if is_op(self.dfg, k)]
        home = {name: 1 if name in ops else 0 if name in below else 2 for name in names}
        return part_of(self.dfg, home, 1)

    def _below(self, ops: Ops) -> set[str]:
        """Return everything that the ops need, themselves left out."""
        before: dict[str, list[str]] = {}
        for edge in self.dfg.edges:
            before.setdefault(edge.target, []).append(edge.source)
        seen: set[str] = set()
        frontier = list(ops)
        while frontier:
            for source in before.get(frontier.pop(), []):
                if source not in seen:
                    seen.add(source)
                    frontier.append(source)
        return seen - ops

    def grow(self, branch: Branch, patience: int | None = None) -> float:
        """Split where it pays and return the cost of the best partition of the branch, which ``leaves`` then lists.

        A branch that is not mappable is always split. Otherwise a split that does not improve the throughput at once is
        followed as far as ``patience`` allows, since the next one may.
        """
        price = self.price
        patience = self.patience if patience is None else patience
        cost = branch.cost(price)
        # Two parts cost two whole rows of copies at the least.
        if cost <= 2 * price.of_copies(price.columns) or len(branch.ops) < 2:
            return cost
        if branch.children is None:
            branch.children = self._children(branch)
        if branch.children is None:
            return cost
        first, second = branch.children
        better = first.cost(price) + second.cost(price) < cost
        if not better and patience == 0 and cost < math.inf:
            return cost
        left = patience if better or cost == math.inf else patience - 1
        return min(cost, self.grow(first, left) + self.grow(second, left))

    def leaves(self, branch: Branch, patience: int | None = None) -> list[Branch]:
        """Return the parts of the best partition in the order they run."""
        price = self.price
        patience = self.patience if patience is None else patience
        if branch.children is None:
            return [branch]
        cost = branch.cost(price)
        first, second = branch.children
        better = first.cost(price) + second.cost(price) < cost
        left = patience if better or cost == math.inf else patience - 1
        if left < 0:
            return [branch]
        below = [*self.leaves(first, left), *self.leaves(second, left)]
        # Sums of a few fractions: a difference of the last digit is none.
        return below if sum(leaf.cost(price) for leaf in below) < cost - 1e-9 else [branch]

    def _children(self, branch: Branch) -> tuple[Branch, Branch] | None:
        """Return the two branches that a branch is cut into; None where it cannot be cut."""
        began = time.process_time()
        cut = self._cut(branch.part.dfg)
        self.spent.cut += time.process_time() - began
        if cut is None:
            return None
        sides = [frozenset(name for name, side in cut.assignment.items() if side == k) for k in (0, 1)]
        return self.branch(sides[0]), self.branch(sides[1])

    def _cut(self, dfg: Dfg) -> Bisection | None:
        """Of the bisections found, the one whose parts cost least by counting; then the fewest loads and stores.

        Kernighan-Lin goes by the published rule instead: the most balanced one.
        """
        try:
            if self.cuts.method == "kl":
                return bisect(dfg, self.cuts)
            cuts = [cut for share in TOLERANCES for cut in bisections(dfg, replace(self.cuts, tolerance=share))]
        except DfgError:
            return None
        costs = CutCosts(dfg=dfg, arch=self.arch, price=self.price.of_copies)
        return min(cuts, key=lambda cut: (costs.of(cut.assignment), cut.transfers, abs(cut.sizes[0] - cut.sizes[1])))
