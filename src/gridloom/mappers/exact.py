"""``exact``: a mapping or a proof that there is none, by constraint solving (CP-SAT and a SAT solver, extra ``exact``).

Chin and Anderson (2018) map by integer programming on the time-expanded resource graph, SAT-MapIt (Tirelli et al.
2023) by Boolean satisfiability with modulo scheduling. The idea here:

1. modulo arrays: "op at (tile, cycle)" and "value in (register, cycle)" are the only variables, everything is a clause;
   output registers, register files (rotating or not), moves, spills, recomputation, buses are all in the model;
2. II by II from the MII on: a plain model finds, the full one finds or refutes within a window of cycles;
3. a model over slots alone holds for schedules of every length: what it refutes is refuted for good;
4. static grids: placement, routes by age and issue cycles in one model, minimised for the objective;
5. graphs too large for that, and any first mapping: a SAT solver places, shortens wires, and routes between places;
6. one node is only tried on tiles that the array can tell apart.

Cost: exponential at worst; loops of 15 nodes on 4x4 in seconds, static graphs of 20 to 30 nodes in minutes and,
without a proof, of a hundred in seconds. What was proved, and within which limits, is in the mapping's provenance:
``optimal``, ``bound``, ``proof``.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from gridloom.mappers.settings import check_settings


@dataclass(frozen=True, kw_only=True)
class ExactConfig:
    """Settings of ``exact``, for both styles that it maps to.

    A comment says where a setting is read on modulo arrays or on static grids only. What a setting forbids is not in
    the model, so a proof says nothing about mappings that use it; the provenance lists the settings that were changed.
    """

    #: The II to map at; None: from the MII on, the lowest that is not refuted.
    ii: int | None = None
    #: Go on until every II below the result is refuted for schedules of any length, not only within a window.
    prove: bool = False
    #: Threads of the solver. Its search strategies differ from thread to thread: 8 are worth it on 2 cores, too.
    workers: int = 8
    #: Modulo arrays: cycles from the first to the last issue of an iteration; None: the critical path and an II more.
    spread: int | None = None
    #: Modulo arrays: what a mapping may do. Proofs hold for what is allowed.
    rotate: bool = True
    spill: bool = True
    copies: bool = True
    #: Static arrays: what is made small: the deepest FIFO, links beyond one per edge, cycles to the last result.
    objective: Literal["buffers", "wirelength", "latency"] = "buffers"
    #: Static arrays: links that a route may have; None: enough for every way that pays.
    longest: int | None = None
    #: Static arrays: end with the first mapping, whatever its figure.
    first_legal: bool = False

    def __post_init__(self) -> None:
        check_settings(
            self,
            at_least={"ii": 1, "workers": 1, "spread": 1, "longest": 1},
            one_of={"objective": ("buffers", "wirelength", "latency")},
        )
