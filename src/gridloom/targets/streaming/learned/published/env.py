"""Gymnasium environments: placing the nodes of a graph on a streaming engine, one by one.

An action is a slot, tile * II + spoke. An observation holds the slots (node + 1, 0: empty), the node to be placed, the
cycles of results so far and the goal (weights of cycles and of tiles in use, the II). ``action_masks`` gives the legal
slots, as the algorithms of sb3-contrib expect; without masking an illegal action costs the penalty and places nothing.

Rewards are those of :class:`.boards.BoardOptions`. An episode ends when every node has a slot (``complete``), when a
node has no legal slot, or after four times as many steps as nodes. There is no truncation. Needs gymnasium (extra
``learn``).
"""

from __future__ import annotations

from typing import Any, ClassVar

import gymnasium
import numpy as np
from gymnasium import spaces
from gymnasium.vector import AutoresetMode, VectorEnv
from gymnasium.vector.utils import batch_space
from numpy.typing import NDArray

from gridloom.archs.model import Arch
from gridloom.archs.spec import build
from gridloom.compiler.source import load_source
from gridloom.dfg.model import Dfg
from gridloom.errors import OptionError
from gridloom.targets.streaming.fuse import fuse
from gridloom.targets.streaming.learned.published.boards import BoardBatch, BoardOptions, observation
from gridloom.targets.streaming.learned.published.kernel import COMPLETE, RUNNING
from gridloom.targets.streaming.mappers.problem import SpokesProblem, build_problem
from gridloom.targets.streaming.mappers.screening import screen

Observation = dict[str, Any]
#: Node -> (tile, spoke) of the nodes that are placed from the start.
Partial = dict[str, tuple[int, int]]

#: An upper bound on the cycle of a result.
_LATEST = 1 << 16


def make_problem(graph: Dfg | str, arch: Arch | str, ii: int) -> SpokesProblem:
    """Return the placement problem of a graph (or SOURCE) on a streaming engine.

    OptionError says why the graph cannot be placed.

    Ops that the engine fuses are fused first, so the nodes of the environment may be fewer than those of the graph.
    """
    dfg = fuse(load_source(graph) if isinstance(graph, str) else graph)
    problem = build_problem(dfg, build(arch) if isinstance(arch, str) else arch)
    reason = screen(problem, ii)
    if reason is not None:
        raise OptionError(f"graph {dfg.name!r} cannot be placed: {reason}")
    return problem


def observation_space(problem: SpokesProblem, ii: int) -> spaces.Dict:
    """Return the space of the observations of one board."""
    return spaces.Dict(
        {
            "slots": spaces.Box(0, problem.size, (problem.tiles * ii,), np.int32),
            "node": spaces.Discrete(problem.size),
            "ready": spaces.Box(0, _LATEST, (problem.size,), np.int32),
            "goal": spaces.Box(0.0, 1024.0, (3,), np.float32),
        }
    )


