"""What an exact model of a loop covers, and what its refutation therefore says."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

#: (node or live-in, tile or storage, cycle) -> variable.
Table = dict[tuple[int, int, int], Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Scope:
    """What a model covers: the II, the window of time, and what a mapping may do.

    A refutation is only as wide as the scope; a solution is one whatever the scope.
    """

    ii: int
    #: Cycles from the first to the last issue of an iteration, both counted; None: slots only.
    spread: int | None
    #: Whether register files may rotate, any number of registers each.
    rotate: bool = True
    #: Whether values may be spilled to memory.
    spill: bool = True
    #: Whether nodes may be computed more than once.
    copies: bool = True
    #: Registers of each file that may be used; None: all. A small model finds sooner, and refutes nothing.
    registers: int | None = None
