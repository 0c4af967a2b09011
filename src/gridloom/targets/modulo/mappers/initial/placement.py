"""Initial placements for the starts of the ``modulo`` search."""

from __future__ import annotations

import numpy as np

from gridloom.search.arrays import Float64s, Int64s
from gridloom.targets.modulo.mappers.initial.arrays import Ground, InitialScratch, NodePlaces
from gridloom.targets.modulo.mappers.problem import RegisterUse
from gridloom.targets.modulo.mappers.reach.distances import Distances
from gridloom.targets.modulo.mappers.state import ModuloFabric, ModuloLoop, Race

# Temperatures between which a placement is annealed.
_HOT = 1.5
_COLD = 0.15

# The first temperature of a placement that few moves anneal, and the moves per node from which on it is the usual one.
_WARM = 0.3
_MANY = 400

# The cycles after the last one in which nodes are placed are for routes.
_MARGIN = 2


class InitialPlacement:
    """Places the nodes of a problem at an II for one start."""

    def __init__(self, distances: Distances, fabric: ModuloFabric, loop: ModuloLoop, registers: RegisterUse) -> None:
        problem = distances.problem
        self.loop = loop
        at, near = distances.near
        room = [max(0, hi - lo - registers.rotating) for lo, hi in zip(fabric.file_at[:-1], fabric.file_at[1:])]
        self.ground = Ground(
            ii=fabric.ii, step=_move_cycles(fabric), horizon=fabric.horizon - fabric.ii - _MARGIN,
            hops=distances.hops, near_at=at, near=near, read_at=fabric.read_at, read=fabric.read,
            file_of=fabric.file_of, keep_room=np.array(room or [0], dtype=np.int64), pool_room=problem.pool_room,
        )  # fmt: skip
        tiles, files = fabric.tiles, max(1, fabric.files)
        nets = loop.nodes + len(problem.liveins)
        widest = int(np.diff(loop.out_at).max(initial=0)) + 1
        self.place = NodePlaces(
            tile=np.full(loop.nodes, -1, dtype=np.int64),
            cycle=np.zeros(loop.nodes, dtype=np.int64),
            occupant=np.full((tiles, fabric.ii), -1, dtype=np.int64),
            written=np.zeros((tiles, fabric.ii), dtype=np.int64),
            pool_used=np.zeros((len(problem.pool_room), fabric.ii), dtype=np.int64),
            readers=np.zeros((len(problem.liveins), files), dtype=np.int16),
            kept=np.zeros(files, dtype=np.int64),
            cost=np.zeros(loop.nodes),
        )
        most = int(np.diff(loop.in_at).max(initial=0)) + 1
        self.scratch = InitialScratch(
            order=np.zeros(widest, dtype=np.int64),
            point_tile=np.zeros(2 * widest + 1, dtype=np.int64),
            point_from=np.zeros(2 * widest + 1, dtype=np.int64),
            point_until=np.zeros(2 * widest + 1, dtype=np.int64),
            changed=np.zeros(2 * most + 2, dtype=np.int64),
            fresh=np.zeros(2 * most + 2),
            mark=np.zeros(nets, dtype=np.int64),
        )

    def run(self, rank: Float64s, first_tile: Int64s, seed: int, moves: int, race: Race) -> bool:
        """Place all nodes in the order of ``rank``, then anneal; False where a node finds no slot."""
        from gridloom.targets.modulo.mappers.initial.anneal_kernel import anneal, place_first

        random = np.array([seed], dtype=np.uint64)
        order = np.argsort(rank, kind="stable")
        if not place_first(self.ground, self.loop, self.place, self.scratch, random, order, first_tile):
            return False
        # Few moves cannot mend what a high temperature undoes.
        hot = _WARM + (_HOT - _WARM) * min(1.0, moves / (_MANY * max(1, self.loop.nodes)))
        anneal(self.ground, self.loop, self.place, self.scratch, random, hot, _COLD, max(1, moves), race)
        return True


def _move_cycles(fabric: ModuloFabric) -> int:
    """Cycles of the fastest move; tiles that pass nothing on have none."""
    moves = fabric.move_latency[fabric.move_latency > 0]
    return int(moves.min(initial=1 << 30)) if len(moves) else 1


def initial_places(
    distances: Distances,
    fabric: ModuloFabric,
    loop: ModuloLoop,
    registers: RegisterUse,
    rank: Float64s,
    first_tile: Int64s,
    rng: np.random.Generator,
    moves: int,
    race: Race,
) -> tuple[Int64s, Int64s] | None:
    """The tile and the cycle of each node after ``moves`` annealing moves per node; None where some have no slot."""
    if moves < _MANY:
        # Along the schedule no route is too late from the beginning.
        rank = loop.preferred + 0.5 * rng.random(loop.nodes)
    placement = InitialPlacement(distances, fabric, loop, registers)
    if not placement.run(rank, first_tile, int(rng.integers(1 << 31)), moves * loop.nodes, race):
        return None
    return placement.place.tile, placement.place.cycle
