"""``torus`` and the presets ``ramp-1`` to ``ramp-12``: modulo-scheduled PEs on a two-dimensional torus.

A PE reads its neighbours' output registers, its own, and registers of its file; it writes its output register and,
where the mapping says so, a register. Passing a value on takes the function unit for a cycle. Registers hold until
written; a file (local to a PE, or one central file) may have its first m registers rotate, m being the mapping's
choice. Loads and stores take a slot of a memory PE and a cycle of its bus; values may be spilled to the data memory
the same way.

The model and the presets are those of the RAMP mapper's evaluation (Dave et al., DAC 2018). They differ from the static
grids in two ways that matter to a mapper: a tile has a slot per cycle of the II, and a value that waits needs a
register for every cycle in which it does.

What families of PEs have in common that loops share in time: their parameters, their tiles and the data memory.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from gridloom.archs.model import Arch, ArchBuilder, Kind, Pool
from gridloom.archs.parts.files import add_file
from gridloom.archs.parts.grid import add_pe, add_spill
from gridloom.archs.selectors import select
from gridloom.archs.spec import check_latency, check_range, check_size, finish_array, parameters
from gridloom.errors import ArchError

#: ``row``: the PEs of a row share one memory bus; ``dedicated``: each memory PE has its own; None: no limit.
Bus = Literal["row", "dedicated"] | None

MEMORY_CLASSES = frozenset({"mem", "mem_data"})


@dataclass(frozen=True, kw_only=True)
class TimeSharedParameters:
    """Parameters of every such family."""

    #: Rows of the array, 1 to 128.
    rows: int
    #: Columns of the array, 1 to 128.
    cols: int
    #: How many registers of a file rotate: ``free`` lets the mapping choose, a number fixes it.
    rotating: int | Literal["free"] = "free"
    #: How long an output register keeps its value: until the next write, or one cycle.
    hold: Literal["until-write", "next"] = "until-write"
    #: Which PEs access memory: a selector.
    memory: Any = "all"
    #: ``row``: the PEs of a row share one bus; ``dedicated``: each memory PE has its own; null: no limit.
    bus: Bus = "row"
    #: Which PEs multiply: a selector.
    mul: Any = "all"
    #: Op latency by op class; ``"*"`` is the rest. At least 1: the output register.
    latency: dict[str, int] = field(default_factory=lambda: {"*": 1})
    #: Bytes of data memory; null: no limit.
    data_memory: int | None = None
    #: Slots of a context memory; null: no limit.
    contexts: int | None = None
    #: Operands of a function unit, 1 to 8.
    operands: int = 3
    #: Loops around a launched one that a loop controller restarts it for, 0 to 8; 0: there is none.
    loop_levels: int = 0

    @property
    def controls(self) -> frozenset[str]:
        """The trait of an array with a loop controller."""
        return frozenset({"loop_controller"} if self.loop_levels else ())

    @property
    def fixed_rotation(self) -> int | None:
        """How many registers rotate; None: the mapping chooses."""
        return None if self.rotating == "free" else self.rotating


def check_parameters(p: TimeSharedParameters, registers: int) -> None:
    """Raise ArchError for a parameter out of its range, where a file has so many registers."""
    check_size(p.rows, p.cols)
    for key, low, high in (
        ("regs", 0, 1024),
        ("operands", 1, 8),
        ("data_memory", 0, 1 << 40),
        ("contexts", 1, 1 << 20),
        ("loop_levels", 0, 8),
    ):
        check_range(p, key, low, high)
    check_latency(p.latency)
    if isinstance(p.rotating, int) and not 0 <= p.rotating <= registers:
        raise ArchError(f"rotating: expected 0 to regs ({registers}) or 'free', found {p.rotating}")


def add_tiles(builder: ArchBuilder, p: TimeSharedParameters, *, moves: bool = True) -> bool:
    """Add the PEs row by row, with the op classes that the selectors give them; return whether any accesses memory.

    The output register of a PE holds its value until the next write, or does not.
    """
    memory = select(p.memory, p.rows, p.cols, "memory")
    multiply = select(p.mul, p.rows, p.cols, "mul")
    for row in range(p.rows):
        for col in range(p.cols):
            classes = {"alu", "div", "fp"} | ({"route"} if moves else set())
            classes |= (MEMORY_CLASSES if memory[row, col] else set()) | ({"mul"} if multiply[row, col] else set())
            add_pe(builder, p, row, col, classes, moves=moves, fifo=0, contexts=p.contexts)
            if p.hold == "until-write":
                out = builder.index[f"pe_{row}_{col}.out"]
                builder.arc(out, out, 1)
    return bool(memory.any())


def add_memory(builder: ArchBuilder, rows: int, bus: Bus, *, writes_registers: bool = True) -> None:
    """Add the spill slots, the memory that they lead to, and the buses.

    The memory is one resource without a limit on signals: what fits is counted in bytes by ``verify``. A spill load or
    store shares the issue slot of its PE (``group``) and counts against the bus as class ``mem``. A loaded value goes
    to the output register and, where ``writes_registers`` says so, may go to registers that the PE writes.
    """
    memory = builder.add("mem", Kind.MEM, capacity=0)
    builder.arc(memory, memory, 1)
    members = [(k, tile) for k, tile in enumerate(builder.tiles) if "mem" in tile.classes]
    files: dict[int, list[int]] = {}
    for register, (kind, owner, *_) in enumerate(builder.columns):
        if kind == Kind.REG:
            files.setdefault(owner, []).append(register)
    for k, _ in members:
        add_spill(builder, memory, k, files.get(-1, []) + files.get(k, []) if writes_registers else [])
    if bus == "row":
        for row in range(rows):
            tiles = tuple(k for k, tile in members if tile.row == row)
            if tiles:
                builder.pools.append(Pool(name=f"bus_{row}", capacity=1, tiles=tiles, classes=frozenset({"mem"})))
    elif bus == "dedicated":
        for k, tile in members:
            builder.pools.append(Pool(name=f"bus_{tile.name}", capacity=1, tiles=(k,), classes=frozenset({"mem"})))


@dataclass(frozen=True, kw_only=True)
class TorusParameters(TimeSharedParameters):
    """Parameters of the torus."""

    #: Registers of a file, 0 to 1024: a PE's own, or the central one's.
    regs: int = 4
    #: ``local``: each PE has a file of its own; ``central``: one file that every PE reads and writes.
    file: Literal["local", "central"] = "local"


def _listed(*numbers: int, cols: int) -> dict[str, Any]:
    """Return a selector of PEs that are numbered from 1, row by row."""
    return {"tiles": [[(n - 1) // cols, (n - 1) % cols] for n in numbers]}


def _preset(side: int, regs: int, file: str, memory: Any = "all") -> dict[str, Any]:
    """Return the parameters of a preset of the RAMP evaluation."""
    bus = "row" if memory == "all" else "dedicated"
    # There are 4 kB of data memory, and 4 kB of instruction memory at 4 bytes per PE and slot.
    contexts = 4096 // (4 * side * side)
    return {
        "rows": side, "cols": side, "regs": regs, "file": file, "memory": memory, "bus": bus,
        "data_memory": 4096, "contexts": contexts,
    }  # fmt: skip


PRESETS: dict[str, dict[str, Any]] = {
    "ramp-1": _preset(2, 16, "central", _listed(3, 4, cols=2)),
    "ramp-2": _preset(2, 16, "central"),
    "ramp-3": _preset(2, 2, "local"),
    "ramp-4": _preset(2, 4, "local"),
    "ramp-5": _preset(4, 64, "central"),
    "ramp-6": _preset(4, 2, "local"),
    "ramp-7": _preset(4, 4, "local"),
    "ramp-8": _preset(4, 4, "local", _listed(2, 4, 6, 8, cols=4)),
    "ramp-9": _preset(8, 128, "central"),
    "ramp-10": _preset(8, 4, "local"),
    "ramp-11": _preset(8, 8, "local"),
    "ramp-12": _preset(8, 8, "local", _listed(1, 3, 5, 7, 9, 11, 13, 15, 19, 21, cols=8)),
}


def build(spec: Mapping[str, Any]) -> Arch:
    """Return the torus that a description names; a preset's parameters may be overridden one by one.

    Tiles are numbered row by row. ArchError for a parameter out of its range or a selector that does not fit the torus.
    """
    p = parameters(TorusParameters, {**PRESETS.get(spec["family"], {}), **spec})
    check_parameters(p, p.regs)
    builder = ArchBuilder()
    accesses = add_tiles(builder, p)
    add_links(builder, p.rows, p.cols, p.operands)
    _add_registers(builder, p)
    if accesses:
        add_memory(builder, p.rows, p.bus)
    return finish_array(
        builder,
        spec,
        style="modulo",
        size=(p.rows, p.cols),
        free=frozenset({"const"}),
        data_memory=p.data_memory,
        route_uses_fu=True,
        traits=frozenset({"registers", "wraps"} | ({"memory_access"} if accesses else set())) | p.controls,
        loop_levels=p.loop_levels,
    )


def add_links(builder: ArchBuilder, rows: int, cols: int, operands: int) -> None:
    """Add the links to the four neighbours, around the borders; double links fall away on small arrays."""
    for row in range(rows):
        for col in range(cols):
            name = f"pe_{row}_{col}"
            around = {((row + dr) % rows, (col + dc) % cols) for dr, dc in ((-1, 0), (0, -1), (0, 1), (1, 0))}
            for position, (r, c) in enumerate(sorted(around - {(row, col)})):
                link = builder.add(f"{name}>pe_{r}_{c}", Kind.LINK, row * cols + col, position=position)
                builder.arc(builder.index[f"{name}.out"], link)
                for k in range(operands):
                    builder.arc(link, builder.index[f"pe_{r}_{c}.in{k}"])


def _add_registers(builder: ArchBuilder, p: TorusParameters) -> None:
    """Add the register files: one for each PE, or one for all."""
    if p.regs == 0:
        return
    tiles = range(len(builder.tiles))
    groups = [("rf", -1, tiles)] if p.file == "central" else [(builder.tiles[k].name, k, [k]) for k in tiles]
    for name, owner, members in groups:
        add_file(builder, name, owner, p.regs, members, rotating=p.fixed_rotation)
