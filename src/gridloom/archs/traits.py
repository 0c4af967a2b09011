"""Traits: the named facts about an array that code outside its family may ask for (``arch.has("spokes")``).

A family sets the traits of the arrays that it builds. Everybody else asks for a trait, never for the name of a family,
so that a new family works with a mapper, a transformation or a drawing as soon as it declares the trait they need.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final

from gridloom.errors import ArchError

#: Trait -> what it says of an array, as one sentence. An array may have several.
TRAITS: Final[Mapping[str, str]] = {
    "grid": "A tile runs one op for the whole loop and passes signals on beside it: the array is static, has function "
    "units, operand inputs, outputs and links only, and has no settings.",
    "registers": "Tiles are shared in time, results wait in output registers and register files, and operands have no "
    "FIFOs.",
    "crossbars": "Tiles are shared in time, and routes compete for the wires between them, which the configuration "
    "sets: links of crossbars, several of which a value may cross in one cycle, buses, and ports of register files.",
    "spokes": "The tiles stand in one row, each issues one op per spoke (slot), and early operands wait in delay "
    "registers of the tile that reads them.",
    "rows": "Rows of combinational ALUs stand over load and store ports, and only row boundaries take cycles, so that "
    "a graph has a width in columns.",
    "words24": "The ALUs compute with 24-bit words and a carry (domain cma24), so that loops of 32-bit integers are "
    "narrowed first.",
    "switches": "The array is elastic: units between switches exchange tokens over time-shared links.",
    "fuses": "A function unit multiplies or shifts and then adds in one instruction.",
    "blocking": "Some op keeps its function unit for more than one cycle, in which the unit takes no other op.",
    "partial": "Some tile runs only some ops of an op class.",
    "banks": "Arrays of the program lie in memory banks, which start a few accesses per cycle from some tiles.",
    "constant_stores": "Some tile keeps only so many constants and initial values.",
    "loop_controller": "The array starts a loop again for the next iteration of the loops around it, without the host.",
    "memory_access": "The array accesses of a loop stay loads and stores; without this trait they become streams.",
    "wraps": "Links join the opposite borders of the array.",
    "hexagonal": "A tile has six neighbours, and odd rows are drawn half a tile to the right.",
    "upward": "Row 0 is the lowest row of a drawing, and the load and the store port of a column stand below it.",
}


def known_traits(names: Iterable[str]) -> frozenset[str]:
    """Return the traits as a set; ArchError names the first one that ``TRAITS`` does not have.

    >>> sorted(known_traits(["wraps", "registers"]))
    ['registers', 'wraps']
    """
    traits = frozenset(names)
    unknown = sorted(traits - TRAITS.keys())
    if unknown:
        raise ArchError(f"no trait is called {unknown[0]!r}; known: {', '.join(TRAITS)}")
    return traits
