"""A cold start, token by token: configuration, weights, and a section with values that runs from empty and drains.

The programs are those of `cold` and `loading`, and they run by `token_kernel`. Values of the section are compared with
an untimed run that drops the same tokens and holds the same samples.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from gridloom.archs.model import Arch
from gridloom.errors import SimulationError
from gridloom.mapping.configuration import Configuration, Slot, TokenPath
from gridloom.sim.verdict import Verdict
from gridloom.targets.dataflow.machine import loading
from gridloom.targets.dataflow.machine.cold import ColdStart, ColdStartFigures, section_program
from gridloom.targets.dataflow.machine.fabric import fabric_of
from gridloom.targets.dataflow.machine.run import TokenNetwork, check_firings, repetitions, run_and_compare
from gridloom.targets.dataflow.program.model import unit_graph


def simulate_cold(configuration: Configuration, start: ColdStart) -> Verdict:
    """Return the verdict of a cold start, whose ``cold`` says when each step was done; None for a deadlock.

    Cycles are counted from the array without a configuration on. SimulationError when the graph's rates do not balance,
    or for more firings than can be simulated. Costs about half a microsecond for each link that a packet crosses.
    """
    dfg, arch = unit_graph(configuration.dfg), configuration.arch
    counts = repetitions(configuration)
    tiles = _tiles(configuration)
    fabric = fabric_of(arch)
    joined = {name for edge in dfg.edges for name in (edge.source, edge.target)}
    placed = [tile for k, tile in enumerate(tiles) if tile >= 0 and dfg.nodes[k].id in joined]
    configured = _load(loading.configuration(arch, fabric, placed), arch, 0)
    loaded = _load(loading.weights(arch, fabric, dfg, counts, tiles), arch, configured)
    program = section_program(dfg, counts, start)
    most = max(program.blocks)
    check_firings(dfg, counts, most)
    network = TokenNetwork(
        replace(configuration, dfg=program.dfg), counts, most, program=program, begin=loaded
    )  # fmt: skip
    verdict = run_and_compare(network, asked=most)
    cold = None
    if verdict.error is None:
        first, last = _ends(network, program.ends)
        cold = ColdStartFigures(
            configured=configured, loaded=loaded, first_output=loaded + first, last_output=loaded + last
        )
    # A period is that of a steady state, which a start need not reach.
    return replace(verdict, cold=cold, cycles=loaded + verdict.cycles, period=None)


def _tiles(configuration: Configuration) -> list[int]:
    """Return the tile of each node; -1 for one that is nowhere."""
    tiles = [-1] * len(configuration.dfg.nodes)
    for slot in configuration.slots:
        if slot.kind == "op":
            tiles[slot.node] = slot.tile
    return tiles


def _load(load: loading.Loading | None, arch: Arch, begin: int) -> int:
    """Return the cycle in which a loading that begins in a cycle is done; None is done at once."""
    if load is None:
        return begin
    program = load.program
    slots = tuple(
        Slot(tile=tile, resource=-1, slot=0, start=0, kind="op", latency=1, writes=False, node=k)
        for k, tile in enumerate(load.tiles)
    )
    paths = tuple(
        TokenPath(edge=k, source=load.tiles[2 * k], target=load.tiles[2 * k + 1], links=links)
        for k, links in enumerate(load.paths)
    )
    nothing = np.zeros((0, 1), dtype=np.int32)
    configuration = Configuration(
        dfg=program.dfg, arch=arch, ii=1, settings={}, driver=nothing, delay=nothing, slots=slots, token_paths=paths
    )
    network = TokenNetwork(configuration, list(program.counts), 1, program=program, begin=begin)
    network.run()
    stuck = network.stuck()
    if stuck is not None:
        raise SimulationError(f"does not come to an end: {stuck}", where=f"graph {program.dfg.name!r}")
    return begin + _ends(network, program.ends)[1]


def _ends(network: TokenNetwork, nodes: list[int]) -> tuple[int, int]:
    """Return the cycles in which all of these nodes have done their first block, and their last."""
    wanted = set(nodes)
    rows = network.finished[[u for u, slot in enumerate(network.slots) if slot.node in wanted]]
    return int(rows[:, 0].max(initial=0)), int(rows.max(initial=0))