def _slots(problem: SpokesProblem, ii: int, partial: Partial | None) -> dict[int, int]:
    """The slots of a partial placement by node number. OptionError says what is wrong with it."""
    slots: dict[int, int] = {}
    for name, (tile, spoke) in (partial or {}).items():
        if name not in problem.number:
            raise OptionError(f"graph {problem.dfg.name!r} has no node {name!r} that needs a slot", where="placed")
        if not (0 <= tile < problem.tiles and 0 <= spoke < ii):
            raise OptionError(
                f"node {name!r}: expected tile 0 to {problem.tiles - 1} and spoke 0 to {ii - 1}, found {tile}, {spoke}",
                where="placed",
            )
        if tile * ii + spoke in slots.values():
            raise OptionError(f"node {name!r}: tile {tile}, spoke {spoke} is given twice", where="placed")
        slots[problem.number[name]] = tile * ii + spoke
    if len(slots) == problem.size:
        raise OptionError("every node is placed already; leave one to place", where="placed")
    _check_rules(problem, {node: slot // ii for node, slot in slots.items()})
    return slots


def _check_rules(problem: SpokesProblem, tiles: dict[int, int]) -> None:
    """Check the published rules C1 to C3 for a partial placement. OptionError names two nodes that break one.

    C1: nodes with a common variable need one tile. C2 and C3: two starts of synchronous flows, and two readers of one
    node, need different tiles. Quadratic in the nodes given.
    """
    tables = problem.tables
    for n, tile in tiles.items():
        conflicts = tables.conflict[tables.conflict_at[n] : tables.conflict_at[n + 1]].tolist()
        for m, other in tiles.items():
            together = m != n and tables.group[n] >= 0 and tables.group[n] == tables.group[m]
            if (m in conflicts and other == tile) or (together and other != tile):
                wanted = "one tile" if together else "different tiles"
                raise OptionError(f"nodes {problem.name(n)!r} and {problem.name(m)!r} need {wanted}", where="placed")


class StreamingEnv(gymnasium.Env[Observation, int]):
    """An environment of one board.

    ``reset(options={"placed": {node: (tile, spoke)}})`` begins with a partial placement.

    ``info`` has the action mask, the cycles so far and whether the board is complete. It passes Gymnasium's checker.
    """

    metadata: ClassVar[dict[str, Any]] = {"render_modes": []}

    def __init__(self, graph: Dfg | str, arch: Arch | str, options: BoardOptions = BoardOptions()) -> None:
        self.problem = make_problem(graph, arch, options.ii)
        self.options = options
        self.observation_space = observation_space(self.problem, options.ii)
        self.action_space = spaces.Discrete(self.problem.tiles * options.ii)
        self.batch = BoardBatch(self.problem, 1, options)

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Observation, dict[str, Any]]:
        """Return the observation of an empty board, or of one with the nodes of ``options["placed"]``."""
        super().reset(seed=seed)
        placed = _slots(self.problem, self.options.ii, (options or {}).get("placed"))
        # Gymnasium's own generator is the source, so that the seed of `reset` fixes the episode.
        order_seed = int(self.np_random.integers(1 << 31))
        self.batch = BoardBatch(self.problem, 1, self.options, placed=placed, seed=order_seed)
        return self._observation(), self._info()

    def step(self, action: int) -> tuple[Observation, float, bool, bool, dict[str, Any]]:
        """Place the next node in a slot and return observation, reward, whether the board is over, False, and info."""
        self.batch.step(np.array([action], dtype=np.int32))
        over = bool(self.batch.boards.over[0] != RUNNING)
        return self._observation(), float(self.batch.boards.reward[0]), over, False, self._info()

    def action_masks(self) -> NDArray[np.bool_]:
        """Return which slots are legal for the next node."""
        masks: NDArray[np.bool_] = self.batch.boards.mask[0].copy()
        return masks

    def _observation(self) -> Observation:
        seen = observation(self.batch)
        return {"slots": seen["slots"][0].copy(), "node": seen["node"][0], "ready": seen["ready"][0].copy(),
                "goal": seen["goal"][0].copy()}  # fmt: skip

    def _info(self) -> dict[str, Any]:
        complete = bool(self.batch.boards.over[0] == COMPLETE)
        return {"action_mask": self.action_masks(), "cycles": int(self.batch.boards.cycles[0]), "complete": complete}


class StreamingVectorEnv(VectorEnv):
    """An environment of many boards of one graph; a board that ends begins again in the same compiled step.

    Same-step reset: the observation that ``step`` returns for a board that ended is already that of the new board; the
    last one is in ``info["final_obs"]``. All boards share one random stream, so only the first seed of a list counts.
    """

    metadata: ClassVar[dict[str, Any]] = {"render_modes": [], "autoreset_mode": AutoresetMode.SAME_STEP}

    def __init__(
        self, graph: Dfg | str, arch: Arch | str, num_envs: int = 64, options: BoardOptions = BoardOptions()
    ) -> None:
        self.problem = make_problem(graph, arch, options.ii)
        self.options = options
        self.num_envs = num_envs
        self.single_observation_space = observation_space(self.problem, options.ii)
        self.single_action_space = spaces.Discrete(self.problem.tiles * options.ii)
        self.observation_space = batch_space(self.single_observation_space, num_envs)
        self.action_space = batch_space(self.single_action_space, num_envs)
        self.batch = BoardBatch(self.problem, num_envs, options)

    def reset(
        self, *, seed: int | list[int | None] | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Observation, dict[str, Any]]:
        """Return the observations of empty boards, or of boards with the nodes of ``options["placed"]``.

        Without a seed the random stream goes on; the first reset without one begins a fresh stream.
        """
        first = seed[0] if isinstance(seed, list) else seed
        super().reset(seed=first)
        order_seed = int(self.np_random.integers(1 << 31)) if first is None else first
        placed = _slots(self.problem, self.options.ii, (options or {}).get("placed"))
        self.batch = BoardBatch(self.problem, self.num_envs, self.options, placed=placed, seed=order_seed)
        return self._observation(), {"action_mask": self.action_masks()}

    def step(
        self, actions: NDArray[Any]
    ) -> tuple[Observation, NDArray[Any], NDArray[np.bool_], NDArray[np.bool_], dict[str, Any]]:
        """Place one node on every board; boards that end begin again."""
        boards = self.batch.boards
        self.batch.step(np.asarray(actions, dtype=np.int32))
        reward, over = boards.reward.astype(np.float64), boards.over != RUNNING
        info: dict[str, Any] = {}
        if over.any():
            info = {
                "final_obs": self._observation(),
                "_final_obs": over.copy(),
                "cycles": np.where(boards.over == COMPLETE, boards.cycles, -1),
                "_cycles": over.copy(),
            }
            self.batch.reset(over)
        info["action_mask"] = self.action_masks()
        return self._observation(), reward, over, np.zeros(self.num_envs, dtype=np.bool_), info

    def action_masks(self) -> NDArray[np.bool_]:
        """Return which slots are legal for the next node of every board."""
        masks: NDArray[np.bool_] = self.batch.boards.mask.copy()
        return masks

    def _observation(self) -> Observation:
        return {key: value.copy() for key, value in observation(self.batch).items()}
