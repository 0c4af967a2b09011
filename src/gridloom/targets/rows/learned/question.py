"""The question of mappability: how many columns does a graph need on an array of rows, and does it fit at all?

A label is the fewest columns that a fixed sequence of searches finds (``narrowest`` of ``mappers/search``), or that it
finds none. The searches are counted in moves, not in seconds, so a label is the same on every machine. ``decided`` says
how sure it is: ``bound`` and ``proof`` are certain that the graph does not fit; ``found`` gives a width that longer
searches might lower; ``exhausted`` counts as 'not mappable', although a longer search might find a mapping.
"""

from __future__ import annotations

import random
from collections.abc import Iterable
from typing import ClassVar, Final

import numpy as np
from numpy.typing import NDArray

from gridloom.archs.model import Arch
from gridloom.dfg.model import Dfg
from gridloom.learn.labels import Labelled, array_of
from gridloom.learn.reach import Doubles, ReachQuestion, Seen
from gridloom.partition.width_estimate import bound_estimate
from gridloom.targets.rows.learned.features import COUNTS, NAMES, ArrayShape, of_graph, on_columns
from gridloom.targets.rows.learned.random_graphs import OVERFULL, draw, group_of
from gridloom.targets.rows.mappers.problem import flatten
from gridloom.targets.rows.mappers.search import LAST_NARROW, LONG_FIT, LONG_NARROW, Starts, narrowest

#: What the sources of drawn graphs begin with; family and number follow.
DRAWN: Final = "graph:"
#: The sizes that figures are given for, in ops.
SIZES: Final = ((1, 20), (21, 35), (36, 96))
#: Graphs of arrays beside the main one have numbers from this on, so that no two arrays share graphs.
_OTHER_NUMBERS: Final = 100_000
#: Overfull families for each usual one: about half of all graphs are mappable then, as among those published.
_OVERFULL_SHARE: Final = 0.75


class WidthQuestion(ReachQuestion):
    """How many columns a graph needs."""

    name = "mappability"
    version = "4"
    names = NAMES
    always = False
    metric = "width"
    scoped: ClassVar = {
        "rows": "rows",
        "columns": "columns",
        "constant registers per row": "registers_per_row",
        "operands from the own row": "own_row_operands",
    }
    downwards = frozenset({"columns"})

    def read(self, source: str, arch: Arch) -> Dfg:
        """Return a drawn graph; graphs that are not drawn are stored with their labels."""
        family, number = source.removeprefix(DRAWN).split(":")
        return draw(int(family), int(number))

    def is_drawn(self, source: str) -> bool:
        """Return whether a graph is drawn from two numbers."""
        return source.startswith(DRAWN)

    def family(self, source: str) -> str:
        """Return what is held out together: a family, all parts of one kernel, or a graph by its name.

        >>> QUESTION.family("graph:3:1")
        'family 3'
        """
        return group_of(int(source.split(":")[1])) if self.is_drawn(source) else source.split(" part ")[0]

    def suits(self, arch: Arch) -> bool:
        """Return whether an array has rows of ALUs over ports."""
        return arch.has("rows")

    def search(self, dfg: Dfg, arch: Arch) -> tuple[int | None, str]:
        """Return the fewest columns that the ladder finds. About 1.1 CPU seconds on average, 80 at most."""
        starts = Starts(flatten(dfg, arch), arch)
        found = narrowest(starts, arch.cols, fit=LONG_FIT, narrow=LONG_NARROW, last=LAST_NARROW)
        return found.width, found.decided

    def look(self, dfg: Dfg, arch: Arch) -> Seen:
        """Return the numbers of a pair, and whether counting or the rows exclude a mapping. About 1 ms."""
        counted = bound_estimate(dfg, arch)
        if not dfg.is_acyclic:
            return Seen(values=np.zeros(len(NAMES)), refused=counted.reason, decided="bound")
        graph = of_graph(dfg, ArrayShape.of(arch))
        refused = counted.reason if counted.width is None else graph.too_high
        decided = "" if not refused else "bound" if counted.width is None else "proof"
        return Seen(values=graph.numbers, refused=refused, decided=decided)

    def span(self, values: Doubles) -> tuple[int, int]:
        """Return the fewest columns by counting and by rows, and the columns of the array."""
        least, most = max(values[_AT["bound"]], values[_AT["least_columns"]]), values[_AT["columns"]]
        return int(least), max(int(least), int(most))

    def at(self, values: Doubles, capacities: NDArray[np.int64]) -> Doubles:
        """Return the features on each number of columns."""
        return on_columns(values, capacities)

    def strata(self, item: Labelled) -> Iterable[str]:
        """Return the array, and the size on it."""
        ops = int(item.values[_AT["ops"]])
        return [item.arch, *(f"{item.arch}: {low} to {high} ops" for low, high in SIZES if low <= ops <= high)]


_AT: Final = {name: k for k, name in enumerate(COUNTS)}
QUESTION: Final = WidthQuestion()


def drawn_graphs(spec: str, families: int, graphs: int, *, main: bool) -> list[tuple[str, str]]:
    """Return source and array of the graphs that are drawn for an array, usual and overfull families.

    The main array has the first families in turn; for other arrays they are drawn from 640, differ from array to array,
    and a larger number of families only adds to them.
    """
    overfull = range(OVERFULL, OVERFULL + int(families * _OVERFULL_SHARE))
    if main:
        return [(f"{DRAWN}{f}:{k}", spec) for k in range(graphs) for f in (*range(families), *overfull)]
    arch = array_of(spec)
    rng = random.Random(f"mappability families {arch.rows} {arch.cols}")
    usual, more = list(range(640)), list(range(OVERFULL, OVERFULL + 480))
    rng.shuffle(usual)
    rng.shuffle(more)
    first = _OTHER_NUMBERS * arch.rows + 1000 * arch.cols
    chosen = [*usual[:families], *more[: len(overfull)]]
    return [(f"{DRAWN}{f}:{first + k}", spec) for k in range(graphs) for f in chosen]
