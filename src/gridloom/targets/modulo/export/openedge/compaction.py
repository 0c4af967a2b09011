"""Straight code in fewer lines: every instruction in the first line that what it reads and overwrites allows.

An instruction stays on its PE and in the order of its PE. It comes after what it reads is written, not before others
have read what it overwrites, and after accesses that it may not pass: stores and other accesses keep their order, but
for those that were in one line. Lines that are left without instructions go. Quadratic in the accesses, else linear.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from gridloom.targets.modulo.export.openedge.program import Grid, Line, Place, empty_line
from gridloom.targets.modulo.export.openedge.words import NOP

#: Accesses by address: streams of a column have words of their own.
_STORES: Final = ("SWI",)
_ACCESSES: Final = ("LWI", "SWI")


def compact(lines: Sequence[Line], grid: Grid) -> tuple[list[Line], dict[tuple[int, int], int]]:
    """Return the lines that are needed, and for each instruction, by line and PE, its new line."""
    written: dict[Place, int] = {}
    read: dict[Place, int] = {}
    accesses: list[tuple[int, bool]] = []
    moved: dict[tuple[int, int], int] = {}
    for at, line in enumerate(lines):
        busy = [pe for pe, instruction in enumerate(line) if instruction != NOP]
        sources = {pe: grid.places_read(pe, line[pe]) for pe in busy}
        results = {pe: ((pe, None), (pe, line[pe].register)) for pe in busy}
        first = {}
        for pe in busy:
            after = [written.get(place, -1) + 1 for place in (*results[pe], *sources[pe])]
            after += [read.get(place, 0) for place in results[pe]]
            if line[pe].op in _ACCESSES:
                after += [new + 1 for new, stores in accesses if stores or line[pe].op in _STORES]
            first[pe] = max(after)
        _wait_for_readers(first, sources, results)
        for pe in busy:
            moved[at, pe] = first[pe]
            read |= {place: max(read.get(place, 0), first[pe]) for place in sources[pe]}
            written |= dict.fromkeys(results[pe], first[pe])
        accesses += [(first[pe], line[pe].op in _STORES) for pe in busy if line[pe].op in _ACCESSES]
    packed = [empty_line(grid.pes) for _ in range(max(moved.values(), default=-1) + 1)]
    for (at, pe), new in moved.items():
        packed[new][pe] = lines[at][pe]
    return packed, moved


def _wait_for_readers(
    first: dict[int, int], sources: Mapping[int, Sequence[Place]], results: Mapping[int, Sequence[Place]]
) -> None:
    """Let no instruction of a line overwrite what others of it read before these do; ``first`` is changed in place."""
    changed = True
    while changed:
        changed = False
        for pe, places in results.items():
            least = max(first[other] for other in first if other == pe or set(places) & set(sources[other]))
            changed = changed or least > first[pe]
            first[pe] = least
