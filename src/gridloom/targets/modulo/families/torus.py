"""``torus`` and the presets ``ramp-1`` to ``ramp-12``: modulo-scheduled PEs on a two-dimensional torus.

A PE reads its neighbours' output registers, its own, and registers of its file; it writes its output register and,
where the mapping says so, a register. Passing a value on takes the function unit for a cycle. Registers hold until
written; a file (local to a PE, or one central file) may have its first m registers rotate, m being the mapping's
choice. Loads and stores take a slot of a memory PE and a cycle of its bus; values may be spilled to the data memory
the same way.

The model and the presets are those of the RAMP mapper's evaluation (Dave et al., DAC 2018). They differ from the static
grids in two ways that matter to a mapper: a tile has a slot per cycle of the II, and a value that waits needs a
register for every cycle in which it does.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from gridloom.archs.model import Arch, ArchBuilder, Kind
from gridloom.archs.parts.files import add_file
from gridloom.archs.spec import finish_array, parameters
from gridloom.targets.modulo.families.time_shared import TimeSharedParameters, add_memory, add_tiles, check_parameters


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
    _add_links(builder, p)
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


def _add_links(builder: ArchBuilder, p: TorusParameters) -> None:
    """Add the links to the four neighbours, around the borders; double links fall away on small arrays."""
    for row in range(p.rows):
        for col in range(p.cols):
            name = f"pe_{row}_{col}"
            around = {((row + dr) % p.rows, (col + dc) % p.cols) for dr, dc in ((-1, 0), (0, -1), (0, 1), (1, 0))}
            for position, (r, c) in enumerate(sorted(around - {(row, col)})):
                link = builder.add(f"{name}>pe_{r}_{c}", Kind.LINK, row * p.cols + col, position=position)
                builder.arc(builder.index[f"{name}.out"], link)
                for k in range(p.operands):
                    builder.arc(link, builder.index[f"pe_{r}_{c}.in{k}"])


def _add_registers(builder: ArchBuilder, p: TorusParameters) -> None:
    """Add the register files: one for each PE, or one for all."""
    if p.regs == 0:
        return
    tiles = range(len(builder.tiles))
    groups = [("rf", -1, tiles)] if p.file == "central" else [(builder.tiles[k].name, k, [k]) for k in tiles]
    for name, owner, members in groups:
        add_file(builder, name, owner, p.regs, members, rotating=p.fixed_rotation)
