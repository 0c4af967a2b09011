"""Mappings: the model, JSON, the configuration derived from one, and failures.

A :class:`Mapping` is what a mapper returns and what files hold: names of tiles and resources with cycles. A
:class:`Configuration` is derived from it and says what the hardware is set to; simulators and emitters read only
that. Whether a mapping is legal is decided elsewhere, in :mod:`gridloom.verify`.

Names are imported when they are first used: who reads one module does not import the others.
"""

from __future__ import annotations

from importlib import import_module as _import_module
from typing import TYPE_CHECKING as _TYPE_CHECKING
from typing import Any as _Any

if _TYPE_CHECKING:
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

_HOME = {
    "Configuration": "configuration",
    "Failure": "model",
    "Hop": "model",
    "Instance": "model",
    "Mapping": "model",
    "Operand": "configuration",
    "Route": "model",
    "Slot": "configuration",
    "Spill": "configuration",
    "TokenPath": "configuration",
    "configure": "configuration",
}


def __getattr__(name: str) -> _Any:
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(_import_module(f"{__name__}.{_HOME[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
