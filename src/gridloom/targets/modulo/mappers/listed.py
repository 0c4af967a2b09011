"""List starts of the ``modulo`` search: the order, prices and registers with which a first mapping is built.

A list scheduler takes nodes in the order of a schedule. Half of the starts take it as it is; the others take the last
issue first, so that each node meets readers that have their places already, and its value is routed to all of them at
once, by branches that share. Routes hold values in registers, spill them to memory or pass them on as they are found.
What finds no free place shares one at a price that does not grow; rounds of negotiation mend that, in which few nodes
leave. Growing prices would send routes on detours that take the slots of others.

With twice the slots that the bound asks for, a few placements per node are enough as a rule, so that a start costs
little more than a list scheduler does: O(nodes * window * (tiles * links + registers)).
"""

from __future__ import annotations

import numpy as np

from gridloom.search.arrays import Float64s
from gridloom.targets.modulo.mappers.problem import ModuloProblem, RegisterUse
from gridloom.targets.modulo.mappers.state import ModuloLoop, Parameters

#: Placements per node, and rounds without progress, after which a list start gives up.
_MOVES, _PATIENCE = 30, 120

# Quarters of a register file that rotate, by the number of the start.
_ROTATING = (2, 2, 1, 3)


def list_parameters(nodes: int, number: int, rng: np.random.Generator) -> Parameters:
    """How a list start searches: prices do not grow, and little leaves in a round."""
    present, leaving = 1.5 + rng.random(), 0.2 + 0.2 * rng.random()
    return Parameters(
        moves=_MOVES * nodes, patience=_PATIENCE, present=present, growth=1.0, ceiling=present,
        history=0.05 + 0.1 * rng.random(), noise=0.05, extra=9 if number % 2 else 3, pull=0.3,
        removal=0.2 + 0.2 * rng.random(), leaving=leaving, rerouting=0.55, annealing=0,
    )  # fmt: skip


def list_rank(loop: ModuloLoop, number: int, rng: np.random.Generator) -> Float64s:
    """The order of the first placement: along the schedule, or for a start of an odd number against it."""
    return loop.preferred * (-1.0 if number % 2 else 1.0) + 0.5 * rng.random(loop.nodes)


def list_registers(problem: ModuloProblem, number: int) -> RegisterUse:
    """All registers; a part of them rotates, which differs from start to start."""
    most = max((len(file.registers) for file in problem.arch.register_files), default=0)
    return RegisterUse(limit=most, rotating=_ROTATING[number % len(_ROTATING)] * most // 4)
