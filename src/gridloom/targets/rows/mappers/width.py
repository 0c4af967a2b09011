"""``width``: the annealing engine for arrays of combinational rows (vpcma); the fewest columns first.

After negotiated congestion (McMurchie and Ebeling 1995) inside the annealing of a placement, as in DRESC (Mei et al.
2002); what it competes with is GenMap (Kojima, Doan and Amano 2020). The idea:

1. widths are tried from the bound max(ops / rows, loads, stores) upwards, by keeping to the first columns of the array;
2. a move puts an op or a port elsewhere, rips up what that touches and routes it again at once, so that the cost of a
   state is the real one: resources in use, and a rising price for those that several signals want;
3. constants have no fixed place: a constant takes a register in each row from which its readers are best reached;
4. time is not searched for: rows have a stage each (see :mod:`gridloom.targets.rows.mappers.problem`);
5. once a width is found its wires are made shorter, and narrower ones are tried again with more moves.

Cost: a start makes 100 * inner * n^(4/3) moves of about 7 us each (60 nodes: 1 s). Limits: an op has one instance;
a width that is not found is not proved impossible.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields
from functools import partial
from typing import Literal

import numpy as np

from gridloom.archs.model import Arch
from gridloom.dfg.model import Dfg
from gridloom.mapping.model import Failure, Mapping
from gridloom.search.budget import Budget, SearchClock
from gridloom.search.choice import check_suits
from gridloom.search.placements import GivenPlacements, given_tiles
from gridloom.search.settings import check_settings, origin
from gridloom.targets.rows.mappers.mapping import RowLayout, to_failure, to_mapping
from gridloom.targets.rows.mappers.problem import RowGraph, check_rows, flatten
from gridloom.targets.rows.mappers.screening import columns_by_rows, find_misplaced_pin, screen, width_bound
from gridloom.targets.rows.mappers.search import (
    BEFORE_PUSH,
    COOL_TURNS,
    EAGER,
    FIT,
    HOPEFUL,
    LAST_NARROW,
    LONG_FIT,
    LONG_NARROW,
    NARROW,
    NEVER,
    PUSH,
    PUSH_TURNS,
    TEMPERATURES,
    Heat,
    Starts,
    narrowest,
    seed_of,
)

#: Starts of one width that run in parallel and exchange nothing. The number is fixed, so that a result does not depend
#: on the number of workers.
BATCH = 4


@dataclass(frozen=True, kw_only=True)
class WidthConfig(GivenPlacements):
    """Settings of ``width``; temperatures and prices are those of a start (``search.Heat``)."""

    #: ``rounds`` searches as long as the budget lasts. ``ladder`` makes a fixed number of starts and gives up early
    #: where a graph is far from fitting; the mappability data set is labelled by it. ``fit`` makes the short starts of
    #: the ladder on exactly ``columns``, ``push`` longer ones, ``eager`` some short ones and then those of ``push``.
    search: Literal["rounds", "ladder", "fit", "push", "eager"] = "rounds"
    #: Registers between rows: ``none``, ``all``, or ``auto``, those that the routes found without registers allow.
    pipeline: Literal["none", "all", "auto"] = "none"
    #: Columns that may be used; None: all of the array.
    columns: int | None = None
    #: Rounds over the widths without a mapping so far, when the budget has no limit.
    rounds: int = 3
    #: Moves per temperature in the first round, as a multiple of nodes^(4/3); doubles from round to round.
    inner: float = 4.0
    #: How often ``inner`` doubles at most.
    doublings: int = 5
    #: First temperature; one resource of wire costs 1.
    hot: float = 3.0
    #: Last temperature.
    cold: float = 0.8
    #: First price of a conflict.
    price_first: float = 3.0
    #: Last price of a conflict.
    price_last: float = 10.0
    #: What a conflict adds to the price of its resource at each temperature.
    history: float = 0.3
    #: Whether wires are made shorter once a width is found.
    polish: bool = True

    def __post_init__(self) -> None:
        check_settings(
            self,
            one_of={"search": ("rounds", "ladder", "fit", "push", "eager"), "pipeline": ("none", "all", "auto")},
            at_least={"columns": 1, "rounds": 1, "doublings": 0, "history": 0},
            positive=("inner", "hot", "cold", "price_first", "price_last"),
        )


def width(dfg: Dfg, arch: Arch, config: WidthConfig, budget: Budget) -> Mapping | Failure:
    """A mapping of a graph on as few columns of an array of combinational rows as can be found, or why there is none.

    Runs until the budget is used up, ``config.rounds`` rounds are made (budget without limit) or the width is at its
    bound. OptionError for another kind of array, or a placement that names what is not there.
    """
    check_suits("width", dfg, arch)
    clock = budget.start()
    check_rows(arch)
    graph = flatten(dfg, arch)
    columns = arch.cols if config.columns is None else min(config.columns, arch.cols)
    number = {k: n for n, k in enumerate(graph.nodes.tolist())}
    pinned, first = ({number[k]: tile for k, tile in tiles.items()} for tiles in given_tiles(dfg, arch, config))
    reason = screen(graph, arch, columns) or find_misplaced_pin(graph, arch, pinned | first, columns)
    if reason is not None:
        return reason
    search = _Widths(graph, arch, config, columns, pinned, first)
    search.warm_up()
    clock.prepared()
    best = search.best(clock) if config.search == "rounds" else search.ladder(clock)
    clock.report("done", _in_words(best))
    if best is None or not best.legal:
        return to_failure(graph, best, columns)
    record = origin("width", config, clock, optimal=best.array.width == search.bound, bound=search.bound)
    return to_mapping(graph, best, config.pipeline, record)


class _Widths:
    """Rounds over the widths, each with more moves than the one before.

    ``bound`` is a width below which nothing is tried: by counting, by the rows that the graph needs, and by the columns
    of pinned nodes. Starts are numbered over the whole search, and the number and the user's seed make the seed of a
    start.
    """

    def __init__(
        self,
        graph: RowGraph,
        arch: Arch,
        config: WidthConfig,
        columns: int,
        pinned: dict[int, int],
        first: dict[int, int],
    ) -> None:
        self.graph = graph
        self.arch = arch
        self.config = config
        self.columns = columns
        self.pinned = pinned
        leftmost = 1 + max((arch.tiles[tile].col for tile in pinned.values()), default=0)
        self.bound = max(width_bound(graph, arch), columns_by_rows(graph, arch) or 1, leftmost)
        heat = Heat(**{entry.name: getattr(config, entry.name) for entry in fields(Heat)})
        self.starts = Starts(graph, arch, heat=heat, pinned=pinned, first=first, registers=config.pipeline == "all")
        self.started = 0

    def warm_up(self) -> None:
        """Compile the kernels by a start that is stopped at once, so that the clock only sees the search."""
        self.starts.start(self.bound, 0, 1, None, np.ones(1, dtype=np.uint8), np.zeros(1, dtype=np.uint8))

    def best(self, clock: SearchClock) -> RowLayout | None:
        """The narrowest legal layout, or where there is none the one nearest to legal; None: nothing was tried."""
        found: RowLayout | None = None
        turn = 0
        while True:
            found = self._round(clock, turn, found)
            turn += 1
            settled = found is not None and found.legal and found.array.width == self.bound
            if settled or clock.over() or (clock.budget.unlimited and turn >= self.config.rounds):
                return found

    def ladder(self, clock: SearchClock) -> RowLayout | None:
        """The layout that the configured ladder ends with, polished where it is legal; None: stopped at once."""
        label = self.config.search == "ladder"
        self.starts.most = NEVER if label else HOPEFUL
        fit = {"ladder": LONG_FIT, "fit": FIT, "push": PUSH, "eager": EAGER}[self.config.search]
        climb = partial(
            narrowest,
            self.starts,
            self.columns,
            fit=fit,
            narrow=LONG_NARROW if label else NARROW,
            last=LAST_NARROW if label else (),
            least=self.bound if label else self.columns,
            seed=clock.budget.seed,
            first=len(BEFORE_PUSH) if self.config.search == "push" else 0,
            long_turns=COOL_TURNS if label else PUSH_TURNS,
            stop=clock.stop,
        )
        found = clock.run([climb])[0]
        clock.moves += found.moves
        best = found.layout
        if best is not None and best.legal and self.config.polish and not clock.over():
            best = self._polished(clock, best)
        return best

    def _round(self, clock: SearchClock, turn: int, found: RowLayout | None) -> RowLayout | None:
        """Try the widths below the best so far, narrowest first, until one has a legal layout; returns the best."""
        for columns in range(self.bound, found.array.width if found and found.legal else self.columns + 1):
            layout = self._batch(clock, columns, turn)
            if layout is not None and (layout.legal or found is None or not found.legal):
                found = _better(found, layout)
            clock.report(f"width {columns}, round {turn + 1}", _in_words(found))
            if layout is not None and layout.legal:
                return self._polished(clock, layout) if self.config.polish and not clock.over() else layout
            if clock.over():
                break
        return found

    def _batch(self, clock: SearchClock, columns: int, turn: int) -> RowLayout | None:
        """The first start of a batch that is legal, or else the best; a legal one ends those that come after it.

        A later start may have been ended early or not, depending on timing; it is never looked at behind a legal one,
        so the result does not depend on the number of workers.
        """
        moves = self._moves(clock.budget, turn)
        halts = np.zeros(BATCH, dtype=np.uint8)
        self.starts.array(columns)

        def job(k: int, seed: int) -> RowLayout | None:
            layout = self.starts.start(columns, seed, moves, None, clock.stop, halts[k : k + 1])
            if layout is not None and layout.legal:
                halts[k + 1 :] = 1
            return layout

        layouts = clock.run([partial(job, k, seed_of(clock.budget.seed, self.started + k)) for k in range(BATCH)])
        self.started += BATCH
        best: RowLayout | None = None
        for layout in layouts:
            if layout is None:
                continue
            clock.moves += layout.moves
            best = _better(best, layout)
            if layout.legal:
                break
        return best

    def _moves(self, budget: Budget, turn: int) -> int:
        """Moves per temperature in a round: they double from round to round, and a batch stays within the effort."""
        inner = self.config.inner * 2 ** min(turn, self.config.doublings)
        moves = int(inner * max(2, len(self.graph.nodes)) ** (4 / 3))
        if budget.effort is not None:
            moves = min(moves, budget.effort // (BATCH * TEMPERATURES))
        return max(moves, 16)

    def _polished(self, clock: SearchClock, found: RowLayout) -> RowLayout:
        """The layout with shorter wires, from two cool starts at the same width; the given one where both fail."""
        moves = self._moves(clock.budget, 0)
        jobs: list[Callable[[], RowLayout | None]] = [
            partial(
                self.starts.start,
                found.array.width,
                seed_of(clock.budget.seed, self.started + k),
                moves,
                found,
                clock.stop,
                np.zeros(1, dtype=np.uint8),
            )
            for k in range(2)
        ]
        for layout in clock.run(jobs):
            if layout is not None:
                clock.moves += layout.moves
                if layout.legal and layout.wire < found.wire:
                    found = layout
        return found


def _better(best: RowLayout | None, layout: RowLayout) -> RowLayout:
    """The one with fewer conflicts; of legal ones the narrower; of equal ones the first."""
    if best is None:
        return layout
    if best.legal and layout.legal:
        return layout if layout.array.width < best.array.width else best
    return layout if layout.conflicts < best.conflicts else best


def _in_words(layout: RowLayout | None) -> str:
    """The layout for a progress report."""
    if layout is None:
        return ""
    if not layout.legal:
        return f"not legal yet: {layout.conflicts} conflicts at width {layout.array.width}"
    return f"width {layout.array.width}, wires {layout.wire:g}"
