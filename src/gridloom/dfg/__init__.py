"""Dataflow graphs: the model, the op table, JSON, the reference interpreter, recurrences."""

from __future__ import annotations

from gridloom.dfg.model import Array, Dfg, DfgBuilder, Edge, Node
from gridloom.dfg.ops import DOMAINS, OP_CLASSES, Op, lookup
from gridloom.dfg.recurrence import recurrence_mii

__all__ = [
    "DOMAINS",
    "OP_CLASSES",
    "Array",
    "Dfg",
    "DfgBuilder",
    "Edge",
    "Node",
    "Op",
    "lookup",
    "recurrence_mii",
]
