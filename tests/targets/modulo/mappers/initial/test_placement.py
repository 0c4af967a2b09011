"""Annealed placements: every node has a slot of its own, and estimates that are kept move by move stay right."""

from __future__ import annotations

import random

import numpy as np
import pytest
from tests.random_cases import loop_graph

from gridloom.archs import build
from gridloom.dfg import DfgBuilder
from gridloom.jit import kernel
from gridloom.search.arrays import Float64s
from gridloom.targets.modulo.mappers.initial.arrays import InitialRun
from gridloom.targets.modulo.mappers.initial.cost_kernel import net_cost
from gridloom.targets.modulo.mappers.initial.placement import initial_places, initial_run, place_all
from gridloom.targets.modulo.mappers.problem import ModuloProblem, RegisterUse
from gridloom.targets.modulo.mappers.reach.distances import Distances
from gridloom.targets.modulo.mappers.state import Race

ARRAYS = ("torus:3x3,regs=4", "torus:2x4,regs=2,bus=none", "ramp-6", "torus:3x3,regs=8,file=central")


@kernel
def estimates(run: InitialRun, found: Float64s) -> None:
    """The estimate for each net, from the places alone."""
    for net in range(run.loop.nodes):
        found[net] = net_cost(run, net)


def problem_of(seed: int) -> tuple[ModuloProblem, int]:
    """A random loop on one of the arrays, and an II with room for it."""
    problem = ModuloProblem(loop_graph(random.Random(seed)), build(ARRAYS[seed % len(ARRAYS)]))
    return problem, 4 + sum(d.delay for d in problem.dependences if d.distance >= 0)


def race(*, stopped: bool = False, winner: int = 1 << 30, number: int = 0) -> Race:
    """The race of a start: whether it is stopped, and the lowest number of a start that has won."""
    return Race(np.array([stopped], dtype=np.uint8), np.array([winner], dtype=np.int64), number)


def annealed(seed: int, moves: int, *, stopped: bool = False) -> tuple[InitialRun, bool]:
    """A placement of a random loop after so many moves, and whether every node found a slot."""
    problem, ii = problem_of(seed)
    loop, registers = problem.loop(ii), RegisterUse(limit=2, rotating=1)
    placement = initial_run(Distances(problem), problem.fabric(loop, ii, registers, 1.0), loop, registers, seed)
    rank, anywhere = np.arange(loop.nodes, dtype=np.float64), np.full(loop.nodes, -1, dtype=np.int64)
    return placement, place_all(placement, rank, anywhere, moves, race(stopped=stopped))


@pytest.mark.parametrize("seed", range(8))
def test_every_node_has_an_issue_slot_of_its_own_on_a_tile_that_runs_it(seed: int) -> None:
    placement, complete = annealed(seed, 2000)
    place, loop = placement.place, placement.loop
    assert complete
    slots = set(zip(place.tile.tolist(), (place.cycle % placement.ground.ii).tolist()))
    assert len(slots) == loop.nodes
    assert all(loop.allowed[loop.kind[node], tile] for node, tile in enumerate(place.tile))
    assert place.cycle.min() >= 0
    assert place.cycle.max() < placement.ground.horizon


@pytest.mark.parametrize("seed", range(8))
def test_estimates_that_moves_keep_are_those_of_the_places(seed: int) -> None:
    placement, _ = annealed(seed, 2000)
    fresh = np.zeros(placement.loop.nodes)
    estimates(placement, fresh)
    assert placement.place.cost == pytest.approx(fresh)


@pytest.mark.parametrize("seed", range(8))
def test_tables_of_what_tiles_share_are_those_of_the_places(seed: int) -> None:
    placement, _ = annealed(seed, 2000)
    place, loop, ii = placement.place, placement.loop, placement.ground.ii
    occupant, written = np.full_like(place.occupant, -1), np.zeros_like(place.written)
    for node, (tile, cycle) in enumerate(zip(place.tile.tolist(), place.cycle.tolist())):
        occupant[tile, cycle % ii] = node
        written[tile, (cycle + loop.latency[loop.kind[node], tile]) % ii] += loop.has_result[node]
    assert (place.occupant == occupant).all()
    assert (place.written == written).all()


def test_annealing_lowers_the_estimate() -> None:
    before = sum(float(annealed(seed, 1, stopped=True)[0].place.cost.sum()) for seed in range(8))
    after = sum(float(annealed(seed, 20_000)[0].place.cost.sum()) for seed in range(8))
    assert after < before


def test_placement_that_is_stopped_is_complete() -> None:
    placement, complete = annealed(1, 10**9, stopped=True)
    assert complete
    assert (placement.place.tile >= 0).all()


def test_annealing_ends_when_a_start_of_a_lower_number_has_won() -> None:
    problem, ii = problem_of(1)
    loop, registers = problem.loop(ii), RegisterUse(limit=2, rotating=1)
    rank, anywhere = np.arange(loop.nodes, dtype=np.float64), np.full(loop.nodes, -1, dtype=np.int64)
    places = []
    for lost in (race(winner=2, number=3), race(stopped=True)):
        placement = initial_run(Distances(problem), problem.fabric(loop, ii, registers, 1.0), loop, registers, 1)
        # Without an end these moves would take hours.
        assert place_all(placement, rank, anywhere, 10**12, lost)
        places.append(placement.place)
    assert (places[0].tile == places[1].tile).all()


def test_more_nodes_than_slots_have_no_placement() -> None:
    b = DfgBuilder("wide")
    x = b.livein("x")
    for k in range(5):
        b.add("neg", x, id=f"n{k}")
    problem = ModuloProblem(b.build(), build("torus:2x2,regs=1"))
    loop, registers = problem.loop(1), RegisterUse(limit=1, rotating=0)
    fabric = problem.fabric(loop, 1, registers, 1.0)
    rank, anywhere = np.zeros(loop.nodes), np.full(loop.nodes, -1, dtype=np.int64)
    rng = np.random.default_rng(0)
    assert initial_places(Distances(problem), fabric, loop, registers, rank, anywhere, rng, 10, race()) is None


def test_same_seed_gives_the_same_places() -> None:
    one, other = annealed(5, 3000)[0].place, annealed(5, 3000)[0].place
    assert (one.tile == other.tile).all()
    assert (one.cycle == other.cycle).all()
