"""Mappings: the model, JSON, the configuration derived from one, and failures.

A :class:`Mapping` is what a mapper returns and what files hold: names of tiles and resources with cycles. A
:class:`Configuration` is derived from it and says what the hardware is set to; simulators and emitters read only
that. Whether a mapping is legal is decided elsewhere, in :mod:`gridloom.verify`.
"""

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
