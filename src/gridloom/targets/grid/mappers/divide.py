"""``divide``: placement by divide and conquer for the static grids; routes, FIFOs and cycles as in ``anneal``.

The classical min-cut placement (Breuer 1977, with the terminals of Dunlop and Kernighan 1985). The idea:

1. the grid is cut in two across its longer side, and the graph into two parts that fit, with few edges between them;
2. an edge that leaves a part draws its node towards the half that is nearer to the other end;
3. both halves are cut again, until a part is one tile;
4. what a cut could not know (op classes, neighbours across a cut) is mended by a short cool annealing;
5. starts differ in how parts are split at first; the best one once routed and balanced is the result.

Cost: O(nodes^2) for the cuts of a start, then a short annealing. Limits: cuts count edges, not hops or links, and an op
class that few tiles have is only seen when the placement is mended; ``anneal`` finds shorter wires.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

import numpy as np

from gridloom.archs.model import Arch
from gridloom.dfg.model import Dfg
from gridloom.mapping.model import Failure, Mapping
from gridloom.search.arrays import Int32s
from gridloom.search.budget import Budget
from gridloom.search.choice import check_suits
from gridloom.search.settings import check_settings
from gridloom.targets.grid.mappers.batches import ObjectiveGoal, best_of, in_words, provenance, start_seed
from gridloom.targets.grid.mappers.mapping import PlacementCandidate, to_failure, to_mapping
from gridloom.targets.grid.mappers.problem import build_problem
from gridloom.targets.grid.mappers.screening import match, screen
from gridloom.targets.grid.mappers.search import Flag, Objective, StaticSearch


@dataclass(frozen=True, kw_only=True)
class DivideConfig:
    """Settings of ``divide``.

    With ``mend=0`` a start is what the cuts alone give, routed and balanced; otherwise the cuts are where an annealing
    begins.
    """

    #: What is made small first: FIFO depths, links of routes beyond the first, or cycles to the last result.
    objective: Objective = "buffers"
    #: The number of starts when the budget has no limit.
    starts: int = 8
    #: The largest number of passes that improve a cut.
    passes: int = 8
    #: Moves per temperature when the placement is mended, as a multiple of the nodes; 0: it stays as it is.
    mend: int = 40
    #: Moves for each node together with its routes where signals compete for links.
    joint: int = 300
    #: How many links longer than the shortest way a route may be.
    detour: int = 4

    def __post_init__(self) -> None:
        check_settings(
            self,
            one_of={"objective": ("buffers", "wirelength", "latency")},
            at_least={"starts": 1, "passes": 0, "mend": 0, "joint": 0, "detour": 0},
        )


def divide(dfg: Dfg, arch: Arch, config: DivideConfig, budget: Budget) -> Mapping | Failure:
    """A mapping of a graph on a static grid (mesh, onehop, hex, chess) by recursive bisection, or why there is none.

    Runs until the budget is used up, ``config.starts`` starts are made (budget without limit) or the result is proved
    to be the best. OptionError for another kind of array.
    """
    check_suits("divide", dfg, arch)
    clock = budget.start()
    problem = build_problem(dfg, arch)
    reason = screen(problem)
    if reason is not None:
        return reason
    cuts = _Cuts(StaticSearch(problem, config, {}), config)
    cuts.search.warm_up()
    cuts.warm_up()
    clock.prepared()
    goal = ObjectiveGoal(problem, config.objective)

    def job(number: int) -> partial[PlacementCandidate]:
        return partial(cuts.start, start_seed(budget.seed, number), clock.stop)

    best = best_of(job, clock, starts=config.starts, goal=goal)
    clock.report("done", in_words(best))
    if not best.legal:
        return to_failure(problem, best, False)
    return to_mapping(problem, best, provenance("divide", config, clock, best, goal))


@dataclass(frozen=True, slots=True)
class _Region:
    """A rectangle of tiles and the nodes that go there, never more nodes than tiles.

    ``nodes`` are problem nodes. The regions of one level are disjoint and cover the grid, but for regions without
    nodes, which are not cut any further.
    """

    top: int
    left: int
    rows: int
    cols: int
    nodes: Int32s

    @property
    def centre(self) -> tuple[float, float]:
        """Row and column of its middle."""
        return self.top + (self.rows - 1) / 2, self.left + (self.cols - 1) / 2

    def halves(self) -> tuple[tuple[int, int, int, int], tuple[int, int, int, int]]:
        """The rectangle cut across its longer side."""
        if self.rows >= self.cols:
            half = self.rows // 2
            first = (self.top, self.left, half, self.cols)
            return first, (self.top + half, self.left, self.rows - half, self.cols)
        half = self.cols // 2
        return (self.top, self.left, self.rows, half), (self.top, self.left + half, self.rows, self.cols - half)


class _Cuts:
    """Recursive bisection of one problem.

    ``starts`` and ``neighbour`` are the graph in CSR form. Levels are cut breadth first, so that the terminals of a cut
    see all other nodes at the centres of regions of about the same size.
    """

    def __init__(self, search: StaticSearch, config: DivideConfig) -> None:
        self.search = search
        self.config = config
        self.starts, _ = search.problem.incident
        self.neighbour = search.problem.neighbour

    def start(self, seed: int, stop: Flag) -> PlacementCandidate:
        """Cut, mend, route and balance."""
        rng = np.random.default_rng(seed)
        position = self.place(rng, stop)
        if self.config.mend == 0:
            return self.search.realise(position, seed, self.search.problem.size, stop)
        moves = max(16, self.config.mend * self.search.problem.size)
        return self.search.start(position, seed=seed, heat=0.05, moves_each=moves, stop=stop)

    def warm_up(self) -> None:
        """Load or compile the kernel by cutting a few nodes."""
        p = self.search.problem
        few = np.arange(min(2, p.size), dtype=np.int32)
        self._cut(
            _Region(0, 0, p.arch.rows, p.arch.cols, few), np.zeros(p.size), np.zeros(p.size), np.random.default_rng(0)
        )

    def place(self, rng: np.random.Generator, stop: Flag) -> Int32s:
        """A tile for each node, by cuts; nodes on tiles that cannot run them are moved to free ones that can.

        A start that is stopped between two cuts scatters its nodes, since its result is not wanted any more.
        """
        p = self.search.problem
        row, col = np.full(p.size, p.arch.rows / 2), np.full(p.size, p.arch.cols / 2)
        wanted = np.full(p.size, -1, dtype=np.int32)
        level = [_Region(0, 0, p.arch.rows, p.arch.cols, np.arange(p.size, dtype=np.int32))]
        while level:
            parts = []
            for region in level:
                if stop[0]:
                    return self.search.scattered(rng, p.allowed)
                parts += self._cut(region, row, col, rng)
            for part in parts:
                row[part.nodes], col[part.nodes] = part.centre
                if part.rows == part.cols == 1:
                    wanted[part.nodes] = self.search.grid.tile[part.top, part.left]
            level = [part for part in parts if part.rows * part.cols > 1 and len(part.nodes)]
        return self._allowed(wanted, rng)

    def _cut(self, region: _Region, row: np.ndarray, col: np.ndarray, rng: np.random.Generator) -> list[_Region]:
        """Cut a region and its nodes into two halves.

        Nodes are first dealt out by the pull of their terminals, in proportion to the tiles of the halves, and then
        improved by moving nodes one at a time (:mod:`gridloom.targets.grid.mappers.place.bisect_kernel`).
        """
        from gridloom.targets.grid.mappers.place.bisect_kernel import BisectionPart, bisect

        if region.rows * region.cols == 1:
            return [region]
        boxes = region.halves()
        room = np.array([box[2] * box[3] for box in boxes], dtype=np.int32)
        size = len(region.nodes)
        share = max(size - int(room[1]), min(int(room[0]), round(size * room[0] / room.sum())))
        side = np.ones(size, dtype=np.bool_)
        along = (row if region.rows >= region.cols else col)[self.neighbour]
        local = np.full(self.search.problem.size, -1, dtype=np.int32)
        local[region.nodes] = np.arange(size, dtype=np.int32)
        pull = self._pull(region, boxes, along, local)
        # Those drawn to the first half go there; among equals chance decides, which is what starts differ in.
        side[np.argsort(pull + rng.normal(0.0, 0.5, size), kind="stable")[:share]] = False
        part = BisectionPart(region.nodes, local, self.starts, self.neighbour, pull)
        bisect(side, part, room, self.config.passes)
        return [_Region(*box, region.nodes[side == second]) for box, second in zip(boxes, (False, True))]

    def _pull(
        self, region: _Region, boxes: tuple[tuple[int, int, int, int], ...], along: np.ndarray, local: Int32s
    ) -> np.ndarray:
        """For each node how much its partners outside the region draw it to the second half, in edges.

        An edge counts 1 where its other end is beyond the second half's centre, -1 beyond the first one's, and a share
        in between (the terminal propagation of Dunlop and Kernighan).
        """
        tall = region.rows >= region.cols
        centres = [(box[0] + (box[2] - 1) / 2) if tall else (box[1] + (box[3] - 1) / 2) for box in boxes]
        apart = max(1.0, abs(centres[1] - centres[0]))
        nearer = np.clip((np.abs(along - centres[0]) - np.abs(along - centres[1])) / apart, -1.0, 1.0)
        nearer[local[self.neighbour] >= 0] = 0.0
        total = np.concatenate([[0.0], np.cumsum(nearer)])
        return np.asarray(total[self.starts[region.nodes + 1]] - total[self.starts[region.nodes]])

    def _allowed(self, wanted: Int32s, rng: np.random.Generator) -> Int32s:
        """The placement with the nodes on tiles that cannot run them moved to free tiles that can.

        Which free tiles these are is left to chance. Where the other nodes leave no room for all of them, the whole
        placement is a random one.
        """
        p = self.search.problem
        kept = {node: int(tile) for node, tile in enumerate(wanted.tolist()) if p.may_sit(node, tile)}
        misplaced = [node for node in range(p.size) if node not in kept]
        if not misplaced:
            return wanted
        rows = [rng.permutation(np.flatnonzero(allowed)).astype(np.int32) for allowed in p.allowed]
        order = sorted(range(p.size), key=lambda node: len(rows[p.kind[node]]))
        position = match(p, order, rows, kept)
        # Where those that sit well leave no room for the others, the placement is given up, and mending begins afresh.
        return self.search.scattered(rng, p.allowed) if position is None else position
