"""``king``: a static grid in which each tile has a link to each of the up to eight tiles around it.

A tile computes and passes signals on at the same time. A value arrives at a neighbour in the cycle in which it leaves
the output register; each tile that it passes through adds a cycle. A link carries one signal.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from gridloom.archs.model import Arch, ArchBuilder, Kind
from gridloom.archs.parts.grid import add_pe
from gridloom.archs.spec import check_latency, check_range, check_size, finish_array, parameters

_CLASSES = ("alu", "mul", "div", "fp", "mem", "mem_data", "input", "output")
_STEPS = tuple((r, c) for r in (-1, 0, 1) for c in (-1, 0, 1) if (r, c) != (0, 0))


@dataclass(frozen=True, kw_only=True)
class KingParameters:
    """Parameters of the family; each is a ``key=value`` of an ARCH string."""

    #: Rows of the grid, 1 to 128.
    rows: int
    #: Columns of the grid, 1 to 128.
    cols: int
    #: Cycles that an operand may wait in its FIFO; none: no limit.
    fifo: int | None = None
    #: Op latency by op class; ``"*"`` is the rest.
    latency: dict[str, int] = field(default_factory=lambda: {"*": 1})
    #: Operands of a function unit, 1 to 8.
    operands: int = 3


def build(spec: Mapping[str, Any]) -> Arch:
    """The array of a description such as ``{"family": "king", "rows": 4, "cols": 4}``."""
    p = parameters(KingParameters, spec)
    check_size(p.rows, p.cols)
    check_range(p, "operands", 1, 8)
    check_range(p, "fifo", 0, 1024)
    check_latency(p.latency)
    builder = ArchBuilder()
    cells = [(row, col) for row in range(p.rows) for col in range(p.cols)]
    for row, col in cells:
        add_pe(builder, p, row, col, _CLASSES, moves=False, fifo=p.fifo, contexts=1)
    _add_links(builder, cells, p.operands)
    # The trait is what makes mappers for static grids take the array.
    size = (p.rows, p.cols)
    return finish_array(builder, spec, style="static", size=size, inputs="aligned", traits=frozenset({"grid"}))


def _add_links(builder: ArchBuilder, cells: list[tuple[int, int]], operands: int) -> None:
    """Add a link for each king's move, its ways into the operands, and the crossbar to the links that lead on."""
    number = {cell: k for k, cell in enumerate(cells)}
    leaving: dict[tuple[int, int], list[tuple[tuple[int, int], int]]] = {cell: [] for cell in cells}
    for a in cells:
        for step in _STEPS:
            b = (a[0] + step[0], a[1] + step[1])
            if b not in number:
                continue
            source, target = f"pe_{a[0]}_{a[1]}", f"pe_{b[0]}_{b[1]}"
            link = builder.add(f"{source}>{target}", Kind.LINK, number[a], position=len(leaving[a]))
            leaving[a].append((b, link))
            builder.arc(builder.index[f"{source}.out"], link)
            for k in range(operands):
                builder.arc(link, builder.index[f"{target}.in{k}"])
    for a in cells:
        for b, link in leaving[a]:
            for c, onward in leaving[b]:
                if c != a:
                    builder.arc(link, onward, 1)
