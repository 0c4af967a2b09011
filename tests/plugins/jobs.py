"""What worker processes are asked in the tests, and a mapper that they can import."""

from __future__ import annotations

from typing import Any

from gridloom import plugins, registry
from gridloom.mapping.model import Failure, Mapping
from gridloom.search.choice import config_type, function_for


def look(group_and_name: tuple[str, str]) -> dict[str, Any]:
    """Whether this process uses plug-ins, and whether it has a name."""
    return {"enabled": plugins.is_enabled(), "known": registry.has(*group_and_name)}


def importable(dfg: Any, arch: Any, budget: Any) -> Mapping | Failure:
    """A mapper that asks another one."""
    anneal = function_for("anneal", arch)
    found: Mapping | Failure = anneal(dfg, arch, config_type(anneal)(), budget)
    return found
