"""What families of PEs have in common that loops share in time: their parameters, their tiles and the data memory."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal

from gridloom.archs.model import ArchBuilder, Kind, Pool
from gridloom.archs.parts.grid import add_pe, add_spill
from gridloom.archs.selectors import select
from gridloom.archs.spec import check_latency, check_range, check_size
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
