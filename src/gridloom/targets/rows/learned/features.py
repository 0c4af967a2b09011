"""What the mappability models see of a graph: numbers of the whole graph on an array, and what each width adds.

The numbers describe what makes rows of ALUs run out of wires: how deep the graph is against the rows, how many values
are alive between two levels, how far constants, inputs and outputs have to be carried. Levels are counted twice: in
ops, and in rows as :mod:`gridloom.targets.rows.bounds` gives them, where an op may share the row of an op that it
reads.

``NAMES`` lists the numbers of a pair: counts of array and graph, then those that do not depend on the columns
(``_by_ops``, ``_by_rows``). :func:`on_columns` gives the features on some columns: those that depend on them, the
latter, and ``_AGAINST`` of these set against the size of the array. Divisors (12, 40, 80) bring features to about 1;
they are part of the shipped weights, so a change of them needs a new training.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from gridloom.archs.model import Arch
from gridloom.dfg.model import Dfg
from gridloom.dfg.ops import OP_TABLE
from gridloom.targets.rows.bounds import count_columns, heard_in_row, register_rows, row_windows, short_of_registers

Floats = NDArray[np.float32]
Ints = NDArray[np.int32]

#: The ops in the order in which graphs number them.
OPS: Final = tuple(sorted(OP_TABLE["cma24"]))
_NUMBER: Final = {name: k for k, name in enumerate(OPS)}

OP, CONST, LOAD, STORE = 0, 1, 2, 3
_KIND: Final = tuple(
    {"const": CONST, "livein": CONST, "input": LOAD, "output": STORE}.get(name, OP) for name in OPS
)  # fmt: skip

#: Features on some columns: some depend on the columns of the array, some do not, and the last set the latter against
#: its size.
BY_COLUMNS: Final = 6
_ALONE: Final = 53
_AGAINST: Final = 15
GLOBAL_FEATURES: Final = BY_COLUMNS + _ALONE + _AGAINST
#: The numbers of a pair: counts of the array and of the graph, then the features that do not depend on the columns.
COUNTS: Final = (
    "rows", "columns", "registers_per_row", "own_row_operands", "ops", "constants", "loads", "stores", "bound",
    "least_rows", "least_columns",
)  # fmt: skip
NAMES: Final = (*COUNTS, *(f"alone_{k}" for k in range(_ALONE)))
#: Positions of the features that are set against columns (ops of the fullest level, the most values alive; early and
#: late, by ops and by rows) and against cells (all values alive; lengths of edges), and what those were divided by.
_PEAKS: Final = [BY_COLUMNS + k for k in (12, 13, 15, 17, 38, 39, 41, 43)]
_SUMS: Final = [BY_COLUMNS + k for k in (16, 18, 19, 42, 44)]
_PEAK_SCALE: Final = 12
_SUM_SCALES: Final = np.array([80, 80, 40, 80, 80], dtype=np.float32)


@dataclass(frozen=True, slots=True, kw_only=True)
class ArrayShape:
    """What the models know of an array.

    Two arrays with equal shapes are the same to the models.
    """

    rows: int
    cols: int
    #: How many constant registers it has.
    constants: int
    #: How many operands an op can have from its own row; -1: rows prove nothing.
    own_row_operands: int
    #: The row that each constant register serves first, ascending; empty: nothing is proved from them.
    register_rows: tuple[int, ...] = ()

    @classmethod
    def of(cls, arch: Arch) -> ArrayShape:
        """Return the shape of an array of rows."""
        heard = heard_in_row(arch)
        return cls(
            rows=arch.rows,
            cols=arch.cols,
            constants=sum(tile.kind == "const" for tile in arch.tiles),
            own_row_operands=-1 if heard is None else heard,
            register_rows=register_rows(arch),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class GraphFeatures:
    """A graph on an array, as the models see it."""

    shape: ArrayShape
    #: source[edge] and target[edge]; op number, constant and kind of each node: what the published network sees.
    source: Ints
    target: Ints
    ops: Ints
    values: Floats
    kinds: Ints
    #: The numbers of the pair (``NAMES``).
    numbers: NDArray[np.float64]
    #: The fewest columns by counting, and how many rows and columns the ops need at least; see ``bounds``.
    bound: int
    least_rows: int
    least_columns: int
    #: Whether the constants with readers in low rows outnumber the registers there.
    short_of_registers: bool = False

    @property
    def too_high(self) -> str:
        """In words, why rows, columns or constant registers prove that it does not fit; empty: they do not."""
        if self.least_rows > self.shape.rows:
            return f"needs at least {self.least_rows} rows, has {self.shape.rows}"
        if self.least_columns > self.shape.cols:
            return f"needs at least {self.least_columns} columns, has {self.shape.cols}"
        return "needs more constant registers in its lower rows than there are" if self.short_of_registers else ""


def encode(dfg: Dfg) -> tuple[list[int], list[int], list[tuple[int, int, int]]]:
    """Return a graph as numbers: op and constant of each node, (source, target, operand) of each edge.

    Ops that the array does not know become ``nop``. Edges that only order nodes are left out.
    """
    ops = [_NUMBER.get(node.op, _NUMBER["nop"]) for node in dfg.nodes]
    values = [int(node.value or 0) for node in dfg.nodes]
    index = dfg.index
    edges = [(index[e.source], index[e.target], e.operand) for e in dfg.edges if e.carries_value]
    return ops, values, edges


def of_graph(dfg: Dfg, shape: ArrayShape) -> GraphFeatures:
    """Return the features of a graph on an array. Linear in nodes and edges, about 1 ms.

    The graph has to be acyclic, else levels mean nothing.
    """
    ops, values, edges = encode(dfg)
    kinds = [_KIND[op] for op in ops]
    is_op = [kind == OP for kind in kinds]
    counts = (kinds.count(OP), kinds.count(CONST), kinds.count(LOAD), kinds.count(STORE))
    bound = max(1, -(-counts[0] // shape.rows), counts[2], counts[3])
    first, tail = _levels(kinds, edges)
    ends = np.array([edge[:2] for edge in edges], dtype=np.int32).reshape(-1, 2)
    heard = len(kinds) if shape.own_row_operands < 0 else shape.own_row_operands
    lowest, above = (np.array(rows, dtype=np.int32) for rows in row_windows(is_op, [e[:2] for e in edges], heard))
    height = int(lowest.max(initial=0)) + 1
    least = count_columns(lowest[np.array(is_op, dtype=bool)], max(height, shape.rows)) or 0
    alone = [*_by_ops(kinds, ends, first, tail, counts, shape), *_by_rows(kinds, ends, lowest, above, shape)]
    array = (shape.rows, shape.cols, shape.constants / shape.rows, shape.own_row_operands)
    return GraphFeatures(
        shape=shape,
        source=ends[:, 0],
        target=ends[:, 1],
        ops=np.array(ops, dtype=np.int32),
        values=np.array(values, dtype=np.float32),
        kinds=np.array(kinds, dtype=np.int32),
        numbers=np.array([*array, *counts, bound, height, least, *alone], dtype=np.float64),
        bound=bound,
        least_rows=height,
        least_columns=least,
        short_of_registers=height <= shape.rows and _short(kinds, edges, shape),
    )


def _short(kinds: Sequence[int], edges: Sequence[tuple[int, int, int]], shape: ArrayShape) -> bool:
    """Whether constant registers prove that a graph does not fit."""
    if shape.own_row_operands < 0 or not shape.register_rows:
        return False
    is_op, is_constant = [kind == OP for kind in kinds], [kind == CONST for kind in kinds]
    ends, size = [edge[:2] for edge in edges], (shape.rows, shape.cols)
    return short_of_registers(is_op, ends, is_constant, shape.own_row_operands, shape.register_rows, size) is not None


def _levels(kinds: Sequence[int], edges: Sequence[tuple[int, int, int]]) -> tuple[Ints, Ints]:
    """For each node the number of ops on the longest path before it and after it.

    Kahn's order; loads, stores and constants do not count as a level.
    """
    after: list[list[int]] = [[] for _ in kinds]
    waiting = [0] * len(kinds)
    for a, b, _ in edges:
        after[a].append(b)
        waiting[b] += 1
    order = [k for k, count in enumerate(waiting) if count == 0]
    first = [0] * len(kinds)
    for a in order:
        step = first[a] + (kinds[a] == OP)
        for b in after[a]:
            first[b] = max(first[b], step)
            waiting[b] -= 1
            if waiting[b] == 0:
                order.append(b)
    tail = [0] * len(kinds)
    for a in reversed(order):
        tail[a] = max((tail[b] + (kinds[b] == OP) for b in after[a]), default=0)
    return np.array(first, dtype=np.int32), np.array(tail, dtype=np.int32)


def _depth(kinds: Sequence[int], first: Ints, tail: Ints) -> int:
    """The number of ops on the longest path."""
    ops = np.asarray(kinds) == OP
    return int((first + tail)[ops].max(initial=0)) + 1


def on_columns(numbers: NDArray[np.float64], columns: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return [width, feature] for the numbers of a pair on the first columns of its array."""
    rows, _, registers, _, ops, constants, loads, stores, bound, _, least = numbers[: len(COUNTS)].tolist()
    alone = np.broadcast_to(numbers[len(COUNTS) :], (len(columns), _ALONE))
    wide = columns.astype(np.float64)[:, None]
    cells = rows * wide
    by_columns = [wide / 12, bound / wide, ops / cells, loads / wide, stores / wide]
    by_columns.append((ops + constants + loads + stores) / cells)
    against = [np.full_like(wide, constants / max(1.0, registers * rows)), least / wide]
    peaks, sums = (alone[:, [k - BY_COLUMNS for k in at]] for at in (_PEAKS, _SUMS))
    return np.concatenate(
        [*by_columns, alone, *against, peaks * _PEAK_SCALE / wide, sums * _SUM_SCALES / cells], axis=1
    )


