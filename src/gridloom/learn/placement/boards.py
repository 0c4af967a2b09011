"""A batch of boards: one graph on one streaming engine, placed many times at once.

The core of the environments, the policies and the ``ppo`` mapper; no torch, no gymnasium.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final, Literal

import numpy as np
from numpy.typing import NDArray

from gridloom.errors import OptionError
from gridloom.learn.placement import kernel
from gridloom.mappers.spokes.problem import SpokesProblem
from gridloom.mappers.spokes.search import longest_path

Reward = Literal["makespan", "latency", "bound"]
Order = Literal["topological", "reverse", "random"]
Ints = NDArray[np.int32]
Flags = NDArray[np.bool_]

_REWARDS: Final = {"makespan": kernel.MAKESPAN, "latency": kernel.LATENCY, "bound": kernel.BOUND}

#: Steps, as a multiple of the nodes, after which a board with illegal actions ends.
_PATIENCE = 4


@dataclass(frozen=True, kw_only=True)
class BoardOptions:
    """What an episode is."""

    #: Spokes in use: the II that is placed for.
    ii: int = 6
    #: ``makespan``: minus the growth of the last result, sums to minus the cycles; ``latency``: minus a result's time
    #: after those it waits for; ``bound``: minus the growth of the longest path, sums to minus the cycles above it.
    reward: Reward = "makespan"
    #: Taken off when a node has no legal slot, or for an illegal action.
    penalty: float = 100.0
    #: The order in which nodes are placed.
    order: Order = "topological"
    #: What a goal weighs: cycles, and tiles in use.
    cycles_weight: float = 1.0
    tiles_weight: float = 0.0

    def __post_init__(self) -> None:
        if self.ii < 1:
            raise OptionError(f"ii: expected at least 1, found {self.ii}")
        if self.reward not in _REWARDS:
            raise OptionError(f"reward: expected {', '.join(_REWARDS)}, found {self.reward!r}")
        if self.order not in ("topological", "reverse", "random"):
            raise OptionError(f"order: expected topological, reverse or random, found {self.order!r}")

    @property
    def goal(self) -> tuple[float, float, float]:
        """The goal as a policy sees it: weights of cycles and tiles, and the II."""
        return self.cycles_weight, self.tiles_weight, self.ii / 8.0


class BoardBatch:
    """``count`` boards of one problem. ``placed`` is a partial placement that all of them begin with."""

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
        self.rules = kernel.Rules(
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
        """Actions: tile * II + spoke."""
        return self.problem.tiles * self.options.ii

    def reset(self, which: Flags | None = None) -> None:
        """Begin again on all boards, or on some."""
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
        """One action on every board that is not over; see ``boards`` for what became of it."""
        limit = _PATIENCE * self.problem.size
        kernel.step(self.problem.tables, self.tail, self.rules, self.boards, action, limit)

    def random_actions(self) -> Ints:
        """Uniformly random legal actions."""
        action = np.zeros(self.count, dtype=np.int32)
        kernel.uniform(self.boards, self.rng.random(self.count, dtype=np.float32), action)
        return action

    def shortlist(self, most: int) -> tuple[Ints, NDArray[np.float32], Flags]:
        """The most promising actions of each board, their features, and which of them are actions at all."""
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
        """The complete board with the fewest cycles; None: no board is complete."""
        cycles = np.where(self.boards.over == kernel.COMPLETE, self.boards.cycles, 1 << 30)
        k = int(cycles.argmin())
        return k if self.boards.over[k] == kernel.COMPLETE else None


def tails(problem: SpokesProblem) -> Ints:
    """Cycles from each node's issue to the last result that follows from it, without ways between tiles."""
    tables = problem.tables
    found = np.full(problem.size, problem.latency, dtype=np.int32)
    for n in reversed(range(problem.size)):
        row = slice(int(tables.succ_at[n]), int(tables.succ_at[n + 1]))
        later = (tables.succ_lag[row] + found[tables.succ[row]])[tables.succ_distance[row] == 0]
        found[n] = max(problem.latency, int(later.max(initial=0)))
    return found


def observation(batch: BoardBatch) -> dict[str, Any]:
    """What the published state holds, for every board: slots, the node to be placed, results; and the goal."""
    boards = batch.boards
    return {"slots": boards.slots, "node": boards.node, "ready": boards.ready, "goal": batch.goal}
