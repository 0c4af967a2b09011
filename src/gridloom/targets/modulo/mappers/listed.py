"""List starts of the ``modulo`` search: the order, prices and registers with which a first mapping is built.

A list scheduler takes nodes in the order of a schedule. Starts of even numbers take the last issue first: each node
meets readers that have their places already, and its value is routed to all of them at once, by branches that share.
Sharing a resource is dear and grows dearer, so that values spill or make a detour; such a start is short. Starts of odd
numbers take the schedule as it is, at prices that do not grow, and mend longer what shares a place. Little leaves in a
round of either.

With twice the slots that the bound asks for, a few placements per node are enough as a rule, so that a start costs
little more than a list scheduler does: O(nodes * window * (tiles * links + registers)).
"""

from __future__ import annotations

import numpy as np

from gridloom.search.arrays import Float64s
from gridloom.targets.modulo.mappers.problem import ModuloProblem, RegisterUse
from gridloom.targets.modulo.mappers.state import ModuloLoop, Parameters

#: Placements per node after which a list start gives up.
_MOVES = 16

# Quarters of a register file that rotate, by the number of the start.
_ROTATING = (2, 2, 1, 1)


def list_parameters(nodes: int, number: int, rng: np.random.Generator) -> Parameters:
    """How a list start searches; an even one gives up after few rounds without progress."""
    present, leaving = 1.5 + rng.random(), 0.2 + 0.2 * rng.random()
    common = Parameters(
        moves=_MOVES * nodes, patience=15, present=present, growth=1.06, ceiling=30.0, history=0.3, noise=0.05, extra=3,
        pull=0.3, removal=0.4, leaving=leaving, annealing=0,
    )  # fmt: skip
    if number % 2 == 0:
        return common
    return common._replace(
        patience=120, growth=1.0, ceiling=present, history=0.1, removal=0.2 + 0.2 * rng.random(), rerouting=0.55
    )


def list_rank(loop: ModuloLoop, number: int, rng: np.random.Generator) -> Float64s:
    """The order of the first placement: against the schedule, or for a start of an odd number along it."""
    return loop.preferred * (1.0 if number % 2 else -1.0) + 0.5 * rng.random(loop.nodes)


def list_registers(problem: ModuloProblem, number: int) -> RegisterUse:
    """All registers; a part of them rotates, which differs from start to start."""
    most = max((len(file.registers) for file in problem.arch.register_files), default=0)
    return RegisterUse(limit=most, rotating=_ROTATING[number % len(_ROTATING)] * most // 4)
