"""``exact``: a mapping or a proof that there is none, by constraint solving (OR-Tools CP-SAT, extra ``exact``).

Chin and Anderson (2018) map by integer programming on the time-expanded resource graph, SAT-MapIt (Tirelli et al.
2023) by Boolean satisfiability with modulo scheduling. The idea here:

1. modulo arrays: "op at (tile, cycle)" and "value in (register, cycle)" are the only variables, everything is a clause;
   output registers, register files (rotating or not), moves, spills, recomputation, buses are all in the model;
2. II by II from the MII on: a plain model finds, the full one finds or refutes within a window of cycles;
3. a model over slots alone holds for schedules of every length: what it refutes is refuted for good;
4. static grids: placement, routes by age and issue cycles in one model, minimised for the objective;
5. one node is only tried on tiles that the array can tell apart.

Cost: exponential at worst; loops of 15 nodes on 4x4 in seconds, static graphs of 20 to 30 nodes in minutes. What was
proved, and within which limits, is in the mapping's provenance: ``optimal``, ``bound``, ``proof``.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from importlib.util import find_spec
from typing import Final

from gridloom.archs.model import Arch, Kind
from gridloom.dfg.model import Dfg
from gridloom.errors import OptionError
from gridloom.mappers.budget import Budget
from gridloom.mappers.exact_config import ExactConfig
from gridloom.mapping.model import Failure, Mapping

__all__ = ["FAMILIES", "ExactConfig", "exact"]


def _waits_at_operands(arch: Arch) -> bool:
    return arch.style == "modulo" and any(tile.fifo != 0 for tile in arch.tiles)


def _is_torus(arch: Arch) -> bool:
    return arch.style == "modulo"


def _is_grid(arch: Arch) -> bool:
    kinds = set(arch.kind.tolist())
    return arch.style == "static" and kinds <= {Kind.FU, Kind.OUT, Kind.IN, Kind.LINK} and not arch.settings


#: Which model an array takes: the first whose test is true.
FAMILIES: Final[tuple[tuple[Callable[[Arch], bool], str], ...]] = (
    (_waits_at_operands, "gridloom.mappers.spokes.exact.search:exact_spokes"),
    (_is_torus, "gridloom.mappers.modulo.exact.search:exact_modulo"),
    (_is_grid, "gridloom.mappers.grid.exact.search:exact_static"),
)


def exact(dfg: Dfg, arch: Arch, config: ExactConfig, budget: Budget) -> Mapping | Failure:
    """A mapping with what is proved of it, or why there is none: refuted, or not decided within the budget.

    OptionError for an array that no model is written for, MissingExtra without OR-Tools.
    """
    for fits, place in FAMILIES:
        module, _, name = place.partition(":")
        if fits(arch) and find_spec(module) is not None:
            decide: Callable[[Dfg, Arch, ExactConfig, Budget], Mapping | Failure] = getattr(import_module(module), name)
            return decide(dfg, arch, config, budget)
    raise OptionError(
        f"mapper 'exact' has models for static grids (mesh, onehop, hex, chess) and for modulo-scheduled arrays; "
        f"array {arch.name!r} is {arch.style}"
    )
