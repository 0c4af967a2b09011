"""Initial placements for the starts of the ``modulo`` search."""

from __future__ import annotations

import numpy as np

from gridloom.search.arrays import Float64s, Int64s
from gridloom.targets.modulo.mappers.initial.arrays import Ground, InitialRun, InitialScratch, NodePlaces
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


def _move_cycles(fabric: ModuloFabric) -> int:
    """Cycles of the fastest move; tiles that pass nothing on have none."""
    moves = fabric.move_latency[fabric.move_latency > 0]
    return int(moves.min(initial=1 << 30)) if len(moves) else 1


def initial_run(
    distances: Distances, fabric: ModuloFabric, loop: ModuloLoop, registers: RegisterUse, seed: int
) -> InitialRun:
    """What the kernels take to place the nodes of a problem at an II for one start; nothing is placed yet."""
    problem = distances.problem
    at, near = distances.near
    room = [max(0, hi - lo - registers.rotating) for lo, hi in zip(fabric.file_at[:-1], fabric.file_at[1:])]
    ground = Ground(
        ii=fabric.ii, step=_move_cycles(fabric), horizon=fabric.horizon - fabric.ii - _MARGIN,
        hops=distances.hops, near_at=at, near=near, read_at=fabric.read_at, read=fabric.read,
        file_of=fabric.file_of, keep_room=np.array(room or [0], dtype=np.int64), pool_room=problem.pool_room,
    )  # fmt: skip
    tiles, files, liveins = fabric.tiles, max(1, fabric.files), len(problem.liveins)
    place = NodePlaces(
        tile=np.full(loop.nodes, -1, dtype=np.int64),
        cycle=_zeros(loop.nodes),
        occupant=np.full((tiles, fabric.ii), -1, dtype=np.int64),
        written=_zeros(tiles, fabric.ii),
        pool_used=_zeros(len(problem.pool_room), fabric.ii),
        readers=np.zeros((liveins, files), dtype=np.int16),
        kept=_zeros(files),
        cost=np.zeros(loop.nodes),
    )
    widest = int(np.diff(loop.out_at).max(initial=0)) + 1
    points = 2 * widest + 1
    changed = 2 * int(np.diff(loop.in_at).max(initial=0)) + 4
    scratch = InitialScratch(
        order=_zeros(widest),
        point_tile=_zeros(points),
        point_from=_zeros(points),
        point_until=_zeros(points),
        changed=_zeros(changed),
        fresh=np.zeros(changed),
        mark=_zeros(loop.nodes + liveins),
    )
    return InitialRun(ground, loop, place, scratch, np.array([seed], dtype=np.uint64))


def _zeros(*shape: int) -> Int64s:
    return np.zeros(shape, dtype=np.int64)


def place_all(run: InitialRun, rank: Float64s, first_tile: Int64s, moves: int, race: Race) -> bool:
    """Place all nodes in the order of ``rank``, then anneal; False where a node finds no slot."""
    from gridloom.targets.modulo.mappers.initial.anneal_kernel import anneal, place_first

    if not place_first(run, np.argsort(rank, kind="stable"), first_tile):
        return False
    # Few moves cannot mend what a high temperature undoes.
    hot = _WARM + (_HOT - _WARM) * min(1.0, moves / (_MANY * max(1, run.loop.nodes)))
    anneal(run, hot, _COLD, max(1, moves), race)
    return True


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
    run = initial_run(distances, fabric, loop, registers, int(rng.integers(1 << 31)))
    if not place_all(run, rank, first_tile, moves * loop.nodes, race):
        return None
    return run.place.tile, run.place.cycle
