"""What the mappability models see of a graph: features of its nodes, its edges, and features of the whole graph.

The global features describe what makes rows of ALUs run out of wires: how deep the graph is against the rows, how many
values are alive between two levels, how far constants, inputs and outputs have to be carried. Levels are counted twice:
in ops, and in rows as :mod:`gridloom.targets.rows.bounds` gives them, where an op may share the row of an op that it
reads.

Layout: ``nodes`` is [node, 15]: kind (one of four), operands, fan-out (logarithm, more than one), ops before and after
on the longest path, slack, depth, reach of the furthest reader, and the window of rows. The global vector has three
parts: ``BY_COLUMNS`` features that depend on the columns, then those that do not (``_by_ops``, ``_by_rows``), then
``_AGAINST`` of them set against the size of the array. The parts that depend on columns can be replaced for other
numbers of columns without computing the rest again (:func:`on_columns`). Divisors (12, 40, 80) bring features to about
1; they are part of the shipped weights, so a change of them needs a new training.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

import numpy as np
from numpy.typing import NDArray

from gridloom.archs.model import Arch
from gridloom.dfg.model import Dfg
from gridloom.targets.rows.bounds import count_columns, heard_in_row, register_rows, row_windows, short_of_registers
from gridloom.targets.rows.learned.data import OPS, LabelledGraph, encode

Floats = NDArray[np.float32]
Ints = NDArray[np.int32]

OP, CONST, LOAD, STORE = 0, 1, 2, 3
_KIND: Final = tuple(
    {"const": CONST, "livein": CONST, "input": LOAD, "output": STORE}.get(name, OP) for name in OPS
)  # fmt: skip

NODE_FEATURES: Final = 15
#: Global features: some depend on the columns of the array, some do not, and the last set the latter against its size.
BY_COLUMNS: Final = 6
_ALONE: Final = 53
_AGAINST: Final = 15
GLOBAL_FEATURES: Final = BY_COLUMNS + _ALONE + _AGAINST
#: Positions of the features that only say which array it is: columns, rows, constant registers.
ARRAY_COLUMNS, ARRAY_ROWS, ARRAY_CONSTANTS = 0, BY_COLUMNS, BY_COLUMNS + 1
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
    """The features of a graph on an array.

    It is made for one array shape; ``bound`` is the fewest columns by counting.
    """

    shape: ArrayShape
    #: nodes[node, feature]; source[edge] and target[edge]; features of the whole graph.
    nodes: Floats
    source: Ints
    target: Ints
    global_features: Floats
    #: Op number (for the published features), constant and kind of each node.
    ops: Ints
    values: Floats
    kinds: Ints
    bound: int
    counts: tuple[int, int, int, int]
    #: How many rows it needs at least, and how many columns its ops need in them; see ``bounds``.
    least_rows: int
    least_columns: int
    #: Whether the constants with readers in low rows outnumber the registers there.
    short_of_registers: bool = False

    @property
    def too_high(self) -> bool:
        """Whether the rows, columns or constant registers that it needs at least prove that it does not fit."""
        high = self.least_rows > self.shape.rows or self.least_columns > self.shape.cols
        return high or self.short_of_registers


def of_row(row: LabelledGraph, shape: ArrayShape) -> GraphFeatures:
    """Return the features of a labelled graph."""
    return features(row.ops, row.values, row.edges, shape)


def of_graph(dfg: Dfg, shape: ArrayShape) -> GraphFeatures:
    """Return the features of a graph. Linear in nodes and edges, about 1 ms."""
    return features(*encode(dfg), shape)


def features(
    ops: Sequence[int], values: Sequence[int], edges: Sequence[tuple[int, int, int]], shape: ArrayShape
) -> GraphFeatures:
    """Return the features of a graph given as numbers (``data.encode``).

    The graph has to be acyclic, else levels mean nothing.
    """
    kinds = [_KIND[op] for op in ops]
    is_op = [kind == OP for kind in kinds]
    counts = (kinds.count(OP), kinds.count(CONST), kinds.count(LOAD), kinds.count(STORE))
    bound = max(1, -(-counts[0] // shape.rows), counts[2], counts[3])
    first, tail = _levels(kinds, edges)
    ends = np.array([edge[:2] for edge in edges], dtype=np.int32).reshape(-1, 2)
    heard = len(kinds) if shape.own_row_operands < 0 else shape.own_row_operands
    lowest, above = (np.array(rows, dtype=np.int32) for rows in row_windows(is_op, [e[:2] for e in edges], heard))
    nodes = _nodes(kinds, ends, first, tail, shape)
    nodes[:, 12:] = np.stack([lowest, above, shape.rows - 1 - lowest - above], axis=1) / shape.rows
    height = int(lowest.max(initial=0)) + 1
    least = count_columns(lowest[np.array(is_op, dtype=bool)], max(height, shape.rows)) or 0
    alone = [*_by_ops(kinds, ends, first, tail, counts, shape), *_by_rows(kinds, ends, lowest, above, shape)]
    whole = np.concatenate([np.zeros(BY_COLUMNS), alone, np.zeros(_AGAINST)]).astype(np.float32)
    _set_size(whole, counts, bound, least, shape)
    return GraphFeatures(
        shape=shape,
        nodes=nodes,
        source=ends[:, 0],
        target=ends[:, 1],
        global_features=whole,
        ops=np.array(ops, dtype=np.int32),
        values=np.array(values, dtype=np.float32),
        kinds=np.array(kinds, dtype=np.int32),
        bound=bound,
        counts=counts,
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


def _nodes(kinds: Sequence[int], ends: Ints, first: Ints, tail: Ints, shape: ArrayShape) -> Floats:
    """The features of each node; those about rows are filled in later."""
    count = len(kinds)
    out = np.bincount(ends[:, 0], minlength=count).astype(np.float32)
    depth = float(_depth(kinds, first, tail))
    nodes = np.zeros((count, NODE_FEATURES), dtype=np.float32)
    nodes[np.arange(count), kinds] = 1.0
    nodes[:, 4] = np.bincount(ends[:, 1], minlength=count) / 2
    nodes[:, 5] = np.log1p(out)
    nodes[:, 6] = out > 1
    nodes[:, 7] = first / shape.rows
    nodes[:, 8] = tail / shape.rows
    nodes[:, 9] = (depth - 1 - first - tail) / shape.rows
    nodes[:, 10] = depth / shape.rows
    reach = np.zeros(count, dtype=np.float32)
    if len(ends):
        np.maximum.at(reach, ends[:, 0], first[ends[:, 1]] - first[ends[:, 0]])
    nodes[:, 11] = reach / shape.rows
    return nodes


def _depth(kinds: Sequence[int], first: Ints, tail: Ints) -> int:
    """The number of ops on the longest path."""
    ops = np.asarray(kinds) == OP
    return int((first + tail)[ops].max(initial=0)) + 1


def on_columns(graph: GraphFeatures, columns: int) -> Floats:
    """Return the global features of a graph on the first ``columns`` of its array."""
    whole = graph.global_features.copy()
    _set_size(whole, graph.counts, graph.bound, graph.least_columns, replace(graph.shape, cols=columns))
    return whole


def _set_size(whole: Floats, counts: tuple[int, int, int, int], bound: int, least: int, shape: ArrayShape) -> None:
    """Fill in the global features that depend on the columns of the array."""
    ops, constants, loads, stores = counts
    cells = shape.rows * shape.cols
    whole[:BY_COLUMNS] = [
        shape.cols / 12,
        bound / shape.cols,
        ops / cells,
        loads / shape.cols,
        stores / shape.cols,
        (ops + constants + loads + stores) / cells,
    ]
    whole[-_AGAINST] = constants / max(1, shape.constants)
    whole[-_AGAINST + 1] = least / shape.cols
    whole[-_AGAINST + 2 : -len(_SUMS)] = whole[_PEAKS] * _PEAK_SCALE / shape.cols
    whole[-len(_SUMS) :] = whole[_SUMS] * _SUM_SCALES / cells


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
