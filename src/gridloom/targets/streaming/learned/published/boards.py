"""A batch of boards: one graph on one streaming engine, placed many times at once.

This is the core of the environments, the policies and the mapper ``ppo``; it needs neither torch nor gymnasium.

The state is a :class:`.kernel.Boards` of flat arrays whose first axis is the board. All boards of a batch have the same
graph, array, II and rules, and differ in their actions (and, with ``order="random"``, in the order of their nodes). A
board that is over stays as it is while the others go on, so a batch takes as many steps as its longest board.

What complete boards of the published environment lack at level strict: links and delay registers, counted.

The environment knows neither; a board is scheduled and its links are taken in one round, without negotiation. Nor does
it know of instruction RAMs: a board with more ops on a tile than fit there has no price, since annealing keeps that
rule and does not mend it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from gridloom.errors import OptionError
from gridloom.search.arrays import Int32s
from gridloom.search.settings import check_settings
from gridloom.targets.streaming.learned.published import kernel
from gridloom.targets.streaming.learned.published.kernel import COMPLETE
from gridloom.targets.streaming.learned.slots.play_kernel import CLASH
from gridloom.targets.streaming.mappers.mapping import realise
from gridloom.targets.streaming.mappers.problem import SpokesProblem
from gridloom.targets.streaming.mappers.search import longest_path

Reward = Literal["makespan", "latency", "bound"]
Order = Literal["topological", "reverse", "random"]
Ints = NDArray[np.int32]
Flags = NDArray[np.bool_]

_REWARDS: Final = {"makespan": kernel.MAKESPAN, "latency": kernel.LATENCY, "bound": kernel.BOUND}

#: A board with illegal actions ends after this many steps per node.
_PATIENCE = 4


@dataclass(frozen=True, kw_only=True)
class BoardOptions:
    """The rules of an episode: II, reward, penalty, order of the nodes, and goal.

    OptionError for an II below 1 and for words that are none of the choices. Whether the array has so many spokes is
    checked when a batch is made.
    """

    #: How many spokes are in use: the II that is placed for.
    ii: int = 6
    #: ``makespan``: minus the growth of the last result's cycle, in sum minus the cycles; ``latency``: minus the time
    #: of a result after those it waits for; ``bound``: minus the growth of the longest path, in sum minus the cycles
    #: above it.
    reward: Reward = "makespan"
    #: Subtracted when a node has no legal slot, or for an illegal action.
    penalty: float = 100.0
    #: The order in which nodes are placed.
    order: Order = "topological"
    #: The weights of cycles and of tiles in use.
    cycles_weight: float = 1.0
    tiles_weight: float = 0.0

    def __post_init__(self) -> None:
        words = {"reward": tuple(_REWARDS), "order": get_args(Order)}
        check_settings(self, at_least={"ii": 1}, one_of=words)

    @property
    def goal(self) -> tuple[float, float, float]:
        """The goal as a policy sees it: weights of cycles and tiles, and the II."""
        return self.cycles_weight, self.tiles_weight, self.ii / 8.0


class BoardBatch:
    """A number of boards of one problem, on which each step places one node per board.

    ``placed`` (node -> slot) is a partial placement that all boards begin with. OptionError for more spokes than the
    array has, and for a graph without a node to place.

    ``tail`` and ``floor`` are bounds that do not depend on a placement: cycles from a node's issue to the end, and the
    longest path of the graph. ``boards`` is changed in place by every step; whoever keeps an observation has to copy
    it. The same seed gives the same orders and the same random actions.
    """

    def __init__(
        self,
        problem: SpokesProblem,
        count: int,
        options: BoardOptions,
        *,
        placed: dict[int, int] | None = None,
        seed: int = 0,
    ) -> None:
        if options.ii > problem.spokes:
            raise OptionError(f"ii: expected at most the array's {problem.spokes} spokes, found {options.ii}")
        if problem.size == 0:
            raise OptionError(f"graph {problem.dfg.name!r} has no node that needs a slot")
        self.problem = problem
        self.options = options
        self.count = count
        self.placed = placed or {}
        self.rng = np.random.default_rng(seed)
        self.tail = tails(problem)
        self.floor = longest_path(problem)
        tables = problem.tables
        self.rules = kernel.BoardRules(
            ii=options.ii,
            reward=_REWARDS[options.reward],
            penalty=float(options.penalty),
            cycles=float(options.cycles_weight),
            tiles=float(options.tiles_weight),
            forward=options.order == "topological" and not self.placed,
            carried=bool((tables.pred_distance > 0).any()),
        )
        self.boards = self._boards()
        self.goal = np.tile(np.array(options.goal, dtype=np.float32), (count, 1))
        self.reset()

    def _boards(self) -> kernel.Boards:
        """The arrays of the state, all zero."""
        count, size, slots = self.count, self.problem.size, self.problem.tiles * self.options.ii
        todo = size - len(self.placed)

        def ints(*shape: int) -> Ints:
            return np.zeros((count, *shape), dtype=np.int32)

        return kernel.Boards(
            tile=ints(size),
            spoke=ints(size),
            issue=ints(size),
            ready=ints(size),
            slots=ints(slots),
            used=ints(self.problem.tiles),
            load=ints(self.problem.tiles),
            cycles=ints(),
            bound=ints(),
            order=ints(todo),
            position=ints(),
            steps=ints(),
            over=ints(),
            node=np.zeros(count, dtype=np.int64),
            vacant=np.zeros((count, slots), dtype=np.bool_),
            mask=np.zeros((count, slots), dtype=np.bool_),
            reward=np.zeros(count, dtype=np.float32),
        )

    @property
    def slots(self) -> int:
        """How many slots there are: action tile * II + spoke stands for one."""
        return self.problem.tiles * self.options.ii

    def reset(self, which: Flags | None = None) -> None:
        """Begin again on all boards, or on those that ``which`` marks."""
        which = np.ones(self.count, dtype=np.bool_) if which is None else which
        todo = np.array([n for n in range(self.problem.size) if n not in self.placed], dtype=np.int32)
        if self.options.order == "reverse":
            todo = todo[::-1].copy()
        if self.options.order == "random":
            for b in np.flatnonzero(which):
                self.boards.order[b] = self.rng.permutation(todo)
        else:
            self.boards.order[which] = todo
        nodes = np.array(list(self.placed), dtype=np.int32)
        slots = np.array(list(self.placed.values()), dtype=np.int32)
        kernel.reset(self.problem.tables, self.tail, self.rules, self.boards, which, nodes, slots, self.floor)

    def step(self, action: Ints) -> None:
        """Take one action on every board that is not over; ``boards`` holds the results.

        An action of a board that is over is ignored. An illegal action costs the penalty; after 4 * nodes steps a board
        is over whatever it has placed.
        """
        limit = _PATIENCE * self.problem.size
        kernel.step(self.problem.tables, self.tail, self.rules, self.boards, action, limit)

    def random_actions(self) -> Ints:
        """Return a uniformly random legal action for each board."""
        action = np.zeros(self.count, dtype=np.int32)
        kernel.uniform(self.boards, self.rng.random(self.count, dtype=np.float32), action)
        return action

    def shortlist(self, most: int) -> tuple[Ints, NDArray[np.float32], Flags]:
        """Return the most promising actions of each board, their features, and which entries are actions at all.

        The arrays are [board, candidate] (features: [board, candidate, feature]), the most promising first; a board
        with fewer legal slots than ``most`` has False behind them. See ``kernel.shortlist`` for the order and the
        features.
        """
        actions = np.zeros((self.count, most), dtype=np.int32)
        features = np.zeros((self.count, most, kernel.FEATURES), dtype=np.float32)
        legal = np.zeros((self.count, most), dtype=np.bool_)
        kernel.shortlist(self.problem.tables, self.tail, self.rules, self.boards, actions, features, legal)
        return actions, features, legal

    @property
    def running(self) -> Flags:
        """Boards that are not over."""
        flags: Flags = self.boards.over == kernel.RUNNING
        return flags

    def best(self) -> int | None:
        """Return the complete board with the fewest cycles; None: no board is complete."""
        cycles = np.where(self.boards.over == kernel.COMPLETE, self.boards.cycles, 1 << 30)
        k = int(cycles.argmin())
        return k if self.boards.over[k] == kernel.COMPLETE else None


def tails(problem: SpokesProblem) -> Ints:
    """Return the cycles from each node's issue to the last result that depends on it, without links between tiles.

    One pass against the topological order; loop-carried edges do not count, since they constrain another iteration.
    """
    tables = problem.tables
    tail = np.full(problem.size, problem.latency, dtype=np.int32)
    for n in reversed(range(problem.size)):
        row = slice(int(tables.succ_at[n]), int(tables.succ_at[n + 1]))
        later = (tables.succ_lag[row] + tail[tables.succ[row]])[tables.succ_distance[row] == 0]
        tail[n] = max(problem.latency, int(later.max(initial=0)))
    return tail


def observation(batch: BoardBatch) -> dict[str, Any]:
    """Return the published state of every board (slots, the node to be placed, results) and the goal.

    The arrays are views of the state, which the next step overwrites.
    """
    boards = batch.boards
    return {"slots": boards.slots, "node": boards.node, "ready": boards.ready, "goal": batch.goal}


#: The price of a board that is not complete.
INCOMPLETE = 1e9


def prices(batch: BoardBatch) -> NDArray[np.float32]:
    """Return for each board its cycles and, weighted, what it lacks; ``INCOMPLETE`` for one that is no placement."""
    found = np.full(batch.count, INCOMPLETE, dtype=np.float32)
    boards = batch.boards
    for b in np.flatnonzero(boards.over == COMPLETE):
        if not _instructions_fit(batch.problem, boards.tile[b]):
            continue
        placement = realise(batch.problem, batch.options.ii, boards.tile[b], boards.spoke[b], lambda: True)
        if placement is not None:
            found[b] = placement.cycles + CLASH * placement.violations
    return found


def _instructions_fit(problem: SpokesProblem, tile: Int32s) -> bool:
    """True when no tile has more different ops than entries of its instruction RAM."""
    limit = problem.tables.device.instructions
    if limit < 0:
        return True
    pairs = np.unique(np.stack([tile, problem.tables.opcode]), axis=1)
    return int(np.bincount(pairs[0]).max(initial=0)) <= limit
