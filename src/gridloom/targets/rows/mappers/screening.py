"""What is known about a graph on the columns of an array of rows before any search: the width bound, refusals, pins.

Every refusal here is a proof, and costs no more than a pass over nodes and edges. Counting comes first; the argument by
rows (:mod:`gridloom.targets.rows.bounds`) is stronger where chains are long. What passes may still not fit.
"""

from __future__ import annotations

from gridloom.archs.model import Arch
from gridloom.mapping.model import Failure, as_proof
from gridloom.targets.rows.bounds import (
    RegisterDemand,
    count_columns,
    heard_in_row,
    register_rows,
    row_windows,
    short_of_registers,
)
from gridloom.targets.rows.mappers.problem import CONST, LOAD, OP, STORE, RowGraph


def width_bound(graph: RowGraph, arch: Arch) -> int:
    """The fewest columns that counting allows: max(ops / rows, loads, stores), at least 1.

    A column has one PE per row, one load port and one store port.
    """
    return max(1, -(-graph.count(OP) // arch.rows), graph.count(LOAD), graph.count(STORE))


def screen(graph: RowGraph, arch: Arch, columns: int) -> Failure | None:
    """Why the graph cannot be mapped on so many columns, where counting or the row of every op shows it.

    None does not mean that it fits.
    """
    return as_proof(
        screen_by_counts(graph, arch, columns) or too_high(graph, arch, columns) or _low_constants(graph, arch, columns)
    )


def screen_by_counts(graph: RowGraph, arch: Arch, columns: int) -> Failure | None:
    """Why the graph cannot be mapped on so many columns, where its kinds of edges and ops or their number show it."""
    return _unknown_edge(graph, arch) or _missing_class(graph, arch) or _short(graph, arch, columns)


def too_high(graph: RowGraph, arch: Arch, columns: int) -> Failure | None:
    """Why the rows do not suffice on so many columns, where the lowest row of every op shows it; see ``bounds``.

    Either some op would lie above the last row, or the ops that have to sit in row r and above outnumber the PEs there
    for some r. None when the array lets values come down, since rows say nothing then.
    """
    heard = heard_in_row(arch)
    if heard is None:
        return None
    lowest = _lowest_rows(graph, heard)
    needed = count_columns(lowest, arch.rows)
    if needed is not None and needed <= columns:
        return None
    levers = ("parts: gridloom partition", "a larger array")
    if needed is None:
        ops = "an op" if heard == 1 else f"{heard} ops"
        demand = f"{max(lowest) + 1} rows: at most the value of {ops} comes from a reader's own row"
        return Failure(constraint="rows", demand=demand, bound=f"{arch.rows} rows", levers=levers)
    first = next(r for r in range(arch.rows) if sum(row >= r for row in lowest) > columns * (arch.rows - r))
    return Failure(
        constraint="rows",
        demand=f"{sum(row >= first for row in lowest)} ops in row {first} or above",
        bound=f"{columns * (arch.rows - first)} PEs there in {columns} columns",
        levers=levers,
    )


def _low_constants(graph: RowGraph, arch: Arch, columns: int) -> Failure | None:
    """Why the registers of the lower rows do not suffice for the constants whose readers cannot sit higher."""
    short = low_constants(graph, arch, columns)
    if short is None:
        return None
    return Failure(
        constraint="constant registers",
        demand=f"{short.constants} constants with a reader in row {short.row} or below, whatever the placement",
        bound=f"{short.registers} registers that serve rows 0 to {short.row}",
        levers=("parts: gridloom partition", "fewer constants"),
    )


def low_constants(graph: RowGraph, arch: Arch, columns: int) -> RegisterDemand | None:
    """Return which constants need more registers of low rows than there are; None: nothing is proved."""
    heard = heard_in_row(arch)
    if heard is None:
        return None
    edges = list(zip(graph.source.tolist(), graph.target.tolist(), strict=True))
    is_op, is_constant = (graph.group == OP).tolist(), (graph.group == CONST).tolist()
    return short_of_registers(is_op, edges, is_constant, heard, register_rows(arch), (arch.rows, columns))


def columns_by_rows(graph: RowGraph, arch: Arch) -> int | None:
    """The fewest columns that the lowest row of every op allows; None: the rows do not suffice on any number."""
    heard = heard_in_row(arch)
    return 1 if heard is None else count_columns(_lowest_rows(graph, heard), arch.rows)


def _lowest_rows(graph: RowGraph, heard: int) -> list[int]:
    """The lowest row of each op; nodes that are no ops are left out."""
    is_op = (graph.group == OP).tolist()
    lowest, _ = row_windows(is_op, zip(graph.source.tolist(), graph.target.tolist(), strict=True), heard)
    return [row for row, op in zip(lowest, is_op, strict=True) if op]


def _unknown_edge(graph: RowGraph, arch: Arch) -> Failure | None:
    """A failure for the first edge that carries no data or is loop-carried: the array has no storage for either."""
    dfg = graph.dfg
    for edge in dfg.edges:
        if edge.kind != "data" or edge.distance:
            what = f"{edge.source} -> {edge.target} is loop-carried" if edge.distance else f"an {edge.kind} edge"
            return Failure(
                constraint="edges",
                demand=f"storage or order between cycles: {what}",
                bound=f"none on {arch.name}: values only go up",
                levers=("an array with registers: torus",),
            )
    return None


def _missing_class(graph: RowGraph, arch: Arch) -> Failure | None:
    """A failure when some op class is on no tile of the array."""
    dfg = graph.dfg
    classes = frozenset.union(*(tile.classes for tile in arch.tiles))
    missing = sorted({c for node in dfg.nodes for c in dfg.required_classes(node.id)} - classes - arch.free)
    if missing:
        return Failure(
            constraint="op classes",
            demand=f"a tile for {' and for '.join(missing)}",
            bound=f"none on {arch.name}",
            levers=("an array that has them: gridloom list archs", "domain cma24: its multiplication is an ALU op"),
        )
    lacking = sorted(
        {node.op for node in dfg.nodes if not any(t.runs(node.op, dfg.required_classes(node.id)) for t in arch.tiles)}
        if arch.has("partial")
        else ()
    )
    if lacking:
        return Failure(
            constraint="ops",
            demand=f"a tile that runs {' and one that runs '.join(lacking)}",
            bound=f"none on {arch.name}",
            levers=("an array that has them: gridloom list archs",),
        )
    return None


def _short(graph: RowGraph, arch: Arch, columns: int) -> Failure | None:
    """A failure for a constant out of range, or for more constants, ops, loads or stores than there is room for."""
    for k in graph.nodes.tolist():
        node = graph.dfg.nodes[k]
        if node.op == "const" and "constants_17_bits" in arch.rules and not _in_17_bits(int(node.value or 0)):
            return Failure(
                constraint="constant range",
                demand=f"{node.value} for {node.id!r}",
                bound="-65536 to 65535: constant registers have 17 bits",
                levers=("a smaller constant and a shift",),
            )
    registers = sum(tile.kind == "const" for tile in arch.tiles)
    if graph.count(CONST) > registers:
        return _too_many("constants", graph.count(CONST), f"{registers} constant registers")
    if width_bound(graph, arch) > columns:
        demands = [
            ("ops", graph.count(OP), columns * arch.rows, f"PEs in {columns} columns"),
            ("loads", graph.count(LOAD), columns, "load ports"),
            ("stores", graph.count(STORE), columns, "store ports"),
        ]
        name, found, has, room = next(row for row in demands if row[1] > row[2])
        return _too_many(name, found, f"{has} {room}")
    return None


def _in_17_bits(value: int) -> bool:
    """True when the 24-bit word is the sign extension of its low 17 bits.

    >>> [_in_17_bits(value) for value in (65535, 65536, -65536, -65537)]
    [True, False, True, False]
    """
    return ((value & 0xFFFFFF) + 0x10000) & 0xFFFFFF < 0x20000


def _too_many(constraint: str, found: int, bound: str) -> Failure:
    """A failure of counting, in the words that all of them share."""
    levers = ("parts: gridloom partition", "a larger array")
    return Failure(constraint=constraint, demand=f"{found} {constraint}", bound=bound, levers=levers)


def find_misplaced_pin(graph: RowGraph, arch: Arch, pinned: dict[int, int], columns: int) -> Failure | None:
    """A failure for the first pinned node whose tile cannot run it or is outside the columns; None: all of them fit."""
    for n, tile in pinned.items():
        name = graph.dfg.nodes[graph.nodes[n]].id
        record = arch.tiles[tile]
        if not graph.dfg.required_classes(name) <= record.classes or record.col >= columns:
            return Failure(
                constraint=f"node {name!r} on tile {record.name!r}",
                demand=f"op class {graph.dfg.op_class(name)}",
                bound=f"classes {', '.join(sorted(record.classes))} in column {record.col} of {columns}",
                levers=("another tile",),
            )
    return None
