"""Dataflow graphs: the model, the op table, JSON, the reference interpreter, recurrences.

A :class:`Dfg` is the body of one loop: its nodes are ops, its edges carry values from one op to another, within an
iteration or over ``distance`` iterations. Front ends make graphs, mappers place them on arrays, and simulators are
compared with the :mod:`interpreter <gridloom.dfg.interpreter>`, which defines what a graph means. This package knows
nothing of arrays.
"""

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
