"""Mappings: the model, JSON, the configuration derived from one, and failures."""

from __future__ import annotations

from gridloom.mapping.configuration import Configuration, Operand, Slot, Spill, TokenPath, configure
from gridloom.mapping.model import Failure, Hop, Instance, Mapping, Route

__all__ = [
    "Configuration",
    "Failure",
    "Hop",
    "Instance",
    "Mapping",
    "Operand",
    "Route",
    "Slot",
    "Spill",
    "TokenPath",
    "configure",
]
