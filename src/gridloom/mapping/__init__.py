"""Mappings: the model, JSON, the configuration derived from one, and failures."""

from __future__ import annotations

from gridloom.mapping.configuration import Configuration, Flow, Operand, Slot, Spill, configure
from gridloom.mapping.model import Failure, Hop, Instance, Mapping, Route

__all__ = [
    "Configuration",
    "Failure",
    "Flow",
    "Hop",
    "Instance",
    "Mapping",
    "Operand",
    "Route",
    "Slot",
    "Spill",
    "configure",
]
