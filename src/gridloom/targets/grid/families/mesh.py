"""``mesh``, ``onehop``, ``hex``, ``chess``: static grids of PEs that compute and pass signals on at the same time.

A PE has a function unit with a registered output, operand FIFOs after the operand multiplexers, and a crossbar from
its incoming links to its outgoing ones. One hop arrives after the op latency; each tile passed through adds a cycle.
With ``link=1`` a register stands at the end of each link: a value spends a cycle there, whether it goes on or not.
The II is 1: a link carries one signal, and an operand input serves one edge.

=========  ===========================================================================
``mesh``   neighbours at distance 1 in row or column
``onehop`` neighbours at distance 1 and 2 in row or column
``chess``  cells with the ``onehop`` links (white, (row + col) even) alternate with ``mesh`` cells; links go both ways
``hex``    6 neighbours; even rows are shifted left
=========  ===========================================================================
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from gridloom.archs.model import Arch, ArchBuilder, Kind
from gridloom.archs.parts.grid import add_pe, neighbours
from gridloom.archs.selectors import numbers, select
from gridloom.archs.spec import check_latency, check_range, check_size, finish_array, parameters
from gridloom.dfg.ops import OP_CLASSES
from gridloom.errors import ArchError

_PE_CLASSES = ("alu", "mul", "div", "fp", "mem", "mem_data", "input", "output")


@dataclass(frozen=True, kw_only=True)
class MeshParameters:
    """Parameters of the static grids."""

    #: Rows of the grid, 1 to 128.
    rows: int
    #: Columns of the grid, 1 to 128.
    cols: int
    #: ``aligned``: all inputs issue at cycle 0; ``skewed``: each input at a cycle of its own.
    inputs: Literal["aligned", "skewed"] = "aligned"
    #: Which tiles take inputs and outputs: a selector; ``any`` or ``border``.
    io: Any = "any"
    #: Which tiles multiply: a selector.
    mul: Any = "all"
    #: Further op classes by selector, e.g. ``{div: none}``.
    classes: dict[str, Any] = field(default_factory=dict)
    #: Cycles that an operand may wait in its FIFO: a number map; null: no limit.
    fifo: Any = None
    #: Op latency by op class; ``"*"`` is the rest. At least 1: the output register.
    latency: dict[str, int] = field(default_factory=lambda: {"*": 1})
    #: Operands of a function unit, 1 to 8.
    operands: int = 3
    #: Cycles of a link, 0 or 1: with 1 a register stands at its end, so that its wire is not part of longer paths.
    link: int = 0


def build(spec: Mapping[str, Any]) -> Arch:
    """Return the static grid that a description names.

    Tiles are numbered row by row. ArchError for a parameter out of its range, an op class that does not exist, or a
    selector that does not fit the grid.
    """
    p = parameters(MeshParameters, spec)
    family = spec["family"]
    check_size(p.rows, p.cols)
    check_range(p, "operands", 1, 8)
    check_range(p, "link", 0, 1)
    check_latency(p.latency)
    builder = ArchBuilder()
    _add_tiles(builder, p)
    _add_links(builder, family, p)
    return finish_array(
        builder,
        spec,
        style="static",
        size=(p.rows, p.cols),
        inputs=p.inputs,
        traits=frozenset({"grid", "hexagonal"} if family == "hex" else {"grid"}),
    )


def class_masks(p: MeshParameters) -> dict[str, Any]:
    """Return for each op class the mask of the tiles that have it.

    All tiles have a class unless ``io``, ``mul`` or ``classes`` says otherwise, and ``classes`` has the last word.
    """
    chosen: dict[str, Any] = dict.fromkeys(_PE_CLASSES, "all")
    chosen |= {"input": p.io, "output": p.io, "mul": p.mul}
    for name in p.classes:
        if name not in OP_CLASSES:
            raise ArchError(f"classes.{name}: no such op class; known: {', '.join(OP_CLASSES)}")
    chosen |= p.classes
    keys = {"input": "io", "output": "io", "mul": "mul"} | {name: f"classes.{name}" for name in p.classes}
    return {name: select(selector, p.rows, p.cols, keys.get(name, name)) for name, selector in chosen.items()}


def _add_tiles(builder: ArchBuilder, p: MeshParameters) -> None:
    """Add the PEs, each with the op classes and the FIFO depth that the selectors give it."""
    masks = class_masks(p)
    fifo = numbers(p.fifo, p.rows, p.cols, "fifo", None)
    for row in range(p.rows):
        for col in range(p.cols):
            classes = [name for name, mask in masks.items() if mask[row, col]]
            add_pe(builder, p, row, col, classes, moves=False, fifo=fifo[row][col], contexts=1)


def _add_links(builder: ArchBuilder, family: str, p: MeshParameters) -> None:
    """Add the links both ways between neighbours, and the crossbar arcs from each link to those that lead on.

    The crossbar has no arc straight back to the tile that a value came from: no shortest route would take it. A value
    spends one cycle in each tile that it passes, which is the latency of the crossbar arc; where a register stands at
    the end of the link, it is the cycle in that register.
    """
    cells = [(r, c) for r in range(p.rows) for c in range(p.cols)]
    number = {cell: k for k, cell in enumerate(cells)}
    pairs = {(a, b) for a in cells for b in neighbours(family, *a, p.rows, p.cols)}
    pairs |= {(b, a) for a, b in pairs}
    leaving: dict[tuple[int, int], list[tuple[tuple[int, int], int]]] = {cell: [] for cell in cells}
    for a, b in sorted(pairs):
        name = f"pe_{a[0]}_{a[1]}"
        link = builder.add(f"{name}>pe_{b[0]}_{b[1]}", Kind.LINK, number[a], position=len(leaving[a]))
        leaving[a].append((b, link))
        builder.arc(builder.index[f"{name}.out"], link)
        for k in range(p.operands):
            builder.arc(link, builder.index[f"pe_{b[0]}_{b[1]}.in{k}"], p.link)
    for a in cells:
        for b, link in leaving[a]:
            for c, onward in leaving[b]:
                if c != a:
                    builder.arc(link, onward, 1)
