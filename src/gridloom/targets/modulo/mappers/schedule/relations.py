"""Which nodes bound each other's issue cycles: the table of least distances as rows without its empty entries.

A placer asks for the bounds of one node at a time. In a graph of many parts few nodes depend on each other, and in any
graph a row that lies together in memory is read far faster than a column of a large table.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from gridloom.search.arrays import Int32s, Int64s
from gridloom.targets.modulo.mappers.schedule.iterative import NONE


class DependenceRelations(NamedTuple):
    """CSR: for each node those that depend on it or that it depends on, in their order."""

    at: Int64s
    other: Int32s
    #: The least number of cycles from the issue of the node to that of the other, and from the other's to its own;
    #: NONE: there is no such bound.
    after: Int32s
    before: Int32s


def relations(least: Int64s) -> DependenceRelations:
    """The rows of a table of least distances. O(n^2).

    >>> table = np.array([[NONE, 2, NONE], [-4, NONE, NONE], [NONE, NONE, NONE]])
    >>> rows = relations(table)
    >>> rows.at.tolist(), rows.other.tolist(), rows.after.tolist(), rows.before.tolist()
    ([0, 1, 2, 2], [1, 0], [2, -4], [-4, 2])
    """
    bounded = least > NONE
    bounded |= bounded.T.copy()
    np.fill_diagonal(bounded, val=False)
    nodes, others = np.nonzero(bounded)
    at = np.searchsorted(nodes, np.arange(len(least) + 1)).astype(np.int64)
    after, before = least[nodes, others].astype(np.int32), least[others, nodes].astype(np.int32)
    return DependenceRelations(at, others.astype(np.int32), after, before)