def _by_ops(
    kinds: Sequence[int], ends: Ints, first: Ints, tail: Ints, counts: tuple[int, int, int, int], shape: ArrayShape
) -> Floats:
    """The global features with levels counted in ops, and the counts of nodes and edges."""
    kind = np.asarray(kinds)
    rows = shape.rows
    ops, constants, loads, stores = counts
    depth = _depth(kinds, first, tail)
    last = depth - 1 - tail
    is_op = kind == OP
    out = np.bincount(ends[:, 0], minlength=len(kind))
    a, b = ends[:, 0], ends[:, 1]
    inner = is_op[a] & is_op[b]
    spans = (first[b] - first[a])[inner]
    late = (last[b] - last[a])[inner]
    constant_edges = kind[a] == CONST
    values = [
        rows / 8, shape.constants / 16, ops / 40, constants / 16, loads / 12, stores / 12, len(ends) / 80,
        len(ends) / max(1, ops), depth / rows, max(0, depth - rows) / rows, depth / max(1, ops),
        ops / max(1, depth) / 8,
        *_profile(first, last, is_op, depth),
        *_alive(kind, ends, first, depth, a, b), *_alive(kind, ends, last, depth, a, b),
        spans.sum() / 40, float((spans > 1).sum()) / 20, late.sum() / 40, float((spans > 2).sum()) / 10,
        float((out[is_op] > 1).sum()) / 20, float(out[is_op].max(initial=0)) / 4, float(out[kind == LOAD].sum()) / 12,
        *_carried(kind, a, b, first, depth, rows),
        float(constant_edges.sum()) / 20, *_constants(a[constant_edges], b[constant_edges], first, last, rows),
    ]  # fmt: skip
    return np.array(values, dtype=np.float32)


