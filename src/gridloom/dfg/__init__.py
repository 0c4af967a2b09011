"""Dataflow graphs: the model, the op table, JSON, the reference interpreter, recurrences.

A :class:`Dfg` is the body of one loop: its nodes are ops, its edges carry values from one op to another, within an
iteration or over ``distance`` iterations. Front ends make graphs, mappers place them on arrays, and simulators are
compared with the :mod:`interpreter <gridloom.dfg.interpreter>`, which defines what a graph means. This package knows
nothing of arrays.

Names are imported when they are first used: who reads one module does not import the others.
"""

from __future__ import annotations

from importlib import import_module as _import_module
from typing import TYPE_CHECKING as _TYPE_CHECKING
from typing import Any as _Any

if _TYPE_CHECKING:
    from gridloom.dfg.model import Dfg, DfgBuilder, Edge, MemoryArray, Node
    from gridloom.dfg.ops import DOMAINS, OP_CLASSES, Op, lookup
    from gridloom.dfg.recurrence import recurrence_mii

__all__ = [
    "DOMAINS",
    "OP_CLASSES",
    "Dfg",
    "DfgBuilder",
    "Edge",
    "MemoryArray",
    "Node",
    "Op",
    "lookup",
    "recurrence_mii",
]

_HOME = {
    "DOMAINS": "ops",
    "OP_CLASSES": "ops",
    "Dfg": "model",
    "DfgBuilder": "model",
    "Edge": "model",
    "MemoryArray": "model",
    "Node": "model",
    "Op": "ops",
    "lookup": "ops",
    "recurrence_mii": "recurrence",
}


def __getattr__(name: str) -> _Any:
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(_import_module(f"{__name__}.{_HOME[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
