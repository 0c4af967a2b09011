"""``vpcma``: rows of combinational ALUs over a memory edge, with a pipeline register between rows where switched on.

A PE at column x, row y has an ALU with two operands and a switching element with outputs N, S, E, W; nothing has a
latency but the row boundaries that ``settings["pipeline"]`` switches on: there the ALU links and the N outputs are
registered. Values go up; an output turns south once, in the last stage, and runs down the S chain to its column's
store port. Constants sit in registers of 17 bits, sign-extended: row y reads registers y and y + rows.

Multiplexer inputs (S, E, W: the N, W, E outputs of the neighbour there; in row 0, S is the column's load port; links:
the ALUs to the south, south-east and south-west):

======= ===================================================================
operand S, E, W, the three links, constant y, constant y + rows
N       own ALU, S, E, W, the three links, constant y
E       own ALU, S, W, the three links
W       S, E, link S, link SE
S       own ALU, E, W, the S output of the north
======= ===================================================================

The array is the variable-pipeline Cool Mega Array. Registers between rows shorten the clock period and cost latency and
energy; which boundaries are registered is the mapping's choice, one bit each. The model has no arc downwards but the S
chain, so that the row of an op bounds the rows of what depends on it (``gridloom.targets.rows.bounds``).

What arrays of combinational rows are made of: ALUs, load and store ports, constant registers.

Nothing here takes a cycle: a family adds the multiplexers between these parts and the boundaries that are registered.

Tiles made here have latency 0 for every op class, no FIFO and one context. Ports and constant registers stand outside
the grid, at rows or columns below 0, so that the extent of a mapping counts PEs only.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from gridloom.archs.model import Arch, ArchBuilder, Kind, Setting, Tile
from gridloom.archs.spec import check_size, finish_array, parameters
from gridloom.errors import ArchError

_UNTIMED: Final[dict[str, Any]] = {"latency": {"*": 0}, "fifo": 0, "contexts": 1}


def add_alu(
    builder: ArchBuilder,
    row: int,
    col: int,
    classes: frozenset[str],
    *,
    routes: bool,
    lacks: frozenset[str] = frozenset(),
) -> int:
    """Add the PE ``pe_ROW_COL`` with an ALU of two operands and return its tile.

    With ``routes``, an unused ALU can pass operand 0 on; ``lacks`` are ops of its classes that it does not have.
    """
    name = f"pe_{row}_{col}"
    tile = builder.add_tile(Tile(name=name, row=row, col=col, classes=classes, operands=2, lacks=lacks, **_UNTIMED))
    unit = builder.add(f"{name}.fu", Kind.FU, tile)
    builder.arc(unit, builder.add(f"{name}.out", Kind.OUT, tile))
    for k in range(2):
        operand = builder.add(f"{name}.in{k}", Kind.IN, tile, position=k)
        if k == 0 and routes:
            builder.arc(operand, unit)
    return tile


def add_load_port(builder: ArchBuilder, k: int, row: int, col: int) -> int:
    """Add ``load_K``, where an input stream enters, and return its tile."""
    name = f"load_{k}"
    port = Tile(name=name, row=row, col=col, kind="load", classes=frozenset({"input"}), operands=0, **_UNTIMED)
    tile = builder.add_tile(port)
    builder.arc(builder.add(f"{name}.fu", Kind.FU, tile), builder.add(f"{name}.out", Kind.OUT, tile))
    return tile


def add_store_port(builder: ArchBuilder, k: int, row: int, col: int) -> int:
    """Add ``store_K``, where an output stream leaves, and return its tile."""
    name = f"store_{k}"
    port = Tile(name=name, row=row, col=col, kind="store", classes=frozenset({"output"}), operands=1, **_UNTIMED)
    tile = builder.add_tile(port)
    builder.add(f"{name}.fu", Kind.FU, tile)
    builder.add(f"{name}.in0", Kind.IN, tile)
    return tile


def add_constant_register(builder: ArchBuilder, k: int, rows: int) -> None:
    """Add ``const_K`` beside row ``k % rows``, which reads it; those of a second round stand one column further."""
    row, col = k % rows, -1 - k // rows
    holds = frozenset({"const", "livein"})
    register = Tile(name=f"const_{k}", row=row, col=col, kind="const", classes=holds, latency={"*": 0}, operands=0)
    builder.add(f"const_{k}.fu", Kind.CONST, builder.add_tile(register))


@dataclass(frozen=True, kw_only=True)
class VpcmaParameters:
    """Parameters of the array; the defaults are the published chip."""

    #: Rows of PEs, 1 to 128; row 0 is next to the ports.
    rows: int = 8
    #: Columns of PEs, 1 to 128; each has a load and a store port.
    cols: int = 12
    #: Constant registers, at most and by default two per row: row y reads registers y and y + rows.
    constants: int | None = None
    #: True when an unused ALU can pass operand A on.
    alu_routes: bool = True
    #: True when the ALUs multiply; without, products with constants become shifts and sums.
    multiplier: bool = True


def build(spec: Mapping[str, Any]) -> Arch:
    """Return the array that a description names.

    Tiles are numbered: PEs row by row, the load and store port of each column, constant registers. All inputs issue at
    cycle 0 and all outputs in one cycle, which the rules ``outputs_together`` and ``constants_17_bits`` of ``verify``
    check.
    """
    p = parameters(VpcmaParameters, spec)
    check_size(p.rows, p.cols)
    if not 0 <= _constants(p) <= 2 * p.rows:
        raise ArchError(f"constants: expected 0 to {2 * p.rows} (two per row), found {p.constants}")
    builder = ArchBuilder()
    _add_pes(builder, p)
    _add_ports(builder, p)
    for y in range(p.rows):
        for x in range(p.cols):
            _connect(builder, p, x, y)
    return finish_array(
        builder,
        spec,
        style="static",
        size=(p.rows, p.cols),
        settings=(Setting(name="pipeline", length=p.rows - 1, summary="registers between row y and y + 1"),),
        free=frozenset(),
        inputs="aligned",
        rules=("outputs_together", "constants_17_bits"),
        route_uses_fu=p.alu_routes,
        traits=frozenset({"rows", "upward", "words24"} | (set() if p.multiplier else {"partial"})),
    )


def _constants(p: VpcmaParameters) -> int:
    """Return how many constant registers there are."""
    return 2 * p.rows if p.constants is None else p.constants


def _add_pes(builder: ArchBuilder, p: VpcmaParameters) -> None:
    """Add the PEs, each with its ALU and the four outputs of its switching element."""
    classes = frozenset({"alu"} | ({"route"} if p.alu_routes else set()))
    lacks = frozenset() if p.multiplier else frozenset({"mult"})
    for y in range(p.rows):
        for x in range(p.cols):
            tile = add_alu(builder, y, x, classes, routes=p.alu_routes, lacks=lacks)
            for k, side in enumerate("nesw"):
                builder.add(f"pe_{y}_{x}.{side}", Kind.SWITCH, tile, position=k)


def _add_ports(builder: ArchBuilder, p: VpcmaParameters) -> None:
    """Add a load and a store port below each column, and the constant registers."""
    for x in range(p.cols):
        add_load_port(builder, x, -1, x)
        add_store_port(builder, x, -2, x)
        builder.arc(builder.index[f"pe_0_{x}.s"], builder.index[f"store_{x}.in0"])
    for k in range(_constants(p)):
        add_constant_register(builder, k, p.rows)


def _connect(builder: ArchBuilder, p: VpcmaParameters, x: int, y: int) -> None:
    """Add the arcs into the multiplexers of one PE, as the table at the head of this module lists them."""
    at = builder.index
    name = f"pe_{y}_{x}"
    gate = y - 1
    south = [(at[f"load_{x}.out"], -1)] if y == 0 else [(at[f"pe_{y - 1}_{x}.n"], gate)]
    east = [(at[f"pe_{y}_{x + 1}.w"], -1)] if x + 1 < p.cols else []
    west = [(at[f"pe_{y}_{x - 1}.e"], -1)] if x > 0 else []
    link = {
        side: [(at[f"pe_{y - 1}_{x + dx}.out"], gate)] if y > 0 and 0 <= x + dx < p.cols else []
        for side, dx in (("s", 0), ("se", 1), ("sw", -1))
    }
    links = link["s"] + link["se"] + link["sw"]
    low = [(at[f"const_{y}.fu"], -1)] if y < _constants(p) else []
    high = [(at[f"const_{y + p.rows}.fu"], -1)] if y + p.rows < _constants(p) else []
    own = [(at[f"{name}.out"], -1)]
    north = [(at[f"pe_{y + 1}_{x}.s"], -1)] if y + 1 < p.rows else []
    inputs = {
        "in0": south + east + west + links + low + high,
        "in1": south + east + west + links + low + high,
        "n": own + south + east + west + links + low,
        "e": own + south + west + links,
        "w": south + east + link["s"] + link["se"],
        "s": own + north + east + west,
    }
    for pin, sources in inputs.items():
        for source, bit in sources:
            builder.arc(source, at[f"{name}.{pin}"], 0, bit)