def _by_rows(kinds: Sequence[int], ends: Ints, lowest: Ints, above: Ints, shape: ArrayShape) -> list[float]:
    """The global features with rows as levels: as low as they can be, and as high as their readers allow."""
    kind = np.asarray(kinds)
    is_op = kind == OP
    a, b = ends[:, 0], ends[:, 1]
    height = int(lowest.max(initial=0)) + 1
    room = max(height, shape.rows)
    highest = np.where(is_op, np.maximum(lowest, room - 1 - above), lowest)
    constant_edges = kind[a] == CONST
    beside = is_op[a] & is_op[b] & (lowest[a] == lowest[b])
    return [
        height / shape.rows, (int((lowest + above)[is_op].max(initial=0)) + 1) / shape.rows, float(beside.sum()) / 40,
        *_profile(lowest, highest, is_op, room),
        *_alive(kind, ends, lowest, room, a, b), *_alive(kind, ends, highest, room, a, b),
        *_carried(kind, a, b, lowest, height, shape.rows),
        *_constants(a[constant_edges], b[constant_edges], lowest, highest, shape.rows),
    ]  # fmt: skip


def _profile(first: Ints, last: Ints, is_op: NDArray[np.bool_], depth: int) -> list[float]:
    """Ops of the fullest level, with all ops as early and as late as they can be; ops without any slack."""
    early = np.bincount(first[is_op], minlength=depth)
    late = np.bincount(last[is_op], minlength=depth)
    tight = float((first == last)[is_op].sum())
    return [float(early.max(initial=0)) / 12, float(late.max(initial=0)) / 12, tight / 40]


