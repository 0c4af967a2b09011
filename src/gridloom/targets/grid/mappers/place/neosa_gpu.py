"""NeoSA's instances on a GPU: one instance per thread, over the same flat arrays and by the same functions.

The functions of :mod:`gridloom.targets.grid.mappers.place.neosa_kernel` are compiled a second time for the device, from
the same source, so that an instance ends at the same placement wherever it runs. Everything is whole numbers but the
temperature, which devices multiply alike, and logarithms, which the host has tabled (see ``accepts_by_table``).

A launch makes :data:`SWEEPS` sweeps of all instances, after which the host looks at the clock: a display's driver ends
launches of more than a few seconds. Needs numba-cuda (extra ``gpu``). Cost: tiles + nodes words of device memory for
each instance beside the tables of graph and grid.
"""

from __future__ import annotations

from functools import cache
from types import FunctionType
from typing import Any

import numpy as np
from numba import cuda

from gridloom.search import annealing, random
from gridloom.search.annealing import logarithms
from gridloom.search.arrays import Int32s, Uint8s, Uint64s
from gridloom.targets.grid.mappers.place import neosa_kernel
from gridloom.targets.grid.mappers.place.neosa_kernel import NeosaSchedule
from gridloom.targets.grid.mappers.problem import PlacedGraph, TileGrid

#: Sweeps of one launch.
SWEEPS = 64
#: Threads of a block. Instances do not share anything, so that a block only has to fill a multiprocessor's lanes.
THREADS = 64


def place_all(
    position: Int32s,
    region: Int32s,
    graph: PlacedGraph,
    grid: TileGrid,
    schedule: NeosaSchedule,
    seeds: Uint64s,
    stop: Uint8s,
) -> Int32s:
    """Anneal ``position[instance, node]`` in place on the device; returns the sweeps that each instance made.

    ``seeds`` has one number for each instance. An instance is the same as ``neosa_kernel.neosa`` of the same seed makes
    it, unless ``stop`` ends the launches before.
    """
    count, tiles = len(seeds), len(region)
    occupant = np.full((count, tiles), -1, dtype=np.int32)
    occupant[np.arange(count)[:, None], position] = np.arange(position.shape[1], dtype=np.int32)
    cost = np.array([_wirelength(row, graph, grid) for row in position], dtype=np.int64)
    tables = [cuda.to_device(np.ascontiguousarray(table)) for table in (region, *graph[1:], grid.allowed, grid.hops)]
    tables += [cuda.to_device(table) for table in logarithms()]
    state, steps = cuda.to_device(seeds.reshape(-1, 1)), cuda.to_device(np.zeros(count, dtype=np.int32))
    places = [cuda.to_device(np.ascontiguousarray(table)) for table in (position, occupant)]
    temperature, costs = cuda.to_device(np.full(count, schedule.hot)), cuda.to_device(cost)
    run = compile_for_device()[(count + THREADS - 1) // THREADS, THREADS]
    while not stop[0] and _unfinished(temperature.copy_to_host(), costs.copy_to_host(), schedule):
        run(*places, state, temperature, costs, steps, *tables, schedule.cold, schedule.cooling, schedule.by_cell)
    position[:] = places[0].copy_to_host()
    return np.asarray(steps.copy_to_host(), dtype=np.int32)


def _wirelength(position: Int32s, graph: PlacedGraph, grid: TileGrid) -> int:
    return int(neosa_kernel.wirelength(position, graph.starts, graph.neighbour, grid.hops))


def _unfinished(temperature: Any, cost: Any, schedule: NeosaSchedule) -> bool:
    return bool(((temperature > schedule.cold) & (cost > 0)).any())


@cache
def compile_for_device() -> Any:
    """The kernel, compiled for the device at its first call."""
    return cuda.jit(_instances())


def _instances() -> Any:
    """What each thread runs, with the functions of the CPU's kernel compiled for the device."""
    sweep, cells_of, graph_of, grid_of = _on_device(), neosa_kernel.NeosaCells, PlacedGraph, TileGrid
    schedule_of, table_of = NeosaSchedule, annealing.Logarithms

    def instances(
        position: Any, occupant: Any, state: Any, temperature: Any, cost: Any, steps: Any, region: Any, kind: Any,
        starts: Any, neighbour: Any, allowed: Any, hops: Any, halving: Any, part: Any, cold: Any, cooling: Any,
        by_cell: Any,
    ) -> None:  # fmt: skip
        k = cuda.grid(1)
        if k >= position.shape[0]:
            return
        # Tables that a sweep does not read are stood in for by one that it does.
        cells = cells_of(position[k], occupant[k], region)
        graph = graph_of(kind, kind, starts, neighbour)
        grid = grid_of(allowed, allowed, hops, region, region, region)
        schedule = schedule_of(temperature[k], cold, cooling, by_cell)
        table = table_of(halving, part)
        now, wires, done = temperature[k], cost[k], 0
        while done < SWEEPS and now > cold and wires > 0:
            now, wires = sweep(now, wires, state[k], cells, graph, grid, schedule, table)
            done += 1
        temperature[k] = now
        cost[k] = wires
        steps[k] += done

    return instances


def _on_device() -> Any:
    """The sweep and what it calls as device functions, each from the source that the CPU's version is compiled from."""
    word = _device(random.random_word)
    accepts = _device(annealing.accepts_by_table, random_word=word)
    wires = _device(neosa_kernel._wires)
    return _device(neosa_kernel.sweep, accepts_by_table=accepts, _wires=wires)


def _device(function: Any, **calls: Any) -> Any:
    """A compiled function's source as a device function, with other functions in place of those that it calls."""
    source = function.py_func
    return cuda.jit(device=True)(FunctionType(source.__code__, {**source.__globals__, **calls}, source.__name__))
