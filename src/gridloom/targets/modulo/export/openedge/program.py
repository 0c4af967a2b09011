"""Programs: what PEs run line by line, and the words that the host puts where they look for them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from gridloom.targets.modulo.export.openedge.words import NOP, PeInstruction

#: The name of the trip count among the parameters of a program.
TRIPS: Final = "trip count"

#: One instruction for every PE, row by row.
Line = list[PeInstruction]
#: The output register (``None``) or a register of a PE.
Place = tuple[int, int | None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Parameter:
    """A word that a program loads: the address of ``array``, ``factor`` times the value of ``name``, and ``number``."""

    array: str | None = None
    name: str | None = None
    factor: int = 1
    number: int = 0

    def value(self, addresses: Mapping[str, int], values: Mapping[str, int]) -> int:
        """Return the word, for the addresses of arrays and the values of live-ins and of the trip count."""
        base = addresses[self.array] if self.array is not None else 0
        return base + (self.factor * values[self.name] if self.name is not None else 0) + self.number


@dataclass(frozen=True, slots=True, kw_only=True)
class PeProgram:
    """A loop as a program of the machine."""

    name: str
    rows: int
    cols: int
    lines: tuple[tuple[PeInstruction, ...], ...]
    #: The lines that are repeated: the first, and the one after the last.
    kernel: tuple[int, int]
    #: The least trip count that the program is right for.
    least: int
    #: Iterations beyond the last whose elements it may load, without a use for them.
    beyond: int
    #: For each column what its loads find, in order, and the live-outs that it stores.
    reads: tuple[tuple[Parameter, ...], ...]
    writes: tuple[tuple[str, ...], ...]


def empty_line(pes: int) -> Line:
    """Return a line in which no PE does anything."""
    return [NOP] * pes


def is_idle(line: Sequence[PeInstruction]) -> bool:
    """Whether no PE does anything in a line."""
    return all(instruction == NOP for instruction in line)


class Grid:
    """Where the neighbours of PEs are."""

    def __init__(self, rows: int, cols: int) -> None:
        self.rows, self.cols = rows, cols
        self.pes = rows * cols

    def neighbour(self, pe: int, direction: str) -> int:
        """The PE that a direction leads to."""
        row, col = divmod(pe, self.cols)
        down, right = {"RCL": (0, -1), "RCR": (0, 1), "RCT": (-1, 0), "RCB": (1, 0)}[direction]
        return (row + down) % self.rows * self.cols + (col + right) % self.cols

    def direction(self, pe: int, other: int) -> str:
        """The direction from a PE to another one; ROUT is its own output register."""
        if pe == other:
            return "ROUT"
        return next(name for name in ("RCL", "RCR", "RCT", "RCB") if self.neighbour(pe, name) == other)

    def places_read(self, pe: int, instruction: PeInstruction) -> list[Place]:
        """The registers that an instruction reads."""
        if instruction == NOP:
            return []
        found: list[Place] = []
        flags = [instruction.flag.replace("SELF", "ROUT")] if instruction.op in ("BSFA", "BZFA") else []
        for source in (instruction.a, instruction.b, *flags):
            if source == "ROUT":
                found.append((pe, None))
            elif source.startswith("RC"):
                found.append((self.neighbour(pe, source), None))
            elif source.startswith("R"):
                found.append((pe, int(source[1:])))
        return found


def live_after(lines: Sequence[Line], grid: Grid) -> list[set[Place]]:
    """Return for each line of straight code the registers that later lines read. Linear in the instructions."""
    live: set[Place] = set()
    found: list[set[Place]] = []
    for line in reversed(lines):
        found.append(set(live))
        for pe, instruction in enumerate(line):
            if instruction != NOP:
                live -= {(pe, None), (pe, instruction.register)}
        for pe, instruction in enumerate(line):
            live.update(grid.places_read(pe, instruction))
    return found[::-1]


def drop_unread(lines: list[Line], grid: Grid, kept: set[tuple[int, int]]) -> None:
    """Take instructions out of straight code, in place, whose results nothing reads, but for those ``kept``.

    ``kept`` has pairs of line and PE. Stores stay.
    """
    live: set[Place] = set()
    for at in range(len(lines) - 1, -1, -1):
        line = lines[at]
        for pe, instruction in enumerate(line):
            unread = not {(pe, None), (pe, instruction.register)} & live
            if unread and instruction.op not in ("SWD", "SWI") and (at, pe) not in kept:
                line[pe] = NOP
        for pe, instruction in enumerate(line):
            if instruction != NOP:
                live -= {(pe, None), (pe, instruction.register)}
        for pe, instruction in enumerate(line):
            live.update(grid.places_read(pe, instruction))