def _alive(kind: NDArray[np.int_], ends: Ints, level: Ints, depth: int, a: Ints, b: Ints) -> list[float]:
    """Values alive between two levels: the maximum and the sum; constants are in every row and do not count.

    A value is alive from the level after its producer to the level of its last reader; inputs come in at the bottom.
    Counted with a difference array, so linear in nodes, edges and levels.
    """
    counted = (kind[a] != CONST) & (kind[b] != STORE)
    until = np.full(len(kind), -1, dtype=np.int32)
    if len(ends):
        np.maximum.at(until, a[counted], level[b[counted]])
    # An input enters below the first row, whatever its level.
    start = np.where(kind == LOAD, 0, level + 1)
    delta = np.zeros(depth + 2, dtype=np.int32)
    alive = until >= start
    np.add.at(delta, start[alive], 1)
    np.add.at(delta, until[alive] + 1, -1)
    profile = np.cumsum(delta)
    return [float(profile.max(initial=0)) / 12, float(profile.sum()) / 80]


def _carried(kind: NDArray[np.int_], a: Ints, b: Ints, first: Ints, depth: int, rows: int) -> list[float]:
    """How far inputs are carried up and outputs down, in rows."""
    from_load = (kind[a] == LOAD) & (kind[b] == OP)
    to_store = kind[b] == STORE
    inputs = np.zeros(len(kind), dtype=np.float32)
    np.maximum.at(inputs, a[from_load], first[b[from_load]].astype(np.float32))
    made = first[a[to_store]]
    return [
        float(inputs.sum()) / rows / 12,
        float(inputs.max(initial=0)) / rows,
        float(made.sum()) / rows / 12,
        float((depth - 1 - made).sum()) / rows / 12,
    ]


def _constants(source: Ints, reader: Ints, first: Ints, last: Ints, rows: int) -> list[float]:
    """How spread the readers of constants are: at how many levels they are, and how far apart."""
    if not len(source):
        return [0.0, 0.0, 0.0, 0.0]
    pairs = {(int(c), int(level)) for c, level in zip(source, first[reader], strict=True)}
    by_level = np.bincount([level for _, level in pairs])
    readers = np.bincount(source)
    spread = 0
    for c in set(source.tolist()):
        mine = reader[source == c]
        spread += max(0, int(first[mine].max()) - int(last[mine].min()))
    return [
        len(pairs) / (2 * rows),
        float(by_level.max()) / 4,
        float(readers.max()) / 8,
        spread / rows / 4,
    ]
