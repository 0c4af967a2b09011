"""How many rows a graph needs on an array of rows whatever the placement: a proof from the array's wires.

On such arrays values only go up, and an op has few wires on which values of its own row arrive (on ``vpcma`` one, the
E output of its western neighbour). Of its operands at most so many come from its own row; each further one comes from a
lower row. That gives the lowest row of every op, as a longest path does:

    lowest(op) = max(largest, 1 + the largest but ``heard``)    over the lowest rows of the ops it reads

A graph whose ops go above the last row does not fit, and the ops whose lowest row is r or more have to find room in
the rows from r on. Linear in nodes and edges.

Constant registers give a second proof. A register serves a row and those above it, so each constant needs a register
whose row is no higher than its lowest reader. Were all readers of a constant to sit in row r or above, what depends on
them would be pushed up, at some r beyond the last row or the PEs there: that is the latest row of the constant's
register. More constants with the latest row r or less than there are registers that serve row r do not fit (Hall's
theorem for intervals with one common end). A pass over the graph for each constant and a few rows.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from gridloom.archs.model import Arch, Kind


@lru_cache(maxsize=64)
def heard_in_row(arch: Arch) -> int | None:
    """How many wires at most bring an op values of its own row; None: values can come down, and rows say nothing.

    A wire counts when some value of the row can get on it, whatever else is placed. Linear in the arcs.
    """
    highest = _highest_source(arch)
    most = 0
    wires: dict[int, set[int]] = {}
    heard = np.flatnonzero((arch.kind == Kind.IN)[arch.arc_target] & (arch.tile >= 0)[arch.arc_target])
    for source, target in zip(arch.arc_source[heard].tolist(), arch.arc_target[heard].tolist(), strict=True):
        tile = arch.tiles[arch.tile[target]]
        if tile.kind != "pe":
            continue
        if highest[source] > tile.row:
            return None
        if highest[source] == tile.row:
            mine = wires.setdefault(int(arch.tile[target]), set())
            mine.add(source)
            most = max(most, len(mine))
    return most


def _highest_source(arch: Arch) -> list[int]:
    """For each resource the highest row with an op whose value can get there; -1: none."""
    after: list[list[int]] = [[] for _ in arch.resource_names]
    for source, target in zip(arch.arc_source.tolist(), arch.arc_target.tolist(), strict=True):
        after[source].append(target)
    highest = [-1] * len(after)
    outs = [(tile.row, int(arch.out[k])) for k, tile in enumerate(arch.tiles) if tile.kind == "pe"]
    # From the highest row down, so that the first row to reach a resource is the highest one and no resource is visited
    # twice.
    for row, out in sorted(outs, reverse=True):
        if out < 0 or highest[out] >= 0:
            continue
        highest[out] = row
        waiting = [out]
        while waiting:
            for target in after[waiting.pop()]:
                if highest[target] < 0:
                    highest[target] = row
                    waiting.append(target)
    return highest


def upon(rows: Iterable[int], heard: int) -> int:
    """The lowest row of an op that reads ops of these rows."""
    ranked = sorted(rows, reverse=True)
    if len(ranked) > heard:
        return max(ranked[0], ranked[heard] + 1)
    return ranked[0] if ranked else 0


def _between_ops(is_op: Sequence[bool], edges: Iterable[tuple[int, int]]) -> tuple[list[set[int]], list[list[int]]]:
    """For each node the ops that it reads and the ops that read it; a pair counts once."""
    makers: list[set[int]] = [set() for _ in is_op]
    readers: list[list[int]] = [[] for _ in is_op]
    for a, b in edges:
        if is_op[a] and is_op[b] and a not in makers[b]:
            makers[b].add(a)
            readers[a].append(b)
    return makers, readers


def row_windows(is_op: Sequence[bool], edges: Iterable[tuple[int, int]], heard: int) -> tuple[list[int], list[int]]:
    """For each node the lowest row in which it can sit, and rows that what depends on it takes above it.

    The first is proved, the second a guess: of the operands of an op the highest share its row. Both are 0 for what is
    not an op. ``edges`` without cycles.
    """
    makers, readers = _between_ops(is_op, edges)
    waiting = [len(mine) for mine in makers]
    order = [n for n, count in enumerate(waiting) if count == 0]
    lowest, above = [0] * len(waiting), [0] * len(waiting)
    for n in order:
        lowest[n] = upon([lowest[a] for a in makers[n]], heard)
        for b in readers[n]:
            waiting[b] -= 1
            if waiting[b] == 0:
                order.append(b)
    for b in reversed(order):
        rows = [lowest[a] for a in makers[b]]
        for a in makers[b]:
            beside = sum(row >= lowest[a] for row in rows)
            above[a] = max(above[a], above[b] + (beside > heard))
    return lowest, above


@lru_cache(maxsize=64)
def register_rows(arch: Arch) -> tuple[int, ...]:
    """For each constant register the lowest row whose ops its value can get to, in ascending order.

    Empty where the array has no such registers, or where values can come down. Walks back from the operands of PEs,
    those of the lowest row first, so that each arc is taken once.
    """
    if heard_in_row(arch) is None:
        return ()
    before: dict[int, list[int]] = {}
    for source, target in zip(arch.arc_source.tolist(), arch.arc_target.tolist(), strict=True):
        before.setdefault(target, []).append(source)
    of_pe = np.array([tile.kind == "pe" for tile in arch.tiles])
    operands = np.flatnonzero((arch.kind == Kind.IN) & (arch.tile >= 0))
    operands = operands[of_pe[arch.tile[operands]]]
    row_of = np.array([tile.row for tile in arch.tiles])
    lowest: dict[int, int] = {}
    for operand in operands[np.argsort(row_of[arch.tile[operands]], kind="stable")].tolist():
        waiting, row = [operand], int(row_of[arch.tile[operand]])
        while waiting:
            resource = waiting.pop()
            if resource not in lowest:
                lowest[resource] = row
                waiting += before.get(resource, ())
    rows = [
        min((lowest.get(r, arch.rows) for r in np.flatnonzero(arch.tile == k).tolist()), default=arch.rows)
        for k, tile in enumerate(arch.tiles)
        if tile.kind == "const"
    ]
    return tuple(sorted(rows))


@dataclass(frozen=True, slots=True, kw_only=True)
class RegisterDemand:
    """Constants that all need a register of a low row: more of them than there are."""

    #: The highest row whose registers serve them, how many there are, and how many are asked for.
    row: int
    registers: int
    constants: int


def short_of_registers(
    is_op: Sequence[bool],
    edges: Sequence[tuple[int, int]],
    is_constant: Sequence[bool],
    heard: int,
    registers: Sequence[int],
    size: tuple[int, int],
) -> RegisterDemand | None:
    """Return why the constants of a graph do not fit their registers on (rows, columns); None: nothing is proved.

    ``registers`` has the row that each register serves first, in ascending order; ``edges`` has no cycles.
    """
    rows, columns = size
    readers: dict[int, list[int]] = {n: [] for n, constant in enumerate(is_constant) if constant}
    for a, b in edges:
        if is_constant[a] and is_op[b]:
            readers[a].append(b)
    read = [mine for mine in readers.values() if mine]
    # Only rows that serve fewer registers than there are constants can be short of them.
    served = [sum(row <= r for row in registers) for r in range(rows)]
    asked = [r for r in range(rows) if served[r] < len(read)]
    if not asked or not registers:
        return None
    climb = _Climb(is_op, edges, heard)
    latest = [climb.latest(mine, max(asked) + 1, rows, columns) for mine in read]
    for r in asked:
        count = sum(row <= r for row in latest)
        if count > served[r]:
            return RegisterDemand(row=r, registers=served[r], constants=count)
    return None


class _Climb:
    """Lowest rows of the ops of a graph when some of them have to sit higher than they could."""

    def __init__(self, is_op: Sequence[bool], edges: Iterable[tuple[int, int]], heard: int) -> None:
        self.heard = heard
        makers, readers = _between_ops(is_op, edges)
        waiting = [len(mine) for mine in makers]
        order = [n for n, count in enumerate(waiting) if count == 0]
        for n in order:
            for b in readers[n]:
                waiting[b] -= 1
                if waiting[b] == 0:
                    order.append(b)
        self.order = [(n, tuple(makers[n])) for n in order if is_op[n]]
        self.count = len(is_op)

    def latest(self, readers: Sequence[int], most: int, rows: int, columns: int) -> int:
        """Return the highest row, at most ``most``, in which all these readers may sit, with what depends on them.

        -1: in no row. By halving, since what does not fit from a row on does not fit from a higher one either.
        """
        low, high = -1, min(most, rows - 1)
        while low < high:
            middle = (low + high + 1) // 2
            if self._fits(set(readers), middle, rows, columns):
                low = middle
            else:
                high = middle - 1
        return low

    def _fits(self, raised: set[int], row: int, rows: int, columns: int) -> bool:
        lowest = [0] * self.count
        above = [0] * rows
        for n, makers in self.order:
            least = upon([lowest[a] for a in makers], self.heard)
            here = max(least, row) if n in raised else least
            if here >= rows:
                return False
            lowest[n] = here
            above[here] += 1
        total = 0
        for r in range(rows - 1, -1, -1):
            total += above[r]
            if total > columns * (rows - r):
                return False
        return True


def count_columns(lowest: Iterable[int], rows: int) -> int | None:
    """The fewest columns in which the ops that sit in row r or above have room there, for every r; None: too few rows.

    ``lowest`` has the ops alone.
    """
    count = np.bincount(np.fromiter(lowest, dtype=np.int64), minlength=rows)
    if len(count) > rows:
        return None
    above = np.cumsum(count[::-1])
    return int((-(-above // np.arange(1, rows + 1))).max(initial=0))
