"""``openedge-cgra``: OpenEdgeCGRA, a torus of PEs that run programs of 32-bit instructions.

R. Rodriguez Alvarez, B. Denkinger, J. Sapriza, J. Miranda Calero, G. Ansaloni, D. Atienza, "An Open-Hardware
Coarse-Grained Reconfigurable Array for Edge Computing", CF 2023, and the README of github.com/esl-epfl/OpenEdgeCGRA:
4 x 4 PEs, four registers and one output register for each, one memory port for each column.

A cycle is one instruction of all PEs. It lasts as many clocks as its slowest operation, so that a column with several
accesses is slow and not illegal. What a mapping has to respect follows from the resources and traits given here:

- a PE runs :data:`OPS` and nothing else, has no slots for spills, and keeps live-ins in registers;
- a store overwrites the output register (``stores_write``);
- operand 2 is the flag of a select, which the PE or a neighbour has with its last result (``flags``);
- one immediate and one register for each instruction (``instructions``, judged by ``targets/modulo/rules``).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from gridloom.archs.model import Arch, ArchBuilder, Kind
from gridloom.archs.parts.files import add_file
from gridloom.archs.parts.grid import add_pe
from gridloom.archs.spec import check_size, finish_array, parameters
from gridloom.dfg.ops import OP_TABLE
from gridloom.targets.modulo.families.torus import add_links

#: The integer ops that a PE runs. ``ne`` is the branch that ends a loop.
OPS: Final = frozenset({
    "add", "sub", "mul", "shl", "shr", "lshr", "and", "or", "xor", "select_sign", "select_zero", "ne", "move",
})  # fmt: skip
#: Registers of a PE.
REGISTERS: Final = 4
_LACKS: Final = frozenset(
    name for name, op in OP_TABLE["i32"].items() if op.op_class in ("alu", "mul", "div") and name not in OPS
)


@dataclass(frozen=True, kw_only=True)
class OpenEdgeParameters:
    """Parameters of the array."""

    #: Rows of the array, 1 to 128.
    rows: int = 4
    #: Columns of the array, 1 to 128.
    cols: int = 4


@dataclass(frozen=True, kw_only=True)
class _Pe:
    """What all PEs have in common: two operands and a flag, and results after one instruction."""

    latency: dict[str, int] = field(default_factory=lambda: {"*": 1})
    operands: int = 3


def build(spec: Mapping[str, Any]) -> Arch:
    """Return the array. ArchError for a size that cannot be built."""
    p = parameters(OpenEdgeParameters, spec)
    check_size(p.rows, p.cols)
    builder = ArchBuilder()
    pe = _Pe()
    for row in range(p.rows):
        for col in range(p.cols):
            add_pe(builder, pe, row, col, {"alu", "mul", "mem", "route"}, moves=True, lacks=_LACKS)
            out = builder.index[f"pe_{row}_{col}.out"]
            builder.arc(out, out, 1)
    add_links(builder, p.rows, p.cols, pe.operands)
    for k, tile in enumerate(builder.tiles):
        add_file(builder, tile.name, k, REGISTERS, [k], rotating=0)
    _part_flags(builder, pe.operands - 1)
    return finish_array(
        builder,
        spec,
        style="modulo",
        size=(p.rows, p.cols),
        free=frozenset({"const"}),
        route_uses_fu=True,
        traits=frozenset({
            "registers", "wraps", "memory_access", "partial", "stores_write", "flags", "instructions",
        }),
    )  # fmt: skip


def _part_flags(builder: ArchBuilder, flag: int) -> None:
    """Take the arcs from registers to flags away: a register has none."""
    kinds = [(kind, position) for kind, _, position, *_ in builder.columns]
    builder.arcs = [
        arc for arc in builder.arcs if kinds[arc[0]][0] != Kind.REG or kinds[arc[1]] != (Kind.IN, flag)
    ]  # fmt: skip
