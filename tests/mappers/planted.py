"""A trivial mapper, and the same with one planted fault each: what the conformance checks are tested with."""

from __future__ import annotations

import time
from dataclasses import dataclass, replace

from gridloom.archs.model import Arch
from gridloom.dfg.model import Dfg
from gridloom.errors import OptionError
from gridloom.mappers.budget import Budget
from gridloom.mappers.choice import refuse_unsuited
from gridloom.mappers.grid.trees import TreesConfig, trees
from gridloom.mappers.origin import origin
from gridloom.mapping.model import Failure, Mapping


@dataclass(frozen=True, kw_only=True)
class PlantedConfig:
    """Settings of the trivial mapper: none."""


def trivial(dfg: Dfg, arch: Arch, config: PlantedConfig, budget: Budget) -> Mapping | Failure:
    """Lay the graph out as a tree, and say so."""
    return _named("trivial", dfg, arch, config, budget)


def unsteady(dfg: Dfg, arch: Arch, config: PlantedConfig, budget: Budget) -> Mapping | Failure:
    """Fault: a clock's reading gets into the mapping, so that no two runs give the same bytes."""
    mapping = _named("unsteady", dfg, arch, config, budget)
    return replace(mapping, provenance={**mapping.provenance, "at": time.perf_counter_ns()})


def impostor(dfg: Dfg, arch: Arch, config: PlantedConfig, budget: Budget) -> Mapping | Failure:
    """Fault: it refuses arrays in the name of another mapper."""
    if not arch.has("grid"):
        raise OptionError("mapper 'modulo' takes modulo-scheduled arrays")
    return _named("impostor", dfg, arch, config, budget)


def nameless(dfg: Dfg, arch: Arch, config: PlantedConfig, budget: Budget) -> Mapping | Failure:
    """Fault: its mapping does not say which version made it."""
    mapping = _named("nameless", dfg, arch, config, budget)
    return replace(mapping, provenance={k: v for k, v in mapping.provenance.items() if k != "version"})


def wrong(dfg: Dfg, arch: Arch, config: PlantedConfig, budget: Budget) -> Mapping | Failure:
    """Fault: two nodes exchange their places, and their routes stay."""
    mapping = _named("wrong", dfg, arch, config, budget)
    first, second, *rest = mapping.instances
    return replace(mapping, instances=(replace(first, place=second.place), replace(second, place=first.place), *rest))


def _named(name: str, dfg: Dfg, arch: Arch, config: PlantedConfig, budget: Budget) -> Mapping:
    refuse_unsuited(name, dfg, arch)
    clock = budget.start()
    mapping = trees(dfg, arch, TreesConfig(), budget)
    if isinstance(mapping, Failure):
        raise ValueError(f"the planted mappers take easy graphs only: {mapping}")
    return replace(mapping, provenance=origin(name, config, clock))
