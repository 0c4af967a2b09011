"""Mapping the parts of a partition: on as many columns as copies of a part leave it, each question asked once.

Only the number of copies matters, so a part is mapped on W // n columns for some n, not on its very narrowest.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from typing import Any

from gridloom import registry
from gridloom.archs.model import Arch
from gridloom.dfg.model import Dfg
from gridloom.flow.partition.search import Ops, PartPrice
from gridloom.flow.partition.unroll_columns import width_of
from gridloom.mapping.model import Failure, Mapping
from gridloom.search.choice import config_type


@dataclass(kw_only=True)
class PartMapper:
    """What the mapper was asked about the parts of one graph, and what it found.

    A part is named by its set of ops, so that the same part reached by two cuts is mapped once. ``fits`` remembers its
    answers; a mapping that is narrow enough answers for every wider room.
    """

    arch: Arch
    price: PartPrice
    seed: int
    #: Runs with seeds of their own before a number of columns is given up.
    tries: int
    #: The mapper: ``width``, or ``genetic``, which minimises the width by itself in so many evaluations.
    backend: str = "width"
    evaluations: int = 10_000
    #: The narrowest mapping of each part that was mapped, and why the last try failed where there is none.
    best: dict[Ops, Mapping] = field(default_factory=dict)
    failures: dict[Ops, Failure] = field(default_factory=dict)
    #: CPU seconds of all runs.
    seconds: float = 0.0
    #: Those of the runs that found nothing.
    in_vain: float = 0.0
    _asked: dict[tuple[Ops, str, int], bool] = field(default_factory=dict)

    @property
    def attempts(self) -> int:
        """The number of graphs that were mapped, or tried."""
        return len(self.best.keys() | self.failures.keys())

    def asked(self, ops: Ops, search: str, columns: int) -> bool:
        """Return True when ``fits`` was asked that before."""
        return (ops, search, columns) in self._asked

    def fits(self, ops: Ops, part: Dfg, columns: int, search: str = "fit") -> bool:
        """Return True when the mapper finds a mapping on so many columns.

        ``search`` is the mapper's setting: ``fit``, or ``push`` and ``eager``, which try harder.
        """
        known = self.best.get(ops)
        if known is not None and width_of(known) <= columns:
            return True
        key = (ops, search, columns)
        if key not in self._asked:
            began = time.process_time()
            self._asked[key] = self._try(ops, part, columns, search)
            spent = time.process_time() - began
            self.seconds += spent
            self.in_vain += 0.0 if self._asked[key] else spent
        return self._asked[key]

    def narrowest(self, ops: Ops, part: Dfg, bound: int) -> int | None:
        """Return the fewest columns by the ``fit`` search that make a difference: all first, then from the bound up."""
        columns = self.arch.cols
        # What does not map on the whole array maps on no part of it, and this is the easiest question.
        if not self.fits(ops, part, columns):
            return None
        room: int | None = self.price.room_for(bound)
        while room is not None and not self.fits(ops, part, room):
            room = self.price.next_room(room)
        return width_of(self.best[ops])

    def _try(self, ops: Ops, part: Dfg, columns: int, search: str) -> bool:
        """Run the mapper with further seeds until it finds a mapping; keep the mapping, or why there is none."""
        for k in range(self.tries if search == "fit" else 1):
            outcome = self.run(part, k, search=search, columns=columns)
            if isinstance(outcome, Mapping):
                self.best[ops] = outcome
                return width_of(outcome) <= columns
            self.failures[ops] = outcome
        return False

    def run(self, part: Dfg, k: int, **settings: Any) -> Mapping | Failure:
        """Run the mapper once with the k-th seed; the genetic one takes no settings of a search."""
        from gridloom.search.budget import Budget

        mapper = registry.load("mappers", self.backend)
        if self.backend == "genetic":
            budget = Budget(seed=self.seed + k, effort=self.evaluations)
            evolved: Mapping | Failure = mapper(part, self.arch, config_type(mapper)(objectives="published"), budget)
            return evolved
        # Polishing shortens wires and leaves the width as it is.
        config = config_type(mapper)(polish=False, **settings)
        outcome: Mapping | Failure = mapper(part, self.arch, config, Budget(seed=self.seed + k))
        return outcome
